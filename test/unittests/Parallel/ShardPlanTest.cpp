//===- ShardPlanTest.cpp - Which rank holds what of which tensor -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/ShardPlan.h"
#include <gtest/gtest.h>
#include <random>

using namespace mpt;

namespace {

using Pieces = std::vector<std::vector<int64_t>>;

/// tensor, rank, begin, end, offset
Pieces getPieces(const ShardLayout &layout) {
  Pieces pieces;
  for (const ShardLayout::Piece &piece : layout.pieces)
    pieces.push_back({piece.tensor, piece.rank, piece.begin, piece.end, piece.offset});
  return pieces;
}

TEST(ShardPlanTest, BlocksInOrderAndShortBlocksAfterThem) {
  // Three blocks and 100 elements, one block, and 50 elements.
  ShardLayout layout = planShards({3 * 4096 + 100, 4096, 50}, 2);
  EXPECT_EQ(layout.ranks, 2);
  EXPECT_EQ(layout.blocks, 2);
  EXPECT_EQ(layout.size, 2 * 4096 + 100);
  EXPECT_EQ(getPieces(layout), (Pieces{{0, 0, 0, 8192, 0},
                                       {0, 1, 8192, 12288, 0},
                                       {0, 0, 12288, 12388, 8192},
                                       {1, 1, 0, 4096, 4096},
                                       {2, 1, 0, 50, 8192}}));
}

TEST(ShardPlanTest, LongestShortBlocksFirst) {
  ShardLayout layout = planShards({10, 30, 20, 25}, 2);
  EXPECT_EQ(layout.blocks, 0);
  // 30 + 10 and 25 + 20.
  EXPECT_EQ(layout.size, 45);
  EXPECT_EQ(
      getPieces(layout),
      (Pieces{{0, 0, 0, 10, 30}, {1, 0, 0, 30, 0}, {2, 1, 0, 20, 25}, {3, 1, 0, 25, 0}}));
}

TEST(ShardPlanTest, FewerBlocksThanRanks) {
  ShardLayout layout = planShards({4096}, 4);
  EXPECT_EQ(layout.size, 4096);
  EXPECT_EQ(getPieces(layout), (Pieces{{0, 0, 0, 4096, 0}}));
  EXPECT_EQ(planShards({}, 4).size, 0);
  EXPECT_EQ(planShards({5}, 1).size, 5);
}

TEST(ShardPlanTest, LongTensorsAreOnePieceOfAllShards) {
  // 16 blocks and 10 elements, and 17 blocks: 34 blocks on 3 ranks.
  ShardLayout layout = planShards({16 * 4096 + 10, 17 * 4096}, 3);
  EXPECT_EQ(layout.blocks, 12);
  EXPECT_EQ(layout.size, 12 * 4096);
  EXPECT_EQ(getPieces(layout), (Pieces{{0, 0, 0, 49152, 0},
                                       {0, 1, 49152, 65546, 0},
                                       {1, 1, 0, 28672, 20480},
                                       {1, 2, 28672, 69632, 0}}));
}

TEST(ShardPlanTest, CutsAtBlocksAlone) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int64_t> counts(1 + random() % 12);
    int64_t total = 0;
    for (int64_t &count : counts)
      total += count = 1 + random() % (trial % 2 ? 5000 : 100000);
    // What fills the last blocks.
    for (int64_t count : counts)
      total += count >= 65536 ? (4096 - count % 4096) % 4096 : 0;
    const int64_t ranks = 1 + random() % 9;
    ShardLayout layout = planShards(counts, ranks);
    std::vector<int64_t> covered(counts.size());
    std::vector<std::vector<bool>> used(ranks, std::vector<bool>(layout.size));
    for (const ShardLayout::Piece &piece : layout.pieces) {
      ASSERT_EQ(piece.begin, covered[piece.tensor]);
      covered[piece.tensor] = piece.end;
      EXPECT_EQ(piece.begin % kShardBlock, 0);
      EXPECT_TRUE(piece.end % kShardBlock == 0 || piece.end == counts[piece.tensor]);
      // Whole blocks come first, at places that norms are summed by.
      const bool isWhole = piece.end % kShardBlock == 0 || counts[piece.tensor] >= 65536;
      EXPECT_EQ(isWhole, piece.offset < layout.blocks * kShardBlock);
      if (isWhole)
        EXPECT_EQ(piece.offset % kShardBlock, 0);
      for (int64_t at = 0; at < piece.getNumElements(); ++at) {
        ASSERT_FALSE(used[piece.rank][piece.offset + at]);
        used[piece.rank][piece.offset + at] = true;
      }
    }
    EXPECT_EQ(covered, counts);
    // As documented.
    EXPECT_LT(layout.size, (total + ranks - 1) / ranks + 3 * kShardBlock);
  }
}

} // namespace
