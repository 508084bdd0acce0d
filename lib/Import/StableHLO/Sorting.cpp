//===- Sorting.cpp - sort and top_k ------------------------------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each element's place is the number of elements before it: n comparisons for each of n.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "ScalarRegion.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

/// The index of the element that comes at each place of the last dimension, in i64. Equal
/// elements keep their order; NaN is larger than all.
static Value sortedIndices(Lowering &l, Value last, bool descending) {
  int64_t size = getShape(last).back();
  Type i64 = l.builder.getI64Type();
  if (!l.require(size <= 8192, "sorting more than 8192 elements"))
    return l.constant(0, i64, getShape(last));
  if (getElement(last).isInteger(1))
    last = l.cast(last, l.builder.getI8Type());
  bool floats = isa<FloatType>(getElement(last));
  if (floats)
    last = l.unary<StopGradientOp>(last);
  Shape across(getShape(last)), down(getShape(last));
  across.insert(across.end() - 1, 1); // [.., 1, n]: the others
  down.push_back(1);                  // [.., n, 1]: the element
  Value other = l.reshape(last, across), mine = l.reshape(last, down);
  Value before =
      l.compare(descending ? ComparePredicate::GT : ComparePredicate::LT, other, mine);
  Value equal = l.compare(ComparePredicate::EQ, other, mine);
  if (floats) {
    auto isNaN = [&](Value x) { return l.compare(ComparePredicate::NE, x, x); };
    auto isNumber = [&](Value x) { return l.compare(ComparePredicate::EQ, x, x); };
    Value first = descending ? other : mine, second = descending ? mine : other;
    before = l.binary<OrOp>(before, l.binary<AndOp>(isNaN(first), isNumber(second)));
    equal = l.binary<OrOp>(equal, l.binary<AndOp>(isNaN(mine), isNaN(other)));
  }
  Value earlier = l.compare(ComparePredicate::LT, l.iota({1, size}, 1, i64),
                            l.iota({size, 1}, 0, i64));
  before = l.binary<OrOp>(before, l.binary<AndOp>(equal, earlier));
  Value place = l.reduceLast(ReduceKind::Sum, l.cast(before, i64));
  // The inverse permutation: at place k the one element whose place is k.
  Value at = l.compare(ComparePredicate::EQ, l.reshape(place, across),
                       l.iota({size, 1}, 0, i64));
  Value zero = l.constant(0, i64);
  return l.reduceLast(ReduceKind::Sum, l.where(at, l.iota({1, size}, 1, i64), zero));
}

/// Elements of `last` at `indices` of its last dimension.
static Value takeLast(Lowering &l, Value last, Value indices) {
  Type element = getElement(last);
  if (element.isInteger(1))
    return l.cast(takeLast(l, l.cast(last, l.builder.getI8Type()), indices), element);
  SmallVector<Value> coordinates;
  Type i64 = l.builder.getI64Type();
  int64_t rank = getRank(last);
  for (int64_t dim : llvm::seq<int64_t>(0, rank - 1)) {
    Shape shape(rank, 1);
    shape[dim] = getShape(last)[dim];
    coordinates.push_back(l.iota(shape, dim, i64));
  }
  coordinates.push_back(indices);
  Value flat = l.reshape(last, {getType(last).getNumElements()});
  return l.gather(flat, l.linearize(coordinates, getShape(last)));
}

/// Does the comparator order its operands by the first two arguments alone? Nothing if
/// not; else whether the order is descending.
static std::optional<bool> getOrder(Block &comparator) {
  unsigned count = comparator.getNumArguments();
  auto before = [&](double a, double b, double others) -> std::optional<bool> {
    SmallVector<double> arguments{a, b};
    for (unsigned i = 2; i < count; ++i)
      arguments.push_back(i % 2 ? -others : others);
    std::optional<SmallVector<double>> results = evaluateScalars(comparator, arguments);
    if (!results || results->size() != 1)
      return std::nullopt;
    return (*results)[0] != 0;
  };
  for (bool descending : {false, true}) {
    bool holds = true;
    for (double others : {-1.0, 1.0}) {
      holds = holds && before(1, 2, others) == !descending &&
              before(2, 1, others) == descending &&
              before(-3, 0, others) == !descending && before(1, 1, others) == false;
    }
    if (holds)
      return descending;
  }
  return std::nullopt;
}

static void sort(Lowering &l) {
  SmallVector<Value> values = l.getAll();
  int64_t dim = l.integer("dimension", -1);
  if (!l.require(!values.empty() && l.op->getNumResults() == values.size() &&
                     l.op->getNumRegions() == 1 && l.op->getRegion(0).hasOneBlock() &&
                     l.op->getRegion(0).getNumArguments() == 2 * values.size(),
                 "expected as many results as operands, and a comparator"))
    return;
  int64_t rank = getRank(values[0]);
  dim += dim < 0 ? rank : 0;
  if (!l.require(dim >= 0 && dim < rank, "a dimension that is not there"))
    return;
  std::optional<bool> descending = getOrder(l.op->getRegion(0).front());
  if (!l.require(descending.has_value(),
                 "a comparator other than the order of the first operand") ||
      !l.require(!l.isUnsigned(0), "an order of unsigned integers"))
    return;
  Value indices = sortedIndices(l, l.moveToLast(values[0], dim), *descending);
  for (auto [i, value] : llvm::enumerate(values))
    if (l.refusal.empty())
      l.set(l.moveFromLast(takeLast(l, l.moveToLast(value, dim), indices), dim), i);
}

static void topK(Lowering &l) {
  Value x = l.get(0);
  int64_t k = l.integer("k", -1), rank = getRank(x);
  if (!l.require(rank >= 1 && k >= 0 && k <= getShape(x)[rank - 1] &&
                     l.op->getNumResults() == 2,
                 "expected k elements of the last dimension"))
    return;
  Value indices = l.slice(sortedIndices(l, x, /*descending=*/true), rank - 1, 0, k);
  if (!l.refusal.empty())
    return;
  l.set(takeLast(l, x, indices), 0);
  l.set(l.cast(indices, l.resultType(1).getElementType()), 1);
}

void mpt::stablehlo::populateSorting(Table &t) {
  t.add({"stablehlo.sort"}, sort);
  t.add({"chlo.top_k"}, topK);
}
