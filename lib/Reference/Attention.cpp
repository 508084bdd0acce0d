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

/// Sizes as the op's documentation names them; B and H as one.
struct Sizes {
  int64_t heads, queries, keys, width, valueWidth;
  double scale;
  bool causal;
  /// Of all scores, which are seen; empty: all.
  std::vector<int64_t> mask;

  template <typename OpTy>
  Sizes(OpTy op, Frame &frame) {
    SmallVector<int64_t, 4> query = frame.getShape(op.getQuery());
    SmallVector<int64_t, 4> value = frame.getShape(op.getValue());
    heads = query[0] * query[1];
    queries = query[2];
    width = query[3];
    keys = value[2];
    valueWidth = value[3];
    causal = op.getCausal();
    scale = op.getScale() ? op.getScale()->convertToDouble()
                          : 1.0 / std::sqrt(static_cast<double>(width));
    if (Value seen = op.getMask()) {
      const std::vector<int64_t> &bits = frame.ints(seen);
      for (int64_t i :
           broadcastIndices(frame.getShape(seen), {query[0], query[1], queries, keys}))
        mask.push_back(bits[i]);
    }
  }

  bool isVisible(int64_t h, int64_t t, int64_t s) const {
    return (!causal || s <= t + keys - queries) &&
           (mask.empty() || mask[(h * queries + t) * keys + s]);
  }
};

} // namespace

static std::vector<double> scaleQuery(Value query, double scale, Frame &frame) {
  std::vector<double> scaled = frame.floats(query);
  for (double &value : scaled)
    value = frame.round(value * scale, query);
  return scaled;
}

/// Scores of query t of head h for all keys; masked ones are -infinity.
static std::vector<double> getScores(const Sizes &sizes, ArrayRef<double> scaledQuery,
                                     ArrayRef<double> key, int64_t h, int64_t t) {
  std::vector<double> scores(sizes.keys, 0.0);
  for (int64_t s = 0; s < sizes.keys; ++s) {
    for (int64_t d = 0; d < sizes.width; ++d)
      scores[s] += scaledQuery[(h * sizes.queries + t) * sizes.width + d] *
                   key[(h * sizes.keys + s) * sizes.width + d];
    if (!sizes.isVisible(h, t, s))
      scores[s] = -std::numeric_limits<double>::infinity();
  }
  return scores;
}

static LogicalResult evaluateAttention(AttentionOp op, Frame &frame) {
  Sizes sizes(op, frame);
  std::vector<double> query = scaleQuery(op.getQuery(), sizes.scale, frame);
  const std::vector<double> &key = frame.floats(op.getKey());
  const std::vector<double> &value = frame.floats(op.getValue());
  std::vector<double> result = frame.zeros(op.getResult());
  std::vector<double> logSumExp = frame.zeros(op.getLogSumExp());
  for (int64_t h = 0; h < sizes.heads; ++h)
    for (int64_t t = 0; t < sizes.queries; ++t) {
      std::vector<double> scores = getScores(sizes, query, key, h, t);
      double max = -std::numeric_limits<double>::infinity(), sum = 0.0;
      for (double score : scores)
        max = std::isnan(score) || score > max ? score : max;
      int64_t row = h * sizes.queries + t;
      if (max == -std::numeric_limits<double>::infinity() && !sizes.mask.empty()) {
        logSumExp[row] = max;
        continue;
      }
      for (double &score : scores) {
        score = std::exp(score - max);
        sum += score;
      }
      logSumExp[row] = std::log(sum) + max;
      for (int64_t s = 0; s < sizes.keys; ++s) {
        double probability = frame.round(scores[s] / sum, op.getValue());
        for (int64_t e = 0; e < sizes.valueWidth; ++e)
          result[row * sizes.valueWidth + e] +=
              probability * value[(h * sizes.keys + s) * sizes.valueWidth + e];
      }
    }
  frame.set(op.getResult(), std::move(result));
  frame.set(op.getLogSumExp(), std::move(logSumExp));
  return success();
}

static LogicalResult evaluateAttentionGrad(AttentionGradOp op, Frame &frame) {
  Sizes sizes(op, frame);
  std::vector<double> query = scaleQuery(op.getQuery(), sizes.scale, frame);
  const std::vector<double> &key = frame.floats(op.getKey());
  const std::vector<double> &value = frame.floats(op.getValue());
  const std::vector<double> &dy = frame.floats(op.getDy());
  const std::vector<double> &y = frame.floats(op.getResult());
  const std::vector<double> &logSumExp = frame.floats(op.getLogSumExp());
  std::vector<double> dquery = frame.zeros(op.getDquery());
  std::vector<double> dkey = frame.zeros(op.getDkey());
  std::vector<double> dvalue = frame.zeros(op.getDvalue());
  for (int64_t h = 0; h < sizes.heads; ++h)
    for (int64_t t = 0; t < sizes.queries; ++t) {
      int64_t row = h * sizes.queries + t;
      std::vector<double> scores = getScores(sizes, query, key, h, t);
      // sum over s of p dp, which is dy . y.
      double mean = 0.0;
      for (int64_t e = 0; e < sizes.valueWidth; ++e)
        mean += dy[row * sizes.valueWidth + e] * y[row * sizes.valueWidth + e];
      for (int64_t s = 0; s < sizes.keys; ++s) {
        if (!sizes.isVisible(h, t, s))
          continue;
        int64_t other = h * sizes.keys + s;
        double probability =
            frame.round(std::exp(scores[s] - logSumExp[row]), op.getValue());
        double dprobability = 0.0;
        for (int64_t e = 0; e < sizes.valueWidth; ++e) {
          double gradient = dy[row * sizes.valueWidth + e];
          dprobability += gradient * value[other * sizes.valueWidth + e];
          dvalue[other * sizes.valueWidth + e] += probability * gradient;
        }
        double dscore = frame.round(probability * (dprobability - mean), op.getValue());
        for (int64_t d = 0; d < sizes.width; ++d) {
          dquery[row * sizes.width + d] +=
              sizes.scale * dscore * key[other * sizes.width + d];
          dkey[other * sizes.width + d] += dscore * query[row * sizes.width + d];
        }
      }
    }
  frame.set(op.getDquery(), std::move(dquery));
  frame.set(op.getDkey(), std::move(dkey));
  frame.set(op.getDvalue(), std::move(dvalue));
  return success();
}

void mpt::reference::addAttention(OpTable &table) {
  table.add<AttentionOp>(evaluateAttention);
  table.add<AttentionGradOp>(evaluateAttentionGrad);
}
