//===- LossScaleAnalysis.cpp - Which values carry the loss scale -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Training/LossScaleAnalysis.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/StepView.h"

#include <cmath>

using namespace mlir;
using namespace mpt;

void LossScaleAnalysis::setToEntryState(LossScaleLattice *lattice) {
  LossScaling scaling(LossScaling::External);
  auto argument = dyn_cast<BlockArgument>(lattice->getAnchor());
  auto step = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
                       : FunctionOpInterface();
  std::optional<Role> role;
  if (step && argument.getOwner()->isEntryBlock())
    role = StepView::getRole(step, argument.getArgNumber());
  if (role == Role::LossScale && isa<FloatType>(getElementTypeOrSelf(argument.getType())))
    scaling = LossScaling::getScaled(argument, 2);
  else if (role && role != Role::OptimizerState)
    scaling = LossScaling::Plain;
  propagateIfChanged(lattice, lattice->join(scaling));
}

/// The product of `a` and `b` to the power `sign`, 1 or -1.
static LossScaling multiply(const LossScaling &a, const LossScaling &b, int sign) {
  if (a.getKind() == LossScaling::Mixed || b.getKind() == LossScaling::Mixed)
    return {LossScaling::Mixed};
  if (a.getHalves() == 0 && b.getHalves() == 0)
    return LossScaling::join(a, b);
  if (a.getHalves() != 0 && b.getHalves() != 0 && a.getScale() != b.getScale())
    return {LossScaling::Mixed};
  return LossScaling::getScaled(a.getHalves() ? a.getScale() : b.getScale(),
                                a.getHalves() + sign * b.getHalves());
}

/// `a` to the power `numerator` / `denominator`.
static LossScaling raise(const LossScaling &a, int numerator, int denominator) {
  if (a.getHalves() == 0)
    return a;
  if (a.getHalves() * numerator % denominator != 0)
    return {LossScaling::Mixed};
  return LossScaling::getScaled(a.getScale(), a.getHalves() * numerator / denominator);
}

LogicalResult
LossScaleAnalysis::visitOperation(Operation *op,
                                  ArrayRef<const LossScaleLattice *> operands,
                                  ArrayRef<LossScaleLattice *> results) {
  auto set = [&](LossScaleLattice *lattice, LossScaling value) {
    propagateIfChanged(lattice, lattice->join(value));
  };
  if (auto scale = dyn_cast<ScaleLossOp>(op)) {
    set(results[0], LossScaling::getScaled(scale.getScale(), 2));
    return success();
  }
  if (auto unscale = dyn_cast<UnscaleOp>(op)) {
    for (size_t i = 0; i < results.size(); ++i)
      set(results[i],
          i < unscale.getUnscaled().size() ? LossScaling::Unscaled : LossScaling::Plain);
    return success();
  }
  // New parameters and moments.
  if (isa<SGDOp, AdamOp, AdamWOp>(op)) {
    for (LossScaleLattice *result : results)
      set(result, LossScaling::Plain);
    return success();
  }
  if (isa<MulOp, MatmulOp, DivOp>(op)) {
    const LossScaling &a = operands[0]->getValue(), &b = operands[1]->getValue();
    if (a.getKind() != LossScaling::Unknown && b.getKind() != LossScaling::Unknown)
      set(results[0], multiply(a, b, isa<DivOp>(op) ? -1 : 1));
    return success();
  }
  if (isa<SqrtOp, RsqrtOp, ReciprocalOp>(op)) {
    set(results[0], raise(operands[0]->getValue(), isa<SqrtOp>(op) ? 1 : -1,
                          isa<ReciprocalOp>(op) ? 1 : 2));
    return success();
  }
  if (isa<SignOp>(op)) {
    set(results[0], raise(operands[0]->getValue(), 0, 1));
    return success();
  }
  if (auto power = dyn_cast<PowOp>(op)) {
    // A power of which twice the exponent is whole.
    DenseFPElementsAttr elements;
    const LossScaling &base = operands[0]->getValue();
    if (base.getHalves() != 0 && matchPattern(power.getRhs(), m_Constant(&elements)) &&
        elements.isSplat()) {
      double twice = 2 * elements.getSplatValue<APFloat>().convertToDouble();
      set(results[0], std::abs(twice) < 64 && twice == std::floor(twice)
                          ? raise(base, int(twice), 2)
                          : LossScaling(LossScaling::Mixed));
      return success();
    }
  }
  // What is not finite has any scale: a choice by that is as its finite side.
  if (auto choice = dyn_cast<WhereOp>(op))
    if (isa_and_present<IsFiniteOp>(choice.getCondition().getDefiningOp())) {
      set(results[0], operands[1]->getValue());
      return success();
    }
  LossScaling all(LossScaling::Constant);
  for (const LossScaleLattice *operand : operands) {
    // Wait until all is known: what a loop brings may come later.
    if (operand->getValue().getKind() == LossScaling::Unknown)
      continue;
    all = LossScaling::join(all, operand->getValue());
  }
  // Gradients of several parameters, and what is computed again, pass side by side.
  const bool sideBySide =
      isa<GradientsOp, ClipByGlobalNormOp, BarrierOp>(op) || isCollective(op);
  for (auto [i, result] : llvm::enumerate(results)) {
    const bool isFloat =
        isa<FloatType>(getElementTypeOrSelf(result->getAnchor().getType()));
    if (!isFloat)
      set(result, LossScaling::Plain);
    else if (sideBySide && i < operands.size())
      set(result, operands[i]->getValue());
    else
      set(result, all);
  }
  return success();
}
