//===- MemoryGraphTest.cpp - Tests of the model of memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/MemoryGraph.h"
#include <gtest/gtest.h>
#include <random>

using namespace mpt;
using Ids = llvm::SmallVector<unsigned>;

namespace {

/// A graph by hand.
struct Builder {
  MemoryGraph graph;
  unsigned buffer(int64_t bytes, MemoryKind kind = MemoryKind::Temporary) {
    graph.buffers.emplace_back();
    graph.buffers.back().bytes = bytes;
    graph.buffers.back().kind = kind;
    return graph.buffers.size() - 1;
  }
  MemoryOp &op(Ids inputs, Ids outputs, int64_t workspace = 0) {
    graph.ops.emplace_back();
    MemoryOp &op = graph.ops.back();
    op.inputs.assign(inputs.begin(), inputs.end());
    op.outputs.assign(outputs.begin(), outputs.end());
    op.workspace = workspace;
    return op;
  }
  MemoryProfile profile(llvm::ArrayRef<unsigned> order = {}) {
    connectBuffers(graph);
    return profileMemory(graph, order);
  }
};

TEST(MemoryGraph, Empty) {
  Builder b;
  MemoryProfile profile = b.profile();
  EXPECT_EQ(profile.peak, 0);
  EXPECT_EQ(profile.bytes, llvm::SmallVector<int64_t>{0});
}

// x -> a -> b -> returned, with a kept for the last op.
TEST(MemoryGraph, InputsOutputsAndWorkspace) {
  Builder b;
  unsigned x = b.buffer(1000, MemoryKind::Argument), a = b.buffer(64), c = b.buffer(128),
           r = b.buffer(256);
  b.op({x}, {a});
  b.op({a}, {c}, /*workspace=*/512);
  b.op({a, c}, {r});
  b.graph.buffers[r].returned = true;
  MemoryProfile profile = b.profile();
  EXPECT_EQ(profile.bytes,
            (llvm::SmallVector<int64_t>{64, 64 + 128 + 512, 64 + 128 + 256, 256}));
  EXPECT_EQ(profile.peak, 704);
  EXPECT_EQ(profile.peakPosition, 1u);
  EXPECT_EQ(getLiveBuffers(b.graph, profile, 1), (Ids{a, c}));
  EXPECT_EQ(b.graph.getBytes(MemoryKind::Argument), 1000);
}

TEST(MemoryGraph, ResultsThatNothingReadsLiveForOneOp) {
  Builder b;
  unsigned a = b.buffer(64), dead = b.buffer(128), c = b.buffer(64);
  b.op({}, {a, dead});
  b.op({a}, {c});
  EXPECT_EQ(b.profile().bytes, (llvm::SmallVector<int64_t>{192, 128, 0}));
}

TEST(MemoryGraph, InPlaceOnlyWhereTheInputDies) {
  Builder b;
  unsigned a = b.buffer(64), c = b.buffer(64), d = b.buffer(64);
  b.op({}, {a});
  b.op({a}, {c}).inPlace.push_back({c, a});
  b.op({a, c}, {d}).inPlace.push_back({d, a});
  MemoryProfile profile = b.profile();
  // c cannot take a's bytes, which the last op reads; d can.
  EXPECT_NE(profile.blockOfBuffer[c], profile.blockOfBuffer[a]);
  EXPECT_EQ(profile.blockOfBuffer[d], profile.blockOfBuffer[a]);
  EXPECT_EQ(profile.bytes, (llvm::SmallVector<int64_t>{64, 128, 128, 0}));
}

TEST(MemoryGraph, TwoOutputsDoNotTakeOneInput) {
  Builder b;
  unsigned a = b.buffer(64), c = b.buffer(64), d = b.buffer(64), e = b.buffer(64);
  b.op({}, {a});
  MemoryOp &op = b.op({a}, {c, d});
  op.inPlace = {{c, a}, {d, a}};
  b.op({d}, {e});
  MemoryProfile profile = b.profile();
  EXPECT_EQ(profile.blockOfBuffer[c], profile.blockOfBuffer[a]);
  EXPECT_NE(profile.blockOfBuffer[d], profile.blockOfBuffer[a]);
}

TEST(MemoryGraph, DonatedArgumentsDieAtTheirLastUse) {
  Builder b;
  unsigned x = b.buffer(64, MemoryKind::Donated),
           unread = b.buffer(64, MemoryKind::Donated), a = b.buffer(128),
           c = b.buffer(64);
  b.op({x}, {a});
  b.op({a}, {c});
  (void)unread;
  EXPECT_EQ(b.profile().bytes, (llvm::SmallVector<int64_t>{256, 192, 0}));
}

TEST(MemoryGraph, UpdatesOfStateTakeNothing) {
  Builder b;
  unsigned w = b.buffer(640, MemoryKind::State), g = b.buffer(640),
           n = b.buffer(640, MemoryKind::State), y = b.buffer(64);
  b.op({w}, {y});
  b.op({y}, {g});
  b.op({w, g}, {n}).after.push_back(0);
  b.graph.buffers[n].updates = w;
  b.graph.buffers[n].returned = true;
  MemoryProfile profile = b.profile();
  EXPECT_EQ(profile.bytes, (llvm::SmallVector<int64_t>{64, 704, 640, 0}));
  EXPECT_EQ(b.graph.getBytes(MemoryKind::State), 640);
  EXPECT_EQ(b.graph.getPredecessors(2), (Ids{0, 1}));
}

TEST(MemoryGraph, FinalBlocks) {
  Builder b;
  unsigned a = b.buffer(64);
  b.op({}, {a});
  b.graph.finalBlocks = {128, 256};
  EXPECT_EQ(b.profile().bytes, (llvm::SmallVector<int64_t>{64, 384}));
}

TEST(MemoryGraph, AnotherOrder) {
  // Two chains: big intermediates, small ends. One after the other needs less.
  Builder b;
  unsigned big[2], small[2];
  for (int i : {0, 1})
    big[i] = b.buffer(1024), small[i] = b.buffer(64);
  b.op({}, {big[0]});
  b.op({}, {big[1]});
  b.op({big[0]}, {small[0]});
  b.op({big[1]}, {small[1]});
  b.graph.buffers[small[0]].returned = b.graph.buffers[small[1]].returned = true;
  EXPECT_EQ(b.profile().peak, 2048 + 64);
  EXPECT_EQ(b.profile({0, 2, 1, 3}).peak, 1024 + 128);
}

/// The definition, word by word, without in-place: at each op, what was made before
/// (or by it) and is read by it or later.
TEST(MemoryGraph, RandomGraphsKeepTheDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    Builder b;
    for (int i = 0; i < 30; ++i) {
      Ids inputs, outputs;
      for (int j = 0; j < 3 && !b.graph.buffers.empty(); ++j) {
        unsigned id = random() % b.graph.buffers.size();
        if (!llvm::is_contained(inputs, id))
          inputs.push_back(id);
      }
      for (unsigned j = 0, e = 1 + random() % 2; j < e; ++j)
        outputs.push_back(b.buffer(64 * (random() % 9)));
      b.op(inputs, outputs, 64 * (random() % 3));
      b.graph.buffers[outputs[0]].returned = random() % 8 == 0;
    }
    MemoryProfile profile = b.profile();
    const unsigned n = b.graph.ops.size();
    for (unsigned position = 0; position <= n; ++position) {
      int64_t expected = position < n ? b.graph.ops[position].workspace : 0;
      for (unsigned id = 0; id < b.graph.buffers.size(); ++id) {
        unsigned made = 0;
        bool needed = b.graph.buffers[id].returned;
        for (unsigned op = 0; op < n; ++op) {
          if (llvm::is_contained(b.graph.ops[op].outputs, id))
            made = op;
          needed |= op >= position && llvm::is_contained(b.graph.ops[op].inputs, id);
        }
        if (made == position || (made < position && needed))
          expected += b.graph.buffers[id].bytes;
      }
      EXPECT_EQ(profile.bytes[position], expected);
    }
    EXPECT_EQ(planArena(profile.blocks).lowerBound, profile.peak);
  }
}

} // namespace
