//===- MinCutTest.cpp - Against every labelling -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/MinCut.h"
#include "gtest/gtest.h"
#include <random>

using namespace mpt;

namespace {

struct Network {
  struct Edge {
    uint32_t from, to;
    uint64_t capacity;
  };
  std::vector<uint64_t> source, sink;
  std::vector<Edge> edges;

  /// What it costs if exactly the nodes in `low` are on the source's side.
  uint64_t getCost(uint32_t low) const {
    uint64_t cost = 0;
    for (size_t i = 0; i < source.size(); ++i)
      cost += (low >> i & 1) ? sink[i] : source[i];
    for (const Edge &edge : edges)
      if ((low >> edge.from & 1) && !(low >> edge.to & 1))
        cost += edge.capacity;
    return cost;
  }
};

Network makeNetwork(std::mt19937 &random, uint32_t nodes) {
  auto pick = [&](uint32_t below) { return uint32_t(random() % below); };
  Network network;
  for (uint32_t i = 0; i < nodes; ++i) {
    network.source.push_back(pick(3) == 0 ? pick(10) : 0);
    network.sink.push_back(pick(3) == 0 ? pick(10) : 0);
  }
  for (uint32_t i = 0; i < 2 * nodes; ++i) {
    uint32_t from = pick(nodes), to = pick(nodes);
    if (from != to)
      network.edges.push_back({from, to, pick(5) == 0 ? MinCut::kInfinite : pick(10)});
  }
  return network;
}

TEST(MinCut, IsTheCheapestAndLargestOfAllCuts) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const uint32_t nodes = 2 + round % 9;
    Network network = makeNetwork(random, nodes);
    MinCut cut;
    for (uint32_t i = 0; i < nodes; ++i) {
      cut.addNode();
      cut.addSource(i, network.source[i]);
      cut.addSink(i, network.sink[i]);
    }
    for (const Network::Edge &edge : network.edges)
      cut.addEdge(edge.from, edge.to, edge.capacity);
    cut.solve();
    uint32_t found = 0;
    for (uint32_t i = 0; i < nodes; ++i)
      found |= uint32_t(cut.isSourceSide(i)) << i;
    uint64_t best = ~uint64_t(0);
    for (uint32_t low = 0; low < 1u << nodes; ++low)
      best = std::min(best, network.getCost(low));
    ASSERT_EQ(network.getCost(found), best) << "round " << round;
    // Cuts of least cost are closed under union: the largest holds all others.
    for (uint32_t low = 0; low < 1u << nodes; ++low)
      if (network.getCost(low) == best) {
        ASSERT_EQ(low & ~found, 0u) << "round " << round;
      }
  }
}

// A hundred thousand nodes in a row, with a demand at every end of a bridge.
TEST(MinCut, LongChain) {
  const uint32_t nodes = 100000;
  MinCut cut;
  for (uint32_t i = 0; i < nodes; ++i)
    cut.addNode();
  for (uint32_t i = 0; i + 1 < nodes; ++i) {
    cut.addEdge(i, i + 1, 1 + i % 7);
    cut.addEdge(i + 1, i, 1 + i % 5);
  }
  cut.addSource(0, MinCut::kInfinite);
  cut.addSink(nodes - 1, MinCut::kInfinite);
  cut.solve();
  uint32_t low = 0;
  while (low < nodes && cut.isSourceSide(low))
    ++low;
  ASSERT_LT(low, nodes);
  EXPECT_EQ((low - 1) % 7, 0u) << "cut at an edge of cost 1";
  for (uint32_t i = low; i < nodes; ++i)
    ASSERT_FALSE(cut.isSourceSide(i));
}

} // namespace
