//===- ArenaPlanTest.cpp - Tests of the arena planner -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/ArenaPlan.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mpt;

namespace {

/// Checks by comparing all pairs that no two live buffers overlap, and that the
/// arena holds all of them.
void expectValid(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (size_t j = i + 1; j < buffers.size(); ++j) {
      bool together =
          buffers[i].begin <= buffers[j].end && buffers[j].begin <= buffers[i].end;
      bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                   plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.bytes, plan.lowerBound);
}

TEST(ArenaPlan, Empty) {
  ArenaPlan plan = planArena({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.lowerBound, 0);
}

TEST(ArenaPlan, ReusesWhatIsDead) {
  ArenaBuffer buffers[] = {{100, 0, 1}, {100, 1, 2}, {100, 2, 3}};
  ArenaPlan plan = planArena(buffers);
  expectValid(buffers, plan);
  EXPECT_EQ(plan.bytes, 256);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

TEST(ArenaPlan, EndIsIncluded) {
  // A result may not take the place of an operand read by the same step.
  ArenaBuffer buffers[] = {{64, 0, 1}, {64, 1, 1}};
  ArenaPlan plan = planArena(buffers);
  EXPECT_EQ(plan.bytes, 128);
}

TEST(ArenaPlan, KeepsWhatIsUsedLate) {
  // From step 2 on nothing takes the place of another one; before it does.
  ArenaBuffer buffers[] = {{64, 0, 1}, {64, 2, 2}, {64, 3, 3}, {64, 4, 4}};
  EXPECT_EQ(planArena(buffers).bytes, 64);
  ArenaOptions options;
  options.keptFrom = 2;
  ArenaPlan plan = planArena(buffers, options);
  expectValid(buffers, plan);
  EXPECT_EQ(plan.bytes, 192);
  EXPECT_EQ(plan.lowerBound, 192);
  options.keptFrom = 3;
  EXPECT_EQ(planArena(buffers, options).bytes, 128);
}

TEST(ArenaPlan, LowerBoundCountsAlignment) {
  ArenaBuffer buffers[] = {{1, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(planArena(buffers).lowerBound, 128);
}

TEST(ArenaPlan, RandomAreValidAndNearTheBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBuffer> buffers;
    for (int i = 0; i < 120; ++i) {
      int64_t begin = random() % 200;
      buffers.push_back(
          {int64_t(random() % 5000), begin, begin + int64_t(random() % 40)});
    }
    ArenaPlan plan = planArena(buffers);
    expectValid(buffers, plan);
    // Greedy placement has no useful guarantee; a plan twice the bound on
    // such input would mean that a rule is broken.
    EXPECT_LE(plan.bytes, 2 * plan.lowerBound);
  }
}

/// A packing of `capacity` bytes without a gap.
std::vector<ArenaBuffer> makePerfectPacking(unsigned seed, int64_t capacity) {
  std::mt19937 random(seed);
  struct Area {
    int64_t begin, end, low, high;
  };
  std::vector<Area> areas = {{0, 200, 0, capacity}}, done;
  // Cut areas of time and bytes in two, again and again.
  while (!areas.empty()) {
    Area area = areas.back();
    areas.pop_back();
    int64_t width = area.end - area.begin, height = area.high - area.low;
    if (width < 30 || height < 30 * 64 || random() % 12 == 0) {
      done.push_back(area);
    } else if (random() % 2) {
      int64_t cut = area.begin + 1 + random() % (width - 1);
      areas.push_back({area.begin, cut, area.low, area.high});
      areas.push_back({cut, area.end, area.low, area.high});
    } else {
      int64_t cut = area.low + 64 * (1 + random() % (height / 64 - 1));
      areas.push_back({area.begin, area.end, area.low, cut});
      areas.push_back({area.begin, area.end, cut, area.high});
    }
  }
  std::vector<ArenaBuffer> buffers;
  for (const Area &area : done)
    buffers.push_back({area.high - area.low, area.begin, area.end - 1});
  std::shuffle(buffers.begin(), buffers.end(), random);
  return buffers;
}

TEST(ArenaPlan, TheSearchFindsPerfectPackings) {
  constexpr int64_t capacity = 64 * 1000;
  int greedyFails = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<ArenaBuffer> buffers = makePerfectPacking(seed, capacity);
    ArenaOptions greedy;
    greedy.searchSteps = 0;
    greedyFails += planArena(buffers, greedy).bytes > capacity;
    ArenaPlan plan = planArena(buffers);
    expectValid(buffers, plan);
    EXPECT_EQ(plan.lowerBound, capacity);
    EXPECT_EQ(plan.bytes, capacity) << seed << ", " << buffers.size() << " buffers";
  }
  EXPECT_GT(greedyFails, 5);
}

TEST(ArenaPlan, CapacityIsEnough) {
  std::vector<ArenaBuffer> buffers = makePerfectPacking(3, 64 * 1000);
  ArenaOptions options;
  options.capacity = 64 * 1100;
  ArenaPlan plan = planArena(buffers, options);
  expectValid(buffers, plan);
  EXPECT_LE(plan.bytes, options.capacity);
}

TEST(ArenaPlan, SameInputSamePlan) {
  std::vector<ArenaBuffer> buffers = makePerfectPacking(5, 64 * 1000);
  EXPECT_EQ(planArena(buffers).offsets, planArena(buffers).offsets);
}

/// All offsets of small cases, against the plan.
TEST(ArenaPlan, SmallCasesAreOptimal) {
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round) {
    std::vector<ArenaBuffer> buffers;
    for (int i = 0; i < 5; ++i) {
      int64_t begin = random() % 6;
      buffers.push_back(
          {int64_t(1 + random() % 3), begin, begin + int64_t(random() % 4)});
    }
    ArenaOptions options;
    options.alignment = 1;
    ArenaPlan plan = planArena(buffers, options);
    int64_t least = plan.bytes;
    std::vector<int64_t> offsets(buffers.size(), 0);
    auto fits = [&] {
      for (size_t i = 0; i < buffers.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          if (buffers[i].begin <= buffers[j].end && buffers[j].begin <= buffers[i].end &&
              offsets[i] < offsets[j] + buffers[j].bytes &&
              offsets[j] < offsets[i] + buffers[i].bytes)
            return false;
      return true;
    };
    const int64_t limit = plan.bytes;
    for (bool more = true; more;) {
      int64_t arena = 0;
      for (size_t i = 0; i < buffers.size(); ++i)
        arena = std::max(arena, offsets[i] + buffers[i].bytes);
      if (arena < least && fits())
        least = arena;
      more = false;
      for (int64_t &offset : offsets) {
        if (++offset < limit) {
          more = true;
          break;
        }
        offset = 0;
      }
    }
    EXPECT_EQ(plan.bytes, least);
  }
}

TEST(ArenaPlan, ManyBuffers) {
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 20000; ++i)
    buffers.push_back({64 * (1 + i % 7), i, i + 3});
  ArenaPlan plan = planArena(buffers);
  EXPECT_LE(plan.bytes, 2 * plan.lowerBound);
  // All pairs would be slow; neighbours in time suffice.
  for (size_t i = 0; i < buffers.size(); ++i)
    for (size_t j = i + 1; j < std::min(buffers.size(), i + 4); ++j)
      EXPECT_TRUE(plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                  plan.offsets[j] + buffers[j].bytes <= plan.offsets[i]);
}

} // namespace
