//===- BranchPlanTest.cpp - What of a step may run at once ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/BranchPlan.h"
#include "ProgramBuilder.h"

#include <map>

using namespace mpt::rt;

namespace {

/// Launches over buffers of a cache line each.
struct Steps : ProgramBuilder {
  void add(std::vector<BufferRef> in, const BufferRef &out) {
    launch(1, in, out);
    skipped.push_back(false);
  }
  BufferRef value() { return arena(DataType::F32, {16}); }
  BranchPlan plan(const BranchRates &rates = {}, uint32_t most = kMostBranches) const {
    return planBranches(program, skipped, rates, most);
  }

  std::vector<bool> skipped;
};

bool overlap(const BufferRef &a, const BufferRef &b) {
  return a.space == b.space && a.offset < b.offset + b.bytes() &&
         b.offset < a.offset + a.bytes();
}

/// By definition: of any two instructions that may not change places, the first is done
/// before the other begins, by the order of a branch and what steps wait for.
void expectOrdered(const Program &program, const BranchPlan &plan) {
  std::map<uint32_t, std::vector<bool>> done;
  std::vector<uint32_t> last(kMostBranches, UINT32_MAX);
  for (const BranchStep &step : plan.steps) {
    std::vector<bool> known(program.instructions.size(), false);
    auto follow = [&](uint32_t earlier) {
      known[earlier] = true;
      for (size_t i = 0; i < known.size(); ++i)
        if (done.at(earlier)[i])
          known[i] = true;
    };
    ASSERT_LT(step.branch, plan.count);
    if (last[step.branch] != UINT32_MAX)
      follow(last[step.branch]);
    for (uint32_t place : step.after)
      if (place != 0) {
        ASSERT_NE(plan.steps[place - 1].branch, step.branch);
        follow(plan.steps[place - 1].instruction);
      }
    const Instruction &own = program.instructions[step.instruction];
    for (uint32_t other = 0; other < step.instruction; ++other) {
      const Instruction &before = program.instructions[other];
      bool meets = false;
      for (size_t i = 0; i < own.refs.size(); ++i)
        for (size_t j = 0; j < before.refs.size(); ++j)
          meets |= (i >= own.numInputs || j >= before.numInputs) &&
                   overlap(own.refs[i], before.refs[j]);
      if (meets)
        EXPECT_TRUE(known[other]) << other << " " << step.instruction;
    }
    done[step.instruction] = known;
    last[step.branch] = step.instruction;
  }
}

TEST(BranchPlan, TwoHeads) {
  Steps steps;
  const BufferRef x = steps.input("x", DataType::F32, {16}), trunk = steps.value();
  steps.add({x}, trunk);
  std::vector<BufferRef> heads;
  for (int head = 0; head < 2; ++head) {
    BufferRef value = trunk;
    for (int i = 0; i < 5; ++i) {
      const BufferRef next = steps.value();
      steps.add({value}, next);
      value = next;
    }
    heads.push_back(value);
  }
  steps.add(heads, steps.value());
  const BranchPlan plan = steps.plan();
  ASSERT_EQ(plan.count, 2u);
  ASSERT_EQ(plan.steps.size(), 12u);
  expectOrdered(steps.program, plan);
  // Seven of twelve nodes, and two waits.
  EXPECT_LT(plan.parallel, 0.7 * plan.serial);
  EXPECT_GT(plan.parallel, 7.0 / 12 * plan.serial);
  // One wait where the heads part, one where they meet.
  int waits = 0;
  for (const BranchStep &step : plan.steps)
    for (uint32_t place : step.after)
      waits += place != 0;
  EXPECT_EQ(waits, 2);
}

/// A second head whose values lie where those of the first one were is no second branch.
TEST(BranchPlan, SharedMemoryOrders) {
  Steps steps;
  const BufferRef x = steps.input("x", DataType::F32, {16}), a = steps.value(),
                  b = steps.value();
  for (int head = 0; head < 2; ++head) {
    steps.add({x}, a);
    for (int i = 0; i < 3; ++i) {
      steps.add({a}, b);
      steps.add({b}, a);
    }
    steps.add({a}, steps.output("y" + std::to_string(head), DataType::F32, {16}));
  }
  EXPECT_EQ(steps.plan().count, 1u);
}

TEST(BranchPlan, OnlyOfSmallSteps) {
  auto make = [](int64_t elements, int launches) {
    Steps steps;
    const BufferRef x = steps.input("x", DataType::F32, {elements});
    for (int i = 0; i < launches; ++i)
      steps.add({x}, steps.arena(DataType::F32, {elements}));
    return steps;
  };
  EXPECT_EQ(make(16, 12).plan().count, kMostBranches);
  // Those that fill a GPU gain nothing, few launches next to nothing.
  EXPECT_EQ(make(1 << 22, 12).plan().count, 1u);
  EXPECT_EQ(make(16, 7).plan().count, 1u);
  EXPECT_EQ(make(16, 1025).plan().count, 1u);
  // Loops and exchanges have an order of their own.
  Steps loop = make(16, 12);
  loop.program.loops.push_back({2, 4, 3});
  EXPECT_EQ(loop.plan().count, 1u);
  Steps exchange = make(16, 12);
  AllReduceCall call;
  call.ranks = 2;
  exchange.call(call, {exchange.value()}, exchange.value());
  exchange.skipped.push_back(false);
  EXPECT_EQ(exchange.plan().count, 1u);
}

/// The same work keeps a GPU busy that does it more slowly.
TEST(BranchPlan, Rates) {
  Steps steps;
  const int64_t elements = 1200000;
  const BufferRef x = steps.input("x", DataType::F32, {elements});
  for (int i = 0; i < 12; ++i)
    steps.add({x}, steps.arena(DataType::F32, {elements}));
  // 9.6 MB each: 3.2 us where memory does 4.8 TB/s, and 7.5 where it does 2.04.
  EXPECT_EQ(getBranchRates(4.8e12, 989e12).bytes, BranchRates().bytes);
  EXPECT_EQ(getBranchRates(4.8e12, 989e12).flops, BranchRates().flops);
  EXPECT_GT(steps.plan().count, 1u);
  const BranchRates slower = getBranchRates(2.039e12, 312e12);
  EXPECT_NEAR(slower.bytes / BranchRates().bytes, 2.039 / 4.8, 1e-12);
  EXPECT_NEAR(slower.flops / BranchRates().flops, 312.0 / 989, 1e-12);
  EXPECT_EQ(steps.plan(slower).count, 1u);
  // What a driver does not know.
  EXPECT_EQ(getBranchRates(0, 0).bytes, BranchRates().bytes);
  EXPECT_EQ(getBranchRates(0, 0).flops, BranchRates().flops);
  // By NVIDIA's datasheets: an A100 (312 TFLOP/s), an H100 (989), a B200 (2250), an L40S
  // (362) and an RTX PRO 6000 (504), with what their clocks and processors say.
  struct Chip {
    int sm, processors;
    double clock, flops;
  };
  for (const Chip &chip : {Chip{80, 108, 1.41e9, 312e12}, Chip{90, 132, 1.83e9, 989e12},
                           Chip{100, 148, 1.85e9, 2250e12}, Chip{89, 142, 2.52e9, 362e12},
                           Chip{120, 188, 2.6e9, 504e12}})
    EXPECT_NEAR(getTensorFlopsPerClock(chip.sm) * chip.processors * chip.clock /
                    chip.flops,
                1, 0.03)
        << chip.sm;
}

/// As many as the user lets it have.
TEST(BranchPlan, Most) {
  Steps steps;
  const BufferRef x = steps.input("x", DataType::F32, {16});
  for (int i = 0; i < 12; ++i)
    steps.add({x}, steps.value());
  for (uint32_t most = 1; most <= kMostBranches; ++most) {
    const BranchPlan plan = steps.plan({}, most);
    EXPECT_EQ(plan.count, most);
    EXPECT_EQ(plan.steps.empty(), most == 1);
    expectOrdered(steps.program, plan);
  }
}

/// What does not run orders nothing.
TEST(BranchPlan, Skipped) {
  Steps steps;
  const BufferRef x = steps.input("x", DataType::F32, {16});
  for (int i = 0; i < 10; ++i)
    steps.add({x}, steps.value());
  // Reads and writes all of the arena.
  const BufferRef everything = steps.arena(DataType::F32, {16});
  for (int i = 0; i < 10; ++i) {
    BufferRef whole = everything;
    whole.offset = 0;
    whole.dims = {16 * 11};
    steps.launch(1, {whole}, whole);
    steps.skipped.push_back(true);
  }
  const BranchPlan plan = steps.plan();
  EXPECT_EQ(plan.count, kMostBranches);
  EXPECT_EQ(plan.steps.size(), 10u);
  steps.skipped.assign(20, false);
  expectOrdered(steps.program, steps.plan());
}

/// Programs drawn at random, whose values share memory.
TEST(BranchPlan, AnyProgram) {
  std::mt19937 random(7);
  int branched = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Steps steps;
    const int places = 4 + static_cast<int>(random() % 40);
    std::vector<BufferRef> memory;
    for (int i = 0; i < places; ++i)
      memory.push_back(steps.value());
    auto any = [&] { return memory[random() % memory.size()]; };
    for (int i = 0; i < 40; ++i) {
      steps.add({any(), any()}, any());
      steps.skipped.back() = random() % 8 == 0;
    }
    const BranchPlan plan = steps.plan();
    branched += plan.count > 1;
    Program running = steps.program;
    for (size_t i = 0; i < running.instructions.size(); ++i)
      if (steps.skipped[i]) {
        running.instructions[i].refs.clear();
        running.instructions[i].numInputs = 0;
      }
    expectOrdered(running, plan);
    const BranchPlan again = steps.plan();
    ASSERT_EQ(again.steps.size(), plan.steps.size());
    for (size_t i = 0; i < plan.steps.size(); ++i)
      EXPECT_EQ(again.steps[i].instruction, plan.steps[i].instruction);
  }
  EXPECT_GT(branched, 50);
}

} // namespace
