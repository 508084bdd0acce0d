//===- Reductions.cpp - Reductions and the softmax family -------*- C++ -*-===//
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

static LogicalResult evaluateReduce(ReduceOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  // Strides of the result, seen with the reduced dimensions as size 1.
  SmallVector<int64_t, 4> kept(x.shape);
  int64_t count = 1;
  for (int64_t axis : op.getAxes()) {
    count *= kept[axis];
    kept[axis] = 1;
  }
  std::vector<int64_t> targets = broadcastIndices(kept, x.shape);
  frame.set(op.getY(), reduceTo(x, targets, product(kept), count, op.getKind()));
  return success();
}

static LogicalResult evaluateArgmax(ArgmaxOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  int64_t width = x.shape.back();
  if (width == 0)
    return op.emitOpError("cannot be interpreted: a row of ")
           << op.getX().getType() << " has no largest element";
  std::vector<int64_t> y;
  for (int64_t row = 0; row < x.size() / width; ++row) {
    const double *values = x.floats.data() + row * width;
    int64_t best = 0;
    for (int64_t i = 1; i < width; ++i)
      if (!std::isnan(values[best]) &&
          (std::isnan(values[i]) || values[i] > values[best]))
        best = i;
    y.push_back(best);
  }
  frame.set(op.getY(), std::move(y));
  return success();
}

/// Calls body(row's first element, width) for each row of x.
static void forEachRow(const Tensor &x, llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t width = x.shape.back();
  for (int64_t start = 0; start + width <= x.size() && width > 0; start += width)
    body(start, width);
}

double mpt::reference::logSumExp(ArrayRef<double> row) {
  double max = *llvm::max_element(row), sum = 0.0;
  for (double value : row)
    sum += std::exp(value - max);
  return max + std::log(sum);
}

/// y = x - lse, or its exponential.
template <typename OpTy>
static void addSoftmax(OpTable &table, double (*f)(double)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    const Tensor &x = frame.get(op.getX());
    std::vector<double> y(x.floats.size());
    forEachRow(x, [&](int64_t start, int64_t width) {
      ArrayRef<double> row = ArrayRef<double>(x.floats).slice(start, width);
      double lse = logSumExp(row);
      for (int64_t i = 0; i < width; ++i)
        y[start + i] = f(row[i] - lse);
    });
    frame.set(op.getY(), std::move(y));
    return success();
  });
}

/// dx = f(dy, y, sum over the row of weight(dy, y)).
template <typename OpTy>
static void addSoftmaxGrad(OpTable &table, double (*weight)(double, double),
                           double (*f)(double, double, double)) {
  table.add<OpTy>([=](OpTy op, Frame &frame) {
    const Tensor &dy = frame.get(op.getDy());
    const std::vector<double> &y = frame.floats(op.getY());
    std::vector<double> dx(y.size());
    forEachRow(dy, [&](int64_t start, int64_t width) {
      double sum = 0.0;
      for (int64_t i = start; i < start + width; ++i)
        sum += weight(dy.floats[i], y[i]);
      for (int64_t i = start; i < start + width; ++i)
        dx[i] = f(dy.floats[i], y[i], sum);
    });
    frame.set(op.getDx(), std::move(dx));
    return success();
  });
}

void mpt::reference::addReductions(OpTable &table) {
  table.add<ReduceOp>(evaluateReduce);
  table.add<ArgmaxOp>(evaluateArgmax);
  addSoftmax<SoftmaxOp>(table, [](double x) { return std::exp(x); });
  addSoftmax<LogSoftmaxOp>(table, [](double x) { return x; });
  addSoftmaxGrad<SoftmaxGradOp>(
      table, [](double dy, double y) { return dy * y; },
      [](double dy, double y, double sum) { return y * (dy - sum); });
  addSoftmaxGrad<LogSoftmaxGradOp>(
      table, [](double dy, double) { return dy; },
      [](double dy, double y, double sum) { return dy - std::exp(y) * sum; });
}
