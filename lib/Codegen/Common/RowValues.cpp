//===- RowValues.cpp - What loops over a row share --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowValues.h"
#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Where kept values lie while a row is walked.
struct CacheLevel {
  /// That kept values may take.
  int64_t bytes;
  /// Instructions from which a value is kept: a store and a load are hidden by fewer.
  unsigned leastCost;
};

} // namespace

/// A half or a third of a first-level cache, and of a second-level cache, which serves as
/// many bytes in two to four times the time.
static constexpr CacheLevel cacheLevels[] = {{16384, 8}, {262144, 12}};
static constexpr unsigned mostCost = 1000;
/// Of an f32, which is what most kept values are.
static constexpr int64_t bytesOfF32 = 4;

/// Vector instructions that an op takes, roughly.
static unsigned getCost(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return 0;
  if (isa<math::AbsFOp, math::FmaOp, math::FloorOp>(op))
    return 1;
  if (isa<math::MathDialect>(op.getDialect()))
    return 12;
  if (isa<arith::DivFOp>(op))
    return 6;
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return 4;
  if (isa<arith::TruncFOp>(op))
    return 4;
  return 1;
}

DenseMap<Value, unsigned>
mpt::detail::chooseRowValues(Block &body, function_ref<bool(Value)> isFull,
                             const DenseMap<Value, unsigned> &levels, unsigned mostLevels,
                             int64_t columns) {
  DenseMap<Value, unsigned> kept;
  const CacheLevel *cache = llvm::find_if(cacheLevels, [&](const CacheLevel &level) {
    return columns <= level.bytes / bytesOfF32;
  });
  if (mostLevels == 0 || cache == std::end(cacheLevels))
    return kept;
  auto computes = [&](Operation &op) {
    return op.getNumResults() == 1 && isFull(op.getResult(0)) &&
           !isa<kernel::RowReduceOp, kernel::ColumnReduceOp, arith::ConstantOp>(op);
  };
  DenseMap<Value, unsigned> costs;
  auto setCost = [&](Operation &op) {
    unsigned cost = getCost(op);
    for (Value operand : op.getOperands())
      if (!kept.contains(operand))
        cost = std::min(cost + costs.lookup(operand), mostCost);
    costs[op.getResult(0)] = cost;
    return cost;
  };
  for (Operation &op : body.without_terminator())
    if (computes(op))
      setCost(op);

  // The first and the last walk that compute a value, from its readers. What reads a kept
  // value does not compute its operands again.
  struct Walks {
    unsigned first = ~0u, last = 0;
  };
  DenseMap<Value, Walks> walks;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!computes(op))
      continue;
    Value value = op.getResult(0);
    Walks &own = walks[value];
    for (Operation *user : value.getUsers()) {
      Walks next = {mostLevels + 1, mostLevels + 1};
      if (isa<kernel::RowReduceOp>(user))
        next.first = next.last = levels.lookup(user->getResult(0));
      else if (user->getNumResults() == 1 && computes(*user))
        next = walks.lookup(user->getResult(0));
      own.first = std::min(own.first, next.first);
      own.last = std::max(own.last, next.last);
    }
    if (own.first < own.last && costs.lookup(value) >= cache->leastCost) {
      kept[value] = own.first;
      own.last = own.first;
    }
  }

  // With others kept a value may cost little.
  int64_t bytes = 0;
  for (Operation &op : body.without_terminator()) {
    if (!computes(op))
      continue;
    Value value = op.getResult(0);
    const unsigned cost = setCost(op);
    if (!kept.contains(value))
      continue;
    const int64_t width = storageOf(value.getType()).getIntOrFloatBitWidth() / 8;
    if (cost < cache->leastCost || columns > (cache->bytes - bytes) / width)
      kept.erase(value);
    else
      bytes += columns * width;
  }
  return kept;
}
