//===- OrderHeuristicTest.cpp - Tests of orders that need less memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/OrderHeuristic.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mpt;
using Ids = llvm::SmallVector<unsigned>;

namespace {

unsigned addBuffer(MemoryGraph &graph, int64_t bytes,
                   MemoryKind kind = MemoryKind::Temporary) {
  graph.buffers.emplace_back();
  graph.buffers.back().bytes = bytes;
  graph.buffers.back().kind = kind;
  return graph.buffers.size() - 1;
}

void addOp(MemoryGraph &graph, Ids inputs, Ids outputs) {
  graph.ops.emplace_back();
  graph.ops.back().inputs.assign(inputs.begin(), inputs.end());
  graph.ops.back().outputs.assign(outputs.begin(), outputs.end());
}

/// Checks that `order` has every op once, after what it needs.
void expectValid(const MemoryGraph &graph, const Ids &order) {
  ASSERT_EQ(order.size(), graph.ops.size());
  llvm::SmallVector<bool> done(graph.ops.size(), false);
  for (unsigned op : order) {
    EXPECT_FALSE(done[op]);
    for (unsigned before : graph.getPredecessors(op))
      EXPECT_TRUE(done[before]) << before << " before " << op;
    done[op] = true;
  }
}

int64_t peakOf(const MemoryGraph &graph, OrderHeuristic order) {
  Ids ops = orderOps(graph, order);
  expectValid(graph, ops);
  return profileMemory(graph, ops).peak;
}

TEST(OrderHeuristic, Names) {
  for (OrderHeuristic order : allOrderHeuristics)
    EXPECT_EQ(symbolizeOrderHeuristic(stringifyOrderHeuristic(order)), order);
  EXPECT_EQ(symbolizeOrderHeuristic("best"), std::nullopt);
}

TEST(OrderHeuristic, Empty) {
  for (OrderHeuristic order : allOrderHeuristics)
    EXPECT_TRUE(orderOps(MemoryGraph(), order).empty());
}

/// Four gradients, then four updates of the parameters that they are for.
TEST(OrderHeuristic, UpdatesRunAfterTheirGradients) {
  MemoryGraph graph;
  unsigned state[4], gradient[4], next[4], x = addBuffer(graph, 64);
  addOp(graph, {}, {x});
  for (int i = 0; i < 4; ++i)
    state[i] = addBuffer(graph, 1024, MemoryKind::State);
  for (int i = 0; i < 4; ++i)
    addOp(graph, {x}, {gradient[i] = addBuffer(graph, 1024)});
  for (int i = 0; i < 4; ++i) {
    next[i] = addBuffer(graph, 1024, MemoryKind::State);
    graph.buffers[next[i]].updates = state[i];
    graph.buffers[next[i]].returned = true;
    addOp(graph, {state[i], gradient[i]}, {next[i]});
  }
  connectBuffers(graph);
  EXPECT_EQ(peakOf(graph, OrderHeuristic::Keep), 4 * 1024 + 64);
  EXPECT_EQ(orderOps(graph, OrderHeuristic::EarlyUpdate),
            (Ids{0, 1, 5, 2, 6, 3, 7, 4, 8}));
  EXPECT_EQ(peakOf(graph, OrderHeuristic::EarlyUpdate), 1024 + 64);
  EXPECT_EQ(peakOf(graph, OrderHeuristic::LeastPeak), 1024 + 64);
  EXPECT_EQ(peakOf(graph, OrderHeuristic::DepthFirst), 1024 + 64);
}

/// As above, but each gradient is also read by a sum for the norm, each update reads a
/// number that is made of the step's at the end, and the norm comes last.
TEST(OrderHeuristic, UpdatesAndNormsRunAfterTheirGradients) {
  MemoryGraph graph;
  unsigned state[4], gradient[4], sum[4], x = addBuffer(graph, 64),
                                          step = addBuffer(graph, 64, MemoryKind::State);
  addOp(graph, {}, {x});
  for (int i = 0; i < 4; ++i)
    addOp(graph, {x}, {gradient[i] = addBuffer(graph, 1024)});
  for (int i = 0; i < 4; ++i)
    addOp(graph, {gradient[i]}, {sum[i] = addBuffer(graph, 128)});
  unsigned correction = addBuffer(graph, 64), norm = addBuffer(graph, 64);
  addOp(graph, {step}, {correction});
  for (int i = 0; i < 4; ++i) {
    state[i] = addBuffer(graph, 1024, MemoryKind::State);
    unsigned next = addBuffer(graph, 1024, MemoryKind::State);
    graph.buffers[next].updates = state[i];
    graph.buffers[next].returned = true;
    addOp(graph, {state[i], gradient[i], correction}, {next});
  }
  addOp(graph, {sum[0], sum[1], sum[2], sum[3]}, {norm});
  graph.buffers[norm].returned = true;
  connectBuffers(graph);
  EXPECT_EQ(orderOps(graph, OrderHeuristic::EarlyUpdate),
            (Ids{0, 9, 1, 5, 10, 2, 6, 11, 3, 7, 12, 4, 13, 8, 14}));
  // One gradient with all sums.
  EXPECT_EQ(peakOf(graph, OrderHeuristic::Keep), 4 * 1024 + 4 * 128 + 64);
  EXPECT_EQ(peakOf(graph, OrderHeuristic::EarlyUpdate), 1024 + 4 * 128);
}

/// Readers that leave more than they free run in the program's order, and so does one
/// whose partner waits for all gradients.
TEST(OrderHeuristic, ReadersThatDoNotShrinkKeepTheirOrder) {
  MemoryGraph graph;
  unsigned x[2], y[4], sum[2], norm = addBuffer(graph, 128);
  for (unsigned &id : x)
    addOp(graph, {}, {id = addBuffer(graph, 1024)});
  for (int i = 0; i < 2; ++i)
    addOp(graph, {x[i]}, {sum[i] = addBuffer(graph, 128)});
  addOp(graph, {sum[0], sum[1]}, {norm});
  for (int i = 0; i < 2; ++i)
    addOp(graph, {x[i], norm}, {y[i] = addBuffer(graph, 128)});
  connectBuffers(graph);
  Ids kept(graph.ops.size());
  std::iota(kept.begin(), kept.end(), 0);
  EXPECT_EQ(orderOps(graph, OrderHeuristic::EarlyUpdate), kept);

  MemoryGraph wide;
  for (unsigned &id : x)
    addOp(wide, {}, {id = addBuffer(wide, 1024)});
  for (int i = 0; i < 4; ++i) {
    y[i] = addBuffer(wide, 512);
    wide.buffers[y[i]].returned = true;
    addOp(wide, {x[i / 2]}, {y[i]});
  }
  connectBuffers(wide);
  kept.pop_back();
  EXPECT_EQ(orderOps(wide, OrderHeuristic::EarlyUpdate), kept);
}

/// A reader of a parameter's old value keeps the update waiting, though no buffer
/// connects the two.
TEST(OrderHeuristic, UpdatesWaitForReadersOfTheOldValue) {
  MemoryGraph graph;
  unsigned state = addBuffer(graph, 64, MemoryKind::State), g = addBuffer(graph, 64),
           y = addBuffer(graph, 64), n = addBuffer(graph, 64, MemoryKind::State);
  addOp(graph, {}, {g});
  addOp(graph, {state}, {y});
  addOp(graph, {g}, {n});
  graph.ops.back().after.push_back(1);
  graph.buffers[n].updates = state;
  connectBuffers(graph);
  for (OrderHeuristic order : allOrderHeuristics)
    expectValid(graph, orderOps(graph, order));
}

/// Wide layers with narrow ends: one chain after the other.
TEST(OrderHeuristic, ChainsAreRunOneByOne) {
  MemoryGraph graph;
  unsigned big[3], small[3];
  for (unsigned &id : big)
    id = addBuffer(graph, 4096);
  for (unsigned &id : small) {
    id = addBuffer(graph, 64);
    graph.buffers[id].returned = true;
  }
  for (unsigned id : big)
    addOp(graph, {}, {id});
  for (int i = 0; i < 3; ++i)
    addOp(graph, {big[i]}, {small[i]});
  connectBuffers(graph);
  EXPECT_EQ(peakOf(graph, OrderHeuristic::Keep), 3 * 4096 + 64);
  for (OrderHeuristic order : {OrderHeuristic::EarlyUpdate, OrderHeuristic::LeastPeak,
                               OrderHeuristic::DepthFirst})
    EXPECT_EQ(peakOf(graph, order), 4096 + 3 * 64);
}

TEST(OrderHeuristic, RandomGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    MemoryGraph graph;
    for (int i = 0; i < 60; ++i) {
      Ids inputs, outputs;
      for (int j = 0; j < 3 && !graph.buffers.empty(); ++j) {
        unsigned id = random() % graph.buffers.size();
        if (!llvm::is_contained(inputs, id))
          inputs.push_back(id);
      }
      for (unsigned j = 0, e = random() % 3; j < e; ++j)
        outputs.push_back(addBuffer(graph, 64 * (random() % 9)));
      addOp(graph, inputs, outputs);
      if (!inputs.empty() && !outputs.empty() && random() % 3 == 0)
        graph.ops.back().inPlace.push_back({outputs[0], inputs[0]});
      graph.ops.back().workspace = 64 * (random() % 4);
    }
    connectBuffers(graph);
    for (OrderHeuristic order : allOrderHeuristics) {
      Ids ops = orderOps(graph, order);
      expectValid(graph, ops);
      EXPECT_EQ(ops, orderOps(graph, order));
    }
  }
}

/// Time grows with the graph, not with its square.
TEST(OrderHeuristic, ManyOps) {
  MemoryGraph graph;
  unsigned last = addBuffer(graph, 64);
  addOp(graph, {}, {last});
  for (int i = 0; i < 100000; ++i) {
    unsigned kept = addBuffer(graph, 64), next = addBuffer(graph, 128);
    addOp(graph, {last}, {kept, next});
    if (i % 2)
      addOp(graph, {kept}, {});
    last = next;
  }
  connectBuffers(graph);
  for (OrderHeuristic order : allOrderHeuristics)
    EXPECT_EQ(orderOps(graph, order).size(), graph.ops.size());
}

} // namespace
