//===- Losses.cpp - Cross-entropy and squared error -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Reduce.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// What cross-entropy and its gradient know of their rows.
struct Rows {
  const Tensor &logits;
  const std::vector<int64_t> &labels;
  int64_t classes;
  double smoothing;
  std::vector<bool> counts;
  /// What the sum over the rows is divided by.
  double divisor = 1.0;

  template <typename OpTy>
  Rows(OpTy op, Frame &frame)
      : logits(frame.get(op.getLogits())), labels(frame.ints(op.getLabels())),
        classes(logits.shape.back()),
        smoothing(op.getLabelSmoothing().convertToDouble()) {
    for (int64_t label : labels)
      counts.push_back(!op.getIgnoreIndex() ||
                       label != static_cast<int64_t>(*op.getIgnoreIndex()));
    if (op.getReduction() == LossReduction::Mean)
      divisor = static_cast<double>(llvm::count(counts, true));
  }

  LogicalResult check(Operation *op, Frame &frame) const {
    if (classes == 0)
      return op->emitOpError("cannot be interpreted: expected at least one class, "
                             "found logits ")
             << op->getOperand(0).getType();
    for (auto [position, label] : llvm::enumerate(labels))
      if (counts[position] && !frame.checkIndex(label, classes, position))
        return op->emitOpError("expected labels in [0, ")
               << classes << "), found " << label
               << "; check the data or set ignore_index";
    return success();
  }
  ArrayRef<double> row(int64_t r) const {
    return ArrayRef<double>(logits.floats).slice(r * classes, classes);
  }
};

} // namespace

static LogicalResult evaluateCrossEntropy(CrossEntropyOp op, Frame &frame) {
  Rows rows(op, frame);
  if (failed(rows.check(op, frame)))
    return failure();
  std::vector<double> lse;
  double total = 0.0;
  for (size_t r = 0; r < rows.labels.size(); ++r) {
    ArrayRef<double> x = rows.row(r);
    lse.push_back(logSumExp(x));
    if (!rows.counts[r])
      continue;
    double mean = 0.0;
    for (double value : x)
      mean += value / static_cast<double>(rows.classes);
    total +=
        lse.back() - (1.0 - rows.smoothing) * x[rows.labels[r]] - rows.smoothing * mean;
  }
  frame.set(op.getLoss(), std::vector<double>{total / rows.divisor});
  frame.set(op.getLogSumExp(), std::move(lse));
  return success();
}

static LogicalResult evaluateCrossEntropyGrad(CrossEntropyGradOp op, Frame &frame) {
  Rows rows(op, frame);
  if (failed(rows.check(op, frame)))
    return failure();
  double dloss = frame.floats(op.getDloss())[0];
  const std::vector<double> &lse = frame.floats(op.getLogSumExp());
  std::vector<double> dx = frame.zeros(op.getDlogits());
  for (size_t r = 0; r < rows.labels.size(); ++r) {
    if (!rows.counts[r])
      continue;
    for (int64_t i = 0; i < rows.classes; ++i) {
      double target = rows.smoothing / static_cast<double>(rows.classes);
      if (i == rows.labels[r])
        target += 1.0 - rows.smoothing;
      dx[r * rows.classes + i] =
          dloss * (std::exp(rows.row(r)[i] - lse[r]) - target) / rows.divisor;
    }
  }
  frame.set(op.getDlogits(), std::move(dx));
  return success();
}

static LogicalResult evaluateMSELoss(MSELossOp op, Frame &frame) {
  double total = 0.0;
  const std::vector<double> &prediction = frame.floats(op.getPrediction());
  for (auto [p, t] : llvm::zip_equal(prediction, frame.floats(op.getTarget())))
    total += (p - t) * (p - t);
  if (op.getReduction() == LossReduction::Mean)
    total /= static_cast<double>(prediction.size());
  frame.set(op.getLoss(), std::vector<double>{total});
  return success();
}

static LogicalResult evaluateMSELossGrad(MSELossGradOp op, Frame &frame) {
  std::vector<double> dp = frame.floats(op.getPrediction());
  double factor = 2.0 * frame.floats(op.getDloss())[0];
  if (op.getReduction() == LossReduction::Mean)
    factor /= static_cast<double>(dp.size());
  for (auto [p, t] : llvm::zip_equal(dp, frame.floats(op.getTarget())))
    p = factor * (p - t);
  frame.set(op.getDprediction(), std::move(dp));
  return success();
}

void mpt::reference::addLosses(OpTable &table) {
  table.add<CrossEntropyOp>(evaluateCrossEntropy);
  table.add<CrossEntropyGradOp>(evaluateCrossEntropyGrad);
  table.add<MSELossOp>(evaluateMSELoss);
  table.add<MSELossGradOp>(evaluateMSELossGrad);
}
