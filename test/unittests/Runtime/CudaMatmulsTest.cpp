//===- CudaMatmulsTest.cpp - Matmuls on the stand-in for CUDA -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/GemmChoices.h"
#include "CUDA/GemmTuning.h"
#include "ProgramBuilder.h"
#include "StandIn.h"
#include "mpt/ProgramABI/CudaProgram.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace mpt::rt;

namespace {

const mpt_simt_ops *simt = nullptr;

/// y = relu(y + b) of 4 x 8, a thread each: what the epilogue would do.
void finish(void **arguments) {
  auto *b = *static_cast<float **>(arguments[0]),
       *y = *static_cast<float **>(arguments[1]);
  int i = simt->thread();
  y[i] = std::max(y[i] + b[i % 8], 0.0f);
}
/// A plain matmul, by its numbers.
void multiplyPlainly(void **arguments) {
  if (simt->thread() != 0)
    return;
  auto matrix = [&](int i) { return *static_cast<float **>(arguments[i]); };
  auto number = [&](PlainMatmul::Number which) {
    return *static_cast<int64_t *>(arguments[4 + which]);
  };
  for (int64_t i = 0; i < number(PlainMatmul::M); ++i)
    for (int64_t j = 0; j < number(PlainMatmul::N); ++j) {
      float sum = 0;
      for (int64_t k = 0; k < number(PlainMatmul::K); ++k)
        sum +=
            matrix(0)[i * number(PlainMatmul::RowA) + k * number(PlainMatmul::StepA)] *
            matrix(1)[k * number(PlainMatmul::StepB) + j * number(PlainMatmul::ColumnB)];
      matrix(3)[j * number(PlainMatmul::LdD) + i] = sum;
    }
}
const mpt_simt_kernel simtKernels[] = {
    {"finish", finish, 2},
    {"mpt_matmul_f32_f32_f32", multiplyPlainly, 16, PlainMatmul::kNumbers}};
/// A program of before, and one with its own matmul.
const mpt_simt_module simtModule = {&simt, simtKernels, 1},
                      plainModule = {&simt, simtKernels, 2};

/// y = relu(x w + b), x is 4 x 16; and the launch for who cannot.
struct Model {
  Model() {
    builder.program.target = "cuda sm_90";
    BufferRef x = builder.input("x", DataType::F32, {4, 16});
    BufferRef w = builder.state("w", DataType::F32, {16, 8});
    BufferRef b = builder.state("b", DataType::F32, {8});
    BufferRef y = builder.output("y", DataType::F32, {4, 8});
    builder.call(matmul(false, false, true, Epilogue::Relu), {x, w, b}, y);
    std::string unused;
    makeGemmPlan(builder.program.instructions.back(), false, plan, unused);
    builder.program.instructions.back().location = "model.mlir:3:1";
    builder.launch(1, {b}, y);
    builder.program.instructions.back().replacesEpilogue = true;
  }
  const mpt_program_desc *desc() {
    table = writeProgram(builder.program);
    kernel = {"finish", {1, 1}, 32, 0};
    image = {90, 0, "cubin of sm_90", 14};
    cuda = {&kernel, &image, 1, tuned.data(), tuned.size()};
    made = describeForCuda(table, 1, cuda);
    return &made;
  }
  /// What it should make.
  std::vector<float> expected(const std::vector<float> &x) const {
    std::vector<float> y(32);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j) {
        float sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += x[i * 16 + k] * w[k * 8 + j];
        y[i * 8 + j] = std::max(sum + b[j], 0.0f);
      }
    return y;
  }

  ProgramBuilder builder{1};
  GemmPlan plan;
  mpt_cuda_kernel kernel;
  mpt_cuda_image image;
  std::vector<mpt_cuda_tuned> tuned;
  std::string table;
  mpt_cuda_desc cuda;
  mpt_program_desc made;
  std::vector<float> x = std::vector<float>(64), w = std::vector<float>(128),
                     b = {1, -2, 3, 0, -1, 2, -3, 1};
};

class CudaMatmuls : public testing::Test {
protected:
  void SetUp() override {
    mpt_standin_reset();
    mpt_standin_set_kernels(&simtModule);
    for (int i = 0; i < 64; ++i)
      model.x[i] = static_cast<float>(i * 7 % 11) - 5;
    for (int i = 0; i < 128; ++i)
      model.w[i] = static_cast<float>(i * 5 % 13) - 6;
  }
  void open(Context &context) {
    ASSERT_EQ(mpt_rt_set_cuda_libraries(context.rt, MPT_STANDIN, MPT_STANDIN), 0);
    ASSERT_EQ(mpt_rt_open_desc(context.rt, model.desc()), 0) << context.error();
    ASSERT_EQ(mpt_rt_write(context.rt, "w", model.w.data(), 512), 0);
    ASSERT_EQ(mpt_rt_write(context.rt, "b", model.b.data(), 32), 0);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", model.x.data(), 256), 0);
  }
  std::vector<float> run(Context &context) {
    EXPECT_EQ(mpt_rt_run(context.rt), 0) << context.error() << mpt_standin_breach();
    std::vector<float> y(32);
    EXPECT_EQ(mpt_rt_read_output(context.rt, "y", y.data(), 128), 0) << context.error();
    return y;
  }
  Model model;
};

TEST_F(CudaMatmuls, EpilogueRefused) {
  for (bool isRefused : {false, true}) {
    if (isRefused)
      mpt_standin_refuse_epilogue(static_cast<unsigned>(GemmEpilogue::ReluBias));
    Context context;
    open(context);
    for (int step = 0; step < 3; ++step)
      EXPECT_EQ(run(context), model.expected(model.x)) << isRefused;
    EXPECT_EQ(std::string(mpt_rt_notes(context.rt)),
              isRefused ? "model.mlir:3:1: cuBLASLt refuses (status 15, not supported) " +
                              describeGemmPlan(model.plan) +
                              "; it runs without the epilogue, and a kernel\n"
                        : "");
  }
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaMatmuls, NoReplacement) {
  mpt_standin_refuse_epilogue(static_cast<unsigned>(GemmEpilogue::ReluBias));
  model.builder.program.instructions.pop_back();
  Context context;
  open(context);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(std::string(context.error())
                .rfind("model.mlir:3:1: cuBLASLt refuses (status 15, not supported) m=8 "
                       "n=4 k=16",
                       0),
            0u)
      << context.error();
}

/// What fails to run in the first step is done by the next algorithm, and then without
/// the epilogue; the steps that follow are recorded as if nothing had been.
TEST_F(CudaMatmuls, FailsToRun) {
  struct Case {
    int algorithms, withEpilogueOnly;
    std::string notes;
  };
  const std::string next = "model.mlir:3:1: an algorithm fails to run (status 15, not "
                           "supported); the next one is tried\n";
  const Case cases[] = {
      {1, 0, next},
      {3, 0, next + next + next},
      {4, 1,
       next + next + next +
           "model.mlir:3:1: cuBLASLt fails to run (status 15, not supported) " +
           describeGemmPlan(model.plan) +
           "; it runs without the epilogue, and a kernel\n"}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.algorithms);
    mpt_standin_fail_algorithms(c.algorithms, 15, c.withEpilogueOnly);
    Context context;
    open(context);
    for (int step = 0; step < 3; ++step)
      EXPECT_EQ(run(context), model.expected(model.x));
    EXPECT_EQ(std::string(mpt_rt_notes(context.rt)), c.notes);
  }
  EXPECT_GT(mpt_standin_calls("cudaGraphLaunch"), 0);
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaMatmuls, NothingRuns) {
  mpt_standin_fail_algorithms(4, 14, 0);
  Context context;
  open(context);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(std::string(context.error()),
            "model.mlir:3:1: a matmul: cuBLASLt status 14, an internal error");
}

/// A note says what has been done: nothing, where there is no other matmul either.
TEST_F(CudaMatmuls, NothingReplaces) {
  mpt_standin_fail_algorithms(4, 14, /*withEpilogueOnly=*/1);
  mpt_standin_fail("cublasLtMatmulDescCreate", 2, 14);
  Context context;
  open(context);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(std::string(mpt_rt_notes(context.rt)).find("without the epilogue"),
            std::string::npos);
}

/// What no algorithm does is done by the program's own function, and by the launch for
/// who cannot do the epilogue; and it is told.
TEST_F(CudaMatmuls, OwnFunction) {
  mpt_standin_set_kernels(&plainModule);
  GemmPlan plain = model.plan;
  plain.epilogue = GemmEpilogue::Default;
  const std::string place = "model.mlir:3:1: ",
                    next = place + "an algorithm fails to run (status 14, an internal "
                                   "error); the next one is tried\n",
                    dropped = "; it runs without the epilogue, and a kernel\n",
                    own = "; MPT's own function runs, which is many times slower\n";
  const std::string notes[] = {
      place + "cuBLASLt refuses (status 15, not supported) " +
          describeGemmPlan(model.plan) + dropped + place +
          "cuBLASLt refuses (status 15, not supported) " + describeGemmPlan(plain) + own,
      next + next + next + place +
          "cuBLASLt fails to run (status 14, an internal error) " +
          describeGemmPlan(model.plan) + dropped + next + next + next + place +
          "cuBLASLt fails to run (status 14, an internal error) " +
          describeGemmPlan(plain) + own};
  for (bool isProposed : {false, true}) {
    mpt_standin_fail(isProposed ? nullptr : "cublasLtMatmulAlgoGetHeuristic", 0, 15);
    mpt_standin_fail_algorithms(isProposed ? 4 : 0, 14, 0);
    Context context;
    open(context);
    const int64_t graphs = mpt_standin_calls("cudaGraphLaunch");
    for (int step = 0; step < 3; ++step)
      EXPECT_EQ(run(context), model.expected(model.x));
    EXPECT_EQ(std::string(mpt_rt_notes(context.rt)), notes[isProposed]);
    EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), graphs + 2);
  }
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

/// Equal matmuls of equal alignment ask once. Each asks for what its own operands are
/// aligned to: the stand-in holds a promise that is not kept against it.
TEST_F(CudaMatmuls, AsksOnce) {
  Instruction again = model.builder.program.instructions[0];
  for (int i = 0; i < 3; ++i)
    model.builder.program.instructions.insert(
        model.builder.program.instructions.begin() + 1, again);
  // A launch replaces the epilogue of the matmul before it only.
  Context context;
  open(context);
  EXPECT_EQ(run(context), model.expected(model.x));
  EXPECT_EQ(mpt_standin_calls("cublasLtMatmulAlgoGetHeuristic"), 1);
  EXPECT_EQ(mpt_standin_calls("cublasLtMatmul"), 4);
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
}

TEST_F(CudaMatmuls, Tuned) {
  cuda::TunedGemm best;
  {
    cuda::GemmTuner tuner;
    std::string error;
    ASSERT_TRUE(tuner.open(MPT_STANDIN, MPT_STANDIN, error)) << error;
    ASSERT_TRUE(tuner.tune(model.plan, 128, best, error))
        << error << mpt_standin_breach();
    // The stand-in's third is the fastest, at a third of its first's time.
    EXPECT_EQ(best.candidates, 4);
    EXPECT_EQ(best.chosen, 2);
    EXPECT_FLOAT_EQ(best.microseconds, 10);
    EXPECT_FLOAT_EQ(best.firstMicroseconds, 30);
    EXPECT_EQ(best.key, "cublaslt 130101; sm_90 with 132 multiprocessors; " +
                            describeGemmPlan(model.plan));
  }
  EXPECT_EQ(mpt_standin_alive(), 0);
  mpt_cuda_tuned entry = {best.key.c_str(), {}};
  std::copy(std::begin(best.algo.data), std::end(best.algo.data), entry.algo);
  // Another device's does not count.
  mpt_cuda_tuned other = entry;
  std::string key =
      "cublaslt 130101; sm_80 with 108 multiprocessors; " + describeGemmPlan(model.plan);
  other.key = key.c_str();
  for (bool isOther : {true, false}) {
    model.tuned = {isOther ? other : entry};
    Context context;
    open(context);
    mpt_rt_set_profiling(context.rt, 1);
    EXPECT_EQ(run(context), model.expected(model.x));
    EXPECT_EQ(std::string(mpt_rt_notes(context.rt)),
              isOther ? "" : "model.mlir:3:1: runs with a measured algorithm\n");
    // Which of them ran shows in the stand-in's time.
    const char *what, *location;
    double milliseconds;
    ASSERT_EQ(mpt_rt_get_profile(context.rt, 0, &what, &location, &milliseconds), 0);
    EXPECT_EQ(std::string(what) + " " + location, "matmul model.mlir:3:1");
    EXPECT_FLOAT_EQ(milliseconds, isOther ? 0.03 : 0.01);
  }
  EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 0);
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaMatmuls, KeptInputs) {
  Context context;
  open(context);
  std::vector<float> before = run(context);
  EXPECT_NE(mpt_rt_cuda_stream(context.rt), nullptr);
  mpt_rt_keep_inputs(context.rt, 1);
  model.x.assign(64, 1);
  EXPECT_EQ(run(context), before);
  mpt_rt_keep_inputs(context.rt, 0);
  EXPECT_EQ(run(context), model.expected(model.x));
}

//===----------------------------------------------------------------------===//
// Epilogues with a second matrix and with gradients of biases
//===----------------------------------------------------------------------===//

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/// Runs a plan of f32 matrices through CublasLtMatmul; buffers are on the device.
class Epilogues : public testing::Test {
protected:
  void SetUp() override {
    mpt_standin_reset();
    std::string error;
    ASSERT_TRUE(api.load(MPT_STANDIN, MPT_STANDIN, error)) << error;
    ASSERT_EQ(api.cudaStreamCreateWithFlags(&stream, 0), 0);
    const char *what = nullptr;
    ASSERT_EQ(context.create(what), 0);
    ASSERT_EQ(api.cudaMalloc(&workspace, kGemmWorkspaceBytes), 0);
    a = allocate(16 * 8);
    b = allocate(16 * 4);
    d = allocate(8 * 4);
    bias = allocate(8);
    aux = allocate(128 * 4);
    for (int i = 0; i < 128; ++i)
      a[i] = 0.125f * static_cast<float>(i * 7 % 11 - 5);
    for (int i = 0; i < 64; ++i)
      b[i] = 0.25f * static_cast<float>(i * 5 % 13 - 6);
  }
  void TearDown() override {
    for (float *buffer : {a, b, d, bias, aux})
      api.cudaFree(buffer);
    api.cudaFree(workspace);
    api.cudaStreamDestroy(stream);
  }
  float *allocate(int64_t count) {
    void *memory = nullptr;
    EXPECT_EQ(api.cudaMalloc(&memory, count * 4), 0);
    std::memset(memory, 0, count * 4);
    return static_cast<float *>(memory);
  }
  /// D = A B, 8 x 4, k = 16.
  GemmPlan plan(GemmEpilogue epilogue) {
    GemmPlan made;
    made.m = 8;
    made.n = 4;
    made.k = 16;
    made.a = {DataType::F32, 8, 16, 8, 0};
    made.b = {DataType::F32, 16, 4, 16, 0};
    made.d = {DataType::F32, 8, 4, 8, 0};
    made.epilogue = epilogue;
    made.auxLd = 128;
    return made;
  }
  void run(GemmEpilogue epilogue) {
    GemmPlan wanted = plan(epilogue);
    std::string error;
    ASSERT_TRUE(checkGemmPlan(wanted, 90, error)) << error;
    cuda::CublasLtMatmul matmul(api);
    const char *what = nullptr;
    ASSERT_EQ(matmul.create(wanted, {bias, aux}, what), 0) << what;
    std::vector<cuda::CublasLtHeuristic> found;
    ASSERT_EQ(matmul.propose(context, 1, found), 0) << mpt_standin_breach();
    ASSERT_EQ(matmul.run(context, found[0].algo, a, b, d, d, workspace,
                         kGemmWorkspaceBytes, stream),
              0)
        << mpt_standin_breach();
    EXPECT_EQ(std::string(mpt_standin_breach()), "");
  }
  double sum(int i, int j) {
    double found = 0;
    for (int k = 0; k < 16; ++k)
      found += double(a[k * 8 + i]) * b[j * 16 + k];
    return found;
  }

  cuda::Api api;
  cuda::CublasLtContext context{api};
  cuda::Stream stream = nullptr;
  void *workspace = nullptr;
  float *a, *b, *d, *bias, *aux;
};

TEST_F(Epilogues, GeluKeepsWhatComesIn) {
  for (int i = 0; i < 8; ++i)
    bias[i] = 0.5f * static_cast<float>(i) - 2;
  run(GemmEpilogue::GeluAuxBias);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 8; ++i) {
      EXPECT_NEAR(aux[j * 128 + i], sum(i, j) + bias[i], 1e-5);
      EXPECT_NEAR(d[j * 8 + i], gelu(sum(i, j) + bias[i]), 1e-5);
    }
  // Its gradient, with the sum over columns: by differences.
  run(GemmEpilogue::DGeluBGrad);
  for (int i = 0; i < 8; ++i) {
    double total = 0;
    for (int j = 0; j < 4; ++j) {
      double x = aux[j * 128 + i], h = 1e-4;
      double expected = sum(i, j) * (gelu(x + h) - gelu(x - h)) / (2 * h);
      EXPECT_NEAR(d[j * 8 + i], expected, 1e-4);
      total += expected;
    }
    EXPECT_NEAR(bias[i], total, 4e-4);
  }
}

TEST_F(Epilogues, ReluKeepsABit) {
  for (int i = 0; i < 8; ++i)
    bias[i] = 0.5f * static_cast<float>(i) - 2;
  std::vector<float> before(bias, bias + 8);
  run(GemmEpilogue::ReluAuxBias);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 8; ++i)
      EXPECT_NEAR(d[j * 8 + i], std::max(sum(i, j) + before[i], 0.0), 1e-5);
  run(GemmEpilogue::DReluBGrad);
  for (int i = 0; i < 8; ++i) {
    double total = 0;
    for (int j = 0; j < 4; ++j) {
      double expected = sum(i, j) + before[i] > 0 ? sum(i, j) : 0;
      EXPECT_NEAR(d[j * 8 + i], expected, 1e-5);
      total += expected;
    }
    EXPECT_NEAR(bias[i], total, 1e-4);
  }
}

TEST_F(Epilogues, GradientsOfBiases) {
  run(GemmEpilogue::BGradA);
  for (int i = 0; i < 8; ++i) {
    double total = 0;
    for (int k = 0; k < 16; ++k)
      total += a[k * 8 + i];
    EXPECT_NEAR(bias[i], total, 1e-5);
  }
  run(GemmEpilogue::BGradB);
  for (int j = 0; j < 4; ++j) {
    double total = 0;
    for (int k = 0; k < 16; ++k)
      total += b[j * 16 + k];
    EXPECT_NEAR(bias[j], total, 1e-5);
  }
}

TEST_F(Epilogues, Accumulates) {
  GemmPlan wanted = plan(GemmEpilogue::Default);
  wanted.beta = 1;
  std::fill(d, d + 32, 3.0f);
  cuda::CublasLtMatmul matmul(api);
  const char *what = nullptr;
  ASSERT_EQ(matmul.create(wanted, {}, what), 0);
  std::vector<cuda::CublasLtHeuristic> found;
  ASSERT_EQ(matmul.propose(context, 1, found), 0);
  ASSERT_EQ(matmul.run(context, found[0].algo, a, b, d, d, workspace, kGemmWorkspaceBytes,
                       stream),
            0);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 8; ++i)
      EXPECT_NEAR(d[j * 8 + i], 3 + sum(i, j), 1e-5);
  // From another matrix, which stays as it is.
  std::fill(aux, aux + 32, -2.0f);
  ASSERT_EQ(matmul.run(context, found[0].algo, a, b, aux, d, workspace,
                       kGemmWorkspaceBytes, stream),
            0);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 8; ++i) {
      EXPECT_NEAR(d[j * 8 + i], sum(i, j) - 2, 1e-5);
      EXPECT_EQ(aux[j * 8 + i], -2);
    }
  // Not from one that overlaps the result.
  EXPECT_NE(matmul.run(context, found[0].algo, a, b, d + 4, d, workspace,
                       kGemmWorkspaceBytes, stream),
            0);
  EXPECT_EQ(std::string(mpt_standin_breach()),
            "cublasLtMatmul: the matrix that is added does not fit the result");
}

/// What algorithms are measured, which are taken, and the file that keeps it.
class CudaTuning : public CudaMatmuls {
protected:
  void SetUp() override {
    CudaMatmuls::SetUp();
    char name[] = "/tmp/mpt-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    path = folder + "/step.tuning";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string readFile() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Runs two steps; returns the notes.
  std::string runTuned(bool on = true) {
    Context context;
    EXPECT_EQ(mpt_rt_set_tuning(context.rt, on, path.c_str()), 0);
    open(context);
    for (int step = 0; step < 3; ++step)
      EXPECT_EQ(run(context), model.expected(model.x));
    return mpt_rt_notes(context.rt);
  }
  /// What the file says of the model's only plan.
  std::string expectedFile(const std::string &choice, int driver = 13000) const {
    return "MPT's choices among algorithms of cuBLASLt, 1\n" + choice +
           " cublaslt 130101; driver " + std::to_string(driver) +
           "; sm_90 with 132 multiprocessors; " + describeGemmPlan(model.plan) +
           "; aligned to 256 256 256 256\n";
  }
  std::string note(int other) const {
    return "matmuls: 1 of 1 plans were measured, " + std::to_string(other) +
           " run with another algorithm than the first; " + path + " keeps that\n";
  }
  std::string folder, path;
};

TEST_F(CudaTuning, FastestIsKept) {
  EXPECT_EQ(runTuned(), note(1));
  EXPECT_EQ(readFile(), expectedFile("2 4 10000 30000"));
  // Nothing is left beside it, and it is read again.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const int64_t calls = mpt_standin_calls("cublasLtMatmul");
  mpt_standin_set_times(1, 2, 3, 4);
  EXPECT_EQ(runTuned(), "");
  EXPECT_EQ(readFile(), expectedFile("2 4 10000 30000"));
  // One launch, and one that is recorded.
  EXPECT_EQ(mpt_standin_calls("cublasLtMatmul"), calls + 2);
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST_F(CudaTuning, Margin) {
  // 3 % are noise; who comes later must beat who came before, too.
  mpt_standin_set_times(30, 29.5, 29.3, 29.2);
  EXPECT_EQ(runTuned(), note(0));
  EXPECT_EQ(readFile(), expectedFile("0 4 30000 30000"));
  std::filesystem::remove(path);
  mpt_standin_set_times(30, 29, 28.5, 27);
  EXPECT_EQ(runTuned(), note(1));
  EXPECT_EQ(readFile(), expectedFile("3 4 27000 30000"));
}

TEST_F(CudaTuning, Off) {
  const int64_t calls = mpt_standin_calls("cublasLtMatmul");
  EXPECT_EQ(runTuned(false), "");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(mpt_standin_calls("cublasLtMatmul"), calls + 2);
}

/// The chosen algorithm is the one that runs: the profile's times are its own.
TEST_F(CudaTuning, ChosenRuns) {
  for (bool on : {true, false}) {
    Context context;
    EXPECT_EQ(mpt_rt_set_tuning(context.rt, on, path.c_str()), 0);
    open(context);
    mpt_rt_set_profiling(context.rt, 1);
    EXPECT_EQ(run(context), model.expected(model.x));
    const char *what = nullptr, *location = nullptr;
    double milliseconds = 0;
    ASSERT_EQ(mpt_rt_get_profile(context.rt, 0, &what, &location, &milliseconds), 0);
    EXPECT_FLOAT_EQ(milliseconds, on ? 0.01f : 0.03f);
  }
}

TEST_F(CudaTuning, AnotherDriver) {
  runTuned();
  std::string text = expectedFile("1 4 20000 30000", 12040);
  std::ofstream(path) << text;
  // Choices for others stay as they are.
  EXPECT_EQ(runTuned(), note(1));
  text += expectedFile("2 4 10000 30000").substr(expectedFile("").find('\n') + 1);
  EXPECT_EQ(readFile(), text);
  EXPECT_EQ(runTuned(), "");
}

TEST_F(CudaTuning, Damaged) {
  const std::string whole = expectedFile("2 4 10000 30000");
  for (const std::string &text :
       {std::string("{}"), whole.substr(0, whole.size() - 1), whole.substr(0, 20),
        expectedFile("4 4 10000 30000"), expectedFile("-2 4 10000 30000"),
        expectedFile("two 4 10000 30000"),
        std::string("MPT's choices among algorithms of cuBLASLt, 2\n")}) {
    SCOPED_TRACE(text);
    std::ofstream(path) << text;
    EXPECT_EQ(runTuned(), path +
                              ": it is damaged, or of another version; all is "
                              "measured again\n" +
                              note(1));
    EXPECT_EQ(readFile(), whole);
  }
  // Another number of proposals is another cuBLASLt, whatever it says it is.
  std::ofstream(path) << expectedFile("2 8 10000 30000");
  EXPECT_EQ(runTuned(), note(1));
  EXPECT_EQ(readFile(), whole);
}

TEST_F(CudaTuning, CannotBeKept) {
  path = folder + "/none/step.tuning";
  EXPECT_EQ(runTuned(),
            "matmuls: 1 of 1 plans were measured, 1 run with another algorithm than the "
            "first; that cannot be kept in " +
                path +
                " (No such file or directory): the next run may choose another, and sum "
                "in another order\n");
}

/// Those that do not run are not chosen, and the step runs with one that does.
TEST_F(CudaTuning, SomeFailToRun) {
  mpt_standin_fail_algorithms(3, 15, 0);
  EXPECT_EQ(runTuned(), note(1));
  EXPECT_EQ(readFile(), expectedFile("3 4 40000 0"));
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
}

/// What fails otherwise ends the run, and nothing is kept.
TEST_F(CudaTuning, Fails) {
  mpt_standin_fail_algorithms(1, 13, 0);
  Context context;
  EXPECT_EQ(mpt_rt_set_tuning(context.rt, 1, path.c_str()), 0);
  open(context);
  EXPECT_EQ(mpt_rt_run(context.rt), MPT_RT_RUN_FAILED);
  EXPECT_EQ(std::string(context.error()), "model.mlir:3:1: a matmul: cuBLASLt status 13, "
                                          "it failed on the GPU");
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// A matmul that adds to state, in place: measuring changes neither.
TEST_F(CudaTuning, StateStays) {
  ProgramBuilder builder{1};
  builder.program.target = "cuda sm_90";
  BufferRef x = builder.input("x", DataType::F32, {4, 16});
  BufferRef w = builder.input("w", DataType::F32, {16, 8});
  BufferRef sum = builder.state("sum", DataType::F32, {4, 8});
  MatmulCall call = matmul(false, false);
  call.hasAddend = true;
  builder.call(call, {x, w, sum}, sum);
  mpt_cuda_desc cuda = {};
  std::string table = writeProgram(builder.program);
  mpt_program_desc desc = describeForCuda(table, 0, cuda);
  for (bool on : {true, false}) {
    Context context;
    EXPECT_EQ(mpt_rt_set_tuning(context.rt, on, path.c_str()), 0);
    ASSERT_EQ(mpt_rt_set_cuda_libraries(context.rt, MPT_STANDIN, MPT_STANDIN), 0);
    ASSERT_EQ(mpt_rt_open_desc(context.rt, &desc), 0) << context.error();
    std::vector<float> values(32, 3), once(32), twice(32);
    ASSERT_EQ(mpt_rt_write(context.rt, "sum", values.data(), 128), 0);
    ASSERT_EQ(mpt_rt_bind(context.rt, "x", model.x.data(), 256), 0);
    ASSERT_EQ(mpt_rt_bind(context.rt, "w", model.w.data(), 512), 0);
    ASSERT_EQ(mpt_rt_run(context.rt), 0) << context.error() << mpt_standin_breach();
    ASSERT_EQ(mpt_rt_read(context.rt, "sum", once.data(), 128), 0);
    ASSERT_EQ(mpt_rt_run(context.rt), 0) << context.error();
    ASSERT_EQ(mpt_rt_read(context.rt, "sum", twice.data(), 128), 0);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j) {
        float product = 0;
        for (int k = 0; k < 16; ++k)
          product += model.x[i * 16 + k] * model.w[k * 8 + j];
        EXPECT_EQ(once[i * 8 + j], 3 + product) << on;
        EXPECT_EQ(twice[i * 8 + j], 3 + 2 * product) << on;
      }
  }
  EXPECT_EQ(std::string(mpt_standin_breach()), "");
  EXPECT_EQ(mpt_standin_alive(), 0);
}

TEST(GemmChoices, Choose) {
  EXPECT_EQ(cuda::chooseProposal({}), 0);
  EXPECT_EQ(cuda::chooseProposal({-1, -1}), 0);
  EXPECT_EQ(cuda::chooseProposal({-1, 50, 49}), 1);
  EXPECT_EQ(cuda::chooseProposal({10, 9.71, 9.69}), 2);
  EXPECT_EQ(cuda::chooseProposal({0, 0}), 0);
}

} // namespace
