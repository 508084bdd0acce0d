//===- Windows.cpp - Convolutions and pooling -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One walk over all pairs of an output pixel and an input pixel in its window
/// serves the convolution, both its gradients, and pooling.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

namespace {

/// Pixels are numbered row-major over [N, H, W] (or [N, OH, OW], [KH, KW]).
struct Window {
  ArrayRef<int64_t> in, out;
  ArrayRef<int64_t> size, strides, padding;
  SmallVector<int64_t, 2> dilations = {1, 1};

  /// Calls visit(input pixel, output pixel, tap) for every tap that lies in the
  /// input; taps of an output pixel in row-major order.
  void walk(llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) const {
    for (int64_t n = 0; n < out[0]; ++n)
      for (int64_t oh = 0; oh < out[1]; ++oh)
        for (int64_t ow = 0; ow < out[2]; ++ow)
          for (int64_t kh = 0; kh < size[0]; ++kh)
            for (int64_t kw = 0; kw < size[1]; ++kw) {
              int64_t h = oh * strides[0] + kh * dilations[0] - padding[0];
              int64_t w = ow * strides[1] + kw * dilations[1] - padding[2];
              if (h >= 0 && h < in[1] && w >= 0 && w < in[2])
                visit((n * in[1] + h) * in[2] + w, (n * out[1] + oh) * out[2] + ow,
                      kh * size[1] + kw);
            }
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Calls visit(x's element, the filter's, y's) for every product of the
/// convolution x [N, H, W, C] * filter [KH, KW, C / groups, O] = y, or, with `oihw`,
/// filter [O, C / groups, KH, KW].
template <typename OpTy>
static void walkProducts(OpTy op, ArrayRef<int64_t> x, ArrayRef<int64_t> filter,
                         ArrayRef<int64_t> y,
                         llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) {
  Window window;
  window.in = x;
  window.out = y;
  const bool isOIHW = op.getOihw();
  window.size = isOIHW ? filter.take_back(2) : filter.take_front(2);
  window.strides = op.getStrides();
  window.padding = op.getPadding();
  window.dilations.assign(op.getDilations().begin(), op.getDilations().end());
  int64_t channels = filter[isOIHW ? 1 : 2], outputs = filter[isOIHW ? 0 : 3];
  int64_t taps = window.size[0] * window.size[1];
  int64_t perGroup = outputs / static_cast<int64_t>(op.getGroups());
  window.walk([&](int64_t in, int64_t out, int64_t tap) {
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t o = 0; o < outputs; ++o)
        visit(in * x[3] + o / perGroup * channels + c,
              isOIHW ? (o * channels + c) * taps + tap
                     : (tap * channels + c) * outputs + o,
              out * outputs + o);
  });
}

static LogicalResult evaluateConv2D(Conv2DOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX()), &filter = frame.get(op.getFilter());
  std::vector<double> y = frame.zeros(op.getResult());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getResult());
  walkProducts(op, x.shape, filter.shape, shape, [&](int64_t a, int64_t b, int64_t to) {
    y[to] += x.floats[a] * filter.floats[b];
  });
  for (size_t i = 0; i < y.size(); ++i) {
    if (op.getBias())
      y[i] += frame.floats(op.getBias())[i % shape[3]];
    y[i] = applyEpilogue(y[i], op.getEpilogue());
  }
  frame.set(op.getResult(), std::move(y));
  return success();
}

static LogicalResult evaluateConv2DInputGrad(Conv2DInputGradOp op, Frame &frame) {
  const Tensor &dy = frame.get(op.getDy()), &filter = frame.get(op.getFilter());
  std::vector<double> dx = frame.zeros(op.getResult());
  walkProducts(op, frame.getShape(op.getResult()), filter.shape, dy.shape,
               [&](int64_t to, int64_t b, int64_t a) {
                 dx[to] += dy.floats[a] * filter.floats[b];
               });
  frame.set(op.getResult(), std::move(dx));
  return success();
}

static LogicalResult evaluateConv2DFilterGrad(Conv2DFilterGradOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX()), &dy = frame.get(op.getDy());
  std::vector<double> dfilter = frame.zeros(op.getResult());
  walkProducts(op, x.shape, frame.getShape(op.getResult()), dy.shape,
               [&](int64_t a, int64_t to, int64_t b) {
                 dfilter[to] += x.floats[a] * dy.floats[b];
               });
  frame.set(op.getResult(), std::move(dfilter));
  return success();
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

template <typename OpTy>
static Window getWindow(OpTy op, ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
  Window window;
  window.in = x;
  window.out = y;
  window.size = op.getWindow();
  window.strides = op.getStrides();
  window.padding = op.getPadding();
  return window;
}

/// For every element of the pooled shape `y` the first largest element of its
/// window in `x`, NaN being the largest; -1 for a window without elements.
static std::vector<int64_t> findLargest(const Window &window, const Tensor &x) {
  int64_t channels = x.shape[3];
  std::vector<int64_t> winners(product(window.out), -1);
  window.walk([&](int64_t in, int64_t out, int64_t) {
    for (int64_t c = 0; c < channels; ++c) {
      int64_t &winner = winners[out * channels + c];
      double value = x.floats[in * channels + c];
      if (winner < 0 || (!std::isnan(x.floats[winner]) &&
                         (std::isnan(value) || value > x.floats[winner])))
        winner = in * channels + c;
    }
  });
  return winners;
}

static LogicalResult evaluateMaxPool(MaxPoolOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getY());
  std::vector<double> y;
  for (int64_t winner : findLargest(getWindow(op, x.shape, shape), x))
    y.push_back(winner < 0 ? -std::numeric_limits<double>::infinity() : x.floats[winner]);
  frame.set(op.getY(), std::move(y));
  return success();
}

static LogicalResult evaluateMaxPoolGrad(MaxPoolGradOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX()), &dy = frame.get(op.getDy());
  std::vector<double> dx = frame.zeros(op.getDx());
  std::vector<int64_t> winners = findLargest(getWindow(op, x.shape, dy.shape), x);
  for (auto [winner, gradient] : llvm::zip_equal(winners, dy.floats))
    if (winner >= 0)
      dx[winner] += gradient;
  frame.set(op.getDx(), std::move(dx));
  return success();
}

/// What each output pixel's sum is divided by.
template <typename OpTy>
static std::vector<double> getDivisors(OpTy op, const Window &window) {
  std::vector<double> divisors(product(window.out.drop_back()), 0.0);
  if (op.getCountIncludePad())
    divisors.assign(divisors.size(), window.size[0] * window.size[1]);
  else
    window.walk([&](int64_t, int64_t out, int64_t) { divisors[out] += 1.0; });
  return divisors;
}

static LogicalResult evaluateAvgPool(AvgPoolOp op, Frame &frame) {
  const Tensor &x = frame.get(op.getX());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getY());
  Window window = getWindow(op, x.shape, shape);
  std::vector<double> y = frame.zeros(op.getY());
  int64_t channels = shape[3];
  window.walk([&](int64_t in, int64_t out, int64_t) {
    for (int64_t c = 0; c < channels; ++c)
      y[out * channels + c] += x.floats[in * channels + c];
  });
  std::vector<double> divisors = getDivisors(op, window);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] /= divisors[i / channels];
  frame.set(op.getY(), std::move(y));
  return success();
}

static LogicalResult evaluateAvgPoolGrad(AvgPoolGradOp op, Frame &frame) {
  const Tensor &dy = frame.get(op.getDy());
  SmallVector<int64_t, 4> shape = frame.getShape(op.getDx());
  if (shape.size() != 4)
    return op.emitOpError("cannot be interpreted: expected a result [N, H, W, C], "
                          "found ")
           << op.getType();
  Window window = getWindow(op, shape, dy.shape);
  std::vector<double> dx = frame.zeros(op.getDx());
  std::vector<double> divisors = getDivisors(op, window);
  int64_t channels = shape[3];
  window.walk([&](int64_t in, int64_t out, int64_t) {
    for (int64_t c = 0; c < channels; ++c)
      dx[in * channels + c] += dy.floats[out * channels + c] / divisors[out];
  });
  frame.set(op.getDx(), std::move(dx));
  return success();
}

void mpt::reference::addWindows(OpTable &table) {
  table.add<Conv2DOp>(evaluateConv2D);
  table.add<Conv2DInputGradOp>(evaluateConv2DInputGrad);
  table.add<Conv2DFilterGradOp>(evaluateConv2DFilterGrad);
  table.add<MaxPoolOp>(evaluateMaxPool);
  table.add<MaxPoolGradOp>(evaluateMaxPoolGrad);
  table.add<AvgPoolOp>(evaluateAvgPool);
  table.add<AvgPoolGradOp>(evaluateAvgPoolGrad);
}
