//===- ArenaSearch.cpp - Search for offsets within a capacity -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Backtracking over placements from the bottom up. Sections are the times at which
/// different sets of buffers are alive; a section's floor is the height up to which it
/// is filled. Of Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
/// Hardware-Accelerated Machine Learning" (ASPLOS 2023) it has that solutions are
/// looked for in which every buffer has been pushed down, that floors are raised to
/// where the lowest buffer can lie, and that parts of time which no open buffer
/// connects are solved by themselves. Besides:
///
///  - A branch decides what lies at the lower corner of a valley, a run of sections
///    of one floor between higher ones: one of the buffers that begin (or end) there
///    and fit between its walls, or nothing up to where something can. So decisions
///    far apart in time do not bind each other, as they would in one global order by
///    offset.
///  - A buffer that is alive in all sections of a part can be moved to its top, since
///    what lies above it can be pushed down by its size.
///  - Of two buffers of one lifetime, one right on the other, one order is enough.
///  - What remains of a part depends on its open buffers, floors and capacity alone:
///    what has failed once is remembered by a hash of these.
///
/// Attempts differ in which corner is next, which of its candidates is first, and, the
/// later ones, in some noise on that; they take turns, with more steps each time, and
/// with those of ArenaOffsetSearch.cpp.
///
//===----------------------------------------------------------------------===//

#include "ArenaSearch.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <optional>
#include <tuple>

using namespace mpt;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

namespace {

using Result = ArenaSearchResult;

/// Failures that are remembered; a few dozen bytes each.
constexpr size_t maxFailures = 1 << 20;

/// A 64-bit mix (the finalizer of SplitMix64, by Steele, Lea and Flood).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Search {
public:
  Search(ArrayRef<ArenaItem> items, unsigned sections, int64_t capacity);

  /// Attempt number `attempt`.
  Result run(unsigned attempt, int64_t steps, int64_t &used);
  static constexpr unsigned rankings = 4, cornerRules = 3;

  SmallVector<int64_t> offsets;

private:
  /// Which corner is next.
  enum class CornerRule { FewestChoices, LowestFloor, LeastSlack };
  /// A choice: what lies at a corner.
  struct Corner {
    unsigned begin, end;
    bool right;
    /// The floor of the corner's section if nothing lies there.
    int64_t raised;
    bool mayWaste;
  };

  Result solve(ArrayRef<unsigned> open, int64_t top);
  Result solvePart(ArrayRef<unsigned> open, int64_t top);
  bool raiseFloors(ArrayRef<unsigned> open, unsigned left, unsigned right, int64_t top);
  Corner chooseCorner(ArrayRef<unsigned> open, unsigned left, unsigned right,
                      int64_t top);
  uint64_t hash(ArrayRef<unsigned> open, unsigned left, unsigned right,
                int64_t top) const;

  void set(int64_t &place, int64_t value) {
    trail.push_back({&place, place});
    place = value;
  }
  void undoTo(size_t mark) {
    while (trail.size() > mark) {
      auto [place, value] = trail.pop_back_val();
      *place = value;
    }
  }

  int64_t capacity;
  ArrayRef<ArenaItem> items;
  /// Per section: the height that is filled, the bytes that are still to be placed,
  /// and the item placed last (-1: none).
  SmallVector<int64_t> floors, remaining, topItems;
  SmallVector<int64_t> sectionBytes;
  /// Per item: the highest floor of its sections.
  SmallVector<int64_t> itemFloors;
  SmallVector<unsigned> ranks;
  CornerRule rule = CornerRule::FewestChoices;
  /// Old values of the above, to go back.
  SmallVector<std::pair<int64_t *, int64_t>> trail;
  llvm::DenseSet<uint64_t> failures;
  int64_t stepsLeft = 0;
  unsigned depth = 0;
};

Search::Search(ArrayRef<ArenaItem> items, unsigned sections, int64_t capacity)
    : offsets(items.size()), capacity(capacity), items(items), floors(sections),
      topItems(sections), sectionBytes(sections, 0), itemFloors(items.size()) {
  for (const ArenaItem &item : items)
    for (unsigned s = item.first; s <= item.last; ++s)
      sectionBytes[s] += item.bytes;
}

/// Raises floors to where the lowest open buffer can lie, and items to the floors of
/// their sections. False if something does not fit below `top` any more.
bool Search::raiseFloors(ArrayRef<unsigned> open, unsigned left, unsigned right,
                         int64_t top) {
  SmallVector<int64_t, 64> lows;
  for (bool changed = true; changed;) {
    changed = false;
    lows.assign(right - left + 1, top);
    for (unsigned id : open) {
      const ArenaItem &item = items[id];
      int64_t floor = itemFloors[id];
      for (unsigned s = item.first; s <= item.last; ++s)
        floor = std::max(floor, floors[s]);
      if (floor + item.bytes > top)
        return false;
      if (floor > itemFloors[id])
        set(itemFloors[id], floor);
      for (unsigned s = item.first; s <= item.last; ++s)
        lows[s - left] = std::min(lows[s - left], floor);
      stepsLeft -= 1 + item.last - item.first;
    }
    for (unsigned s = left; s <= right; ++s) {
      if (lows[s - left] > floors[s]) {
        set(floors[s], lows[s - left]);
        changed = true;
      }
      if (floors[s] + remaining[s] > top)
        return false;
    }
  }
  return true;
}

Search::Corner Search::chooseCorner(ArrayRef<unsigned> open, unsigned left,
                                    unsigned right, int64_t top) {
  // Valleys, and for each section the one it is in (-1: none).
  SmallVector<std::pair<unsigned, unsigned>, 16> valleys;
  SmallVector<int, 64> valleyOf(right - left + 1, -1);
  for (unsigned begin = left; begin <= right;) {
    unsigned end = begin;
    while (end < right && floors[end + 1] == floors[begin])
      ++end;
    if ((begin == left || floors[begin - 1] > floors[begin]) &&
        (end == right || floors[end + 1] > floors[begin])) {
      for (unsigned s = begin; s <= end; ++s)
        valleyOf[s - left] = valleys.size();
      valleys.push_back({begin, end});
    }
    begin = end + 1;
  }
  // What may lie in the corners, and how low without that.
  struct Count {
    unsigned left = 0, right = 0;
    int64_t leftRaised = std::numeric_limits<int64_t>::max(), rightRaised = leftRaised;
  };
  SmallVector<Count, 16> counts(valleys.size());
  int64_t smallest = top, second = top;
  for (unsigned id : open) {
    second = std::min(second, std::max(smallest, items[id].bytes));
    smallest = std::min(smallest, items[id].bytes);
  }
  for (unsigned id : open) {
    const ArenaItem &item = items[id];
    const int valley = valleyOf[item.first - left];
    const bool inside = valley >= 0 && valley == valleyOf[item.last - left];
    if (inside) {
      // If it does not lie on the floor it lies on another.
      const int64_t higher =
          itemFloors[id] + (item.bytes == smallest ? second : smallest);
      Count &count = counts[valley];
      if (item.first == valleys[valley].first) {
        ++count.left;
        count.leftRaised = std::min(count.leftRaised, higher);
      }
      if (item.last == valleys[valley].second) {
        ++count.right;
        count.rightRaised = std::min(count.rightRaised, higher);
      }
      continue;
    }
    // It crosses a wall: it can lie above a corner, as high as that wall.
    for (unsigned v = 0; v < valleys.size(); ++v) {
      if (item.first <= valleys[v].first && valleys[v].first <= item.last)
        counts[v].leftRaised = std::min(counts[v].leftRaised, itemFloors[id]);
      if (item.first <= valleys[v].second && valleys[v].second <= item.last)
        counts[v].rightRaised = std::min(counts[v].rightRaised, itemFloors[id]);
    }
  }
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  Corner best{0, 0, false, 0, false};
  std::optional<Key> bestKey;
  for (unsigned v = 0; v < valleys.size(); ++v) {
    const std::pair<unsigned, unsigned> valley = valleys[v];
    auto consider = [&](bool isRight, unsigned count, int64_t raised) {
      const unsigned s = isRight ? valley.second : valley.first;
      const bool mayWaste = raised < top && raised + remaining[s] <= top;
      const int64_t slack = top - floors[s] - remaining[s], choices = count + mayWaste;
      const Key key = rule == CornerRule::FewestChoices ? Key(choices, slack, 0)
                      : rule == CornerRule::LowestFloor ? Key(floors[s], choices, slack)
                                                        : Key(slack, choices, 0);
      if (bestKey && *bestKey <= key)
        return;
      best = {valley.first, valley.second, isRight, raised, mayWaste};
      bestKey = key;
    };
    consider(false, counts[v].left, counts[v].leftRaised);
    consider(true, counts[v].right, counts[v].rightRaised);
  }
  stepsLeft -= right - left + 1 + open.size() * (1 + valleys.size() / 4);
  return best;
}

uint64_t Search::hash(ArrayRef<unsigned> open, unsigned left, unsigned right,
                      int64_t top) const {
  uint64_t value = mix(top);
  for (unsigned id : open)
    value ^= mix(mix(id + 1));
  for (unsigned s = left; s <= right; ++s)
    value = value * 3 + mix(mix(s) ^ uint64_t(floors[s]));
  return value;
}

/// Places all of `open`, which is sorted by first section, between the floors and
/// `top`.
Result Search::solve(ArrayRef<unsigned> open, int64_t top) {
  // Parts that share no section; small ones first, since a failure ends it all.
  SmallVector<ArrayRef<unsigned>, 4> parts;
  for (size_t begin = 0; begin < open.size();) {
    unsigned last = items[open[begin]].last;
    size_t end = begin + 1;
    for (; end < open.size() && items[open[end]].first <= last; ++end)
      last = std::max(last, items[open[end]].last);
    parts.push_back(open.slice(begin, end - begin));
    begin = end;
  }
  llvm::sort(parts, [](ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
    return std::pair(a.size(), a.front()) < std::pair(b.size(), b.front());
  });
  for (ArrayRef<unsigned> part : parts)
    if (Result result = solvePart(part, top); result != Result::Found)
      return result;
  return Result::Found;
}

Result Search::solvePart(ArrayRef<unsigned> open, int64_t top) {
  // Items and raised floors make the search deep; no sensible one gets there.
  if (stepsLeft <= 0 || depth > 4 * items.size() + 64)
    return Result::StepsUsedUp;
  unsigned left = items[open.front()].first, right = 0;
  for (unsigned id : open)
    right = std::max(right, items[id].last);

  SmallVector<unsigned> rest;
  for (unsigned id : open) {
    const ArenaItem &item = items[id];
    if (item.first != left || item.last != right) {
      rest.push_back(id);
      continue;
    }
    top -= item.bytes;
    offsets[id] = top;
    for (unsigned s = left; s <= right; ++s)
      set(remaining[s], remaining[s] - item.bytes);
  }
  if (rest.size() != open.size()) {
    for (unsigned s = left; s <= right; ++s)
      if (floors[s] + remaining[s] > top)
        return Result::Impossible;
    ++depth;
    Result result = solve(rest, top);
    --depth;
    return result;
  }

  if (!raiseFloors(open, left, right, top))
    return Result::Impossible;
  const uint64_t key = hash(open, left, right, top);
  if (failures.contains(key))
    return Result::Impossible;

  const Corner corner = chooseCorner(open, left, right, top);
  const unsigned section = corner.right ? corner.end : corner.begin;
  SmallVector<unsigned, 8> candidates;
  for (unsigned id : open)
    if (items[id].first >= corner.begin && items[id].last <= corner.end &&
        (corner.right ? items[id].last : items[id].first) == section)
      candidates.push_back(id);
  llvm::sort(candidates, [&](unsigned a, unsigned b) { return ranks[a] < ranks[b]; });
  const int64_t floor = floors[section];
  for (unsigned id : candidates) {
    const ArenaItem &item = items[id];
    const int64_t below = topItems[section];
    if (below >= 0 && items[below].first == item.first &&
        items[below].last == item.last && offsets[below] + items[below].bytes == floor &&
        ranks[below] > ranks[id])
      continue;
    const size_t mark = trail.size();
    offsets[id] = floor;
    for (unsigned s = item.first; s <= item.last; ++s) {
      set(floors[s], floor + item.bytes);
      set(remaining[s], remaining[s] - item.bytes);
      set(topItems[s], id);
    }
    rest.clear();
    for (unsigned other : open)
      if (other != id)
        rest.push_back(other);
    ++depth;
    Result result = solve(rest, top);
    --depth;
    if (result == Result::Found)
      return result;
    undoTo(mark);
    if (result == Result::StepsUsedUp)
      return result;
  }
  if (corner.mayWaste) {
    const size_t mark = trail.size();
    set(floors[section], corner.raised);
    ++depth;
    Result result = solvePart(open, top);
    --depth;
    if (result != Result::Impossible)
      return result;
    undoTo(mark);
  }
  if (failures.size() < maxFailures)
    failures.insert(key);
  return Result::Impossible;
}

Result Search::run(unsigned attempt, int64_t steps, int64_t &used) {
  for (int64_t bytes : sectionBytes)
    if (bytes > capacity)
      return Result::Impossible;
  rule = CornerRule(attempt / rankings % cornerRules);
  const uint64_t round = attempt / (rankings * cornerRules);
  SmallVector<unsigned> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  // From 3/4 to 5/4 of `value`, but in the first round all of it.
  auto blur = [&](int64_t value, unsigned id) {
    return round == 0 ? double(value)
                      : double(value) * (96 + mix(mix(id) + round) % 64) / 128;
  };
  auto key = [&](unsigned id) -> std::pair<double, double> {
    const double bytes = blur(items[id].bytes, 2 * id),
                 width = blur(int64_t(items[id].last) - items[id].first + 1, 2 * id + 1);
    switch (attempt % rankings) {
    case 0:
      return {bytes * width, bytes};
    case 1:
      return {width, bytes};
    case 2:
      return {bytes, width};
    default:
      return {-width, bytes};
    }
  };
  llvm::sort(order, [&](unsigned a, unsigned b) {
    const auto keyA = key(a), keyB = key(b);
    return keyA != keyB ? keyA > keyB : a < b;
  });
  ranks.resize(items.size());
  for (auto [rank, id] : llvm::enumerate(order))
    ranks[id] = rank;

  std::fill(floors.begin(), floors.end(), 0);
  std::fill(topItems.begin(), topItems.end(), -1);
  std::fill(itemFloors.begin(), itemFloors.end(), 0);
  remaining = sectionBytes;
  trail.clear();
  depth = 0;
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(items[a].first, a) < std::pair(items[b].first, b);
  });
  stepsLeft = steps;
  Result result = solve(order, capacity);
  used = steps - std::max<int64_t>(stepsLeft, 0);
  return result;
}

} // namespace

SmallVector<ArenaItem> mpt::makeArenaItems(ArrayRef<ArenaBuffer> buffers,
                                           unsigned &sections) {
  // Only times at which a buffer dies that was born since the last death matter: at
  // all others a subset of the same buffers is alive.
  SmallVector<std::pair<int64_t, bool>> events; // time, is a death
  for (const ArenaBuffer &buffer : buffers) {
    events.push_back({buffer.begin, false});
    events.push_back({buffer.end, true});
  }
  llvm::sort(events);
  SmallVector<int64_t> times;
  bool born = false;
  for (auto [time, isDeath] : events) {
    if (isDeath && born)
      times.push_back(time);
    born = !isDeath;
  }
  SmallVector<ArenaItem> items;
  for (const ArenaBuffer &buffer : buffers) {
    unsigned first = llvm::lower_bound(times, buffer.begin) - times.begin();
    unsigned last = llvm::upper_bound(times, buffer.end) - times.begin() - 1;
    items.push_back({buffer.bytes, first, last, buffer.begin, buffer.end});
  }
  sections = times.size();
  return items;
}

ArenaSearchResult mpt::searchArena(ArrayRef<ArenaBuffer> buffers, int64_t capacity,
                                   int64_t &steps, SmallVectorImpl<int64_t> &offsets) {
  unsigned sections = 0;
  const SmallVector<ArenaItem> items = makeArenaItems(buffers, sections);
  Search corners(items, sections, capacity);
  ArenaOffsetSearch byOffset(items, sections, capacity);
  constexpr unsigned cornerAttempts = Search::rankings * Search::cornerRules,
                     attempts = cornerAttempts + ArenaOffsetSearch::rankings;
  int64_t turn = 1 << 20;
  unsigned cornerAttempt = 0;
  for (unsigned attempt = 0; steps > 0; ++attempt) {
    int64_t used = 0;
    const unsigned inRound = attempt % attempts;
    const bool atCorners = inRound < cornerAttempts;
    const int64_t most = std::min(turn, steps);
    Result result = atCorners ? corners.run(cornerAttempt++, most, used)
                              : byOffset.run(inRound - cornerAttempts, most, used);
    steps -= std::max<int64_t>(used, 1);
    if (result == Result::Found) {
      const SmallVector<int64_t> &found = atCorners ? corners.offsets : byOffset.offsets;
      offsets.assign(found.begin(), found.end());
    }
    if (result != Result::StepsUsedUp)
      return result;
    if (inRound == attempts - 1)
      turn *= 2;
  }
  return Result::StepsUsedUp;
}
