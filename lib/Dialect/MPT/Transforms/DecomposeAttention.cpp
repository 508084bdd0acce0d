//===- DecomposeAttention.cpp - Attention and dropout as primitive ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention and dropout. Scores are kept in f32; the scaled query, the
/// probabilities and results of matmuls are rounded as the ops say.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/FusedAttention.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

double getScale(std::optional<llvm::APFloat> scale, Value query) {
  if (scale)
    return scale->convertToDouble();
  int64_t width = DecomposeBuilder::typeOf(query).getShape().back();
  return 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1)));
}

Value matmul(DecomposeBuilder &b, RankedTensorType type, Value lhs, Value rhs,
             bool transposeLhs, bool transposeRhs, TypeAttr acc) {
  auto unit = [&](bool set) { return set ? b.builder.getUnitAttr() : UnitAttr(); };
  return MatmulOp::create(b.builder, b.loc, type, lhs, rhs, unit(transposeLhs),
                          unit(transposeRhs), acc);
}

/// The f32 scores of a query that is scaled and rounded, none of them hidden.
Value buildScores(DecomposeBuilder &b, Value scaled, Value key, TypeAttr acc) {
  auto q = DecomposeBuilder::typeOf(scaled), k = DecomposeBuilder::typeOf(key);
  SmallVector<int64_t> shape(q.getShape());
  shape.back() = k.getDimSize(2);
  return matmul(b, RankedTensorType::get(shape, b.element), scaled, key, false, true,
                acc);
}

/// Which of the scores are seen; null if all are.
Value buildVisible(DecomposeBuilder &b, Value scores, Value mask, bool causal) {
  if (!causal)
    return mask;
  ArrayRef<int64_t> shape = DecomposeBuilder::typeOf(scores).getShape();
  int64_t rows = shape[2], columns = shape[3];
  // Index tensors of the scores' shape: kernels make them of their loops.
  Type i32 = b.builder.getI32Type();
  auto indices = RankedTensorType::get(shape, i32);
  Value row = IotaOp::create(b.builder, b.loc, indices, 2);
  Value column = IotaOp::create(b.builder, b.loc, indices, 3);
  if (columns != rows)
    row = AddOp::create(b.builder, b.loc, row, b.integer(i32, columns - rows));
  Value visible = b.compare(column, row, ComparePredicate::LE);
  return mask ? AndOp::create(b.builder, b.loc, visible, mask) : visible;
}

LogicalResult decomposeAttention(AttentionOp op, PatternRewriter &rewriter) {
  if (op.getFused())
    return rewriter.notifyMatchFailure(op, "it stays as it is");
  DecomposeBuilder b(rewriter, op.getLoc(), op.getQuery());
  TypeAttr acc = op.getAccTypeAttr();
  Value scaled = b.round(b.mul(op.getQuery(), getScale(op.getScale(), op.getQuery())),
                         op.getQuery().getType());
  Value scores = buildScores(b, scaled, op.getKey(), acc);
  if (Value visible = buildVisible(b, scores, op.getMask(), op.getCausal()))
    scores = b.where(visible, scores, b.scalar(-std::numeric_limits<double>::infinity()));
  Value max = b.reduceRow(ReduceKind::Max, scores);
  // With a mask a row may see nothing: -inf minus a finite number is -inf.
  if (op.getMask()) {
    Value lowest = b.scalar(b.element.isF64() ? std::numeric_limits<double>::lowest()
                                              : std::numeric_limits<float>::lowest());
    max = b.where(b.compare(max, lowest, ComparePredicate::LT), lowest, max);
  }
  Value powers = b.exp(b.sub(scores, max));
  Value sum = b.reduceRow(ReduceKind::Sum, powers);
  Value divisor = sum;
  if (op.getMask())
    divisor =
        b.where(b.compare(sum, b.scalar(0.0), ComparePredicate::EQ), b.scalar(1.0), sum);
  auto type = DecomposeBuilder::typeOf(scores).clone(
      DecomposeBuilder::typeOf(op.getValue()).getElementType());
  Value probabilities = b.round(b.div(powers, divisor), type);
  Value lse = b.add(b.log(sum), max);
  Value result = matmul(b, DecomposeBuilder::typeOf(op.getResult()), probabilities,
                        op.getValue(), false, false, acc);
  rewriter.replaceOp(op, {result, b.round(lse, op.getLogSumExp().getType())});
  return success();
}

LogicalResult decomposeAttentionGrad(AttentionGradOp op, PatternRewriter &rewriter) {
  if (op.getFused())
    return rewriter.notifyMatchFailure(op, "it stays as it is");
  DecomposeBuilder b(rewriter, op.getLoc(), op.getQuery());
  TypeAttr acc = op.getAccTypeAttr();
  double scale = getScale(op.getScale(), op.getQuery());
  Value scaled = b.round(b.mul(op.getQuery(), scale), op.getQuery().getType());
  Value scores = buildScores(b, scaled, op.getKey(), acc);
  auto wide = DecomposeBuilder::typeOf(scores);
  auto storage = wide.clone(DecomposeBuilder::typeOf(op.getValue()).getElementType());
  Value powers = b.exp(b.sub(scores, b.asRow(op.getLogSumExp())));
  if (Value visible = buildVisible(b, scores, op.getMask(), op.getCausal()))
    powers = b.where(visible, powers, b.scalar(0.0));
  Value probabilities = b.round(powers, storage);
  Value dvalue = matmul(b, DecomposeBuilder::typeOf(op.getDvalue()), probabilities,
                        op.getDy(), true, false, acc);
  Value dprobabilities = matmul(b, wide, op.getDy(), op.getValue(), false, true, acc);
  // sum(dp p) over a row is sum(dy y) over that row of the result.
  Value dot = b.reduceRow(ReduceKind::Sum, b.mul(op.getDy(), op.getResult()));
  Value dscores = b.round(b.mul(probabilities, b.sub(dprobabilities, dot)), storage);
  Value dscaled = matmul(b, DecomposeBuilder::typeOf(op.getDquery()).clone(b.element),
                         dscores, op.getKey(), false, false, acc);
  Value dquery = b.round(b.mul(dscaled, scale), op.getDquery().getType());
  Value dkey = matmul(b, DecomposeBuilder::typeOf(op.getDkey()), dscores, scaled, true,
                      false, acc);
  rewriter.replaceOp(op, {dquery, dkey, dvalue});
  return success();
}

LogicalResult decomposeDropout(DropoutOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  double rate = op.getRate().convertToDouble();
  Value mask = RandomMaskOp::create(
      rewriter, op.getLoc(), op.getSeed(), op.getAttempt(), op.getRateAttr(),
      op.getStreamAttr(),
      rewriter.getDenseI64ArrayAttr(DecomposeBuilder::typeOf(op.getX()).getShape()));
  Value y = b.where(mask, b.mul(op.getX(), 1.0 / (1.0 - rate)), b.scalar(0.0));
  rewriter.replaceOp(op, {b.round(y, op.getY().getType()), mask});
  return success();
}

LogicalResult decomposeDropoutGrad(DropoutGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getDy());
  double rate = op.getRate().convertToDouble();
  Value dx = b.where(op.getMask(), b.mul(op.getDy(), 1.0 / (1.0 - rate)), b.scalar(0.0));
  rewriter.replaceOp(op, b.round(dx, op.getType()));
  return success();
}

} // namespace

void mpt::populateDecomposeAttentionPatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, decomposeAttention, decomposeAttentionGrad, decomposeDropout,
              decomposeDropoutGrad);
}
