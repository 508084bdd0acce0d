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
/// recognized by what it computes, not by how it is spelled.
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

/// Values and positions: operands x, positions, and their first values.
static void argExtreme(Lowering &l, ArrayRef<int64_t> axes, bool largest) {
  Value x = l.get(0), positions = l.get(1);
  if (!l.require(axes.size() == 1, "positions along several dimensions"))
    return;
  int64_t axis = axes[0];
  // Positions that start at 0 and are those of the axis; else look them up.
  auto iota = positions.getDefiningOp<IotaOp>();
  if (!l.require(iota && static_cast<int64_t>(iota.getAxis()) == axis,
                 "positions that are not an iota along the reduced dimension"))
    return;
  bool floats = isa<FloatType>(getElement(x));
  if (!l.require(!getElement(x).isInteger(1), "the largest of truth values"))
    return;
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
  if (count == 2 && l.bodyOf(0, 0).empty()) {
    bool floats = isa<FloatType>(getElement(l.get(0)));
    for (bool largest : {true, false})
      if (isArgExtreme(body, largest, floats))
        return argExtreme(l, axes, largest);
  }
  for (unsigned index : llvm::seq(0u, count)) {
    StringRef kind = l.bodyOf(0, index);
    if (!l.require(!kind.empty(),
                   "a body other than add, multiply, maximum, minimum, and, "
                   "or, xor, or the position of the largest or smallest"))
      return;
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
