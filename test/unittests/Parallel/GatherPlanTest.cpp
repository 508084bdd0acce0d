//===- GatherPlanTest.cpp - When sharded parameters are joined --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/GatherPlan.h"
#include <array>
#include <gtest/gtest.h>
#include <limits>

using namespace mpt;

namespace {

std::vector<unsigned> units(llvm::ArrayRef<UnitParameter> parameters, int64_t unitBytes) {
  llvm::SmallVector<unsigned> planned = planUnits(parameters, unitBytes);
  return {planned.begin(), planned.end()};
}

using Units = std::vector<unsigned>;

TEST(GatherPlanTest, UnitsUpToTheSize) {
  EXPECT_EQ(units({}, 8), Units{});
  EXPECT_EQ(units({{0, 4}, {1, 4}, {2, 4}}, 8), (Units{0, 0, 1}));
  // What one op reads stays together, however large.
  EXPECT_EQ(units({{0, 8}, {0, 8}, {1, 8}}, 8), (Units{0, 0, 1}));
  // A small one goes with the large one that follows.
  EXPECT_EQ(units({{0, 3}, {1, 100}, {2, 1}, {3, 100}}, 8), (Units{0, 0, 1, 1}));
  EXPECT_EQ(units({{0, 4}, {1, 100}}, 8), (Units{0, 1}));
  // Nothing overflows, and parameters without elements make no unit of their own.
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(units({{0, 1}, {1, 4}, {2, 0}}, most), (Units{0, 0, 0}));
  EXPECT_EQ(units({{0, 0}, {1, 4}}, 1), (Units{0, 0}));
}

TEST(GatherPlanTest, DefaultSize) {
  EXPECT_EQ(getDefaultUnitBytes(0), 1);
  EXPECT_EQ(getDefaultUnitBytes(1600), 100);
  EXPECT_EQ(getDefaultUnitBytes(int64_t(1) << 40), 25 << 20);
}

/// Three layers, forward and backward: units 0, 1, 2 are read at 0, 1, 2, 3 and so on.
llvm::SmallVector<UnitRead> layers() {
  return {{0, 0, PassKind::Forward},  {1, 1, PassKind::Forward},
          {2, 2, PassKind::Forward},  {2, 3, PassKind::Backward},
          {1, 4, PassKind::Backward}, {0, 5, PassKind::Backward}};
}

/// (unit, position of the exchange, position of the first reader) of each visit, in the
/// place of the exchange the visit that it is kept from, as a negative number - 1.
using Plan = std::vector<std::array<int64_t, 3>>;
Plan plan(llvm::ArrayRef<UnitRead> reads, llvm::ArrayRef<int64_t> bytes, int64_t prefetch,
          int64_t keptBytes) {
  Plan planned;
  for (const UnitVisit &visit : planGathers(reads, bytes, prefetch, keptBytes))
    planned.push_back(
        {visit.unit, visit.kept < 0 ? visit.gather : -visit.kept - 1, visit.begin});
  return planned;
}

TEST(GatherPlanTest, OneUnitAhead) {
  // The last unit would arrive again while it is read, so it stays.
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 1, 0),
            (Plan{{0, 0, 0}, {1, 0, 1}, {2, 1, 2}, {2, -3, 3}, {1, 3, 4}, {0, 4, 5}}));
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 0, 0),
            (Plan{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, 3, 3}, {1, 4, 4}, {0, 5, 5}}));
  // Two ahead, so does the one before it.
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 2, 0),
            (Plan{{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {2, -3, 3}, {1, 2, 4}, {0, 3, 5}}));
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 3, 0),
            (Plan{{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {2, -3, 3}, {1, -2, 4}, {0, 2, 5}}));
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 9, 0),
            (Plan{{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {2, -3, 3}, {1, -2, 4}, {0, -1, 5}}));
}

TEST(GatherPlanTest, KeepsWhatFits) {
  // What is needed soonest first: unit 2, then 1, then 0.
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 0, 4),
            (Plan{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, -3, 3}, {1, 4, 4}, {0, 5, 5}}));
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 0, 8),
            (Plan{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, -3, 3}, {1, -2, 4}, {0, 5, 5}}));
  EXPECT_EQ(plan(layers(), {4, 4, 4}, 0, 12),
            (Plan{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, -3, 3}, {1, -2, 4}, {0, -1, 5}}));
  // One that does not fit does not keep out a smaller one.
  EXPECT_EQ(plan(layers(), {4, 9, 4}, 0, 8),
            (Plan{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, -3, 3}, {1, 4, 4}, {0, -1, 5}}));
  // Unit 2 is there twice without it, and takes nothing of what may be kept.
  EXPECT_EQ(plan(layers(), {4, 4, 400}, 1, 4),
            (Plan{{0, 0, 0}, {1, 0, 1}, {2, 1, 2}, {2, -3, 3}, {1, -2, 4}, {0, 4, 5}}));
}

TEST(GatherPlanTest, PassesOfMicroBatches) {
  llvm::SmallVector<UnitRead> reads = layers();
  for (const UnitRead &read : layers())
    reads.push_back({read.unit, read.position + 6, read.pass});
  EXPECT_EQ(plan(reads, {4, 4, 4}, 1, 0).size(), 12u);
  // Kept all the time, each is joined once.
  Plan kept = plan(reads, {4, 4, 4}, 1, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(std::vector(kept.end() - 3, kept.end()),
            (Plan{{2, -3, 9}, {1, -2, 10}, {0, -1, 11}}));
}

TEST(GatherPlanTest, ReadsOfOnePass) {
  // Tied weights stay from their first reader to their last one; what reads parameters
  // alone is in the pass that it lies in.
  auto visits = planGathers({{0, 0, PassKind::Any},
                             {1, 1, PassKind::Forward},
                             {0, 2, PassKind::Forward},
                             {1, 3, PassKind::Any},
                             {0, 4, PassKind::Backward}},
                            {4, 4}, 1, 0);
  ASSERT_EQ(visits.size(), 3u);
  EXPECT_EQ(visits[0].begin, 0);
  EXPECT_EQ(visits[0].end, 2);
  EXPECT_EQ(visits[0].reads, (llvm::SmallVector<unsigned>{0, 2}));
  EXPECT_EQ(visits[1].end, 3);
  EXPECT_EQ(visits[2].unit, 0u);
  // Joined for itself, it would arrive at 1, while the first visit is not over.
  EXPECT_EQ(visits[2].kept, 0);
  EXPECT_TRUE(planGathers({}, {}, 1, 0).empty());
}

} // namespace
