//===- Sorting.cpp - sort and top_k ------------------------------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "ScalarRegion.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

/// Does the comparator order its operands by the first two arguments alone? Nothing if
/// not; otherwise whether the order is descending.
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

/// Any comparator, such as several keys. Few elements are compared each with each.
static Value indicesByComparator(Lowering &l, Block &comparator, ArrayRef<Value> values,
                                 int64_t dim) {
  // What the comparator does not read may be anything.
  SmallVector<Value> keys;
  SmallVector<int64_t> place;
  for (auto [i, value] : llvm::enumerate(values)) {
    bool isRead = !comparator.getArgument(2 * i).use_empty() ||
                  !comparator.getArgument(2 * i + 1).use_empty();
    place.push_back(isRead ? keys.size() : 0);
    if (isRead)
      keys.push_back(l.moveToLast(value, dim));
  }
  if (keys.empty())
    keys.push_back(l.moveToLast(values[0], dim));
  auto comesBefore = [&](ArrayRef<Value> a, ArrayRef<Value> b) -> Value {
    SmallVector<Value> arguments;
    for (int64_t key : place)
      arguments.append({a[key], b[key]});
    SmallVector<Value> results = l.applyBody(comparator, arguments);
    if (!l.require(results.size() == 1, "a body with other than elementwise ops"))
      return a[0];
    return results[0];
  };
  Shape square(getShape(keys[0]));
  int64_t size = square.back();
  if (size > Lowering::kManyElements)
    return l.sortedByNetwork(keys, comesBefore);
  square.push_back(size);
  SmallVector<Value> others, mine;
  for (Value key : keys) {
    Shape across(square), down(square);
    across[across.size() - 2] = 1; // [.., 1, n]: the others
    down.back() = 1;               // [.., n, 1]: the element
    others.push_back(l.broadcast(l.reshape(key, across), square));
    mine.push_back(l.broadcast(l.reshape(key, down), square));
  }
  Value first = comesBefore(others, mine);
  Value second = comesBefore(mine, others);
  if (!l.refusal.empty())
    return first;
  // Equal elements come before each other by a comparator that is not strict.
  Value before = l.binary<AndOp>(first, l.logicalNot(second));
  return l.sortedIndices(before, l.logicalNot(l.binary<XorOp>(first, second)));
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
  if (getType(values[0]).getNumElements() == 0) {
    for (auto [i, value] : llvm::enumerate(values))
      l.set(value, i);
    return;
  }
  Block &comparator = l.op->getRegion(0).front();
  Value indices;
  if (std::optional<bool> descending = getOrder(comparator)) {
    Value keys = l.isUnsigned(0) ? l.flipSign(values[0]) : values[0];
    indices = l.sortedIndices(l.moveToLast(keys, dim), *descending);
  } else {
    indices = indicesByComparator(l, comparator, values, dim);
  }
  if (!l.refusal.empty())
    return;
  for (auto [i, value] : llvm::enumerate(values))
    if (l.refusal.empty())
      l.set(l.moveFromLast(l.takeLast(l.moveToLast(value, dim), indices), dim), i);
}

static void topK(Lowering &l) {
  Value x = l.get(0);
  int64_t k = l.integer("k", -1), rank = getRank(x);
  if (!l.require(rank >= 1 && k >= 0 && k <= getShape(x)[rank - 1] &&
                     l.op->getNumResults() == 2,
                 "expected k elements of the last dimension"))
    return;
  Value keys = l.isUnsigned(0) ? l.flipSign(x) : x;
  Value indices = l.extremeIndices(keys, k, /*largest=*/true);
  if (!l.refusal.empty())
    return;
  l.set(l.takeLast(x, indices), 0);
  l.set(l.cast(indices, l.resultType(1).getElementType()), 1);
}

void mpt::stablehlo::populateSorting(Table &t) {
  t.add({"stablehlo.sort"}, sort);
  t.add({"chlo.top_k"}, topK);
}
