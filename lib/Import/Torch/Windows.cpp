//===- Windows.cpp - Torch's convolutions and pooling -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

/// A convolution of any of torch's forms, x [N, H, W, C] and the filter [O, I, KH, KW].
namespace {
struct Window {
  Shape stride{1, 1}, low{0, 0}, high{0, 0}, dilation{1, 1};
  int64_t groups = 1;
  Shape getPadding() const { return {low[0], high[0], low[1], high[1]}; }
};
} // namespace

static int64_t windowCount(int64_t size, int64_t low, int64_t high, int64_t kernel,
                           int64_t stride, int64_t dilation) {
  return (size + low + high - dilation * (kernel - 1) - 1) / stride + 1;
}

static Value convolve(Lowering &l, Value x, Value filter, Value bias, const Window &w) {
  ArrayRef<int64_t> xs = getShape(x), fs = getShape(filter);
  if (!l.require(!ShapedType::isDynamic(xs[1]) && !ShapedType::isDynamic(xs[2]) &&
                     xs[3] == fs[1] * w.groups,
                 "an image of open size, or a filter that does not fit"))
    return x;
  Shape shape{xs[0], 0, 0, fs[0]};
  for (int i = 0; i < 2; ++i) {
    if (!l.require(w.stride[i] >= 1 && w.dilation[i] >= 1 && w.low[i] >= 0 &&
                       w.high[i] >= 0,
                   "a stride, dilation or padding out of range"))
      return x;
    shape[1 + i] = windowCount(xs[1 + i], w.low[i], w.high[i], fs[2 + i], w.stride[i],
                               w.dilation[i]);
  }
  return Conv2DOp::create(l.builder, l.loc, getType(x).clone(shape), x, filter, bias,
                          w.stride, w.getPadding(), w.dilation, w.groups, Epilogue::None,
                          TypeAttr(), /*oihw=*/true);
}

/// Operand 0 as [N, H, W, C]; [N, C, L] has H = 1, and without a batch N is 1.
static Value getImage(Lowering &l, bool oneD) {
  int64_t rank = getRank(l.getStored(0).value);
  if (!oneD && rank == 4)
    return l.getChannelsLast(0);
  Value x = l.get(0);
  ArrayRef<int64_t> s = getShape(x);
  if (rank == 3 && oneD)
    return l.reshape(l.transpose(x, {0, 2, 1}), {s[0], 1, s[2], s[1]});
  if (rank == 3)
    return l.reshape(l.transpose(x, {1, 2, 0}), {1, s[1], s[2], s[0]});
  if (rank == 2 && oneD)
    return l.reshape(l.transpose(x, {1, 0}), {1, 1, s[1], s[0]});
  l.refuse(oneD ? "expected a tensor of 2 or 3 dimensions"
                : "expected a tensor of 3 or 4 dimensions");
  return l.constant(0, l.builder.getF32Type(), {1, 1, 1, 1});
}

static void setImage(Lowering &l, Value y, bool oneD) {
  int64_t rank = l.resultType().getRank();
  if (!l.refusal.empty())
    return;
  ArrayRef<int64_t> s = getShape(y);
  if (!oneD && rank == 4)
    return l.setChannelsLast(y);
  if (!oneD)
    return l.set(l.transpose(l.reshape(y, {s[1], s[2], s[3]}), {2, 0, 1}));
  if (rank == 3)
    return l.set(l.transpose(l.reshape(y, {s[0], s[2], s[3]}), {0, 2, 1}));
  l.set(l.transpose(l.reshape(y, {s[2], s[3]}), {1, 0}));
}

/// Two numbers, for H and W; in one dimension W has the operand's and H `whenNone`.
static Shape readPair(Lowering &l, unsigned operand, bool oneD, int64_t whenNone) {
  if (!oneD)
    return l.integers(operand, 2, whenNone);
  return {whenNone, l.integers(operand, 1, whenNone)[0]};
}

/// The filter [O, I, KH, KW]; one of [O, I, KW] has KH = 1.
static Value getFilter(Lowering &l, Value filter, bool oneD) {
  if (!oneD)
    return filter;
  ArrayRef<int64_t> s = getShape(filter);
  return l.reshape(filter, {s[0], s[1], 1, s[2]});
}

std::optional<Value> mpt::torch::transposeConvolution(Lowering &l, Value x, Value filter,
                                                      ArrayRef<int64_t> stride,
                                                      ArrayRef<int64_t> padding,
                                                      ArrayRef<int64_t> outputPadding,
                                                      ArrayRef<int64_t> dilation,
                                                      int64_t groups) {
  ArrayRef<int64_t> xs = getShape(x), fs = getShape(filter);
  if (!l.require(groups >= 1 && fs[0] % groups == 0,
                 "groups that do not divide the channels") ||
      !l.require(!ShapedType::isDynamic(xs[1]) && !ShapedType::isDynamic(xs[2]) &&
                     xs[3] == fs[0],
                 "an image of open size, or a filter that does not fit"))
    return std::nullopt;
  Shape shape{xs[0], 0, 0, fs[1] * groups}, high(2);
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = dilation[i] * (fs[2 + i] - 1);
    // Rows after the last are what the padding there leaves out less.
    high[i] = padding[i] - outputPadding[i];
    shape[1 + i] = (xs[1 + i] - 1) * stride[i] + reach + 1 - padding[i] - high[i];
    if (!l.require(stride[i] >= 1 && dilation[i] >= 1 && padding[i] >= 0 &&
                       outputPadding[i] >= 0,
                   "a stride, dilation or padding out of range") ||
        !l.require(padding[i] <= reach,
                   "a transposed convolution padded by more than its filter reaches") ||
        !l.require(shape[1 + i] >= 1, "a result of no rows or columns"))
      return std::nullopt;
  }
  Shape read(shape);
  for (int i = 0; i < 2; ++i)
    if (high[i] < 0) {
      // Fewer than a stride of them are rows that no window reaches; others are zeros.
      const int64_t zeros = std::max<int64_t>(0, 1 - high[i] - stride[i]);
      read[1 + i] -= zeros;
      high[i] = 0;
    }
  Value y = Conv2DInputGradOp::create(
      l.builder, l.loc, getType(x).clone(read), x, filter, stride,
      ArrayRef<int64_t>{padding[0], high[0], padding[1], high[1]}, dilation, groups,
      TypeAttr(), /*oihw=*/true);
  if (read != shape)
    y = l.pad(y, {0, 0, 0, 0}, {0, shape[1] - read[1], shape[2] - read[2], 0}, 0);
  return y;
}

static void transposedConvolution(Lowering &l, bool oneD, Value bias, const Window &w,
                                  const Shape &outputPadding) {
  Value x = getImage(l, oneD), filter = l.get(1);
  if (!l.refusal.empty())
    return;
  std::optional<Value> y =
      transposeConvolution(l, x, getFilter(l, filter, oneD), w.stride, w.low,
                           outputPadding, w.dilation, w.groups);
  if (y)
    setImage(l, bias ? l.add(*y, bias) : *y, oneD);
}

/// conv1d, conv2d, with numbers or "same" and "valid" as padding.
static std::function<void(Lowering &)> convolution(bool oneD, bool named) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD), filter = l.get(1),
          bias = l.isNone(2) ? Value() : l.get(2);
    if (!l.require(getRank(filter) == (oneD ? 3 : 4), "a filter of this rank"))
      return;
    filter = getFilter(l, filter, oneD);
    Window w;
    w.stride = readPair(l, 3, oneD, 1);
    w.dilation = readPair(l, 5, oneD, 1);
    w.groups = l.integer(6, 1);
    if (!named) {
      w.low = w.high = readPair(l, 4, oneD, 0);
    } else if (l.text(4) == "same") {
      for (int i = 0; i < 2; ++i) {
        int64_t total = w.dilation[i] * (getShape(filter)[2 + i] - 1);
        w.low[i] = total / 2;
        w.high[i] = total - total / 2;
      }
    } else if (!l.require(l.text(4) == "valid", "padding other than same and valid")) {
      return;
    }
    setImage(l, convolve(l, x, filter, bias, w), oneD);
  };
}

static std::function<void(Lowering &)> convTranspose(bool oneD) {
  return [=](Lowering &l) {
    Window w;
    w.stride = readPair(l, 3, oneD, 1);
    w.low = readPair(l, 4, oneD, 0);
    w.groups = l.integer(6, 1);
    w.dilation = readPair(l, 7, oneD, 1);
    if (l.require(getRank(l.get(1)) == (oneD ? 3 : 4), "a filter of this rank"))
      transposedConvolution(l, oneD, l.isNone(2) ? Value() : l.get(2), w,
                            readPair(l, 5, oneD, 0));
  };
}

/// The gradients of a convolution's image, filter and bias, for a gradient of its result
/// in operand 0; operands 1 and 2 are the image and the filter. What a loss function that
/// asks for gradients needs, as a convolution, a transposed one and a sum.
static void convolutionGradients(Lowering &l) {
  Value filter = l.get(2);
  const bool oneD = getRank(filter) == 3;
  Window w;
  w.stride = readPair(l, 4, oneD, 1);
  w.low = w.high = readPair(l, 5, oneD, 0);
  w.dilation = readPair(l, 6, oneD, 1);
  w.groups = l.integer(9, 1);
  const bool transposed = l.flag(7);
  const bool wantsImage = !l.op->getResult(0).use_empty(),
             wantsFilter = !l.op->getResult(1).use_empty();
  if (!l.require(getRank(filter) == 3 || getRank(filter) == 4,
                 "a convolution of other than 1 or 2 dimensions") ||
      !l.require(getType(filter).hasStaticShape() &&
                     getType(l.getStored(1).value).hasStaticShape() &&
                     getType(l.getStored(0).value).hasStaticShape(),
                 "an open dimension") ||
      !l.require(!wantsFilter || (!transposed && w.groups == 1),
                 "the gradient of the filter of a transposed or grouped convolution"))
    return;
  filter = getFilter(l, filter, oneD);
  Value gradient = getImage(l, oneD);
  ArrayRef<int64_t> fs = getShape(filter);
  // [N, H, W, C], as the gradient is.
  auto imageShape = [&](ArrayRef<int64_t> s) {
    return oneD ? Shape{s[0], 1, s[2], s[1]} : Shape{s[0], s[2], s[3], s[1]};
  };
  const Shape xs = imageShape(getType(l.get(1)).getShape());
  if (wantsImage) {
    Value image;
    if (transposed) {
      image = convolve(l, gradient, filter, Value(), w);
    } else {
      Shape rest(2); // rows and columns that the last window does not reach
      for (int i = 0; i < 2; ++i)
        rest[i] = xs[1 + i] - ((getShape(gradient)[1 + i] - 1) * w.stride[i] +
                               w.dilation[i] * (fs[2 + i] - 1) + 1 - 2 * w.low[i]);
      std::optional<Value> made = transposeConvolution(l, gradient, filter, w.stride,
                                                       w.low, rest, w.dilation, w.groups);
      if (!made)
        return;
      image = *made;
    }
    setImage(l, image, oneD);
  }
  if (wantsFilter) {
    // The image, with channels as its batch, meets the gradient as a filter [O, N, H, W],
    // whose steps are the strides.
    Value x = l.get(1);
    if (oneD)
      x = l.reshape(x, {getShape(x)[0], getShape(x)[1], 1, getShape(x)[2]});
    Window swapped;
    swapped.stride = w.dilation;
    swapped.dilation = w.stride;
    swapped.low = swapped.high = w.low;
    Value y = convolve(l, l.transpose(x, {1, 2, 3, 0}),
                       l.transpose(gradient, {3, 0, 1, 2}), Value(), swapped);
    if (!l.refusal.empty())
      return;
    // Windows past the filter's end saw what a stride left over.
    y = l.slice(l.slice(y, 1, 0, fs[2]), 2, 0, fs[3]);
    l.set(l.reshape(l.transpose(y, {3, 0, 1, 2}), l.resultType(1).getShape()), 1);
  }
  if (!l.op->getResult(2).use_empty())
    l.set(l.reduce(ReduceKind::Sum, gradient, {0, 1, 2}), 2);
}

static void anyConvolution(Lowering &l) {
  int64_t rank = getRank(l.getStored(0).value);
  bool oneD = rank == 3;
  Value bias = l.isNone(2) ? Value() : l.get(2);
  if (!l.require(rank == 3 || rank == 4,
                 "a convolution of other than 1 or 2 dimensions") ||
      !l.require(getRank(l.get(1)) == rank, "a filter of this rank"))
    return;
  Window w;
  w.stride = readPair(l, 3, oneD, 1);
  w.low = w.high = readPair(l, 4, oneD, 0);
  w.dilation = readPair(l, 5, oneD, 1);
  w.groups = l.integer(8, 1);
  if (l.flag(6))
    return transposedConvolution(l, oneD, bias, w, readPair(l, 7, oneD, 0));
  setImage(l, convolve(l, getImage(l, oneD), getFilter(l, l.get(1), oneD), bias, w),
           oneD);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static constexpr PoolWindows kOneByOne;

std::optional<SmallVector<PoolWindows>> mpt::torch::readPool(Lowering &l,
                                                             ArrayRef<int64_t> sizes,
                                                             bool ceil,
                                                             ArrayRef<int64_t> dilation) {
  const unsigned dims = sizes.size();
  Shape kernel = l.integers(1, dims, 1);
  Shape stride = l.integers(2).empty() ? kernel : l.integers(2, dims, 1);
  Shape padding = l.integers(3, dims, 0);
  SmallVector<PoolWindows> pool;
  for (unsigned i = 0; i < dims; ++i) {
    PoolWindows w{kernel[i], stride[i], dilation.empty() ? 1 : dilation[i], padding[i]};
    if (!l.require(!ShapedType::isDynamic(sizes[i]) && w.kernel >= 1 && w.stride >= 1 &&
                       w.dilation >= 1 && w.padding >= 0 &&
                       2 * w.padding <= w.getReach() && sizes[i] >= 1,
                   "a window, stride or padding out of range"))
      return std::nullopt;
    // How far the first window can move.
    const int64_t room = sizes[i] + 2 * w.padding - w.getReach();
    w.count = 1 + (ceil ? llvm::divideCeilSigned(room, w.stride)
                        : llvm::divideFloorSigned(room, w.stride));
    if (ceil && (w.count - 1) * w.stride >= sizes[i] + w.padding)
      --w.count;
    if (!l.require(w.count >= 1, "a window that is larger than the image"))
      return std::nullopt;
    w.overhang = std::max<int64_t>(0, (w.count - 1) * w.stride - room);
    pool.push_back(w);
  }
  return pool;
}

/// The type of [N, H, W, C] after pooling.
static RankedTensorType getPooledType(Value x, const PoolWindows &h,
                                      const PoolWindows &w) {
  Shape shape(getShape(x));
  shape[1] = h.count;
  shape[2] = w.count;
  return getType(x).clone(shape);
}

Value mpt::torch::maxPool(Lowering &l, Value x, const PoolWindows &h,
                          const PoolWindows &w) {
  RankedTensorType type = getPooledType(x, h, w);
  if (h.kernel == 1 && w.kernel == 1 && type == x.getType())
    return x;
  if (h.dilation == 1 && w.dilation == 1)
    return MaxPoolOp::create(
        l.builder, l.loc, type, x, Shape{h.kernel, w.kernel}, Shape{h.stride, w.stride},
        Shape{h.padding, h.padding + h.overhang, w.padding, w.padding + w.overhang});
  // With gaps, of as many slices as a window has elements, the first of equal ones.
  if (h.padding + h.overhang + w.padding + w.overhang > 0)
    x = l.pad(x, {0, h.padding, w.padding, 0},
              {0, h.padding + h.overhang, w.padding + w.overhang, 0},
              -std::numeric_limits<double>::infinity());
  Value largest;
  for (int64_t i = 0; i < h.kernel; ++i)
    for (int64_t j = 0; j < w.kernel; ++j) {
      Value part = l.slice(x, 1, i * h.dilation, h.count, h.stride);
      part = l.slice(part, 2, j * w.dilation, w.count, w.stride);
      if (!largest) {
        largest = part;
        continue;
      }
      // A NaN is the largest.
      Value isNaN = l.compare(ComparePredicate::NE, part, part);
      largest = l.where(l.compare(ComparePredicate::GT, part, largest), part,
                        l.where(isNaN, part, largest));
    }
  return largest;
}

Value mpt::torch::avgPool(Lowering &l, Value x, const PoolWindows &h,
                          const PoolWindows &w, PoolCount count) {
  bool overhangs = h.overhang + w.overhang > 0;
  Shape padding{h.padding, h.padding + h.overhang, w.padding, w.padding + w.overhang};
  if (count == PoolCount::Padding && overhangs) {
    // The padding becomes part of the image; what reaches over it is not counted.
    x = l.pad(x, {0, h.padding, w.padding, 0}, {0, h.padding, w.padding, 0}, 0);
    padding = {0, h.overhang, 0, w.overhang};
  }
  bool whole = count == PoolCount::Window || (count == PoolCount::Padding && !overhangs);
  return AvgPoolOp::create(l.builder, l.loc, getPooledType(x, h, w), x,
                           Shape{h.kernel, w.kernel}, Shape{h.stride, w.stride}, padding,
                           whole);
}

std::pair<PoolCount, double> mpt::torch::readPoolCount(Lowering &l,
                                                       ArrayRef<PoolWindows> windows) {
  if (l.isNone(6))
    return {l.flag(5, true) ? PoolCount::Padding : PoolCount::Image, 1};
  double elements = 1;
  for (const PoolWindows &w : windows)
    elements *= w.kernel;
  double divisor = l.number(6, 1);
  l.require(divisor != 0, "a divisor_override of 0");
  return {PoolCount::Window, elements / divisor};
}

/// Operand 0 as [N, H, W, C], and its windows along H and W.
static std::optional<std::pair<PoolWindows, PoolWindows>>
readImagePool(Lowering &l, Value x, bool oneD, bool ceil, ArrayRef<int64_t> dilation) {
  std::optional<SmallVector<PoolWindows>> pool =
      readPool(l, getShape(x).slice(oneD ? 2 : 1, oneD ? 1 : 2), ceil, dilation);
  if (!pool || !l.refusal.empty())
    return std::nullopt;
  return std::pair(oneD ? kOneByOne : pool->front(), pool->back());
}

static std::function<void(Lowering &)> convertMaxPool(bool oneD) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    if (auto pool = readImagePool(l, x, oneD, l.flag(5), l.integers(4, oneD ? 1 : 2, 1)))
      setImage(l, maxPool(l, x, pool->first, pool->second), oneD);
  };
}

static std::function<void(Lowering &)> convertAvgPool(bool oneD) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    auto pool = readImagePool(l, x, oneD, l.flag(4), {});
    if (!pool)
      return;
    auto [count, factor] = readPoolCount(l, {pool->first, pool->second});
    setImage(l, l.mul(avgPool(l, x, pool->first, pool->second, count), factor), oneD);
  };
}

/// y[.., o, ..] = sum of matrix[o, i] x[.., i, ..] along H (1) or W (2) of [N, H, W, C].
static Value applyAlong(Lowering &l, Value x, Value matrix, int64_t dim) {
  ArrayRef<int64_t> s = getShape(x);
  if (!l.require(getType(x).hasStaticShape(), "an image of open shape"))
    return x;
  int64_t n = s[0], h = s[1], w = s[2], c = s[3], out = getShape(matrix)[0];
  int64_t batch = dim == 1 ? n : n * h, inner = dim == 1 ? h : w,
          rest = dim == 1 ? w * c : c;
  Value y = l.matmul(l.broadcast(matrix, {batch, out, inner}),
                     l.reshape(x, {batch, inner, rest}));
  return l.reshape(y, dim == 1 ? Shape{n, out, w, c} : Shape{n, h, out, c});
}

/// The matrix whose row o averages what torch's adaptive pooling averages for o.
static Value adaptiveMatrix(Lowering &l, int64_t in, int64_t out, Type element) {
  SmallVector<double> values(in * out, 0);
  for (int64_t o = 0; o < out; ++o) {
    int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    for (int64_t i = begin; i < end; ++i)
      values[o * in + i] = 1.0 / (end - begin);
  }
  return l.floats(values, element, {out, in});
}

/// Windows that divide `in` elements into `out` equal parts.
static PoolWindows getParts(int64_t in, int64_t out) {
  PoolWindows parts;
  parts.kernel = parts.stride = in / out;
  parts.count = out;
  return parts;
}

Value mpt::torch::adaptiveAvgPool(Lowering &l, Value x, int64_t height, int64_t width) {
  int64_t h = getShape(x)[1], w = getShape(x)[2];
  if (!l.require(!ShapedType::isDynamic(h) && !ShapedType::isDynamic(w) && h > 0 &&
                     w > 0 && height > 0 && width > 0,
                 "an image of open size"))
    return x;
  if (h == height && w == width)
    return x;
  if (height == 1 && width == 1)
    return l.reduce(ReduceKind::Mean, x, {1, 2}, true);
  if (h % height == 0 && w % width == 0)
    return avgPool(l, x, getParts(h, height), getParts(w, width), PoolCount::Window);
  Type element = getElement(x);
  if (h != height)
    x = applyAlong(l, x, adaptiveMatrix(l, h, height, element), 1);
  if (w != width)
    x = applyAlong(l, x, adaptiveMatrix(l, w, width, element), 2);
  return x;
}

/// The largest of `out` windows along H (1) or W (2) of [N, H, W, C]. Window i begins at
/// floor(i in / out) and ends at ceil((i + 1) in / out), so windows repeat after
/// in / gcd(in, out) elements: each of those before that is one pooling of all that
/// follow it at this distance.
static Value adaptiveMaxAlong(Lowering &l, Value x, int64_t dim, int64_t out) {
  const int64_t in = getShape(x)[dim], periods = std::gcd(in, out);
  if (in == out)
    return x;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < out / periods; ++i) {
    int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    PoolWindows windows;
    windows.kernel = end - begin;
    windows.stride = in / periods;
    windows.count = periods;
    Value part = l.slice(x, dim, begin, (periods - 1) * windows.stride + windows.kernel);
    PoolWindows others = getParts(getShape(x)[3 - dim], getShape(x)[3 - dim]);
    part = maxPool(l, part, dim == 1 ? windows : others, dim == 1 ? others : windows);
    Shape shape(getShape(part));
    shape.insert(shape.begin() + dim + 1, 1);
    parts.push_back(l.reshape(part, shape));
  }
  Shape shape(getShape(x));
  shape[dim] = out;
  return l.reshape(l.concat(parts, dim + 1), shape);
}

Value mpt::torch::adaptiveMaxPool(Lowering &l, Value x, int64_t height, int64_t width) {
  int64_t h = getShape(x)[1], w = getShape(x)[2];
  if (!l.require(!ShapedType::isDynamic(h) && !ShapedType::isDynamic(w) && h > 0 &&
                     w > 0 && height > 0 && width > 0,
                 "an image of open size"))
    return x;
  if (h % height == 0 && w % width == 0)
    return maxPool(l, x, getParts(h, height), getParts(w, width));
  // W first: the first row with the largest element has the gradient, as in torch.
  return adaptiveMaxAlong(l, adaptiveMaxAlong(l, x, 2, width), 1, height);
}

static std::function<void(Lowering &)>
adaptivePool(bool oneD, Value (*pool)(Lowering &, Value, int64_t, int64_t)) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    ArrayRef<int64_t> shape = l.resultType().getShape();
    if (l.refusal.empty() &&
        l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                  "indices of the largest elements"))
      setImage(l, pool(l, x, oneD ? 1 : shape[shape.size() - 2], shape.back()), oneD);
  };
}

static std::function<void(Lowering &)> maxPoolWithIndices(bool oneD) {
  return [=](Lowering &l) {
    if (l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                  "indices of the largest elements"))
      convertMaxPool(oneD)(l);
  };
}

//===----------------------------------------------------------------------===//
// Patches and grids
//===----------------------------------------------------------------------===//

namespace {
struct Patches {
  Shape kernel, dilation, padding, stride, count{0, 0};
};
} // namespace

static std::optional<Patches> readPatches(Lowering &l, unsigned first, int64_t h,
                                          int64_t w) {
  Patches p{l.integers(first, 2, 1), l.integers(first + 1, 2, 1),
            l.integers(first + 2, 2, 0), l.integers(first + 3, 2, 1)};
  if (!l.refusal.empty())
    return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    int64_t size = i ? w : h;
    if (!l.require(p.kernel[i] >= 1 && p.dilation[i] >= 1 && p.stride[i] >= 1 &&
                       p.padding[i] >= 0 &&
                       size + 2 * p.padding[i] > p.dilation[i] * (p.kernel[i] - 1),
                   "a window, stride or padding out of range"))
      return std::nullopt;
    p.count[i] = windowCount(size, p.padding[i], p.padding[i], p.kernel[i], p.stride[i],
                             p.dilation[i]);
  }
  return p;
}

/// F.unfold: [N, C, H, W] to [N, C KH KW, L].
static void imageToColumns(Lowering &l) {
  Value x = l.get(0);
  if (!l.require(getRank(x) == 4 && getType(x).hasStaticShape(),
                 "expected a tensor of 4 known dimensions"))
    return;
  int64_t n = getShape(x)[0], c = getShape(x)[1];
  std::optional<Patches> p = readPatches(l, 1, getShape(x)[2], getShape(x)[3]);
  if (!p)
    return;
  Shape pad{0, 0, p->padding[0], p->padding[1]};
  if (p->padding != Shape({0, 0}))
    x = l.pad(x, pad, pad, 0);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < p->kernel[0]; ++i)
    for (int64_t j = 0; j < p->kernel[1]; ++j) {
      Value part = l.slice(x, 2, i * p->dilation[0], p->count[0], p->stride[0]);
      part = l.slice(part, 3, j * p->dilation[1], p->count[1], p->stride[1]);
      parts.push_back(l.reshape(part, {n, c, 1, p->count[0] * p->count[1]}));
    }
  l.set(l.reshape(l.concat(parts, 2), l.resultType().getShape()));
}

/// F.fold: [N, C KH KW, L] to [N, C, H, W], overlaps added.
static void columnsToImage(Lowering &l) {
  Value x = l.get(0);
  Shape size = l.integers(1, 2, 1);
  if (!l.require(getRank(x) == 3 && getType(x).hasStaticShape(),
                 "expected a tensor of 3 known dimensions"))
    return;
  std::optional<Patches> p = readPatches(l, 2, size[0], size[1]);
  if (!p)
    return;
  int64_t places = p->kernel[0] * p->kernel[1], n = getShape(x)[0],
          c = getShape(x)[1] / places;
  if (!l.require(getShape(x)[1] == c * places &&
                     getShape(x)[2] == p->count[0] * p->count[1],
                 "columns that do not fit"))
    return;
  x = l.reshape(x, {n, c, places, p->count[0], p->count[1]});
  Value sum;
  for (int64_t i = 0; i < places; ++i) {
    Value part = l.reshape(l.slice(x, 2, i, 1), {n, c, p->count[0], p->count[1]});
    Shape low{0, 0, 0, 0}, high{0, 0, 0, 0}, between{0, 0, 0, 0};
    for (int d = 0; d < 2; ++d) {
      int64_t k = d ? i % p->kernel[1] : i / p->kernel[1];
      between[2 + d] = p->stride[d] - 1;
      low[2 + d] = k * p->dilation[d];
      high[2 + d] = size[d] + 2 * p->padding[d] - low[2 + d] -
                    ((p->count[d] - 1) * p->stride[d] + 1);
    }
    part = l.pad(part, low, high, 0, between);
    sum = sum ? l.add(sum, part) : part;
  }
  for (int d = 0; d < 2; ++d)
    sum = l.slice(sum, 2 + d, p->padding[d], size[d]);
  l.set(sum);
}

/// F.grid_sample of images: the four elements around each point of the grid, weighted
/// (mode 0), or the nearest (1); outside is 0 (padding 0) or the border (1).
static void gridSample(Lowering &l) {
  Value x = l.getChannelsLast(0), grid = l.get(1);
  int64_t mode = l.integer(2), padding = l.integer(3);
  bool corners = l.flag(4);
  if (!l.refusal.empty() ||
      !l.require(getRank(grid) == 4 && getShape(grid)[3] == 2 &&
                     getType(x).hasStaticShape() && getType(grid).hasStaticShape(),
                 "a grid of points of an image, of known shape") ||
      !l.require(mode <= 1 && padding <= 1, "bicubic mode, or padding by reflection"))
    return;
  Shape shape(getShape(x));
  int64_t n = shape[0], sizes[2] = {shape[2], shape[1]}, c = shape[3];
  int64_t oh = getShape(grid)[1], ow = getShape(grid)[2];
  Type i64 = l.builder.getI64Type(), element = getElement(grid);
  Value table = l.reshape(x, {n * shape[1] * shape[2], c});
  Value at[2], low[2];
  for (int i = 0; i < 2; ++i) {
    Value g = l.reshape(l.slice(grid, 3, i, 1), {n, oh, ow});
    double size = static_cast<double>(sizes[i]);
    at[i] = corners ? l.mul(l.add(g, 1.0), (size - 1) / 2)
                    : l.add(l.mul(l.add(g, 1.0), size / 2), -0.5);
    if (padding == 1) {
      at[i] = l.where(l.compare(ComparePredicate::GE, at[i], size - 1),
                      l.number(at[i], size - 1), at[i]);
      at[i] =
          l.where(l.compare(ComparePredicate::LE, at[i], 0.0), l.number(at[i], 0), at[i]);
    }
    // Points far outside, and NaN, see nothing.
    Value near = l.binary<AndOp>(l.compare(ComparePredicate::GE, at[i], -2.0),
                                 l.compare(ComparePredicate::LE, at[i], size + 1));
    at[i] = l.where(near, at[i], l.number(at[i], -2));
    Value still = l.unary<StopGradientOp>(at[i]);
    if (mode == 1) { // ties to even
      Value below = l.unary<FloorOp>(still), rest = l.sub(still, below);
      Value half = l.unary<FloorOp>(l.mul(below, 0.5));
      Value odd = l.compare(ComparePredicate::GT, l.sub(below, l.mul(half, 2.0)), 0.5);
      Value up = l.where(odd, l.compare(ComparePredicate::GE, rest, 0.5),
                         l.compare(ComparePredicate::GT, rest, 0.5));
      low[i] = l.where(up, l.add(below, 1.0), below);
    } else {
      low[i] = l.unary<FloorOp>(still);
    }
  }
  Value first =
      l.mul(l.iota({n, 1, 1}, 0, i64), static_cast<double>(shape[1] * shape[2]));
  Value sum;
  for (int corner = 0; corner < (mode == 1 ? 1 : 4); ++corner) {
    Value weight, inside, index[2];
    for (int i = 0; i < 2; ++i) {
      double offset = (corner >> i) & 1;
      Value place = l.add(low[i], offset);
      if (mode == 0) {
        Value distance = l.sub(at[i], low[i]);
        Value part = offset ? distance : l.sub(l.number(distance, 1), distance);
        weight = weight ? l.mul(weight, part) : part;
      }
      double last = static_cast<double>(sizes[i] - 1);
      Value in = l.binary<AndOp>(l.compare(ComparePredicate::GE, place, 0.0),
                                 l.compare(ComparePredicate::LE, place, last));
      inside = inside ? l.binary<AndOp>(inside, in) : in;
      index[i] = l.cast(l.where(in, place, l.number(place, 0)), i64);
    }
    Value position =
        l.add(l.add(l.mul(index[1], static_cast<double>(sizes[0])), index[0]), first);
    Value rows = l.gather(table, position); // [N, OH, OW, C]
    Value scale = l.cast(inside, element);
    if (weight)
      scale = l.where(inside, weight, l.number(weight, 0));
    rows = l.mul(rows, l.cast(l.reshape(scale, {n, oh, ow, 1}), getElement(rows)));
    sum = sum ? l.add(sum, rows) : rows;
  }
  l.setChannelsLast(sum);
}

/// The points [N, (D,) H, W, 2 or 3] to which the matrices theta [N, 2, 3] or [N, 3, 4]
/// take those of a regular grid over [-1, 1].
static void affineGrid(Lowering &l) {
  Value theta = l.get(0);
  Shape size = l.integers(1);
  bool corners = l.flag(2);
  int64_t rank = static_cast<int64_t>(size.size()) - 2;
  if (!l.require((rank == 2 || rank == 3) && getType(theta).hasStaticShape() &&
                     !llvm::is_contained(size, ShapedType::kDynamic) &&
                     getShape(theta) == ArrayRef<int64_t>({size[0], rank, rank + 1}),
                 "matrices of 2 x 3 or 3 x 4 for images of known shape"))
    return;
  Shape one(rank + 1, 1);
  auto entry = [&](int64_t row, int64_t column) {
    Shape shape(one);
    shape[0] = size[0];
    return l.reshape(l.slice(l.slice(theta, 1, row, 1), 2, column, 1), shape);
  };
  SmallVector<Value> points; // x, y(, z): the last dimension of the image comes first
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t dim = rank - axis, count = size[dim + 1];
    SmallVector<double> places;
    for (int64_t i = 0; i < count; ++i) {
      double place = count > 1 ? 2.0 * i / (count - 1) - 1 : 0;
      places.push_back(corners ? place : place * (count - 1) / count);
    }
    Shape shape(one);
    shape[dim] = count;
    points.push_back(l.floats(places, getElement(theta), shape));
  }
  Shape column(size);
  column.erase(column.begin() + 1);
  Shape full(column);
  column.push_back(1);
  SmallVector<Value> results;
  for (int64_t row = 0; row < rank; ++row) {
    Value sum = entry(row, rank);
    for (int64_t axis = 0; axis < rank; ++axis)
      sum = l.add(sum, l.mul(entry(row, axis), points[axis]));
    results.push_back(l.reshape(l.broadcast(sum, full), column));
  }
  l.set(l.concat(results, rank + 1));
}

void mpt::torch::populateWindows(Table &t) {
  t.add({"conv1d"}, convolution(true, false));
  t.add({"conv1d.padding"}, convolution(true, true));
  t.add({"conv2d"}, convolution(false, false));
  t.add({"conv2d.padding"}, convolution(false, true));
  t.add({"convolution"}, anyConvolution);
  t.add({"convolution_backward"}, convolutionGradients);
  t.add({"conv_transpose1d"}, convTranspose(true));
  t.add({"conv_transpose2d.input"}, convTranspose(false));
  t.add({"max_pool1d"}, convertMaxPool(true));
  t.add({"max_pool2d"}, convertMaxPool(false));
  t.add({"max_pool1d_with_indices"}, maxPoolWithIndices(true));
  t.add({"max_pool2d_with_indices"}, maxPoolWithIndices(false));
  t.add({"avg_pool1d"}, convertAvgPool(true));
  t.add({"avg_pool2d"}, convertAvgPool(false));
  t.add({"adaptive_avg_pool1d"}, adaptivePool(true, adaptiveAvgPool));
  t.add({"adaptive_avg_pool2d", "_adaptive_avg_pool2d"},
        adaptivePool(false, adaptiveAvgPool));
  t.add({"adaptive_max_pool1d"}, adaptivePool(true, adaptiveMaxPool));
  t.add({"adaptive_max_pool2d"}, adaptivePool(false, adaptiveMaxPool));
  t.add({"im2col"}, imageToColumns);
  t.add({"col2im"}, columnsToImage);
  t.add({"grid_sampler", "grid_sampler_2d"}, gridSample);
  t.add({"affine_grid_generator"}, affineGrid);
}
