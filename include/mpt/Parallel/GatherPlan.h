//===- GatherPlan.h - When sharded parameters are joined --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a step joins parameters that its ranks hold in parts, and how long it keeps them
/// (ZeRO-3, Rajbhandari et al. 2020; units and prefetch as in Zhao et al. 2023, "PyTorch
/// FSDP"). Numbers alone: units of parameters that are joined together, and the ops that
/// read them.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PARALLEL_GATHERPLAN_H
#define MPT_PARALLEL_GATHERPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mpt {

struct UnitParameter {
  /// The place of the op that reads it first, among the ops of the step.
  int64_t position = 0;
  int64_t bytes = 0;
};

/// Cuts parameters, in the order in which a step first reads them, into units of
/// consecutive ones. Returns the unit of each, ascending from 0.
///
/// What one op reads first is in one unit. A unit takes what follows until it has half of
/// `unitBytes`, and beyond that what leaves it with no more than `unitBytes`.
llvm::SmallVector<unsigned> planUnits(llvm::ArrayRef<UnitParameter> parameters,
                                      int64_t unitBytes);

/// The default of `unitBytes`: a sixteenth of all parameters, but at most 25 MiB, as
/// buckets of gradients. With one unit that is computed with and one that arrives, a step
/// has an eighth of the parameters.
int64_t getDefaultUnitBytes(int64_t totalBytes);

/// How an op depends on the data and the loss of a step.
enum class PassKind {
  /// On parameters alone: it belongs to whatever pass it is in.
  Any,
  Forward,
  Backward
};

/// An op that reads parameters of a unit.
struct UnitRead {
  unsigned unit = 0;
  /// Its place among the ops of the step.
  int64_t position = 0;
  PassKind pass = PassKind::Any;
};

/// What reads one unit in one pass over the model, forward or backward.
struct UnitVisit {
  unsigned unit = 0;
  /// Of the first and the last op that reads it.
  int64_t begin = 0, end = 0;
  /// The unit is joined before the op at this position, which is `begin` or earlier.
  int64_t gather = 0;
  /// The visit whose joined parameters this one reads; -1: it joins them itself.
  int64_t kept = -1;
  /// Numbers of `reads`.
  llvm::SmallVector<unsigned> reads;
};

/// The visits of a step by `begin`. A pass ends where one of the other kind reads a
/// parameter, so each unit is joined once in each pass. Visit i is joined when visit
/// i - `prefetch` begins. `reads` are in any order.
///
/// Visits of one unit that follow each other share what is joined if that fits: in all,
/// at most `keptBytes` are kept from one to the next at any time, where a unit has
/// `bytes`. Those that are needed again soonest come first. A visit that would be joined
/// before the last op of the visit before it always shares that one's, and takes nothing
/// of `keptBytes`.
llvm::SmallVector<UnitVisit> planGathers(llvm::ArrayRef<UnitRead> reads,
                                         llvm::ArrayRef<int64_t> bytes, int64_t prefetch,
                                         int64_t keptBytes);

} // namespace mpt

#endif // MPT_PARALLEL_GATHERPLAN_H
