//===- ArenaPlan.cpp - Offsets of buffers in one arena -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/ArenaPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mpt;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

namespace {

/// Above this many buffers only the sweep is run: placing by size compares
/// each buffer with all that were placed before it.
constexpr size_t maxBuffersBySize = 8192;

/// The most bytes alive at any step.
int64_t computeLowerBound(ArrayRef<ArenaBuffer> buffers,
                          ArrayRef<int64_t> sizes) {
  // Deaths sort after births of the same step, since ends are included.
  SmallVector<std::pair<int64_t, int64_t>> events;
  for (auto [buffer, size] : llvm::zip_equal(buffers, sizes)) {
    events.push_back({2 * buffer.begin, size});
    events.push_back({2 * buffer.end + 1, -size});
  }
  llvm::sort(events);
  int64_t live = 0, peak = 0;
  for (auto [time, size] : events) {
    live += size;
    peak = std::max(peak, live);
  }
  return peak;
}

/// Largest first, each into the lowest gap among the placed buffers that are
/// alive at the same time.
int64_t placeBySize(ArrayRef<ArenaBuffer> buffers, ArrayRef<int64_t> sizes,
                    SmallVectorImpl<int64_t> &offsets) {
  SmallVector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    if (sizes[a] != sizes[b])
      return sizes[a] > sizes[b];
    return buffers[a].begin < buffers[b].begin;
  });
  // Placed buffers, kept sorted by offset.
  SmallVector<unsigned> placed;
  int64_t arena = 0;
  for (unsigned id : order) {
    int64_t candidate = 0;
    for (unsigned other : placed) {
      if (buffers[other].end < buffers[id].begin ||
          buffers[id].end < buffers[other].begin)
        continue;
      if (offsets[other] >= candidate + sizes[id])
        break;
      candidate = std::max(candidate, offsets[other] + sizes[other]);
    }
    offsets[id] = candidate;
    arena = std::max(arena, candidate + sizes[id]);
    auto position = llvm::upper_bound(placed, id, [&](unsigned a, unsigned b) {
      return offsets[a] < offsets[b];
    });
    placed.insert(position, id);
  }
  return arena;
}

/// In order of birth, each into the lowest free block that fits.
int64_t placeByTime(ArrayRef<ArenaBuffer> buffers, ArrayRef<int64_t> sizes,
                    SmallVectorImpl<int64_t> &offsets) {
  struct Event {
    int64_t time;
    bool isBirth;
    unsigned id;
  };
  SmallVector<Event> events;
  for (unsigned id = 0; id < buffers.size(); ++id) {
    events.push_back({2 * buffers[id].begin, true, id});
    events.push_back({2 * buffers[id].end + 1, false, id});
  }
  llvm::stable_sort(events, [&](const Event &a, const Event &b) {
    if (a.time != b.time)
      return a.time < b.time;
    return sizes[a.id] > sizes[b.id];
  });
  std::map<int64_t, int64_t> freeBlocks; // offset -> bytes
  int64_t arena = 0;
  for (const Event &event : events) {
    int64_t size = sizes[event.id];
    if (size == 0) {
      offsets[event.id] = 0;
      continue;
    }
    if (event.isBirth) {
      auto block = llvm::find_if(
          freeBlocks, [&](const auto &entry) { return entry.second >= size; });
      if (block != freeBlocks.end()) {
        auto [offset, bytes] = *block;
        freeBlocks.erase(block);
        if (bytes > size)
          freeBlocks[offset + size] = bytes - size;
        offsets[event.id] = offset;
        continue;
      }
      // Grow the arena, taking in a free block at its end.
      int64_t offset = arena;
      if (!freeBlocks.empty()) {
        auto last = std::prev(freeBlocks.end());
        if (last->first + last->second == arena) {
          offset = last->first;
          freeBlocks.erase(last);
        }
      }
      offsets[event.id] = offset;
      arena = offset + size;
      continue;
    }
    auto [block, inserted] = freeBlocks.insert({offsets[event.id], size});
    auto next = std::next(block);
    if (next != freeBlocks.end() && block->first + block->second == next->first) {
      block->second += next->second;
      freeBlocks.erase(next);
    }
    if (block != freeBlocks.begin()) {
      auto previous = std::prev(block);
      if (previous->first + previous->second == block->first) {
        previous->second += block->second;
        freeBlocks.erase(block);
      }
    }
  }
  return arena;
}

} // namespace

ArenaPlan mpt::planArena(ArrayRef<ArenaBuffer> buffers, int64_t alignment) {
  ArenaPlan plan;
  SmallVector<int64_t> sizes;
  for (const ArenaBuffer &buffer : buffers)
    sizes.push_back(llvm::alignTo(buffer.bytes, alignment));
  plan.lowerBound = computeLowerBound(buffers, sizes);
  plan.offsets.resize(buffers.size());
  plan.bytes = placeByTime(buffers, sizes, plan.offsets);
  if (plan.bytes == plan.lowerBound || buffers.size() > maxBuffersBySize)
    return plan;
  SmallVector<int64_t> offsets(buffers.size());
  int64_t bytes = placeBySize(buffers, sizes, offsets);
  if (bytes < plan.bytes) {
    plan.bytes = bytes;
    plan.offsets = std::move(offsets);
  }
  return plan;
}
