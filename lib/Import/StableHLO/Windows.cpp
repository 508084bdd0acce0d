//===- Windows.cpp - reduce_window and select_and_scatter ------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Windows over at most two dimensions of floats are pooling. Others are computed along
/// one dimension after the other, each in O(log window) steps: a window of 2m elements is
/// two windows of m. Cumulative sums are such windows.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "ScalarRegion.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

namespace {
struct Window {
  Shape sizes, strides, baseDilations, dilations, low, high;

  Window(Lowering &l, unsigned rank)
      : sizes(l.integers("window_dimensions", rank, 1)),
        strides(l.integers("window_strides", rank, 1)),
        baseDilations(l.integers("base_dilations", rank, 1)),
        dilations(l.integers("window_dilations", rank, 1)) {
    Shape padding = l.integers("padding", 2 * rank, 0);
    for (unsigned i : llvm::seq(0u, rank)) {
      low.push_back(padding[2 * i]);
      high.push_back(padding[2 * i + 1]);
      l.require(sizes[i] >= 1 && strides[i] >= 1 && baseDilations[i] >= 1 &&
                    dilations[i] >= 1,
                "a window, stride or dilation below 1");
    }
  }
  bool touches(unsigned dim) const {
    return sizes[dim] != 1 || strides[dim] != 1 || low[dim] || high[dim] ||
           baseDilations[dim] != 1;
  }
  SmallVector<unsigned> touched() const {
    SmallVector<unsigned> dims;
    for (unsigned i : llvm::seq<unsigned>(0, sizes.size()))
      if (touches(i))
        dims.push_back(i);
    return dims;
  }
  int64_t count(int64_t size, unsigned dim) const {
    int64_t spread = size ? (size - 1) * baseDilations[dim] + 1 : 0;
    int64_t reach = dilations[dim] * (sizes[dim] - 1) + 1;
    int64_t room = spread + low[dim] + high[dim] - reach;
    return room < 0 ? 0 : room / strides[dim] + 1;
  }
};

/// A tensor as images [N, H, W, C], where H and W are the dimensions of windows.
struct Images {
  Shape order, permuted, shape;

  Images(ArrayRef<int64_t> sizes, ArrayRef<unsigned> dims) {
    // Dimensions before the first window are N, those after it C.
    int64_t n = 1, c = 1, h = 1, w = 1;
    SmallVector<int64_t> before, after;
    for (int64_t i : llvm::seq<int64_t>(0, sizes.size())) {
      if (llvm::is_contained(dims, i))
        continue;
      bool isBefore = dims.empty() || i < dims[0];
      (isBefore ? before : after).push_back(i);
      (isBefore ? n : c) *= sizes[i];
    }
    if (!dims.empty())
      (dims.size() == 1 ? w : h) = sizes[dims[0]];
    if (dims.size() == 2)
      w = sizes[dims[1]];
    order = before;
    llvm::append_range(order, dims);
    llvm::append_range(order, after);
    for (int64_t dim : order)
      permuted.push_back(sizes[dim]);
    shape = {n, h, w, c};
  }
  Value to(Lowering &l, Value x) const { return l.reshape(l.transpose(x, order), shape); }
  Value from(Lowering &l, Value y) const {
    Shape inverse(order.size());
    for (auto [i, dim] : llvm::enumerate(order))
      inverse[dim] = i;
    return l.transpose(l.reshape(y, permuted), inverse);
  }
};
} // namespace

using Values = SmallVector<Value>;

/// `x` with what the windows over `dims` see around and between its elements.
static Value padFor(Lowering &l, Value x, Value value, const Window &w,
                    ArrayRef<unsigned> dims) {
  int64_t rank = getRank(x);
  Shape low(rank, 0), high(rank, 0), interior(rank, 0);
  for (unsigned dim : dims) {
    low[dim] = w.low[dim];
    high[dim] = w.high[dim];
    interior[dim] = w.baseDilations[dim] - 1;
  }
  return l.padBy(x, value, low, high, interior);
}

/// Reduces padded tensors along one dimension to `count` windows. `combine` is the body,
/// for all tensors together.
static Values reduceAlong(Lowering &l, Values values, const Window &w, unsigned dim,
                          int64_t count, function_ref<Values(Values, Values)> combine) {
  int64_t step = w.dilations[dim], size = w.sizes[dim];
  if (count == 0) {
    for (Value &x : values) {
      Shape shape(getShape(x));
      shape[dim] = 0;
      x = l.constant(0, getElement(x), shape);
    }
    return values;
  }
  auto slices = [&](ArrayRef<Value> from, int64_t begin, int64_t number,
                    int64_t stride = 1) {
    return llvm::map_to_vector(
        from, [&](Value x) { return l.slice(x, dim, begin, number, stride); });
  };
  auto sizeOf = [&](ArrayRef<Value> x) { return getShape(x[0])[dim]; };
  // `all` covers the first `done` places of each window, `block` the next 2^i ones.
  Values all, block = values;
  int64_t done = 0;
  for (int64_t width = 1;; width *= 2) {
    if (size & width) {
      int64_t rest = sizeOf(block) - done * step;
      Values part = slices(block, done * step, rest);
      if (!all.empty()) {
        rest = std::min(rest, sizeOf(all));
        all = combine(slices(all, 0, rest), slices(part, 0, rest));
      } else {
        all = part;
      }
      if (all.empty())
        return {};
      done += width;
    }
    if (width * 2 > size)
      break;
    int64_t rest = sizeOf(block) - width * step;
    block = combine(slices(block, 0, rest), slices(block, width * step, rest));
    if (block.empty())
      return {};
  }
  return slices(all, 0, count, w.strides[dim]);
}

static Value reduceWindows(Lowering &l, Value x, StringRef kind, const Window &w) {
  SmallVector<unsigned> dims = w.touched();
  bool plain = dims.size() <= 2 && !dims.empty() && isa<FloatType>(getElement(x)) &&
               (kind == "maximum" || kind == "add");
  for (unsigned dim : dims)
    plain = plain && w.baseDilations[dim] == 1 && w.dilations[dim] == 1 &&
            w.low[dim] >= 0 && w.high[dim] >= 0 && w.low[dim] < w.sizes[dim] &&
            w.high[dim] < w.sizes[dim] && w.sizes[dim] <= 16 &&
            w.count(getShape(x)[dim], dim) > 0;
  if (!plain) {
    for (unsigned dim : dims) {
      int64_t count = w.count(getShape(x)[dim], dim);
      x = padFor(l, x, l.neutral(kind, getElement(x)), w, {dim});
      x = reduceAlong(l, {x}, w, dim, count, [&](Values a, Values b) {
        return Values{l.combine(kind, a[0], b[0])};
      })[0];
    }
    return x;
  }
  Shape pooledShape(getShape(x));
  for (unsigned dim : dims)
    pooledShape[dim] = w.count(pooledShape[dim], dim);
  Images before(getShape(x), dims), after(pooledShape, dims);
  auto both = [&](const Shape &values, int64_t otherwise) {
    return dims.size() == 2 ? Shape{values[dims[0]], values[dims[1]]}
                            : Shape{otherwise, values[dims[0]]};
  };
  Shape low = both(w.low, 0), high = both(w.high, 0);
  Shape padding{low[0], high[0], low[1], high[1]};
  Shape window = both(w.sizes, 1), strides = both(w.strides, 1);
  Value images = before.to(l, x), y;
  auto type = getType(x).clone(after.shape);
  if (kind == "maximum")
    y = MaxPoolOp::create(l.builder, l.loc, type, images, window, strides, padding);
  else
    y = l.mul(AvgPoolOp::create(l.builder, l.loc, type, images, window, strides, padding,
                                /*count_include_pad=*/true),
              static_cast<double>(window[0] * window[1]));
  return after.from(l, y);
}

/// Any body. What pads is left out: the last value says what is there.
static void reduceWindowByBody(Lowering &l, const Window &w) {
  unsigned count = l.size() / 2;
  if (!l.require(l.op->getNumRegions() == 1 && l.op->getRegion(0).hasOneBlock() &&
                     l.op->getRegion(0).getNumArguments() == 2 * count &&
                     l.op->getRegion(0).front().back().getNumOperands() == count,
                 "expected a body of one argument for each operand and first value"))
    return;
  Block &body = l.op->getRegion(0).front();
  SmallVector<unsigned> dims = w.touched();
  ArrayRef<int64_t> shape = getShape(l.get(0));
  Values values, first;
  for (unsigned i : llvm::seq(0u, count)) {
    if (!l.require(getShape(l.get(i)) == shape, "operands of unequal shapes"))
      return;
    values.push_back(padFor(l, l.get(i), l.get(count + i), w, dims));
  }
  bool pads = llvm::any_of(dims, [&](unsigned dim) {
    return w.low[dim] > 0 || w.high[dim] > 0 || w.baseDilations[dim] > 1;
  });
  if (pads)
    values.push_back(padFor(l, l.constant(1, l.builder.getI1Type(), shape),
                            l.constant(0, l.builder.getI1Type()), w, dims));
  auto combine = [&](Values left, Values right) -> Values {
    Value hasLeft = pads ? left.pop_back_val() : Value(),
          hasRight = pads ? right.pop_back_val() : Value();
    Values all = left;
    llvm::append_range(all, right);
    all = l.applyBody(body, all);
    if (!pads || all.empty())
      return all;
    for (auto [value, a, b] : llvm::zip_equal(all, left, right))
      value = l.where(hasRight, l.where(hasLeft, value, b), a);
    all.push_back(l.binary<OrOp>(hasLeft, hasRight));
    return all;
  };
  for (unsigned dim : dims)
    if (!values.empty())
      values = reduceAlong(l, values, w, dim, w.count(shape[dim], dim), combine);
  if (values.empty())
    return;
  ArrayRef<int64_t> counts = getShape(values[0]);
  for (unsigned i : llvm::seq(0u, count))
    first.push_back(l.broadcast(l.get(count + i), counts));
  if (pads)
    first.push_back(l.constant(1, l.builder.getI1Type(), counts));
  values = combine(first, values);
  values.truncate(std::min<size_t>(values.size(), count));
  for (auto [i, value] : llvm::enumerate(values))
    l.set(value, i);
}

static void reduceWindow(Lowering &l) {
  unsigned count = l.size() / 2;
  if (!l.require(count >= 1 && l.size() == 2 * count && l.op->getNumResults() == count,
                 "expected as many first values as operands"))
    return;
  Window w(l, getRank(l.get(0)));
  if (!l.refusal.empty())
    return;
  // The order of unsigned integers is that of others with another sign.
  auto toOrder = [&](unsigned index, Value x) {
    StringRef kind = l.bodyOf(0, index);
    return l.isUnsigned(index) && (kind == "maximum" || kind == "minimum") ? l.flipSign(x)
                                                                           : x;
  };
  if (llvm::any_of(llvm::seq(0u, count),
                   [&](unsigned index) { return l.bodyOf(0, index).empty(); }))
    return reduceWindowByBody(l, w);
  for (unsigned index : llvm::seq(0u, count)) {
    // What pads changes nothing: XLA leaves it out.
    StringRef kind = l.bodyOf(0, index);
    Value first = l.get(count + index);
    Value y = reduceWindows(l, toOrder(index, l.get(index)), kind, w);
    std::optional<double> number = l.getConstant(count + index);
    bool isNeutral = l.isUnsigned(index) && kind == "maximum" ? number == 0.0
                     : l.isUnsigned(index) && kind == "minimum"
                         ? number == -1.0
                         : l.isNeutral(kind, first);
    if (l.refusal.empty() && !isNeutral)
      y = l.combine(kind, y, toOrder(index, first));
    l.set(toOrder(index, y), index);
  }
}

/// The gradient of max pooling over at most two dimensions.
static Value poolGradient(Lowering &l, Value x, Value source, const Window &w,
                          ArrayRef<unsigned> dims) {
  // Padding of whole windows is added by itself.
  bool fits = true;
  for (unsigned dim : dims)
    fits = fits && w.low[dim] >= 0 && w.high[dim] >= 0 && w.low[dim] < w.sizes[dim] &&
           w.high[dim] < w.sizes[dim];
  ArrayRef<int64_t> shape = getShape(x);
  Value wide = fits ? x : padFor(l, x, l.neutral("maximum", getElement(x)), w, dims);
  Images before(getShape(wide), dims), after(getShape(source), dims);
  auto both = [&](const Shape &values, int64_t otherwise) {
    Shape two(2, otherwise);
    if (dims.size() == 2)
      two = {values[dims[0]], values[dims[1]]};
    else if (dims.size() == 1)
      two[1] = values[dims[0]];
    return two;
  };
  Shape none(shape.size(), 0);
  Shape low = both(fits ? w.low : none, 0), high = both(fits ? w.high : none, 0);
  Value dx = MaxPoolGradOp::create(l.builder, l.loc, getType(wide).clone(before.shape),
                                   after.to(l, source), before.to(l, wide),
                                   both(w.sizes, 1), both(w.strides, 1),
                                   ArrayRef<int64_t>{low[0], high[0], low[1], high[1]});
  dx = before.from(l, dx);
  if (!fits) {
    Shape cutLow(shape.size(), 0), cutHigh(shape.size(), 0);
    for (unsigned dim : dims) {
      cutLow[dim] = -w.low[dim];
      cutHigh[dim] = -w.high[dim];
    }
    dx = l.padBy(dx, l.number(dx, 0), cutLow, cutHigh, Shape(shape.size(), 0));
  }
  return dx;
}

/// The gradient of max pooling, and of min pooling with the other sign: the body chooses
/// the first of the largest, and what is scattered is added.
static void selectAndScatter(Lowering &l) {
  Value x = l.get(0), source = l.get(1);
  unsigned rank = getRank(x);
  Window w(l, rank);
  if (!l.refusal.empty() ||
      !l.require(l.op->getNumRegions() == 2 && l.op->getRegion(0).hasOneBlock(),
                 "expected two regions"))
    return;
  // By what it computes: is the selected one kept?
  Block &select = l.op->getRegion(0).front();
  auto keeps = [&](double selected, double other) -> std::optional<bool> {
    auto results = evaluateScalars(select, {selected, other});
    if (!results || results->size() != 1)
      return std::nullopt;
    return (*results)[0] != 0;
  };
  auto isFirst = [&](bool largest) {
    return keeps(1, 0) == largest && keeps(0, 1) == !largest && keeps(1, 1) == true &&
           keeps(-3, 2) == !largest;
  };
  bool largest = isFirst(true), smallest = isFirst(false);
  if (!l.require((largest || smallest) && l.bodyOf(1) == "add" &&
                     isa<FloatType>(getElement(x)),
                 "a selection other than the first of the largest or smallest floats, or "
                 "a scatter other than add"))
    return;
  if (smallest)
    x = l.neg(x);
  // Two dimensions at once. Of equal elements the first is chosen, in row-major order: so
  // the largest of the last dimensions are pooled along those before.
  SmallVector<unsigned> dims = w.touched();
  SmallVector<SmallVector<unsigned>> groups;
  while (!dims.empty()) {
    size_t count = std::min<size_t>(dims.size(), 2);
    groups.emplace_back(ArrayRef(dims).take_back(count));
    dims.truncate(dims.size() - count);
  }
  if (groups.empty())
    groups.emplace_back();
  Values pooled = {x};
  for (ArrayRef<unsigned> group : ArrayRef(groups).drop_back()) {
    Window part = w;
    for (unsigned dim : llvm::seq(0u, rank))
      if (!llvm::is_contained(group, dim)) {
        part.sizes[dim] = part.strides[dim] = 1;
        part.low[dim] = part.high[dim] = 0;
      }
    pooled.push_back(reduceWindows(l, pooled.back(), "maximum", part));
  }
  Value dx = source;
  for (auto [input, group] : llvm::reverse(llvm::zip_equal(pooled, groups)))
    dx = poolGradient(l, input, dx, w, group);
  Value first = l.get(2);
  l.set(l.isNeutral("add", first) ? dx : l.add(dx, first));
}

void mpt::stablehlo::populateWindows(Table &t) {
  t.add({"stablehlo.reduce_window"}, reduceWindow);
  t.add({"stablehlo.select_and_scatter"}, selectAndScatter);
}
