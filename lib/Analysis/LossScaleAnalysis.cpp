//===- LossScaleAnalysis.cpp - Which values carry the loss scale -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/LossScaleAnalysis.h"

#include "mlir/IR/TypeUtilities.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

using namespace mlir;
using namespace mpt;

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
