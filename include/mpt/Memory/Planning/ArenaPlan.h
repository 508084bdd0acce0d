//===- ArenaPlan.h - Offsets of buffers in one arena -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Dynamic storage allocation: given sizes and lifetimes, find offsets in one
/// block so that buffers alive at the same time do not overlap, and keep the
/// block small. Pure: numbers in, numbers out.
///
/// Greedy placements in several orders come first: by size, by size times lifetime and
/// by lifetime, each into the lowest gap that fits (Pisarchyk and Lee, "Efficient
/// Memory Management for Deep Neural Net Inference", 2020), and a sweep over time that
/// takes the lowest free block (linear but for a logarithm; the only one for many
/// buffers). If the smallest of them is above the bound, searches with backtracking
/// look for less (ArenaSearch.cpp, ArenaOffsetSearch.cpp), for a number of steps that
/// does not depend on the machine.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_ARENAPLAN_H
#define MPT_MEMORY_PLANNING_ARENAPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>

namespace mpt {

/// A buffer that is alive from step `begin` to step `end`, both included.
struct ArenaBuffer {
  int64_t bytes;
  int64_t begin;
  int64_t end;
};

struct ArenaPlan {
  /// Byte offset of each buffer, a multiple of the alignment.
  llvm::SmallVector<int64_t> offsets;
  /// Size of the arena.
  int64_t bytes = 0;
  /// The most bytes alive at one step (sizes rounded up to the alignment): no
  /// plan can be smaller.
  int64_t lowerBound = 0;
};

struct ArenaOptions {
  /// Of offsets and sizes, in bytes.
  int64_t alignment = 64;
  /// An arena of so many bytes is small enough; 0: only the bound is.
  int64_t capacity = 0;
  /// Steps of the search, of some nanoseconds each; 0: none.
  int64_t searchSteps = int64_t(1) << 25;
  /// An arena of more bytes is of no use: where none can be this small, what the greedy
  /// placements find is not improved.
  int64_t mostBytes = std::numeric_limits<int64_t>::max();
  /// Buffers that are in use at this step or later keep their place until the last one,
  /// so that the steps from here on can run in another order.
  int64_t keptFrom = std::numeric_limits<int64_t>::max();
};

/// Plans offsets for `buffers`; the same input gives the same plan.
ArenaPlan planArena(llvm::ArrayRef<ArenaBuffer> buffers,
                    const ArenaOptions &options = {});

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_ARENAPLAN_H
