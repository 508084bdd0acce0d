//===- AttentionViews.cpp - Tensors that attention reads in place -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/AttentionViews.h"

using namespace mlir;
using namespace mpt;

/// A transpose of four dimensions that leaves the last one where it is.
static bool keepsRows(TransposeOp transpose) {
  auto type = dyn_cast<RankedTensorType>(transpose.getX().getType());
  return type && type.getRank() == 4 && type.hasStaticShape() &&
         type.getNumElements() > 0 && transpose.getPermutation().back() == 3;
}

/// The bytes from the beginning of the memory of `slice`'s operand to its own elements;
/// -1 if attention cannot read these where they are.
static int64_t getStart(SliceOp slice) {
  auto type = dyn_cast<RankedTensorType>(slice.getX().getType());
  if (!type || type.getRank() != 4 || !type.hasStaticShape() ||
      !type.getElementType().isIntOrFloat() ||
      !llvm::all_of(slice.getStrides(), [](int64_t step) { return step == 1; }))
    return -1;
  const int64_t bytes = type.getElementTypeBitWidth() / 8;
  // Its code loads 16 bytes at a time.
  if (type.getShape().back() * bytes % 16 != 0)
    return -1;
  int64_t start = 0, stride = bytes;
  for (int64_t dim = 4; dim-- > 0; stride *= type.getDimSize(dim))
    start += slice.getOffsets()[dim] * stride;
  return start % 64 == 0 ? start : -1;
}

/// Whether `use` is one of attention's tensors of [B, H, T, D]; `asResult`: that which
/// the gradient reads as the attention's result.
static bool isRows(OpOperand &use, bool asResult) {
  // Query, key and value, of the gradient after dy, come first.
  const unsigned number = use.getOperandNumber();
  if (auto attention = dyn_cast<AttentionOp>(use.getOwner()))
    return attention.getFused() && !asResult &&
           number <= attention.getValueMutable().getOperandNumber();
  auto grad = dyn_cast<AttentionGradOp>(use.getOwner());
  if (!grad || !grad.getFused())
    return false;
  return asResult ? number == grad.getResultMutable().getOperandNumber()
                  : number <= grad.getValueMutable().getOperandNumber();
}

bool mpt::isReadInPlace(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose && !transpose->use_empty() && keepsRows(transpose) &&
         llvm::all_of(transpose->getUses(), [&](OpOperand &use) {
           return use.getOwner()->getBlock() == op->getBlock() &&
                  isRows(use, /*asResult=*/false);
         });
}

TypedValue<RankedTensorType> mpt::getWrittenInPlace(Value result) {
  Operation *op = result.getDefiningOp();
  auto attention = dyn_cast_or_null<AttentionOp>(op);
  auto grad = dyn_cast_or_null<AttentionGradOp>(op);
  const bool isWritten =
      (attention && attention.getFused() && result == attention.getResult()) ||
      (grad && grad.getFused() &&
       (result == grad.getDquery() || result == grad.getDkey() ||
        result == grad.getDvalue()));
  if (!isWritten)
    return {};
  TransposeOp view;
  for (OpOperand &use : result.getUses()) {
    if (isRows(use, /*asResult=*/true))
      continue;
    auto transpose = dyn_cast<TransposeOp>(use.getOwner());
    if (!transpose || view || !keepsRows(transpose) ||
        transpose->getBlock() != op->getBlock())
      return {};
    view = transpose;
  }
  // What both are views of has no memory.
  if (!view || isReadInPlace(view))
    return {};
  return cast<TypedValue<RankedTensorType>>(view.getResult());
}

std::optional<int64_t> mpt::getStartInPlace(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || slice->use_empty() || getStart(slice) < 0 ||
      !llvm::all_of(slice->getUsers(), isReadInPlace))
    return std::nullopt;
  return getStart(slice);
}

bool mpt::isAttentionView(Operation *op) {
  if (getStartInPlace(op))
    return true;
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose &&
         (isReadInPlace(op) || getWrittenInPlace(transpose.getX()) == op->getResult(0));
}
