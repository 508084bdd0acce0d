//===- Windows.cpp - Pooling in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

namespace {
/// A window of pooling over [N, H, W, C], in four dimensions.
struct Window {
  template <typename Op>
  explicit Window(Op op)
      : size({1, op.getWindow()[0], op.getWindow()[1], 1}),
        strides({1, op.getStrides()[0], op.getStrides()[1], 1}) {
    ArrayRef<int64_t> p = op.getPadding();
    padding = {0, 0, p[0], p[1], p[2], p[3], 0, 0};
  }
  Shape size, strides, padding;
};
} // namespace

static void convertMaxPool(MaxPoolOp op, Emitter &e) {
  Window window(op);
  e.set(e.reduceWindow("maximum", e.get(op.getX()), window.size, window.strides,
                       window.padding));
}

/// Most elements of a window whose gradient is taken apart.
static constexpr int64_t maxTaps = 256;

namespace {
/// The elements of x at one place of each window.
struct Tap {
  /// Of `padded`, x with its padding: [N, OH, OW, C].
  Value read(Emitter &e, Value padded, ArrayRef<int64_t> y) const {
    Shape sizes(y);
    sizes[0] = getShape(padded)[0];
    sizes[3] = getShape(padded)[3];
    return e.slice(padded, offset, sizes, window.strides);
  }
  /// Brings `values`, one for each window, to where they lie in x; zeros elsewhere.
  Value spread(Emitter &e, Value values, ArrayRef<int64_t> x) const {
    Shape low(4, 0), high(4, 0), interior(4, 0);
    for (int64_t i : {1, 2}) {
      low[i] = offset[i] - window.padding[2 * i];
      high[i] = x[i] - low[i] - (getShape(values)[i] - 1) * window.strides[i] - 1;
      interior[i] = window.strides[i] - 1;
    }
    return e.pad(values, 0.0, low, high, interior);
  }

  const Window &window;
  Shape offset;
};
} // namespace

/// As select_and_scatter, of which IREE 3.13 takes only windows side by side, and sends
/// gradients to other elements where several are the largest. Taps are read from the last
/// to the first, so that the first largest one is kept, and bring the gradients of the
/// windows that they won to x in this order, so that windows are added from the first to
/// the last.
static Value takeApart(const Window &window, Value x, Value dy, Emitter &e) {
  Shape from(getShape(x)), to(getShape(dy));
  Shape low(4, 0), high(4, 0), zeros(4, 0);
  for (int64_t i : {1, 2}) {
    low[i] = window.padding[2 * i];
    high[i] = window.padding[2 * i + 1];
  }
  double infinity = std::numeric_limits<double>::infinity();
  // Padding is not taken where all of x that is in the window is as small.
  Value padded = x, inside;
  if (window.padding != Shape(8, 0)) {
    padded = e.pad(x, -infinity, low, high, zeros);
    inside = e.pad(e.splat(e.builder.getI1Type(), {1, from[1], from[2], 1}, 1.0), 0.0,
                   low, high, zeros);
  }
  SmallVector<Tap> taps;
  for (int64_t row = window.size[1] - 1; row >= 0; --row)
    for (int64_t column = window.size[2] - 1; column >= 0; --column)
      taps.push_back({window, {0, row, column, 0}});
  Type number = e.builder.getI32Type();
  Value largest = e.splat(getElement(x), to, -infinity);
  Value winner = e.splatInteger(number, to, -1);
  for (auto [i, tap] : llvm::enumerate(taps)) {
    Value value = tap.read(e, padded, to);
    Value wins =
        e.binary("or", e.compare("GE", value, largest), e.compare("NE", value, value));
    if (inside)
      wins =
          e.binary("and", wins, e.broadcast(tap.read(e, inside, to), to, {0, 1, 2, 3}));
    largest = e.select(wins, value, largest);
    winner = e.select(wins, e.splatInteger(number, to, i), winner);
  }
  Value none = e.splat(getElement(x), to, 0.0), sum;
  for (auto [i, tap] : llvm::enumerate(taps)) {
    Value wins = e.compare("EQ", winner, e.splatInteger(number, to, i));
    Value part = tap.spread(e, e.select(wins, dy, none), from);
    sum = sum ? e.binary("add", sum, part) : part;
  }
  return sum;
}

/// The first largest element of each window, NaN being the largest, takes its gradient.
static void convertMaxPoolGrad(MaxPoolGradOp op, Emitter &e) {
  Window window(op);
  Value x = e.widen(e.get(op.getX()));
  Type element = getElement(x);
  Value dy = e.convert(e.get(op.getDy()), element);
  if (window.size[1] * window.size[2] <= maxTaps)
    return e.set(takeApart(window, x, dy, e));
  Operation *scatter =
      e.build("select_and_scatter", x.getType(), {x, dy, e.splat(element, {}, 0.0)},
              {e.padding(window.padding), e.array("window_dimensions", window.size),
               e.array("window_strides", window.strides)});
  auto scalar = RankedTensorType::get({}, element);
  e.fill(scatter, 0, {scalar, scalar}, [&](ValueRange both) -> SmallVector<Value> {
    return {e.binary("or", e.compare("GE", both[0], both[1]),
                     e.compare("NE", both[0], both[0]))};
  });
  e.fillCombiner(scatter, 1, "add", element);
  e.set(scatter->getResult(0));
}

/// What the sum of each window is divided by: a number, or one for each of [1, OH, OW, 1]
/// where windows reach into padding that does not count.
template <typename Op>
static Value getDivisor(Op op, Emitter &e, Type element, ArrayRef<int64_t> x,
                        ArrayRef<int64_t> y) {
  ArrayRef<int64_t> size = op.getWindow(), padding = op.getPadding();
  bool hasPadding = llvm::any_of(padding, [](int64_t width) { return width != 0; });
  if (op.getCountIncludePad() || !hasPadding)
    return e.splat(element, y, static_cast<double>(size[0] * size[1]));
  auto count = [&](int64_t position, int64_t dim) {
    int64_t begin = position * op.getStrides()[dim] - padding[2 * dim];
    return std::max<int64_t>(
        std::min(begin + size[dim], x[dim + 1]) - std::max<int64_t>(begin, 0), 0);
  };
  SmallVector<Attribute> counts;
  for (int64_t h = 0; h < y[1]; ++h)
    for (int64_t w = 0; w < y[2]; ++w)
      counts.push_back(e.builder.getFloatAttr(element, count(h, 0) * count(w, 1)));
  auto type = RankedTensorType::get({1, y[1], y[2], 1}, element);
  return e.broadcast(e.constant(DenseElementsAttr::get(type, counts)), y);
}

static void convertAvgPool(AvgPoolOp op, Emitter &e) {
  Window window(op);
  Value x = e.widen(e.get(op.getX()));
  Value sum = e.reduceWindow("add", x, window.size, window.strides, window.padding);
  Value divisor = getDivisor(op, e, getElement(x), getShape(x), getShape(sum));
  e.set(e.binary("divide", sum, divisor));
}

/// Each element of x sums the windows that it is in: a window over what is spread out by
/// the strides.
static void convertAvgPoolGrad(AvgPoolGradOp op, Emitter &e) {
  Window window(op);
  Value dy = e.widen(e.get(op.getDy()));
  ArrayRef<int64_t> x = e.resultType().getShape();
  Value divisor = getDivisor(op, e, getElement(dy), x, getShape(dy));
  Value each = e.binary("divide", dy, divisor);
  Shape low(4, 0), high(4, 0), interior(4, 0);
  for (int64_t i : {1, 2}) {
    int64_t spread = (getShape(dy)[i] - 1) * window.strides[i] + 1;
    low[i] = window.size[i] - 1 - window.padding[2 * i];
    high[i] = x[i] + window.size[i] - 1 - spread - low[i];
    interior[i] = window.strides[i] - 1;
  }
  Value spread = e.pad(each, 0.0, low, high, interior);
  e.set(e.reduceWindow("add", spread, window.size, Shape(4, 1), Shape(8, 0)));
}

void mpt::tostablehlo::populateWindows(Table &table) {
  table.add(convertMaxPool);
  table.add(convertMaxPoolGrad);
  table.add(convertAvgPool);
  table.add(convertAvgPoolGrad);
}
