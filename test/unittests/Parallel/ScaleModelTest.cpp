//===- ScaleModelTest.cpp - A step on many ranks, on paper ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/ScaleModel.h"
#include <gtest/gtest.h>

using namespace mpt;

namespace {

rt::Instruction makeAllReduce(int64_t elements, rt::SumOrder order = rt::SumOrder::Rank) {
  rt::AllReduceCall call;
  call.numXs = call.numSums = 1;
  call.ranks = 2;
  call.kind = rt::ReduceKind::Mean;
  call.order = order;
  rt::Instruction instruction;
  instruction.call = call;
  instruction.numInputs = instruction.numOutputs = 1;
  rt::BufferRef ref;
  ref.dims = {elements};
  instruction.refs = {ref, ref};
  return instruction;
}

/// Only bytes take time.
Cluster makeCluster(double bandwidth = 1e9, double latency = 1e-12) {
  Cluster cluster;
  cluster.between = cluster.within = {bandwidth, latency, 0};
  cluster.memory = 1e30;
  return cluster;
}

TEST(ScaleModelTest, LinksAreRead) {
  llvm::Expected<Link> link = parseLink("12.5:20");
  ASSERT_TRUE(bool(link));
  EXPECT_DOUBLE_EQ(link->bandwidth, 12.5e9);
  EXPECT_DOUBLE_EQ(link->latency, 20e-6);
  EXPECT_DOUBLE_EQ(link->overhead, 1e-6);
  link = parseLink("1:50:0");
  ASSERT_TRUE(bool(link));
  EXPECT_EQ(link->overhead, 0);
  for (llvm::StringRef text :
       {"", "1", "1:x", "0:1", "1:0", "-1:1", "1:1:-1", "1:1:1:1", "inf:1", "nan:1"}) {
    llvm::Expected<Link> bad = parseLink(text);
    EXPECT_FALSE(bool(bad)) << text.str();
    if (!bad)
      EXPECT_NE(llvm::toString(bad.takeError()).find("found '" + text.str() + "'"),
                std::string::npos);
  }
}

/// 2 (n - 1) / n of the bytes, as often as ranks divide the elements.
TEST(ScaleModelTest, BytesOfAnAllReduce) {
  for (auto order : {rt::SumOrder::Rank, rt::SumOrder::Library})
    for (int64_t ranks : {1, 2, 4, 8, 64}) {
      const int64_t elements = 1 << 20;
      ExchangeTraffic traffic =
          getTraffic(makeAllReduce(elements, order), ranks, makeCluster());
      // And a byte to each rank first, where the library adds.
      const double call =
          order == rt::SumOrder::Library && ranks > 1 ? double(ranks - 1) : 0;
      EXPECT_DOUBLE_EQ(traffic.bytes(), 2.0 * (ranks - 1) / ranks * 4 * elements + call);
      EXPECT_EQ(traffic.bytesWithin, 0);
      EXPECT_NEAR(traffic.seconds, traffic.bytes() / 1e9, 1e-6 * traffic.seconds + 1e-8);
    }
}

/// Of 64 ranks on machines of 8, 7 of 63 messages stay within one, and 8 ranks share what
/// leads to the others.
TEST(ScaleModelTest, MachinesOfManyRanks) {
  Cluster cluster = makeCluster();
  cluster.ranksPerMachine = 8;
  cluster.within.bandwidth = 1e30;
  ExchangeTraffic traffic = getTraffic(makeAllReduce(1 << 20), 64, cluster);
  EXPECT_NEAR(traffic.bytesWithin / traffic.bytes(), 7.0 / 63, 1e-12);
  EXPECT_NEAR(traffic.seconds, 8 * traffic.bytesBetween / 1e9, 1e-6 * traffic.seconds);
}

/// Messages of 2^18 elements cut in n parts, twice to each of n - 1 ranks.
TEST(ScaleModelTest, ManyRanksSendManyMessages) {
  Cluster cluster = makeCluster();
  cluster.between.overhead = 1e-6;
  for (int64_t ranks : {8, 1024}) {
    ExchangeTraffic traffic = getTraffic(makeAllReduce(1 << 20), ranks, cluster);
    EXPECT_EQ(traffic.messages, 4 * 2 * (ranks - 1)) << ranks;
    EXPECT_GE(traffic.seconds, 1e-6 * traffic.messages);
  }
  // A library needs few.
  EXPECT_LT(
      getTraffic(makeAllReduce(1 << 20, rt::SumOrder::Library), 1024, cluster).messages,
      4 * 20 + 1024);
}

/// Work of 1, 2 and 3 s; the exchange of 4 s begins after the first.
ScaleProgram makeProgram(ScaleEvent::Kind kind) {
  ScaleProgram program;
  // 2 (n - 1) / n of 4 bytes at 1 GB/s: 4 s for two ranks.
  program.exchanges.push_back({makeAllReduce(1000000000), ""});
  program.events = {{ScaleEvent::Work, 1, 0}, {kind, 0, 0}, {ScaleEvent::Work, 2, 0}};
  if (kind == ScaleEvent::Begin)
    program.events.push_back({ScaleEvent::Wait, 0, 0});
  program.events.push_back({ScaleEvent::Work, 3, 0});
  return program;
}

TEST(ScaleModelTest, WorkHidesAnExchange) {
  ScalePoint alone = simulate(makeProgram(ScaleEvent::Exchange), 2, makeCluster());
  EXPECT_NEAR(alone.compute, 6000, 0.1);
  EXPECT_NEAR(alone.exchange, 4000, 0.1);
  EXPECT_NEAR(alone.exposed, 4000, 0.1);
  EXPECT_NEAR(alone.step, 10000, 0.1);
  EXPECT_NEAR(alone.efficiency(), 0.6, 1e-4);
  ScalePoint beside = simulate(makeProgram(ScaleEvent::Begin), 2, makeCluster());
  EXPECT_NEAR(beside.exchange, 4000, 0.1);
  EXPECT_NEAR(beside.exposed, 2000, 0.1);
  EXPECT_NEAR(beside.step, 8000, 0.1);
  // Nobody to exchange with.
  ScalePoint one = simulate(makeProgram(ScaleEvent::Begin), 1, makeCluster());
  EXPECT_NEAR(one.exposed, 0, 0.1);
  EXPECT_NEAR(one.efficiency(), 1, 1e-4);
}

/// One after the other: the second begins when the first has ended.
TEST(ScaleModelTest, ExchangesRunOneAfterTheOther) {
  ScaleProgram program;
  program.exchanges.assign(2, {makeAllReduce(1000000000), ""});
  program.events = {{ScaleEvent::Begin, 0, 0}, {ScaleEvent::Begin, 0, 1},
                    {ScaleEvent::Work, 3, 0},  {ScaleEvent::Wait, 0, 0},
                    {ScaleEvent::Work, 1, 0},  {ScaleEvent::Wait, 0, 1}};
  EXPECT_NEAR(simulate(program, 2, makeCluster()).step, 8000, 0.1);
  // One that nothing overlaps with waits for those before it.
  program.events = {{ScaleEvent::Begin, 0, 0},
                    {ScaleEvent::Exchange, 0, 1},
                    {ScaleEvent::Wait, 0, 0},
                    {ScaleEvent::Work, 1, 0}};
  EXPECT_NEAR(simulate(program, 2, makeCluster()).step, 9000, 0.1);
}

/// With AdamW in f32, state is 12 bytes a parameter: 4 + 8 / n with ZeRO-1.
TEST(ScaleModelTest, Memory) {
  ScaleProgram program;
  program.parameters = 4000;
  program.optimizer = 8000;
  program.state = 12100;
  program.arena = 6000;
  program.outputs = 10;
  program.constants = 20;
  const double rest = 100 + 6000 + 10 + 20;
  for (double n : {1.0, 4.0, 64.0}) {
    ScaledMemory memory =
        simulate(program, static_cast<int64_t>(n), makeCluster()).memory;
    EXPECT_DOUBLE_EQ(memory.data, rest + 12000);
    EXPECT_DOUBLE_EQ(memory.zero1, rest + 1000 * (4 + 8 / n));
    EXPECT_DOUBLE_EQ(memory.zero2, memory.zero1);
    // Two units of parameters and two of gradients.
    EXPECT_DOUBLE_EQ(memory.zero3, rest + 1000 * (12 / n + 4 * 4.0 / 16));
  }
}

} // namespace
