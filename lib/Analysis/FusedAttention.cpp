//===- FusedAttention.cpp - Attention that a GPU does as a whole -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/FusedAttention.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpt;

bool mpt::canFuseAttention(Operation *op) {
  auto grad = dyn_cast<AttentionGradOp>(op);
  auto attention = dyn_cast<AttentionOp>(op);
  if (!grad && !attention)
    return false;
  Value query = grad ? grad.getQuery() : attention.getQuery();
  Value key = grad ? grad.getKey() : attention.getKey();
  Value value = grad ? grad.getValue() : attention.getValue();
  Value lse = grad ? grad.getLogSumExp() : attention.getLogSumExp();
  auto type = dyn_cast<RankedTensorType>(query.getType());
  if (!type || !(type.getElementType().isF16() || type.getElementType().isBF16()))
    return false;
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value tensor : values) {
      auto other = dyn_cast<RankedTensorType>(tensor.getType());
      if (!other || !other.hasStaticShape() || other.getNumElements() == 0)
        return false;
      if (tensor == lse ? !other.getElementType().isF32()
                        : other.getElementType() != type.getElementType())
        return false;
    }
  int64_t width = type.getShape().back();
  return cast<RankedTensorType>(value.getType()) == cast<RankedTensorType>(key.getType()) &&
         width >= 32 && width <= 128 && width % 16 == 0;
}

void mpt::markFusedAttention(Operation *root) {
  root->walk([](Operation *op) {
    if (canFuseAttention(op))
      op->setAttr(kFusedAttr, UnitAttr::get(op->getContext()));
  });
}
