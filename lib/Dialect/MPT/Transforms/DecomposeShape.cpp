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
/// Reductions become those that kernels can do, over the last axis or over all
/// but the last, where a reshape (which is free) is enough for that.
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
              decomposeReduce);
}
