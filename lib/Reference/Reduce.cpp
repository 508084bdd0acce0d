//===- Reduce.cpp - Sums, extremes and products -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

static double combine(double a, double b, ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return a + b;
  case ReduceKind::Max:
    return std::isnan(a) || a > b ? a : b;
  case ReduceKind::Min:
    return std::isnan(a) || a < b ? a : b;
  case ReduceKind::Prod:
    return a * b;
  }
  return a;
}

static int64_t combine(int64_t a, int64_t b, ReduceKind kind) {
  uint64_t x = a, y = b;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return static_cast<int64_t>(x + y);
  case ReduceKind::Max:
    return std::max(a, b);
  case ReduceKind::Min:
    return std::min(a, b);
  case ReduceKind::Prod:
    return static_cast<int64_t>(x * y);
  }
  return a;
}

/// What a reduction over nothing gives.
template <typename Number>
static Number getNeutral(ReduceKind kind, Number lowest, Number highest) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return 0;
  case ReduceKind::Max:
    return lowest;
  case ReduceKind::Min:
    return highest;
  case ReduceKind::Prod:
    return 1;
  }
  return 0;
}

Tensor mpt::reference::reduceTo(const Tensor &x, ArrayRef<int64_t> targets, int64_t size,
                                int64_t count, ReduceKind kind) {
  Tensor result;
  result.elementType = x.elementType;
  if (auto type = dyn_cast<IntegerType>(x.elementType)) {
    int64_t highest = llvm::APInt::getSignedMaxValue(type.getWidth()).getSExtValue();
    result.ints.assign(size, getNeutral<int64_t>(kind, -highest - 1, highest));
    for (size_t i = 0; i < targets.size(); ++i)
      result.ints[targets[i]] = combine(result.ints[targets[i]], x.ints[i], kind);
    return result;
  }
  double infinity = std::numeric_limits<double>::infinity();
  result.floats.assign(size, getNeutral<double>(kind, -infinity, infinity));
  for (size_t i = 0; i < targets.size(); ++i)
    result.floats[targets[i]] = combine(result.floats[targets[i]], x.floats[i], kind);
  if (kind == ReduceKind::Mean)
    for (double &value : result.floats)
      value /= static_cast<double>(count);
  return result;
}
