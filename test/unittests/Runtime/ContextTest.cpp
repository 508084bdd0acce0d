//===- ContextTest.cpp - The C ABI and damaged programs ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "mpt/ProgramABI/InitialValues.h"
#include "mpt/ProgramABI/SystemMemory.h"

using namespace mpt::rt;

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16, I32 = DataType::I32;

/// buffers: x, w, out. out[task] = 2 x[task] + w[task].
void doubleAndAdd(void **buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[2])[i] =
        2 * static_cast<float *>(buffers[0])[i] + static_cast<float *>(buffers[1])[i];
}

/// out = 2 x + w over 4 elements; w = out.
ProgramBuilder makeSmall() {
  ProgramBuilder b;
  BufferRef w = b.state("w", F32, {4}), x = b.input("x", F32, {4}),
            out = b.output("out", F32, {4});
  b.launch(4, {x, w}, out);
  b.call(plainCopy(4), {out}, w);
  return b;
}

/// One call of every kind.
ProgramBuilder makeLarge() {
  ProgramBuilder b;
  BufferRef x = b.input("x", F16, {5, 6}), indices = b.input("indices", I32, {3}),
            image = b.input("image", F32, {2, 6, 6, 4});
  BufferRef w = b.state("w", F16, {6, 4}), filter = b.state("filter", F32, {3, 3, 4, 4});
  BufferRef seed = b.state("seed", DataType::I64, {}),
            attempt = b.state("attempt", DataType::I64, {});
  BufferRef bias = b.constant(F32, std::string(16, '\0'), {4});
  BufferRef y = b.arena(F16, {5, 4}), conv = b.arena(F32, {2, 6, 6, 4}),
            pooled = b.arena(F32, {2, 3, 3, 4});
  auto same = [](CallId id) { return convolution(id, {1, 1}, {1, 1, 1, 1}); };
  auto withBias = std::get<Conv2DCall>(same(CallId::Conv2D));
  withBias.hasBias = true;
  const std::array<int64_t, 2> two = {2, 2};
  b.call(matmul(false, false, false, Epilogue::Relu), {x, w}, y);
  b.call(withBias, {image, filter, bias}, conv);
  b.call(same(CallId::Conv2DInputGrad), {conv, filter}, b.arena(F32, {2, 6, 6, 4}));
  b.call(same(CallId::Conv2DFilterGrad), {image, conv}, b.arena(F32, {3, 3, 4, 4}));
  b.call(MaxPoolCall{two, two}, {conv}, pooled);
  b.call(MaxPoolGradCall{two, two}, {pooled, conv}, b.arena(F32, {2, 6, 6, 4}));
  b.call(AvgPoolCall{two, two}, {conv}, pooled);
  b.call(AvgPoolGradCall{two, two}, {pooled}, b.arena(F32, {2, 6, 6, 4}));
  b.call(GatherCall(), {x, indices}, b.arena(F16, {3, 6}));
  b.call(ScatterAddCall(), {indices, b.arena(F16, {3, 6})}, b.arena(F16, {5, 6}));
  b.call(CopyCall{{4, 5}, 0, {1, 4}, 0, {5, 1}}, {y}, b.arena(F16, {4, 5}));
  b.call(FillCall{1.5}, {}, b.arena(F16, {7}));
  b.call(ReduceCall{ReduceKind::Sum, {0, 1, 2, 3}}, {conv}, b.output("sum", F32, {}));
  b.call(ArgmaxCall(), {y}, b.output("class", I32, {5}));
  b.call(RandomMaskCall{3, 0.5}, {seed, attempt}, b.arena(DataType::I1, {9}));
  b.call(CheckIndicesCall{5, 2}, {indices}, b.arena(I32, {3}));
  b.call(RandomBitsCall{3}, {seed, attempt}, b.arena(DataType::I16, {9}));
  BufferRef head = b.arena(F32, {1, 2, 4, 8}), rows = b.arena(F32, {1, 2, 4});
  b.call(AttentionCall{}, {head, head, head},
         {b.arena(F32, {1, 2, 4, 8}), b.arena(F32, {1, 2, 4})});
  b.call(AttentionGradCall{}, {head, head, head, head, head, rows},
         {b.arena(F32, {1, 2, 4, 8}), b.arena(F32, {1, 2, 4, 8}),
          b.arena(F32, {1, 2, 4, 8})});
  // Of one rank, since this is one process.
  AllReduceCall allReduce;
  ReduceScatterCall reduceScatter;
  AllGatherCall allGather;
  AllToAllCall allToAll;
  BroadcastCall broadcast;
  RankCall rank;
  allReduce.ranks = reduceScatter.ranks = allGather.ranks = allToAll.ranks =
      broadcast.ranks = rank.ranks = 1;
  allReduce.numXs = allReduce.numSums = 2;
  b.call(allReduce, {w, y}, {b.arena(F32, {6, 4}), b.arena(F32, {5, 4})});
  b.call(reduceScatter, {w}, b.arena(F32, {24}));
  b.call(allGather, {w}, b.arena(F16, {6, 4}));
  b.call(allToAll, {w}, b.arena(F16, {6, 4}));
  BufferRef sent = b.arena(F16, {6, 4});
  broadcast.async = true;
  b.call(broadcast, {w}, sent);
  b.call(rank, {}, b.arena(I32, {}));
  WaitCall wait;
  wait.numXs = wait.numResults = 1;
  b.call(wait, {w}, sent);
  return b;
}

TEST(ContextTest, RunsAndKeepsState) {
  Descriptor desc(writeProgram(makeSmall().program), {doubleAndAdd});
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  EXPECT_EQ(mpt_rt_num_tensors(c.rt), 3);
  mpt_rt_tensor t;
  ASSERT_EQ(mpt_rt_get_tensor(c.rt, 1, &t), 0);
  EXPECT_STREQ(t.name, "x");
  EXPECT_STREQ(t.role, "input");
  EXPECT_STREQ(t.type, "f32");
  EXPECT_EQ(t.rank, 1);
  EXPECT_EQ(t.dims[0], 4);
  EXPECT_EQ(t.bytes, 16u);
  EXPECT_NE(mpt_rt_get_tensor(c.rt, 3, &t), 0);
  EXPECT_NE(mpt_rt_get_tensor(c.rt, -1, &t), 0);
  EXPECT_GE(mpt_rt_state_bytes(c.rt), 16u);

  float x[4] = {1, 2, 3, 4}, w[4] = {10, 20, 30, 40}, found[4];
  ASSERT_EQ(mpt_rt_read(c.rt, "w", found, 16), 0); // zeros at first
  EXPECT_EQ(found[0] + found[1] + found[2] + found[3], 0);
  ASSERT_EQ(mpt_rt_write(c.rt, "w", w, 16), 0);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "input 'x' is not bound");
  EXPECT_EQ(mpt_rt_read_output(c.rt, "out", found, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "output 'out': no run has made it yet");
  ASSERT_EQ(mpt_rt_bind(c.rt, "x", x, 16), 0);
  mpt_rt_set_profiling(c.rt, 1);
  for (int run = 1; run <= 3; ++run) {
    ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
    ASSERT_EQ(mpt_rt_read_output(c.rt, "out", found, 16), 0);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(found[i], w[i] + 2 * run * x[i]);
  }
  ASSERT_EQ(mpt_rt_read(c.rt, "w", found, 16), 0);
  EXPECT_EQ(found[3], 64);
  const char *what, *where;
  double ms;
  ASSERT_EQ(mpt_rt_get_profile(c.rt, 1, &what, &where, &ms), 0);
  EXPECT_STREQ(what, "copy");
  EXPECT_STREQ(where, "test.mlir:2:1");
  EXPECT_GE(ms, 0);
  EXPECT_NE(mpt_rt_get_profile(c.rt, 2, &what, &where, &ms), 0);
}

/// On the CPU, too, results of the run before the last one, and state as it was.
TEST(ContextTest, KeepsResultsAndSnapshots) {
  Descriptor desc(writeProgram(makeSmall().program), {doubleAndAdd});
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  float x[4] = {1, 2, 3, 4}, found[4] = {};
  ASSERT_EQ(mpt_rt_initialize(c.rt, 0), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(c.rt, "x", x, 16), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK);
  const int32_t kept[] = {2, 0};
  ASSERT_EQ(mpt_rt_keep_results(c.rt, kept, 2), MPT_RT_OK) << c.error();
  // There are no copies of runs before.
  EXPECT_EQ(mpt_rt_read_result(c.rt, 1, 0, found, 16), MPT_RT_INVALID_ARGUMENT);
  mpt_rt_snapshot *snapshot = nullptr;
  for (uint64_t run = 2; run < 6; ++run) {
    ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_get_num_runs(c.rt), run);
    if (run == 3)
      ASSERT_EQ(mpt_rt_take_snapshot(c.rt, &snapshot), MPT_RT_OK) << c.error();
    for (uint64_t of : {run, run - 1})
      for (int32_t tensor : kept) {
        const bool isThere = of > 1;
        ASSERT_EQ(mpt_rt_read_result(c.rt, of, tensor, found, 16) == MPT_RT_OK, isThere);
        if (isThere)
          EXPECT_EQ(found[1], 4.0f * of);
      }
  }
  EXPECT_EQ(mpt_rt_read_result(c.rt, 3, 0, found, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpt_rt_read_result(c.rt, 6, 0, found, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(),
            "there is no copy of 'w' of run 6 after run 5; the last two are kept");
  ASSERT_EQ(mpt_rt_read_snapshot(snapshot, "w", found, 16), MPT_RT_OK);
  EXPECT_EQ(found[1], 12);
  mpt_rt_destroy_snapshot(snapshot);
  EXPECT_EQ(mpt_rt_take_snapshot(c.rt, nullptr), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpt_rt_keep_results(c.rt, nullptr, 1), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpt_rt_read_snapshot(nullptr, "w", found, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(mpt_rt_snapshot_error(nullptr), "no snapshot");
}

TEST(ContextTest, SharesState) {
  Descriptor desc(writeProgram(makeSmall().program), {doubleAndAdd});
  ProgramBuilder builder = makeSmall();
  BufferRef own = builder.state("own", F32, {2}), out = builder.output("twice", F32, {2});
  builder.launch(2, {own, own}, out);
  Descriptor other(writeProgram(builder.program), {doubleAndAdd});
  float x[4] = {1, 2, 3, 4}, w[4] = {10, 20, 30, 40}, found[4];
  Context second;
  void *data = nullptr, *shared = nullptr;
  {
    Context first;
    EXPECT_EQ(mpt_rt_share_state(second.rt, first.rt), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(second.error(), "no program to share state with");
    ASSERT_EQ(mpt_rt_open_desc(first.rt, &desc.desc), MPT_RT_OK) << first.error();
    ASSERT_EQ(mpt_rt_share_state(second.rt, first.rt), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_write(first.rt, "w", w, 16), 0);
    // Opening gives what is shared no first value.
    ASSERT_EQ(mpt_rt_open_desc(second.rt, &other.desc), MPT_RT_OK) << second.error();
    EXPECT_EQ(mpt_rt_share_state(second.rt, first.rt), MPT_RT_INVALID_ARGUMENT);
    ASSERT_EQ(mpt_rt_bind(first.rt, "x", x, 16), 0);
    ASSERT_EQ(mpt_rt_bind(second.rt, "x", x, 16), 0);
    ASSERT_EQ(mpt_rt_run(first.rt), MPT_RT_OK) << first.error();
    ASSERT_EQ(mpt_rt_run(second.rt), MPT_RT_OK) << second.error();
    ASSERT_EQ(mpt_rt_read(first.rt, "w", found, 16), 0);
    EXPECT_EQ(found[3], 56);
    ASSERT_EQ(mpt_rt_get_data(first.rt, 0, &shared), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_get_data(first.rt, 3, &data), MPT_RT_INVALID_ARGUMENT);
  }
  // The memory outlives the program that made it.
  ASSERT_EQ(mpt_rt_get_data(second.rt, 0, &data), MPT_RT_OK);
  EXPECT_EQ(data, shared);
  ASSERT_EQ(mpt_rt_run(second.rt), MPT_RT_OK) << second.error();
  EXPECT_EQ(static_cast<float *>(data)[3], 64);
  mpt_rt_tensor tensor;
  for (int i = 0; mpt_rt_get_tensor(second.rt, i, &tensor) == 0; ++i) {
    ASSERT_EQ(mpt_rt_get_data(second.rt, i, &data), MPT_RT_OK);
    if (std::string(tensor.name) == "x")
      EXPECT_EQ(data, x);
    else if (std::string(tensor.name) == "out")
      EXPECT_EQ(static_cast<float *>(data)[3], 64);
  }
}

/// A constant of one value is stored once, whatever its size and type.
TEST(ContextTest, ConstantsOfOneValueAreFilled) {
  ProgramBuilder b;
  const int64_t most = 100003;
  auto copy = [&](const std::string &name, DataType type, const std::string &value,
                  int64_t count) {
    BufferRef from = b.constant(type, value, {count}), to = b.output(name, type, {count});
    b.call(plainCopy(count), {from}, to);
  };
  const float third = 1.0f / 3;
  const double tenth = 0.1;
  auto bytes = [](const auto &value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  copy("f32", F32, bytes(third), most);
  copy("f64", DataType::F64, bytes(tenth), 3);
  copy("i1", DataType::I1, std::string(1, 1), 7);
  copy("whole", DataType::I8, "abcde", 5);
  copy("none", F32, "", 0);
  const std::string table = writeProgram(b.program);
  EXPECT_LT(table.size(), 2000u);
  Descriptor desc(table);
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
  std::vector<float> floats(most);
  ASSERT_EQ(mpt_rt_read_output(c.rt, "f32", floats.data(), 4 * most), MPT_RT_OK);
  EXPECT_EQ(floats, std::vector<float>(most, third));
  std::vector<double> doubles(3);
  ASSERT_EQ(mpt_rt_read_output(c.rt, "f64", doubles.data(), 24), MPT_RT_OK);
  EXPECT_EQ(doubles, std::vector<double>(3, tenth));
  std::string small(7, 0);
  ASSERT_EQ(mpt_rt_read_output(c.rt, "i1", small.data(), 7), MPT_RT_OK);
  EXPECT_EQ(small, std::string(7, 1));
  ASSERT_EQ(mpt_rt_read_output(c.rt, "whole", small.data(), 5), MPT_RT_OK);
  EXPECT_EQ(small.substr(0, 5), "abcde");
}

/// Neither all bytes nor one element; and more than there is memory for.
TEST(ContextTest, ConstantsThatDoNotFit) {
  auto open = [](DataType type, const std::string &value, int64_t count) {
    ProgramBuilder b;
    BufferRef from = b.constant(type, value, {count}), to = b.output("y", type, {1});
    b.call(plainCopy(1), {from}, to);
    Descriptor desc(writeProgram(b.program));
    Context c;
    int status = mpt_rt_open_desc(c.rt, &desc.desc);
    return std::pair(status, c.error());
  };
  EXPECT_EQ(open(F32, "abcd", 1).first, MPT_RT_OK);
  EXPECT_EQ(open(F32, "abcd", 100).first, MPT_RT_OK);
  for (const char *value : {"", "abc", "abcdefgh"})
    EXPECT_EQ(open(F32, value, 100),
              std::pair(int(MPT_RT_INVALID_PROGRAM),
                        std::string("instruction 0 uses a buffer outside its space")));
  auto [status, why] = open(F32, "abcd", getSystemMemory() / 4 + 16);
  EXPECT_EQ(status, MPT_RT_OUT_OF_MEMORY);
  EXPECT_NE(why.find("this process can have " + std::to_string(getSystemMemory())),
            std::string::npos)
      << why;
}

TEST(ContextTest, StateBeginsWithWhatTheProgramSays) {
  ProgramBuilder b = makeSmall();
  b.program.tensors[0].init = mpt::InitSpec{mpt::InitKind::Constant, {0.25}};
  Descriptor desc(writeProgram(b.program), {doubleAndAdd});
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  float x[4] = {1, 2, 3, 4}, found[4];
  ASSERT_EQ(mpt_rt_read(c.rt, "w", found, 16), 0);
  for (float value : found)
    EXPECT_EQ(value, 0.25f);
  ASSERT_EQ(mpt_rt_bind(c.rt, "x", x, 16), 0);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
}

TEST(ContextTest, InitializeDrawsFirstValues) {
  // More than is drawn at a time.
  constexpr int64_t kCount = (1 << 16) + 5;
  ProgramBuilder b;
  b.state("w", F32, {kCount});
  b.program.tensors.back().init = mpt::InitSpec{mpt::InitKind::Normal, {0, 1}};
  b.program.tensors.back().key = 17;
  b.state("half", DataType::BF16, {kCount});
  b.program.tensors.back().init = mpt::InitSpec{mpt::InitKind::KaimingUniform, {3}};
  b.state("half.low", DataType::I16, {kCount});
  b.program.tensors.back().lowOf = "half";
  b.state("seed", DataType::I64, {});
  b.program.tensors.back().role = "rng";
  b.state("moment", F32, {2});
  b.program.tensors.back().role = "optimizer_state";
  b.program.tensors.back().init.reset();
  b.state("given", F32, {2});
  b.program.tensors.back().init.reset();
  Descriptor desc(writeProgram(b.program));
  Context c;
  EXPECT_EQ(mpt_rt_initialize(nullptr, 3), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpt_rt_initialize(c.rt, 3), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "no program is open");
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  float given[2] = {4, 5}, moment[2] = {6, 7};
  ASSERT_EQ(mpt_rt_write(c.rt, "given", given, 8), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_write(c.rt, "moment", moment, 8), MPT_RT_OK);
  for (uint64_t seed : {3, 4}) {
    ASSERT_EQ(mpt_rt_initialize(c.rt, seed), MPT_RT_OK) << c.error();
    std::vector<double> drawn(kCount);
    std::vector<float> w(kCount), expected(kCount);
    drawInitialValues({mpt::InitKind::Normal, {0, 1}}, 17, seed, 0, kCount, drawn.data());
    encodeElements(F32, drawn.data(), kCount, expected.data());
    ASSERT_EQ(mpt_rt_read(c.rt, "w", w.data(), 4 * kCount), MPT_RT_OK);
    EXPECT_EQ(w, expected);
    // The halves make the f32 number again.
    std::vector<uint16_t> high(kCount), low(kCount);
    ASSERT_EQ(mpt_rt_read(c.rt, "half", high.data(), 2 * kCount), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_read(c.rt, "half.low", low.data(), 2 * kCount), MPT_RT_OK);
    drawInitialValues({mpt::InitKind::KaimingUniform, {3}}, 0, seed, 0, kCount,
                      drawn.data());
    for (int64_t i = 0; i < kCount; ++i) {
      uint32_t bits = (uint32_t(high[i]) << 16) + uint32_t(int16_t(low[i]));
      float wide;
      std::memcpy(&wide, &bits, 4);
      ASSERT_EQ(wide, float(drawn[i]));
    }
    uint64_t stored = 0;
    ASSERT_EQ(mpt_rt_read(c.rt, "seed", &stored, 8), MPT_RT_OK);
    EXPECT_EQ(stored, seed);
    ASSERT_EQ(mpt_rt_read(c.rt, "moment", moment, 8), MPT_RT_OK);
    EXPECT_EQ(moment[1], 0);
    // What has no first value stays.
    ASSERT_EQ(mpt_rt_read(c.rt, "given", given, 8), MPT_RT_OK);
    EXPECT_EQ(given[1], 5);
  }
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
}

TEST(ContextTest, StateThatWasNotWrittenIsNamed) {
  ProgramBuilder b = makeSmall();
  b.program.tensors[0].init.reset();
  Descriptor desc(writeProgram(b.program), {doubleAndAdd});
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  float x[4] = {1, 2, 3, 4};
  ASSERT_EQ(mpt_rt_bind(c.rt, "x", x, 16), 0);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "state without a value: 'w'; before the first run call "
                       "mpt_rt_initialize, or mpt_rt_write for state without mpt.init");
  // A write that failed is none.
  EXPECT_EQ(mpt_rt_write(c.rt, "w", x, 12), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_INVALID_ARGUMENT);
  ASSERT_EQ(mpt_rt_write(c.rt, "w", x, 16), 0);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();

  ProgramBuilder many;
  for (char name = 'a'; name <= 'k'; ++name) {
    many.state(std::string(1, name), F32, {});
    if (name != 'b')
      many.program.tensors.back().init.reset();
  }
  Descriptor manyDesc(writeProgram(many.program));
  Context d;
  ASSERT_EQ(mpt_rt_open_desc(d.rt, &manyDesc.desc), MPT_RT_OK) << d.error();
  EXPECT_EQ(mpt_rt_run(d.rt), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(d.error().substr(0, d.error().find(';')),
            "state without a value: 'a', 'c', 'd', 'e', 'f', 'g', 'h', 'i' and 2 more");
}

TEST(ContextTest, GivesTheBadIndex) {
  ProgramBuilder b;
  BufferRef table = b.input("table", F32, {5, 2}), indices = b.input("indices", I32, {3});
  b.call(GatherCall(), {table, indices}, b.output("out", F32, {3, 2}));
  Descriptor desc(writeProgram(b.program));
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  float values[10] = {};
  int32_t rows[3] = {4, 0, -7};
  int64_t index = 0, position = 0;
  ASSERT_EQ(mpt_rt_bind(c.rt, "table", values, 40), 0);
  ASSERT_EQ(mpt_rt_bind(c.rt, "indices", rows, 12), 0);
  EXPECT_NE(mpt_rt_get_bad_index(c.rt, &index, &position), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(c.error(), "test.mlir:1:1: index -7 at position 2 is outside [0, 5)");
  ASSERT_EQ(mpt_rt_get_bad_index(c.rt, &index, &position), MPT_RT_OK);
  EXPECT_EQ(index, -7);
  EXPECT_EQ(position, 2);
  EXPECT_NE(mpt_rt_get_bad_index(c.rt, &index, nullptr), MPT_RT_OK);
  // The next run forgets it.
  rows[2] = 1;
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
  EXPECT_NE(mpt_rt_get_bad_index(c.rt, &index, &position), MPT_RT_OK);
}

TEST(ContextTest, WrongArguments) {
  Descriptor desc(writeProgram(makeSmall().program), {doubleAndAdd});
  Context c;
  float data[4] = {};
  // Before a program is open.
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "no program is open");
  EXPECT_EQ(mpt_rt_write(c.rt, "w", data, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "no program is open");
  EXPECT_EQ(mpt_rt_num_tensors(c.rt), 0);
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "this context has a program already");

  EXPECT_EQ(mpt_rt_write(c.rt, "v", data, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "the program has no state named 'v'");
  EXPECT_EQ(mpt_rt_write(c.rt, "x", data, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "the program has no state named 'x'");
  EXPECT_EQ(mpt_rt_write(c.rt, "w", data, 12), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "state 'w' has 16 bytes, not 12");
  EXPECT_EQ(mpt_rt_read(c.rt, "w", data, 20), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "state 'w' has 16 bytes, not 20");
  EXPECT_EQ(mpt_rt_read_output(c.rt, "w", data, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "the program has no output named 'w'");
  EXPECT_EQ(mpt_rt_bind(c.rt, "out", data, 16), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "the program has no input named 'out'");
  EXPECT_EQ(mpt_rt_bind(c.rt, "x", data, 8), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(c.error(), "input 'x' has 16 bytes, not 8");
  for (auto status :
       {mpt_rt_bind(c.rt, nullptr, data, 16), mpt_rt_bind(c.rt, "x", nullptr, 16),
        mpt_rt_write(nullptr, "w", data, 16), mpt_rt_read(nullptr, "w", data, 16),
        mpt_rt_bind(nullptr, "x", data, 16), mpt_rt_run(nullptr),
        mpt_rt_open(nullptr, "x"), mpt_rt_open(c.rt, nullptr),
        mpt_rt_open_desc(nullptr, &desc.desc), mpt_rt_get_tensor(c.rt, 0, nullptr),
        mpt_rt_get_profile(c.rt, 0, nullptr, nullptr, nullptr)})
    EXPECT_EQ(status, MPT_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(mpt_rt_last_error(nullptr), "no context");
  mpt_rt_destroy(nullptr);
}

/// The status and message of opening a program that `change` has changed.
template <typename Change>
std::pair<int, std::string> openChanged(Change &&change) {
  ProgramBuilder b = makeSmall();
  change(b.program);
  Descriptor desc(writeProgram(b.program), {doubleAndAdd});
  Context c;
  int status = mpt_rt_open_desc(c.rt, &desc.desc);
  // Nothing is left of a program that did not open.
  if (status != MPT_RT_OK) {
    std::string why = c.error();
    EXPECT_EQ(mpt_rt_num_tensors(c.rt), 0);
    EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_INVALID_ARGUMENT);
    Descriptor good(writeProgram(makeSmall().program), {doubleAndAdd});
    EXPECT_EQ(mpt_rt_open_desc(c.rt, &good.desc), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_num_tensors(c.rt), 3);
    return {status, why};
  }
  return {status, ""};
}

TEST(ProgramTest, WhatIsWrongIsSaid) {
  using Result = std::pair<int, std::string>;
  auto invalid = [](const std::string &message) {
    return Result(MPT_RT_INVALID_PROGRAM, message);
  };
  EXPECT_EQ(openChanged([](Program &) {}), Result(MPT_RT_OK, ""));
  EXPECT_EQ(openChanged([](Program &p) { p.version = "0.0.9"; }),
            invalid("the program was compiled by MPT 0.0.9 but this runtime is of " +
                    std::string(mpt::kVersion) + "; compile it again"));
  EXPECT_EQ(openChanged([](Program &p) { p.target = "cuda sm_90"; }),
            Result(MPT_RT_UNSUPPORTED, "the program is for 'cuda sm_90' but its "
                                       "code is for the CPU"));
  EXPECT_EQ(openChanged([](Program &p) { p.stateBytes = int64_t(1) << 45; }),
            Result(MPT_RT_OUT_OF_MEMORY,
                   "the program needs 35184372088896 bytes of memory (arena 0, state "
                   "35184372088832, outputs 64, constants 0), this process can have " +
                       std::to_string(getSystemMemory()) +
                       "; compile it for a smaller batch or with a memory budget"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.stateBytes = p.outputBytes = int64_t(1) << 45;
              p.arenaBytes = 64;
            }),
            invalid("the program needs more than 2^46 bytes"));
  // Messages with it would end there.
  EXPECT_EQ(
      openChanged([](Program &p) { p.instructions[0].location = std::string(1, 0); }),
      invalid("a name in the program's table has a zero byte"));
  for (int64_t bytes : {int64_t(-1), int64_t(1) << 47, INT64_MAX})
    EXPECT_EQ(openChanged([&](Program &p) { p.arenaBytes = bytes; }),
              invalid("the program's sizes are not valid"));
  for (int64_t threads : {int64_t(0), int64_t(-3), int64_t(1) << 40})
    EXPECT_EQ(openChanged([&](Program &p) { p.maxThreads = threads; }),
              invalid("the program is planned for " + std::to_string(threads) +
                      " threads; expected 1 to 4096"));
  EXPECT_EQ(openChanged([](Program &p) { p.tensors[0].buffer.offset = 64; }),
            invalid("tensor 'w' lies outside its space"));
  EXPECT_EQ(
      openChanged([](Program &p) { p.tensors[2].buffer.dims = {1 << 30, 1 << 30}; }),
      invalid("tensor 'out' lies outside its space"));
  EXPECT_EQ(openChanged([](Program &p) { p.tensors[1].buffer.offset = 1; }),
            invalid("tensor 'x' lies outside its space"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.tensors.push_back(p.tensors[1]);
              p.tensors.back().name = "x2";
            }),
            invalid("two inputs have the number of 'x2'"));
  std::string outside = "instruction 0 uses a buffer outside its space";
  for (auto dims : {std::vector<int64_t>{5},
                    {-4},
                    {INT64_MAX},
                    {int64_t(1) << 62, 4},
                    {int64_t(1) << 62, 8}})
    for (int position : {0, 1, 2})
      EXPECT_EQ(openChanged([&](Program &p) {
                  // Larger than what is there by more than its padding.
                  p.instructions[0].refs[position].dims = dims;
                  if (dims[0] == 5)
                    p.instructions[0].refs[position].dims = {17};
                }),
                invalid(outside));
  EXPECT_EQ(openChanged([](Program &p) {
              p.instructions[0].refs[1].space = static_cast<SpaceId>(9);
            }),
            invalid(outside));
  EXPECT_EQ(openChanged([](Program &p) {
              p.instructions[0].refs[1].type = static_cast<DataType>(99);
            }),
            invalid(outside));
  EXPECT_EQ(openChanged([](Program &p) { p.instructions[0].refs[1].offset = -64; }),
            invalid(outside));
  EXPECT_EQ(openChanged([](Program &p) {
              p.instructions[1].refs[1] = p.instructions[1].refs[0];
              p.instructions[1].refs[1].dims = {1};
            }),
            invalid("instruction 1 writes over a buffer that it reads"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.instructions[0].refs[1].offset = 2;
              p.instructions[0].refs[1].dims = {3};
            }),
            invalid("instruction 0 uses a misaligned buffer"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.tensors[2].buffer.offset = 1;
              p.tensors[2].buffer.dims = {3};
            }),
            invalid("tensor 'out' is misaligned"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.tensors.push_back(p.tensors[0]);
              p.tensors.back().name = "v";
            }),
            invalid("the tensors 'v' and 'w' overlap in the state"));
  for (auto [tensor, name] : {std::pair(1, "x"), {2, "out"}})
    EXPECT_EQ(
        openChanged(
            [&, tensor = tensor](Program &p) { p.tensors[tensor].init.emplace(); }),
        invalid(std::string("tensor '") + name + "' has a first value but is not state"));
  auto openInit = [&](mpt::InitSpec spec) {
    return openChanged([&](Program &p) { p.tensors[0].init = spec; });
  };
  EXPECT_EQ(openInit({mpt::InitKind::XavierUniform, {1, 0}}),
            invalid("tensor 'w' has a first value without fan_in > 0 and fan_out > 0"));
  EXPECT_EQ(openInit({mpt::InitKind(8), {1, 0}}),
            invalid("tensor 'w' begins with a value of an unknown kind"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.tensors[0].buffer.type = DataType::I32;
              p.tensors[0].init = mpt::InitSpec{mpt::InitKind::Normal, {0, 1}};
            }),
            invalid("tensor 'w' has a random first value but is not of floats"));
  EXPECT_EQ(openChanged([](Program &p) { p.tensors[0].lowOf = "v"; }),
            invalid("tensor 'w' is the low half of 'v', which is not state"));
  EXPECT_EQ(openChanged([](Program &p) { p.tensors[0].lowOf = "w"; }),
            invalid("tensor 'w' is not the low half of 'w'"));
  EXPECT_EQ(openChanged([](Program &p) { p.instructions[0].numInputs = 3; }),
            invalid("instruction 0 has a wrong number of buffers"));
  EXPECT_EQ(openChanged([](Program &p) { p.instructions[0].kernel = 1; }),
            invalid("instruction 0 runs something that is not in the program"));
  EXPECT_EQ(openChanged([](Program &p) { p.instructions[0].tasks = -1; }),
            invalid("instruction 0 has a negative number of tasks"));
  EXPECT_EQ(openChanged([](Program &p) {
              p.instructions[0].refs[2] = p.instructions[0].refs[0];
            }),
            invalid("instruction 0 writes an input or a constant"));
  EXPECT_EQ(
      openChanged([](Program &p) { p.instructions[1].call = plainCopy(5); }),
      Result(MPT_RT_UNSUPPORTED, "test.mlir:2:1: a copy reaches outside its buffers"));
}

/// y[i][2 - j] = x[j] for i below 2 and j below 3: rows of 4, in a loop in a loop.
ProgramBuilder makeLoops() {
  ProgramBuilder b;
  BufferRef from = b.input("x", F32, {3, 4}), to = b.output("y", F32, {2, 3, 4});
  from.dims = to.dims = {4};
  from.strides = {0, 16};
  to.offset += 2 * 16;
  to.strides = {48, -16};
  b.call(plainCopy(4), {from}, to);
  b.program.loops = {{0, 1, 2}, {0, 1, 3}};
  return b;
}

TEST(ProgramTest, LoopsMoveBuffers) {
  Descriptor desc(writeProgram(makeLoops().program));
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  float x[12], y[24];
  for (int i = 0; i < 12; ++i)
    x[i] = i;
  ASSERT_EQ(mpt_rt_bind(c.rt, "x", x, sizeof(x)), MPT_RT_OK);
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
    ASSERT_EQ(mpt_rt_read_output(c.rt, "y", y, sizeof(y)), MPT_RT_OK);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(y[(i * 3 + 2 - j) * 4 + 3], x[j * 4 + 3]) << i << ' ' << j;
  }
}

/// The order of instructions 0 to 4 in loops. Conditions, numbered by their offset, hold
/// as often as `held` says.
std::string runInOrder(std::vector<Loop> loops, std::vector<int> held = {}) {
  Program program;
  program.instructions.resize(5);
  program.loops = std::move(loops);
  std::string order;
  auto visit = [&](size_t i, const std::vector<int64_t> &iterations) {
    order += std::to_string(i);
    for (int64_t iteration : iterations)
      order += static_cast<char>('a' + iteration);
    order += ' ';
    return 0;
  };
  forEachIteration(program, visit,
                   [&](const BufferRef &condition, const std::vector<int64_t> &) {
                     return held[condition.offset]-- > 0;
                   });
  return order;
}

TEST(ProgramTest, LoopsRunInOrder) {
  EXPECT_EQ(runInOrder({}), "0 1 2 3 4 ");
  EXPECT_EQ(runInOrder({{1, 3, 2}}), "0 1a 2a 1b 2b 3 4 ");
  EXPECT_EQ(runInOrder({{0, 5, 1}}), "0a 1a 2a 3a 4a ");
  EXPECT_EQ(runInOrder({{0, 3, 2}, {0, 1, 2}, {1, 3, 1}, {4, 5, 2}}),
            "0aa 0ab 1aa 2aa 0ba 0bb 1ba 2ba 3 4a 4b ");
}

TEST(ProgramTest, LoopsEndWhenTheirConditionsDo) {
  auto when = [](Loop loop, int64_t condition) {
    loop.condition = BufferRef{SpaceId::State, DataType::I1, condition, {}, 0, {}};
    return loop;
  };
  EXPECT_EQ(runInOrder({when({1, 3, 9}, 0)}, {2}), "0 1a 2a 1b 2b 3 4 ");
  EXPECT_EQ(runInOrder({when({1, 3, 2}, 0)}, {9}), "0 1a 2a 1b 2b 3 4 ");
  EXPECT_EQ(runInOrder({when({1, 3, 1}, 0)}, {0}), "0 3 4 ");
  EXPECT_EQ(runInOrder({when({0, 5, 3}, 0)}, {0}), "");
  EXPECT_EQ(runInOrder({when({3, 5, 3}, 0)}, {0}), "0 1 2 ");
  // What is in a loop that does not run does not run, and what is around it goes on.
  EXPECT_EQ(runInOrder({when({1, 4, 3}, 0), {1, 2, 2}, {2, 4, 2}, {4, 5, 2}}, {0}),
            "0 4a 4b ");
  EXPECT_EQ(runInOrder({{0, 3, 3}, {0, 1, 2}, when({1, 3, 5}, 0)}, {0}),
            "0aa 0ab 0ba 0bb 0ca 0cb 3 4 ");
  EXPECT_EQ(runInOrder({{0, 3, 2}, when({0, 1, 4}, 0), when({0, 1, 4}, 1)}, {2, 1}),
            "0aaa 1a 2a 1b 2b 3 4 ");
}

TEST(ProgramTest, ConditionsAreReadBeforeEachIteration) {
  // Rows of x are copied until c, of which the program copies a row as well, is false.
  ProgramBuilder b;
  BufferRef x = b.input("x", F32, {3, 4}), c = b.input("c", DataType::I1, {3, 2});
  BufferRef y = b.output("y", F32, {3, 4});
  x.dims = y.dims = {4};
  x.strides = y.strides = {16, 0};
  b.call(plainCopy(4), {x}, y);
  b.program.loops = {{0, 1, 3}, {0, 1, 1}};
  c.dims = {};
  c.start = 1;
  c.strides = {2};
  b.program.loops[1].condition = c;
  Descriptor desc(writeProgram(b.program));
  Context context;
  ASSERT_EQ(mpt_rt_open_desc(context.rt, &desc.desc), MPT_RT_OK) << context.error();
  float rows[12], read[12];
  for (int i = 0; i < 12; ++i)
    rows[i] = i + 1;
  const uint8_t flags[6] = {1, 0, 0, 1, 0, 0};
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", rows, sizeof(rows)), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "c", flags, sizeof(flags)), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
  ASSERT_EQ(mpt_rt_read_output(context.rt, "y", read, sizeof(read)), MPT_RT_OK);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(read[i], i / 4 == 1 ? rows[i] : 0) << i;

  auto open = [&](auto &&change) {
    Program program = b.program;
    change(program, *program.loops[1].condition);
    Descriptor changed(writeProgram(program));
    Context other;
    return mpt_rt_open_desc(other.rt, &changed.desc) == MPT_RT_OK ? "" : other.error();
  };
  const std::string invalid =
      "loop 1 has a condition that is no truth value in its space";
  EXPECT_EQ(open([](Program &, BufferRef &) {}), "");
  EXPECT_EQ(open([](Program &, BufferRef &ref) { ref.start = 2; }), invalid);
  EXPECT_EQ(open([](Program &, BufferRef &ref) { ref.offset = 2; }), invalid);
  EXPECT_EQ(open([](Program &, BufferRef &ref) { ref.type = DataType::I8; }), invalid);
  EXPECT_EQ(open([](Program &, BufferRef &ref) { ref.dims = {2}; }), invalid);
  EXPECT_EQ(open([](Program &, BufferRef &ref) { ref.strides = {0, 0, 0}; }), invalid);
}

TEST(ProgramTest, WhatIsWrongWithLoopsIsSaid) {
  auto open = [](auto &&change) {
    ProgramBuilder b = makeLoops();
    change(b.program);
    Descriptor desc(writeProgram(b.program));
    Context c;
    return mpt_rt_open_desc(c.rt, &desc.desc) == MPT_RT_OK ? "" : c.error();
  };
  auto openLoops = [&](std::vector<Loop> loops) {
    return open([&](Program &p) { p.loops = loops; });
  };
  auto openTo = [&](auto &&change) {
    return open([&](Program &p) { change(p.instructions[0].refs[1]); });
  };
  EXPECT_EQ(open([](Program &) {}), "");
  const std::string outside = "instruction 0 uses a buffer outside its space";
  // Strides without loops.
  EXPECT_EQ(openLoops({}), outside);
  EXPECT_EQ(openLoops({{0, 1, 2}}), outside);
  // One iteration too many, outside and inside.
  EXPECT_EQ(openLoops({{0, 1, 3}, {0, 1, 3}}), outside);
  EXPECT_EQ(openLoops({{0, 1, 2}, {0, 1, 4}}), outside);
  EXPECT_EQ(openTo([](BufferRef &ref) { ref.offset = 16; }), outside);
  EXPECT_EQ(openTo([](BufferRef &ref) { ref.offset += 64; }), outside);
  for (int64_t stride : {INT64_MAX / 16 * 16, INT64_MIN, int64_t(1) << 62})
    EXPECT_EQ(openTo([&](BufferRef &ref) { ref.strides[0] = stride; }), outside);
  EXPECT_EQ(open([](Program &p) { p.instructions[0].refs[0].start = 4 * 4; }), outside);
  EXPECT_EQ(open([](Program &p) { p.instructions[0].refs[0].start = -16; }), outside);
  EXPECT_EQ(openTo([](BufferRef &ref) { ref.start = 16; }), outside);
  EXPECT_EQ(openTo([](BufferRef &ref) { ref.strides[0] = 46; }),
            "instruction 0 uses a misaligned buffer");
  EXPECT_EQ(open([](Program &p) { p.tensors[1].buffer.strides = {16}; }),
            "tensor 'y' lies outside its space");
  for (std::vector<Loop> loops : {std::vector<Loop>{{0, 0, 2}}, {{0, 2, 2}}, {{1, 2, 2}}})
    EXPECT_EQ(openLoops(loops), "loop 0 runs instructions that are not in the program");
  EXPECT_EQ(openLoops({{0, 1, 0}}), "loop 0 runs 0 times; expected 1 to 2^32");
  EXPECT_EQ(openLoops({{0, 1, -1}}), "loop 0 runs -1 times; expected 1 to 2^32");
  EXPECT_EQ(openLoops({{0, 1, 1 << 20}, {0, 1, 1 << 20}}),
            "loop 1 and those around it run more than 2^32 times");
  auto openThree = [&](std::vector<Loop> loops) {
    return open([&](Program &p) {
      p.instructions.resize(3, p.instructions[0]);
      p.loops = loops;
    });
  };
  EXPECT_EQ(openThree({{1, 2, 2}, {0, 1, 2}}),
            "loop 1 comes after one that begins later");
  EXPECT_EQ(openThree({{0, 2, 2}, {1, 3, 2}}),
            "loop 1 ends after the loop that it is in");
}

/// Every call reads as it was written, whatever its attributes.
TEST(ProgramTest, CallsRoundTrip) {
  ProgramBuilder b = makeLarge();
  // For GPUs alone.
  GemmQuantizeCall quantize;
  quantize.block = {1, 32};
  quantize.scaling = GemmScaling::Vec32UE8M0;
  quantize.hasRow = quantize.hasRowScales = true;
  b.call(quantize, {b.arena(F32, {16, 32})},
         {b.arena(DataType::F8E4M3FN, {16, 32}), b.arena(DataType::I8, {512})});
  const BufferRef rows = b.arena(F32, {1, 1, 16, 32}), sums = b.arena(F32, {1, 1, 16});
  b.call(CudnnAttentionCall(), {rows, rows, rows}, {rows, sums});
  b.call(CudnnAttentionGradCall(), {rows, rows, rows, rows, rows, sums},
         {rows, rows, rows});
  EXPECT_EQ(b.program.instructions.size(), std::variant_size_v<LibraryCall>);
  // No field has its default any more.
  for (Instruction &instruction : b.program.instructions) {
    int64_t number = 3;
    auto change =
        Overloaded{[](bool &field) { field = !field; },
                   [](Epilogue &field) { field = Epilogue::Gelu; },
                   [](F32Matmuls &field) { field = F32Matmuls::BF16x9; },
                   [](Rounding &field) { field = Rounding::BF16; },
                   [](ReduceKind &field) { field = ReduceKind::Prod; },
                   [](SumOrder &field) { field = SumOrder::Library; },
                   [](GemmScaling &field) { field = GemmScaling::Vec32UE8M0; },
                   [](ScaleRule &field) { field = ScaleRule::OcpMX; },
                   [&](std::optional<int64_t> &field) { field = --number - 10; },
                   [&](std::vector<int64_t> &field) { field = {++number, -7}; },
                   [&](double &field) { field = ++number / 2.0; },
                   [&](int64_t &field) { field = ++number; },
                   [&](auto &field) {
                     for (int64_t &value : field)
                       value = ++number;
                   }};
    std::visit(
        [&](auto &call) {
          call.forEachField(call, [&](const char *, auto &field) { change(field); });
        },
        *instruction.call);
    if (std::optional<ConvCall> conv = getConv(instruction); conv && conv->isForCudnn)
      instruction.parts = {1, 2, 3};
  }
  std::string table = writeProgram(b.program), error;
  Program read;
  // What such calls would do does not matter here.
  readProgram(reinterpret_cast<const uint8_t *>(table.data()), table.size(), 0, read,
              error);
  ASSERT_EQ(read.instructions.size(), b.program.instructions.size()) << error;
  EXPECT_EQ(writeProgram(read), table);
  for (size_t i = 0; i < read.instructions.size(); ++i)
    EXPECT_EQ(getId(*read.instructions[i].call), getId(*b.program.instructions[i].call));
}

TEST(ProgramTest, FieldsAreChecked) {
  auto error = [](std::string table) {
    Program read;
    std::string error;
    EXPECT_FALSE(readProgram(reinterpret_cast<const uint8_t *>(table.data()),
                             table.size(), 1, read, error));
    return error;
  };
  // The only instruction of a program without tensors: its call's number and fields come
  // after its first byte, behind everything else.
  auto tableOf = [](const LibraryCall &call) {
    Program program;
    program.instructions.resize(1);
    program.instructions[0].call = call;
    return writeProgram(program);
  };
  size_t at = 3 * 4 + 4 * 8 + 3 * 4 + 1;
  std::string reduce = tableOf(ReduceCall());
  ASSERT_EQ(reduce[at], 12);
  reduce[at] = 99;
  EXPECT_EQ(error(reduce), "instruction 0 runs something that is not in the program");
  reduce[at] = 12;
  reduce[at + 4] = 5;
  EXPECT_EQ(error(reduce), "instruction 0 (reduce) has no valid value of 'kind'");
  std::string product = tableOf(MatmulCall());
  product[at + 5] = 2;
  EXPECT_EQ(error(product),
            "instruction 0 (matmul) has no valid value of 'transpose_rhs'");
  product[at + 5] = 0;
  product[at + 6] = 7;
  EXPECT_EQ(error(product), "instruction 0 (matmul) has no valid value of 'epilogue'");
}

/// Opens the small program with this block of values of state; "" or the error.
std::string openWithState(Context &c, const std::string &block) {
  Descriptor desc(writeProgram(makeSmall().program), {doubleAndAdd});
  desc.desc.state = reinterpret_cast<const uint8_t *>(block.data());
  desc.desc.state_size = block.size();
  return mpt_rt_open_desc(c.rt, &desc.desc) == MPT_RT_OK ? "" : c.error();
}

TEST(ProgramTest, StateValues) {
  auto write = [](std::vector<StateValue> values, uint64_t limit = kMaxStateValueBytes) {
    std::string block, error;
    std::vector<int64_t> sizes(values.size(), sizeof(float));
    return writeStateValues(std::move(values), sizes, limit, block, error) ? block
                                                                           : error;
  };
  auto value = [](const char *name, const float *data, uint64_t count) {
    return StateValue{name, reinterpret_cast<const uint8_t *>(data),
                      count * sizeof(float)};
  };
  const float different[4] = {1, 2, 3, 4}, equal[4] = {5, 5, 5, 5};
  const std::string whole = write({value("w", different, 4)}),
                    one = write({value("w", equal, 4)});
  EXPECT_EQ(whole.size(), 128u);
  EXPECT_EQ(write({value("w", different, 4)}, 127),
            "the values of state take 128 bytes, expected at most 127; compile the step "
            "without them, and give them to who runs it as a file");
  float found[4];
  for (const auto &[block, wanted] : {std::pair(whole, different), {one, equal}}) {
    Context c;
    ASSERT_EQ(openWithState(c, block), "");
    for (bool isAgain : {false, true}) {
      ASSERT_EQ(mpt_rt_read(c.rt, "w", found, 16), MPT_RT_OK);
      EXPECT_TRUE(std::equal(found, found + 4, wanted));
      // Training starts over from them.
      std::fill_n(found, 4, 0.0f);
      ASSERT_EQ(mpt_rt_write(c.rt, "w", found, 16), MPT_RT_OK);
      if (!isAgain)
        ASSERT_EQ(mpt_rt_initialize(c.rt, 3), MPT_RT_OK);
    }
  }
  auto error = [](const std::string &block) {
    Context c;
    return openWithState(c, block);
  };
  const std::string begin = "the program's values of state ";
  EXPECT_EQ(error(write({value("x", different, 4)})),
            begin + "have one for 'x', which is not part of its state");
  EXPECT_EQ(error(write({value("w", different, 3)})),
            begin + "have 12 bytes for 'w', expected 16");
  EXPECT_EQ(error(write({value("w", different, 4), value("w", equal, 4)})),
            begin + "have two for 'w'");
  EXPECT_EQ(error(whole.substr(0, 70)), begin + "lie outside their block ('w')");
  EXPECT_EQ(error(whole.substr(0, 9)), begin + "are cut short");
  std::string far = whole;
  // The offset, after the count, the name's length and the name.
  far[16] = '\x7f';
  EXPECT_EQ(error(far), begin + "lie outside their block ('w')");
}

TEST(ProgramTest, Descriptors) {
  Context c;
  Descriptor desc(writeProgram(makeSmall().program), {doubleAndAdd});
  EXPECT_EQ(mpt_rt_open_desc(c.rt, nullptr), MPT_RT_INVALID_PROGRAM);
  EXPECT_EQ(c.error(), "this is not a program of MPT");
  mpt_program_desc other = desc.desc;
  other.magic ^= 1;
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &other), MPT_RT_INVALID_PROGRAM);
  EXPECT_EQ(c.error(), "this is not a program of MPT");
  other = desc.desc;
  other.format_version = kFormatVersion + 1;
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &other), MPT_RT_INVALID_PROGRAM);
  EXPECT_EQ(c.error(), "the program has format " + std::to_string(kFormatVersion + 1) +
                           " but this runtime reads format " +
                           std::to_string(kFormatVersion) + "; compile it again");
  for (bool table : {true, false}) {
    other = desc.desc;
    if (table)
      other.table = nullptr;
    else
      other.kernels = nullptr;
    EXPECT_EQ(mpt_rt_open_desc(c.rt, &other), MPT_RT_INVALID_PROGRAM);
    EXPECT_EQ(c.error(), "the program's descriptor is incomplete");
  }
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK);
}

TEST(ProgramTest, CutAnywhere) {
  std::string table = writeProgram(makeLarge().program);
  for (size_t size = 0; size < table.size(); ++size) {
    Descriptor desc(table.substr(0, size));
    Context c(1);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_INVALID_PROGRAM) << size;
    ASSERT_NE(c.error(), "");
  }
  Descriptor longer(table + "x");
  Context c;
  EXPECT_EQ(mpt_rt_open_desc(c.rt, &longer.desc), MPT_RT_INVALID_PROGRAM);
  EXPECT_EQ(c.error(), "the program's table is cut short or has extra bytes");
}

/// Whatever is in the table, there is an answer: a message, or a program that
/// stays inside its buffers (the sanitizers see to that).
TEST(ProgramTest, DamagedAnywhere) {
  std::string table = writeProgram(makeLarge().program);
  // The sizes of the spaces stay, so that no run asks for all memory there is.
  size_t sizes = 4 + 4 + 4 + 6 + 4 + std::strlen(mpt::kVersion) + 8;
  std::mt19937 rng(11);
  int opened = 0;
  std::vector<char> x(60), image(1152);
  int32_t indices[3] = {4, 0, 2};
  for (int trial = 0; trial < 6000; ++trial) {
    std::string damaged = table;
    for (int changes = 1 + rng() % 3; changes > 0; --changes) {
      size_t at = rng() % damaged.size();
      if (at >= sizes && at < sizes + 24)
        continue;
      if (rng() % 2)
        damaged[at] = static_cast<char>(rng());
      else
        damaged[at] ^= 1 << rng() % 8;
    }
    Descriptor desc(damaged);
    Context c(1);
    int status = mpt_rt_open_desc(c.rt, &desc.desc);
    if (status != MPT_RT_OK) {
      ASSERT_NE(c.error(), "");
      continue;
    }
    ++opened;
    if (mpt_rt_bind(c.rt, "x", x.data(), x.size()) ||
        mpt_rt_bind(c.rt, "indices", indices, 12) ||
        mpt_rt_bind(c.rt, "image", image.data(), image.size()))
      continue;
    if (mpt_rt_run(c.rt) != MPT_RT_OK)
      ASSERT_NE(c.error(), "");
  }
  EXPECT_GT(opened, 100);
  EXPECT_LT(opened, 5900);
}

TEST(ProgramTest, AStepThatFailsSaysWhere) {
  ProgramBuilder b;
  BufferRef table = b.state("table", F32, {5, 2}), indices = b.input("indices", I32, {3});
  b.call(GatherCall(), {table, indices}, b.output("rows", F32, {3, 2}));
  Descriptor desc(writeProgram(b.program));
  Context c;
  ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
  int32_t bad[3] = {0, 5, 1}, good[3] = {0, 4, 1};
  ASSERT_EQ(mpt_rt_bind(c.rt, "indices", bad, 12), 0);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(c.error(), "test.mlir:1:1: index 5 at position 1 is outside [0, 5)");
  ASSERT_EQ(mpt_rt_bind(c.rt, "indices", good, 12), 0);
  EXPECT_EQ(mpt_rt_run(c.rt), MPT_RT_OK);
}

TEST(ProgramTest, SameBitsOnAnyThreads) {
  Descriptor desc(writeProgram(makeLarge().program));
  std::string first;
  for (int threads : {1, 2, 3, 9}) {
    Context c(threads);
    ASSERT_EQ(mpt_rt_open_desc(c.rt, &desc.desc), MPT_RT_OK) << c.error();
    Tensor x = randomTensor(F16, {5, 6}, 1), image = randomTensor(F32, {2, 6, 6, 4}, 2);
    Tensor w = randomTensor(F16, {6, 4}, 3), filter = randomTensor(F32, {3, 3, 4, 4}, 4);
    int32_t indices[3] = {4, 0, 2};
    ASSERT_EQ(mpt_rt_bind(c.rt, "x", x.data(), 60), 0);
    ASSERT_EQ(mpt_rt_bind(c.rt, "image", image.data(), 1152), 0);
    ASSERT_EQ(mpt_rt_bind(c.rt, "indices", indices, 12), 0);
    ASSERT_EQ(mpt_rt_write(c.rt, "w", w.data(), 48), 0);
    ASSERT_EQ(mpt_rt_write(c.rt, "filter", filter.data(), 576), 0);
    std::string found(24, '\0');
    for (int run : {0, 1}) {
      ASSERT_EQ(mpt_rt_run(c.rt), MPT_RT_OK) << c.error();
      ASSERT_EQ(mpt_rt_read_output(c.rt, "sum", &found[0], 4), 0);
      ASSERT_EQ(mpt_rt_read_output(c.rt, "class", &found[4], 20), 0);
      if (first.empty())
        first = found;
      EXPECT_EQ(found, first) << threads << " threads, run " << run;
    }
  }
}

} // namespace
