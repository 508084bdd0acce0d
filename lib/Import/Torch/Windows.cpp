//===- Windows.cpp - Torch's convolutions, pooling and resizing -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

/// A convolution of any of torch's forms, x [N, H, W, C] and the filter [KH, KW, I, O].
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
                     xs[3] == fs[2] * w.groups,
                 "an image of open size, or a filter that does not fit"))
    return x;
  Shape shape{xs[0], 0, 0, fs[3]};
  for (int i = 0; i < 2; ++i) {
    if (!l.require(w.stride[i] >= 1 && w.dilation[i] >= 1 && w.low[i] >= 0 &&
                       w.high[i] >= 0,
                   "a stride, dilation or padding out of range"))
      return x;
    shape[1 + i] =
        windowCount(xs[1 + i], w.low[i], w.high[i], fs[i], w.stride[i], w.dilation[i]);
  }
  return Conv2DOp::create(l.builder, l.loc, getType(x).clone(shape), x, filter, bias,
                          w.stride, w.getPadding(), w.dilation, w.groups, Epilogue::None,
                          TypeAttr());
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

/// The filter [O, I, KH, KW] as [KH, KW, I, O].
static Value getFilter(Lowering &l, Value filter, bool oneD) {
  if (oneD) {
    ArrayRef<int64_t> s = getShape(filter);
    filter = l.reshape(filter, {s[0], s[1], 1, s[2]});
  }
  return l.transpose(filter, {2, 3, 1, 0});
}

static void transposedConvolution(Lowering &l, bool oneD, Value bias, Window w,
                                  const Shape &outputPadding) {
  Value x = getImage(l, oneD), filter = l.get(1);
  if (!l.refusal.empty())
    return;
  if (oneD) {
    ArrayRef<int64_t> s = getShape(filter);
    filter = l.reshape(filter, {s[0], s[1], 1, s[2]});
  }
  // [I, O / groups, KH, KW], flipped, as [KH, KW, I / groups, O].
  ArrayRef<int64_t> fs = getShape(filter);
  int64_t inputs = fs[0], outputs = fs[1], kh = fs[2], kw = fs[3], g = w.groups;
  if (!l.require(g >= 1 && inputs % g == 0, "groups that do not divide the channels"))
    return;
  filter = l.reverse(l.reverse(filter, 2), 3);
  filter =
      l.transpose(l.reshape(filter, {g, inputs / g, outputs, kh, kw}), {3, 4, 1, 0, 2});
  filter = l.reshape(filter, {kh, kw, inputs / g, g * outputs});
  Shape interior{0, 0, 0, 0}, none{0, 0, 0, 0};
  for (int i = 0; i < 2; ++i) {
    int64_t reach = w.dilation[i] * ((i ? kw : kh) - 1);
    int64_t padding = w.low[i];
    interior[1 + i] = w.stride[i] - 1;
    w.low[i] = reach - padding;
    w.high[i] = reach - padding + outputPadding[i];
    if (!l.require(w.low[i] >= 0 && w.high[i] >= 0 && w.stride[i] >= 1,
                   "a transposed convolution padded by more than its filter reaches"))
      return;
  }
  w.stride = {1, 1};
  if (interior != none)
    x = l.pad(x, none, none, 0, interior);
  setImage(l, convolve(l, x, filter, bias, w), oneD);
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
        int64_t total = w.dilation[i] * (getShape(filter)[i] - 1);
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

/// Reads kernel, stride and padding from operands 1 to 3. With `ceil`, windows that begin
/// in the image or its padding before count though they end outside.
static std::optional<Window> readPool(Lowering &l, Value x, bool oneD, bool ceil,
                                      Shape &kernel, Shape &result) {
  Window w;
  kernel = readPair(l, 1, oneD, 1);
  w.stride = l.integers(2).empty() ? kernel : readPair(l, 2, oneD, 1);
  w.low = w.high = readPair(l, 3, oneD, 0);
  ArrayRef<int64_t> xs = getShape(x);
  result = Shape(xs);
  for (int i = 0; i < 2; ++i) {
    int64_t size = xs[1 + i];
    if (!l.require(!ShapedType::isDynamic(size) && kernel[i] >= 1 && w.stride[i] >= 1 &&
                       w.low[i] >= 0 && 2 * w.low[i] <= kernel[i] &&
                       size + 2 * w.low[i] >= kernel[i],
                   "a window, stride or padding out of range"))
      return std::nullopt;
    int64_t count = windowCount(size, w.low[i], w.high[i], kernel[i], w.stride[i], 1);
    int64_t rest = (size + 2 * w.low[i] - kernel[i]) % w.stride[i];
    // One more window, if it begins in the image or the padding before it.
    if (ceil && rest != 0 && count * w.stride[i] < size + w.low[i]) {
      w.high[i] += w.stride[i] - rest;
      ++count;
    }
    result[1 + i] = count;
  }
  return w;
}

static std::function<void(Lowering &)> maxPool(bool oneD) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    Shape kernel, result;
    if (!l.require(readPair(l, 4, oneD, 1) == Shape({1, 1}), "a dilated window"))
      return;
    std::optional<Window> w = readPool(l, x, oneD, l.flag(5), kernel, result);
    if (w)
      setImage(l,
               MaxPoolOp::create(l.builder, l.loc, getType(x).clone(result), x, kernel,
                                 w->stride, w->getPadding()),
               oneD);
  };
}

static std::function<void(Lowering &)> avgPool(bool oneD) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    Shape kernel, result, floored;
    bool include = l.flag(5, true);
    std::optional<Window> w = readPool(l, x, oneD, l.flag(4), kernel, result);
    if (!w || !readPool(l, x, oneD, false, kernel, floored) ||
        !l.require(result == floored || !include || w->low == Shape({0, 0}),
                   "ceil_mode that counts padding"))
      return;
    // Without padding before, what ceil_mode adds is never counted.
    bool counted = include && result == floored;
    double factor = 1;
    if (!l.isNone(6)) {
      factor = static_cast<double>(kernel[0] * kernel[1]) / l.number(6, 1);
      if (!l.require(counted || w->high == Shape({0, 0}),
                     "divisor_override of this form"))
        return;
      counted = true;
    }
    Value y = AvgPoolOp::create(l.builder, l.loc, getType(x).clone(result), x, kernel,
                                w->stride, w->getPadding(), counted);
    setImage(l, l.mul(y, factor), oneD);
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

static std::function<void(Lowering &)> adaptiveAvgPool(bool oneD) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    Shape shape = oneD ? Shape{1, l.resultType().getShape().back()}
                       : Shape(l.resultType().getShape().take_back(2));
    int64_t h = getShape(x)[1], w = getShape(x)[2];
    if (!l.refusal.empty() ||
        !l.require(!ShapedType::isDynamic(h) && !ShapedType::isDynamic(w) && h > 0 &&
                       w > 0 && shape.size() == 2 && shape[0] > 0 && shape[1] > 0,
                   "an image of open size"))
      return;
    Value y = x;
    if (shape == Shape({1, 1})) {
      y = l.reduce(ReduceKind::Mean, x, {1, 2}, true);
    } else if (h % shape[0] == 0 && w % shape[1] == 0) {
      Shape window{h / shape[0], w / shape[1]}, result(getShape(x));
      result[1] = shape[0];
      result[2] = shape[1];
      if (window != Shape({1, 1}))
        y = AvgPoolOp::create(l.builder, l.loc, getType(x).clone(result), x, window,
                              window);
    } else {
      Type element = getElement(x);
      y = applyAlong(l, y, adaptiveMatrix(l, h, shape[0], element), 1);
      y = applyAlong(l, y, adaptiveMatrix(l, w, shape[1], element), 2);
    }
    setImage(l, y, oneD);
  };
}

static std::function<void(Lowering &)> adaptiveMaxPool(bool oneD) {
  return [=](Lowering &l) {
    Value x = getImage(l, oneD);
    RankedTensorType type = l.resultType();
    Shape shape =
        oneD ? Shape{1, type.getShape().back()} : Shape(type.getShape().take_back(2));
    int64_t h = getShape(x)[1], w = getShape(x)[2];
    if (!l.refusal.empty() ||
        !l.require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0 &&
                       h % shape[0] == 0 && w % shape[1] == 0,
                   "sizes that do not divide the image") ||
        !l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                   "indices of the largest elements"))
      return;
    Shape window{h / shape[0], w / shape[1]}, result(getShape(x));
    result[1] = shape[0];
    result[2] = shape[1];
    setImage(
        l,
        MaxPoolOp::create(l.builder, l.loc, getType(x).clone(result), x, window, window),
        oneD);
  };
}

static std::function<void(Lowering &)> maxPoolWithIndices(bool oneD) {
  return [=](Lowering &l) {
    if (l.require(l.op->getNumResults() < 2 || l.op->getResult(1).use_empty(),
                  "indices of the largest elements"))
      maxPool(oneD)(l);
  };
}

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

/// The matrix of bilinear interpolation.
static Value linearMatrix(Lowering &l, int64_t in, int64_t out, bool corners,
                          double scale, Type element) {
  SmallVector<double> values(in * out, 0);
  double step = corners     ? (out > 1 ? static_cast<double>(in - 1) / (out - 1) : 0)
                : scale > 0 ? 1 / scale
                            : static_cast<double>(in) / out;
  for (int64_t o = 0; o < out; ++o) {
    double at = corners ? o * step : std::max(0.0, (o + 0.5) * step - 0.5);
    int64_t first = std::min<int64_t>(static_cast<int64_t>(at), in - 1);
    int64_t second = std::min(first + 1, in - 1);
    double weight = std::clamp(at - first, 0.0, 1.0);
    values[o * in + first] += 1 - weight;
    values[o * in + second] += weight;
  }
  return l.floats(values, element, {out, in});
}

/// `scales`: the operand of one list of factors, or of the first of two numbers.
static void upsampleBilinear(Lowering &l, bool listed) {
  Value x = l.getChannelsLast(0);
  ArrayRef<int64_t> shape = l.resultType().getShape();
  if (!l.refusal.empty())
    return;
  double factors[2] = {0, 0};
  if (listed) {
    if (!l.isNone(3) && l.isNone(1))
      if (Operation *list = l.op->getOperand(3).getDefiningOp())
        for (auto [i, item] : llvm::enumerate(list->getOperands().take_front(2)))
          if (Operation *constant = item.getDefiningOp())
            if (auto value = dyn_cast_or_null<FloatAttr>(getConstantValue(constant)))
              factors[i] = value.getValueAsDouble();
  } else {
    factors[0] = l.number(3, 0);
    factors[1] = l.number(4, 0);
  }
  bool corners = l.flag(2);
  Type element = getElement(x);
  for (int i = 0; i < 2; ++i) {
    int64_t in = getShape(x)[1 + i], out = shape[2 + i];
    if (!l.require(in > 0 && out > 0, "an image of open size"))
      return;
    if (in != out || factors[i] > 0)
      x = applyAlong(l, x, linearMatrix(l, in, out, corners, factors[i], element), 1 + i);
  }
  l.setChannelsLast(x);
}

static void upsampleNearest(Lowering &l) {
  Value x = l.getChannelsLast(0);
  ArrayRef<int64_t> shape = l.resultType().getShape(), s = getShape(x);
  if (!l.refusal.empty())
    return;
  int64_t n = s[0], h = s[1], w = s[2], c = s[3];
  if (!l.require(h > 0 && w > 0 && shape[2] % h == 0 && shape[3] % w == 0,
                 "a factor that is no integer"))
    return;
  int64_t fh = shape[2] / h, fw = shape[3] / w;
  Value wide = l.broadcast(l.reshape(x, {n, h, 1, w, 1, c}), {n, h, fh, w, fw, c});
  l.setChannelsLast(l.reshape(wide, {n, h * fh, w * fw, c}));
}

void mpt::torch::populateWindows(Table &t) {
  t.add({"conv1d"}, convolution(true, false));
  t.add({"conv1d.padding"}, convolution(true, true));
  t.add({"conv2d"}, convolution(false, false));
  t.add({"conv2d.padding"}, convolution(false, true));
  t.add({"convolution"}, anyConvolution);
  t.add({"conv_transpose1d"}, convTranspose(true));
  t.add({"conv_transpose2d.input"}, convTranspose(false));
  t.add({"max_pool1d"}, maxPool(true));
  t.add({"max_pool2d"}, maxPool(false));
  t.add({"max_pool1d_with_indices"}, maxPoolWithIndices(true));
  t.add({"max_pool2d_with_indices"}, maxPoolWithIndices(false));
  t.add({"avg_pool1d"}, avgPool(true));
  t.add({"avg_pool2d"}, avgPool(false));
  t.add({"adaptive_avg_pool1d"}, adaptiveAvgPool(true));
  t.add({"adaptive_avg_pool2d", "_adaptive_avg_pool2d"}, adaptiveAvgPool(false));
  t.add({"adaptive_max_pool1d"}, adaptiveMaxPool(true));
  t.add({"adaptive_max_pool2d"}, adaptiveMaxPool(false));
  t.add({"upsample_nearest2d", "upsample_nearest2d.vec"}, upsampleNearest);
  t.add({"upsample_bilinear2d"}, [](Lowering &l) { upsampleBilinear(l, false); });
  t.add({"upsample_bilinear2d.vec"}, [](Lowering &l) { upsampleBilinear(l, true); });
}
