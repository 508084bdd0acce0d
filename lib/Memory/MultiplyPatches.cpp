//===- MultiplyPatches.cpp - Filter gradients of patches --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Memory/Passes.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_MULTIPLYPATCHESPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Layouts of filters in libraries have blocks of so many channels.
constexpr int64_t blockOfChannels = 16;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether the windows of `op` are patches: each element of x is in exactly one.
bool readsPatches(Conv2DFilterGradOp op, int64_t height, int64_t width) {
  RankedTensorType x = typeOf(op.getX()), dy = typeOf(op.getDy());
  return op.getGroups() == 1 && op.getStrides() == ArrayRef({height, width}) &&
         llvm::all_of(op.getPadding(), [](int64_t size) { return size == 0; }) &&
         llvm::all_of(op.getDilations(), [](int64_t size) { return size == 1; }) &&
         x.getDimSize(1) == dy.getDimSize(1) * height &&
         x.getDimSize(2) == dy.getDimSize(2) * width;
}

LogicalResult multiplyPatches(Conv2DFilterGradOp op, PatternRewriter &rewriter) {
  RankedTensorType x = typeOf(op.getX()), dy = typeOf(op.getDy()),
                   filter = typeOf(op.getResult());
  if (!x.hasStaticShape() || !dy.hasStaticShape() || x.getNumElements() == 0 ||
      dy.getNumElements() == 0 || x.getElementType() != dy.getElementType())
    return failure();
  const bool isOIHW = op.getOihw();
  const int64_t height = filter.getDimSize(isOIHW ? 2 : 0),
                width = filter.getDimSize(isOIHW ? 3 : 1), in = x.getDimSize(3),
                out = dy.getDimSize(3);
  if (height * width == 1 || in >= blockOfChannels || !readsPatches(op, height, width))
    return failure();
  const int64_t images = x.getDimSize(0), rows = dy.getDimSize(1),
                columns = dy.getDimSize(2);
  const Location loc = op.getLoc();
  auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    return ReshapeOp::create(rewriter, loc, typeOf(value).clone(shape), value);
  };
  // The filter's dimensions come last, in its own order. Channels that come first in what
  // x is a transpose of are read there.
  Value source = op.getX();
  auto turn = source.getDefiningOp<TransposeOp>();
  const bool isPlanar = isOIHW && turn &&
                        turn.getPermutation() == ArrayRef<int64_t>({0, 2, 3, 1}) &&
                        typeOf(turn.getX()).getElementType() == x.getElementType();
  SmallVector<int64_t> shape = {images, rows, height, columns, width, in},
                       permutation = {0, 1, 3, 2, 4, 5};
  if (isPlanar) {
    source = turn.getX();
    shape = {images, in, rows, height, columns, width};
    permutation = {0, 2, 4, 1, 3, 5};
  } else if (isOIHW) {
    permutation = {0, 1, 3, 5, 2, 4};
  }
  SmallVector<int64_t> turned;
  for (int64_t dim : permutation)
    turned.push_back(shape[dim]);
  Value patches = TransposeOp::create(rewriter, loc, x.clone(turned),
                                      reshape(source, shape), permutation);
  const int64_t points = images * rows * columns, taps = height * width * in;
  patches = reshape(patches, {points, taps});
  Value grads = reshape(op.getDy(), {points, out});
  Value product =
      isOIHW ? MatmulOp::create(rewriter, loc, filter.clone({out, taps}), grads, patches,
                                /*transpose_lhs=*/true, /*transpose_rhs=*/false,
                                op.getAccTypeAttr())
             : MatmulOp::create(rewriter, loc, filter.clone({taps, out}), patches, grads,
                                /*transpose_lhs=*/true, /*transpose_rhs=*/false,
                                op.getAccTypeAttr());
  rewriter.replaceOp(op, reshape(product, filter.getShape()));
  return success();
}

struct MultiplyPatchesPass : mpt::impl::MultiplyPatchesPassBase<MultiplyPatchesPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(multiplyPatches);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
