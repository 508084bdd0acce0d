//===- DecomposeShape.cpp - Moves and reductions in kernel form -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ops that move elements become moves within one element type and a cast.
/// Sums of neighboring pads become concatenations. Reductions become those that kernels
/// can do, over the last axis or over all but the last, where a reshape (which is free)
/// is enough for that.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Reductions of everything whose rows are shorter than this are done on rows
/// of another length.
constexpr int64_t shortestRow = 32;
constexpr int64_t longestRow = 4096;
/// Ops looked at to find out whether a value is made of row statistics.
constexpr unsigned mostOpsLookedAt = 32;

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// A move whose result has another float type than its operands: rounds the
/// operands, so that what moves is already narrow.
template <typename Op>
LogicalResult roundBeforeMove(Op op, PatternRewriter &rewriter) {
  bool changed = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value operand = op->getOperand(i);
    // A barrier has a result for each operand.
    Type to = elementOf(op->getResult(op->getNumResults() > 1 ? i : 0));
    if (elementOf(operand) == to)
      continue;
    Value cast = CastOp::create(rewriter, op.getLoc(),
                                mlir::cast<RankedTensorType>(operand.getType()).clone(to),
                                operand);
    rewriter.modifyOpInPlace(op, [&] { op->setOperand(i, cast); });
    changed = true;
  }
  return success(changed);
}

/// A gather that rounds: of the rows it takes, not of the whole table.
LogicalResult roundAfterGather(GatherOp op, PatternRewriter &rewriter) {
  Type from = elementOf(op.getTable());
  auto type = DecomposeBuilder::typeOf(op.getY());
  if (from == type.getElementType())
    return failure();
  Value rows = GatherOp::create(rewriter, op.getLoc(), type.clone(from), op.getTable(),
                                op.getIndices());
  rewriter.replaceOpWithNewOp<CastOp>(op, type, rows);
  return success();
}

/// What autodiff left of `mpt.checkpoint`: the region runs in place.
LogicalResult inlineCheckpoint(CheckpointOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return failure();
  SmallVector<Value> results(yield.getValues());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&body, op);
  rewriter.replaceOp(op, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Sums of pads
//===----------------------------------------------------------------------===//

/// The dimension along which `value` is zero before and after some other tensor, if it
/// is a pad of that along this dimension alone, and nothing else reads it.
std::optional<unsigned> getPaddedDimension(Value value) {
  auto pad = value.getDefiningOp<PadOp>();
  if (!pad || !pad->hasOneUse() || !pad.getValue().isZero() || pad.getInterior() ||
      !DecomposeBuilder::typeOf(value).hasStaticShape() ||
      elementOf(pad.getX()) != elementOf(value))
    return std::nullopt;
  std::optional<unsigned> found;
  for (auto [i, low, high] : llvm::enumerate(pad.getLow(), pad.getHigh())) {
    if (low == 0 && high == 0)
      continue;
    if (found)
      return std::nullopt;
    found = i;
  }
  return found;
}

/// The sum of two pads, or no value unless one begins where the other ends.
Value addNeighbors(Value a, Value b, PatternRewriter &rewriter, Location loc) {
  std::optional<unsigned> dim = getPaddedDimension(a);
  if (!dim || getPaddedDimension(b) != dim || a.getType() != b.getType())
    return {};
  auto first = a.getDefiningOp<PadOp>(), second = b.getDefiningOp<PadOp>();
  if (first.getLow()[*dim] > second.getLow()[*dim])
    std::swap(first, second);
  auto type = DecomposeBuilder::typeOf(first.getX());
  const int64_t end = first.getLow()[*dim] + type.getDimSize(*dim);
  if (end != second.getLow()[*dim])
    return {};
  // Concatenations of concatenations are one.
  SmallVector<Value> parts;
  for (Value part : {first.getX(), second.getX()}) {
    auto concat = part.getDefiningOp<ConcatOp>();
    if (concat && concat->hasOneUse() && concat.getAxis() == *dim &&
        llvm::all_of(concat.getInputs(), [&](Value input) {
          return elementOf(input) == type.getElementType();
        }))
      llvm::append_range(parts, concat.getInputs());
    else
      parts.push_back(part);
  }
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] += DecomposeBuilder::typeOf(second.getX()).getDimSize(*dim);
  Value joined = ConcatOp::create(rewriter, loc, type.clone(shape), parts, *dim);
  return rewriter.createOrFold<PadOp>(loc, a.getType(), joined, first.getLowAttr(),
                                      second.getHighAttr(), DenseI64ArrayAttr(),
                                      first.getValueAttr());
}

/// Gradients of neighboring slices of one tensor are pads that are added: each element is
/// zero in all of them but one. Their sum is a concatenation. a + (b + c) counts, too, if
/// a and b, or a and c, are such pads. Zeros that are added may lose their sign.
LogicalResult concatNeighbors(AddOp op, PatternRewriter &rewriter) {
  auto type = DecomposeBuilder::typeOf(op.getResult());
  auto replace = [&](Value value) {
    if (value.getType() == type)
      rewriter.replaceOp(op, value);
    else
      rewriter.replaceOpWithNewOp<CastOp>(op, type, value);
    return success();
  };
  Value sides[] = {op.getLhs(), op.getRhs()};
  if (DecomposeBuilder::typeOf(sides[0]).getShape() != type.getShape())
    return failure();
  if (Value sum = addNeighbors(sides[0], sides[1], rewriter, op.getLoc()))
    return replace(sum);
  for (auto [pad, other] : {std::pair(sides[0], sides[1]), {sides[1], sides[0]}}) {
    auto inner = other.getDefiningOp<AddOp>();
    if (!inner || !inner->hasOneUse() || pad.getType() != type)
      continue;
    Value terms[] = {inner.getLhs(), inner.getRhs()};
    if (inner.getType() != type || terms[0].getType() != type ||
        terms[1].getType() != type)
      continue;
    for (auto [term, rest] : {std::pair(terms[0], terms[1]), {terms[1], terms[0]}})
      if (Value sum = addNeighbors(pad, term, rewriter, op.getLoc())) {
        rewriter.replaceOpWithNewOp<AddOp>(op, type, rest, sum);
        return success();
      }
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// True if `value` is computed elementwise from reductions of rows, so that its
/// kernel can go on to reduce it over all rows.
bool isRowStatistic(Value value) {
  SmallVector<Value> queue = {value};
  for (unsigned i = 0; i < queue.size() && i < mostOpsLookedAt; ++i) {
    Operation *op = queue[i].getDefiningOp();
    if (!op)
      continue;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      auto type = DecomposeBuilder::typeOf(reduce.getX());
      if (reduce.getKeepDims() && reduce.getAxes().size() == 1 &&
          static_cast<int64_t>(reduce.getAxes()[0]) == type.getRank() - 1 &&
          type.getShape().back() > 1)
        return true;
      continue;
    }
    if (op->getNumResults() == 1 && !isa<ReshapeOp>(op))
      for (Value operand : op->getOperands())
        if (DecomposeBuilder::typeOf(operand).getShape() ==
            DecomposeBuilder::typeOf(value).getShape())
          queue.push_back(operand);
  }
  return false;
}

/// Over the last axis alone, or over all but the last.
bool isKernelForm(ReduceOp op, int64_t rank) {
  bool last = llvm::is_contained(op.getAxes(), rank - 1);
  return op.getAxes().size() == static_cast<size_t>(last ? 1 : rank - 1);
}

LogicalResult decomposeReduce(ReduceOp op, PatternRewriter &rewriter) {
  auto type = DecomposeBuilder::typeOf(op.getX());
  auto resultType = DecomposeBuilder::typeOf(op.getY());
  if (!isa<FloatType>(type.getElementType()) || type.getNumElements() == 0)
    return failure();
  // Sizes without ones, and which of them are reduced.
  SmallVector<int64_t> sizes;
  SmallVector<bool> reduced;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (size == 1)
      continue;
    sizes.push_back(size);
    reduced.push_back(llvm::is_contained(op.getAxes(), static_cast<int64_t>(i)));
  }
  Type storage = op.getAccType().value_or(type.getElementType());
  if (resultType.getElementType().isF64())
    storage = rewriter.getF64Type();
  DecomposeBuilder b(rewriter, op.getLoc(), storage);
  Value x = op.getX();
  int64_t count = type.getNumElements();
  bool hasReduced = llvm::is_contained(reduced, true);
  bool hasKept = llvm::is_contained(reduced, false);
  if (!hasReduced) {
    rewriter.replaceOp(op, b.round(x, resultType));
    return success();
  }
  if (!hasKept) {
    int64_t columns = type.getShape().back();
    bool isShort = columns < shortestRow && count >= longestRow;
    if ((!isShort && columns <= longestRow) || isRowStatistic(x))
      return failure();
    Value rows = b.asRows(x);
    if (rows.getType() == x.getType())
      return failure();
    Value y = b.reduceAll(op.getKind(), b.reduceRow(op.getKind(), rows));
    rewriter.replaceOp(op, b.round(y, resultType));
    return success();
  }
  if (isKernelForm(op, type.getRank()))
    return failure();
  // Neighbors that are both reduced, or both kept, are one dimension.
  SmallVector<int64_t> groups;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i > 0 && reduced[i] == reduced[i - 1])
      groups.back() *= sizes[i];
    else
      groups.push_back(sizes[i]);
  // What is left is a call.
  if (!reduced.back() && groups.size() > 2)
    return failure();
  // Rows first, then what is left of each: [P, Q, R] over P and R is [P, Q] over P.
  Value y = x;
  if (reduced.back()) {
    int64_t row = groups.pop_back_val();
    y = b.reduceRow(op.getKind(), b.reshape(y, {count / row, row}));
  }
  SmallVector<int64_t> axes;
  for (int64_t i = static_cast<int64_t>(groups.size()) - 2; i >= 0; i -= 2)
    axes.insert(axes.begin(), i);
  if (!axes.empty())
    y = b.reduce(op.getKind(), b.reshape(y, groups), axes, /*keepDims=*/false);
  rewriter.replaceOp(op, b.round(y, resultType));
  return success();
}

} // namespace

void mpt::populateDecomposeShapePatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, roundBeforeMove<TransposeOp>, roundBeforeMove<SliceOp>,
              roundBeforeMove<ConcatOp>, roundBeforeMove<PadOp>,
              roundBeforeMove<BarrierOp>, roundAfterGather, inlineCheckpoint,
              concatNeighbors, decomposeReduce);
}
