//===- Norms.cpp - Layer, RMS and batch normalization -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// x is seen as a matrix [rows, C]. Layer and RMS norm normalize each row, batch
/// norm each column; scale and shift belong to columns in all of them.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// How the elements of x fall into groups with statistics of their own.
struct Groups {
  int64_t size, width, count, perGroup;
  bool columns;

  Groups(const Tensor &x, bool columns)
      : size(x.size()), width(x.shape.back()), columns(columns) {
    int64_t rows = width ? size / width : 0;
    count = columns ? width : rows;
    perGroup = columns ? rows : width;
  }
  int64_t of(int64_t i) const { return columns ? i % width : i / width; }
  int64_t column(int64_t i) const { return i % width; }

  /// The mean of f(i) over each group.
  std::vector<double> mean(llvm::function_ref<double(int64_t)> f) const {
    std::vector<double> sums(count, 0.0);
    for (int64_t i = 0; i < size; ++i)
      sums[of(i)] += f(i);
    for (double &sum : sums)
      sum /= static_cast<double>(perGroup);
    return sums;
  }
  /// The sum of f(i) over each column.
  std::vector<double> sumColumns(llvm::function_ref<double(int64_t)> f) const {
    std::vector<double> sums(width, 0.0);
    for (int64_t i = 0; i < size; ++i)
      sums[column(i)] += f(i);
    return sums;
  }
};

struct Statistics {
  std::vector<double> mean, var, rstd;
};

} // namespace

static Statistics measure(const Tensor &x, const Groups &groups, double eps) {
  Statistics s;
  s.mean = groups.mean([&](int64_t i) { return x.floats[i]; });
  s.var = groups.mean([&](int64_t i) {
    double centered = x.floats[i] - s.mean[groups.of(i)];
    return centered * centered;
  });
  for (double var : s.var)
    s.rstd.push_back(1.0 / std::sqrt(var + eps));
  return s;
}

static std::vector<double> normalize(const Tensor &x, const Groups &groups,
                                     const std::vector<double> &mean,
                                     const std::vector<double> &rstd) {
  std::vector<double> normal(x.floats.size());
  for (int64_t i = 0; i < groups.size; ++i)
    normal[i] = (x.floats[i] - mean[groups.of(i)]) * rstd[groups.of(i)];
  return normal;
}

static std::vector<double> scaleAndShift(std::vector<double> normal, const Groups &groups,
                                         const std::vector<double> &gamma,
                                         const std::vector<double> &beta) {
  for (int64_t i = 0; i < groups.size; ++i)
    normal[i] = normal[i] * gamma[groups.column(i)] + beta[groups.column(i)];
  return normal;
}

static LogicalResult evaluateLayerNorm(LayerNormOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  Groups groups(x, /*columns=*/false);
  Statistics s = measure(x, groups, op.getEps().convertToDouble());
  frame.set(op.getY(),
            scaleAndShift(normalize(x, groups, s.mean, s.rstd), groups,
                          frame.floats(op.getGamma()), frame.floats(op.getBeta())));
  frame.set(op.getMean(), std::move(s.mean));
  frame.set(op.getRstd(), std::move(s.rstd));
  return success();
}

static LogicalResult evaluateBatchNorm(BatchNormOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  Groups groups(x, /*columns=*/true);
  Statistics s = measure(x, groups, op.getEps().convertToDouble());
  frame.set(op.getY(),
            scaleAndShift(normalize(x, groups, s.mean, s.rstd), groups,
                          frame.floats(op.getGamma()), frame.floats(op.getBeta())));
  double momentum = op.getMomentum().convertToDouble();
  double n = static_cast<double>(groups.perGroup);
  std::vector<double> newMean = frame.floats(op.getRunningMean());
  std::vector<double> newVar = frame.floats(op.getRunningVar());
  for (int64_t c = 0; c < groups.count; ++c) {
    newMean[c] = (1.0 - momentum) * newMean[c] + momentum * s.mean[c];
    newVar[c] = (1.0 - momentum) * newVar[c] + momentum * s.var[c] * n / (n - 1.0);
  }
  frame.set(op.getNewMean(), std::move(newMean));
  frame.set(op.getNewVar(), std::move(newVar));
  frame.set(op.getMean(), std::move(s.mean));
  frame.set(op.getRstd(), std::move(s.rstd));
  return success();
}

static LogicalResult evaluateBatchNormInference(BatchNormInferenceOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  Groups groups(x, /*columns=*/true);
  std::vector<double> rstd = frame.floats(op.getVar());
  for (double &value : rstd)
    value = 1.0 / std::sqrt(value + op.getEps().convertToDouble());
  frame.set(op.getY(),
            scaleAndShift(normalize(x, groups, frame.floats(op.getMean()), rstd), groups,
                          frame.floats(op.getGamma()), frame.floats(op.getBeta())));
  return success();
}

/// The gradients of y = gamma (x - mean) rstd + beta, mean and rstd being
/// functions of x: with g = gamma dy and n the normalized x,
/// dx = rstd (g - mean(g) - n mean(g n)), means over x's groups.
template <typename OpTy>
static void addNormGrad(OpTable &table, bool columns) {
  table.add<OpTy>([columns](OpTy op, Frame &frame) {
    const Tensor &x = frame.get(op.getX());
    const std::vector<double> &dy = frame.floats(op.getDy());
    const std::vector<double> &gamma = frame.floats(op.getGamma());
    const std::vector<double> &rstd = frame.floats(op.getRstd());
    Groups groups(x, columns);
    std::vector<double> normal = normalize(x, groups, frame.floats(op.getMean()), rstd);
    auto g = [&](int64_t i) { return dy[i] * gamma[groups.column(i)]; };
    std::vector<double> meanG = groups.mean(g);
    std::vector<double> meanGN = groups.mean([&](int64_t i) { return g(i) * normal[i]; });
    std::vector<double> dx(x.floats.size());
    for (int64_t i = 0; i < groups.size; ++i) {
      int64_t group = groups.of(i);
      dx[i] = rstd[group] * (g(i) - meanG[group] - normal[i] * meanGN[group]);
    }
    frame.set(op.getDgamma(),
              groups.sumColumns([&](int64_t i) { return dy[i] * normal[i]; }));
    frame.set(op.getDbeta(), groups.sumColumns([&](int64_t i) { return dy[i]; }));
    frame.set(op.getDx(), std::move(dx));
    return success();
  });
}

static LogicalResult evaluateRMSNorm(RMSNormOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  const std::vector<double> &gamma = frame.floats(op.getGamma());
  Groups groups(x, /*columns=*/false);
  std::vector<double> rstd =
      groups.mean([&](int64_t i) { return x.floats[i] * x.floats[i]; });
  for (double &value : rstd)
    value = 1.0 / std::sqrt(value + op.getEps().convertToDouble());
  std::vector<double> y(x.floats.size());
  for (int64_t i = 0; i < groups.size; ++i)
    y[i] = x.floats[i] * rstd[groups.of(i)] * gamma[groups.column(i)];
  frame.set(op.getY(), std::move(y));
  frame.set(op.getRstd(), std::move(rstd));
  return success();
}

static LogicalResult evaluateRMSNormGrad(RMSNormGradOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  const std::vector<double> &dy = frame.floats(op.getDy());
  const std::vector<double> &gamma = frame.floats(op.getGamma());
  const std::vector<double> &rstd = frame.floats(op.getRstd());
  Groups groups(x, /*columns=*/false);
  auto normal = [&](int64_t i) { return x.floats[i] * rstd[groups.of(i)]; };
  std::vector<double> mean =
      groups.mean([&](int64_t i) { return dy[i] * gamma[groups.column(i)] * normal(i); });
  std::vector<double> dx(x.floats.size());
  for (int64_t i = 0; i < groups.size; ++i)
    dx[i] = rstd[groups.of(i)] *
            (dy[i] * gamma[groups.column(i)] - normal(i) * mean[groups.of(i)]);
  frame.set(op.getDgamma(),
            groups.sumColumns([&](int64_t i) { return dy[i] * normal(i); }));
  frame.set(op.getDx(), std::move(dx));
  return success();
}

void mpt::reference::addNorms(OpTable &table) {
  table.add<LayerNormOp>(evaluateLayerNorm);
  addNormGrad<LayerNormGradOp>(table, /*columns=*/false);
  table.add<RMSNormOp>(evaluateRMSNorm);
  table.add<RMSNormGradOp>(evaluateRMSNormGrad);
  table.add<BatchNormOp>(evaluateBatchNorm);
  addNormGrad<BatchNormGradOp>(table, /*columns=*/true);
  table.add<BatchNormInferenceOp>(evaluateBatchNormInference);
}
