//===- ArenaOffsetSearch.cpp - Search in the order of offsets -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Backtracking over placements in the order of their offsets, of equal ones in that of
/// a rank: the search of Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
/// Hardware-Accelerated Machine Learning" (ASPLOS 2023). Each item lies right on what
/// has been placed below it; none lies so high that another open one would fit below
/// it; parts of time that no open item connects are solved by themselves.
///
//===----------------------------------------------------------------------===//

#include "ArenaSearch.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <tuple>

using namespace mpt;
using llvm::ArrayRef;
using llvm::SmallVector;
using Result = ArenaSearchResult;

ArenaOffsetSearch::ArenaOffsetSearch(ArrayRef<ArenaItem> items, unsigned sections,
                                     int64_t capacity)
    : offsets(items.size()), items(items), capacity(capacity), low(items.size()),
      open(items.size()), floors(sections), remaining(sections), cuts(sections),
      neighbours(items.size()), alive(sections) {
  for (auto [id, item] : llvm::enumerate(items)) {
    for (unsigned s = item.first; s <= item.last; ++s)
      alive[s].push_back(id);
    for (auto [other, otherItem] : llvm::enumerate(items))
      if (other != id && item.first <= otherItem.last && otherItem.first <= item.last)
        neighbours[id].push_back(other);
  }
}

Result ArenaOffsetSearch::run(unsigned attempt, int64_t steps, int64_t &used) {
  ranking = attempt % rankings;
  std::fill(low.begin(), low.end(), 0);
  std::fill(open.begin(), open.end(), true);
  std::fill(floors.begin(), floors.end(), 0);
  std::fill(cuts.begin(), cuts.end(), 0);
  for (auto [s, ids] : llvm::enumerate(alive)) {
    remaining[s] = 0;
    for (unsigned id : ids) {
      remaining[s] += items[id].bytes;
      cuts[s] += items[id].last > s;
    }
  }
  stepsLeft = steps;
  SmallVector<unsigned> all(items.size());
  std::iota(all.begin(), all.end(), 0);
  Result result = solveRange(all, 0, floors.size());
  used = steps - std::max<int64_t>(stepsLeft, 0);
  return result;
}

/// Solves the sections from `begin` to before `end`, in which `ids` are open.
Result ArenaOffsetSearch::solveRange(ArrayRef<unsigned> ids, unsigned begin,
                                     unsigned end) {
  // What is in a full section first, or what lives long.
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  SmallVector<std::pair<Key, unsigned>> keys;
  for (unsigned id : ids) {
    const ArenaItem &item = items[id];
    int64_t fullest = *std::max_element(remaining.begin() + item.first,
                                        remaining.begin() + item.last + 1);
    int64_t width = item.end - item.begin + 1, area = item.bytes * width;
    keys.push_back({ranking == 0   ? Key(-width, -area, -fullest)
                    : ranking == 1 ? Key(-fullest, -area, -width)
                                   : Key(-fullest, -width, -area),
                    id});
    stepsLeft -= 1 + item.last - item.first;
  }
  llvm::sort(keys);
  SmallVector<unsigned> order;
  for (auto [key, id] : keys)
    order.push_back(id);
  return place(order, begin, end, 0, 0);
}

/// The floor of a section is nowhere below the lowest of its open items.
void ArenaOffsetSearch::raiseFloors(unsigned begin, unsigned end,
                                    SmallVector<std::pair<unsigned, int64_t>> &old) {
  for (unsigned s = begin; s < end; ++s) {
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (unsigned id : alive[s])
      if (open[id])
        lowest = std::min(lowest, low[id]);
    stepsLeft -= alive[s].size();
    if (lowest == std::numeric_limits<int64_t>::max() || lowest <= floors[s])
      continue;
    old.push_back({s, floors[s]});
    floors[s] = lowest;
  }
}

/// Places what is open of `order`, in sections from `begin` to before `end`. Nothing is
/// placed below `lastOffset`, nor there if it has a lower rank than `lastRank`.
Result ArenaOffsetSearch::place(ArrayRef<unsigned> order, unsigned begin, unsigned end,
                                int64_t lastOffset, unsigned lastRank) {
  // Offset, rank and item.
  SmallVector<std::tuple<int64_t, unsigned, unsigned>> candidates;
  int64_t lowestTop = std::numeric_limits<int64_t>::max();
  for (auto [rank, id] : llvm::enumerate(order)) {
    if (!open[id])
      continue;
    candidates.push_back({low[id], rank, id});
    lowestTop = std::min(lowestTop, low[id] + items[id].bytes);
  }
  if (candidates.empty())
    return Result::Found;
  llvm::sort(candidates);
  stepsLeft -= order.size();
  for (auto [offset, rank, id] : candidates) {
    if (std::tuple(offset, rank) < std::tuple(lastOffset, lastRank))
      continue;
    if (offset >= lowestTop)
      break;
    if (stepsLeft <= 0)
      return Result::StepsUsedUp;
    const ArenaItem &item = items[id];
    const int64_t top = offset + item.bytes;
    SmallVector<std::pair<unsigned, int64_t>> oldLow, oldFloors;
    open[id] = false;
    offsets[id] = offset;
    unsigned raisedBegin = end, raisedEnd = begin;
    for (unsigned other : neighbours[id]) {
      if (!open[other] || low[other] >= top)
        continue;
      oldLow.push_back({other, low[other]});
      low[other] = top;
      raisedBegin = std::min(raisedBegin, items[other].first);
      raisedEnd = std::max(raisedEnd, items[other].last + 1);
    }
    for (unsigned s = item.first; s <= item.last; ++s) {
      oldFloors.push_back({s, floors[s]});
      floors[s] = top;
      remaining[s] -= item.bytes;
    }
    stepsLeft -= neighbours[id].size() + oldFloors.size() + end - begin;
    raiseFloors(raisedBegin, raisedEnd, oldFloors);
    bool fits = true;
    for (unsigned s = begin; s < end && fits; ++s)
      fits = std::max(floors[s], offset) + remaining[s] <= capacity;
    Result result = Result::Impossible;
    if (fits) {
      SmallVector<unsigned> starts = {begin};
      for (unsigned s = item.first; s < item.last; ++s)
        if (--cuts[s] == 0)
          starts.push_back(s + 1);
      result = starts.size() == 1 ? place(order, begin, end, offset, rank)
                                  : solveRanges(order, starts, end);
      for (unsigned s = item.first; s < item.last; ++s)
        ++cuts[s];
    }
    for (auto [s, floor] : llvm::reverse(oldFloors))
      floors[s] = floor;
    for (unsigned s = item.first; s <= item.last; ++s)
      remaining[s] += item.bytes;
    for (auto [other, value] : oldLow)
      low[other] = value;
    open[id] = true;
    if (result != Result::Impossible)
      return result;
  }
  return Result::Impossible;
}

/// Solves the ranges that begin at `starts`, the last of which ends before `end`.
Result ArenaOffsetSearch::solveRanges(ArrayRef<unsigned> order, ArrayRef<unsigned> starts,
                                      unsigned end) {
  for (auto [i, start] : llvm::enumerate(starts)) {
    const unsigned stop = i + 1 < starts.size() ? starts[i + 1] : end;
    SmallVector<unsigned> ids;
    for (unsigned id : order)
      if (open[id] && items[id].first >= start && items[id].first < stop)
        ids.push_back(id);
    if (ids.empty())
      continue;
    if (Result result = solveRange(ids, start, stop); result != Result::Found)
      return result;
  }
  return Result::Found;
}
