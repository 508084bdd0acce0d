//===- Resizing.cpp - Torch's resizing of images ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A resized dimension is a sum of a few elements of each row, its taps: one for the
/// nearest element, two for linear and four for cubic interpolation. Dimensions are
/// resized one after the other.
///
/// Where one or two taps repeat, as they do if the size doubles, those of each phase are
/// strided slices. Otherwise a matrix of few elements is multiplied, or rows are
/// gathered.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

namespace {
enum class Interpolation { Nearest, NearestExact, Linear, Cubic };

/// Element o of a resized row is the sum of weights[o][k] times element first[o] + k of
/// the row, whose ends are repeated without end.
struct Taps {
  SmallVector<int64_t> first;
  SmallVector<SmallVector<double, 4>> weights;

  int64_t size() const { return first.size(); }
  int64_t count() const { return weights[0].size(); }
};
} // namespace

/// A row is not cut into more phases.
static constexpr int64_t kMostPhases = 8;
/// The matrix of a row of more elements would be multiplications by zero.
static constexpr int64_t kMostMatrixElements = 64;

/// Keys' kernel for a = -0.75 (Keys 1981).
static double keys(double x) {
  constexpr double a = -0.75;
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

static Taps makeTaps(Interpolation kind, int64_t in, int64_t out, bool corners,
                     double scale) {
  Taps taps;
  if (kind == Interpolation::Nearest || kind == Interpolation::NearestExact) {
    // In f32, as torch computes it.
    float step = scale > 0 ? static_cast<float>(1 / scale)
                           : static_cast<float>(in) / static_cast<float>(out);
    for (int64_t o = 0; o < out; ++o) {
      float at = kind == Interpolation::NearestExact
                     ? (static_cast<float>(o) + 0.5f) * step
                     : static_cast<float>(o) * step;
      taps.first.push_back(
          std::min<int64_t>(static_cast<int64_t>(std::floor(at)), in - 1));
      taps.weights.push_back({1});
    }
    return taps;
  }
  double step = corners     ? (out > 1 ? static_cast<double>(in - 1) / (out - 1) : 0)
                : scale > 0 ? 1 / scale
                            : static_cast<double>(in) / out;
  for (int64_t o = 0; o < out; ++o) {
    double at = corners ? o * step : (o + 0.5) * step - 0.5;
    if (std::abs(at - std::round(at)) < 1e-9) // So that rounding moves no tap.
      at = std::round(at);
    int64_t before = static_cast<int64_t>(std::floor(at));
    double part = at - before;
    if (kind == Interpolation::Linear) {
      taps.first.push_back(before);
      taps.weights.push_back({1 - part, part});
    } else {
      taps.first.push_back(before - 1);
      taps.weights.push_back(
          {keys(part + 1), keys(part), keys(1 - part), keys(2 - part)});
    }
  }
  return taps;
}

/// Whether element o + `period` has the taps of element o, `step` elements further.
static bool repeats(const Taps &taps, int64_t period, int64_t step) {
  for (int64_t o = period; o < taps.size(); ++o) {
    if (taps.first[o] != taps.first[o - period] + step)
      return false;
    for (auto [a, b] : llvm::zip_equal(taps.weights[o], taps.weights[o - period]))
      if (std::abs(a - b) > 1e-9)
        return false;
  }
  return true;
}

/// Dimension 1 of [before, in, after], where all taps repeat after `period`.
static Value resizeByPhases(Lowering &l, Value x, const Taps &taps, int64_t period,
                            int64_t step) {
  const Shape shape(getShape(x));
  const int64_t in = shape[1], count = taps.size() / period;
  // The row with as many copies of its ends as the taps reach.
  int64_t low = 0, high = 0;
  for (int64_t p = 0; p < period; ++p) {
    low = std::max(low, -taps.first[p]);
    high =
        std::max(high, taps.first[p] + taps.count() - 1 + (count - 1) * step - (in - 1));
  }
  SmallVector<Value> parts;
  auto repeat = [&](int64_t at, int64_t times) {
    if (times > 0)
      parts.push_back(l.broadcast(l.slice(x, 1, at, 1), {shape[0], times, shape[2]}));
  };
  repeat(0, low);
  parts.push_back(x);
  repeat(in - 1, high);
  Value row = parts.size() == 1 ? x : l.concat(parts, 1);
  SmallVector<Value> phases;
  for (int64_t p = 0; p < period; ++p) {
    Value sum;
    for (int64_t k = 0; k < taps.count(); ++k) {
      if (taps.weights[p][k] == 0 && (sum || k + 1 < taps.count()))
        continue;
      Value part = l.mul(l.slice(row, 1, low + taps.first[p] + k, count, step),
                         taps.weights[p][k]);
      sum = sum ? l.add(sum, part) : part;
    }
    phases.push_back(l.reshape(sum, {shape[0], count, 1, shape[2]}));
  }
  Value all = phases.size() == 1 ? phases[0] : l.concat(phases, 2);
  return l.reshape(all, {shape[0], taps.size(), shape[2]});
}

/// Dimension 1 of [before, in, after], from rows of `after` elements.
static Value resizeByRows(Lowering &l, Value x, const Taps &taps) {
  const Shape shape(getShape(x));
  const int64_t before = shape[0], in = shape[1], out = taps.size();
  Type element = getElement(x), index = l.builder.getI64Type();
  Value rows = l.reshape(x, {before * in, shape[2]});
  Value begins = l.mul(l.iota({before, 1}, 0, index), l.constant(in, index));
  Value sum;
  for (int64_t k = 0; k < taps.count(); ++k) {
    SmallVector<int64_t> places;
    SmallVector<double> weights;
    for (int64_t o = 0; o < out; ++o) {
      places.push_back(std::clamp<int64_t>(taps.first[o] + k, 0, in - 1));
      weights.push_back(taps.weights[o][k]);
    }
    Value at = ConstantOp::create(
        l.builder, l.loc,
        DenseElementsAttr::get(RankedTensorType::get({1, out}, index), ArrayRef(places)));
    Value part = l.gather(rows, l.reshape(l.add(begins, at), {before * out}));
    part = l.reshape(part, {before, out, shape[2]});
    if (taps.count() > 1)
      part = l.mul(part, l.floats(weights, element, {out, 1}));
    sum = sum ? l.add(sum, part) : part;
  }
  return sum;
}

/// Dimension 1 of [before, in, after], by a matrix.
static Value resizeByMatrix(Lowering &l, Value x, const Taps &taps) {
  const int64_t before = getShape(x)[0], in = getShape(x)[1], out = taps.size();
  SmallVector<double> values(in * out, 0);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = 0; k < taps.count(); ++k)
      values[o * in + std::clamp<int64_t>(taps.first[o] + k, 0, in - 1)] +=
          taps.weights[o][k];
  Value matrix = l.floats(values, getElement(x), {out, in});
  return l.matmul(l.broadcast(matrix, {before, out, in}), x);
}

static Value resize(Lowering &l, Value x, int64_t dim, const Taps &taps) {
  const Shape shape(getShape(x));
  auto product = [](ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  };
  const int64_t in = shape[dim], out = taps.size(), common = std::gcd(in, out);
  ArrayRef<int64_t> sizes(shape);
  Value rows = l.reshape(
      x, {product(sizes.take_front(dim)), in, product(sizes.drop_front(dim + 1))});
  const bool isSmall = in <= kMostMatrixElements;
  Value y;
  // A matrix has what four taps take as one multiplication.
  if (isSmall && taps.count() > 2)
    y = resizeByMatrix(l, rows, taps);
  else if (out / common <= kMostPhases && repeats(taps, out / common, in / common))
    y = resizeByPhases(l, rows, taps, out / common, in / common);
  else if (isSmall && taps.count() > 1)
    y = resizeByMatrix(l, rows, taps);
  else
    y = resizeByRows(l, rows, taps);
  Shape result(shape);
  result[dim] = out;
  return l.reshape(y, result);
}

/// Factors: operand `first` and those after it, one for each dimension, or with `listed`
/// one list. They count in torch only where the size is not given.
static SmallVector<double> readFactors(Lowering &l, unsigned first, unsigned count,
                                       bool listed) {
  SmallVector<double> factors(count, 0);
  if (!listed) {
    for (unsigned i = 0; i < count; ++i)
      factors[i] = first + i < l.size() ? l.number(first + i, 0) : 0;
    return factors;
  }
  if (l.isNone(first) || !l.isNone(1))
    return factors;
  if (Operation *list = l.op->getOperand(first).getDefiningOp())
    for (auto [i, item] : llvm::enumerate(list->getOperands().take_front(count)))
      if (Operation *constant = item.getDefiningOp())
        if (auto value = dyn_cast_or_null<FloatAttr>(getConstantValue(constant)))
          factors[i] = value.getValueAsDouble();
  return factors;
}

/// Resizes the last `dims` dimensions of [N, C, ..], with the channels last.
static std::function<void(Lowering &)> upsample(Interpolation kind, unsigned dims,
                                                bool listed) {
  return [=](Lowering &l) {
    bool hasCorners = kind == Interpolation::Linear || kind == Interpolation::Cubic;
    bool corners = hasCorners && l.flag(2);
    SmallVector<double> factors = readFactors(l, hasCorners ? 3 : 2, dims, listed);
    ArrayRef<int64_t> out = l.resultType().getShape().take_back(dims);
    RankedTensorType type = getType(l.getStored(0).value);
    if (!l.refusal.empty() ||
        !l.require(type.getRank() == 2 + dims && type.hasStaticShape() &&
                       isa<FloatType>(type.getElementType()),
                   "a tensor of other dimensions, open ones, or no floats"))
      return;
    // As convolutions have them: [N, W, C], [N, H, W, C] and [D, N, H, W, C].
    Shape places{1, 2}, order{0, 2, 1}, back{0, 2, 1};
    if (dims == 3) {
      places = {0, 2, 3};
      order = {2, 0, 3, 4, 1};
      back = {1, 4, 0, 2, 3};
    }
    Value x = dims == 2 ? l.getChannelsLast(0) : l.transpose(l.get(0), order);
    for (unsigned i = 0; i < dims; ++i) {
      int64_t dim = places[i], in = getShape(x)[dim];
      if (!l.require(in > 0 && out[i] > 0, "an empty image"))
        return;
      if (in == out[i] && factors[i] <= 0)
        continue;
      bool whole = out[i] % in == 0 && (factors[i] <= 0 || factors[i] * in == out[i]);
      if (kind <= Interpolation::NearestExact && whole) {
        Shape one(getShape(x)), many, result(one);
        one.insert(one.begin() + dim + 1, 1);
        many = one;
        many[dim + 1] = out[i] / in;
        result[dim] = out[i];
        x = l.reshape(l.broadcast(l.reshape(x, one), many), result);
        continue;
      }
      x = resize(l, x, dim, makeTaps(kind, in, out[i], corners, factors[i]));
    }
    if (dims == 2)
      l.setChannelsLast(x);
    else
      l.set(l.transpose(x, back));
  };
}

void mpt::torch::populateResizing(Table &t) {
  for (bool listed : {false, true}) {
    auto name = [listed](const char *prefix, int dims) {
      return std::string(prefix) + std::to_string(dims) + (listed ? "d.vec" : "d");
    };
    for (int dims = 1; dims <= 3; ++dims) {
      t.add({name("upsample_nearest", dims)},
            upsample(Interpolation::Nearest, dims, listed));
      t.add({name("_upsample_nearest_exact", dims)},
            upsample(Interpolation::NearestExact, dims, listed));
    }
    t.add({name("upsample_linear", 1)}, upsample(Interpolation::Linear, 1, listed));
    t.add({name("upsample_bilinear", 2)}, upsample(Interpolation::Linear, 2, listed));
    t.add({name("upsample_trilinear", 3)}, upsample(Interpolation::Linear, 3, listed));
    t.add({name("upsample_bicubic", 2)}, upsample(Interpolation::Cubic, 2, listed));
  }
}
