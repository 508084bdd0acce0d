//===- LateUpdates.h - Small ops that run at the end ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On a GPU many small launches next to each other become one. An optimizer's updates are
/// such launches, but each runs where its gradient is made, and the gradient's memory is
/// used again after it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_LATEUPDATES_H
#define MPT_MEMORY_PLANNING_LATEUPDATES_H

#include "mpt/Memory/Planning/MemoryGraph.h"

namespace mpt {

struct LateUpdates {
  llvm::SmallVector<unsigned> order;
  /// The position of the first op that has waited.
  unsigned begin = 0;
};

/// The program's order, with ops that nothing else waits for moved to its end: those of
/// `mayWait` (by op) that read 1 to `mostBytes` bytes of the arena, need no workspace,
/// and whose results only such ops read. An op that reads nothing of the arena keeps its
/// place. With `byLevel` those that depend on no other of them come first, then those
/// that depend on these alone, and so on: equal ops of many parameters are next to each
/// other and their results are in memory at one time. Linear.
LateUpdates orderLateUpdates(const MemoryGraph &graph, llvm::ArrayRef<bool> mayWait,
                             int64_t mostBytes, bool byLevel);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_LATEUPDATES_H
