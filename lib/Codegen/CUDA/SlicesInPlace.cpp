//===- SlicesInPlace.cpp - Slices that need no copies -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/SlicesInPlace.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

using namespace mlir;
using namespace mpt;

static RankedTensorType typeOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

static bool isStatic(Value value) {
  RankedTensorType type = typeOf(value);
  return type && type.hasStaticShape() && type.getNumElements() > 0;
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

static LogicalResult reshapeBeforeSlice(ReshapeOp reshape, PatternRewriter &rewriter) {
  auto slice = reshape.getX().getDefiningOp<SliceOp>();
  if (!slice || !isStatic(slice.getX()) || !isStatic(reshape.getY()))
    return failure();
  RankedTensorType from = typeOf(slice.getX()), part = typeOf(slice.getResult()),
                   to = typeOf(reshape.getY());
  if (from.getRank() < 2 || from.getShape().drop_back() != part.getShape().drop_back() ||
      slice.getStrides().back() != 1)
    return failure();
  // Leading dimensions of the same rows; what is left begins with that which is cut.
  const int64_t rows = product(part.getShape().drop_back());
  ArrayRef<int64_t> shape = to.getShape();
  size_t lead = 0;
  for (int64_t seen = 1; lead < shape.size() && seen * shape[lead] <= rows; ++lead)
    seen *= shape[lead];
  if (lead == shape.size() || product(shape.take_front(lead)) != rows)
    return failure();
  const int64_t inner = product(shape.drop_front(lead + 1)),
                first = slice.getOffsets().back();
  if (first % inner != 0 || from.getShape().back() % inner != 0)
    return failure();
  SmallVector<int64_t> whole(shape), offsets(shape.size(), 0), strides(shape.size(), 1);
  whole[lead] = from.getShape().back() / inner;
  offsets[lead] = first / inner;
  Value x = slice.getX();
  if (ArrayRef<int64_t>(whole) != from.getShape())
    x = ReshapeOp::create(rewriter, reshape.getLoc(), from.clone(whole), x);
  rewriter.replaceOpWithNewOp<SliceOp>(reshape, to, x, offsets, shape, strides);
  return success();
}

static LogicalResult joinSlices(SliceOp slice, PatternRewriter &rewriter) {
  auto before = slice.getX().getDefiningOp<SliceOp>();
  if (!before || !isStatic(before.getX()) || !isStatic(slice.getResult()))
    return failure();
  SmallVector<int64_t> offsets, strides;
  for (auto [first, step, outerFirst, outerStep] :
       llvm::zip_equal(before.getOffsets(), before.getStrides(), slice.getOffsets(),
                       slice.getStrides())) {
    offsets.push_back(first + outerFirst * step);
    strides.push_back(step * outerStep);
  }
  RankedTensorType type = typeOf(slice.getResult());
  rewriter.replaceOpWithNewOp<SliceOp>(slice, type, before.getX(), offsets,
                                       type.getShape(), strides);
  return success();
}

/// The dimension along which `pad` adds zeros, if it is only one.
static std::optional<int64_t> getPaddedDimension(PadOp pad) {
  auto isOther = [](int64_t count) { return count != 0; };
  if (!isStatic(pad.getX()) || !isStatic(pad.getResult()) || !pad.getValue().isZero() ||
      pad.getValue().isNegative() ||
      !isa<FloatType>(typeOf(pad.getX()).getElementType()) ||
      (pad.getInterior() && llvm::any_of(*pad.getInterior(), isOther)))
    return std::nullopt;
  std::optional<int64_t> padded;
  for (auto [dim, low, high] : llvm::enumerate(pad.getLow(), pad.getHigh())) {
    if (low == 0 && high == 0)
      continue;
    if (padded)
      return std::nullopt;
    padded = dim;
  }
  return padded;
}

static LogicalResult joinPadded(AddOp add, PatternRewriter &rewriter) {
  const Type type = add.getResult().getType();
  // Only the whole sum.
  if (add->hasOneUse())
    if (auto more = dyn_cast<AddOp>(*add->user_begin());
        more && more.getResult().getType() == type)
      return failure();
  SmallVector<PadOp> pads;
  SmallVector<Value> open(add->getOperands());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (!maker || !value.hasOneUse() || value.getType() != type)
      return failure();
    if (auto pad = dyn_cast<PadOp>(maker))
      pads.push_back(pad);
    else if (isa<AddOp>(maker))
      llvm::append_range(open, maker->getOperands());
    else
      return failure();
  }
  std::optional<int64_t> axis = getPaddedDimension(pads.front());
  if (!axis ||
      !llvm::all_of(pads, [&](PadOp pad) { return getPaddedDimension(pad) == axis; }))
    return failure();
  llvm::stable_sort(
      pads, [&](PadOp a, PadOp b) { return a.getLow()[*axis] < b.getLow()[*axis]; });
  SmallVector<Value> parts;
  int64_t end = 0;
  for (PadOp pad : pads) {
    if (pad.getLow()[*axis] != end)
      return failure();
    end += typeOf(pad.getX()).getDimSize(*axis);
    parts.push_back(pad.getX());
  }
  if (end != cast<RankedTensorType>(type).getDimSize(*axis))
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(add, type, parts, *axis);
  return success();
}

void mpt::populateSlicesInPlacePatterns(RewritePatternSet &patterns) {
  patterns.add(reshapeBeforeSlice);
  patterns.add(joinSlices);
  patterns.add(joinPadded);
}
