//===- LateUpdates.cpp - Small ops that run at the end -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/LateUpdates.h"

using namespace mpt;

LateUpdates mpt::orderLateUpdates(const MemoryGraph &graph, llvm::ArrayRef<bool> mayWait,
                                  int64_t mostBytes, bool byLevel) {
  const unsigned count = graph.ops.size();
  // An op that is needed by one that does not wait cannot wait.
  llvm::SmallVector<bool> waits(mayWait), isNeeded(count, false);
  for (unsigned number = count; number-- > 0;) {
    const MemoryOp &op = graph.ops[number];
    int64_t bytes = 0;
    for (unsigned input : op.inputs)
      if (graph.buffers[input].inArena())
        bytes += graph.buffers[input].bytes;
    if (isNeeded[number] || bytes == 0 || bytes > mostBytes || op.workspace != 0 ||
        op.until >= 0)
      waits[number] = false;
    if (!waits[number])
      for (unsigned before : graph.getPredecessors(number))
        isNeeded[before] = true;
  }
  // By how many that wait come before it, one after the other.
  LateUpdates updates;
  llvm::SmallVector<unsigned> level(count, 0);
  llvm::SmallVector<llvm::SmallVector<unsigned>> late;
  for (unsigned number = 0; number < count; ++number) {
    if (!waits[number]) {
      updates.order.push_back(number);
      continue;
    }
    if (byLevel)
      for (unsigned before : graph.getPredecessors(number))
        if (waits[before])
          level[number] = std::max(level[number], level[before] + 1);
    late.resize(std::max<size_t>(late.size(), level[number] + 1));
    late[level[number]].push_back(number);
  }
  updates.begin = updates.order.size();
  for (llvm::ArrayRef<unsigned> numbers : late)
    llvm::append_range(updates.order, numbers);
  return updates;
}
