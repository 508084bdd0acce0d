//===- ArenaPlan.cpp - Offsets of buffers in one arena -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/ArenaPlan.h"

#include "ArenaSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mpt;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

namespace {

/// Above this many buffers only the sweep is run: placing into gaps compares each
/// buffer with all that were placed before it.
constexpr size_t maxBuffersByRank = 8192;
/// Above this many buffers there is no search: it goes as deep as there are buffers,
/// and would hardly get anywhere.
constexpr size_t maxBuffersOfSearch = 2048;

/// The most bytes alive at any step.
int64_t computeLowerBound(ArrayRef<ArenaBuffer> buffers, ArrayRef<int64_t> sizes) {
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

/// Greatest `rank` first, each into the lowest gap among the placed buffers that are
/// alive at the same time.
int64_t placeByRank(ArrayRef<ArenaBuffer> buffers, ArrayRef<int64_t> sizes,
                    llvm::function_ref<double(unsigned)> rank,
                    SmallVectorImpl<int64_t> &offsets) {
  SmallVector<double> ranks;
  for (unsigned id = 0; id < buffers.size(); ++id)
    ranks.push_back(rank(id));
  SmallVector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    if (ranks[a] != ranks[b])
      return ranks[a] > ranks[b];
    return std::pair(buffers[a].begin, a) < std::pair(buffers[b].begin, b);
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
    auto position = llvm::upper_bound(
        placed, id, [&](unsigned a, unsigned b) { return offsets[a] < offsets[b]; });
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
      auto block = llvm::find_if(freeBlocks,
                                 [&](const auto &entry) { return entry.second >= size; });
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

/// Looks for an arena between `target` and `plan`, halving what lies between.
void improveBySearch(ArrayRef<ArenaBuffer> buffers, ArrayRef<int64_t> sizes,
                     int64_t target, const ArenaOptions &options, ArenaPlan &plan) {
  SmallVector<ArenaBuffer> items;
  SmallVector<unsigned> ids;
  for (auto [id, buffer] : llvm::enumerate(buffers))
    if (sizes[id] > 0) {
      items.push_back({sizes[id], buffer.begin, buffer.end});
      ids.push_back(id);
    }
  int64_t steps = options.searchSteps;
  int64_t low = target;
  SmallVector<int64_t> offsets;
  // The first goal is the target, with half of the steps.
  for (int64_t goal = target; low < plan.bytes && steps > 0;) {
    const int64_t given = (steps + 1) / 2;
    int64_t left = given;
    if (searchArena(items, goal, left, offsets) == ArenaSearchResult::Found) {
      int64_t arena = 0;
      for (auto [item, offset] : llvm::enumerate(offsets)) {
        plan.offsets[ids[item]] = offset;
        arena = std::max(arena, offset + items[item].bytes);
      }
      plan.bytes = arena;
    } else {
      low = goal + options.alignment;
    }
    steps -= std::max<int64_t>(given - left, 1);
    goal = low + llvm::alignDown((plan.bytes - low) / 2, options.alignment);
  }
}

} // namespace

ArenaPlan mpt::planArena(ArrayRef<ArenaBuffer> given, const ArenaOptions &options) {
  ArenaPlan plan;
  SmallVector<ArenaBuffer> buffers(given);
  int64_t last = 0;
  for (const ArenaBuffer &buffer : buffers)
    last = std::max(last, buffer.end);
  for (ArenaBuffer &buffer : buffers)
    if (buffer.end >= options.keptFrom)
      buffer.end = last;
  SmallVector<int64_t> sizes;
  for (const ArenaBuffer &buffer : buffers)
    sizes.push_back(llvm::alignTo(buffer.bytes, options.alignment));
  plan.lowerBound = computeLowerBound(buffers, sizes);
  const int64_t target =
      std::max(plan.lowerBound, options.capacity / options.alignment * options.alignment);
  plan.offsets.resize(buffers.size());
  plan.bytes = placeByTime(buffers, sizes, plan.offsets);
  if (buffers.size() > maxBuffersByRank)
    return plan;
  auto lifetime = [&](unsigned id) {
    return double(buffers[id].end) - double(buffers[id].begin) + 1;
  };
  SmallVector<int64_t> offsets(buffers.size());
  auto tryRank = [&](llvm::function_ref<double(unsigned)> rank) {
    if (plan.bytes <= target)
      return;
    int64_t bytes = placeByRank(buffers, sizes, rank, offsets);
    if (bytes < plan.bytes) {
      plan.bytes = bytes;
      plan.offsets = offsets;
    }
  };
  tryRank([&](unsigned id) { return double(sizes[id]); });
  tryRank([&](unsigned id) { return double(sizes[id]) * lifetime(id); });
  tryRank(lifetime);
  if (plan.bytes > target && plan.lowerBound <= options.mostBytes &&
      buffers.size() <= maxBuffersOfSearch)
    improveBySearch(buffers, sizes, target, options, plan);
  return plan;
}
