//===- Volumes.cpp - Torch's convolutions and pooling in 3 dimensions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution over D, H and W is a sum of convolutions over H and W, one for each
/// place of the filter along D, or one convolution that has these places as channels.
/// Pooling over D, H and W pools images, then along D.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

namespace {
/// Sizes along D, H and W.
struct Window3 {
  Shape kernel{1, 1, 1}, stride{1, 1, 1}, low{0, 0, 0}, high{0, 0, 0}, dilation{1, 1, 1};
  int64_t groups = 1;

  Shape flat(const Shape &sizes) const { return {sizes[1], sizes[2]}; }
  Shape flatPadding() const { return {low[1], high[1], low[2], high[2]}; }
  int64_t count(int64_t size, int dim) const {
    return (size + low[dim] + high[dim] - dilation[dim] * (kernel[dim] - 1) - 1) /
               stride[dim] +
           1;
  }
};
} // namespace

/// Operand 0, [N, C, D, H, W] or [C, D, H, W], as [D, N, H, W, C].
static Value getVolume(Lowering &l) {
  Value x = l.get(0);
  if (getRank(x) == 4) {
    Shape shape(getShape(x));
    shape.insert(shape.begin(), 1);
    x = l.reshape(x, shape);
  }
  if (!l.require(getRank(x) == 5 && getType(x).hasStaticShape(),
                 "expected a tensor of 4 or 5 known dimensions"))
    return l.constant(0, l.builder.getF32Type(), {1, 1, 1, 1, 1});
  return l.transpose(x, {2, 0, 3, 4, 1});
}

static void setVolume(Lowering &l, Value y) {
  if (l.refusal.empty())
    l.set(l.reshape(l.transpose(y, {1, 4, 0, 2, 3}), l.resultType().getShape()));
}

static bool check(Lowering &l, const Window3 &w, ArrayRef<int64_t> volume) {
  for (int i = 0; i < 3; ++i) {
    int64_t size = volume[i == 0 ? 0 : i + 1];
    if (!l.require(w.stride[i] >= 1 && w.dilation[i] >= 1 && w.kernel[i] >= 1 &&
                       w.low[i] >= 0 && w.high[i] >= 0 && w.count(size, i) >= 1,
                   "a window, stride, dilation or padding out of range"))
      return false;
  }
  return true;
}

/// The slices of [D, N, H, W, C] from `begin` on that a place of the filter along D is
/// applied to, as images [OD N, H, W, C].
static Value slicesAt(Lowering &l, Value padded, const Window3 &w, int64_t begin,
                      int64_t count) {
  Value part = l.slice(padded, 0, begin, count, w.stride[0]);
  ArrayRef<int64_t> s = getShape(part);
  return l.reshape(part, {s[0] * s[1], s[2], s[3], s[4]});
}

static Value padDepth(Lowering &l, Value x, int64_t low, int64_t high, double value,
                      int64_t between = 0) {
  if (low == 0 && high == 0 && between == 0)
    return x;
  return l.pad(x, {low, 0, 0, 0, 0}, {high, 0, 0, 0, 0}, value, {between, 0, 0, 0, 0});
}

/// The filter [O, I, KD, KH, KW] at place `k` as [O, I, KH, KW].
static Value filterAt(Lowering &l, Value filter, int64_t k) {
  ArrayRef<int64_t> s = getShape(filter);
  return l.reshape(l.slice(filter, 2, k, 1), {s[0], s[1], s[3], s[4]});
}

static void convolve(Lowering &l, Value x, Value filter, Value bias, Window3 w) {
  if (!l.refusal.empty() || !l.require(getRank(filter) == 5, "a filter of this rank"))
    return;
  ArrayRef<int64_t> fs = getShape(filter), xs = getShape(x);
  w.kernel = Shape(fs.take_back(3));
  if (!check(l, w, xs) || !l.require(w.groups >= 1 && xs[4] == fs[1] * w.groups,
                                     "a filter that does not fit"))
    return;
  int64_t depth = w.count(xs[0], 0), height = w.count(xs[2], 1),
          width = w.count(xs[3], 2);
  // Places of the filter that read padding alone are left out; of the padding, too.
  const int64_t step = w.dilation[0], last = (depth - 1) * w.stride[0];
  auto isIdle = [&](int64_t k) {
    for (int64_t read = k * step - w.low[0]; read <= k * step - w.low[0] + last;
         read += w.stride[0])
      if (read >= 0 && read < xs[0])
        return false;
    return true;
  };
  int64_t first = 0, end = w.kernel[0];
  while (end - first > 1 && isIdle(first))
    ++first;
  while (end - first > 1 && isIdle(end - 1))
    --end;
  w.high[0] = std::max<int64_t>((end - 1) * step - w.low[0] + last - xs[0] + 1, 0);
  const int64_t skipped = std::min(first * step, w.low[0]);
  w.low[0] -= skipped;
  Value padded = padDepth(l, x, w.low[0], w.high[0], 0), sum;
  auto imagesAt = [&](int64_t k) {
    return slicesAt(l, padded, w, k * step - skipped, depth);
  };
  auto multiply = [&](Value images, Value filter, Value bias) -> Value {
    auto type = getType(images).clone({depth * xs[1], height, width, fs[0]});
    return Conv2DOp::create(l.builder, l.loc, type, images, filter, bias,
                            w.flat(w.stride), w.flatPadding(), w.flat(w.dilation),
                            w.groups, Epilogue::None, TypeAttr(), /*oihw=*/true);
  };
  // Where channels are few, images with those of all places take at most half as much as
  // one result, of which the sum has one for each place.
  const int64_t channels = w.kernel[0] * fs[1];
  if (w.groups == 1 && w.kernel[0] > 1 && end - first == w.kernel[0] &&
      2 * channels * xs[2] * xs[3] <= fs[0] * height * width) {
    SmallVector<Value> places;
    for (int64_t k = 0; k < w.kernel[0]; ++k)
      places.push_back(imagesAt(k));
    auto type = getType(x).clone({depth * xs[1], xs[2], xs[3], channels});
    Value images = ConcatOp::create(l.builder, l.loc, type, places, 3);
    Value joined =
        l.reshape(l.transpose(filter, {0, 2, 1, 3, 4}), {fs[0], channels, fs[3], fs[4]});
    sum = multiply(images, joined, bias);
    setVolume(l, l.reshape(sum, {depth, xs[1], height, width, fs[0]}));
    return;
  }
  for (int64_t k = first; k < end; ++k) {
    Value y = multiply(imagesAt(k), filterAt(l, filter, k), sum ? Value() : bias);
    sum = sum ? l.add(sum, y) : y;
  }
  setVolume(l, l.reshape(sum, {depth, xs[1], height, width, fs[0]}));
}

static Value getBias(Lowering &l) { return l.isNone(2) ? Value() : l.get(2); }

/// conv3d, with numbers or "same" and "valid" as padding.
static std::function<void(Lowering &)> convolution(bool named) {
  return [=](Lowering &l) {
    Window3 w;
    w.stride = l.integers(3, 3, 1);
    w.dilation = l.integers(5, 3, 1);
    w.groups = l.integer(6, 1);
    Value filter = l.get(1);
    if (!named) {
      w.low = w.high = l.integers(4, 3, 0);
    } else if (l.text(4) == "same" && getRank(filter) == 5) {
      for (int i = 0; i < 3; ++i) {
        int64_t total = w.dilation[i] * (getShape(filter)[2 + i] - 1);
        w.low[i] = total / 2;
        w.high[i] = total - total / 2;
      }
    } else if (!l.require(l.text(4) == "valid", "padding other than same and valid")) {
      return;
    }
    convolve(l, getVolume(l), filter, getBias(l), w);
  };
}

/// Operands: x, filter [I, O / groups, KD, KH, KW], bias, stride, padding, output
/// padding, groups, dilation. Each place of the filter along D makes images of its own,
/// which are added where they belong.
static void convTranspose(Lowering &l) {
  Value x = getVolume(l), filter = l.get(1);
  Shape stride = l.integers(3, 3, 1), padding = l.integers(4, 3, 0),
        outputPadding = l.integers(5, 3, 0), dilation = l.integers(7, 3, 1);
  const int64_t groups = l.integer(6, 1);
  if (!l.refusal.empty() || !l.require(getRank(filter) == 5, "a filter of this rank"))
    return;
  Shape xs(getShape(x));
  const int64_t kernel = getShape(filter)[2], reach = dilation[0] * (kernel - 1),
                whole = (xs[0] - 1) * stride[0] + reach + 1,
                depth = whole - 2 * padding[0] + outputPadding[0];
  if (!l.require(xs[0] >= 1 && kernel >= 1 && stride[0] >= 1 && dilation[0] >= 1 &&
                     padding[0] >= 0 && outputPadding[0] >= 0 && depth >= 1,
                 "a stride, dilation or padding out of range") ||
      !l.require(padding[0] <= reach,
                 "a transposed convolution padded by more than its filter reaches"))
    return;
  Value images = l.reshape(x, {xs[0] * xs[1], xs[2], xs[3], xs[4]}), sum;
  for (int64_t k = 0; k < kernel; ++k) {
    std::optional<Value> made = transposeConvolution(
        l, images, filterAt(l, filter, k), ArrayRef(stride).drop_front(),
        ArrayRef(padding).drop_front(), ArrayRef(outputPadding).drop_front(),
        ArrayRef(dilation).drop_front(), groups);
    if (!made)
      return;
    ArrayRef<int64_t> s = getShape(*made);
    const int64_t before = k * dilation[0];
    Value part = padDepth(l, l.reshape(*made, {xs[0], xs[1], s[1], s[2], s[3]}), before,
                          reach - before, 0, stride[0] - 1);
    sum = sum ? l.add(sum, part) : part;
  }
  const int64_t end = std::min(whole, padding[0] + depth);
  sum = l.slice(sum, 0, padding[0], end - padding[0]);
  sum = padDepth(l, sum, 0, padding[0] + depth - end, 0);
  if (Value bias = getBias(l))
    sum = l.add(sum, bias);
  setVolume(l, sum);
}

/// Pools the images of [D, N, H, W, C] by `images`, then the depths, as [1, D, N H W, C],
/// by `depths`.
static Value poolVolume(Lowering &l, Value x, function_ref<Value(Value)> images,
                        function_ref<Value(Value)> depths) {
  Shape s(getShape(x));
  x = images(l.reshape(x, {s[0] * s[1], s[2], s[3], s[4]}));
  s[2] = getShape(x)[1];
  s[3] = getShape(x)[2];
  x = depths(l.reshape(x, {1, s[0], s[1] * s[2] * s[3], s[4]}));
  s[0] = getShape(x)[1];
  return l.reshape(x, s);
}

/// One window for each of the `count` elements, those between the depths.
static PoolWindows getElements(int64_t count) {
  PoolWindows windows;
  windows.count = count;
  return windows;
}

static std::optional<SmallVector<PoolWindows>>
readVolumePool(Lowering &l, Value x, bool ceil, ArrayRef<int64_t> dilation) {
  ArrayRef<int64_t> s = getShape(x);
  auto pool = readPool(l, {s[0], s[2], s[3]}, ceil, dilation);
  return l.refusal.empty() ? pool : std::nullopt;
}

static bool requireNoIndices(Lowering &l) {
  return l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                   "indices of the largest elements");
}

static void convertMaxPool(Lowering &l) {
  Value x = getVolume(l);
  auto pool = readVolumePool(l, x, l.flag(5), l.integers(4, 3, 1));
  if (!requireNoIndices(l) || !pool)
    return;
  // The first of equal elements has the gradient, as in torch.
  ArrayRef<PoolWindows> w = *pool;
  setVolume(
      l, poolVolume(
             l, x, [&](Value y) { return maxPool(l, y, w[1], w[2]); },
             [&](Value y) { return maxPool(l, y, w[0], getElements(getShape(y)[2])); }));
}

static void convertAvgPool(Lowering &l) {
  Value x = getVolume(l);
  auto pool = readVolumePool(l, x, l.flag(4), {});
  if (!pool)
    return;
  ArrayRef<PoolWindows> w = *pool;
  // The number of elements in a window is the product of those along D, H and W.
  auto [count, factor] = readPoolCount(l, w);
  Value y = poolVolume(
      l, x, [&, count = count](Value y) { return avgPool(l, y, w[1], w[2], count); },
      [&, count = count](Value y) {
        return avgPool(l, y, w[0], getElements(getShape(y)[2]), count);
      });
  setVolume(l, l.mul(y, factor));
}

static std::function<void(Lowering &)> adaptivePool(Value (*pool)(Lowering &, Value,
                                                                  int64_t, int64_t)) {
  return [=](Lowering &l) {
    Value x = getVolume(l);
    RankedTensorType type = l.resultType();
    if (!l.refusal.empty() || !requireNoIndices(l))
      return;
    ArrayRef<int64_t> out = type.getShape().take_back(3);
    setVolume(l, poolVolume(
                     l, x, [&](Value y) { return pool(l, y, out[1], out[2]); },
                     [&](Value y) { return pool(l, y, out[0], getShape(y)[2]); }));
  };
}

void mpt::torch::populateVolumes(Table &t) {
  t.add({"conv3d"}, convolution(false));
  t.add({"conv3d.padding"}, convolution(true));
  t.add({"conv_transpose3d.input"}, convTranspose);
  t.add({"max_pool3d", "max_pool3d_with_indices"}, convertMaxPool);
  t.add({"avg_pool3d"}, convertAvgPool);
  t.add({"adaptive_avg_pool3d", "_adaptive_avg_pool3d"}, adaptivePool(adaptiveAvgPool));
  t.add({"adaptive_max_pool3d"}, adaptivePool(adaptiveMaxPool));
}
