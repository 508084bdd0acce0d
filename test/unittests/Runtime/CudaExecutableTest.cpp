//===- CudaExecutableTest.cpp - Programs for GPUs on the stand-in -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The runtime's way through cudart and cuBLASLt: the stand-in fails every call
/// that breaks the libraries' rules. The kernels here are written by hand;
/// DeviceKernelTests have the compiled ones.
///
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "StandIn.h"
#include "mpt/ProgramABI/BranchPlan.h"
#include "mpt/ProgramABI/CudaProgram.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

using namespace mpt::rt;

/// The stand-in's.
extern "C" {
int cudaGetDevice(int *device);
int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);
int cudaGetLastError();
}

namespace {

const mpt_simt_ops *simt = nullptr;

/// y[i] = x[i] + 1 for 12 elements, a thread each.
void increment(void **arguments) {
  auto *x = *static_cast<float **>(arguments[0]),
       *y = *static_cast<float **>(arguments[1]);
  if (int i = simt->thread(); i < 12)
    y[i] = x[i] + 1;
}

/// y[0] = the sum of x's 32 elements, by a butterfly over a warp.
void sum(void **arguments) {
  auto *x = *static_cast<float **>(arguments[0]),
       *y = *static_cast<float **>(arguments[1]);
  float value = x[simt->thread()];
  for (int distance = 16; distance > 0; distance /= 2) {
    int32_t bits;
    std::memcpy(&bits, &value, 4);
    bits = simt->shuffle(bits, distance);
    float other;
    std::memcpy(&other, &bits, 4);
    value += other;
  }
  simt->block_barrier();
  if (simt->thread() == 0)
    y[0] = value;
}

/// Half of the threads leave before the barrier.
void leave(void **) {
  if (simt->thread() < 32)
    simt->block_barrier();
}

/// y[0] += x[0].
void addFirst(void **arguments) {
  auto *x = *static_cast<float **>(arguments[0]),
       *y = *static_cast<float **>(arguments[1]);
  if (simt->thread() == 0)
    y[0] += x[0];
}

/// v = x[0]; goes on if that is above 1.
void begin(void **arguments) {
  auto *x = *static_cast<float **>(arguments[0]),
       *v = *static_cast<float **>(arguments[1]);
  if (simt->thread() == 0) {
    v[0] = x[0];
    **static_cast<bool **>(arguments[2]) = v[0] > 1;
  }
}

/// v /= 2, n += 1; goes on if v is still above 1.
void halve(void **arguments) {
  auto *v = *static_cast<float **>(arguments[0]),
       *n = *static_cast<float **>(arguments[1]);
  if (simt->thread() == 0) {
    v[0] /= 2;
    n[0] += 1;
    **static_cast<bool **>(arguments[2]) = v[0] > 1;
  }
}

const mpt_simt_kernel simtKernels[] = {
    {"increment", increment, 2}, {"sum", sum, 2},     {"leave", leave, 2},
    {"addFirst", addFirst, 2},   {"begin", begin, 3}, {"halve", halve, 3}};
const mpt_simt_module simtModule = {&simt, simtKernels, 6};

/// y = relu(x w + b), the output; w += 1. x is 4 x 32, w 32 x 3; and total, the sum
/// of x's first row.
struct Model {
  explicit Model(DataType type = DataType::F32) {
    builder.program.target = "cuda sm_90";
    BufferRef x = builder.input("x", type, {4, 32});
    BufferRef w = builder.state("w", type, {32, 3});
    BufferRef b = builder.constant(type, std::string(6, '\0'), {3});
    if (type == DataType::F32)
      b = builder.constant(type, floats({1, -2, 3}), {3});
    BufferRef y = builder.arena(type, {4, 3});
    BufferRef out = builder.output("y", type, {4, 3});
    builder.call(matmul(false, false, true, Epilogue::Relu), {x, w, b}, y);
    builder.call(plainCopy(12), {y}, out);
    BufferRef twelve = w;
    builder.launch(1, {twelve}, twelve);
    builder.launch(1, {x}, builder.output("total", DataType::F32, {1}));
    builder.program.instructions.back().kernel = 1;
    images.push_back({90, 0, "cubin of sm_90", 14});
    kernels = {{"increment", {1, 1}, 32}, {"sum", {1, 1}, 32}};
  }
  static std::string floats(const std::vector<float> &values) {
    return std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4);
  }
  /// The descriptor lives as long as the model.
  const mpt_program_desc *desc() {
    table = writeProgram(builder.program);
    cuda = {kernels.data(), images.data(), images.size()};
    made = describeForCuda(table, kernels.size(), cuda);
    return &made;
  }

  ProgramBuilder builder{1};
  std::vector<mpt_cuda_kernel> kernels;
  std::vector<mpt_cuda_image> images;
  std::string table;
  mpt_cuda_desc cuda;
  mpt_program_desc made;
};

/// Halves x until it is at most 1, first at most 5 times, then three times without a
/// limit, and counts that in n.
struct LoopModel : Model {
  LoopModel() {
    builder = ProgramBuilder(1);
    builder.program.target = "cuda sm_90";
    BufferRef x = builder.input("x", DataType::F32, {1});
    n = builder.state("n", DataType::F32, {1});
    BufferRef v = builder.arena(DataType::F32, {1});
    goesOn = builder.arena(DataType::I1, {1});
    auto launch = [&](uint32_t kernel, const std::vector<BufferRef> &in,
                      const std::vector<BufferRef> &out) {
      builder.launch(1, in, out[0]);
      Instruction &made = builder.program.instructions.back();
      made.kernel = kernel;
      made.refs.insert(made.refs.end(), out.begin() + 1, out.end());
      made.numOutputs = out.size();
    };
    launch(0, {x}, {v, goesOn});
    launch(1, {}, {v, n, goesOn});
    launch(0, {x}, {v, goesOn});
    launch(1, {}, {v, n, goesOn});
    builder.program.loops = {
        {1, 2, 5, goesOn}, {2, 4, 3, std::nullopt}, {3, 4, kMaxIterations, goesOn}};
    kernels = {{"begin", {1, 1}, 32}, {"halve", {1, 1}, 32}};
  }
  BufferRef n, goesOn;
};

class CudaExecutable : public testing::Test {
protected:
  void SetUp() override {
    mpt_standin_reset();
    mpt_standin_set_kernels(&simtModule);
  }
  int open(Context &context, Model &model) {
    EXPECT_EQ(mpt_rt_set_cuda_libraries(context.rt, MPT_STANDIN, MPT_STANDIN), MPT_RT_OK);
    return mpt_rt_open_desc(context.rt, model.desc());
  }
  std::string breach() { return mpt_standin_breach(); }

  std::vector<float> x = std::vector<float>(128, 0.5f), w = std::vector<float>(96, 0.25f);
};

// Before there is a device and after it, without a write.
TEST_F(CudaExecutable, Initialize) {
  Model model;
  model.builder.program.tensors[1].init = mpt::InitSpec{mpt::InitKind::Uniform, {1, 2}};
  Context context;
  ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_INVALID_ARGUMENT);
  std::vector<float> first(96), found(96);
  for (int times = 0; times < 2; ++times) {
    ASSERT_EQ(mpt_rt_initialize(context.rt, 5), MPT_RT_OK) << context.error();
    ASSERT_EQ(mpt_rt_read(context.rt, "w", found.data(), 384), MPT_RT_OK);
    if (times == 0)
      first = found;
    EXPECT_EQ(found, first);
    EXPECT_GT(found[0], 1);
    ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
    ASSERT_EQ(mpt_rt_read(context.rt, "w", found.data(), 384), MPT_RT_OK);
    EXPECT_EQ(found[0], first[0] + 1);
  }
}

TEST_F(CudaExecutable, Steps) {
  Model model;
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    ASSERT_EQ(mpt_rt_write(context.rt, "w", w.data(), 384), MPT_RT_OK);
    // State can be read back before there is a device.
    std::vector<float> found(96);
    EXPECT_EQ(mpt_rt_read(context.rt, "w", found.data(), 384), MPT_RT_OK);
    EXPECT_EQ(found, w);
    EXPECT_EQ(mpt_standin_calls("cudaMalloc"), 0);
    for (int step = 0; step < 5; ++step) {
      // Another input each time, in another buffer.
      std::vector<float> input(128);
      for (int i = 0; i < 128; ++i)
        input[i] = static_cast<float>((i * 7 + step * 3) % 11) - 5;
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 512), MPT_RT_OK);
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
      input.assign(128, NAN);
      for (int i = 0; i < 128; ++i)
        input[i] = static_cast<float>((i * 7 + step * 3) % 11) - 5;
      float y[12], total;
      ASSERT_EQ(mpt_rt_read_output(context.rt, "y", y, 48), MPT_RT_OK) << context.error();
      ASSERT_EQ(mpt_rt_read_output(context.rt, "total", &total, 4), MPT_RT_OK);
      float bias[] = {1, -2, 3}, first = 0;
      for (int i = 0; i < 32; ++i)
        first += input[i];
      EXPECT_EQ(total, first);
      for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 3; ++column) {
          float expected = bias[column];
          for (int k = 0; k < 32; ++k)
            expected += input[row * 32 + k] * w[k * 3 + column];
          EXPECT_EQ(y[row * 3 + column], std::max(expected, 0.0f)) << step;
        }
      for (int i = 0; i < 12; ++i)
        w[i] += 1;
      ASSERT_EQ(mpt_rt_read(context.rt, "w", found.data(), 384), MPT_RT_OK);
      EXPECT_EQ(found, w);
    }
    // Memory for state and for all else, one graph, launched from the second step on.
    EXPECT_EQ(mpt_standin_calls("cudaMalloc"), 2);
    EXPECT_EQ(mpt_standin_calls("cudaStreamBeginCapture"), 1);
    EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 4);
    EXPECT_EQ(mpt_standin_calls("cublasLtMatmul"), 2);
    EXPECT_EQ(mpt_standin_calls("cublasLtMatmulAlgoGetHeuristic"), 1);
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

/// The device decides how often loops run: the host launches one graph for all inputs.
TEST_F(CudaExecutable, ConditionalLoops) {
  LoopModel model;
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    float n = 0, expected = 0;
    int64_t waits = 0;
    const std::pair<float, float> runs[] = {{64, 5 + 3 * 6}, {64, 5 + 3 * 6},
                                            {4, 2 + 3 * 2},  {0.5f, 0},
                                            {32, 5 + 3 * 5}, {2, 1 + 3}};
    for (int run = 0; run < 6; ++run) {
      auto [x, halvings] = runs[run];
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", &x, 4), MPT_RT_OK);
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
      expected += halvings;
      ASSERT_EQ(mpt_rt_read(context.rt, "n", &n, 4), MPT_RT_OK) << context.error();
      EXPECT_EQ(n, expected) << run;
      // Reading n waits once.
      const int64_t before =
          std::exchange(waits, mpt_standin_calls("cudaStreamSynchronize"));
      if (run >= 2)
        EXPECT_EQ(waits, before + 1);
    }
    EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 5);
    EXPECT_EQ(mpt_standin_calls("cudaGraphInstantiate"), 1);
    // One for each loop with a condition, in each iteration of the loop around it.
    EXPECT_EQ(mpt_standin_calls("cudaGraphAddNode"), 4);
    // Measured launch by launch.
    const float two = 2;
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", &two, 4), MPT_RT_OK);
    mpt_rt_set_profiling(context.rt, 1);
    ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
    ASSERT_EQ(mpt_rt_read(context.rt, "n", &n, 4), MPT_RT_OK) << context.error();
    EXPECT_EQ(n, expected + 4);
    EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 5);
    EXPECT_EQ(std::string(mpt_rt_notes(context.rt)), "");
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

/// What runs beside such a loop would have to join the recorded stream before it.
TEST_F(CudaExecutable, ConditionalLoopsBesideExchanges) {
  for (bool isBeside : {true, false}) {
    SetUp();
    LoopModel model;
    ProgramBuilder &b = model.builder;
    BufferRef all = b.output("all", DataType::F32, {1}),
              x = b.program.tensors.front().buffer;
    AllGatherCall gather;
    gather.ranks = 1;
    gather.async = true;
    WaitCall wait;
    wait.numXs = wait.numResults = 1;
    b.call(gather, {x}, all);
    b.call(wait, {x}, all);
    if (isBeside) {
      // It begins before all else.
      std::vector<Instruction> &instructions = b.program.instructions;
      std::rotate(instructions.begin(), instructions.end() - 2, instructions.end() - 1);
      for (Loop &loop : b.program.loops) {
        ++loop.begin;
        ++loop.end;
      }
    }
    {
      Context context;
      ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
      float n = 0, joined = 0, four = 4;
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", &four, 4), MPT_RT_OK);
      for (int run = 1; run <= 3; ++run) {
        ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
        ASSERT_EQ(mpt_rt_read(context.rt, "n", &n, 4), MPT_RT_OK) << context.error();
        EXPECT_EQ(n, 8 * run);
        ASSERT_EQ(mpt_rt_read_output(context.rt, "all", &joined, 4), MPT_RT_OK);
        EXPECT_EQ(joined, 4);
      }
      EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), isBeside ? 0 : 2);
      EXPECT_EQ(std::string(mpt_rt_notes(context.rt)),
                isBeside
                    ? "no CUDA graph has the loops that end when a value is false (an "
                      "exchange between ranks is under way beside one); the host reads "
                      "the value before each iteration\n"
                    : "");
    }
    EXPECT_EQ(breach(), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
  }
}

/// A driver that does not know such nodes, or cannot compile their kernel.
TEST_F(CudaExecutable, ConditionalLoopsWithoutNodes) {
  for (bool isOld : {true, false}) {
    SetUp();
    if (isOld)
      mpt_standin_set_driver_version(12030);
    else
      mpt_standin_fail("cudaLibraryLoadData", 2, 2);
    LoopModel model;
    {
      Context context;
      ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
      float n = 0, x = 4;
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", &x, 4), MPT_RT_OK);
      for (int run = 1; run <= 4; ++run) {
        ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
        ASSERT_EQ(mpt_rt_read(context.rt, "n", &n, 4), MPT_RT_OK) << context.error();
        EXPECT_EQ(n, 8 * run);
      }
      EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 0);
      EXPECT_EQ(std::string(mpt_rt_notes(context.rt)),
                "no CUDA graph has the loops that end when a value is false (" +
                    std::string(isOld ? "the driver is older than CUDA 12.4"
                                      : "out of memory") +
                    "); the host reads the value before each iteration\n");
    }
    EXPECT_EQ(breach(), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
  }
}

TEST_F(CudaExecutable, ConditionalLoopsMayFail) {
  for (const char *name :
       {"cudaStreamGetCaptureInfo", "cudaGraphConditionalHandleCreate",
        "cudaGraphAddNode", "cudaStreamBeginCaptureToGraph", "cudaLaunchKernel",
        "cudaStreamEndCapture", "cudaGraphInstantiate"})
    for (int after = 1; after <= 9; ++after) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(after));
      SetUp();
      LoopModel model;
      bool hasFailed = false;
      {
        Context context;
        ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
        float x = 4;
        ASSERT_EQ(mpt_rt_bind(context.rt, "x", &x, 4), MPT_RT_OK);
        mpt_standin_fail(name, after, 77);
        int status = 0;
        for (int run = 0; run < 3 && status == 0; ++run)
          status = mpt_rt_run(context.rt);
        hasFailed = mpt_standin_calls(name) >= after;
        EXPECT_EQ(status != 0, hasFailed);
        if (hasFailed)
          EXPECT_NE(context.error().find("77"), std::string::npos) << context.error();
        mpt_standin_fail(nullptr, 0, 0);
      }
      // A capture that could not be ended is left open.
      if (std::string(name) != "cudaStreamEndCapture" || !hasFailed) {
        EXPECT_EQ(breach(), "");
        EXPECT_EQ(mpt_standin_alive(), 0);
      }
    }
}

/// All iterations are one node, so that they do the same to the same buffers.
TEST_F(CudaExecutable, ConditionalLoopsThatMove) {
  auto open = [&](LoopModel &model) {
    Context context;
    EXPECT_NE(this->open(context, model), MPT_RT_OK);
    return context.error();
  };
  LoopModel moving;
  moving.builder.program.instructions[1].refs[1].strides = {4};
  moving.n.dims = {5};
  moving.builder.program.tensors[1].buffer.dims = {5};
  EXPECT_EQ(open(moving), "loop 0 has a condition and buffers that move in it, which "
                          "programs for GPUs cannot have; compile it for CPUs");
  LoopModel exchanges;
  exchanges.builder.call(RankCall{2}, {}, exchanges.builder.arena(DataType::I64, {1}));
  std::swap(exchanges.builder.program.instructions[1],
            exchanges.builder.program.instructions.back());
  EXPECT_EQ(open(exchanges), "loop 0 has a condition and exchanges values between ranks, "
                             "which programs for GPUs cannot have; compile it for CPUs");
}

/// Two heads of small matmuls run beside each other: each branch has a workspace of its
/// own, waits for what it reads, and gives the results of one stream. The stand-in puts
/// off what is in other streams until somebody waits for it.
TEST_F(CudaExecutable, Branches) {
  Model model;
  ProgramBuilder &builder = model.builder;
  builder = ProgramBuilder{1};
  const DataType type = DataType::F32;
  BufferRef x = builder.input("x", type, {4, 8}), w = builder.state("w", type, {8, 8});
  const BufferRef trunk = builder.arena(type, {4, 8});
  builder.call(matmul(false, false, false), {x, w}, trunk);
  for (const char *name : {"y", "z"}) {
    BufferRef value = trunk;
    for (int i = 0; i < 5; ++i) {
      BufferRef next = builder.arena(type, {4, 8});
      builder.call(matmul(false, i % 2 == (*name == 'y'), false), {value, w}, next);
      value = next;
    }
    builder.call(plainCopy(32), {value}, builder.output(name, type, {4, 8}));
  }
  BufferRef twelve = w;
  twelve.dims = {12};
  builder.launch(1, {twelve}, twelve);
  const BranchPlan plan = planBranches(
      builder.program, std::vector<bool>(builder.program.instructions.size(), false));
  ASSERT_GT(plan.count, 1u);
  // Each other branch waits for the beginning, and the end for it.
  int64_t planned = 2 * (plan.count - 1);
  for (const BranchStep &step : plan.steps)
    planned += std::count_if(std::begin(step.after), std::end(step.after),
                             [](uint32_t place) { return place != 0; });
  EXPECT_GT(planned, 2 * (plan.count - 1));
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    const std::vector<float> initial(64, 0.125f), input(32, 1);
    for (int round = 0; round < 2; ++round) {
      // The first step runs in one stream, later ones as a graph.
      std::vector<float> y[3], z[3], found(64);
      int64_t waits[4] = {};
      for (int step = 0; step < 3; ++step) {
        waits[step] = mpt_standin_calls("cudaStreamWaitEvent");
        ASSERT_EQ(mpt_rt_write(context.rt, "w", initial.data(), 256), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 128), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
        y[step].resize(32);
        z[step].resize(32);
        ASSERT_EQ(mpt_rt_read_output(context.rt, "y", y[step].data(), 128), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_read_output(context.rt, "z", z[step].data(), 128), MPT_RT_OK);
        EXPECT_EQ(y[step], y[0]);
        EXPECT_EQ(z[step], z[0]);
        EXPECT_EQ(y[step], std::vector<float>(32, 1));
        // The update waits for all that reads the weight.
        ASSERT_EQ(mpt_rt_read(context.rt, "w", found.data(), 256), MPT_RT_OK);
        EXPECT_EQ(found[0], 1.125f);
      }
      // For the inputs in each step, once more from the third one on; of the plan when
      // the graph is made.
      waits[3] = mpt_standin_calls("cudaStreamWaitEvent");
      EXPECT_EQ(waits[2] - waits[1] - (waits[3] - waits[2]),
                round == 0 ? planned - 1 : 0);
    }
    // Another workspace, and a stream beside those of the step and its inputs.
    EXPECT_EQ(mpt_standin_calls("cudaMalloc"), 3);
    EXPECT_GE(mpt_standin_calls("cudaStreamCreateWithFlags"), 3);
    EXPECT_EQ(mpt_standin_calls("cudaStreamBeginCapture"), 1);
    EXPECT_EQ(mpt_standin_calls("cublasLtMatmul"), 22);
    int64_t needed = 0, unused = 0;
    ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &needed, &unused), MPT_RT_OK);
    EXPECT_GT(needed, (32 << 20) + (1 << 20));
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
  // On request there is one branch, with the same results, no other workspace and no
  // other stream than those of the step and its inputs.
  mpt_standin_reset();
  mpt_standin_set_kernels(&simtModule);
  {
    Context context;
    ASSERT_EQ(mpt_rt_set_graph_branches(context.rt, 1), MPT_RT_OK);
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    EXPECT_EQ(mpt_rt_set_graph_branches(context.rt, 2), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(context.error(), "this context has a program already");
    const std::vector<float> initial(64, 0.125f), input(32, 1);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 128), MPT_RT_OK);
    for (int step = 0; step < 3; ++step) {
      std::vector<float> y(32);
      ASSERT_EQ(mpt_rt_write(context.rt, "w", initial.data(), 256), MPT_RT_OK);
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
      ASSERT_EQ(mpt_rt_read_output(context.rt, "y", y.data(), 128), MPT_RT_OK);
      EXPECT_EQ(y, std::vector<float>(32, 1));
    }
    EXPECT_EQ(mpt_standin_calls("cudaMalloc"), 2);
    EXPECT_EQ(mpt_standin_calls("cudaStreamCreateWithFlags"), 2);
  }
  EXPECT_EQ(breach(), "");
  for (int32_t most : {0, 4, -1}) {
    Context context;
    EXPECT_EQ(mpt_rt_set_graph_branches(context.rt, most), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(context.error(),
              "a CUDA graph has 1 to 3 branches, found " + std::to_string(most));
  }
  EXPECT_EQ(mpt_rt_set_graph_branches(nullptr, 1), MPT_RT_INVALID_ARGUMENT);
  // Without memory for it there is one branch, and no error.
  mpt_standin_reset();
  mpt_standin_set_kernels(&simtModule);
  mpt_standin_set_device(1, 9, 0, (32 << 20) + (1 << 16));
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    const std::vector<float> initial(64, 0.125f), input(32, 1);
    ASSERT_EQ(mpt_rt_write(context.rt, "w", initial.data(), 256), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 128), MPT_RT_OK);
    for (int step = 0; step < 2; ++step)
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

/// Inputs are copied in a stream of their own. Steps that nobody waits for have each its
/// own inputs, which the caller may change at once; the host waits for the copies of two
/// runs before alone.
TEST_F(CudaExecutable, InputsOfManySteps) {
  Model model;
  model.builder = ProgramBuilder{1};
  model.builder.program.target = "cuda sm_90";
  BufferRef x = model.builder.input("x", DataType::F32, {32});
  BufferRef y = model.builder.input("y", DataType::F32, {32});
  BufferRef s = model.builder.state("s", DataType::F32, {1});
  model.builder.launch(1, {x}, s);
  model.builder.launch(1, {y}, s);
  model.kernels = {{"addFirst", {1, 1}, 32}};
  // The second on the GPU, too.
  for (bool isOnDevice : {false, true}) {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    float total = 0;
    ASSERT_EQ(mpt_rt_write(context.rt, "s", &total, 4), MPT_RT_OK);
    void *device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, 128), 0);
    const int64_t waits = mpt_standin_calls("cudaEventSynchronize");
    float expected = 0;
    for (int step = 0; step < 8; ++step) {
      std::vector<float> one(32, static_cast<float>(1 << step)),
          other(32, static_cast<float>(1 << (step + 8)));
      expected += one[0] + other[0];
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", one.data(), 128), MPT_RT_OK);
      if (isOnDevice)
        std::memcpy(device, other.data(), 128);
      ASSERT_EQ((isOnDevice ? mpt_rt_bind_device : mpt_rt_bind)(
                    context.rt, "y", isOnDevice ? device : other.data(), 128),
                MPT_RT_OK);
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
      one.assign(32, NAN);
      other.assign(32, NAN);
      std::memset(device, 0xff, 128);
    }
    EXPECT_EQ(mpt_standin_calls("cudaEventSynchronize"), waits + (isOnDevice ? 14 : 6));
    ASSERT_EQ(mpt_rt_read(context.rt, "s", &total, 4), MPT_RT_OK) << context.error();
    EXPECT_EQ(total, expected);
    ASSERT_EQ(cudaFree(device), 0);
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

/// A network whose results are numbers of its tensors: "total" of the input's first 32
/// elements, and state "s", to which each run adds x[0].
struct Counting : Model {
  Counting() {
    builder = ProgramBuilder{1};
    builder.program.target = "cuda sm_90";
    BufferRef x = builder.input("x", DataType::F32, {32});
    BufferRef s = builder.state("s", DataType::F32, {1});
    // Apart from each other and from the state.
    BufferRef total = builder.output("total", DataType::F32, {1});
    builder.output("unused", DataType::F32, {4096});
    BufferRef last = builder.output("last", DataType::F32, {32});
    builder.launch(1, {x}, s);
    builder.launch(1, {x}, total);
    builder.program.instructions.back().kernel = 1;
    builder.call(plainCopy(32), {x}, last);
    kernels = {{"addFirst", {1, 1}, 32}, {"sum", {1, 1}, 32}};
  }
  static constexpr int32_t s = 1, total = 2, last = 4;
};

/// Results of each run are read while the next one is under way. The copies are put off
/// until somebody waits for them, so that who does not wait reads what was there before;
/// and each run writes over what the one before has left.
TEST_F(CudaExecutable, KeptResults) {
  // With memory of the GPU for the copies, and without.
  for (bool isFull : {false, true}) {
    SCOPED_TRACE(isFull);
    SetUp();
    {
      Counting model;
      Context context;
      ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
      int64_t needed = 0, withCopies = 0, unused = 0;
      ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &needed, &unused), MPT_RT_OK);
      const int32_t wanted[] = {Counting::last, Counting::s, Counting::total};
      ASSERT_EQ(mpt_rt_keep_results(context.rt, wanted, 3), MPT_RT_OK);
      // Of two runs: the state's 4 bytes, and two outputs, which lie next to each other.
      ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &withCopies, &unused), MPT_RT_OK);
      EXPECT_EQ(withCopies, needed + 2 * (256 + 512));
      if (isFull)
        mpt_standin_set_device(1, 9, 0, withCopies - 1);
      // The host may change what it has bound.
      std::vector<float> input(32);
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 128), MPT_RT_OK);
      float sum = 0, found, last[32];
      auto check = [&](uint64_t run) {
        const auto x = static_cast<float>(run * run);
        sum += x;
        ASSERT_EQ(mpt_rt_read_result(context.rt, run, Counting::s, &found, 4), MPT_RT_OK)
            << context.error();
        EXPECT_EQ(found, sum);
        ASSERT_EQ(mpt_rt_read_result(context.rt, run, Counting::total, &found, 4),
                  MPT_RT_OK);
        EXPECT_EQ(found, 32 * x);
        ASSERT_EQ(mpt_rt_read_result(context.rt, run, Counting::last, last, 128),
                  MPT_RT_OK);
        EXPECT_EQ(std::vector<float>(last, last + 32), std::vector<float>(32, x));
      };
      int64_t waits = 0;
      for (uint64_t run = 1; run <= 9; ++run) {
        input.assign(32, static_cast<float>(run * run));
        ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
        if (run == 1)
          waits = mpt_standin_calls("cudaStreamSynchronize");
        EXPECT_EQ(mpt_rt_get_num_runs(context.rt), run);
        if (run > 1)
          check(run - 1);
        // What it has taken.
        int64_t taken = 0;
        ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &taken, &unused), MPT_RT_OK);
        EXPECT_EQ(taken, isFull ? needed : withCopies);
        EXPECT_EQ(unused, (isFull ? withCopies - 1 : 1 << 30) - taken);
      }
      check(9);
      // Nothing but events was waited for, and never the stream of the runs.
      EXPECT_EQ(mpt_standin_calls("cudaStreamSynchronize"), waits);
      ASSERT_EQ(mpt_rt_read_output(context.rt, "total", &found, 4), MPT_RT_OK);
      EXPECT_EQ(found, 32 * 81);
      EXPECT_EQ(mpt_rt_read_result(context.rt, 7, Counting::s, &found, 4),
                MPT_RT_INVALID_ARGUMENT);
      EXPECT_EQ(context.error(), "there is no copy of 's' of run 7 after run 9; the last "
                                 "two are kept");
      EXPECT_EQ(mpt_rt_read_result(context.rt, 9, 3, &found, 4), MPT_RT_INVALID_ARGUMENT);
      EXPECT_EQ(context.error(),
                "runs keep no copy of tensor 3; name it in mpt_rt_keep_results");
      EXPECT_EQ(mpt_rt_read_result(context.rt, 9, Counting::s, &found, 8),
                MPT_RT_INVALID_ARGUMENT);
      EXPECT_EQ(context.error(), "'s' has 4 bytes, not 8");
      // Others, and none.
      const int32_t input0 = 0;
      EXPECT_EQ(mpt_rt_keep_results(context.rt, &input0, 1), MPT_RT_INVALID_ARGUMENT);
      EXPECT_EQ(context.error(), "no state or output has the number 0");
      ASSERT_EQ(mpt_rt_keep_results(context.rt, wanted + 1, 1), MPT_RT_OK);
      EXPECT_EQ(mpt_rt_read_result(context.rt, 9, Counting::s, &found, 4),
                MPT_RT_INVALID_ARGUMENT);
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK);
      ASSERT_EQ(mpt_rt_read_result(context.rt, 10, Counting::s, &found, 4), MPT_RT_OK);
      EXPECT_EQ(found, sum + 81);
      ASSERT_EQ(mpt_rt_keep_results(context.rt, nullptr, 0), MPT_RT_OK);
      const int64_t copies = mpt_standin_calls("cudaMemcpyAsync");
      ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK);
      EXPECT_EQ(mpt_standin_calls("cudaMemcpyAsync"), copies + 2); // The input's.
    }
    EXPECT_EQ(breach(), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
  }
}

/// The state of run 3 is read, by another thread, while runs 4 to 9 change it.
TEST_F(CudaExecutable, Snapshots) {
  for (bool isFull : {false, true}) {
    SCOPED_TRACE(isFull);
    SetUp();
    mpt_rt_snapshot *snapshot = nullptr, *early = nullptr;
    float found = 0, zero = 0;
    {
      Counting model;
      Context context;
      ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
      ASSERT_EQ(mpt_rt_write(context.rt, "s", &zero, 4), MPT_RT_OK);
      ASSERT_EQ(mpt_rt_take_snapshot(context.rt, &early), MPT_RT_OK) << context.error();
      int64_t needed = 0, unused = 0;
      ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &needed, &unused), MPT_RT_OK);
      if (isFull)
        mpt_standin_set_device(1, 9, 0, needed);
      std::vector<float> input(32);
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 128), MPT_RT_OK);
      int64_t waits = 0;
      std::thread reader;
      for (int run = 1; run <= 9; ++run) {
        input.assign(32, static_cast<float>(run));
        ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
        if (run != 3)
          continue;
        waits = mpt_standin_calls("cudaStreamSynchronize");
        ASSERT_EQ(mpt_rt_take_snapshot(context.rt, &snapshot), MPT_RT_OK);
        EXPECT_EQ(mpt_standin_calls("cudaStreamSynchronize"), waits + isFull);
        int64_t taken = 0;
        ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &taken, &unused), MPT_RT_OK);
        EXPECT_EQ(taken, needed + (isFull ? 0 : 256));
        EXPECT_EQ(unused, (isFull ? needed : 1 << 30) - taken);
        // In turns: the stand-in's copy is made when it is waited for, after later runs.
      }
      reader = std::thread([&] {
        EXPECT_EQ(mpt_rt_read_snapshot(snapshot, "s", &found, 4), MPT_RT_OK)
            << mpt_rt_snapshot_error(snapshot);
      });
      reader.join();
      EXPECT_EQ(found, 6);
      ASSERT_EQ(mpt_rt_read(context.rt, "s", &found, 4), MPT_RT_OK);
      EXPECT_EQ(found, 45);
    }
    // They outlive the context.
    ASSERT_EQ(mpt_rt_read_snapshot(snapshot, "s", &found, 4), MPT_RT_OK);
    EXPECT_EQ(found, 6);
    ASSERT_EQ(mpt_rt_read_snapshot(early, "s", &found, 4), MPT_RT_OK);
    EXPECT_EQ(found, 0);
    EXPECT_EQ(mpt_rt_read_snapshot(snapshot, "x", &found, 4), MPT_RT_INVALID_ARGUMENT);
    EXPECT_STREQ(mpt_rt_snapshot_error(snapshot), "the program has no state named 'x'");
    EXPECT_EQ(mpt_rt_read_snapshot(snapshot, "s", &found, 5), MPT_RT_INVALID_ARGUMENT);
    EXPECT_STREQ(mpt_rt_snapshot_error(snapshot), "state 's' has 4 bytes, not 5");
    mpt_rt_destroy_snapshot(snapshot);
    mpt_rt_destroy_snapshot(early);
    EXPECT_EQ(breach(), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
  }
}

/// More than is copied to the host at a time.
TEST_F(CudaExecutable, LargeSnapshot) {
  const int64_t count = (9 << 20) / 4 + 1;
  Counting model;
  model.builder.state("large", DataType::F32, {count});
  std::vector<float> large(count), found(count);
  for (int64_t i = 0; i < count; ++i)
    large[i] = static_cast<float>(i);
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    ASSERT_EQ(mpt_rt_write(context.rt, "large", large.data(), 4 * count), MPT_RT_OK);
    std::vector<float> input(32);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", input.data(), 128), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
    mpt_rt_snapshot *snapshot = nullptr;
    ASSERT_EQ(mpt_rt_take_snapshot(context.rt, &snapshot), MPT_RT_OK);
    // After it, state is written, too.
    std::vector<float> other(count, NAN);
    ASSERT_EQ(mpt_rt_write(context.rt, "large", other.data(), 4 * count), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_read_snapshot(snapshot, "large", found.data(), 4 * count),
              MPT_RT_OK);
    EXPECT_EQ(found, large);
    mpt_standin_fail("cudaStreamSynchronize", 1, 700);
    EXPECT_EQ(mpt_rt_read_snapshot(snapshot, "large", found.data(), 4 * count),
              MPT_RT_RUN_FAILED);
    EXPECT_STREQ(mpt_rt_snapshot_error(snapshot),
                 "reading a copy of the state: an illegal memory access was encountered "
                 "(CUDA error 700)");
    mpt_standin_fail(nullptr, 0, 0);
    mpt_rt_destroy_snapshot(snapshot);
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

/// More than is filled at a time, and stored as one element.
TEST_F(CudaExecutable, ConstantOfOneValue) {
  Model model;
  const int64_t count = 300'001;
  BufferRef from = model.builder.constant(DataType::F32, Model::floats({0.75f}), {count}),
            to = model.builder.output("filled", DataType::F32, {count});
  model.builder.call(plainCopy(count), {from}, to);
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
    std::vector<float> found(count);
    ASSERT_EQ(mpt_rt_read_output(context.rt, "filled", found.data(), 4 * count),
              MPT_RT_OK);
    EXPECT_EQ(found, std::vector<float>(count, 0.75f));
  }
  EXPECT_LT(model.table.size(), 4000u);
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaExecutable, WithoutGPU) {
  Model model;
  Context context;
  mpt_standin_set_device(0, 0, 0, 0);
  ASSERT_EQ(open(context, model), MPT_RT_OK) << context.error();
  EXPECT_EQ(mpt_rt_write(context.rt, "w", w.data(), 384), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(context.error(), "no GPU can be used: no CUDA-capable device is detected "
                             "(CUDA error 100)");
  mpt_standin_fail("cudaGetDeviceCount", 1, 35);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(context.error(),
            "no GPU can be used: CUDA driver version is insufficient for "
            "CUDA runtime version (CUDA error 35)");
  // One may appear.
  mpt_standin_fail(nullptr, 0, 0);
  mpt_standin_set_device(1, 9, 0, 1 << 30);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
}

/// Two programs train one state, in turns, whichever runs first; it outlives the program
/// that made it.
TEST_F(CudaExecutable, SharesState) {
  for (bool secondFirst : {false, true}) {
    SCOPED_TRACE(secondFirst);
    Model model, other;
    other.builder.output("more", DataType::F32, {1});
    std::vector<float> found(96);
    {
      Context second;
      {
        Context first;
        ASSERT_EQ(open(first, model), MPT_RT_OK) << first.error();
        ASSERT_EQ(mpt_rt_write(first.rt, "w", w.data(), 384), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_share_state(second.rt, first.rt), MPT_RT_OK);
        ASSERT_EQ(open(second, other), MPT_RT_OK) << second.error();
        // Opening gives what is shared no first value.
        ASSERT_EQ(mpt_rt_read(second.rt, "w", found.data(), 384), MPT_RT_OK);
        EXPECT_EQ(found, w);
        ASSERT_EQ(mpt_rt_bind(first.rt, "x", x.data(), 512), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_bind(second.rt, "x", x.data(), 512), MPT_RT_OK);
        for (int step = 0; step < 6; ++step) {
          Context &context = (step % 2 == 0) == secondFirst ? second : first;
          ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
          ASSERT_EQ(mpt_rt_read(first.rt, "w", found.data(), 384), MPT_RT_OK);
          EXPECT_EQ(found[0], w[0] + 1 + step);
        }
        EXPECT_EQ(mpt_rt_cuda_stream(first.rt), mpt_rt_cuda_stream(second.rt));
        ASSERT_EQ(mpt_rt_write(first.rt, "w", w.data(), 384), MPT_RT_OK);
      }
      ASSERT_EQ(mpt_rt_run(second.rt), MPT_RT_OK) << second.error();
      ASSERT_EQ(mpt_rt_read(second.rt, "w", found.data(), 384), MPT_RT_OK);
      EXPECT_EQ(found[0], w[0] + 1);
    }
    EXPECT_EQ(breach(), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
  }
}

/// State is shared whole, and on one GPU.
TEST_F(CudaExecutable, SharesAllState) {
  mpt_standin_set_device(2, 9, 0, 1 << 30);
  Model model, more;
  more.builder.state("extra", DataType::F32, {2});
  auto share = [&](Model &mine, Model &theirs, int device) {
    Context first, second;
    EXPECT_EQ(open(first, mine), MPT_RT_OK) << first.error();
    EXPECT_EQ(mpt_rt_set_cuda_device(second.rt, device), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_share_state(second.rt, first.rt), MPT_RT_OK);
    EXPECT_NE(open(second, theirs), MPT_RT_OK);
    return second.error();
  };
  EXPECT_EQ(share(model, more, 0),
            "to share state on a GPU, programs must have the same: "
            "'extra' is not number 1 of the other one's");
  EXPECT_EQ(share(more, model, 0),
            "to share state on a GPU, programs must have the same: "
            "'extra' is state of the other one only");
  EXPECT_EQ(share(model, model, 1), "to share state on a GPU, both programs must be for "
                                    "one: the other one is on GPU 0, this one on GPU 1");
}

/// A program for which there is no memory leaves the other one as it is; what fails on
/// the device ends both.
TEST_F(CudaExecutable, SharesFailures) {
  Model model, large;
  mpt_standin_set_device(1, 9, 0, 80 << 20);
  large.builder.program.arenaBytes += 60 << 20;
  Context first, second;
  ASSERT_EQ(open(first, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_share_state(second.rt, first.rt), MPT_RT_OK);
  ASSERT_EQ(open(second, large), MPT_RT_OK) << second.error();
  for (Context *context : {&first, &second})
    ASSERT_EQ(mpt_rt_bind(context->rt, "x", x.data(), 512), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_run(first.rt), MPT_RT_OK) << first.error();
  EXPECT_EQ(mpt_rt_run(second.rt), MPT_RT_OUT_OF_MEMORY);
  ASSERT_EQ(mpt_rt_run(first.rt), MPT_RT_OK) << first.error();
  EXPECT_EQ(mpt_rt_run(second.rt), MPT_RT_OUT_OF_MEMORY);

  Context third;
  ASSERT_EQ(mpt_rt_share_state(third.rt, first.rt), MPT_RT_OK);
  ASSERT_EQ(open(third, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(third.rt, "x", x.data(), 512), MPT_RT_OK);
  mpt_standin_fail("cudaGraphLaunch", 1, 700);
  EXPECT_EQ(mpt_rt_run(first.rt), MPT_RT_RUN_FAILED);
  mpt_standin_fail(nullptr, 0, 0);
  EXPECT_EQ(mpt_rt_run(third.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(third.error(), first.error());
}

/// Contexts for several GPUs share a thread.
TEST_F(CudaExecutable, SeveralGPUs) {
  mpt_standin_set_device(2, 9, 0, 1 << 30);
  Model model;
  {
    Context contexts[2];
    int32_t architecture = 0;
    for (int device : {0, 1}) {
      Context &context = contexts[device];
      ASSERT_EQ(mpt_rt_set_cuda_libraries(context.rt, MPT_STANDIN, MPT_STANDIN), 0);
      ASSERT_EQ(mpt_rt_set_cuda_device(context.rt, device), MPT_RT_OK);
      ASSERT_EQ(mpt_rt_get_cuda_architecture(context.rt, &architecture), MPT_RT_OK);
      EXPECT_EQ(architecture, 90);
      ASSERT_EQ(open(context, model), MPT_RT_OK);
      EXPECT_STREQ(mpt_rt_target(context.rt), "cuda sm_90");
      ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    }
    for (int step = 0; step < 4; ++step)
      for (int device : {1, 0, 1}) {
        Context &context = contexts[device];
        ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error() << breach();
        if (step == 2) {
          ASSERT_EQ(mpt_rt_write(contexts[1 - device].rt, "w", w.data(), 384), MPT_RT_OK);
        }
        float total;
        ASSERT_EQ(mpt_rt_read_output(context.rt, "total", &total, 4), MPT_RT_OK);
        EXPECT_EQ(total, 16);
        // The thread has the GPU that it had.
        int current = -1;
        ASSERT_EQ(cudaGetDevice(&current), 0);
        EXPECT_EQ(current, 0);
      }
    EXPECT_EQ(mpt_rt_set_cuda_device(contexts[0].rt, 1), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(contexts[0].error(), "this context has a program already");
  }
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
  Context other;
  int32_t architecture = 0;
  EXPECT_STREQ(mpt_rt_target(other.rt), "");
  EXPECT_STREQ(mpt_rt_metadata(other.rt), "");
  EXPECT_EQ(mpt_rt_set_cuda_device(other.rt, -1), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(other.error(), "GPUs are numbered from 0, found -1");
  ASSERT_EQ(mpt_rt_set_cuda_libraries(other.rt, MPT_STANDIN, MPT_STANDIN), 0);
  ASSERT_EQ(mpt_rt_set_cuda_device(other.rt, 2), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_get_cuda_architecture(other.rt, nullptr), MPT_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpt_rt_get_cuda_architecture(other.rt, &architecture), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(other.error(), "there is no GPU 2; this machine has 2, numbered from 0");
}

TEST_F(CudaExecutable, WithoutLibraries) {
  Model model;
  Context context;
  ASSERT_EQ(mpt_rt_set_cuda_libraries(context.rt, "/none/libcudart.so", MPT_STANDIN), 0);
  ASSERT_EQ(mpt_rt_open_desc(context.rt, model.desc()), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_set_cuda_libraries(context.rt, "", ""), MPT_RT_INVALID_ARGUMENT);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(context.error().rfind("cannot load /none/libcudart.so", 0), 0u)
      << context.error();
  // A library without the functions.
  Context other;
  ASSERT_EQ(mpt_rt_set_cuda_libraries(other.rt, "libm.so.6", MPT_STANDIN), 0);
  ASSERT_EQ(mpt_rt_open_desc(other.rt, model.desc()), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(other.rt, "x", x.data(), 512), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(other.rt), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(other.error(), "the CUDA libraries found have no cudaRuntimeGetVersion; "
                           "install CUDA 12.6 or newer");
}

TEST_F(CudaExecutable, Images) {
  struct Case {
    int major, minor;
    /// Which of the images below is taken; -1: none.
    int expected;
  };
  const mpt_cuda_image images[] = {
      {80, 0, "80", 2}, {86, 0, "86", 2}, {90, 0, "90", 2}, {90, 1, "ptx", 4}};
  for (Case c : {Case{7, 5, -1}, Case{8, 0, 0}, Case{8, 6, 1}, Case{8, 9, 1},
                 Case{9, 0, 2}, Case{10, 0, 3}, Case{12, 0, 3}}) {
    SCOPED_TRACE(c.major * 10 + c.minor);
    mpt_standin_set_device(1, c.major, c.minor, 1 << 30);
    Model model;
    model.images.assign(std::begin(images), std::end(images));
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    if (c.expected < 0) {
      EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_UNSUPPORTED);
      EXPECT_EQ(context.error(),
                "the program is compiled for sm_80, sm_86, sm_90 but this GPU is an "
                "sm_75; MPT compiles for sm_80 and newer");
      continue;
    }
    EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
    EXPECT_EQ(mpt_standin_image(), images[c.expected].data);
  }
}

/// A driver that is too old for the machine code may compile the PTX.
TEST_F(CudaExecutable, MachineCodeRefused) {
  mpt_standin_refuse_machine_code(209);
  for (bool hasPtx : {true, false}) {
    Model model;
    if (hasPtx)
      model.images.push_back({80, 1, "ptx of sm_80", 13});
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_run(context.rt), hasPtx ? MPT_RT_OK : MPT_RT_RUN_FAILED);
    const std::string driver = "the driver is for CUDA 13.0, cudart is of CUDA 13.0";
    if (hasPtx)
      EXPECT_EQ(std::string(mpt_rt_notes(context.rt)),
                driver + " and refuses the machine code (no kernel image is available "
                         "for execution on the device); it has compiled the PTX of "
                         "sm_80\n");
    else
      EXPECT_EQ(context.error(),
                "the kernels cannot be loaded: no kernel image is available for "
                "execution on the device (CUDA error 209); " +
                    driver +
                    "; install a newer driver, or compile the step with ptxas of a CUDA "
                    "that this one knows (--cuda-toolkit)");
    // No one else of the process meets the error.
    EXPECT_EQ(cudaGetLastError(), 0);
  }
  EXPECT_EQ(breach(), "");
}

/// At the end of a process the driver may be gone before the context.
TEST_F(CudaExecutable, DriverGone) {
  Model model;
  {
    Context context;
    ASSERT_EQ(open(context, model), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
    mpt_standin_fail("cudaGetDeviceCount", 1, 4);
  }
  for (const char *name : {"cublasLtDestroy", "cublasLtMatmulDescDestroy", "cudaFree",
                           "cudaStreamDestroy", "cudaLibraryUnload"})
    EXPECT_EQ(mpt_standin_calls(name), 0) << name;
}

TEST_F(CudaExecutable, OutOfMemory) {
  Model model;
  Context context;
  mpt_standin_set_device(1, 9, 0, 34 << 20);
  model.builder.program.arenaBytes += 4 << 20;
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OUT_OF_MEMORY);
  int64_t arena = model.builder.program.arenaBytes;
  // 33554432 of workspace; the rest in blocks of 256.
  EXPECT_EQ(context.error().rfind("the program needs ", 0), 0u) << context.error();
  EXPECT_NE(
      context.error().find("(" + std::to_string(arena) +
                           " of them for values of a step), 35651584 of 35651584 are "
                           "free; a step planned for at most "),
      std::string::npos)
      << context.error();
}

/// Enough is free, but the device does not give it.
TEST_F(CudaExecutable, OutOfMemoryInOnePiece) {
  Model model;
  Context context;
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  mpt_standin_fail("cudaMalloc", 1, 2);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OUT_OF_MEMORY);
  mpt_standin_fail(nullptr, 0, 0);
  EXPECT_NE(context.error().find(" are free; not in one piece, it seems"),
            std::string::npos)
      << context.error();
}

/// Less than the workspace of cuBLASLt: no budget helps.
TEST_F(CudaExecutable, OutOfMemoryForTheWorkspace) {
  Model model;
  Context context;
  mpt_standin_set_device(1, 9, 0, 20 << 20);
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OUT_OF_MEMORY);
  EXPECT_NE(
      context.error().find("; what is not values of a step (state, data, 32 MiB for "
                           "cuBLASLt) does not fit: "),
      std::string::npos)
      << context.error();
}

/// What is told before the first run is what it takes.
TEST_F(CudaExecutable, CountsMemory) {
  Model model;
  Context context, other;
  int64_t needed = 0, unused = 0;
  EXPECT_EQ(mpt_rt_get_cuda_memory(context.rt, &needed, &unused), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(context.error(), "no program for GPUs is open");
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_get_cuda_memory(context.rt, nullptr, &unused),
            MPT_RT_INVALID_ARGUMENT);
  ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &needed, &unused), MPT_RT_OK);
  EXPECT_EQ(unused, 1 << 30);
  // A byte less is too little.
  for (int64_t bytes : {needed - 1, needed}) {
    mpt_standin_set_device(1, 9, 0, bytes);
    Context tight;
    ASSERT_EQ(open(tight, model), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_write(tight.rt, "w", w.data(), 384), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_bind(tight.rt, "x", x.data(), 512), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_run(tight.rt),
              bytes < needed ? MPT_RT_OUT_OF_MEMORY : int(MPT_RT_OK))
        << tight.error();
  }
  EXPECT_EQ(breach(), "");
}

/// Asking between runs tells what has been taken, and changes nothing.
TEST_F(CudaExecutable, CountsMemoryBetweenRuns) {
  Model model;
  Context context;
  int64_t before = 0, needed = 0, unused = 0;
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_write(context.rt, "w", w.data(), 384), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &before, &unused), MPT_RT_OK);
  EXPECT_EQ(unused, 1 << 30);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
    ASSERT_EQ(mpt_rt_get_cuda_memory(context.rt, &needed, &unused), MPT_RT_OK);
    EXPECT_EQ(needed, before);
    EXPECT_EQ(unused, (1 << 30) - needed);
  }
  EXPECT_EQ(breach(), "");
}

/// The budget that the message names fits, and not a block more.
TEST_F(CudaExecutable, BudgetThatFits) {
  auto runWith = [&](int64_t arena, std::string &error) {
    Model model;
    Context context;
    mpt_standin_set_device(1, 9, 0, 34 << 20);
    model.builder.program.arenaBytes = arena;
    EXPECT_EQ(open(context, model), MPT_RT_OK);
    EXPECT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
    int status = mpt_rt_run(context.rt);
    error = context.error();
    return status;
  };
  std::string error;
  ASSERT_EQ(runWith(4 << 20, error), MPT_RT_OUT_OF_MEMORY);
  const std::string before = "planned for at most ";
  size_t at = error.find(before);
  ASSERT_NE(at, std::string::npos) << error;
  int64_t budget = std::atoll(error.c_str() + at + before.size());
  EXPECT_EQ(runWith(budget, error), MPT_RT_OK) << error;
  EXPECT_EQ(runWith(budget + 256, error), MPT_RT_OUT_OF_MEMORY);
}

/// Contexts share nothing: each thread has its own, of its own program, and records its
/// steps while others run, start and end.
TEST_F(CudaExecutable, Threads) {
  std::vector<std::string> errors(3);
  auto work = [&](int number) {
    std::string &error = errors[number];
    for (int round = 0; round < 4 && error.empty(); ++round) {
      Model model;
      Context context;
      std::vector<float> input(128), weight(96, static_cast<float>(number + 1));
      if (open(context, model) || mpt_rt_write(context.rt, "w", weight.data(), 384))
        error = "opening: " + context.error();
      for (int step = 0; step < 6 && error.empty(); ++step) {
        for (int i = 0; i < 128; ++i)
          input[i] = static_cast<float>((i * 5 + step * 3 + number) % 7);
        float y[12], total, expected = 0, product = 1;
        if (mpt_rt_bind(context.rt, "x", input.data(), 512) || mpt_rt_run(context.rt) ||
            mpt_rt_read_output(context.rt, "y", y, 48) ||
            mpt_rt_read_output(context.rt, "total", &total, 4)) {
          error = context.error();
          break;
        }
        for (int i = 0; i < 32; ++i) {
          expected += input[i];
          product += input[i] * weight[i * 3];
        }
        if (total != expected || y[0] != product)
          error = "thread " + std::to_string(number) + ": " + std::to_string(total) +
                  " " + std::to_string(y[0]) + ", expected " + std::to_string(expected) +
                  " " + std::to_string(product);
        for (int i = 0; i < 12; ++i)
          weight[i] += 1;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int number : {0, 1, 2})
    threads.emplace_back(work, number);
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
  // Each context made one graph, and launched it from its second step on.
  EXPECT_EQ(mpt_standin_calls("cudaStreamBeginCapture"), 12);
  EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 60);
  EXPECT_EQ(breach(), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

#ifdef MPT_HAS_NVTX
/// Read at the first range of the process, wherever that is.
const int isInjected = setenv("NVTX_INJECTION64_PATH", MPT_STANDIN, 1);

TEST_F(CudaExecutable, Ranges) {
  EXPECT_EQ(isInjected, 0);
  Model model;
  Context context;
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  mpt_rt_set_profiling(context.rt, 1);
  std::string before = mpt_standin_ranges();
  ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
  EXPECT_EQ(std::string(mpt_standin_ranges()).substr(before.size()),
            "matmul test.mlir:1:1\ncopy test.mlir:2:1\nincrement test.mlir:1:1\n"
            "sum test.mlir:1:1\n");
}
#endif

/// Whatever call fails, the error is reported, nothing leaks and no rule is broken.
TEST_F(CudaExecutable, EveryCallMayFail) {
  const char *const names[] = {"cudaGetDeviceCount",
                               "cudaGetDevice",
                               "cudaSetDevice",
                               "cudaDeviceGetAttribute",
                               "cudaStreamCreateWithFlags",
                               "cudaLibraryLoadData",
                               "cudaMalloc",
                               "cudaMallocHost",
                               "cudaEventCreateWithFlags",
                               "cudaMemsetAsync",
                               "cudaMemcpyAsync",
                               "cudaStreamSynchronize",
                               "cublasLtCreate",
                               "cublasLtMatmulPreferenceCreate",
                               "cublasLtMatmulPreferenceSetAttribute",
                               "cublasLtMatmulDescCreate",
                               "cublasLtMatmulDescSetAttribute",
                               "cublasLtMatrixLayoutCreate",
                               "cublasLtMatmulAlgoGetHeuristic",
                               "cudaLibraryGetKernel",
                               "cublasLtMatmul",
                               "cudaLaunchKernel",
                               "cudaEventRecord",
                               "cudaStreamBeginCapture",
                               "cudaStreamEndCapture",
                               "cudaGraphInstantiate",
                               "cudaGraphLaunch",
                               "cudaStreamWaitEvent",
                               "cudaMemGetInfo",
                               "cudaEventSynchronize"};
  for (const char *name : names)
    for (int after : {1, 2}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(after));
      SetUp();
      int64_t total = 0;
      {
        Model model;
        Context context;
        ASSERT_EQ(open(context, model), MPT_RT_OK);
        ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
        const int32_t output = 2;
        ASSERT_EQ(mpt_rt_keep_results(context.rt, &output, 1), MPT_RT_OK);
        mpt_standin_fail(name, after, 77);
        int status = 0;
        float y[12];
        mpt_rt_snapshot *snapshots[6] = {};
        for (int step = 0; step < 6 && status == 0; ++step) {
          status = mpt_rt_run(context.rt);
          if (status == 0 && step > 0)
            status = mpt_rt_read_result(context.rt, step, output, y, 48);
          if (status == 0)
            status = mpt_rt_take_snapshot(context.rt, &snapshots[step]);
        }
        total = mpt_standin_calls(name);
        mpt_standin_fail(nullptr, 0, 0);
        for (mpt_rt_snapshot *snapshot : snapshots)
          mpt_rt_destroy_snapshot(snapshot);
        if (total >= after) {
          EXPECT_NE(status, 0);
          EXPECT_NE(context.error().find("77"), std::string::npos) << context.error();
        }
      }
      // A capture that could not be ended is the one thing left open.
      if (std::string(name) != "cudaStreamEndCapture") {
        EXPECT_EQ(breach(), "");
        EXPECT_EQ(mpt_standin_alive(), 0);
      }
    }
}

/// After a failure on the device nothing runs; the first message stays.
TEST_F(CudaExecutable, Sticky) {
  Model model;
  Context context;
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  mpt_standin_fail("cudaGraphLaunch", 2, 700);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_OK);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
  const char *expected = "launching the step: an illegal memory access was encountered "
                         "(CUDA error 700)";
  EXPECT_EQ(context.error(), expected);
  mpt_standin_fail(nullptr, 0, 0);
  float y[12];
  EXPECT_EQ(mpt_rt_read_output(context.rt, "y", y, 48), MPT_RT_RUN_FAILED);
  EXPECT_EQ(context.error(), expected);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
}

/// What would never run is refused when the program is opened.
TEST_F(CudaExecutable, Refusals) {
  auto refusal = [&](const std::function<void(Model &)> &change) {
    Model model;
    change(model);
    Context context;
    EXPECT_NE(open(context, model), MPT_RT_OK);
    return context.error();
  };
  EXPECT_EQ(refusal([](Model &m) { m.kernels[0].threads = 2048; }),
            "kernel 0 of the program cannot be launched");
  EXPECT_EQ(refusal([](Model &m) { m.images.clear(); }),
            "the program holds no device code");
  EXPECT_EQ(refusal([](Model &m) {
              BufferRef y = m.builder.arena(DataType::F32, {4});
              m.builder.call(FillCall{1.0}, {}, y);
            }),
            "test.mlir:5:1: 'fill' is not done on GPUs yet");
  EXPECT_EQ(refusal([](Model &m) {
              BufferRef a = m.builder.arena(DataType::F32, {2, 3});
              BufferRef b = m.builder.arena(DataType::F32, {3, 2});
              m.builder.call(CopyCall{{3, 2}, 0, {1, 3}, 0, {2, 1}}, {a}, b);
            }),
            "test.mlir:5:1: copies that rearrange elements are not done on GPUs yet");
  EXPECT_EQ(refusal([](Model &m) {
              Conv2DCall conv;
              conv.oihw = true;
              BufferRef x = m.builder.arena(DataType::F32, {1, 4, 4, 3});
              BufferRef filter = m.builder.arena(DataType::F32, {2, 3, 1, 1});
              BufferRef y = m.builder.arena(DataType::F32, {1, 4, 4, 2});
              m.builder.call(conv, {x, filter}, y);
            }),
            "test.mlir:5:1: GPUs read filters [KH, KW, C / groups, O], found 'oihw'; "
            "--mpt-legalize-for-gpu transposes them");
  EXPECT_EQ(
      refusal([](Model &m) {
        m.builder.program.instructions[0].refs[1].type = DataType::F16;
      }),
      "test.mlir:1:1: a matmul of f32 and f16 into f32: both operands must have one "
      "type; cast one");
}

/// The emulator does not let a deadlock pass.
TEST_F(CudaExecutable, BarrierWithoutSome) {
  Model model;
  model.kernels[0] = {"leave", {1, 1}, 64};
  Context context;
  ASSERT_EQ(open(context, model), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_bind(context.rt, "x", x.data(), 512), MPT_RT_OK);
  ASSERT_EQ(mpt_rt_run(context.rt), MPT_RT_OK) << context.error();
  float total;
  EXPECT_EQ(mpt_rt_read_output(context.rt, "total", &total, 4), MPT_RT_RUN_FAILED);
  EXPECT_EQ(breach(),
            "kernel leave: some threads have left while others wait at a barrier");
}

} // namespace
