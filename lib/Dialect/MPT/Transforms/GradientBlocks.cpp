//===- GradientBlocks.cpp - Sums over gradients, by blocks ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"

#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Shorter rows leave lanes of vectors unused.
static constexpr int64_t shortestRow = 32;
/// Elements of which a copy takes more time and memory than three small ops.
static constexpr int64_t fewestRead = 16 * mpt::detail::kGradientBlock;

static int64_t getCount(Value value) {
  return DecomposeBuilder::typeOf(value).getNumElements();
}

/// The elements of `value`, with zeros up to a multiple of `row`, as rows of that length.
static Value padToRows(DecomposeBuilder &b, Value value, int64_t row) {
  const int64_t count = getCount(value), rows = llvm::divideCeil(count, row);
  if (int64_t missing = rows * row - count) {
    value = b.reshape(value, {count});
    value = PadOp::create(
        b.builder, b.loc, DecomposeBuilder::typeOf(value).clone({rows * row}), value,
        b.builder.getDenseI64ArrayAttr({0}), b.builder.getDenseI64ArrayAttr({missing}),
        DenseI64ArrayAttr(), b.builder.getF64FloatAttr(0.0));
  }
  return b.reshape(value, {rows, row});
}

int64_t mpt::detail::getGradientRow(int64_t count) {
  if (count <= kGradientBlock)
    return std::max<int64_t>(count, 1);
  const int64_t row = std::gcd(count, kGradientBlock);
  return row < shortestRow ? kGradientBlock : row;
}

/// The elements of `value` from `begin` to before `end`, one after the other.
static Value takeElements(DecomposeBuilder &b, Value value, int64_t begin, int64_t end) {
  value = b.reshape(value, {getCount(value)});
  return SliceOp::create(
      b.builder, b.loc, DecomposeBuilder::typeOf(value).clone({end - begin}), value,
      b.builder.getDenseI64ArrayAttr({begin}),
      b.builder.getDenseI64ArrayAttr({end - begin}), b.builder.getDenseI64ArrayAttr({1}));
}

/// Whether rows of length `row` are read where they are in `count` elements, and only the
/// rest is copied.
static bool isReadInParts(int64_t count, int64_t row) {
  return count % row != 0 && count >= fewestRead;
}

SmallVector<Value, 2> mpt::detail::asGradientRows(DecomposeBuilder &b, Value gradient) {
  const int64_t count = getCount(gradient), row = getGradientRow(count),
                rest = count % row;
  if (isReadInParts(count, row)) {
    Value whole = takeElements(b, gradient, 0, count - rest);
    return {b.reshape(whole, {count / row, row}),
            b.reshape(takeElements(b, gradient, count - rest, count), {1, rest})};
  }
  return {rest == 0 ? b.reshape(gradient, {count / row, row}) : b.asRows(gradient)};
}

Value mpt::detail::sumSquaresOfBlocks(DecomposeBuilder &b, Value gradient, int64_t row) {
  const int64_t count = getCount(gradient);
  if (count == 0)
    return b.reshape(b.scalar(0.0), {1});
  if (isReadInParts(count, row)) {
    const int64_t rest = count % row;
    Value parts[] = {
        sumSquaresOfBlocks(b, takeElements(b, gradient, 0, count - rest), row),
        sumSquaresOfBlocks(b, takeElements(b, gradient, count - rest, count), row)};
    const int64_t blocks = getCount(parts[0]) + getCount(parts[1]);
    return ConcatOp::create(b.builder, b.loc,
                            DecomposeBuilder::typeOf(parts[0]).clone({blocks}), parts,
                            b.builder.getI64IntegerAttr(0));
  }
  // Zeros change no sum.
  Value rows = b.widen(padToRows(b, gradient, row));
  Value sums = b.reduceRow(ReduceKind::Sum, b.mul(rows, rows));
  const int64_t made = getCount(sums);
  if (made > 1 && row < kGradientBlock)
    sums = b.reduceRow(ReduceKind::Sum, padToRows(b, sums, kGradientBlock / row));
  return b.reshape(sums, {getCount(sums)});
}

Value mpt::detail::addBlocks(DecomposeBuilder &b, Value sums) {
  const int64_t count = getCount(sums);
  if (count > 1)
    sums = b.reduceRow(ReduceKind::Sum, b.reshape(sums, {1, count}));
  return b.reshape(sums, {});
}

Value mpt::detail::getClipFactor(DecomposeBuilder &b, Value norm, double limit) {
  Value ratio = b.div(b.scalar(limit), b.add(norm, 1e-6));
  return MinimumOp::create(b.builder, b.loc, ratio, b.scalar(1.0));
}
