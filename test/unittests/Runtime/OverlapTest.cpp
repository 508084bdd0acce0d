//===- OverlapTest.cpp - Exchanges beside a step ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exchanges that run on the communicator's thread while a step goes on: their values,
/// the time that they leave exposed, and programs that use their buffers too early.
///
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "ThreadTransport.h"

using namespace mpt::rt;

namespace {

constexpr DataType F32 = DataType::F32, I8 = DataType::I8;

/// Far longer than what a busy machine adds to a sleep, on the whole.
constexpr double kSeconds = 0.15;

void sleepFor(void **, int64_t, int64_t) {
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
}
/// A kernel that takes its time, and one that adds 1.
void addOne(void **buffers, int64_t, int64_t) {
  auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int i = 0; i < 8; ++i)
    y[i] = x[i] + 1;
}

Instruction makeBegin(int64_t ranks, const BufferRef &x, const BufferRef &y,
                      const BufferRef &workspace, bool async = true) {
  AllReduceCall call;
  call.ranks = ranks;
  call.numXs = call.numSums = 1;
  call.async = async;
  Instruction instruction = makeInstruction(call, {x}, y);
  instruction.hasScratch = true;
  instruction.refs.push_back(workspace);
  instruction.location = "test.mlir:1:1";
  return instruction;
}
Instruction makeWait(Instruction begun) {
  WaitCall call;
  call.numXs = begun.numInputs;
  call.numResults = begun.numOutputs;
  begun.call = call;
  begun.location = "test.mlir:2:1";
  return begun;
}

/// Two exchanges with work around them: x and then y are exchanged while a kernel sleeps.
struct Step {
  explicit Step(int64_t ranks) {
    BufferRef x = b.state("x", F32, {8}), y = b.state("y", F32, {8});
    BufferRef w = b.arena(I8, {4096}), v = b.arena(I8, {4096});
    BufferRef idle = b.arena(F32, {8});
    // What is summed is what the kernels made.
    BufferRef p = b.arena(F32, {8}), q = b.arena(F32, {8});
    launch(1, {x}, p);
    b.program.instructions.push_back(makeBegin(ranks, p, p, w));
    launch(0, {idle}, b.arena(F32, {8}));
    launch(1, {y}, q);
    b.program.instructions.push_back(makeBegin(ranks, q, q, v));
    launch(0, {idle}, b.arena(F32, {8}));
    launch(0, {idle}, b.arena(F32, {8}));
    b.program.instructions.push_back(makeWait(b.program.instructions[1]));
    launch(1, {p}, b.output("s", F32, {8}));
    b.program.instructions.push_back(makeWait(b.program.instructions[4]));
    launch(1, {q}, b.output("t", F32, {8}));
  }
  void launch(uint32_t kernel, const std::vector<BufferRef> &in, const BufferRef &out) {
    b.launch(1, in, out);
    b.program.instructions.back().kernel = kernel;
  }
  ProgramBuilder b;
};

/// The seconds of all exchanges of rank 0 and of those that were exposed.
std::pair<double, double> runStep(ThreadRanks &group, int ranks) {
  Step step(ranks);
  Descriptor desc(writeProgram(step.b.program), {sleepFor, addOne});
  std::pair<double, double> seconds;
  group.run([&](int rank, mpt_rt_communicator *communicator) {
    Context c(1);
    ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    std::vector<float> x(8, rank), y(8, 10 * rank), found(8);
    ASSERT_EQ(mpt_rt_write(c.rt, "x", x.data(), 32), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_write(c.rt, "y", y.data(), 32), MPT_RT_OK);
    for (int run : {0, 1}) {
      ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << run << c.error();
      const float all = ranks * (ranks - 1) / 2;
      ASSERT_EQ(mpt_rt_read_output(c.rt, "s", found.data(), 32), MPT_RT_OK);
      EXPECT_EQ(found, std::vector<float>(8, all + ranks + 1));
      ASSERT_EQ(mpt_rt_read_output(c.rt, "t", found.data(), 32), MPT_RT_OK);
      EXPECT_EQ(found, std::vector<float>(8, 10 * all + ranks + 1));
    }
    if (rank == 0)
      mpt_rt_get_exchange_seconds(communicator, &seconds.first, &seconds.second);
  });
  return seconds;
}

/// An all_reduce is two messages, one after the other. Each takes as long as half a
/// kernel.
TEST(OverlapTest, AtMostHalfIsExposed) {
  ThreadRanks group(2);
  group.latency = kSeconds / 2;
  auto [total, exposed] = runStep(group, 2);
  EXPECT_GE(total, 4 * kSeconds);
  EXPECT_LE(exposed, total / 2);
}

TEST(OverlapTest, WithoutAThreadAllIsExposed) {
  ThreadRanks group(2);
  group.latency = kSeconds / 2;
  group.anyThread = false;
  auto [total, exposed] = runStep(group, 2);
  EXPECT_GE(total, 4 * kSeconds);
  EXPECT_NEAR(exposed, total, 1e-3 * total);
}

TEST(OverlapTest, ManyRanks) {
  ThreadRanks group(5);
  runStep(group, 5);
}

/// The kernels go on while a rank is awaited, and the step then fails as without overlap.
TEST(OverlapTest, ARankThatDoesNotAnswer) {
  Step step(2);
  Descriptor desc(writeProgram(step.b.program), {sleepFor, addOne});
  ThreadRanks group(2);
  group.run(
      [&](int rank, mpt_rt_communicator *communicator) {
        if (rank == 1)
          return;
        Context c(1);
        ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
        ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
        for (int run : {0, 1}) {
          EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_COMMUNICATION_FAILED) << run;
          EXPECT_EQ(c.error().rfind("test.mlir:2:1: rank 1 (on host1) has not answered "
                                    "for 0.2 s",
                                    0),
                    0u)
              << c.error();
        }
      },
      0.2);
}

/// A step that fails for another reason does not wait for what is under way.
TEST(OverlapTest, AStepThatFailsEndsItsExchanges) {
  ProgramBuilder b;
  BufferRef i = b.input("i", DataType::I64, {1});
  BufferRef x = b.state("x", F32, {8}), w = b.arena(I8, {4096});
  b.program.instructions.push_back(makeBegin(2, x, x, w));
  GatherCall gather;
  b.call(gather, {b.state("table", F32, {4, 2}), i}, b.output("row", F32, {1, 2}));
  b.program.instructions.push_back(makeWait(b.program.instructions[0]));
  Descriptor desc(writeProgram(b.program));
  ThreadRanks group(2);
  group.run([&](int rank, mpt_rt_communicator *communicator) {
    if (rank == 1)
      return; // Rank 0 would wait for it for a minute.
    Context c(1);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
    int64_t index = 77;
    ASSERT_EQ(mpt_rt_bind(c.rt, "i", &index, sizeof(index)), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_initialize(c.rt, 0), MPT_RT_OK);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_RUN_FAILED);
    EXPECT_NE(c.error().find("77"), std::string::npos) << c.error();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    // Other ranks would take the next exchange for the one that was given up.
    index = 1;
    EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_COMMUNICATION_FAILED);
  });
}

//===----------------------------------------------------------------------===//
// Sums of the transport
//===----------------------------------------------------------------------===//

/// The transport adds from the last rank on: 1 is lost in 1e8, and not the other way
/// round.
TEST(OverlapTest, SumsInAnyOrderAreTheTransports) {
  for (bool addsNumbers : {false, true})
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max}) {
      ProgramBuilder b;
      // More than a segment.
      const int64_t count = (1 << 18) + 77;
      AllReduceCall call;
      call.ranks = 3;
      call.numXs = call.numSums = 1;
      call.kind = kind;
      call.order = SumOrder::Library;
      b.call(call, {b.state("x", F32, {count})}, b.output("y", F32, {count}));
      Descriptor desc(writeProgram(b.program));
      ThreadRanks group(3);
      group.addsNumbers = addsNumbers;
      group.run([&](int rank, mpt_rt_communicator *communicator) {
        Context c(2);
        ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
        const float values[] = {1, 1e8f, -1e8f};
        std::vector<float> x(count, values[rank]), y(count);
        ASSERT_EQ(mpt_rt_write(c.rt, "x", x.data(), 4 * count), MPT_RT_OK);
        const uint64_t before = mpt_rt_get_sent_bytes(communicator);
        ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
        const double sent = mpt_rt_get_sent_bytes(communicator) - before;
        EXPECT_NEAR(sent, 2.0 * 2 / 3 * 4 * count, 0.01 * 4 * count);
        ASSERT_EQ(mpt_rt_read_output(c.rt, "y", y.data(), 4 * count), MPT_RT_OK);
        float expected = addsNumbers ? 1 : 0;
        if (kind == ReduceKind::Mean)
          expected /= 3;
        if (kind == ReduceKind::Max)
          expected = 1e8f;
        EXPECT_EQ(y, std::vector<float>(count, expected));
      });
      EXPECT_EQ(group.reductions, addsNumbers && kind != ReduceKind::Max ? 3 * 2 : 0);
    }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Why the table cannot be read; empty if it can.
std::string read(const Program &program) {
  const std::string table = writeProgram(program);
  Program found;
  std::string error;
  readProgram(reinterpret_cast<const uint8_t *>(table.data()), table.size(), 2, found,
              error);
  return error;
}

TEST(OverlapTest, BuffersUnderWayAreNotUsed) {
  EXPECT_EQ(read(Step(2).b.program), "");
  const std::string taken = "uses a buffer of an exchange that is under way";
  // Of the step's first exchange: its sums and its workspace.
  for (bool isWorkspace : {false, true})
    for (bool reads : {false, true}) {
      Step step(2);
      Instruction &sleeps = step.b.program.instructions[2];
      const Instruction &begun = step.b.program.instructions[1];
      BufferRef ref = isWorkspace ? begun.refs[2] : begun.refs[1];
      sleeps.refs[reads ? 0 : 1] = ref;
      EXPECT_EQ(read(step.b.program), "instruction 2 " + taken);
    }
  // What is only read may be read by others, but not written.
  for (bool reads : {false, true}) {
    ProgramBuilder b;
    BufferRef x = b.state("x", F32, {8}), y = b.arena(F32, {8}), z = b.arena(F32, {8});
    b.program.instructions.push_back(makeBegin(2, x, y, b.arena(I8, {4096})));
    b.launch(1, {reads ? x : z}, reads ? z : x);
    b.program.instructions.push_back(makeWait(b.program.instructions[0]));
    EXPECT_EQ(read(b.program), reads ? "" : "instruction 1 " + taken);
  }
  // Exchanges run one after the other, so they may have one workspace.
  ProgramBuilder b;
  BufferRef w = b.arena(I8, {4096}), x = b.arena(F32, {8}), y = b.arena(F32, {8});
  b.program.instructions.push_back(makeBegin(2, x, x, w));
  b.program.instructions.push_back(makeBegin(2, y, y, w));
  b.program.instructions.push_back(makeWait(b.program.instructions[0]));
  b.program.instructions.push_back(makeWait(b.program.instructions[1]));
  EXPECT_EQ(read(b.program), "");
  // In their order.
  std::swap(b.program.instructions[2], b.program.instructions[3]);
  EXPECT_EQ(read(b.program),
            "instruction 2 waits for an exchange that is not the next one to end");
}

TEST(OverlapTest, EveryExchangeIsWaitedFor) {
  ProgramBuilder b;
  BufferRef x = b.arena(F32, {8});
  b.program.instructions.push_back(makeBegin(2, x, x, b.arena(I8, {4096})));
  EXPECT_EQ(read(b.program), "the program begins an exchange that it does not wait for");
  Instruction wait = makeWait(b.program.instructions[0]);
  b.program.instructions.push_back(wait);
  b.program.instructions.push_back(wait);
  EXPECT_EQ(read(b.program),
            "instruction 2 waits for an exchange that is not the next one to end");
  b.program.instructions.pop_back();
  EXPECT_EQ(read(b.program), "");
  b.program.loops.push_back({0, 2, 3});
  EXPECT_EQ(read(b.program),
            "instruction 0 begins an exchange in a loop, where nothing can wait for it");
  b.program.loops.clear();
  // Of one that does not overlap.
  b.program.instructions[0] = makeBegin(2, x, x, b.arena(I8, {4096}), /*async=*/false);
  EXPECT_EQ(read(b.program),
            "instruction 1 waits for an exchange that is not the next one to end");
  // Equal in the 32 bits that count buffers.
  WaitCall many;
  many.numXs = many.numResults = (int64_t(1) << 32) + 1;
  std::string why;
  EXPECT_FALSE(checkCall(makeInstruction(many, {x}, x), why));
  EXPECT_EQ(why, "a wait needs the buffers of the exchange that it waits for");
}

} // namespace
