//===- ArenaSearch.h - Search for offsets within a capacity -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_PLANNING_ARENASEARCH_H
#define MPT_LIB_MEMORY_PLANNING_ARENASEARCH_H

#include "mpt/Memory/Planning/ArenaPlan.h"

#include <vector>

namespace mpt {

/// What a search ended with.
enum class ArenaSearchResult { Found, Impossible, StepsUsedUp };

/// A buffer with the sections in which it is alive, both included. Sections are the times
/// at which different sets of buffers are alive.
struct ArenaItem {
  int64_t bytes;
  unsigned first, last;
  /// Its lifetime.
  int64_t begin, end;
};

/// The buffers with their sections, of which `sections` becomes the number.
llvm::SmallVector<ArenaItem> makeArenaItems(llvm::ArrayRef<ArenaBuffer> buffers,
                                            unsigned &sections);

/// Searches in the order of offsets (ArenaOffsetSearch.cpp).
class ArenaOffsetSearch {
public:
  ArenaOffsetSearch(llvm::ArrayRef<ArenaItem> items, unsigned sections, int64_t capacity);

  /// Attempt number `attempt`; they differ in the rank of what has the same offset.
  ArenaSearchResult run(unsigned attempt, int64_t steps, int64_t &used);
  static constexpr unsigned rankings = 3;

  llvm::SmallVector<int64_t> offsets;

private:
  ArenaSearchResult solveRange(llvm::ArrayRef<unsigned> ids, unsigned begin,
                               unsigned end);
  ArenaSearchResult solveRanges(llvm::ArrayRef<unsigned> order,
                                llvm::ArrayRef<unsigned> starts, unsigned end);
  ArenaSearchResult place(llvm::ArrayRef<unsigned> order, unsigned begin, unsigned end,
                          int64_t lastOffset, unsigned lastRank);
  void raiseFloors(unsigned begin, unsigned end,
                   llvm::SmallVector<std::pair<unsigned, int64_t>> &old);

  llvm::ArrayRef<ArenaItem> items;
  int64_t capacity;
  /// Per item: the least offset that what is placed leaves it, and whether it is open.
  llvm::SmallVector<int64_t> low;
  llvm::SmallVector<bool> open;
  /// Per section: the height up to which it is filled, the bytes still to be placed, and
  /// the open items that are alive in the next section, too.
  llvm::SmallVector<int64_t> floors, remaining;
  llvm::SmallVector<unsigned> cuts;
  /// Per item: those with a section in common. Per section: its items.
  std::vector<llvm::SmallVector<unsigned>> neighbours, alive;
  unsigned ranking = 0;
  int64_t stepsLeft = 0;
};

/// Looks for offsets with which all `buffers` of non-zero bytes fit into
/// `capacity`; sizes and capacity are multiples of one unit. Takes from `steps`
/// what it needs of them: one for each lifetime's interval that it looks at, so that
/// the time is about proportional. `offsets` is written if they are found.
ArenaSearchResult searchArena(llvm::ArrayRef<ArenaBuffer> buffers, int64_t capacity,
                              int64_t &steps, llvm::SmallVectorImpl<int64_t> &offsets);

} // namespace mpt

#endif // MPT_LIB_MEMORY_PLANNING_ARENASEARCH_H
