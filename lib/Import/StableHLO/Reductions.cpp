//===- Reductions.cpp - reduce of StableHLO --------------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A reduction whose results are each the sum, product, maximum, .. of one operand, or
/// the position of the largest or smallest element beside its value. The latter's body is
/// recognized by what it computes, not by how it is spelled. Other bodies combine
/// neighbors, in O(log size) steps.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "ScalarRegion.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

/// Does the body keep the larger (smaller) of two values and its position, the lower
/// position of equal ones, and NaN before all numbers?
static bool isArgExtreme(Block &block, bool largest, bool floats) {
  auto gives = [&](double a, double i, double b, double j, double value, double index) {
    std::optional<SmallVector<double>> results = evaluateScalars(block, {a, i, b, j});
    return results && results->size() == 2 && (*results)[1] == index &&
           ((*results)[0] == value || (value != value && (*results)[0] != (*results)[0]));
  };
  double better = largest ? 3 : -3, nan = std::numeric_limits<double>::quiet_NaN();
  bool numbers = gives(better, 5, 0, 2, better, 5) && gives(0, 2, better, 5, better, 5) &&
                 gives(better, 2, 0, 5, better, 2) && gives(0, 5, better, 2, better, 2) &&
                 gives(1, 2, 1, 5, 1, 2) && gives(1, 5, 1, 2, 1, 2);
  return numbers && (!floats || (gives(nan, 5, better, 2, nan, 5) &&
                                 gives(better, 2, nan, 5, nan, 5)));
}

/// Are the positions of `argExtreme` those of the one dimension that is reduced?
static bool hasPositions(Lowering &l, ArrayRef<int64_t> axes) {
  auto iota = l.get(1).getDefiningOp<IotaOp>();
  return axes.size() == 1 && iota && static_cast<int64_t>(iota.getAxis()) == axes[0] &&
         !getElement(l.get(0)).isInteger(1);
}

/// Values and positions: operands x, positions, and their first values.
static void argExtreme(Lowering &l, ArrayRef<int64_t> axes, bool largest) {
  Value x = l.get(0), positions = l.get(1);
  int64_t axis = axes[0];
  bool floats = isa<FloatType>(getElement(x));
  auto toOrder = [&](Value value) { return l.isUnsigned(0) ? l.flipSign(value) : value; };
  x = toOrder(x);
  Type element = getElement(positions);
  Value best = l.reduce(largest ? ReduceKind::Max : ReduceKind::Min, x, {axis});
  if (floats) {
    Value last = l.moveToLast(l.unary<StopGradientOp>(x), axis);
    if (!largest)
      last = l.neg(last);
    Value found = ArgmaxOp::create(l.builder, l.loc,
                                   getType(best).clone(l.builder.getI32Type()), last);
    l.set(best, 0);
    return l.set(l.cast(found, element), 1);
  }
  Shape kept(getShape(x));
  kept[axis] = 1;
  Value equal = l.compare(ComparePredicate::EQ, x, l.reshape(best, kept));
  int64_t size = getShape(x)[axis];
  Value candidates = l.where(equal, positions, l.constants({size}, element, {}));
  l.set(toOrder(best), 0);
  l.set(l.reduce(ReduceKind::Min, candidates, {axis}), 1);
}

/// Any body: neighbors are combined until one is left.
static void reduceByBody(Lowering &l, ArrayRef<int64_t> axes) {
  Block &body = l.op->getRegion(0).front();
  unsigned count = l.size() / 2;
  ArrayRef<int64_t> shape = getShape(l.get(0));
  Shape order(axes), rest;
  int64_t size = 1;
  for (int64_t axis : axes)
    size *= shape[axis];
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, dim)) {
      order.push_back(dim);
      rest.push_back(extent);
    }
  if (body.getNumArguments() != 2 * count || body.back().getNumOperands() != count)
    return l.refuse("expected a body of one argument for each operand and first value");
  SmallVector<Value> values;
  for (unsigned i : llvm::seq(0u, count)) {
    Shape rows(rest);
    rows.insert(rows.begin(), size);
    if (!l.require(getShape(l.get(i)) == shape, "operands of unequal shapes"))
      return;
    values.push_back(l.reshape(l.transpose(l.get(i), order), rows));
  }
  auto every = [&](ArrayRef<Value> from, int64_t begin, int64_t number, int64_t stride) {
    return llvm::map_to_vector(
        from, [&](Value x) { return l.slice(x, 0, begin, number, stride); });
  };
  auto combine = [&](SmallVector<Value> left, ArrayRef<Value> right) {
    llvm::append_range(left, right);
    return l.applyBody(body, left);
  };
  while (size > 1) {
    int64_t half = size / 2;
    SmallVector<Value> next =
        combine(every(values, 0, half, 2), every(values, 1, half, 2));
    if (next.empty())
      return;
    if (size % 2)
      for (auto [value, last] : llvm::zip_equal(next, every(values, size - 1, 1, 1)))
        value = l.concat({value, last}, 0);
    values = next;
    size = half + size % 2;
  }
  SmallVector<Value> first;
  for (unsigned i : llvm::seq(0u, count))
    first.push_back(l.broadcast(l.get(count + i), rest));
  if (size == 1) {
    for (Value &value : values)
      value = l.reshape(value, rest);
    first = combine(first, values);
  }
  for (auto [i, value] : llvm::enumerate(first))
    l.set(value, i);
}

static void reduce(Lowering &l) {
  auto array = dyn_cast_or_null<DenseI64ArrayAttr>(l.attribute("dimensions"));
  unsigned count = l.size() / 2;
  if (!l.require(array && count >= 1 && l.size() == 2 * count &&
                     l.op->getNumResults() == count && l.op->getNumRegions() == 1 &&
                     l.op->getRegion(0).hasOneBlock(),
                 "expected dimensions, as many first values as operands, and one body"))
    return;
  ArrayRef<int64_t> axes = array.asArrayRef();
  int64_t rank = getRank(l.get(0));
  if (!l.require(
          llvm::all_of(axes, [&](int64_t axis) { return axis >= 0 && axis < rank; }),
          "a dimension that is not there"))
    return;
  Block &body = l.op->getRegion(0).front();
  if (count == 2 && l.bodyOf(0, 0).empty() && hasPositions(l, axes)) {
    bool floats = isa<FloatType>(getElement(l.get(0)));
    for (bool largest : {true, false})
      if (isArgExtreme(body, largest, floats))
        return argExtreme(l, axes, largest);
  }
  if (llvm::any_of(llvm::seq(0u, count),
                   [&](unsigned index) { return l.bodyOf(0, index).empty(); }))
    return reduceByBody(l, axes);
  for (unsigned index : llvm::seq(0u, count)) {
    StringRef kind = l.bodyOf(0, index);
    bool flips = l.isUnsigned(index) && (kind == "maximum" || kind == "minimum");
    auto toOrder = [&](Value value) { return flips ? l.flipSign(value) : value; };
    Value first = l.get(count + index);
    Value value = l.reduceBy(kind, toOrder(l.get(index)), axes);
    if (flips || !l.isNeutral(kind, first))
      value = l.combine(kind, value, toOrder(first));
    l.set(toOrder(value), index);
  }
}

void mpt::stablehlo::populateReductions(Table &t) { t.add({"stablehlo.reduce"}, reduce); }
