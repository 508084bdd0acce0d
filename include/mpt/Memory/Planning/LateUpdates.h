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

/// The program's order, with ops that nothing else waits for moved to its end: those of
/// `mayWait` (by op) that read 1 to `mostBytes` bytes of the arena, need no workspace,
/// and whose results only such ops read. An op that reads nothing of the arena keeps its
/// place. Linear.
llvm::SmallVector<unsigned> orderLateUpdates(const MemoryGraph &graph,
                                             llvm::ArrayRef<bool> mayWait,
                                             int64_t mostBytes);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_LATEUPDATES_H
