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
                 "a comparator other than the order of the first operand"))
    return;
  Value keys = l.isUnsigned(0) ? l.flipSign(values[0]) : values[0];
  Value indices = l.sortedIndices(l.moveToLast(keys, dim), *descending);
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
  Value indices = l.slice(l.sortedIndices(keys, /*descending=*/true), rank - 1, 0, k);
  if (!l.refusal.empty())
    return;
  l.set(l.takeLast(x, indices), 0);
  l.set(l.cast(indices, l.resultType(1).getElementType()), 1);
}

void mpt::stablehlo::populateSorting(Table &t) {
  t.add({"stablehlo.sort"}, sort);
  t.add({"chlo.top_k"}, topK);
}
