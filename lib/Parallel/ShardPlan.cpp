//===- ShardPlan.cpp - Which rank holds what of which tensor ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/ShardPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <queue>

using namespace mpt;

ShardLayout mpt::planShards(llvm::ArrayRef<int64_t> counts, int64_t ranks) {
  ShardLayout layout;
  layout.ranks = ranks;
  // Whole blocks of a tensor, and the elements of a short one.
  auto getWhole = [](int64_t count) {
    return hasWholeBlocks(count) ? llvm::divideCeil(count, kShardBlock)
                                 : count / kShardBlock;
  };
  auto getRest = [](int64_t count) {
    return hasWholeBlocks(count) ? 0 : count % kShardBlock;
  };
  int64_t blocks = 0;
  for (int64_t count : counts)
    blocks += getWhole(count);
  layout.blocks = llvm::divideCeil(blocks, ranks);

  // Short blocks, the longest first, to the rank that has the fewest elements.
  llvm::SmallVector<unsigned> shortest;
  for (auto [tensor, count] : llvm::enumerate(counts))
    if (getRest(count) != 0)
      shortest.push_back(tensor);
  llvm::stable_sort(shortest, [&](unsigned a, unsigned b) {
    return counts[a] % kShardBlock > counts[b] % kShardBlock;
  });
  using Load = std::pair<int64_t, int64_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> loads;
  if (!shortest.empty())
    for (int64_t rank = 0; rank < ranks; ++rank)
      loads.push({0, rank});
  std::vector<Load> places(counts.size());
  int64_t most = 0;
  for (unsigned tensor : shortest) {
    auto [load, rank] = loads.top();
    loads.pop();
    // So that blocks of 8-bit state are not of two tensors.
    if (counts[tensor] >= kShardBlock)
      load = llvm::alignTo(load, kStateBlock);
    places[tensor] = {rank, layout.blocks * kShardBlock + load};
    load += getRest(counts[tensor]);
    most = std::max(most, load);
    loads.push({load, rank});
  }
  layout.size = layout.blocks * kShardBlock + most;

  int64_t next = 0;
  for (auto [tensor, count] : llvm::enumerate(counts)) {
    const int64_t whole = getWhole(count);
    for (int64_t at = 0; at < whole;) {
      const int64_t rank = next / layout.blocks, place = next % layout.blocks;
      const int64_t taken = std::min(whole - at, layout.blocks - place);
      layout.pieces.push_back({int64_t(tensor), rank, at * kShardBlock,
                               std::min((at + taken) * kShardBlock, count),
                               place * kShardBlock});
      at += taken;
      next += taken;
    }
    if (whole * kShardBlock < count)
      layout.pieces.push_back({int64_t(tensor), places[tensor].first, whole * kShardBlock,
                               count, places[tensor].second});
  }
  return layout;
}
