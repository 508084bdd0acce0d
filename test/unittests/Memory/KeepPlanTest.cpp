//===- KeepPlanTest.cpp - What to keep rather than to fetch again -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/KeepPlan.h"
#include <gtest/gtest.h>
#include <limits>

using namespace mpt;

namespace {

using Kept = std::vector<unsigned>;

Kept plan(llvm::ArrayRef<int64_t> alive, llvm::ArrayRef<KeepCandidate> candidates,
          int64_t budget) {
  llvm::SmallVector<unsigned> kept = planKept(alive, candidates, budget);
  return {kept.begin(), kept.end()};
}

TEST(KeepPlanTest, ShortestFirst) {
  const std::vector<int64_t> alive = {1, 2, 3, 3, 2, 1};
  const std::vector<KeepCandidate> candidates = {{0, 6, 4}, {1, 5, 4}, {2, 4, 4}};
  EXPECT_EQ(plan(alive, candidates, 6), Kept{});
  EXPECT_EQ(plan(alive, candidates, 7), Kept{2});
  EXPECT_EQ(plan(alive, candidates, 10), Kept{2});
  EXPECT_EQ(plan(alive, candidates, 11), (Kept{1, 2}));
  EXPECT_EQ(plan(alive, candidates, 15), (Kept{0, 1, 2}));
}

TEST(KeepPlanTest, WhereThereIsRoom) {
  // Positions without room keep out what covers them, and nothing else.
  const std::vector<int64_t> alive = {0, 9, 0, 0};
  EXPECT_EQ(plan(alive, {{0, 2, 4}, {2, 4, 4}, {2, 3, 5}}, 8), Kept{2});
  EXPECT_EQ(plan(alive, {{0, 2, 4}, {2, 4, 4}, {3, 4, 4}}, 8), (Kept{1, 2}));
  // One that is needed at once takes nothing.
  EXPECT_EQ(plan(alive, {{1, 1, 100}}, 0), Kept{0});
  EXPECT_EQ(plan({}, {}, 0), Kept{});
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(plan({1, 1}, {{0, 2, most}}, most), Kept{});
}

} // namespace
