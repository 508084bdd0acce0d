//===- BucketPlanTest.cpp - Which gradients are exchanged together -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/BucketPlan.h"
#include <gtest/gtest.h>

using namespace mpt;

namespace {

std::vector<std::vector<unsigned>> plan(llvm::ArrayRef<BucketGradient> gradients,
                                        int64_t bucketBytes) {
  std::vector<std::vector<unsigned>> buckets;
  for (auto &bucket : planBuckets(gradients, bucketBytes))
    buckets.emplace_back(bucket.begin(), bucket.end());
  return buckets;
}

using Buckets = std::vector<std::vector<unsigned>>;

TEST(BucketPlanTest, InTheOrderInWhichTheyAreThere) {
  EXPECT_EQ(plan({{30, 4}, {10, 4}, {20, 4}}, 8), (Buckets{{1, 2}, {0}}));
  // Those of one op in the order given, arguments first.
  EXPECT_EQ(plan({{5, 4}, {-1, 4}, {5, 4}}, 100), (Buckets{{1, 0, 2}}));
}

TEST(BucketPlanTest, UpToTheSize) {
  EXPECT_EQ(plan({{0, 8}, {1, 16}}, 24), (Buckets{{0, 1}}));
  EXPECT_EQ(plan({{0, 8}, {1, 16}}, 23), (Buckets{{0}, {1}}));
  // A large one goes by itself; what follows begins anew.
  EXPECT_EQ(plan({{0, 4}, {1, 100}, {2, 4}, {3, 4}}, 8), (Buckets{{0}, {1}, {2, 3}}));
  EXPECT_EQ(plan({{0, 0}, {1, 0}}, 1), (Buckets{{0, 1}}));
  EXPECT_EQ(plan({}, 8), (Buckets{}));
}

} // namespace
