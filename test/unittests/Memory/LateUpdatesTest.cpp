//===- LateUpdatesTest.cpp - Tests of small ops at the end -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/LateUpdates.h"
#include <gtest/gtest.h>

using namespace mpt;
using Ids = llvm::SmallVector<unsigned>;

namespace {

/// Two gradients with their updates: 0 and 2 make them, 1 and 3 read them.
struct Updates : testing::Test {
  Updates() {
    for (int i = 0; i < 2; ++i) {
      state[i] = addBuffer(64, MemoryKind::State);
      gradient[i] = addBuffer(i == 0 ? 256 : 1024);
      next[i] = addBuffer(64, MemoryKind::State);
      graph.buffers[next[i]].updates = state[i];
      addOp({}, {gradient[i]});
      addOp({state[i], gradient[i]}, {next[i]});
    }
  }
  unsigned addBuffer(int64_t bytes, MemoryKind kind = MemoryKind::Temporary) {
    graph.buffers.emplace_back();
    graph.buffers.back().bytes = bytes;
    graph.buffers.back().kind = kind;
    return graph.buffers.size() - 1;
  }
  MemoryOp &addOp(Ids inputs, Ids outputs) {
    graph.ops.emplace_back();
    graph.ops.back().inputs.assign(inputs.begin(), inputs.end());
    graph.ops.back().outputs.assign(outputs.begin(), outputs.end());
    return graph.ops.back();
  }
  Ids order(Ids waiting, int64_t mostBytes = 4096, bool byLevel = false) {
    connectBuffers(graph);
    llvm::SmallVector<bool> mayWait(graph.ops.size(), false);
    for (unsigned op : waiting)
      mayWait[op] = true;
    return orderLateUpdates(graph, mayWait, mostBytes, byLevel).order;
  }

  MemoryGraph graph;
  unsigned state[2], gradient[2], next[2];
};

TEST_F(Updates, RunLast) { EXPECT_EQ(order({1, 3}), (Ids{0, 2, 1, 3})); }

TEST_F(Updates, OfLargeGradientsDoNotWait) {
  EXPECT_EQ(order({1, 3}, 1023), (Ids{0, 2, 3, 1}));
  EXPECT_EQ(order({1, 3}, 255), (Ids{0, 1, 2, 3}));
}

TEST_F(Updates, OthersStay) { EXPECT_EQ(order({3}), (Ids{0, 1, 2, 3})); }

/// What reads the new value runs after it, and what reads the old one before it.
TEST_F(Updates, AreNotNeeded) {
  addOp({next[0], gradient[0]}, {addBuffer(64)});
  EXPECT_EQ(order({1, 3}), (Ids{0, 1, 2, 4, 3}));
  // If its reader waits, too, so may the update.
  EXPECT_EQ(order({1, 3, 4}), (Ids{0, 2, 1, 3, 4}));
}

TEST_F(Updates, AreNotWaitedFor) {
  addOp({}, {addBuffer(64)}).after.push_back(1);
  EXPECT_EQ(order({1, 3}), (Ids{0, 1, 2, 4, 3}));
}

TEST_F(Updates, OfStateAloneStay) {
  // A counter.
  unsigned counter = addBuffer(64, MemoryKind::State);
  addOp({counter}, {addBuffer(64, MemoryKind::State)});
  EXPECT_EQ(order({1, 3, 4}), (Ids{0, 2, 4, 1, 3}));
}

TEST_F(Updates, OfOneLevelAreNextToEachOther) {
  // Each gradient is cast before its update.
  unsigned cast[2] = {addBuffer(128), addBuffer(512)};
  for (int i = 0; i < 2; ++i) {
    addOp({gradient[i]}, {cast[i]});
    addOp({cast[i]}, {addBuffer(64, MemoryKind::State)});
  }
  EXPECT_EQ(order({1, 3, 4, 5, 6, 7}), (Ids{0, 2, 1, 3, 4, 5, 6, 7}));
  EXPECT_EQ(order({1, 3, 4, 5, 6, 7}, 4096, /*byLevel=*/true),
            (Ids{0, 2, 1, 3, 4, 6, 5, 7}));
  // What does not wait is no level.
  EXPECT_EQ(order({1, 3, 5, 7}, 4096, /*byLevel=*/true), (Ids{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST_F(Updates, WithWorkspaceStay) {
  graph.ops[1].workspace = 64;
  EXPECT_EQ(order({1, 3}), (Ids{0, 1, 2, 3}));
}

} // namespace
