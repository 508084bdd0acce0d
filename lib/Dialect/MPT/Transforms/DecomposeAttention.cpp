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

/// What the forward and the backward pass of attention compute alike.
template <typename OpTy>
struct AttentionBuilder {
  DecomposeBuilder &b;
  OpTy op;
  double scale;
  /// Of queries and scores [B, H, T, D or S], and of what has the heads of the keys:
  /// queries of the same head of keys follow each other there, [B, G, H / G T, D or S].
  int64_t heads, groups, queries;

  AttentionBuilder(DecomposeBuilder &b, OpTy op) : b(b), op(op) {
    ArrayRef<int64_t> query = DecomposeBuilder::typeOf(op.getQuery()).getShape();
    heads = query[1];
    queries = query[2];
    groups = DecomposeBuilder::typeOf(op.getValue()).getDimSize(1);
    scale =
        op.getScale()
            ? op.getScale()->convertToDouble()
            : 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(query.back(), 1)));
  }

  Value group(Value value) {
    SmallVector<int64_t> shape(DecomposeBuilder::typeOf(value).getShape());
    // `--mpt-decompose` expects static shapes.
    shape[1] = groups;
    shape[2] = groups == 0 ? queries : heads / groups * queries;
    return b.reshape(value, shape);
  }
  /// The inverse of `group`.
  Value ungroup(Value value) {
    SmallVector<int64_t> shape(DecomposeBuilder::typeOf(value).getShape());
    shape[1] = heads;
    shape[2] = queries;
    return b.reshape(value, shape);
  }

  /// Of operands with the heads of the keys.
  Value matmul(Value lhs, Value rhs, bool transposeLhs, bool transposeRhs, Type element) {
    ArrayRef<int64_t> l = DecomposeBuilder::typeOf(lhs).getShape();
    ArrayRef<int64_t> r = DecomposeBuilder::typeOf(rhs).getShape();
    auto type = RankedTensorType::get(
        {l[0], l[1], l[transposeLhs ? 3 : 2], r[transposeRhs ? 2 : 3]}, element);
    return MatmulOp::create(b.builder, b.loc, type, lhs, rhs, transposeLhs, transposeRhs,
                            op.getAccTypeAttr());
  }

  Value scaleQuery() {
    return b.round(b.mul(op.getQuery(), scale), op.getQuery().getType());
  }

  /// The f32 scores [B, H, T, S], with their bias, none of them hidden.
  Value buildScores(Value scaled) {
    Value scores = ungroup(matmul(group(scaled), op.getKey(), false, true, b.element));
    return op.getBias() ? b.add(scores, b.widen(op.getBias())) : scores;
  }

  /// Which of the scores are seen; null if all are.
  Value buildVisible(Value scores) {
    if (!op.getCausal())
      return op.getMask();
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
    return op.getMask() ? AndOp::create(b.builder, b.loc, visible, op.getMask())
                        : visible;
  }

  /// Whether a row may see nothing, because of its mask or of a bias of -inf.
  bool mayHideRow() { return op.getMask() || op.getBias(); }

  /// Which of the probabilities dropout keeps; null if there is none.
  Value buildKept(Value scores) {
    if (!op.getDropout())
      return Value();
    return RandomMaskOp::create(
        b.builder, b.loc, op.getSeed(), op.getAttempt(), op.getDropoutAttr(),
        op.getStreamAttr(),
        b.builder.getDenseI64ArrayAttr(DecomposeBuilder::typeOf(scores).getShape()));
  }
  Value drop(Value kept, Value value) {
    if (!kept)
      return value;
    double rate = op.getDropout()->convertToDouble();
    return b.where(kept, b.mul(value, 1.0 / (1.0 - rate)), b.scalar(0.0));
  }
};

LogicalResult decomposeAttention(AttentionOp op, PatternRewriter &rewriter) {
  if (op.getFused())
    return rewriter.notifyMatchFailure(op, "it stays as it is");
  DecomposeBuilder b(rewriter, op.getLoc(), op.getQuery());
  AttentionBuilder<AttentionOp> attention(b, op);
  Value scores = attention.buildScores(attention.scaleQuery());
  if (Value visible = attention.buildVisible(scores))
    scores = b.where(visible, scores, b.scalar(-std::numeric_limits<double>::infinity()));
  Value max = b.reduceRow(ReduceKind::Max, scores);
  // -inf minus a finite number is -inf.
  if (attention.mayHideRow()) {
    Value lowest = b.scalar(b.element.isF64() ? std::numeric_limits<double>::lowest()
                                              : std::numeric_limits<float>::lowest());
    max = b.where(b.compare(max, lowest, ComparePredicate::LT), lowest, max);
  }
  Value powers = b.exp(b.sub(scores, max));
  Value sum = b.reduceRow(ReduceKind::Sum, powers);
  Value divisor = sum;
  if (attention.mayHideRow())
    divisor =
        b.where(b.compare(sum, b.scalar(0.0), ComparePredicate::EQ), b.scalar(1.0), sum);
  auto type = DecomposeBuilder::typeOf(scores).clone(
      DecomposeBuilder::typeOf(op.getValue()).getElementType());
  Value probabilities =
      b.round(attention.drop(attention.buildKept(scores), b.div(powers, divisor)), type);
  Value lse = b.add(b.log(sum), max);
  auto result = DecomposeBuilder::typeOf(op.getResult());
  Value y = attention.matmul(attention.group(probabilities), op.getValue(), false, false,
                             result.getElementType());
  rewriter.replaceOp(
      op, {b.reshape(y, result.getShape()), b.round(lse, op.getLogSumExp().getType())});
  return success();
}

LogicalResult decomposeAttentionGrad(AttentionGradOp op, PatternRewriter &rewriter) {
  if (op.getFused())
    return rewriter.notifyMatchFailure(op, "it stays as it is");
  DecomposeBuilder b(rewriter, op.getLoc(), op.getQuery());
  AttentionBuilder<AttentionGradOp> attention(b, op);
  Value scaled = attention.scaleQuery();
  Value scores = attention.buildScores(scaled);
  auto wide = DecomposeBuilder::typeOf(scores);
  auto storage = wide.clone(DecomposeBuilder::typeOf(op.getValue()).getElementType());
  Value lse = b.asRow(op.getLogSumExp());
  // A row of -inf alone would be -inf minus -inf.
  if (op.getBias()) {
    Value lowest = b.scalar(b.element.isF64() ? std::numeric_limits<double>::lowest()
                                              : std::numeric_limits<float>::lowest());
    lse = b.where(b.compare(lse, lowest, ComparePredicate::LT), b.scalar(0.0), lse);
  }
  Value powers = b.exp(b.sub(scores, lse));
  if (Value visible = attention.buildVisible(scores))
    powers = b.where(visible, powers, b.scalar(0.0));
  // Beside a bias of -10^6 the stored log-sum-exp has lost the logarithm of the sum.
  if (op.getBias()) {
    Value sum = b.reduceRow(ReduceKind::Sum, powers);
    sum =
        b.where(b.compare(sum, b.scalar(0.0), ComparePredicate::EQ), b.scalar(1.0), sum);
    powers = b.div(powers, sum);
  }
  Value probabilities = b.round(powers, storage);
  Value kept = attention.buildKept(scores);
  Value used = kept ? b.round(attention.drop(kept, powers), storage) : probabilities;
  Value dy = attention.group(op.getDy());
  auto elementOf = [](Value value) {
    return DecomposeBuilder::typeOf(value).getElementType();
  };
  Value dvalue =
      attention.matmul(attention.group(used), dy, true, false, elementOf(op.getDvalue()));
  Value dprobabilities = attention.drop(
      kept,
      attention.ungroup(attention.matmul(dy, op.getValue(), false, true, b.element)));
  // sum(dp p) over a row is sum(dy y) over that row of the result.
  Value dot = b.reduceRow(ReduceKind::Sum, b.mul(op.getDy(), op.getResult()));
  Value dbiased = b.mul(probabilities, b.sub(dprobabilities, dot));
  Value dscores = attention.group(b.round(dbiased, storage));
  Value dscaled = attention.matmul(dscores, op.getKey(), false, false, b.element);
  Value dquery = b.round(b.mul(attention.ungroup(dscaled), attention.scale),
                         op.getDquery().getType());
  Value dkey = attention.matmul(dscores, attention.group(scaled), true, false,
                                elementOf(op.getDkey()));
  SmallVector<Value> results = {dquery, dkey, dvalue};
  if (op.getBias()) {
    auto bias = DecomposeBuilder::typeOf(op.getBias());
    SmallVector<int64_t> axes;
    for (auto [i, size] : llvm::enumerate(bias.getShape()))
      if (size == 1 && wide.getDimSize(i) != 1)
        axes.push_back(i);
    if (!axes.empty())
      dbiased = b.reduce(ReduceKind::Sum, dbiased, axes, /*keepDims=*/true);
    results.push_back(b.round(dbiased, bias));
  }
  rewriter.replaceOp(op, results);
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
