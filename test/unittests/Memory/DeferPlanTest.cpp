//===- DeferPlanTest.cpp - Gradients to compute when they are read -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/DeferPlan.h"
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mpt;

namespace {

using Deferred = std::vector<unsigned>;

Deferred plan(llvm::ArrayRef<DeferCandidate> candidates, llvm::ArrayRef<int64_t> factors,
              int64_t overhead = 0) {
  llvm::SmallVector<unsigned> deferred = planDeferred(candidates, factors, overhead);
  return {deferred.begin(), deferred.end()};
}

TEST(DeferPlanTest, FactorsThatTakeLess) {
  EXPECT_EQ(plan({}, {}), Deferred{});
  EXPECT_EQ(plan({{10, {0, 1}}}, {4, 5}), Deferred{0});
  EXPECT_EQ(plan({{8, {0, 1}}}, {4, 5}), Deferred{});
  // The work counts, too.
  EXPECT_EQ(plan({{10, {0, 1}}}, {4, 5}, 2), Deferred{});
}

TEST(DeferPlanTest, SharedFactorsCountOnce) {
  // Neither is worth it alone: factors of 4 + 3 for 6 bytes.
  EXPECT_EQ(plan({{6, {0, 1}}, {6, {0, 2}}}, {4, 3, 3}), (Deferred{0, 1}));
  EXPECT_EQ(plan({{6, {0, 1}}}, {4, 3}), Deferred{});
  // A product of a tensor with itself.
  EXPECT_EQ(plan({{6, {0, 0}}}, {5}), Deferred{0});
}

/// The fewest bytes of all choices, by trying them.
int64_t findLeast(llvm::ArrayRef<DeferCandidate> candidates,
                  llvm::ArrayRef<int64_t> factors, int64_t overhead,
                  llvm::ArrayRef<unsigned> chosen, int64_t &ofChosen) {
  int64_t least = std::numeric_limits<int64_t>::max();
  unsigned asked = 0;
  for (unsigned number : chosen)
    asked |= 1u << number;
  for (unsigned choice = 0; choice < 1u << candidates.size(); ++choice) {
    int64_t bytes = 0;
    std::vector<bool> isKept(factors.size(), false);
    for (unsigned i = 0; i < candidates.size(); ++i) {
      bytes += choice >> i & 1 ? overhead : candidates[i].bytes;
      for (unsigned factor : candidates[i].factors)
        if (choice >> i & 1)
          isKept[factor] = true;
    }
    for (unsigned i = 0; i < factors.size(); ++i)
      bytes += isKept[i] ? factors[i] : 0;
    if (choice == asked)
      ofChosen = bytes;
    least = std::min(least, bytes);
  }
  return least;
}

TEST(DeferPlanTest, NoChoiceKeepsLess) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<DeferCandidate> candidates(1 + random() % 8);
    std::vector<int64_t> factors(1 + random() % 8);
    for (int64_t &bytes : factors)
      bytes = random() % 20;
    for (DeferCandidate &candidate : candidates) {
      candidate.bytes = random() % 30;
      for (int i = 0; i < 2; ++i)
        candidate.factors.push_back(random() % factors.size());
    }
    const int64_t overhead = random() % 4;
    int64_t ofChosen = -1;
    const int64_t least = findLeast(candidates, factors, overhead,
                                    plan(candidates, factors, overhead), ofChosen);
    EXPECT_EQ(ofChosen, least) << "round " << round;
  }
}

} // namespace
