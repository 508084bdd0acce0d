//===- MultiplyPatches.cpp - Convolutions of patches ------------*- C++ -*-===//
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

/// Layouts of filters in libraries have blocks of so many channels. A filter for images
/// of one point need not be in one: that is a matrix.
constexpr int64_t blockOfChannels = 16;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The windows of a convolution of x [N, H, W, C] with a result (or its gradient) y
/// [N, OH, OW, O] and a filter.
struct Windows {
  RankedTensorType x, y, filter;
  bool isOIHW;

  template <typename Conv>
  static Windows of(Conv op, Value x, Value y, Value filter) {
    return {typeOf(x), typeOf(y), typeOf(filter), op.getOihw()};
  }
  int64_t getHeight() const { return filter.getDimSize(isOIHW ? 2 : 0); }
  int64_t getWidth() const { return filter.getDimSize(isOIHW ? 3 : 1); }
  int64_t getChannels() const { return x.getDimSize(3); }
  int64_t getPoints() const { return y.getNumElements() / y.getDimSize(3); }
  int64_t getTaps() const { return getHeight() * getWidth() * getChannels(); }
  /// The filter as a matrix: [O, C KH KW] with `oihw`, else [KH KW C, O].
  SmallVector<int64_t> getMatrix() const {
    if (isOIHW)
      return {y.getDimSize(3), getTaps()};
    return {getTaps(), y.getDimSize(3)};
  }

  /// Whether images, and the filter of `op`, are one point each.
  template <typename Conv>
  bool arePoints(Conv op) const {
    return x.hasStaticShape() && y.hasStaticShape() && x.getNumElements() != 0 &&
           y.getNumElements() != 0 && getHeight() * getWidth() == 1 &&
           x.getDimSize(1) == 1 && x.getDimSize(2) == 1 && y.getDimSize(1) == 1 &&
           y.getDimSize(2) == 1 && op.getGroups() == 1 && hasNoPadding(op);
  }
  /// Whether the windows of `op` are patches, each element of x in exactly one, and
  /// have so few channels that libraries pad them.
  template <typename Conv>
  bool arePatches(Conv op) const {
    return x.hasStaticShape() && y.hasStaticShape() && x.getNumElements() != 0 &&
           y.getNumElements() != 0 && getHeight() * getWidth() != 1 &&
           getChannels() < blockOfChannels && op.getGroups() == 1 &&
           op.getStrides() == ArrayRef({getHeight(), getWidth()}) && hasNoPadding(op) &&
           llvm::all_of(
               op.getDilations(), [](int64_t size) { return size == 1; }) &&
           x.getDimSize(1) == y.getDimSize(1) * getHeight() &&
           x.getDimSize(2) == y.getDimSize(2) * getWidth();
  }

private:
  template <typename Conv>
  static bool hasNoPadding(Conv op) {
    return llvm::all_of(op.getPadding(), [](int64_t size) { return size == 0; });
  }
};

Value reshape(PatternRewriter &rewriter, Location loc, Value value,
              ArrayRef<int64_t> shape) {
  return ReshapeOp::create(rewriter, loc, typeOf(value).clone(shape), value);
}

/// The patches of `x` as rows [N OH OW, taps], with the taps in the filter's order.
Value makePatches(PatternRewriter &rewriter, Location loc, Value x,
                  const Windows &windows) {
  if (windows.getHeight() * windows.getWidth() == 1)
    return reshape(rewriter, loc, x, {windows.getPoints(), windows.getTaps()});
  const int64_t images = windows.x.getDimSize(0), rows = windows.y.getDimSize(1),
                columns = windows.y.getDimSize(2), height = windows.getHeight(),
                width = windows.getWidth(), in = windows.getChannels();
  // Channels that come first in what x is a transpose of are read there.
  auto turn = x.getDefiningOp<TransposeOp>();
  const bool isPlanar =
      windows.isOIHW && turn &&
      turn.getPermutation() == ArrayRef<int64_t>({0, 2, 3, 1}) &&
      typeOf(turn.getX()).getElementType() == windows.x.getElementType();
  SmallVector<int64_t> shape = {images, rows, height, columns, width, in},
                       permutation = {0, 1, 3, 2, 4, 5};
  if (isPlanar) {
    x = turn.getX();
    shape = {images, in, rows, height, columns, width};
    permutation = {0, 2, 4, 1, 3, 5};
  } else if (windows.isOIHW) {
    permutation = {0, 1, 3, 5, 2, 4};
  }
  SmallVector<int64_t> turned;
  for (int64_t dim : permutation)
    turned.push_back(shape[dim]);
  Value patches = TransposeOp::create(rewriter, loc, windows.x.clone(turned),
                                      reshape(rewriter, loc, x, shape), permutation);
  return reshape(rewriter, loc, patches, {windows.getPoints(), windows.getTaps()});
}

LogicalResult multiplyByFilter(Conv2DOp op, PatternRewriter &rewriter) {
  const Windows windows = Windows::of(op, op.getX(), op.getResult(), op.getFilter());
  if (!windows.arePatches(op) && !windows.arePoints(op))
    return failure();
  const Location loc = op.getLoc();
  Value patches = makePatches(rewriter, loc, op.getX(), windows);
  Value matrix = reshape(rewriter, loc, op.getFilter(), windows.getMatrix());
  Value result = LinearOp::create(
      rewriter, loc, windows.y.clone({windows.getPoints(), windows.y.getDimSize(3)}),
      patches, matrix, op.getBias(), op.getEpilogue(), op.getAccTypeAttr(),
      /*transpose_weight=*/windows.isOIHW, /*fast_accumulation=*/false);
  rewriter.replaceOp(op, reshape(rewriter, loc, result, windows.y.getShape()));
  return success();
}

LogicalResult multiplyByGradient(Conv2DFilterGradOp op, PatternRewriter &rewriter) {
  const Windows windows = Windows::of(op, op.getX(), op.getDy(), op.getResult());
  if ((!windows.arePatches(op) && !windows.arePoints(op)) ||
      windows.x.getElementType() != windows.y.getElementType())
    return failure();
  const Location loc = op.getLoc();
  Value left = makePatches(rewriter, loc, op.getX(), windows);
  Value right =
      reshape(rewriter, loc, op.getDy(), {windows.getPoints(), windows.y.getDimSize(3)});
  if (windows.isOIHW)
    std::swap(left, right);
  Value matmul = MatmulOp::create(
      rewriter, loc, windows.filter.clone(windows.getMatrix()), left, right,
      /*transpose_lhs=*/true, /*transpose_rhs=*/false, op.getAccTypeAttr());
  rewriter.replaceOp(op, reshape(rewriter, loc, matmul, windows.filter.getShape()));
  return success();
}

LogicalResult multiplyPoints(Conv2DInputGradOp op, PatternRewriter &rewriter) {
  const Windows windows = Windows::of(op, op.getResult(), op.getDy(), op.getFilter());
  if (!windows.arePoints(op) ||
      windows.filter.getElementType() != windows.y.getElementType())
    return failure();
  const Location loc = op.getLoc();
  Value dy =
      reshape(rewriter, loc, op.getDy(), {windows.getPoints(), windows.y.getDimSize(3)});
  Value matrix = reshape(rewriter, loc, op.getFilter(), windows.getMatrix());
  Value matmul = MatmulOp::create(
      rewriter, loc, windows.x.clone({windows.getPoints(), windows.getChannels()}), dy,
      matrix, /*transpose_lhs=*/false, /*transpose_rhs=*/!windows.isOIHW,
      op.getAccTypeAttr());
  rewriter.replaceOp(op, reshape(rewriter, loc, matmul, windows.x.getShape()));
  return success();
}

struct MultiplyPatchesPass : mpt::impl::MultiplyPatchesPassBase<MultiplyPatchesPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(multiplyByFilter);
    patterns.add(multiplyByGradient);
    patterns.add(multiplyPoints);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
