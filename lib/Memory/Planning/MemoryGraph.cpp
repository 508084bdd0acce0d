//===- MemoryGraph.cpp - What a function keeps in memory, and when -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/MemoryGraph.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mpt;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t MemoryGraph::getBytes(MemoryKind kind) const {
  int64_t bytes = 0;
  for (const MemoryBuffer &buffer : buffers)
    if (buffer.kind == kind && buffer.updates < 0)
      bytes += buffer.bytes;
  return bytes;
}

SmallVector<unsigned> MemoryGraph::getPredecessors(unsigned index) const {
  const MemoryOp &op = ops[index];
  SmallVector<unsigned> before(op.after.begin(), op.after.end());
  for (unsigned input : op.inputs)
    if (buffers[input].producer >= 0 && buffers[input].producer != int64_t(index))
      before.push_back(buffers[input].producer);
  llvm::sort(before);
  before.erase(llvm::unique(before), before.end());
  return before;
}

void mpt::connectBuffers(MemoryGraph &graph) {
  for (MemoryBuffer &buffer : graph.buffers) {
    buffer.producer = -1;
    buffer.users.clear();
  }
  for (auto [i, op] : llvm::enumerate(graph.ops)) {
    for (unsigned input : op.inputs)
      graph.buffers[input].users.push_back(i);
    for (unsigned output : op.outputs)
      graph.buffers[output].producer = i;
  }
}

MemoryProfile mpt::profileMemory(const MemoryGraph &graph, ArrayRef<unsigned> order) {
  SmallVector<unsigned> kept;
  if (order.empty()) {
    kept.resize(graph.ops.size());
    std::iota(kept.begin(), kept.end(), 0);
    order = kept;
  }
  const int64_t end = graph.ops.size();
  SmallVector<int64_t> positions(graph.ops.size());
  for (auto [position, op] : llvm::enumerate(order))
    positions[op] = position;

  MemoryProfile profile;
  for (const MemoryBuffer &buffer : graph.buffers) {
    int64_t first = buffer.producer < 0 ? 0 : positions[buffer.producer];
    int64_t last = first;
    for (unsigned user : buffer.users)
      last = std::max(last, positions[user]);
    profile.lifetimes.push_back({first, buffer.returned ? end : last});
  }

  profile.blockOfBuffer.assign(graph.buffers.size(), -1);
  profile.blockOfWorkspace.assign(graph.ops.size(), -1);
  auto addBlock = [&](int64_t bytes, int64_t first, int64_t last) -> int64_t {
    profile.blocks.push_back({bytes, first, last});
    return profile.blocks.size() - 1;
  };
  for (auto [id, buffer] : llvm::enumerate(graph.buffers))
    if (buffer.inArena() && buffer.producer < 0)
      profile.blockOfBuffer[id] = addBlock(buffer.bytes, profile.lifetimes[id].first,
                                           profile.lifetimes[id].second);
  for (auto [position, index] : llvm::enumerate(order)) {
    const MemoryOp &op = graph.ops[index];
    for (unsigned output : op.outputs) {
      const MemoryBuffer &buffer = graph.buffers[output];
      int64_t &block = profile.blockOfBuffer[output];
      if (!buffer.inArena() || block >= 0)
        continue;
      const int64_t last = profile.lifetimes[output].second;
      for (auto [result, input] : op.inPlace) {
        const int64_t old = profile.blockOfBuffer[input];
        // A block that an output has taken already ends later, or is the
        // output's of this same op that dies at once.
        if (result != output || old < 0 ||
            profile.lifetimes[input].second != int64_t(position) ||
            profile.blocks[old].end != int64_t(position) ||
            graph.buffers[input].bytes != buffer.bytes ||
            llvm::any_of(
                op.outputs,
                [&](unsigned other) { return profile.blockOfBuffer[other] == old; }))
          continue;
        block = old;
        profile.blocks[old].end = last;
        break;
      }
      if (block < 0)
        block = addBlock(buffer.bytes, position, last);
    }
    const int64_t end = op.until < 0 ? int64_t(position) : positions[op.until];
    if (op.until >= 0)
      for (unsigned input : op.inputs) {
        const int64_t block = profile.blockOfBuffer[input];
        if (block < 0 ||
            llvm::any_of(
                op.outputs,
                [&](unsigned output) { return profile.blockOfBuffer[output] == block; }))
          continue;
        profile.blocks[block].end = std::max(profile.blocks[block].end, end);
        int64_t &last = profile.lifetimes[input].second;
        last = std::max(last, end);
      }
    const int64_t free = op.workspaceUntil < 0 ? end : positions[op.workspaceUntil];
    if (op.workspace > 0)
      profile.blockOfWorkspace[index] = addBlock(op.workspace, position, free);
  }
  for (int64_t bytes : graph.finalBlocks)
    profile.blockOfFinal.push_back(addBlock(bytes, end, end));

  SmallVector<int64_t> changes(end + 2, 0);
  for (const ArenaBuffer &block : profile.blocks) {
    changes[block.begin] += block.bytes;
    changes[block.end + 1] -= block.bytes;
  }
  int64_t live = 0;
  for (int64_t position = 0; position <= end; ++position) {
    live += changes[position];
    profile.bytes.push_back(live);
    if (live > profile.peak) {
      profile.peak = live;
      profile.peakPosition = position;
    }
  }
  return profile;
}

SmallVector<unsigned> mpt::getLiveBuffers(const MemoryGraph &graph,
                                          const MemoryProfile &profile,
                                          unsigned position) {
  SmallVector<unsigned> live;
  for (auto [id, lifetime] : llvm::enumerate(profile.lifetimes))
    if (graph.buffers[id].inArena() && lifetime.first <= position &&
        position <= lifetime.second)
      live.push_back(id);
  return live;
}
