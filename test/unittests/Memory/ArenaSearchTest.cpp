//===- ArenaSearchTest.cpp - The search in the order of offsets -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The search in the order of offsets by itself, against all offsets of small cases;
/// both searches together are tested with planArena.
///
//===----------------------------------------------------------------------===//

#include "../../../lib/Memory/Planning/ArenaSearch.h"
#include "gtest/gtest.h"
#include <random>

using namespace mpt;

namespace {

bool collide(const ArenaBuffer &a, int64_t offsetA, const ArenaBuffer &b,
             int64_t offsetB) {
  return a.begin <= b.end && b.begin <= a.end && offsetA < offsetB + b.bytes &&
         offsetB < offsetA + a.bytes;
}

/// Whether some offsets, all of which are tried, fit into `capacity`.
bool fitsSomehow(llvm::ArrayRef<ArenaBuffer> buffers, int64_t capacity,
                 std::vector<int64_t> &offsets) {
  const size_t next = offsets.size();
  if (next == buffers.size())
    return true;
  for (int64_t offset = 0; offset + buffers[next].bytes <= capacity; ++offset) {
    bool free = true;
    for (size_t i = 0; i < next && free; ++i)
      free = !collide(buffers[i], offsets[i], buffers[next], offset);
    if (!free)
      continue;
    offsets.push_back(offset);
    if (fitsSomehow(buffers, capacity, offsets))
      return true;
    offsets.pop_back();
  }
  return false;
}

ArenaSearchResult search(llvm::ArrayRef<ArenaBuffer> buffers, int64_t capacity,
                         unsigned attempt, int64_t steps = int64_t(1) << 24) {
  unsigned sections = 0;
  const llvm::SmallVector<ArenaItem> items = makeArenaItems(buffers, sections);
  ArenaOffsetSearch search(items, sections, capacity);
  int64_t used = 0;
  // A second run begins anew.
  search.run(attempt + 1, 10, used);
  ArenaSearchResult result = search.run(attempt, steps, used);
  EXPECT_GE(used, 0);
  EXPECT_LE(used, steps);
  if (result == ArenaSearchResult::Found)
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_GE(search.offsets[i], 0);
      EXPECT_LE(search.offsets[i] + buffers[i].bytes, capacity);
      for (size_t j = 0; j < i; ++j)
        EXPECT_FALSE(
            collide(buffers[i], search.offsets[i], buffers[j], search.offsets[j]));
    }
  return result;
}

/// Buffers that fill `capacity` at all times: some die, and others of the same sum are
/// born in their place, wherever that is.
std::vector<ArenaBuffer> makeFullTimes(unsigned seed, int64_t capacity, int64_t times) {
  std::mt19937 random(seed);
  std::vector<ArenaBuffer> buffers;
  for (int64_t time = 0; time < times; ++time) {
    int64_t freed = time ? 0 : capacity;
    for (ArenaBuffer &buffer : buffers)
      if (buffer.end == times && random() % 2) {
        buffer.end = time - 1;
        freed += buffer.bytes;
      }
    while (freed > 0) {
      int64_t size = std::min<int64_t>(freed, 1 + random() % 3);
      buffers.push_back({size, time, times});
      freed -= size;
    }
  }
  return buffers;
}

TEST(ArenaOffsetSearch, FindsWhatThereIsAndNothingElse) {
  int fitting = 0, fragmented = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    constexpr int64_t alive = 5;
    std::vector<ArenaBuffer> buffers = makeFullTimes(seed, alive, 9);
    for (int64_t capacity = alive - 1; capacity <= alive + 2; ++capacity) {
      std::vector<int64_t> offsets;
      const bool fits = fitsSomehow(buffers, capacity, offsets);
      fitting += fits && capacity == alive;
      fragmented += !fits && capacity >= alive;
      for (unsigned attempt = 0; attempt < ArenaOffsetSearch::rankings; ++attempt)
        EXPECT_EQ(search(buffers, capacity, attempt),
                  fits ? ArenaSearchResult::Found : ArenaSearchResult::Impossible)
            << "seed " << seed << ", capacity " << capacity << ", attempt " << attempt;
    }
  }
  EXPECT_GT(fitting, 20);
  EXPECT_GT(fragmented, 2);
}

TEST(ArenaOffsetSearch, StepsAreUsedUp) {
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 100; ++i)
    buffers.push_back({1 + i % 7, i, i + 20});
  EXPECT_EQ(search(buffers, 60, 0, 50), ArenaSearchResult::StepsUsedUp);
}

} // namespace
