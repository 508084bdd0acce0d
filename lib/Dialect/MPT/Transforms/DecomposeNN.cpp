//===- DecomposeNN.cpp - Softmax, norms and losses as primitive ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Softmax, norms, losses and their gradients. Each rounds where its results
/// are made and nowhere else.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult decomposeSoftmax(SoftmaxOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value max = b.reduceRow(ReduceKind::Max, op.getX());
  Value powers = b.exp(b.sub(op.getX(), max));
  Value y = b.div(powers, b.reduceRow(ReduceKind::Sum, powers));
  rewriter.replaceOp(op, b.round(y, op.getType()));
  return success();
}

LogicalResult decomposeLogSoftmax(LogSoftmaxOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value shifted = b.sub(op.getX(), b.reduceRow(ReduceKind::Max, op.getX()));
  Value sum = b.reduceRow(ReduceKind::Sum, b.exp(shifted));
  rewriter.replaceOp(op, b.round(b.sub(shifted, b.log(sum)), op.getType()));
  return success();
}

LogicalResult decomposeSoftmaxGrad(SoftmaxGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getDy());
  Value dot = b.reduceRow(ReduceKind::Sum, b.mul(op.getDy(), op.getY()));
  Value dx = b.mul(op.getY(), b.sub(op.getDy(), dot));
  rewriter.replaceOp(op, b.round(dx, op.getType()));
  return success();
}

LogicalResult decomposeLogSoftmaxGrad(LogSoftmaxGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getDy());
  Value sum = b.reduceRow(ReduceKind::Sum, op.getDy());
  Value dx = b.sub(op.getDy(), b.mul(b.exp(op.getY()), sum));
  rewriter.replaceOp(op, b.round(dx, op.getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

LogicalResult decomposeLayerNorm(LayerNormOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value mean = b.reduceRow(ReduceKind::Mean, op.getX());
  Value centered = b.sub(op.getX(), mean);
  Value var = b.reduceRow(ReduceKind::Mean, b.mul(centered, centered));
  Value rstd = b.rsqrt(b.add(var, op.getEps().convertToDouble()));
  Value y = b.add(b.mul(b.mul(centered, rstd), op.getGamma()), op.getBeta());
  rewriter.replaceOp(op, {b.round(y, op.getY().getType()),
                          b.round(mean, op.getMean().getType()),
                          b.round(rstd, op.getRstd().getType())});
  return success();
}

LogicalResult decomposeLayerNormGrad(LayerNormGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value rstd = b.asRow(op.getRstd());
  Value normal = b.mul(b.sub(op.getX(), b.asRow(op.getMean())), rstd);
  Value scaled = b.mul(op.getDy(), op.getGamma());
  Value meanScaled = b.reduceRow(ReduceKind::Mean, scaled);
  Value meanProduct = b.reduceRow(ReduceKind::Mean, b.mul(scaled, normal));
  Value dx = b.mul(b.sub(b.sub(scaled, meanScaled), b.mul(normal, meanProduct)), rstd);
  Value dgamma = b.reduceColumns(ReduceKind::Sum, b.mul(op.getDy(), normal));
  Value dbeta = b.reduceColumns(ReduceKind::Sum, op.getDy());
  rewriter.replaceOp(op, {b.round(dx, op.getDx().getType()),
                          b.round(dgamma, op.getDgamma().getType()),
                          b.round(dbeta, op.getDbeta().getType())});
  return success();
}

LogicalResult decomposeRMSNorm(RMSNormOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value x = b.widen(op.getX());
  Value square = b.reduceRow(ReduceKind::Mean, b.mul(x, x));
  Value rstd = b.rsqrt(b.add(square, op.getEps().convertToDouble()));
  Value y = b.mul(b.mul(x, rstd), op.getGamma());
  rewriter.replaceOp(
      op, {b.round(y, op.getY().getType()), b.round(rstd, op.getRstd().getType())});
  return success();
}

LogicalResult decomposeRMSNormGrad(RMSNormGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value rstd = b.asRow(op.getRstd());
  Value normal = b.mul(op.getX(), rstd);
  Value scaled = b.mul(op.getDy(), op.getGamma());
  Value meanProduct = b.reduceRow(ReduceKind::Mean, b.mul(scaled, normal));
  Value dx = b.mul(b.sub(scaled, b.mul(normal, meanProduct)), rstd);
  Value dgamma = b.reduceColumns(ReduceKind::Sum, b.mul(op.getDy(), normal));
  rewriter.replaceOp(
      op, {b.round(dx, op.getDx().getType()), b.round(dgamma, op.getDgamma().getType())});
  return success();
}

LogicalResult decomposeBatchNorm(BatchNormOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  // The mean of squared distances: E[x^2] - E[x]^2 cancels.
  Value mean = b.reduceColumns(ReduceKind::Mean, op.getX());
  Value centered = b.sub(op.getX(), mean);
  Value var = b.reduceColumns(ReduceKind::Mean, b.mul(centered, centered));
  replaceBatchNorm(op, mean, centered, var, rewriter);
  return success();
}

LogicalResult decomposeBatchNormGrad(BatchNormGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value normal = b.mul(b.sub(op.getX(), op.getMean()), op.getRstd());
  Value dgamma = b.reduceColumns(ReduceKind::Sum, b.mul(op.getDy(), normal));
  Value dbeta = b.reduceColumns(ReduceKind::Sum, op.getDy());
  auto type = DecomposeBuilder::typeOf(op.getX());
  double count = static_cast<double>(type.getNumElements()) /
                 std::max<int64_t>(type.getShape().back(), 1);
  Value factor = b.mul(op.getGamma(), op.getRstd());
  Value rest = b.sub(b.sub(op.getDy(), b.mul(dbeta, 1.0 / count)),
                     b.mul(normal, b.mul(dgamma, 1.0 / count)));
  rewriter.replaceOp(op, {b.round(b.mul(rest, factor), op.getDx().getType()),
                          b.round(dgamma, op.getDgamma().getType()),
                          b.round(dbeta, op.getDbeta().getType())});
  return success();
}

LogicalResult decomposeBatchNormInference(BatchNormInferenceOp op,
                                          PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value rstd = b.rsqrt(b.add(op.getVar(), op.getEps().convertToDouble()));
  Value centered = b.sub(op.getX(), op.getMean());
  Value y = b.add(b.mul(b.mul(centered, rstd), op.getGamma()), op.getBeta());
  rewriter.replaceOp(op, b.round(y, op.getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// What cross-entropy and its gradient share: labels as rows, where a row's
/// label is, and which rows count.
struct CrossEntropyRows {
  Value labels;
  /// As one dimension.
  Value labelList;
  Value isLabel;
  /// Null if every row counts, as the label whose rows do not.
  Value counts;
  Value ignored;
  double smoothing;
  int64_t rows;
  int64_t classes;

  CrossEntropyRows(DecomposeBuilder &b, Value logits, Value labelIds,
                   llvm::APFloat labelSmoothing, std::optional<int64_t> ignoreIndex) {
    auto type = DecomposeBuilder::typeOf(logits);
    Type integer = DecomposeBuilder::typeOf(labelIds).getElementType();
    classes = type.getShape().back();
    Value checked = CheckIndicesOp::create(
        b.builder, b.loc, labelIds, static_cast<uint64_t>(classes),
        ignoreIndex ? b.builder.getI64IntegerAttr(*ignoreIndex) : IntegerAttr());
    labels = b.asRow(checked);
    labelList = b.reshape(checked, DecomposeBuilder::typeOf(checked).getNumElements());
    Value position =
        IotaOp::create(b.builder, b.loc, type.clone(integer), type.getRank() - 1);
    isLabel = b.compare(position, labels, ComparePredicate::EQ);
    if (ignoreIndex) {
      ignored = b.integer(integer, *ignoreIndex);
      counts = b.compare(labels, ignored, ComparePredicate::NE);
    }
    smoothing = labelSmoothing.convertToDouble();
    rows = type.getNumElements() / std::max<int64_t>(classes, 1);
  }

  /// `value` times 1 / (number of rows that count). That number comes from the labels
  /// alone, in a kernel of its own.
  Value divideByRows(DecomposeBuilder &b, Value value) {
    if (!counts)
      return b.mul(value, 1.0 / static_cast<double>(rows));
    Value ones = b.where(b.compare(labelList, ignored, ComparePredicate::NE),
                         b.scalar(1.0), b.scalar(0.0));
    return b.mul(value, b.div(b.scalar(1.0), b.reduceAll(ReduceKind::Sum, ones)));
  }
};

LogicalResult decomposeCrossEntropy(CrossEntropyOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getLogits());
  CrossEntropyRows rows(b, op.getLogits(), op.getLabels(), op.getLabelSmoothing(),
                        op.getIgnoreIndex());
  Value x = b.widen(op.getLogits());
  Value max = b.reduceRow(ReduceKind::Max, x);
  Value sum = b.reduceRow(ReduceKind::Sum, b.exp(b.sub(x, max)));
  Value lse = b.add(b.log(sum), max);
  Value hit = b.reduceRow(ReduceKind::Sum, b.where(rows.isLabel, x, b.scalar(0.0)));
  Value loss = b.sub(lse, b.mul(hit, 1.0 - rows.smoothing));
  if (rows.smoothing != 0.0)
    loss = b.sub(loss, b.mul(b.reduceRow(ReduceKind::Mean, x), rows.smoothing));
  if (rows.counts)
    loss = b.where(rows.counts, loss, b.scalar(0.0));
  // Divided before they are added, if their number is not known, so that the gradient of
  // the logits does not wait for the sum.
  const bool isMean = op.getReduction() == LossReduction::Mean;
  if (isMean && rows.counts)
    loss = rows.divideByRows(b, loss);
  Value total = b.reduceAll(ReduceKind::Sum, loss);
  if (isMean && !rows.counts)
    total = rows.divideByRows(b, total);
  rewriter.replaceOp(op, {b.round(total, op.getLoss().getType()),
                          b.round(lse, op.getLogSumExp().getType())});
  return success();
}

/// The sum of a row's powers that `logSumExp` was made of by decomposeCrossEntropy; null
/// if that is not in `block` or is of other logits.
ReduceOp findPowerSum(Value logSumExp, Value logits, Block *block) {
  while (auto reshape = logSumExp.getDefiningOp<ReshapeOp>())
    logSumExp = reshape.getX();
  auto add = logSumExp.getDefiningOp<AddOp>();
  auto log = add ? add.getLhs().getDefiningOp<LogOp>() : LogOp();
  auto sum = log ? log.getX().getDefiningOp<ReduceOp>() : ReduceOp();
  auto exp = sum ? sum.getX().getDefiningOp<ExpOp>() : ExpOp();
  auto sub = exp ? exp.getX().getDefiningOp<SubOp>() : SubOp();
  auto max = sub ? sub.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!max || max.getY() != add.getRhs() || max.getX() != sub.getLhs() ||
      max.getKind() != ReduceKind::Max || sum.getKind() != ReduceKind::Sum ||
      sum.getAxes() != max.getAxes() || sum->getBlock() != block)
    return {};
  Value x = sub.getLhs();
  if (auto cast = x.getDefiningOp<CastOp>(); cast && x != logits)
    x = cast.getX();
  return x == logits ? sum : ReduceOp();
}

LogicalResult decomposeCrossEntropyGrad(CrossEntropyGradOp op,
                                        PatternRewriter &rewriter) {
  // The loss goes first.
  if (op.getLogSumExp().getDefiningOp<CrossEntropyOp>())
    return failure();
  DecomposeBuilder b(rewriter, op.getLoc(), op.getLogits());
  CrossEntropyRows rows(b, op.getLogits(), op.getLabels(), op.getLabelSmoothing(),
                        op.getIgnoreIndex());
  Value dloss = b.widen(op.getDloss());
  if (op.getReduction() == LossReduction::Mean)
    dloss = rows.divideByRows(b, dloss);
  // One exponential serves the loss and its gradient. The sum is at least 1. dloss goes
  // into factors of the row.
  Value p;
  if (ReduceOp sum = findPowerSum(op.getLogSumExp(), op.getLogits(), op->getBlock()))
    p = b.mul(sum.getX(), b.div(dloss, sum.getY()));
  else
    p = b.mul(b.exp(b.sub(op.getLogits(), b.asRow(op.getLogSumExp()))), dloss);
  double off = rows.smoothing / static_cast<double>(rows.classes);
  double on = 1.0 - rows.smoothing + off;
  Value target = b.where(rows.isLabel, b.mul(dloss, on), b.mul(dloss, off));
  Value dx = b.sub(p, target);
  if (rows.counts)
    dx = b.where(rows.counts, dx, b.scalar(0.0));
  rewriter.replaceOp(op, b.round(dx, op.getType()));
  return success();
}

LogicalResult decomposeMSELoss(MSELossOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getPrediction());
  Value difference = b.sub(b.asRows(op.getPrediction()), b.asRows(op.getTarget()));
  Value rows = b.reduceRow(ReduceKind::Sum, b.mul(difference, difference));
  Value loss = b.reduceAll(ReduceKind::Sum, rows);
  auto type = DecomposeBuilder::typeOf(op.getPrediction());
  if (op.getReduction() == LossReduction::Mean)
    loss = b.mul(loss, 1.0 / static_cast<double>(type.getNumElements()));
  rewriter.replaceOp(op, b.round(loss, op.getType()));
  return success();
}

LogicalResult decomposeMSELossGrad(MSELossGradOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getPrediction());
  auto type = DecomposeBuilder::typeOf(op.getPrediction());
  double factor = 2.0;
  if (op.getReduction() == LossReduction::Mean)
    factor /= static_cast<double>(type.getNumElements());
  // Elementwise, so short rows ([N, 1]) can be joined.
  Value prediction = op.getPrediction(), target = op.getTarget();
  if (type.getRank() > 0 && type.getShape().back() < 32) {
    prediction = b.asRows(prediction);
    target = b.asRows(target);
  }
  Value dp = b.mul(b.sub(prediction, target), b.mul(op.getDloss(), factor));
  rewriter.replaceOp(op, b.round(dp, op.getType()));
  return success();
}

} // namespace

void mpt::detail::replaceBatchNorm(BatchNormOp op, Value mean, Value centered, Value var,
                                   PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value rstd = b.rsqrt(b.add(var, op.getEps().convertToDouble()));
  Value y = b.add(b.mul(b.mul(centered, rstd), op.getGamma()), op.getBeta());
  auto type = DecomposeBuilder::typeOf(op.getX());
  double count = static_cast<double>(type.getNumElements()) /
                 std::max<int64_t>(type.getShape().back(), 1);
  double momentum = op.getMomentum().convertToDouble();
  double unbiased = count > 1 ? count / (count - 1) : 1.0;
  Value newMean =
      b.add(b.mul(op.getRunningMean(), 1.0 - momentum), b.mul(mean, momentum));
  Value newVar =
      b.add(b.mul(op.getRunningVar(), 1.0 - momentum), b.mul(var, momentum * unbiased));
  rewriter.replaceOp(
      op, {b.round(y, op.getY().getType()), b.round(newMean, op.getNewMean().getType()),
           b.round(newVar, op.getNewVar().getType()),
           b.round(mean, op.getMean().getType()), b.round(rstd, op.getRstd().getType())});
}

void mpt::populateDecomposeNNPatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, decomposeSoftmax, decomposeLogSoftmax, decomposeSoftmaxGrad,
              decomposeLogSoftmaxGrad, decomposeLayerNorm, decomposeLayerNormGrad,
              decomposeRMSNorm, decomposeRMSNormGrad, decomposeBatchNorm,
              decomposeBatchNormGrad, decomposeBatchNormInference, decomposeCrossEntropy,
              decomposeCrossEntropyGrad, decomposeMSELoss, decomposeMSELossGrad);
}
