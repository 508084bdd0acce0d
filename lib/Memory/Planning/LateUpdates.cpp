//===- LateUpdates.cpp - Small ops that run at the end -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/LateUpdates.h"

using namespace mpt;

llvm::SmallVector<unsigned> mpt::orderLateUpdates(const MemoryGraph &graph,
                                                  llvm::ArrayRef<bool> mayWait,
                                                  int64_t mostBytes) {
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
  llvm::SmallVector<unsigned> order;
  for (bool isLate : {false, true})
    for (unsigned number = 0; number < count; ++number)
      if (waits[number] == isLate)
        order.push_back(number);
  return order;
}
