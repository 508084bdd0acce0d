//===- CollectivesTest.cpp - Programs of several ranks ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "ThreadTransport.h"

#include <cfloat>
#include <limits>

using namespace mpt::rt;

namespace {

constexpr DataType F64 = DataType::F64, F32 = DataType::F32, F16 = DataType::F16,
                   BF16 = DataType::BF16, I64 = DataType::I64, I32 = DataType::I32,
                   I8 = DataType::I8, I1 = DataType::I1;

using Shapes = std::vector<std::vector<int64_t>>;

/// Rank `rank`'s tensors, with numbers whose sums round.
std::vector<Tensor> makeTensors(DataType type, const Shapes &shapes, int rank) {
  std::vector<Tensor> tensors;
  const bool isFloat = type <= DataType::F8E5M2;
  for (const auto &shape : shapes)
    tensors.push_back(randomTensor(type, shape, 100 * rank + tensors.size(),
                                   isFloat      ? -3
                                   : type == I1 ? 0
                                                : -50,
                                   isFloat      ? 3
                                   : type == I1 ? 1.9
                                                : 50));
  return tensors;
}

/// What a loop over the ranks' values gives, in their order.
template <typename T>
T reduceInOrder(ReduceKind kind, const std::vector<T> &values) {
  T total = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const T value = values[i];
    if (kind == ReduceKind::Max)
      total = value != value || total != total ? T(NAN) : std::max(total, value);
    else if (kind == ReduceKind::Min)
      total = value != value || total != total ? T(NAN) : std::min(total, value);
    else
      total = total + value;
  }
  return kind == ReduceKind::Mean ? total / T(values.size()) : total;
}

/// The element as a number that this type adds in.
double reduceElement(ReduceKind kind, DataType type, DataType wire,
                     const std::vector<double> &values) {
  if (type == F64 || type > DataType::F8E5M2)
    return reduceInOrder(kind, values);
  std::vector<float> floats;
  for (double value : values) {
    Tensor one(wire, {1});
    one.set(0, value);
    floats.push_back(static_cast<float>(one[0]));
  }
  return reduceInOrder(kind, floats);
}

/// Runs one call on `ranks` ranks, and returns each rank's results.
std::vector<std::vector<Tensor>> runRanks(int ranks, const LibraryCall &call,
                                          const std::vector<std::vector<Tensor>> &inputs,
                                          DataType result, const Shapes &results,
                                          uint64_t *sentBytes = nullptr) {
  std::vector<std::vector<Tensor>> found(ranks);
  ThreadRanks group(ranks);
  group.run([&](int rank, mpt_rt_communicator *communicator) {
    ProgramBuilder b(2);
    std::vector<BufferRef> in, out;
    for (const Tensor &tensor : inputs[rank])
      in.push_back(
          b.input("x" + std::to_string(in.size()), tensor.ref.type, tensor.ref.dims));
    for (const auto &shape : results)
      out.push_back(b.output("y" + std::to_string(out.size()), result, shape));
    b.call(call, in, out);
    Descriptor desc(writeProgram(b.program));
    Context c(2);
    ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    EXPECT_EQ(mpt_rt_get_program_ranks(c.rt), ranks);
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(mpt_rt_bind(c.rt, ("x" + std::to_string(i)).c_str(),
                            inputs[rank][i].data(), in[i].bytes()),
                MPT_RT_OK);
    const uint64_t before = mpt_rt_get_sent_bytes(communicator);
    ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
    if (sentBytes && rank == 0)
      *sentBytes = mpt_rt_get_sent_bytes(communicator) - before;
    for (size_t i = 0; i < out.size(); ++i) {
      found[rank].emplace_back(result, results[i]);
      ASSERT_EQ(mpt_rt_read_output(c.rt, ("y" + std::to_string(i)).c_str(),
                                   found[rank].back().data(), out[i].bytes()),
                MPT_RT_OK);
    }
  });
  EXPECT_EQ(group.closed, ranks);
  return found;
}

void checkAllReduce(int ranks, ReduceKind kind, DataType type, DataType result,
                    const Shapes &shapes, Rounding rounding = Rounding::None) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks, kind " +
               std::to_string(static_cast<int>(kind)) + ", types " +
               std::to_string(static_cast<int>(type)) + " and " +
               std::to_string(static_cast<int>(result)));
  std::vector<std::vector<Tensor>> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(makeTensors(type, shapes, rank));
  AllReduceCall call;
  call.kind = kind;
  call.rounding = rounding;
  call.ranks = ranks;
  call.numXs = call.numSums = shapes.size();
  auto found = runRanks(ranks, call, inputs, result, shapes);
  const DataType wire = getRounded(type, rounding), back = getRounded(result, rounding);
  for (size_t i = 0; i < shapes.size(); ++i) {
    Tensor travels(back, shapes[i]);
    std::vector<double> values(ranks);
    for (int64_t at = 0; at < travels.count(); ++at) {
      for (int rank = 0; rank < ranks; ++rank)
        values[rank] = inputs[rank][i][at];
      travels.set(at, reduceElement(kind, type, wire, values));
    }
    const Tensor expected = castTensor(travels, result);
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(found[rank].size(), shapes.size());
      EXPECT_TRUE(found[rank][i].bytes() == expected.bytes())
          << "tensor " << i << " of rank " << rank;
    }
  }
}

/// A bucket of tensors of odd sizes, one without elements among them.
const Shapes bucket = {{3, 5}, {}, {0, 4}, {17}, {1000}};

TEST(CollectivesTest, AllReduceAddsInTheOrderOfRanks) {
  for (int ranks : {1, 2, 3, 4, 7})
    for (ReduceKind kind :
         {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min}) {
      for (DataType type : {F32, BF16, F16})
        for (DataType result : {F32, type})
          checkAllReduce(ranks, kind, type, result, bucket);
      checkAllReduce(ranks, kind, F64, F64, bucket);
    }
}

TEST(CollectivesTest, AllReduceOfIntegers) {
  for (int ranks : {2, 3}) {
    for (DataType type : {I64, I32, I8})
      for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
        checkAllReduce(ranks, kind, type, type, {{5}, {33}});
    // Any and all.
    checkAllReduce(ranks, ReduceKind::Max, I1, I1, {{5}, {33}});
    checkAllReduce(ranks, ReduceKind::Min, I1, I1, {{5}, {33}});
  }
}

TEST(CollectivesTest, ValuesAreRoundedBeforeTheyTravel) {
  for (Rounding rounding : {Rounding::BF16, Rounding::F16})
    for (DataType type : {F32, F16, BF16})
      for (DataType result : {F32, BF16})
        checkAllReduce(3, ReduceKind::Mean, type, result, bucket, rounding);
}

/// More than a segment, and more ranks than elements.
TEST(CollectivesTest, AnyNumberOfElements) {
  checkAllReduce(2, ReduceKind::Sum, F32, F32, {{300001}, {1}, {299999}});
  checkAllReduce(3, ReduceKind::Mean, BF16, F32, {{(1 << 18) + 5}});
  checkAllReduce(5, ReduceKind::Mean, F32, F32, {{2}});
  checkAllReduce(3, ReduceKind::Sum, F32, F32, {{0}});
}

/// The order shows in the bits, and a NaN of any rank is everywhere.
TEST(CollectivesTest, OrderAndNaN) {
  auto reduce = [](ReduceKind kind, const std::vector<float> &values) {
    std::vector<std::vector<Tensor>> inputs;
    for (float value : values) {
      inputs.emplace_back();
      inputs.back().emplace_back(F32, std::vector<int64_t>{1});
      inputs.back()[0].set(0, value);
    }
    AllReduceCall call;
    call.kind = kind;
    call.ranks = values.size();
    call.numXs = call.numSums = 1;
    auto found = runRanks(call.ranks, call, inputs, F32, {{1}});
    for (auto &one : found)
      EXPECT_EQ(std::isnan(one[0][0]), std::isnan(found[0][0][0]));
    return found.back()[0][0];
  };
  EXPECT_EQ(reduce(ReduceKind::Sum, {1e8f, -1e8f, 1}), 1);
  EXPECT_EQ(reduce(ReduceKind::Sum, {1, 1e8f, -1e8f}), 0);
  EXPECT_EQ(reduce(ReduceKind::Mean, {FLT_MAX, FLT_MAX, -FLT_MAX}), INFINITY);
  for (ReduceKind kind :
       {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min})
    EXPECT_TRUE(std::isnan(reduce(kind, {1, NAN, 2}))) << static_cast<int>(kind);
}

/// 2 (n - 1) / n of the tensors' bytes.
TEST(CollectivesTest, BytesOnTheWire) {
  for (int ranks : {2, 4}) {
    AllReduceCall call;
    call.kind = ReduceKind::Mean;
    call.ranks = ranks;
    call.numXs = call.numSums = 2;
    const Shapes shapes = {{4096}, {1 << 19}};
    for (Rounding rounding : {Rounding::None, Rounding::BF16}) {
      call.rounding = rounding;
      std::vector<std::vector<Tensor>> inputs;
      for (int rank = 0; rank < ranks; ++rank)
        inputs.push_back(makeTensors(F32, shapes, rank));
      uint64_t sent = 0;
      const DataType type = getRounded(F32, rounding);
      runRanks(ranks, call, inputs, F32, shapes, &sent);
      const double bytes = (4096 + (1 << 19)) * getSize(type);
      EXPECT_NEAR(sent, 2.0 * (ranks - 1) / ranks * bytes, 0.01 * bytes);
    }
  }
}

/// Sums over what was added, as the planner may ask for.
TEST(CollectivesTest, AllReduceInPlace) {
  ThreadRanks group(3);
  group.run([&](int rank, mpt_rt_communicator *communicator) {
    ProgramBuilder b(2);
    BufferRef w = b.state("w", F32, {1000}), v = b.state("v", F32, {7});
    AllReduceCall call;
    call.ranks = 3;
    call.numXs = call.numSums = 2;
    b.call(call, {w, v}, {w, v});
    Descriptor desc(writeProgram(b.program));
    Context c(2);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
    std::vector<float> values(1000, static_cast<float>(rank + 1)), found(1000);
    ASSERT_EQ(mpt_rt_write(c.rt, "w", values.data(), 4000), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_write(c.rt, "v", values.data(), 28), MPT_RT_OK);
    for (float expected : {6.0f, 18.0f}) {
      ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
      ASSERT_EQ(mpt_rt_read(c.rt, "w", found.data(), 4000), MPT_RT_OK);
      EXPECT_EQ(found, std::vector<float>(1000, expected));
    }
    EXPECT_EQ(mpt_rt_set_communicator(c.rt, nullptr), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(c.error(), "the program has run already");
  });
  // Of another pair.
  ProgramBuilder b(2);
  BufferRef w = b.state("w", F32, {8}), v = b.state("v", F32, {8});
  AllReduceCall call;
  call.ranks = 3;
  call.numXs = call.numSums = 2;
  b.call(call, {w, v}, {v, w});
  Descriptor desc(writeProgram(b.program));
  Context c;
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_INVALID_PROGRAM);
  EXPECT_EQ(c.error(), "instruction 0 writes over a buffer that it reads");
}

TEST(CollectivesTest, ReduceScatter) {
  for (int ranks : {1, 2, 3})
    for (DataType type : {F32, BF16, F64, I32})
      for (int64_t part : {1, 40, 200001}) {
        const Shapes shapes = {{ranks * part}};
        std::vector<std::vector<Tensor>> inputs;
        for (int rank = 0; rank < ranks; ++rank)
          inputs.push_back(makeTensors(type, shapes, rank));
        ReduceScatterCall call;
        call.kind = ReduceKind::Sum;
        call.ranks = ranks;
        const DataType result = type == BF16 ? F32 : type;
        auto found = runRanks(ranks, call, inputs, result, {{part}});
        std::vector<double> values(ranks);
        for (int rank = 0; rank < ranks; ++rank)
          for (int64_t at = 0; at < part; ++at) {
            for (int other = 0; other < ranks; ++other)
              values[other] = inputs[other][0][rank * part + at];
            ASSERT_EQ(found[rank][0][at], reduceElement(call.kind, type, type, values));
          }
      }
}

TEST(CollectivesTest, AllGatherAndBroadcast) {
  for (int ranks : {1, 2, 4})
    for (DataType type : {F32, I8, F64}) {
      const Shapes shapes = {{3, 11}};
      std::vector<std::vector<Tensor>> inputs;
      for (int rank = 0; rank < ranks; ++rank)
        inputs.push_back(makeTensors(type, shapes, rank));
      AllGatherCall gather;
      gather.ranks = ranks;
      auto all = runRanks(ranks, gather, inputs, type, {{3 * ranks, 11}});
      BroadcastCall broadcast;
      broadcast.ranks = ranks;
      broadcast.root = ranks - 1;
      auto same = runRanks(ranks, broadcast, inputs, type, shapes);
      for (int rank = 0; rank < ranks; ++rank) {
        for (int64_t at = 0; at < 33 * ranks; ++at)
          ASSERT_EQ(all[rank][0][at], inputs[at / 33][0][at % 33]);
        EXPECT_TRUE(same[rank][0].bytes() == inputs[ranks - 1][0].bytes());
      }
    }
}

TEST(CollectivesTest, AllToAll) {
  for (int ranks : {1, 2, 3})
    for (DataType type : {F32, I8, F64}) {
      const Shapes shapes = {{2 * ranks, 5}};
      std::vector<std::vector<Tensor>> inputs;
      for (int rank = 0; rank < ranks; ++rank)
        inputs.push_back(makeTensors(type, shapes, rank));
      AllToAllCall exchange;
      exchange.ranks = ranks;
      auto found = runRanks(ranks, exchange, inputs, type, shapes);
      for (int rank = 0; rank < ranks; ++rank)
        for (int64_t at = 0; at < 10 * ranks; ++at)
          ASSERT_EQ(found[rank][0][at], inputs[at / 10][0][10 * rank + at % 10]);
    }
}

TEST(CollectivesTest, Rank) {
  for (DataType type : {I64, I32}) {
    RankCall call;
    call.ranks = 3;
    auto found = runRanks(3, call, std::vector<std::vector<Tensor>>(3), type, {{}});
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(found[rank][0][0], rank);
  }
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

/// w = the sum of w over `ranks` ranks.
ProgramBuilder makeSum(int64_t ranks) {
  ProgramBuilder b(2);
  BufferRef w = b.state("w", F32, {60});
  AllReduceCall call;
  call.ranks = ranks;
  call.numXs = call.numSums = 1;
  b.call(call, {w}, w);
  return b;
}

TEST(CollectivesTest, RanksMustBeThere) {
  Descriptor desc(writeProgram(makeSum(4).program));
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "the program was compiled for 4 ranks and this process knows of "
                       "no others; start it with 'mpirun -n 4 ..' and give the context a "
                       "communicator");
  ThreadRanks group(2);
  group.run([&](int, mpt_rt_communicator *communicator) {
    Context two;
    ASSERT_EQ(mpt_rt_open_desc(two.rt, &desc.desc), MPT_RT_OK) << two.error();
    ASSERT_EQ(mpt_rt_set_communicator(two.rt, communicator), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_run(two.rt), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(two.error(),
              "the program was compiled for 4 ranks, found 2; start it with 'mpirun -n 4 "
              "..', or compile it for as many ranks as there are");
  });
  // One rank needs no others.
  Descriptor alone(writeProgram(makeSum(1).program));
  Context one;
  ASSERT_EQ(mpt_rt_open_desc(one.rt, &alone.desc), MPT_RT_OK) << one.error();
  EXPECT_EQ(mpt_rt_run(one.rt), MPT_RT_OK) << one.error();
}

TEST(CollectivesTest, OneNumberOfRanks) {
  ProgramBuilder b = makeSum(4);
  RankCall rank;
  rank.ranks = 2;
  b.call(rank, {}, b.output("rank", I64, {}));
  Descriptor desc(writeProgram(b.program));
  Context c;
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_INVALID_PROGRAM);
  EXPECT_EQ(c.error(), "test.mlir:2:1: the call is for 2 ranks, others of the program "
                       "for 4");
}

TEST(CollectivesTest, BuffersThatDoNotFit) {
  auto check = [](const LibraryCall &call, const std::vector<BufferRef> &in,
                  const std::vector<BufferRef> &out) {
    Instruction instruction = makeInstruction(call, in, out.front());
    instruction.refs.insert(instruction.refs.end(), out.begin() + 1, out.end());
    instruction.numOutputs = out.size();
    std::string error;
    EXPECT_FALSE(checkCall(instruction, error));
    return error;
  };
  auto ref = [](DataType type, std::vector<int64_t> dims) {
    BufferRef made;
    made.type = type;
    made.dims = std::move(dims);
    return made;
  };
  AllReduceCall reduce;
  reduce.ranks = 2;
  reduce.numXs = reduce.numSums = 1;
  auto with = [&](auto &&change) {
    AllReduceCall call = reduce;
    change(call);
    return LibraryCall(call);
  };
  const BufferRef f = ref(F32, {4}), h = ref(F16, {4}), i = ref(I32, {4}),
                  b = ref(I1, {4});
  for (int64_t ranks : {int64_t(0), int64_t(-1), int64_t(65537), INT64_MAX})
    EXPECT_EQ(check(with([&](auto &call) { call.ranks = ranks; }), {f}, {f}),
              "the number of ranks is not in [1, 65536]");
  EXPECT_EQ(check(reduce, {f}, {ref(F32, {5})}),
            "the result of an all_reduce does not have the shape of its tensor");
  EXPECT_EQ(check(with([](auto &call) { call.numSums = 2; }), {f}, {f, f}),
            "an all_reduce needs at least one tensor, and a result for each");
  // Equal in the 32 bits that count buffers.
  EXPECT_EQ(
      check(with([](auto &call) { call.numXs = call.numSums = (int64_t(1) << 32) + 1; }),
            {f}, {f}),
      "an all_reduce needs at least one tensor, and a result for each");
  EXPECT_EQ(
      check(with([](auto &call) { call.numXs = call.numSums = 2; }), {f, h}, {f, f}),
      "the tensors that are reduced over ranks do not have one element type, or "
      "their results do not");
  EXPECT_EQ(check(reduce, {f}, {i}),
            "what is reduced over ranks cannot have this result type");
  EXPECT_EQ(check(reduce, {i}, {f}),
            "what is reduced over ranks cannot have this result type");
  EXPECT_EQ(check(reduce, {ref(DataType::F8E5M2, {4})}, {ref(DataType::F8E5M2, {4})}),
            "a reduction over ranks of this element type is not supported; use f64, f32, "
            "bf16, f16 or integers");
  EXPECT_EQ(check(with([](auto &call) { call.kind = ReduceKind::Prod; }), {f}, {f}),
            "ranks are reduced by sum, mean, max or min");
  EXPECT_EQ(check(with([](auto &call) { call.kind = ReduceKind::Mean; }), {i}, {i}),
            "integers have no mean over ranks; use sum");
  EXPECT_EQ(check(reduce, {b}, {b}), "i1 has no sum over ranks; use max or min");
  EXPECT_EQ(check(with([](auto &call) { call.rounding = Rounding::BF16; }), {i}, {i}),
            "only values of f32, f16 and bf16 are rounded before they travel");
  ReduceScatterCall scatter;
  scatter.ranks = 2;
  EXPECT_EQ(check(scatter, {f}, {ref(F32, {3})}),
            "the operand of a reduce_scatter is not a result for each rank");
  scatter.ranks = 0;
  EXPECT_EQ(check(scatter, {f}, {f}), "the number of ranks is not in [1, 65536]");
  AllGatherCall gather;
  gather.ranks = 2;
  EXPECT_EQ(check(gather, {f}, {ref(F32, {4})}),
            "the result of an all_gather is not an operand of each rank");
  EXPECT_EQ(check(gather, {f}, {ref(F16, {8})}),
            "the result of an all_gather is not an operand of each rank");
  AllToAllCall exchange;
  exchange.ranks = 3;
  EXPECT_EQ(check(exchange, {f}, {f}),
            "the operand of an all_to_all has no part for each rank");
  exchange.ranks = 2;
  EXPECT_EQ(check(exchange, {f}, {h}),
            "the operand of an all_to_all has no part for each rank");
  BroadcastCall broadcast;
  broadcast.ranks = 2;
  broadcast.root = 2;
  EXPECT_EQ(check(broadcast, {f}, {f}), "the root of a broadcast is no rank");
  broadcast.root = 1;
  EXPECT_EQ(check(broadcast, {f}, {h}),
            "the operands of a broadcast do not fit together");
  RankCall rank;
  rank.ranks = 2;
  EXPECT_EQ(check(rank, {}, {f}), "a rank is one number of i64 or i32");
  EXPECT_EQ(check(rank, {}, {ref(I64, {2})}), "a rank is one number of i64 or i32");
}

TEST(CollectivesTest, TheWorkspaceIsBounded) {
  for (int64_t elements : {int64_t(10), int64_t(1) << 20, int64_t(1) << 40}) {
    BufferRef tensor;
    tensor.dims = {elements};
    AllReduceCall call;
    call.ranks = 3;
    call.numXs = call.numSums = 1;
    EXPECT_LE(getCallWorkspace(makeInstruction(call, {tensor}, tensor), 2), 4 << 20);
  }
}

//===----------------------------------------------------------------------===//
// Ranks that fail
//===----------------------------------------------------------------------===//

TEST(CollectivesTest, ARankThatDoesNotAnswer) {
  Descriptor desc(writeProgram(makeSum(3).program));
  ThreadRanks group(3);
  group.run(
      [&](int rank, mpt_rt_communicator *communicator) {
        if (rank == 1)
          return;
        Context c;
        ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
        ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
        const std::string message =
            "rank 1 (on host1) has not answered for 0.2 s: it has ended, stands still or "
            "takes longer than that for its part of a step; start all ranks again, with "
            "a longer deadline if it is only slow";
        for (int run : {0, 1}) {
          EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_COMMUNICATION_FAILED) << run;
          EXPECT_EQ(c.error(), "test.mlir:1:1: " + message);
        }
        char byte = 0, all[3];
        EXPECT_EQ(mpt_rt_gather(communicator, &byte, 1, all),
                  MPT_RT_COMMUNICATION_FAILED);
        EXPECT_EQ(mpt_rt_communicator_error(communicator), message);
      },
      0.2);
  EXPECT_EQ(group.closed, 3);
  EXPECT_EQ(group.closedAfterFailure, 2);
}

TEST(CollectivesTest, ATransportThatFails) {
  Descriptor desc(writeProgram(makeSum(2).program));
  ThreadRanks group(2);
  group.run([&](int, mpt_rt_communicator *communicator) {
    // After the exchange of names.
    char byte = 0, all[2];
    ASSERT_EQ(mpt_rt_gather(communicator, &byte, 1, all), MPT_RT_OK);
    group.postsUntilFailure = 0;
    Context c;
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    ASSERT_EQ(mpt_rt_set_communicator(c.rt, communicator), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_COMMUNICATION_FAILED);
    EXPECT_EQ(c.error(), "test.mlir:1:1: messages cannot be sent: the cable is cut");
  });
  ThreadRanks broken(2);
  broken.postsUntilFailure = 0;
  broken.run([](int, mpt_rt_communicator *) { ADD_FAILURE(); });
  EXPECT_EQ(broken.failures, 2);
  EXPECT_EQ(broken.closed, 2);
}

TEST(CollectivesTest, GatherOfTheHost) {
  ThreadRanks group(3);
  group.run([&](int rank, mpt_rt_communicator *communicator) {
    EXPECT_EQ(mpt_rt_get_rank(communicator), rank);
    EXPECT_EQ(mpt_rt_get_ranks(communicator), 3);
    EXPECT_STREQ(mpt_rt_get_rank_host(communicator, 2), "host2");
    EXPECT_STREQ(mpt_rt_get_rank_host(communicator, 3), "");
    const int64_t own = 10 * rank;
    int64_t all[3];
    ASSERT_EQ(mpt_rt_gather(communicator, &own, sizeof(own), all), MPT_RT_OK);
    for (int other = 0; other < 3; ++other)
      EXPECT_EQ(all[other], 10 * other);
    EXPECT_EQ(mpt_rt_gather(communicator, nullptr, 0, nullptr), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_gather(communicator, nullptr, 8, all), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(mpt_rt_set_deadline(communicator, 0), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(mpt_rt_set_deadline(communicator, 5), MPT_RT_OK);
  });
}

TEST(CollectivesTest, WhatCannotBeConnected) {
  ThreadRanks group(1);
  mpt_rt_communicator *communicator = mpt_rt_create_communicator(0);
  auto error = [&] { return std::string(mpt_rt_communicator_error(communicator)); };
  EXPECT_EQ(mpt_rt_connect(communicator, nullptr), MPT_RT_INVALID_ARGUMENT);
  mpt_rt_transport transport = group.describe(0);
  transport.struct_bytes = 8;
  EXPECT_EQ(mpt_rt_connect(communicator, &transport), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "no transport, or one of another version of MPT");
  transport = group.describe(0);
  transport.test = nullptr;
  EXPECT_EQ(mpt_rt_connect(communicator, &transport), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "the transport lacks functions");
  transport = group.describe(0);
  transport.rank = 1;
  EXPECT_EQ(mpt_rt_connect(communicator, &transport), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "the transport is rank 1 of 1; expected 1 to 65536 ranks, numbered "
                     "from 0");
  char byte = 0;
  EXPECT_EQ(mpt_rt_gather(communicator, &byte, 1, &byte), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "the communicator is not connected");
  EXPECT_EQ(mpt_rt_connect_mpi(communicator, "/nowhere/libmpi.so"), MPT_RT_UNSUPPORTED);
  EXPECT_NE(error().find("cannot load /nowhere/libmpi.so"), std::string::npos);
  EXPECT_EQ(mpt_rt_connect_mpi(communicator, "libc.so.6"), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(error(), "libc.so.6 is no library of MPI; name the libmpi.so of OpenMPI 4 or "
                     "5");
  transport = group.describe(0);
  EXPECT_EQ(mpt_rt_connect(communicator, &transport), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_connect(communicator, &transport), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(error(), "this communicator has been connected already");
  mpt_rt_destroy_communicator(communicator);
  EXPECT_EQ(mpt_rt_get_ranks(nullptr), 1);
}

} // namespace
