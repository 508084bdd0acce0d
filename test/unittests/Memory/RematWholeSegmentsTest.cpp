//===- RematWholeSegmentsTest.cpp - Plans for other compilers ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematWholeSegments.h"

#include "RematInstances.h"
#include "gtest/gtest.h"

using namespace mpt;
using namespace mpt::test;

namespace {

struct Builder {
  uint32_t add(std::vector<uint32_t> inputs, int64_t bytes, FusedNode how) {
    RematNode node;
    node.inputs = std::move(inputs);
    node.cost = 100;
    nodes.push_back(how);
    return graph.addValue(graph.addNode(node), bytes);
  }
  RematGraph fuse() { return fuseRematGraph(graph, nodes); }

  RematGraph graph;
  std::vector<FusedNode> nodes;
};

const FusedNode matmul, cheap{true, true, false, false, false},
    dear{true, true, true, false, false}, reduction{true, false, false, false, false},
    view{true, true, false, true, false}, loop{false, false, false, false, true};

TEST(RematFusion, WhatAReaderComputesTakesNoBytes) {
  Builder b;
  uint32_t product = b.add({}, 64, matmul);
  uint32_t sum = b.add({product}, 64, cheap);
  uint32_t scaled = b.add({sum}, 64, cheap);
  uint32_t next = b.add({scaled}, 64, matmul);
  RematGraph fused = b.fuse();
  EXPECT_EQ(fused.values[product].bytes, 64);
  EXPECT_EQ(fused.values[sum].bytes, 0);
  // A matmul reads memory.
  EXPECT_EQ(fused.values[scaled].bytes, 64);
  EXPECT_EQ(fused.values[next].bytes, 64);
  // What the sum is made of must be there when it is computed.
  EXPECT_EQ(fused.nodes[fused.values[scaled].node].inputs,
            (std::vector<uint32_t>{sum, product}));
}

TEST(RematFusion, DearOpsAreComputedOnce) {
  Builder b;
  uint32_t product = b.add({}, 64, matmul);
  uint32_t once = b.add({product}, 64, dear), twice = b.add({product}, 64, dear);
  b.add({once}, 1, reduction);
  b.add({twice}, 1, reduction);
  b.add({twice}, 1, reduction);
  RematGraph fused = b.fuse();
  EXPECT_EQ(fused.values[once].bytes, 0);
  EXPECT_EQ(fused.values[twice].bytes, 64);
}

TEST(RematFusion, SumsThatSeveralReadAreStored) {
  Builder b;
  uint32_t left = b.add({}, 64, matmul), right = b.add({}, 64, matmul);
  uint32_t one = b.add({left, right}, 64, cheap), many = b.add({left, right}, 64, cheap);
  b.add({one}, 1, reduction);
  b.add({many}, 1, reduction);
  b.add({many}, 1, reduction);
  RematGraph fused = b.fuse();
  EXPECT_EQ(fused.values[one].bytes, 0);
  EXPECT_EQ(fused.values[many].bytes, 64);
}

TEST(RematFusion, AViewTakesNoBytesButAsksForItsOperand) {
  Builder b;
  uint32_t product = b.add({}, 64, matmul);
  uint32_t stored = b.add({product}, 64, cheap), other = b.add({product}, 64, cheap);
  uint32_t reshaped = b.add({stored}, 64, view), unread = b.add({other}, 64, view);
  b.add({reshaped}, 64, matmul);
  b.add({unread}, 1, reduction);
  RematGraph fused = b.fuse();
  EXPECT_EQ(fused.values[stored].bytes, 64);
  EXPECT_EQ(fused.values[reshaped].bytes, 0);
  EXPECT_EQ(fused.values[other].bytes, 0);
}

TEST(RematFusion, WhatALoopPassesOnTakesNoBytes) {
  Builder b;
  uint32_t carried = b.add({}, 64, matmul), shared = b.add({}, 64, matmul);
  uint32_t result = b.add({carried, shared}, 64, loop);
  uint32_t unread = b.graph.addValue(b.graph.values[result].node, 64);
  b.add({result}, 64, matmul);
  RematGraph fused = b.fuse();
  EXPECT_EQ(fused.values[carried].bytes, 64);
  EXPECT_EQ(fused.values[shared].bytes, 64);
  EXPECT_EQ(fused.values[result].bytes, 64);
  EXPECT_EQ(fused.values[unread].bytes, 0);
}

/// `layers` layers of four values; the backward pass reads three of each.
RematGraph makeLayers(uint32_t layers) {
  RematGraph graph;
  auto add = [&](std::vector<uint32_t> inputs, int64_t bytes, bool isFree) {
    RematNode node;
    node.inputs = std::move(inputs);
    node.cost = isFree ? 1 : 20;
    node.isFree = isFree;
    return graph.addValue(graph.addNode(node), bytes);
  };
  std::vector<std::vector<uint32_t>> kept;
  uint32_t x = add({}, 10, true);
  for (uint32_t i = 0; i < layers; ++i) {
    uint32_t wide = add({x}, 40, false), act = add({wide}, 40, true);
    uint32_t x2 = add({act, x}, 10, false);
    kept.push_back({x, wide, act});
    x = x2;
  }
  graph.backward = graph.nodes.size();
  uint32_t gradient = add({x}, 10, true);
  for (uint32_t i = layers; i-- > 0;) {
    std::vector<uint32_t> inputs = kept[i];
    inputs.push_back(gradient);
    gradient = add(inputs, 10, false);
  }
  graph.values[gradient].leaves = true;
  graph.values[gradient].bytes = 0;
  return graph;
}

void expectFrontier(const RematGraph &graph, bool keepsDear) {
  std::vector<RematPlan> plans = planWholeSegments(graph, keepsDear);
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans.back().cost, graph.getTotalCost());
  for (size_t i = 0; i < plans.size(); ++i) {
    int64_t cost = 0;
    EXPECT_EQ(simulate(graph, plans[i].order, cost), plans[i].peak);
    EXPECT_EQ(cost, plans[i].cost);
    if (i > 0) {
      EXPECT_GT(plans[i].peak, plans[i - 1].peak);
      EXPECT_LT(plans[i].cost, plans[i - 1].cost);
    }
    std::vector<bool> ran(graph.nodes.size(), false);
    for (uint32_t node : plans[i].order) {
      EXPECT_FALSE(keepsDear && ran[node] && !graph.nodes[node].isFree);
      ran[node] = true;
    }
  }
}

TEST(RematWholeSegments, EveryPlanIsWhatItSays) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RematGraph graph = makeRandomGraph(4 + seed % 40, seed);
    expectFrontier(graph, false);
    expectFrontier(graph, true);
  }
}

TEST(RematWholeSegments, ASegmentIsRepeatedAtOnePlace) {
  RematGraph graph = makeLayers(16);
  RematProfile plain = measureRemat(graph, getPlainOrder(graph));
  std::vector<RematPlan> plans = planWholeSegments(graph, false);
  // About 2 sqrt(16 * 10 * 90): what crosses the cuts, and one segment.
  EXPECT_LT(plans.front().peak, plain.peak / 3);
  std::vector<bool> ran(graph.nodes.size(), false);
  unsigned groups = 0;
  bool wasRepeat = false;
  for (uint32_t node : plans.front().order) {
    groups += ran[node] && !wasRepeat;
    wasRepeat = ran[node];
    ran[node] = true;
  }
  EXPECT_GE(groups, 3u);
  EXPECT_LE(groups, 24u);
  // Dear nodes run once more at most, and with `keepsDear` none does.
  EXPECT_LT(plans.front().cost, 2 * graph.getTotalCost());
  expectFrontier(graph, true);
}

TEST(RematWholeSegments, MarksCount) {
  RematGraph graph = makeLayers(8);
  for (RematNode &node : graph.nodes)
    node.save = RematSave::Must;
  EXPECT_EQ(planWholeSegments(graph, false).size(), 1u);
  for (RematNode &node : graph.nodes)
    node.save = RematSave::Any;
  for (RematNode &node : graph.nodes)
    node.mayRepeat = false;
  EXPECT_EQ(planWholeSegments(graph, false).size(), 1u);
}

} // namespace
