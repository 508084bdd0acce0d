//===- LossScaleAnalysis.cpp - Which values carry the loss scale -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/LossScaleAnalysis.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

using namespace mlir;
using namespace mpt;

/// Behind casts, reshapes and broadcasts.
static Value getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOp, ReshapeOp, BroadcastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The loss scale that `value` is, or null.
static Value getScaleArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(getSource(value));
  auto step = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
                       : FunctionOpInterface();
  if (!step || !argument.getOwner()->isEntryBlock() ||
      !isa<FloatType>(getElementTypeOrSelf(argument.getType())))
    return {};
  auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
  return role && role.getValue() == "loss_scale" ? argument : Value();
}

static bool isConstant(Value value) {
  return matchPattern(getSource(value), m_Constant());
}

/// The loss scale that `value` is one over, or null.
static Value getInverseScale(Value value) {
  Operation *op = getSource(value).getDefiningOp();
  if (isa_and_present<ReciprocalOp>(op))
    return getScaleArgument(op->getOperand(0));
  if (isa_and_present<DivOp>(op) && isConstant(op->getOperand(0)))
    return getScaleArgument(op->getOperand(1));
  return {};
}

std::optional<ScalingByHand> mpt::matchScalingByHand(Operation *op) {
  if (!isa<MulOp, DivOp>(op))
    return {};
  for (unsigned i : {1u, 0u}) {
    Value tensor = op->getOperand(1 - i), factor = op->getOperand(i);
    if (isConstant(tensor) || getScaleArgument(tensor))
      continue;
    if (Value scale = getScaleArgument(factor))
      return ScalingByHand{tensor, scale, isa<DivOp>(op)};
    if (isa<DivOp>(op))
      break;
    if (Value scale = getInverseScale(factor))
      return ScalingByHand{tensor, scale, true};
  }
  return {};
}

LogicalResult LossScaleAnalysis::visitOperation(
    Operation *op, ArrayRef<const LossScaleLattice *> operands,
    ArrayRef<LossScaleLattice *> results) {
  auto set = [&](LossScaleLattice *lattice, LossScaling value) {
    propagateIfChanged(lattice, lattice->join(value));
  };
  if (auto scale = dyn_cast<ScaleLossOp>(op)) {
    set(results[0], {LossScaling::Scaled, scale.getScale()});
    return success();
  }
  if (auto unscale = dyn_cast<UnscaleOp>(op)) {
    for (size_t i = 0; i < results.size(); ++i)
      set(results[i], i < unscale.getUnscaled().size() ? LossScaling::Unscaled
                                                       : LossScaling::Plain);
    return success();
  }
  // New parameters and moments.
  if (isa<SGDOp, AdamOp, AdamWOp>(op)) {
    for (LossScaleLattice *result : results)
      set(result, LossScaling::Plain);
    return success();
  }
  if (std::optional<ScalingByHand> byHand = matchScalingByHand(op)) {
    LossScaling before =
        operands[byHand->tensor == op->getOperand(0) ? 0 : 1]->getValue();
    if (before.getKind() == LossScaling::Unknown)
      return success();
    if (!byHand->isUnscale)
      set(results[0], LossScaling::join({LossScaling::Scaled, byHand->scale},
                                        before.isScaled() ? before : LossScaling::Plain));
    else
      set(results[0], before.isScaled() ? LossScaling::Unscaled : before);
    return success();
  }
  LossScaling all(LossScaling::Plain);
  for (const LossScaleLattice *operand : operands) {
    // Wait until all is known: what a loop brings may come later.
    if (operand->getValue().getKind() == LossScaling::Unknown)
      continue;
    all = LossScaling::join(all, operand->getValue());
  }
  // Gradients of several parameters pass side by side.
  const bool sideBySide = isa<GradientsOp, ClipByGlobalNormOp>(op);
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
