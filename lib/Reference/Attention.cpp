//===- Attention.cpp - Scaled dot-product attention -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// The operands, with sizes as the op's documentation names them.
struct Attention {
  int64_t heads, groups, queries, keys, width, valueWidth;
  /// All queries of all heads and batch entries.
  int64_t rows;
  double scale, rate = 0.0;
  bool causal;
  /// Of all scores, [B, H, T, S]: which are seen, and which of their probabilities
  /// dropout keeps (empty: all), and what is added to them (empty: nothing).
  std::vector<int64_t> mask, kept;
  std::vector<double> bias;
  /// Scaled and rounded.
  std::vector<double> query;
  const std::vector<double> &key, &value;

  template <typename OpTy>
  Attention(OpTy op, Frame &frame)
      : key(frame.floats(op.getKey())), value(frame.floats(op.getValue())) {
    SmallVector<int64_t, 4> query = frame.getShape(op.getQuery());
    SmallVector<int64_t, 4> value = frame.getShape(op.getValue());
    heads = query[1];
    groups = value[1];
    queries = query[2];
    width = query[3];
    keys = value[2];
    valueWidth = value[3];
    causal = op.getCausal();
    scale = op.getScale() ? op.getScale()->convertToDouble()
                          : 1.0 / std::sqrt(static_cast<double>(width));
    SmallVector<int64_t, 4> scores = {query[0], heads, queries, keys};
    if (Value seen = op.getMask())
      for (int64_t i : broadcastIndices(frame.getShape(seen), scores))
        mask.push_back(frame.ints(seen)[i]);
    if (Value added = op.getBias())
      for (int64_t i : broadcastIndices(frame.getShape(added), scores))
        bias.push_back(frame.floats(added)[i]);
    if (op.getDropout()) {
      rate = op.getDropout()->convertToDouble();
      kept = drawMask(query[0] * heads * queries * keys, frame.ints(op.getSeed())[0],
                      frame.ints(op.getAttempt())[0], *op.getStream(), rate);
    }
    this->query = frame.floats(op.getQuery());
    for (double &element : this->query)
      element = frame.round(element * scale, op.getQuery());
    rows = query[0] * heads * queries;
  }

  /// The first row of keys and values that `row` of the queries reads.
  int64_t getFirstKey(int64_t row) const {
    int64_t head = row / queries;
    int64_t batch = head / heads;
    return (batch * groups + head % heads / (heads / groups)) * keys;
  }
  bool isVisible(int64_t row, int64_t s) const {
    return (!causal || s <= row % queries + keys - queries) &&
           (mask.empty() || mask[row * keys + s]);
  }
  /// What dropout multiplies a probability by.
  double getKeep(int64_t row, int64_t s) const {
    return kept.empty() ? 1.0 : kept[row * keys + s] ? 1.0 / (1.0 - rate) : 0.0;
  }

  /// Scores of a row of queries for all keys; hidden ones are -infinity.
  std::vector<double> getScores(int64_t row) const {
    std::vector<double> scores(keys, 0.0);
    for (int64_t s = 0; s < keys; ++s) {
      for (int64_t d = 0; d < width; ++d)
        scores[s] += query[row * width + d] * key[(getFirstKey(row) + s) * width + d];
      if (!bias.empty())
        scores[s] += bias[row * keys + s];
      if (!isVisible(row, s))
        scores[s] = -std::numeric_limits<double>::infinity();
    }
    return scores;
  }
};

} // namespace

static LogicalResult evaluateAttention(AttentionOp op, Frame &frame) {
  Attention attention(op, frame);
  std::vector<double> result = frame.zeros(op.getResult());
  std::vector<double> logSumExp = frame.zeros(op.getLogSumExp());
  for (int64_t row = 0; row < attention.rows; ++row) {
    std::vector<double> scores = attention.getScores(row);
    double max = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (double score : scores)
      max = std::isnan(score) || score > max ? score : max;
    if (max == -std::numeric_limits<double>::infinity() &&
        (op.getMask() || op.getBias())) {
      logSumExp[row] = max;
      continue;
    }
    for (double &score : scores) {
      score = std::exp(score - max);
      sum += score;
    }
    logSumExp[row] = std::log(sum) + max;
    for (int64_t s = 0; s < attention.keys; ++s) {
      double probability =
          frame.round(scores[s] / sum * attention.getKeep(row, s), op.getValue());
      const double *value =
          &attention.value[(attention.getFirstKey(row) + s) * attention.valueWidth];
      for (int64_t e = 0; e < attention.valueWidth; ++e)
        result[row * attention.valueWidth + e] += probability * value[e];
    }
  }
  frame.set(op.getResult(), std::move(result));
  frame.set(op.getLogSumExp(), std::move(logSumExp));
  return success();
}

static LogicalResult evaluateAttentionGrad(AttentionGradOp op, Frame &frame) {
  Attention attention(op, frame);
  int64_t width = attention.width, valueWidth = attention.valueWidth;
  const std::vector<double> &dy = frame.floats(op.getDy());
  const std::vector<double> &y = frame.floats(op.getResult());
  const std::vector<double> &logSumExp = frame.floats(op.getLogSumExp());
  std::vector<double> dquery = frame.zeros(op.getDquery());
  std::vector<double> dkey = frame.zeros(op.getDkey());
  std::vector<double> dvalue = frame.zeros(op.getDvalue());
  std::vector<double> dscores(attention.rows * attention.keys, 0.0);
  for (int64_t row = 0; row < attention.rows; ++row) {
    // The row saw nothing.
    if (std::isinf(logSumExp[row]) && logSumExp[row] < 0 &&
        (op.getMask() || op.getBias()))
      continue;
    std::vector<double> scores = attention.getScores(row);
    // sum over s of p dp, which is dy . y.
    double mean = 0.0;
    for (int64_t e = 0; e < valueWidth; ++e)
      mean += dy[row * valueWidth + e] * y[row * valueWidth + e];
    // Beside a bias of -10^6 a stored log-sum-exp has lost the logarithm of the sum.
    double sum = op.getBias() ? 0.0 : 1.0;
    for (int64_t s = 0; op.getBias() && s < attention.keys; ++s)
      if (attention.isVisible(row, s))
        sum += std::exp(scores[s] - logSumExp[row]);
    for (int64_t s = 0; s < attention.keys; ++s) {
      if (!attention.isVisible(row, s))
        continue;
      int64_t other = attention.getFirstKey(row) + s;
      double keep = attention.getKeep(row, s);
      double exact = std::exp(scores[s] - logSumExp[row]) / sum;
      double probability = frame.round(exact, op.getValue());
      double used = frame.round(exact * keep, op.getValue());
      double dprobability = 0.0;
      for (int64_t e = 0; e < valueWidth; ++e) {
        double gradient = dy[row * valueWidth + e];
        dprobability += gradient * attention.value[other * valueWidth + e];
        dvalue[other * valueWidth + e] += used * gradient;
      }
      double exactScore = probability * (dprobability * keep - mean);
      dscores[row * attention.keys + s] = exactScore;
      double dscore = frame.round(exactScore, op.getValue());
      for (int64_t d = 0; d < width; ++d) {
        dquery[row * width + d] +=
            attention.scale * dscore * attention.key[other * width + d];
        dkey[other * width + d] += dscore * attention.query[row * width + d];
      }
    }
  }
  frame.set(op.getDquery(), std::move(dquery));
  frame.set(op.getDkey(), std::move(dkey));
  frame.set(op.getDvalue(), std::move(dvalue));
  if (Value bias = op.getBias()) {
    std::vector<double> dbias = frame.zeros(op.getDbias());
    SmallVector<int64_t, 4> shape = frame.getShape(op.getQuery());
    shape.back() = attention.keys;
    for (auto [i, from] : llvm::enumerate(broadcastIndices(frame.getShape(bias), shape)))
      dbias[from] += dscores[i];
    frame.set(op.getDbias(), std::move(dbias));
  }
  return success();
}

void mpt::reference::addAttention(OpTable &table) {
  table.add<AttentionOp>(evaluateAttention);
  table.add<AttentionGradOp>(evaluateAttentionGrad);
}
