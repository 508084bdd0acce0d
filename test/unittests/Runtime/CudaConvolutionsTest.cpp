//===- CudaConvolutionsTest.cpp - cuDNN on the stand-in for CUDA -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One convolution by cuDNN, and a launch that stands for the matmuls: what makes
/// cuDNN's descriptors, when the launch runs, and what is said.
///
//===----------------------------------------------------------------------===//

#include "CUDA/CudnnGraph.h"
#include "DescribedDevice.h"
#include "ProgramBuilder.h"
#include "StandIn.h"
#include "mpt/ProgramABI/CudaProgram.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

using namespace mpt::rt;

namespace {

const mpt_simt_ops *simt = nullptr;

constexpr int kHeight = 4, kWidth = 5, kIn = 2, kOut = 3, kTaps = 9;

/// KRSC from HWIO.
void transpose(void **arguments) {
  auto *from = *static_cast<float **>(arguments[0]),
       *to = *static_cast<float **>(arguments[1]);
  for (int i = simt->thread(); i < kTaps * kIn * kOut; i += 32)
    to[i % kOut * kTaps * kIn + i / kOut] = from[i];
}
/// y += 1.
void finish(void **arguments) {
  auto *y = *static_cast<float **>(arguments[0]);
  for (int i = simt->thread(); i < kHeight * kWidth * kOut; i += 32)
    y[i] += 1;
}
/// y = -1, so that it shows that it ran.
void instead(void **arguments) {
  auto *y = *static_cast<float **>(arguments[0]);
  for (int i = simt->thread(); i < kHeight * kWidth * kOut; i += 32)
    y[i] = -1;
}
const mpt_simt_kernel simtKernels[] = {
    {"transpose", transpose, 2}, {"finish", finish, 1}, {"instead", instead, 1}};
const mpt_simt_module simtModule = {&simt, simtKernels, 3};

/// y = x * w + 1, or -1 everywhere.
struct Model {
  Model() {
    builder.program.target = "cuda sm_90";
    BufferRef x = builder.input("x", DataType::F32, {1, kHeight, kWidth, kIn});
    BufferRef w = builder.state("w", DataType::F32, {3, 3, kIn, kOut});
    BufferRef turned = builder.arena(DataType::F32, {3, 3, kIn, kOut});
    BufferRef y = builder.output("y", DataType::F32, {1, kHeight, kWidth, kOut});
    builder.launch(1, {w}, turned);
    Conv2DCall conv;
    conv.padding = {1, 1, 1, 1};
    conv.cudnn = true;
    Instruction call = makeInstruction(conv, {x, turned}, y);
    call.parts = {1, 1, 1};
    call.location = "model.mlir:2:1";
    builder.program.instructions.push_back(call);
    for (uint32_t kernel : {1, 2}) {
      builder.launch(1, {}, y);
      builder.program.instructions.back().kernel = kernel;
    }
    for (size_t i = 0; i < x_.size(); ++i)
      x_[i] = static_cast<float>(i * 7 % 11) - 5;
    for (size_t i = 0; i < w_.size(); ++i)
      w_[i] = static_cast<float>(i * 5 % 13) - 6;
  }
  const mpt_program_desc *desc() {
    table = writeProgram(builder.program);
    cuda = {kernels, &image, 1, nullptr, 0};
    made = describeForCuda(table, 3, cuda);
    return &made;
  }
  std::vector<float> expected() const {
    std::vector<float> y(kHeight * kWidth * kOut);
    for (int h = 0; h < kHeight; ++h)
      for (int v = 0; v < kWidth; ++v)
        for (int k = 0; k < kOut; ++k) {
          float sum = 1;
          for (int r = 0; r < 3; ++r)
            for (int s = 0; s < 3; ++s)
              for (int c = 0; c < kIn; ++c) {
                int row = h + r - 1, column = v + s - 1;
                if (row >= 0 && row < kHeight && column >= 0 && column < kWidth)
                  sum += x_[(row * kWidth + column) * kIn + c] *
                         w_[((r * 3 + s) * kIn + c) * kOut + k];
              }
          y[(h * kWidth + v) * kOut + k] = sum;
        }
    return y;
  }
  Instruction &call() { return builder.program.instructions[1]; }

  ProgramBuilder builder{1};
  mpt_cuda_kernel kernels[3] = {{"transpose", {1, 1}, 32, 0},
                                {"finish", {1, 1}, 32, 0},
                                {"instead", {1, 1}, 32, 0}};
  mpt_cuda_image image = {90, 0, "cubin of sm_90", 14};
  std::string table;
  mpt_cuda_desc cuda;
  mpt_program_desc made;
  std::vector<float> x_ = std::vector<float>(kHeight * kWidth * kIn),
                     w_ = std::vector<float>(kTaps * kIn * kOut);
};

class CudaConvolutions : public testing::Test {
protected:
  void SetUp() override {
    mpt_standin_reset();
    mpt_standin_set_kernels(&simtModule);
  }
  void open(Context &context, const char *cudnn = MPT_STANDIN) {
    ASSERT_EQ(mpt_rt_set_cuda_libraries(context.rt, MPT_STANDIN, MPT_STANDIN), 0);
    ASSERT_EQ(mpt_rt_set_cudnn_library(context.rt, cudnn), 0);
    ASSERT_EQ(mpt_rt_open_desc(context.rt, model.desc()), 0) << context.error();
    ASSERT_EQ(mpt_rt_write(context.rt, "w", model.w_.data(), model.w_.size() * 4), 0);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", model.x_.data(), model.x_.size() * 4), 0);
  }
  std::vector<float> run(Context &context) {
    EXPECT_EQ(mpt_rt_run(context.rt), 0) << context.error() << mpt_standin_breach();
    std::vector<float> y(kHeight * kWidth * kOut);
    EXPECT_EQ(mpt_rt_read_output(context.rt, "y", y.data(), y.size() * 4), 0);
    return y;
  }
  /// Three steps make -1 everywhere, and the notes are `note`.
  void expectWithout(const std::string &note, const char *cudnn = MPT_STANDIN) {
    {
      Context context;
      open(context, cudnn);
      for (int step = 0; step < 3; ++step)
        EXPECT_EQ(run(context), std::vector<float>(kHeight * kWidth * kOut, -1));
      EXPECT_EQ(std::string(mpt_rt_notes(context.rt)),
                "model.mlir:2:1: " + note + "; it runs without cuDNN\n");
      EXPECT_EQ(mpt_standin_calls("cudnnBackendExecute"), 0);
    }
    EXPECT_EQ(std::string(mpt_standin_breach()), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
  }
  Model model;
};

const char *const kPlan = "convolution x=f32[1x2x4x5] w=f32[3x2x3x3] y=f32[1x3x4x5] "
                          "strides=1x1 pad=1x1 to 1x1 dilations=1x1";

TEST_F(CudaConvolutions, Runs) {
  {
    Context context;
    open(context);
    for (int step = 0; step < 3; ++step)
      EXPECT_EQ(run(context), model.expected());
    EXPECT_EQ(std::string(mpt_rt_notes(context.rt)), "");
    // The first step and the recorded one.
    EXPECT_EQ(mpt_standin_calls("cudnnBackendExecute"), 2);
    EXPECT_EQ(mpt_standin_calls("cudnnCreate"), 1);
    EXPECT_EQ(mpt_rt_set_cudnn_library(context.rt, ""), MPT_RT_INVALID_ARGUMENT);
    EXPECT_EQ(context.error(), "this context has a program already");
  }
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaConvolutions, Profiles) {
  Context context;
  open(context);
  mpt_rt_set_profiling(context.rt, 1);
  EXPECT_EQ(run(context), model.expected());
  const char *what, *location;
  double milliseconds;
  ASSERT_EQ(mpt_rt_get_profile(context.rt, 1, &what, &location, &milliseconds), 0);
  EXPECT_EQ(std::string(what) + " " + location, "conv2d model.mlir:2:1");
  // With a launch before and after it, and not what runs without cuDNN.
  EXPECT_EQ(mpt_rt_get_profile(context.rt, 2, &what, &location, &milliseconds), 0);
  EXPECT_NE(mpt_rt_get_profile(context.rt, 3, &what, &location, &milliseconds), 0);
}

/// Calls of one plan share it, and plans are made once.
TEST_F(CudaConvolutions, Shared) {
  std::vector<Instruction> &all = model.builder.program.instructions, once = all;
  all.insert(all.end(), once.begin(), once.end());
  {
    Context context;
    open(context);
    EXPECT_EQ(run(context), model.expected());
    EXPECT_EQ(mpt_standin_calls("cudnnBackendExecute"), 2);
    int64_t made = mpt_standin_calls("cudnnBackendCreateDescriptor");
    EXPECT_EQ(run(context), model.expected());
    EXPECT_EQ(run(context), model.expected());
    EXPECT_EQ(mpt_standin_calls("cudnnBackendCreateDescriptor"), made);
  }
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaConvolutions, Missing) {
  expectWithout(
      "cannot load /none/libcudnn.so.9: /none/libcudnn.so.9: cannot open shared "
      "object file: No such file or directory; install cuDNN 9, or name the library",
      "/none/libcudnn.so.9");
  SetUp();
  expectWithout("the cuDNN found has no cudnnGetVersion; install cuDNN 9", "libm.so.6");
}

TEST_F(CudaConvolutions, TooOld) {
  mpt_standin_set_cudnn_version(8907);
  expectWithout("the cuDNN found has version 8907; install cuDNN 9");
}

TEST_F(CudaConvolutions, Refused) {
  mpt_standin_refuse_convolutions(static_cast<int>(cuda::CudnnKind::ConvolutionForward));
  expectWithout(std::string("cuDNN refuses ") + kPlan +
                ": an operation: CUDNN_STATUS_NOT_SUPPORTED (3000)");
}

/// Engines are measured, beside what runs without cuDNN, and the choice is kept.
class CudnnTuning : public CudaConvolutions {
protected:
  void SetUp() override {
    CudaConvolutions::SetUp();
    // TF32, as there are three engines for it.
    std::get<Conv2DCall>(*model.call().call).allowTf32 = true;
    mpt_standin_set_launch_time("transpose", 10);
    mpt_standin_set_launch_time("finish", 5);
    mpt_standin_set_launch_time("instead", 200);
    char name[] = "/tmp/mpt-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    path = folder + "/step.tuning";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  /// Runs three steps; returns the notes.
  std::string runTuned(bool isWithout = false, bool on = true) {
    std::string notes;
    {
      Context context;
      EXPECT_EQ(mpt_rt_set_tuning(context.rt, on, path.c_str()), 0);
      open(context);
      for (int step = 0; step < 3; ++step)
        EXPECT_EQ(run(context), isWithout
                                    ? std::vector<float>(kHeight * kWidth * kOut, -1)
                                    : model.expected());
      notes = mpt_rt_notes(context.rt);
    }
    EXPECT_EQ(std::string(mpt_standin_breach()), "");
    EXPECT_EQ(mpt_standin_alive(), 0);
    return notes;
  }
  std::string readFile() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string expectedFile(const std::string &choice) {
    return "MPT's choices among algorithms of cuBLASLt, 1\n" + choice +
           " cudnn 91900; driver 13000; sm_90 with 132 multiprocessors; " + kPlan +
           " tf32\n";
  }
  std::string note(const std::string &found) const {
    return "cuDNN: 1 of 1 plans were compared, " + found + "; " + path + " keeps that\n";
  }
  std::string folder, path;
};

TEST_F(CudnnTuning, FastestIsKept) {
  EXPECT_EQ(runTuned(), note("1 run with another engine than the first, 0 without "
                             "cuDNN: 0.035 ms of a step instead of 0.065"));
  EXPECT_EQ(readFile(), expectedFile("1 3 35000 65000"));
  // The launches around it count, and the choice is that of later runs.
  mpt_standin_set_engine_times(1, 2, 3);
  const int64_t calls = mpt_standin_calls("cudnnBackendExecute");
  EXPECT_EQ(runTuned(), "");
  EXPECT_EQ(readFile(), expectedFile("1 3 35000 65000"));
  EXPECT_EQ(mpt_standin_calls("cudnnBackendExecute"), calls + 2);
  // Without the file it is the first one's.
  EXPECT_EQ(runTuned(false, false), "");
}

TEST_F(CudnnTuning, ChosenRuns) {
  for (bool on : {true, true, false}) {
    Context context;
    EXPECT_EQ(mpt_rt_set_tuning(context.rt, on, path.c_str()), 0);
    open(context);
    mpt_rt_set_profiling(context.rt, 1);
    EXPECT_EQ(run(context), model.expected());
    const char *what = nullptr, *location = nullptr;
    double milliseconds = 0;
    ASSERT_EQ(mpt_rt_get_profile(context.rt, 1, &what, &location, &milliseconds), 0);
    EXPECT_FLOAT_EQ(milliseconds, on ? 0.02f : 0.05f);
  }
}

TEST_F(CudnnTuning, WithoutCudnn) {
  mpt_standin_set_launch_time("instead", 30);
  EXPECT_EQ(runTuned(true), note("0 run with another engine than the first, 1 without "
                                 "cuDNN: 0.030 ms of a step instead of 0.065"));
  EXPECT_EQ(readFile(), expectedFile("-1 3 30000 65000"));
  const int64_t calls = mpt_standin_calls("cudnnBackendExecute");
  EXPECT_EQ(runTuned(true), "");
  EXPECT_EQ(mpt_standin_calls("cudnnBackendExecute"), calls);
  // What is no faster than 3 % is not taken.
  std::filesystem::remove(path);
  mpt_standin_set_launch_time("instead", 34);
  EXPECT_EQ(runTuned(), note("1 run with another engine than the first, 0 without "
                             "cuDNN: 0.035 ms of a step instead of 0.065"));
}

/// A file of another cuDNN, or of another number of engines, says nothing.
TEST_F(CudnnTuning, OtherChoices) {
  std::string other = expectedFile("2 3 1 1");
  other.replace(other.find("91900"), 5, "91800");
  std::ofstream(path) << other << expectedFile("0 2 1 1").substr(other.find('\n') + 1);
  EXPECT_NE(runTuned(), "");
  EXPECT_EQ(readFile(),
            other + expectedFile("1 3 35000 65000").substr(other.find('\n') + 1));
}

/// What writes state cannot be tried.
TEST_F(CudnnTuning, WritesState) {
  Instruction &finish = model.builder.program.instructions[2];
  BufferRef count = model.builder.state("count", DataType::F32, {1});
  finish.refs.push_back(count);
  ++finish.numOutputs;
  EXPECT_EQ(runTuned(), "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// An engine that fails to run is none, nor is one that becomes no plan.
TEST_F(CudnnTuning, Fails) {
  // Behind the first, which ran four times.
  mpt_standin_fail("cudnnBackendExecute", 5, 3000);
  std::string notes = runTuned(true);
  EXPECT_EQ(notes, note("0 run with another engine than the first, 0 without cuDNN: "
                        "0.065 ms of a step instead of 0.065") +
                       "model.mlir:2:1: a call of cuDNN: CUDNN_STATUS_NOT_SUPPORTED "
                       "(3000); it runs without cuDNN\n");
  EXPECT_EQ(readFile(), expectedFile("0 3 65000 65000"));
  // None that runs: what does without cuDNN is chosen.
  std::filesystem::remove_all(folder);
  SetUp();
  mpt_standin_fail("cudnnBackendExecute", 1, 3000);
  EXPECT_EQ(runTuned(true),
            "model.mlir:2:1: a call of cuDNN: CUDNN_STATUS_NOT_SUPPORTED (3000); others "
            "are tried\n" +
                note("0 run with another engine than the first, 1 without cuDNN: "
                     "0.200 ms of a step instead of 0.000"));
  EXPECT_EQ(readFile(), expectedFile("-1 3 200000 0"));
  std::filesystem::remove_all(folder);
  SetUp();
  // Behind two plans and the pack: the second engine's.
  mpt_standin_fail("cudnnBackendFinalize", 11, 3000);
  EXPECT_EQ(runTuned(), note("0 run with another engine than the first, 0 without "
                             "cuDNN: 0.065 ms of a step instead of 0.065"));
}

/// As where a part of the library is missing.
TEST_F(CudaConvolutions, NotInitialized) {
  mpt_standin_fail("cudnnCreate", 1, 1001);
  expectWithout("cuDNN: CUDNN_STATUS_NOT_INITIALIZED (1001)");
}

TEST_F(CudaConvolutions, NoHeuristics) {
  // Behind three tensors, convolution, operation, graph.
  mpt_standin_fail("cudnnBackendFinalize", 7, 3000);
  expectWithout(std::string("cuDNN refuses ") + kPlan +
                ": it proposes no engine: CUDNN_STATUS_NOT_SUPPORTED (3000)");
}

TEST_F(CudaConvolutions, NoPlan) {
  // Six have tensor cores, which cut f32; the seventh, of the fallback mode, fails.
  mpt_standin_fail("cudnnBackendFinalize", 9, 4000);
  expectWithout(
      std::string("cuDNN refuses ") + kPlan +
      ": none of its 7 engine configurations can be used (6 are not deterministic or "
      "not exact, 0 need more than 33 MiB, 1 could not be made into a plan, the last "
      "one: "
      "CUDNN_STATUS_INTERNAL_ERROR (4000))");
}

/// Of operands that tensor cores take as they are, the first four engines are looked at:
/// no plan, not deterministic, too much workspace, good.
TEST_F(CudaConvolutions, FirstThatWillDo) {
  std::get<Conv2DCall>(*model.call().call).allowTf32 = true;
  Context context;
  open(context);
  EXPECT_EQ(run(context), model.expected());
  EXPECT_EQ(std::string(mpt_rt_notes(context.rt)), "");
  // Tensors, convolution, operation, graph, heuristics, two plans, the pack.
  EXPECT_EQ(mpt_standin_calls("cudnnBackendFinalize"), 10);
}

TEST_F(CudaConvolutions, Broken) {
  mpt_standin_fail("cudnnBackendFinalize", 10, 4000);
  Context context;
  open(context);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(context.error(),
            "model.mlir:2:1: a call's buffers: CUDNN_STATUS_INTERNAL_ERROR (4000)");
}

/// A failure while a step runs is one that stays.
TEST_F(CudaConvolutions, Fails) {
  Context context;
  open(context);
  mpt_standin_fail("cudnnBackendExecute", 1, 5000);
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
    EXPECT_EQ(context.error(),
              "model.mlir:2:1: a call of cuDNN: CUDNN_STATUS_EXECUTION_FAILED (5000)");
    mpt_standin_fail(nullptr, 0, 0);
  }
}

/// Whatever call fails, and however: it is said, nothing leaks and no rule is broken.
TEST_F(CudaConvolutions, EveryCallMayFail) {
  for (const char *name :
       {"cudnnCreate", "cudnnSetStream", "cudnnBackendCreateDescriptor",
        "cudnnBackendSetAttribute", "cudnnBackendFinalize", "cudnnBackendGetAttribute",
        "cudnnBackendExecute"})
    for (int code : {77, 3000})
      for (int after = 1; after < 60; ++after) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(after) + " " +
                     std::to_string(code));
        SetUp();
        bool isLast = false;
        {
          Context context;
          open(context);
          mpt_standin_fail(name, after, code);
          int status = 0;
          for (int step = 0; step < 3 && status == 0; ++step)
            status = mpt_rt_run(context.rt);
          isLast = mpt_standin_calls(name) < after;
          mpt_standin_fail(nullptr, 0, 0);
          std::string number = "(" + std::to_string(code) + ")";
          std::string said = status ? context.error() : mpt_rt_notes(context.rt);
          if (!isLast) {
            EXPECT_NE(said.find(number), std::string::npos) << said;
            EXPECT_EQ(said.rfind("model.mlir:2:1: ", 0), 0u) << said;
          }
          // What is broken is no refusal.
          if (!isLast && code == 77)
            EXPECT_NE(status, 0);
        }
        EXPECT_EQ(std::string(mpt_standin_breach()), "");
        EXPECT_EQ(mpt_standin_alive(), 0);
        if (isLast)
          break;
      }
}

/// What goes with a call has to be there.
TEST_F(CudaConvolutions, Parts) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (const CudnnParts &parts :
       {CudnnParts{2, 1, 1}, CudnnParts{-1, 1, 1}, CudnnParts{1, 2, 1},
        CudnnParts{1, -1, 1}, CudnnParts{1, 1, 0}, CudnnParts{1, 1, 2},
        CudnnParts{1, most, 1}, CudnnParts{1, 1, most}}) {
    SCOPED_TRACE(std::to_string(parts.before) + " " + std::to_string(parts.after) + " " +
                 std::to_string(parts.fallback));
    Model wrong;
    wrong.call().parts = parts;
    Context context;
    EXPECT_EQ(mpt_rt_open_desc(context.rt, wrong.desc()), MPT_RT_INVALID_PROGRAM);
    EXPECT_EQ(context.error(),
              "model.mlir:2:1: the launches of a call of cuDNN are not next to it");
  }
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

LibraryCall cudnnCall(CallId id, std::array<int64_t, 2> strides,
                      std::array<int64_t, 4> padding, int64_t groups) {
  LibraryCall call = convolution(id, strides, padding, {1, 1}, groups);
  if (auto *conv = std::get_if<Conv2DCall>(&call))
    conv->cudnn = true;
  if (auto *conv = std::get_if<Conv2DInputGradCall>(&call))
    conv->cudnn = true;
  if (auto *conv = std::get_if<Conv2DFilterGradCall>(&call))
    conv->cudnn = true;
  return call;
}

/// y [2, 4, 5, 12] of x [2, 9, 8, 8] and filters of 3 x 2, in `groups`.
Instruction makeCall(CallId id, DataType type, DataType result, int64_t groups) {
  BufferRef x, w, y;
  x.dims = {2, 9, 8, 8};
  w.dims = {3, 2, 8 / groups, 12};
  y.dims = {2, 4, 5, 12};
  x.type = w.type = y.type = type;
  std::vector<BufferRef> in = id == CallId::Conv2DInputGrad    ? std::vector{y, w}
                              : id == CallId::Conv2DFilterGrad ? std::vector{x, y}
                                                               : std::vector{x, w};
  BufferRef out = id == CallId::Conv2DInputGrad    ? x
                  : id == CallId::Conv2DFilterGrad ? w
                                                   : y;
  out.type = result;
  return makeInstruction(cudnnCall(id, {2, 2}, {0, 1, 1, 1}, groups), in, out);
}

TEST(CudnnPlan, Layouts) {
  Instruction call = makeCall(CallId::Conv2DFilterGrad, DataType::BF16, DataType::F32, 4);
  ASSERT_TRUE(isCudnnCall(call));
  std::string error;
  ASSERT_TRUE(checkCall(call, error)) << error;
  CudnnPlan plan;
  ASSERT_TRUE(makeCudnnPlan(call, plan, error)) << error;
  EXPECT_EQ(describeCudnnPlan(plan),
            "filter's gradient x=bf16[2x8x9x8] w=f32[12x2x3x2] y=bf16[2x12x4x5] "
            "strides=2x2 pad=0x1 to 1x1 dilations=1x1");
  auto strides = [](const CudnnTensor &tensor) {
    return std::vector<int64_t>(tensor.strides, tensor.strides + 4);
  };
  EXPECT_EQ(strides(plan.x), (std::vector<int64_t>{576, 1, 64, 8}));
  EXPECT_EQ(strides(plan.y), (std::vector<int64_t>{240, 1, 60, 12}));
  EXPECT_EQ(strides(plan.w), (std::vector<int64_t>{12, 1, 4, 2}));
  call.refs[0].type = DataType::F8E5M2;
  EXPECT_FALSE(makeCudnnPlan(call, plan, error));
  EXPECT_EQ(error, "cuDNN is asked for convolutions of f32, f16 and bf16 only");
}

#ifdef MPT_CUDNN
/// The library itself, which needs a device for graphs but takes what they are made of
/// without one.
TEST(CudnnGraph, OfCudnn) {
  cuda::CudnnContext context;
  std::string error;
  if (!context.api.load(MPT_CUDNN, error))
    GTEST_SKIP() << error;
  const char *what = nullptr;
  int status = context.create(nullptr, what);
  for (CallId id : {CallId::Conv2D, CallId::Conv2DInputGrad, CallId::Conv2DFilterGrad})
    for (DataType type : {DataType::F32, DataType::F16, DataType::BF16})
      for (DataType result : {type, DataType::F32})
        for (int64_t groups : {1, 4}) {
          CudnnPlan plan;
          ASSERT_TRUE(makeCudnnPlan(makeCall(id, type, result, groups), plan, error));
          SCOPED_TRACE(describeCudnnPlan(plan));
          cuda::CudnnGraph convolution(context);
          EXPECT_EQ(convolution.create(plan, what), 0) << what;
          if (status)
            EXPECT_EQ(convolution.refusal.rfind("a graph: ", 0), 0u)
                << convolution.refusal;
        }
  cuda::CudnnGraph graph(context);
  graph.ids = {1, 2, 3};
  graph.buffers = {2, 0, -1};
  graph.offsets = {{0, 8, 0}, {16, 0, 0}};
  cuda::CudnnVariantPack pack(context.api);
  EXPECT_EQ(pack.create(graph, {&status, &status, &status}, &status, what), 0) << what;
}

/// The library makes plans for a device that is not there: of convolutions as ResNet has
/// them, and of odd ones.
TEST(CudnnGraph, PlansOfCudnn) {
  cuda::CudnnContext context;
  std::string error;
  if (!context.api.load(MPT_CUDNN, error))
    GTEST_SKIP() << error;
  const char *what = nullptr;
  if (int status = context.describe(kH100, what))
    GTEST_SKIP() << "this cuDNN does not take the device: " << context.api.nameOf(status);
  struct Case {
    std::vector<int64_t> x, w, y;
    int64_t stride, groups;
    std::vector<int64_t> pad;
  };
  const Case cases[] = {
      {{32, 28, 28, 128}, {3, 3, 128, 128}, {32, 28, 28, 128}, 1, 1, {1, 1, 1, 1}},
      {{32, 28, 28, 128}, {3, 3, 128, 128}, {32, 14, 14, 128}, 2, 1, {0, 1, 0, 1}},
      {{32, 224, 224, 3}, {7, 7, 3, 64}, {32, 112, 112, 64}, 2, 1, {3, 3, 3, 3}},
      {{32, 56, 56, 256}, {1, 1, 256, 512}, {32, 28, 28, 512}, 2, 1, {0, 0, 0, 0}},
      {{32, 28, 28, 128}, {3, 3, 4, 128}, {32, 28, 28, 128}, 1, 32, {1, 1, 1, 1}},
      {{32, 28, 28, 128}, {3, 3, 1, 128}, {32, 28, 28, 128}, 1, 128, {1, 1, 1, 1}},
      {{4, 9, 8, 3}, {3, 3, 3, 5}, {4, 9, 8, 5}, 1, 1, {1, 1, 1, 1}},
  };
  for (const Case &c : cases)
    for (CallId id : {CallId::Conv2D, CallId::Conv2DInputGrad, CallId::Conv2DFilterGrad})
      for (DataType type : {DataType::F32, DataType::F16, DataType::BF16}) {
        Instruction call = makeCall(id, type, type, 1);
        bool isData = id == CallId::Conv2DInputGrad,
             isFilter = id == CallId::Conv2DFilterGrad;
        call.refs[0].dims = isData ? c.y : c.x;
        call.refs[1].dims = isFilter ? c.y : c.w;
        call.refs[2].dims = isData ? c.x : isFilter ? c.w : c.y;
        call.call = cudnnCall(id, {c.stride, c.stride},
                              {c.pad[0], c.pad[1], c.pad[2], c.pad[3]}, c.groups);
        ASSERT_TRUE(checkCall(call, error)) << error;
        CudnnPlan plan;
        ASSERT_TRUE(makeCudnnPlan(call, plan, error));
        SCOPED_TRACE(describeCudnnPlan(plan));
        cuda::CudnnGraph convolution(context);
        EXPECT_EQ(convolution.create(plan, what), 0) << what;
        EXPECT_TRUE(convolution.hasPlan()) << convolution.refusal;
        EXPECT_FALSE(convolution.isCompiled());
      }
}

/// Engines for results of f32 from low operands are compiled, for which cuDNN wants a
/// driver. That of the toolkit for linking does until machine code is to be loaded.
TEST(CudnnGraph, WidePlansOfCudnn) {
  if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) &&
      !dlopen("/usr/local/cuda/lib64/stubs/libcuda.so", RTLD_NOW | RTLD_LOCAL))
    GTEST_SKIP() << "no driver, and no library for linking with one";
  cuda::CudnnContext context;
  std::string error;
  if (!context.api.load(MPT_CUDNN, error))
    GTEST_SKIP() << error;
  if (context.api.cudnnGetVersion() < 91900)
    GTEST_SKIP() << "this cuDNN is older than 9.19";
  const char *what = nullptr;
  if (int status = context.describe(kH100, what))
    GTEST_SKIP() << "this cuDNN does not take the device: " << context.api.nameOf(status);
  for (CallId id : {CallId::Conv2D, CallId::Conv2DInputGrad}) {
    Instruction call = makeCall(id, DataType::BF16, DataType::F32, 1);
    const std::vector<int64_t> x = {4, 9, 8, 8}, y = {4, 9, 8, 16};
    const bool isForward = id == CallId::Conv2D;
    call.refs[0].dims = isForward ? x : y;
    call.refs[1].dims = {3, 3, 8, 16};
    call.refs[2].dims = isForward ? y : x;
    call.call = cudnnCall(id, {1, 1}, {1, 1, 1, 1}, 1);
    ASSERT_TRUE(checkCall(call, error)) << error;
    CudnnPlan plan;
    ASSERT_TRUE(makeCudnnPlan(call, plan, error));
    ASSERT_TRUE(plan.isWide());
    SCOPED_TRACE(describeCudnnPlan(plan));
    cuda::CudnnGraph convolution(context);
    EXPECT_EQ(convolution.create(plan, what), 0) << what;
    EXPECT_TRUE(convolution.isCompiled());
    // With a device it is a plan.
    if (!convolution.hasPlan()) {
      EXPECT_NE(
          convolution.refusal.find("(0 are not deterministic or not exact, 0 need "),
          std::string::npos)
          << convolution.refusal;
      EXPECT_NE(convolution.refusal.find("could not be made into a plan, the last one: "
                                         "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"),
                std::string::npos)
          << convolution.refusal;
    }
  }
}
#endif

} // namespace
