//===- Shapes.cpp - Torch's views, copies and constant tensors -*- C++ -*-===//
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

/// The dimension of [N, H, W, C] that is dimension `dim` of [N, C, H, W].
static int64_t storedDim(int64_t dim) { return dim == 0 ? 0 : dim == 1 ? 3 : dim - 1; }

/// Any change of shape that keeps the elements' order: the result's type says it all.
static void viewAs(Lowering &l) {
  RankedTensorType type = l.resultType();
  Tensor stored = l.getStored(0);
  ArrayRef<int64_t> shape = getShape(stored.value);
  // [N, 1, 1, C] has the order of [N, C, 1, 1].
  bool pixel = stored.channelsLast && shape[1] == 1 && shape[2] == 1;
  l.set(l.reshape(pixel ? stored.value : l.get(0), type.getShape()));
}

static void same(Lowering &l) { l.set(l.get(0)); }

static void permute(Lowering &l, Shape permutation) {
  Tensor stored = l.getStored(0);
  int64_t rank = getRank(stored.value);
  Shape sorted(permutation);
  llvm::sort(sorted);
  if (!l.require(llvm::equal(sorted, llvm::seq<int64_t>(0, rank)),
                 "dimensions that are not a permutation"))
    return;
  if (stored.channelsLast)
    for (int64_t &dim : permutation)
      dim = storedDim(dim);
  if (permutation == Shape({0, 3, 1, 2}))
    return l.setChannelsLast(stored.value);
  l.set(l.transpose(stored.value, permutation));
}

static void swapDims(Lowering &l, int64_t a, int64_t b) {
  Shape permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, getRank(l.getStored(0).value)));
  if (!permutation.empty())
    std::swap(permutation[a], permutation[b]);
  permute(l, permutation);
}

static void moveDims(Lowering &l) {
  int64_t rank = getRank(l.getStored(0).value);
  Shape from = l.integers(1), to = l.integers(2);
  Shape permutation(rank, -1);
  SmallVector<bool> used(rank, false);
  if (!l.require(from.size() == to.size(), "dimensions that are not a permutation"))
    return;
  for (auto [f, t] : llvm::zip_equal(from, to)) {
    f += f < 0 ? rank : 0;
    t += t < 0 ? rank : 0;
    if (!l.require(f >= 0 && f < rank && t >= 0 && t < rank, "a dimension out of range"))
      return;
    permutation[t] = f;
    used[f] = true;
  }
  int64_t next = 0;
  for (int64_t &dim : permutation)
    if (dim < 0) {
      while (next < rank && used[next])
        ++next;
      dim = next++;
    }
  permute(l, permutation);
}

static void expand(Lowering &l) {
  l.set(l.broadcast(l.get(0), l.resultType().getShape()));
}

/// Copies of the whole tensor along each dimension.
static void repeat(Lowering &l) {
  Value x = l.get(0);
  Shape counts = l.integers(1);
  while (static_cast<int64_t>(counts.size()) < getRank(x))
    counts.insert(counts.begin(), 1); // tile
  Shape shape(counts.size() - getRank(x), 1), wide, tall;
  llvm::append_range(shape, getShape(x));
  for (auto [count, size] : llvm::zip_equal(counts, shape)) {
    llvm::append_range(wide, Shape({1, size}));
    llvm::append_range(tall, Shape({count, size}));
  }
  if (llvm::is_contained(tall, ShapedType::kDynamic) ||
      llvm::any_of(counts, [](int64_t c) { return c < 0; }))
    return l.refuse("copies of open number or shape");
  l.set(l.reshape(l.broadcast(l.reshape(x, wide), tall), l.resultType().getShape()));
}

static void repeatInterleave(Lowering &l) {
  Value x = l.get(0);
  int64_t count = l.integer(1);
  Shape shape;
  int64_t dim = 0;
  if (l.isNone(2))
    x = l.reshape(x, {getType(x).getNumElements()});
  else
    dim = l.dimension(2, getRank(x));
  shape = Shape(getShape(x));
  Shape one(shape), many(shape);
  one.insert(one.begin() + dim + 1, 1);
  many.insert(many.begin() + dim + 1, count);
  l.set(l.reshape(l.broadcast(l.reshape(x, one), many), l.resultType().getShape()));
}

/// Part [begin, end) of a dimension, where both may be negative or past the end.
static void sliceOf(Lowering &l) {
  Tensor stored = l.getStored(0);
  int64_t rank = getRank(stored.value), dim = l.dimension(1, rank);
  if (!l.require(rank > 0, "a part of a scalar"))
    return;
  int64_t at = stored.channelsLast ? storedDim(dim) : dim;
  int64_t size = getShape(stored.value)[at], step = l.integer(4, 1);
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t begin = l.integer(2, 0), end = l.integer(3, none);
  l.channelsLast = stored.channelsLast;
  if (ShapedType::isDynamic(size) && begin == 0 && end == none && step == 1)
    return l.set(stored.value);
  if (!l.require(!ShapedType::isDynamic(size), "a part of an open dimension") ||
      !l.require(step >= 1, "a step below 1"))
    return;
  auto clip = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  begin = clip(begin);
  end = std::max(begin, clip(end));
  l.set(l.slice(stored.value, at, begin, (end - begin + step - 1) / step, step));
}

static void narrow(Lowering &l) {
  Value x = l.get(0);
  int64_t dim = l.dimension(1, getRank(x)), begin = l.integer(2);
  if (!l.require(getRank(x) > 0, "a part of a scalar"))
    return;
  begin += begin < 0 ? getShape(x)[dim] : 0;
  l.set(l.slice(x, dim, begin, l.integer(3)));
}

/// x without dimension `dim`, at `index` of it.
static Value at(Lowering &l, Value x, int64_t dim, int64_t index) {
  index += index < 0 ? getShape(x)[dim] : 0;
  Value one = l.slice(x, dim, index, 1);
  Shape shape(getShape(x));
  shape.erase(shape.begin() + dim);
  return l.refusal.empty() ? l.reshape(one, shape) : x;
}

static void selectOf(Lowering &l) {
  Value x = l.get(0);
  if (l.require(getRank(x) > 0, "a part of a scalar"))
    l.set(at(l, x, l.dimension(1, getRank(x)), l.integer(2)));
}

/// Parts of `sizes` along `dim`.
static void splitInto(Lowering &l, int64_t dim, ArrayRef<int64_t> sizes) {
  Value x = l.get(0);
  SmallVector<Value> parts;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    parts.push_back(l.slice(x, dim, begin, size));
    begin += size;
  }
  l.setList(parts);
}

static int64_t splitDim(Lowering &l, unsigned operand, int64_t &size) {
  Value x = l.get(0);
  int64_t dim = l.isNone(operand) ? 0 : l.dimension(operand, getRank(x));
  if (!l.require(getRank(x) > 0 && !ShapedType::isDynamic(getShape(x)[dim]),
                 "parts of an open dimension"))
    return size = 0;
  size = getShape(x)[dim];
  return dim;
}

/// Parts of `each` elements, the last one shorter.
static Shape cut(int64_t size, int64_t each) {
  Shape sizes;
  for (int64_t begin = 0; begin < size; begin += each)
    sizes.push_back(std::min(each, size - begin));
  if (sizes.empty())
    sizes.push_back(0);
  return sizes;
}

static void join(Lowering &l, SmallVector<Value> values, int64_t dim) {
  Type element = l.resultElement();
  for (Value &value : values)
    value = l.cast(value, element);
  // Truth values are joined as numbers.
  if (element.isInteger(1))
    for (Value &value : values)
      value = l.cast(value, l.builder.getI8Type());
  if (values.empty())
    return l.refuse("an empty list");
  l.set(l.cast(l.concat(values, dim), element));
}

static void cat(Lowering &l) {
  SmallVector<Tensor> list = l.getList(0);
  if (!l.refusal.empty() || !l.require(!list.empty(), "an empty list"))
    return;
  for (Tensor tensor : list)
    if (!l.require(bool(tensor.value), "a list with absent tensors"))
      return;
  // torch skips tensors [0], whatever the rank of the others.
  llvm::erase_if(list, [&](Tensor tensor) {
    return list.size() > 1 && getShape(tensor.value) == ArrayRef<int64_t>({0});
  });
  int64_t rank = getRank(list[0].value), dim = l.dimension(1, rank);
  if (rank == 4 &&
      llvm::all_of(list, [](Tensor tensor) { return tensor.channelsLast; })) {
    l.channelsLast = true;
    SmallVector<Value> values;
    for (Tensor tensor : list)
      values.push_back(tensor.value);
    return join(l, values, storedDim(dim));
  }
  SmallVector<Value> values;
  for (Value value : l.getPlainList(0))
    if (getRank(value) == rank)
      values.push_back(value);
  join(l, values, dim);
}

static void stack(Lowering &l) {
  SmallVector<Value> values = l.getPlainList(0);
  if (!l.refusal.empty() || !l.require(!values.empty(), "an empty list"))
    return;
  int64_t rank = getRank(values[0]) + 1, dim = l.dimension(1, rank);
  for (Value &value : values) {
    Shape shape(getShape(value));
    shape.insert(shape.begin() + dim, 1);
    value = l.reshape(value, shape);
  }
  join(l, values, dim);
}

static void flip(Lowering &l) {
  Value x = l.get(0);
  Shape dims = l.integers(1);
  for (int64_t dim : dims) {
    dim += dim < 0 ? getRank(x) : 0;
    if (!l.require(dim >= 0 && dim < getRank(x), "a dimension out of range"))
      return;
    x = l.reverse(x, dim);
  }
  l.set(x);
}

static void roll(Lowering &l) {
  Value x = l.get(0);
  Shape shifts = l.integers(1), dims = l.integers(2), shape(getShape(x));
  if (dims.empty()) {
    x = l.reshape(x, {getType(x).getNumElements()});
    dims = {0};
  }
  if (!l.require(shifts.size() == dims.size(), "a shift for each dimension"))
    return;
  for (auto [shift, dim] : llvm::zip_equal(shifts, dims)) {
    dim += dim < 0 ? getRank(x) : 0;
    if (!l.require(dim >= 0 && dim < getRank(x), "a dimension out of range"))
      return;
    int64_t size = getShape(x)[dim];
    int64_t by = size ? ((shift % size) + size) % size : 0;
    if (by == 0)
      continue;
    x = l.concat({l.slice(x, dim, size - by, by), l.slice(x, dim, 0, size - by)}, dim);
  }
  l.set(l.reshape(x, shape));
}

/// Padding as torch lists it: (low, high) of the last dimension first.
static void padBy(Lowering &l, StringRef mode, double value) {
  Tensor stored = l.getStored(0);
  Value x = stored.value;
  int64_t rank = getRank(x);
  Shape pads = l.integers(1);
  if (!l.require(pads.size() % 2 == 0 && static_cast<int64_t>(pads.size()) <= 2 * rank &&
                     !llvm::is_contained(pads, ShapedType::kDynamic),
                 "padding of these dimensions"))
    return;
  l.channelsLast = stored.channelsLast;
  Shape low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    int64_t dim = rank - 1 - i;
    dim = stored.channelsLast ? storedDim(dim) : dim;
    low[dim] = pads[2 * i];
    high[dim] = pads[2 * i + 1];
    // Negative padding cuts off.
    int64_t before = std::max<int64_t>(-low[dim], 0),
            after = std::max<int64_t>(-high[dim], 0);
    if (before || after) {
      int64_t size = getShape(x)[dim] - before - after;
      if (!l.require(size >= 0, "negative padding of more than there is"))
        return;
      x = l.slice(x, dim, before, size);
      low[dim] += before;
      high[dim] += after;
    }
  }
  if (mode == "constant") {
    if (getElement(x).isInteger(1)) {
      Value wide = l.pad(l.cast(x, l.builder.getI8Type()), low, high, value != 0);
      return l.set(l.cast(wide, l.builder.getI1Type()));
    }
    return l.set(l.pad(x, low, high, value));
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = getShape(x)[dim];
    SmallVector<Value> parts;
    if (low[dim] == 0 && high[dim] == 0)
      continue;
    int64_t limit = mode == "reflect" ? size - 1 : mode == "circular" ? size : 1024;
    if (!l.require(low[dim] <= limit && high[dim] <= limit && size > 0,
                   "padding of more than the tensor has"))
      return;
    auto take = [&](int64_t begin, int64_t count) {
      if (count > 0)
        parts.push_back(l.slice(x, dim, begin, count));
    };
    auto takeReversed = [&](int64_t begin, int64_t count) {
      if (count > 0)
        parts.push_back(l.reverse(l.slice(x, dim, begin, count), dim));
    };
    if (mode == "reflect") {
      takeReversed(1, low[dim]);
      parts.push_back(x);
      takeReversed(size - 1 - high[dim], high[dim]);
    } else if (mode == "circular") {
      take(size - low[dim], low[dim]);
      parts.push_back(x);
      take(0, high[dim]);
    } else if (mode == "replicate") {
      for (int64_t i = 0; i < low[dim]; ++i)
        take(0, 1);
      parts.push_back(x);
      for (int64_t i = 0; i < high[dim]; ++i)
        take(size - 1, 1);
    } else {
      return l.refuse("an unknown mode of padding");
    }
    x = l.concat(parts, dim);
  }
  l.set(x);
}

/// The part on or below (above) a diagonal.
static std::function<void(Lowering &)> triangle(bool lower) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    if (!l.require(getRank(x) >= 2, "a matrix"))
      return;
    Shape shape(getShape(x).take_back(2));
    Type element = l.builder.getI64Type();
    Value rows = l.add(l.iota(shape, 0, element), static_cast<double>(l.integer(1)));
    Value inside = l.compare(lower ? ComparePredicate::GE : ComparePredicate::LE, rows,
                             l.iota(shape, 1, element));
    l.set(l.where(inside, x, l.constant(0, getElement(x))));
  };
}

/// A tensor of one value; its shape and type are the result's.
static void fill(Lowering &l, double value) {
  RankedTensorType type = l.resultType();
  l.set(l.constant(value, type.getElementType(), type.getShape()));
}
static std::function<void(Lowering &)> filled(double value) {
  return [=](Lowering &l) { fill(l, value); };
}
static std::function<void(Lowering &)> filledWith(unsigned operand) {
  return [=](Lowering &l) {
    RankedTensorType type = l.resultType();
    Value value = l.get(operand, type.getElementType());
    l.set(l.broadcast(value, type.getShape()));
  };
}

/// begin, begin + step, ..
static std::function<void(Lowering &)> range(bool hasBegin, bool hasStep) {
  return [=](Lowering &l) {
    RankedTensorType type = l.resultType();
    double begin = hasBegin ? l.number(0) : 0, step = hasStep ? l.number(2, 1) : 1;
    Value index = l.iota(type.getShape(), 0, type.getElementType());
    l.set(l.add(l.mul(index, step), begin));
  };
}

static void eye(Lowering &l) {
  RankedTensorType type = l.resultType();
  Type element = l.builder.getI64Type();
  l.set(l.compare(ComparePredicate::EQ, l.iota(type.getShape(), 0, element),
                  l.iota(type.getShape(), 1, element)));
}

static void oneHotOf(Lowering &l) {
  int64_t classes = l.resultType().getShape().back();
  l.set(l.oneHot(l.get(0), classes));
}

/// [N, C r r, H, W] to [N, C, H r, W r], or back.
static std::function<void(Lowering &)> pixelShuffle(bool back) {
  return [=](Lowering &l) {
    Value x = l.getChannelsLast(0);
    int64_t r = l.integer(1);
    if (!l.refusal.empty() || !l.require(r >= 1, "a factor below 1"))
      return;
    int64_t n = getShape(x)[0], h = getShape(x)[1], w = getShape(x)[2],
            c = getShape(x)[3];
    if (back) {
      if (!l.require(h % r == 0 && w % r == 0, "sizes that the factor does not divide"))
        return;
      Value split = l.reshape(x, {n, h / r, r, w / r, r, c});
      return l.setChannelsLast(l.reshape(l.transpose(split, {0, 1, 3, 5, 2, 4}),
                                         {n, h / r, w / r, c * r * r}));
    }
    if (!l.require(c % (r * r) == 0, "channels that the factor does not divide"))
      return;
    Value split = l.reshape(x, {n, h, w, c / (r * r), r, r});
    l.setChannelsLast(l.reshape(l.transpose(split, {0, 1, 4, 2, 5, 3}),
                                {n, h * r, w * r, c / (r * r)}));
  };
}

/// self with `source` at [begin, end) of a dimension, or at one index of it.
static void scatterSlice(Lowering &l, int64_t dim, int64_t begin, Value source) {
  Value x = l.get(0);
  int64_t size = getShape(x)[dim], count = getShape(source)[dim];
  SmallVector<Value> parts;
  if (begin > 0)
    parts.push_back(l.slice(x, dim, 0, begin));
  parts.push_back(l.cast(source, getElement(x)));
  if (begin + count < size)
    parts.push_back(l.slice(x, dim, begin + count, size - begin - count));
  join(l, parts, dim);
}

static void selectScatter(Lowering &l) {
  Value x = l.get(0), source = l.get(1);
  int64_t dim = l.dimension(2, getRank(x)), index = l.integer(3);
  if (!l.require(getRank(x) == getRank(source) + 1, "a part of this rank"))
    return;
  index += index < 0 ? getShape(x)[dim] : 0;
  Shape shape(getShape(source));
  shape.insert(shape.begin() + dim, 1);
  scatterSlice(l, dim, index, l.reshape(source, shape));
}

static void sliceScatter(Lowering &l) {
  Value x = l.get(0), source = l.get(1);
  int64_t dim = l.dimension(2, getRank(x));
  if (!l.require(getRank(x) > 0 && getRank(x) == getRank(source),
                 "a part of this rank") ||
      !l.require(!ShapedType::isDynamic(getShape(x)[dim]), "a part of an open dimension"))
    return;
  int64_t size = getShape(x)[dim], begin = l.integer(3, 0);
  begin = std::clamp<int64_t>(begin < 0 ? begin + size : begin, 0, size);
  const int64_t step = l.integer(5, 1), count = getShape(source)[dim];
  if (step == 1 || count <= 1)
    return scatterSlice(l, dim, begin, source);
  const int64_t end = begin + (count - 1) * step + 1;
  if (!l.require(step > 0 && end <= size, "a part that does not fit"))
    return;
  SmallVector<double> isPart(size, 0);
  for (int64_t i = begin; i < end; i += step)
    isPart[i] = 1;
  Shape low(getRank(x), 0), high(low), between(low), line(getRank(x), 1);
  low[dim] = begin;
  high[dim] = size - end;
  between[dim] = step - 1;
  line[dim] = size;
  Value mask = l.compare(ComparePredicate::GT,
                         l.floats(isPart, l.builder.getF32Type(), line), 0.0);
  l.set(l.where(mask, l.pad(l.cast(source, getElement(x)), low, high, 0, between), x));
}

Value mpt::torch::diagonalOf(Lowering &l, Value x, int64_t offset, int64_t a, int64_t b) {
  int64_t rank = getRank(x);
  if (!l.require(rank >= 2 && a != b && getType(x).hasStaticShape(), "a matrix"))
    return x;
  Shape permutation;
  for (int64_t i = 0; i < rank; ++i)
    if (i != a && i != b)
      permutation.push_back(i);
  permutation.append({a, b});
  x = l.transpose(x, permutation);
  Shape shape(getShape(x));
  int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  int64_t count = std::max<int64_t>(std::min(rows - row, columns - column), 0);
  // Elements row * columns + column, and each columns + 1 further.
  Shape flat(ArrayRef<int64_t>(shape).drop_back(2));
  flat.push_back(rows * columns);
  Value line = l.reshape(x, flat);
  return l.slice(line, rank - 2, count ? row * columns + column : 0, count, columns + 1);
}

static void diagonal(Lowering &l) {
  Value x = l.get(0);
  int64_t rank = getRank(x);
  int64_t a = l.isNone(2) ? 0 : l.dimension(2, rank);
  int64_t b = l.isNone(3) ? 1 : l.dimension(3, rank);
  l.set(diagonalOf(l, x, l.integer(1), a, b));
}

/// Operand 0 with operand 1 on a diagonal.
static void diagonalScatter(Lowering &l) {
  Value x = l.get(0), source = l.get(1, getElement(x));
  const int64_t rank = getRank(x), offset = l.integer(2);
  const int64_t a = l.isNone(3) ? 0 : l.dimension(3, rank);
  const int64_t b = l.isNone(4) ? 1 : l.dimension(4, rank);
  if (!l.require(rank >= 2 && a != b && getType(x).hasStaticShape() &&
                     getRank(source) == rank - 1,
                 "a matrix"))
    return;
  // Element k of the diagonal along the dimension that begins with it, as long as that.
  const int64_t along = offset >= 0 ? a : b, other = offset >= 0 ? b : a,
                count = getShape(source).back();
  if (!l.require(count <= getShape(x)[along], "a diagonal that does not fit"))
    return;
  Shape low(rank - 1, 0), high(rank - 1, 0), shape(getShape(x));
  high.back() = shape[along] - count;
  source = l.moveFromLast(l.pad(source, low, high, 0), along - (other < along ? 1 : 0));
  shape[other] = 1;
  auto places = [&](int64_t dim) {
    Shape line(rank, 1);
    line[dim] = getShape(x)[dim];
    return l.iota(line, dim, l.builder.getI64Type());
  };
  Value isDiagonal = l.compare(ComparePredicate::EQ,
                               l.add(places(a), static_cast<double>(offset)), places(b));
  l.set(l.where(isDiagonal, l.reshape(source, shape), x));
}

/// A matrix with x on a diagonal, in the last two dimensions.
static Value diagonalMatrix(Lowering &l, Value x, int64_t offset) {
  int64_t size = getShape(x).back(), side = size + std::abs(offset);
  Type i64 = l.builder.getI64Type();
  Shape low(getRank(x), 0), high(getRank(x), 0);
  (offset < 0 ? low : high).back() = std::abs(offset);
  if (offset)
    x = l.pad(x, low, high, 0); // x's element for each row
  Shape shape(getShape(x));
  shape.push_back(1);
  Value rows = l.add(l.iota({side, side}, 0, i64), static_cast<double>(offset));
  Value on = l.compare(ComparePredicate::EQ, rows, l.iota({side, side}, 1, i64));
  return l.where(on, l.reshape(x, shape), l.number(x, 0));
}

static void diagEmbed(Lowering &l) {
  Value x = l.get(0);
  int64_t rank = getRank(x) + 1;
  int64_t a = l.isNone(2) ? rank - 2 : l.dimension(2, rank);
  int64_t b = l.isNone(3) ? rank - 1 : l.dimension(3, rank);
  if (!l.require(rank >= 2 && a != b && !getElement(x).isInteger(1),
                 "a vector of numbers"))
    return;
  Value matrix = diagonalMatrix(l, x, l.integer(1));
  Shape permutation(rank, -1);
  permutation[a] = rank - 2;
  permutation[b] = rank - 1;
  int64_t next = 0;
  for (int64_t &dim : permutation)
    if (dim < 0)
      dim = next++;
  l.set(l.transpose(matrix, permutation));
}

/// Windows of `size` elements, each `step` after the one before, in a new last dimension.
static void unfold(Lowering &l) {
  Value x = l.get(0);
  int64_t rank = getRank(x), dim = l.dimension(1, rank), size = l.integer(2),
          step = l.integer(3);
  if (!l.require(rank > 0 && getType(x).hasStaticShape() && size >= 1 && step >= 1 &&
                     size <= getShape(x)[dim],
                 "a window out of range, or an open dimension"))
    return;
  int64_t count = (getShape(x)[dim] - size) / step + 1;
  if (!l.require(std::min(size, count) <= 1024,
                 "more than 1024 windows of 1024 elements"))
    return;
  SmallVector<Value> parts;
  if (size <= count) { // an element of each window at a time
    for (int64_t i = 0; i < size; ++i) {
      Value part = l.slice(x, dim, i, count, step);
      Shape shape(getShape(part));
      shape.push_back(1);
      parts.push_back(l.reshape(part, shape));
    }
    return l.set(l.concat(parts, rank));
  }
  for (int64_t i = 0; i < count; ++i) { // a window at a time
    Value part = l.moveToLast(l.slice(x, dim, i * step, size), dim);
    Shape shape(getShape(part));
    shape.insert(shape.begin() + dim, 1);
    parts.push_back(l.reshape(part, shape));
  }
  l.set(l.concat(parts, dim));
}

static void rot90(Lowering &l) {
  Value x = l.get(0);
  int64_t rank = getRank(x), times = ((l.integer(1, 1) % 4) + 4) % 4;
  Shape dims = l.integers(2);
  if (dims.empty())
    dims = {0, 1};
  for (int64_t &dim : dims)
    dim += dim < 0 ? rank : 0;
  if (!l.require(dims.size() == 2 && dims[0] != dims[1] && dims[0] >= 0 && dims[1] >= 0 &&
                     dims[0] < rank && dims[1] < rank,
                 "two dimensions"))
    return;
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[dims[0]], permutation[dims[1]]);
  for (int64_t i = 0; i < times; ++i)
    x = l.transpose(l.reverse(x, dims[1]), permutation);
  l.set(x);
}

static void channelShuffle(Lowering &l) {
  Value x = l.get(0);
  int64_t groups = l.integer(1);
  Shape shape(getShape(x));
  if (!l.require(shape.size() >= 3 && groups >= 1 && shape[1] % groups == 0 &&
                     getType(x).hasStaticShape(),
                 "groups that do not divide the channels"))
    return;
  Shape split(shape),
      permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size() + 1));
  split[1] = groups;
  split.insert(split.begin() + 2, shape[1] / groups);
  std::swap(permutation[1], permutation[2]);
  l.set(l.reshape(l.transpose(l.reshape(x, split), permutation), shape));
}

/// Rows and columns of the part on or below (above) a diagonal, [2, count].
static std::function<void(Lowering &)> triangleIndices(bool lower) {
  return [=](Lowering &l) {
    int64_t rows = l.integer(0), columns = l.integer(1), offset = l.integer(2);
    SmallVector<Attribute> first, second;
    RankedTensorType type = l.resultType();
    Type element = type.getElementType();
    if (!l.require(isa<IntegerType>(element) && rows >= 0 && columns >= 0 &&
                       type.hasStaticShape() && type.getNumElements() <= (1 << 22),
                   "indices of this type, or more than 2^22"))
      return;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        if (lower ? j <= i + offset : j >= i + offset) {
          first.push_back(l.builder.getIntegerAttr(element, i));
          second.push_back(l.builder.getIntegerAttr(element, j));
        }
    first.append(second);
    if (l.require(static_cast<int64_t>(first.size()) == type.getNumElements(),
                  "indices of another number"))
      l.set(ConstantOp::create(l.builder, l.loc, DenseElementsAttr::get(type, first)));
  };
}

static void diff(Lowering &l) {
  Value x = l.get(0);
  int64_t dim = l.dimension(2, getRank(x));
  SmallVector<Value> parts;
  if (!l.isNone(3))
    parts.push_back(l.get(3, getElement(x)));
  parts.push_back(x);
  if (!l.isNone(4))
    parts.push_back(l.get(4, getElement(x)));
  if (!l.require(l.integer(1, 1) == 1, "differences of higher order") ||
      !l.require(getRank(x) > 0, "differences of a scalar"))
    return;
  bool isBool = getElement(x).isInteger(1);
  for (Value &part : parts)
    part = isBool ? l.cast(part, l.builder.getI8Type()) : part;
  Value all = l.concat(parts, dim);
  int64_t size = getShape(all)[dim];
  Value later = l.slice(all, dim, 1, size - 1), earlier = l.slice(all, dim, 0, size - 1);
  l.set(isBool ? l.compare(ComparePredicate::NE, later, earlier) : l.sub(later, earlier));
}

void mpt::torch::populateShapes(Table &t) {
  t.view({"view", "_unsafe_view", "reshape", "flatten.using_ints", "unflatten.int",
          "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "view_as", "reshape_as",
          "ravel", "atleast_1d", "atleast_2d", "_reshape_alias", "view_copy"},
         viewAs);
  t.elementwise({"clone", "lift_fresh_copy"}, same);
  t.view({"alias", "contiguous", "lift_fresh"}, [](Lowering &l) {
    Tensor stored = l.getStored(0);
    l.channelsLast = stored.channelsLast;
    l.set(stored.value);
  });
  t.elementwise({"detach", "detach_copy"},
                [](Lowering &l) { l.set(l.unary<StopGradientOp>(l.get(0))); });
  // Conversions: the result's type says to what.
  t.elementwise({"to.dtype", "to.dtype_layout", "to.device", "to.other", "to.prim_Device",
                 "_to_copy", "type_as"},
                [](Lowering &l) { l.set(l.get(0, l.resultElement())); });
  t.elementwise({"copy"}, [](Lowering &l) {
    RankedTensorType type = l.resultType();
    Value source = l.get(1, type.getElementType());
    l.set(l.channelsLast ? source : l.broadcast(source, type.getShape()));
  });
  // Checks, and arithmetic on sizes: the types say what sizes are.
  t.add({"_assert_tensor_metadata", "_assert_async.msg", "_assert_scalar",
         "sym_constrain_range_for_size", "sym_constrain_range", "size.int", "add.int",
         "sub.int", "mul.int", "floordiv.int"},
        [](Lowering &l) { l.setNothing(); });

  t.view({"transpose.int", "swapaxes", "swapdims"}, [](Lowering &l) {
    int64_t rank = getRank(l.getStored(0).value);
    swapDims(l, l.dimension(1, rank), l.dimension(2, rank));
  });
  t.view({"t", "numpy_T"}, [](Lowering &l) {
    int64_t rank = getRank(l.getStored(0).value);
    permute(l, llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  });
  t.view({"mT", "mH", "adjoint"}, [](Lowering &l) {
    int64_t rank = getRank(l.getStored(0).value);
    if (l.require(rank >= 2, "a matrix"))
      swapDims(l, rank - 2, rank - 1);
  });
  t.view({"permute"}, [](Lowering &l) {
    int64_t rank = getRank(l.getStored(0).value);
    Shape dims = l.integers(1);
    for (int64_t &dim : dims)
      dim += dim < 0 ? rank : 0;
    permute(l, dims);
  });
  t.view({"movedim.int", "movedim.intlist", "moveaxis.int"}, moveDims);
  t.view({"expand", "expand_as", "broadcast_to"}, expand);
  t.add({"repeat", "tile"}, repeat);
  t.add({"repeat_interleave.self_int"}, repeatInterleave);
  t.view({"slice.Tensor"}, sliceOf);
  t.view({"narrow"}, narrow);
  t.view({"select.int"}, selectOf);
  t.view({"split.Tensor"}, [](Lowering &l) {
    int64_t size, dim = splitDim(l, 2, size), each = l.integer(1);
    if (l.require(each >= 1, "parts of no elements"))
      splitInto(l, dim, cut(size, each));
  });
  t.view({"split_with_sizes", "split.sizes"}, [](Lowering &l) {
    int64_t size, dim = splitDim(l, 2, size);
    splitInto(l, dim, l.integers(1));
  });
  t.view({"chunk"}, [](Lowering &l) {
    int64_t size, dim = splitDim(l, 2, size), count = l.integer(1);
    if (l.require(count >= 1, "no parts"))
      splitInto(l, dim, cut(size, std::max<int64_t>((size + count - 1) / count, 1)));
  });
  t.view({"tensor_split.sections"}, [](Lowering &l) {
    int64_t size, dim = splitDim(l, 2, size), count = l.integer(1);
    Shape sizes;
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(size / count + (i < size % count));
    splitInto(l, dim, sizes);
  });
  t.view({"unbind.int"}, [](Lowering &l) {
    int64_t size, dim = splitDim(l, 1, size);
    SmallVector<Value> parts;
    for (int64_t i = 0; i < size; ++i)
      parts.push_back(at(l, l.get(0), dim, i));
    l.setList(parts);
  });
  t.add({"meshgrid", "meshgrid.indexing"}, [](Lowering &l) {
    SmallVector<Value> values = l.getPlainList(0), grids;
    bool xy = l.text(1) == "xy" && values.size() >= 2;
    if (xy)
      std::swap(values[0], values[1]);
    Shape shape;
    for (Value value : values)
      shape.push_back(getRank(value) ? getShape(value)[0] : 1);
    for (auto [i, value] : llvm::enumerate(values)) {
      Shape one(shape.size(), 1);
      one[i] = shape[i];
      Value grid = l.broadcast(l.reshape(value, one), shape);
      grids.push_back(grid);
    }
    if (xy)
      std::swap(grids[0], grids[1]);
    l.setList(grids);
  });
  t.view({"broadcast_tensors"}, [](Lowering &l) {
    SmallVector<Value> values = l.getPlainList(0);
    if (!l.refusal.empty() || !l.require(!values.empty(), "an empty list"))
      return;
    RankedTensorType type = l.broadcastType(values, getElement(values[0]));
    for (Value &value : values)
      value = l.broadcast(value, type.getShape());
    l.setList(values);
  });
  t.add({"cat", "concat", "concatenate"}, cat);
  t.add({"stack"}, stack);
  t.add({"flip"}, flip);
  t.add({"roll"}, roll);
  t.add({"constant_pad_nd"}, [](Lowering &l) { padBy(l, "constant", l.number(2)); });
  t.add({"pad"}, [](Lowering &l) { padBy(l, l.text(2), l.number(3)); });
  t.add({"reflection_pad1d", "reflection_pad2d"},
        [](Lowering &l) { padBy(l, "reflect", 0); });
  t.add({"replication_pad1d", "replication_pad2d"},
        [](Lowering &l) { padBy(l, "replicate", 0); });
  t.add({"diagonal"}, diagonal);
  t.add({"diag_embed"}, diagEmbed);
  t.add({"diag"}, [](Lowering &l) {
    Value x = l.get(0);
    int64_t offset = l.integer(1);
    if (l.require(getRank(x) == 1 || getRank(x) == 2, "a vector or a matrix"))
      l.set(getRank(x) == 1 ? diagonalMatrix(l, x, offset)
                            : diagonalOf(l, x, offset, 0, 1));
  });
  t.add({"trace"}, [](Lowering &l) {
    Value x = diagonalOf(l, l.get(0, l.resultElement()), 0, 0, 1);
    if (l.refusal.empty())
      l.set(l.reduce(ReduceKind::Sum, x, {0}));
  });
  t.add({"unfold"}, unfold);
  t.add({"rot90"}, rot90);
  t.add({"fliplr"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(getRank(x) >= 2, "a matrix"))
      l.set(l.reverse(x, 1));
  });
  t.add({"flipud"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(getRank(x) >= 1, "a vector"))
      l.set(l.reverse(x, 0));
  });
  t.add({"channel_shuffle", "native_channel_shuffle"}, channelShuffle);
  t.add({"tril_indices"}, triangleIndices(true));
  t.add({"triu_indices"}, triangleIndices(false));
  t.add({"tril"}, triangle(true));
  t.add({"triu"}, triangle(false));
  t.add({"one_hot"}, oneHotOf);
  t.add({"pixel_shuffle"}, pixelShuffle(false));
  t.add({"pixel_unshuffle"}, pixelShuffle(true));
  t.add({"select_scatter"}, selectScatter);
  t.add({"diagonal_scatter"}, diagonalScatter);
  t.add({"slice_scatter"}, sliceScatter);
  t.add({"diff"}, diff);

  // Constants.
  t.add({"zeros", "zeros_like", "new_zeros", "empty.memory_format", "empty_like",
         "new_empty"},
        filled(0));
  t.add({"ones", "ones_like", "new_ones"}, filled(1));
  t.add({"full", "full_like", "fill.Scalar", "fill.Tensor"}, filledWith(1));
  t.add({"new_full"}, filledWith(2));
  t.add({"zero"}, filled(0));
  t.add({"scalar_tensor"}, filledWith(0));
  t.add({"arange"}, range(false, false));
  t.add({"arange.start"}, range(true, false));
  t.add({"arange.start_step"}, range(true, true));
  t.add({"linspace"}, [](Lowering &l) {
    RankedTensorType type = l.resultType();
    double begin = l.number(0), end = l.number(1);
    SmallVector<double> values;
    int64_t count = type.getRank() == 1 ? type.getDimSize(0) : 0;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(count == 1 ? begin : begin + (end - begin) * i / (count - 1));
    if (l.require(isa<FloatType>(type.getElementType()) && count > 0, "floats"))
      l.set(l.floats(values, type.getElementType(), {count}));
  });
  t.add({"eye", "eye.m"}, eye);
}
