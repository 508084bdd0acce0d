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

/// Pads and reduces along one dimension.
static Value reduceAlong(Lowering &l, Value x, StringRef kind, const Window &w,
                         unsigned dim) {
  int64_t rank = getRank(x), count = w.count(getShape(x)[dim], dim);
  Shape low(rank, 0), high(rank, 0), interior(rank, 0);
  low[dim] = w.low[dim];
  high[dim] = w.high[dim];
  interior[dim] = w.baseDilations[dim] - 1;
  x = l.padBy(x, l.neutral(kind, getElement(x)), low, high, interior);
  int64_t step = w.dilations[dim], size = w.sizes[dim];
  if (count == 0) {
    Shape shape(getShape(x));
    shape[dim] = 0;
    return l.constant(0, getElement(x), shape);
  }
  // `all` covers the first `done` places of each window, `block` the next 2^i ones.
  Value all, block = x;
  int64_t done = 0;
  for (int64_t width = 1;; width *= 2) {
    if (size & width) {
      int64_t rest = getShape(block)[dim] - done * step;
      Value part = l.slice(block, dim, done * step, rest);
      if (all) {
        rest = std::min(rest, getShape(all)[dim]);
        all = l.combine(kind, l.slice(all, dim, 0, rest), l.slice(part, dim, 0, rest));
      } else {
        all = part;
      }
      done += width;
    }
    if (width * 2 > size)
      break;
    int64_t rest = getShape(block)[dim] - width * step;
    block = l.combine(kind, l.slice(block, dim, 0, rest),
                      l.slice(block, dim, width * step, rest));
  }
  return l.slice(all, dim, 0, count, w.strides[dim]);
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
    for (unsigned dim : dims)
      x = reduceAlong(l, x, kind, w, dim);
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

static void reduceWindow(Lowering &l) {
  unsigned count = l.size() / 2;
  if (!l.require(count >= 1 && l.size() == 2 * count && l.op->getNumResults() == count,
                 "expected as many first values as operands"))
    return;
  Window w(l, getRank(l.get(0)));
  for (unsigned index : llvm::seq(0u, count)) {
    StringRef kind = l.bodyOf(0, index);
    if (!l.require(!kind.empty(),
                   "a body other than add, multiply, maximum, minimum, and, or"))
      return;
    if (!l.require(!l.isUnsigned(index) || (kind != "maximum" && kind != "minimum"),
                   "the largest of unsigned integers"))
      return;
    Value first = l.get(count + index), x = l.get(index);
    // What is padded is the first value. If it changes nothing, it may be another such.
    if (!l.isNeutral(kind, first)) {
      bool lowest = false;
      if (auto number = l.getConstant(count + index); number && kind == "maximum")
        lowest = isa<FloatType>(getElement(x)) && *number < -1e30;
      if (!l.require(lowest, "a first value that is not neutral"))
        return;
    }
    Value y = reduceWindows(l, x, kind, w);
    if (l.refusal.empty() && !l.isNeutral(kind, first))
      y = l.combine(kind, y, first);
    l.set(y, index);
  }
}

/// The gradient of max pooling: select is GE (or NaN), scatter is add.
static void selectAndScatter(Lowering &l) {
  Value x = l.get(0), source = l.get(1);
  unsigned rank = getRank(x);
  Window w(l, rank);
  if (!l.refusal.empty() ||
      !l.require(l.op->getNumRegions() == 2, "expected two regions"))
    return;
  Block &select = l.op->getRegion(0).front();
  Operation *choice = select.empty() || select.back().getNumOperands() != 1
                          ? nullptr
                          : select.back().getOperand(0).getDefiningOp();
  auto isComparison = [](Operation *op, StringRef direction, Value lhs, Value rhs) {
    return op && isOp(op, "compare") && op->getNumOperands() == 2 &&
           op->getOperand(0) == lhs && op->getOperand(1) == rhs &&
           getText(getAttribute(op, "comparison_direction")).ends_with(direction);
  };
  bool isLargest = false;
  if (select.getNumArguments() == 2) {
    Value selected = select.getArgument(0), other = select.getArgument(1);
    // "or it is NaN", as MPT's max pooling has it, too.
    if (choice && isOp(choice, "or") && choice->getNumOperands() == 2 &&
        isComparison(choice->getOperand(1).getDefiningOp(), " NE", selected, selected))
      choice = choice->getOperand(0).getDefiningOp();
    isLargest = isComparison(choice, " GE", selected, other);
  }
  if (!l.require(isLargest && l.bodyOf(1) == "add",
                 "a selection other than GE, or a scatter other than add"))
    return;
  SmallVector<unsigned> dims = w.touched();
  bool fits = dims.size() <= 2 && isa<FloatType>(getElement(x));
  for (unsigned dim : dims)
    fits = fits && w.low[dim] >= 0 && w.high[dim] >= 0 && w.low[dim] < w.sizes[dim] &&
           w.high[dim] < w.sizes[dim];
  if (!l.require(fits,
                 "windows over more than two dimensions, or padding of a whole window"))
    return;
  Images before(getShape(x), dims), after(getShape(source), dims);
  auto both = [&](const Shape &values, int64_t otherwise) {
    Shape two(2, otherwise);
    if (dims.size() == 2)
      two = {values[dims[0]], values[dims[1]]};
    else if (dims.size() == 1)
      two[1] = values[dims[0]];
    return two;
  };
  Shape low = both(w.low, 0), high = both(w.high, 0);
  Value dx = MaxPoolGradOp::create(l.builder, l.loc, getType(x).clone(before.shape),
                                   after.to(l, source), before.to(l, x), both(w.sizes, 1),
                                   both(w.strides, 1),
                                   ArrayRef<int64_t>{low[0], high[0], low[1], high[1]});
  Value y = before.from(l, dx), first = l.get(2);
  l.set(l.isNeutral("add", first) ? y : l.add(y, first));
}

void mpt::stablehlo::populateWindows(Table &t) {
  t.add({"stablehlo.reduce_window"}, reduceWindow);
  t.add({"stablehlo.select_and_scatter"}, selectAndScatter);
}
