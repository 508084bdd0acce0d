//===- ArenaPlanTest.cpp - Tests of the arena planner -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/ArenaPlan.h"
#include "llvm/Support/MathExtras.h"
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
      bool together = buffers[i].begin <= buffers[j].end &&
                      buffers[j].begin <= buffers[i].end;
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
      buffers.push_back({int64_t(random() % 5000), begin,
                         begin + int64_t(random() % 40)});
    }
    ArenaPlan plan = planArena(buffers);
    expectValid(buffers, plan);
    // Greedy placement has no useful guarantee; a plan twice the bound on
    // such input would mean that a rule is broken.
    EXPECT_LE(plan.bytes, 2 * plan.lowerBound);
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
