//===- CudnnAttentionTest.cpp - Attention as a graph of cuDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is checked of attention that cuDNN is asked for, and whether cuDNN knows its
/// graphs. `cuda-cudnn-attention.test` compares numbers on the stand-in.
///
//===----------------------------------------------------------------------===//

#include "CUDA/CudnnGraph.h"
#include "DescribedDevice.h"
#include "StandIn.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/ProgramABI/InstructionCost.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mpt::rt;

namespace {

struct Sizes {
  int64_t batch = 2, heads = 4, groups = 4, queries = 64, keys = 64, width = 64;
  bool causal = false;
  /// [batch, heads, queries, keys]; empty: no bias.
  std::vector<int64_t> bias;
  bool biasGrad = false;
};

/// Buffers as matmuls make them, [batch, rows, heads, width].
template <typename Call>
Instruction makeCall(const Sizes &s, DataType type) {
  Instruction instruction;
  Call call;
  call.sizes = {s.batch, s.heads, s.groups, s.queries, s.keys, s.width};
  call.causal = s.causal;
  call.scale = 0.125;
  size_t next = 0;
  auto add = [&](int64_t heads, int64_t rows) {
    BufferRef ref;
    ref.type = type;
    ref.dims = {s.batch * rows * heads * s.width};
    instruction.refs.push_back(ref);
    for (int64_t stride : {rows * heads * s.width, s.width, heads * s.width})
      call.rowStrides[next++] = stride;
  };
  auto addSums = [&] {
    BufferRef ref;
    ref.type = DataType::F32;
    ref.dims = {s.batch, s.heads, s.queries};
    instruction.refs.push_back(ref);
  };
  constexpr bool isGrad = Call::id == CallId::CudnnAttentionGrad;
  if (isGrad)
    add(s.heads, s.queries);
  add(s.heads, s.queries);
  add(s.groups, s.keys);
  add(s.groups, s.keys);
  auto addBias = [&](DataType itsType) {
    BufferRef ref;
    ref.type = itsType;
    ref.dims = s.bias;
    instruction.refs.push_back(ref);
  };
  call.hasBias = !s.bias.empty();
  if (!isGrad && call.hasBias)
    addBias(DataType::F32);
  add(s.heads, s.queries);
  addSums();
  if constexpr (isGrad) {
    if (call.hasBias)
      addBias(DataType::F32);
    add(s.heads, s.queries);
    add(s.groups, s.keys);
    add(s.groups, s.keys);
    call.hasDbias = s.biasGrad;
    if (s.biasGrad)
      addBias(type);
  }
  instruction.call = call;
  instruction.numInputs = call.numInputs();
  instruction.numOutputs = call.numOutputs();
  return instruction;
}

CudnnAttentionPlan makePlan(const Sizes &sizes, DataType type, bool isGrad) {
  CudnnAttentionPlan plan;
  EXPECT_TRUE(makeCudnnAttentionPlan(isGrad
                                         ? makeCall<CudnnAttentionGradCall>(sizes, type)
                                         : makeCall<CudnnAttentionCall>(sizes, type),
                                     plan));
  return plan;
}

TEST(CudnnAttention, Plan) {
  Sizes sizes;
  sizes.groups = 2;
  sizes.queries = 16;
  Instruction call = makeCall<CudnnAttentionGradCall>(sizes, DataType::BF16);
  EXPECT_TRUE(isCudnnCall(call));
  CudnnAttentionPlan plan;
  ASSERT_TRUE(makeCudnnAttentionPlan(call, plan));
  EXPECT_EQ(describeCudnnPlan(plan),
            "gradient of attention bf16 batch=2 heads=4 groups=2 queries=16 keys=64 "
            "width=64 causal=0 scale=0.125 strides=4096,64,256,4096,64,256,8192,64,"
            "128,8192,64,128,4096,64,256,4096,64,256,8192,64,128,8192,64,128");
  std::string error;
  EXPECT_TRUE(checkCudaCall(call, 90, error)) << error;
  EXPECT_FALSE(makeCudnnAttentionPlan(Instruction(), plan));
  // Plans of one text share a graph, so that scales are in it to the last bit.
  CudnnAttentionPlan other = plan;
  plan.scale = 1e-7;
  other.scale = 3e-7;
  EXPECT_NE(describeCudnnPlan(plan), describeCudnnPlan(other));
  // As do biases of other shapes.
  sizes.bias = {1, 4, 16, 64};
  other = makePlan(sizes, DataType::BF16, true);
  EXPECT_NE(describeCudnnPlan(other).find(" scale=0.125 bias=1,4,16,64 strides=4096,"),
            std::string::npos);
  sizes.biasGrad = true;
  plan = makePlan(sizes, DataType::BF16, true);
  EXPECT_NE(describeCudnnPlan(plan), describeCudnnPlan(other));
}

/// A damaged program does not reach outside its buffers.
/// Query, key and value are columns of one matrix: what lies between their rows is read
/// by nobody.
TEST(CudnnAttention, BytesBetweenRowsDoNotCount) {
  Sizes sizes;
  sizes.groups = 2;
  sizes.queries = 16;
  auto check = [&](Instruction call, int tensors) {
    CudnnAttentionPlan plan;
    ASSERT_TRUE(makeCudnnAttentionPlan(call, plan));
    const InstructionCost apart = getCost(call);
    const double rows = 2 * 4 * 16 * 4, query = 2 * 4 * 16 * 64 * 2,
                 key = 2 * 2 * 64 * 64 * 2;
    EXPECT_EQ(apart.bytes,
              rows + (plan.isGrad ? 4 * query + 4 * key : 2 * query + 2 * key));
    auto widen = [&](auto &itsCall) {
      for (int i = 0; i < tensors; ++i) {
        BufferRef &ref = call.refs[plan.numberOf(i)];
        ref.dims[0] *= 3;
        for (int d : {0, 2})
          itsCall.rowStrides[3 * i + d] *= 3;
      }
    };
    if (plan.isGrad)
      widen(std::get<CudnnAttentionGradCall>(*call.call));
    else
      widen(std::get<CudnnAttentionCall>(*call.call));
    ASSERT_TRUE(makeCudnnAttentionPlan(call, plan));
    EXPECT_EQ(getCost(call).bytes, apart.bytes);
    EXPECT_EQ(getCost(call).flops, apart.flops);
    // All else has the bytes of its elements.
    call.call = AttentionCall();
    EXPECT_EQ(getBytes(call, 0), double(call.refs[0].bytes()));
  };
  check(makeCall<CudnnAttentionCall>(sizes, DataType::BF16), 4);
  check(makeCall<CudnnAttentionGradCall>(sizes, DataType::BF16), 8);
}

TEST(CudnnAttention, Misfits) {
  auto isRefused = [](auto change) {
    for (bool isGrad : {false, true}) {
      Instruction call = isGrad ? makeCall<CudnnAttentionGradCall>(Sizes(), DataType::F16)
                                : makeCall<CudnnAttentionCall>(Sizes(), DataType::F16);
      std::string error;
      EXPECT_TRUE(checkCall(call, error)) << error;
      if (isGrad)
        change(call, std::get<CudnnAttentionGradCall>(*call.call));
      else
        change(call, std::get<CudnnAttentionCall>(*call.call));
      if (checkCall(call, error) ||
          error != "the buffers of cuDNN's attention do not fit together")
        return false;
    }
    return true;
  };
  for (size_t i = 0; i < 5; ++i)
    EXPECT_TRUE(isRefused([&](Instruction &call, auto &) { call.refs[i].dims = {9}; }))
        << i;
  EXPECT_TRUE(
      isRefused([](Instruction &call, auto &) { call.refs[1].type = DataType::BF16; }));
  EXPECT_TRUE(isRefused([](Instruction &call, auto &) {
    for (BufferRef &ref : call.refs)
      ref.type = DataType::F32;
  }));
  for (int64_t bad : {int64_t(0), int64_t(-1), int64_t(1000), int64_t(1) << 40})
    for (size_t i = 0; i < 6; ++i)
      EXPECT_TRUE(isRefused([&](Instruction &, auto &one) { one.sizes[i] = bad; }))
          << i << " " << bad;
  for (int64_t bad : {int64_t(0), int64_t(-8), int64_t(4), INT64_MAX / 8 * 8})
    EXPECT_TRUE(isRefused([&](Instruction &, auto &one) { one.rowStrides[4] = bad; }))
        << bad;
  EXPECT_TRUE(isRefused([](Instruction &, auto &one) {
    one.causal = true;
    one.sizes[4] = 32;
  }));
}

TEST(CudnnAttention, BiasesThatMisfit) {
  Sizes sizes;
  sizes.bias = {2, 1, 1, 64};
  auto fits = [&](DataType type, auto change) {
    Instruction call = makeCall<CudnnAttentionGradCall>(sizes, DataType::F16);
    call.refs[6].type = type;
    change(call);
    std::string error;
    return checkCall(call, error);
  };
  auto asIs = [](Instruction &) {};
  EXPECT_TRUE(fits(DataType::F32, asIs));
  EXPECT_FALSE(fits(DataType::F16, asIs));
  for (std::vector<int64_t> bad : {std::vector<int64_t>{2, 64},
                                   {3, 1, 1, 64},
                                   {2, 1, 2, 64},
                                   {2, 1, 1, 63},
                                   {2, 0, 1, 64}})
    EXPECT_FALSE(
        fits(DataType::F32, [&](Instruction &call) { call.refs[6].dims = bad; }));
  // A gradient is that of all queries and keys, of the query's type.
  sizes.biasGrad = true;
  EXPECT_FALSE(fits(DataType::F32, asIs));
  sizes.bias = {2, 1, 64, 64};
  EXPECT_TRUE(fits(DataType::F32, asIs));
  EXPECT_FALSE(
      fits(DataType::F32, [](Instruction &call) { call.refs[10].type = DataType::F32; }));
  EXPECT_FALSE(fits(DataType::F32,
                    [](Instruction &call) { call.refs[10].dims = {1, 1, 64, 64}; }));
}

/// The parts of a gradient: none is needed up to a number of bytes; of the batch before
/// of the heads; and they begin at multiples of 16 bytes.
TEST(CudnnAttention, Parts) {
  auto cut = [](Sizes sizes, int64_t bytes, bool isGrad = true) {
    return cutCudnnPlan(makePlan(sizes, DataType::BF16, isGrad), bytes);
  };
  using Begins = std::vector<std::pair<int64_t, int64_t>>;
  // 2 x 128 x 128 bytes for each head.
  const int64_t head = 32768;
  Sizes sizes;
  CudnnAttentionParts parts = cut(sizes, 8 * head);
  EXPECT_EQ(parts.begins, Begins({{0, 0}}));
  EXPECT_EQ(parts.plan.workspaceBytes(), kGemmWorkspaceBytes + 8 * head);
  parts = cut(sizes, 8 * head - 1);
  EXPECT_EQ(parts.begins, Begins({{0, 0}, {1, 0}}));
  EXPECT_EQ(parts.plan.batch, 1);
  EXPECT_EQ(parts.plan.heads, 4);
  parts = cut(sizes, 2 * head);
  EXPECT_EQ(parts.begins, Begins({{0, 0}, {0, 2}, {1, 0}, {1, 2}}));
  EXPECT_EQ(parts.plan.heads, 2);
  // As small as can be.
  EXPECT_EQ(cut(sizes, 1).begins.size(), 8u);
  // Forward nothing is kept.
  EXPECT_EQ(cut(sizes, 1, false).begins.size(), 1u);
  // Heads that share one of keys stay together, and have gradients of their own.
  sizes.groups = 2;
  parts = cut(sizes, 4 * head);
  EXPECT_EQ(parts.begins, Begins({{0, 0}, {0, 2}, {1, 0}, {1, 2}}));
  EXPECT_EQ(parts.plan.groups, 1);
  EXPECT_EQ(parts.plan.workspaceBytes(),
            kGemmWorkspaceBytes + 2 * head + 2 * 2 * (2 * 64 * 64));
  const CudnnAttentionPlan whole = makePlan(sizes, DataType::BF16, true);
  // dy, and dkey [2, 64, 2, 64].
  EXPECT_EQ(whole.offsetOf(0, 1, 2), 2 * (64 * 4 * 64 + 2 * 64));
  EXPECT_EQ(whole.offsetOf(whole.numberOf(6), 1, 2), 2 * (64 * 2 * 64 + 64));
  EXPECT_EQ(whole.offsetOf(whole.sumsNumber(), 1, 2), 4 * 6 * 64);
  // 3 rows of one head are 12 bytes: four entries begin at a multiple of 16.
  sizes = Sizes();
  sizes.batch = 8;
  sizes.heads = sizes.groups = 1;
  sizes.queries = 3;
  EXPECT_EQ(cut(sizes, 2 * head).begins, Begins({{0, 0}, {4, 0}}));
  // A bias's gradient that is one for the batch is summed over all of it.
  sizes = Sizes();
  sizes.bias = {1, 4, 64, 64};
  EXPECT_EQ(cut(sizes, 4 * head).begins.size(), 2u);
  sizes.biasGrad = true;
  EXPECT_EQ(cut(sizes, 4 * head).begins.size(), 1u);
  sizes.bias = {2, 1, 64, 64};
  EXPECT_EQ(cut(sizes, 2 * head).begins.size(), 2u);
  sizes.bias = {2, 4, 64, 64};
  parts = cut(sizes, 2 * head);
  EXPECT_EQ(parts.begins.size(), 4u);
  EXPECT_EQ(parts.plan.biasSizes[1], 2);
  const CudnnAttentionPlan biased = makePlan(sizes, DataType::BF16, true);
  EXPECT_EQ(biased.offsetOf(biased.biasNumber(), 1, 2), 4 * 6 * 64 * 64);
  EXPECT_EQ(biased.offsetOf(biased.lastNumber(), 1, 2), 2 * 6 * 64 * 64);
  EXPECT_EQ(biased.offsetOf(biased.lastNumber() + 1, 1, 2), 0);
}

/// In parts it is what it is as a whole.
TEST(CudnnAttention, RunsInParts) {
  Sizes shared;
  shared.groups = 2;
  shared.keys = 48;
  Sizes biased;
  biased.causal = biased.biasGrad = true;
  biased.bias = {2, 4, 64, 64};
  Sizes masked;
  masked.bias = {2, 1, 1, 64};
  for (const Sizes &sizes : {Sizes(), shared, biased, masked}) {
    mpt_standin_reset();
    const Instruction call = makeCall<CudnnAttentionGradCall>(sizes, DataType::BF16);
    const CudnnAttentionPlan plan = makePlan(sizes, DataType::BF16, true);
    SCOPED_TRACE(describeCudnnPlan(plan));
    cuda::Api api;
    std::string error;
    ASSERT_TRUE(api.load(MPT_STANDIN, MPT_STANDIN, error)) << error;
    cuda::CudnnContext context;
    ASSERT_TRUE(context.api.load(MPT_STANDIN, error)) << error;
    const char *what = nullptr;
    cuda::Stream stream = nullptr;
    ASSERT_EQ(api.cudaStreamCreateWithFlags(&stream, cuda::kNonBlocking), 0);
    ASSERT_EQ(context.create(stream, what), 0) << what;
    std::vector<std::string> results[2];
    for (int isCut : {0, 1}) {
      // Scratch comes last.
      std::vector<int64_t> bytes;
      for (const BufferRef &ref : call.refs)
        bytes.push_back(ref.bytes());
      bytes.push_back(4 * plan.rows());
      bytes.push_back(64 << 20);
      std::vector<void *> buffers;
      uint32_t random = 1;
      for (size_t i = 0; i < bytes.size(); ++i) {
        void *made = nullptr;
        ASSERT_EQ(api.cudaMalloc(&made, bytes[i]), 0);
        buffers.push_back(made);
        std::string data(bytes[i], 0);
        for (size_t j = 0; j + 1 < data.size() && i < call.numInputs; j += 2) {
          random = random * 1664525u + 1013904223u;
          data[j] = static_cast<char>(random >> 16);
          data[j + 1] = static_cast<char>(0x3e | (random >> 31) << 7);
        }
        ASSERT_EQ(
            api.cudaMemcpyAsync(made, data.data(), bytes[i], cuda::HostToDevice, stream),
            0);
      }
      cuda::CudnnGraph graph(context);
      ASSERT_EQ(graph.create(plan, what, isCut ? 1 : INT64_MAX / 2), 0) << what;
      ASSERT_TRUE(graph.hasPlan()) << graph.refusal;
      EXPECT_EQ(graph.offsets.size(), isCut ? sizes.batch * sizes.groups : 1u);
      {
        cuda::CudnnVariantPack pack(context.api);
        ASSERT_EQ(pack.create(graph, buffers, buffers.back(), what), 0) << what;
        ASSERT_EQ(pack.run(context, graph), 0);
      }
      ASSERT_EQ(api.cudaStreamSynchronize(stream), 0);
      for (size_t i = call.numInputs; i < call.refs.size(); ++i) {
        std::string data(bytes[i], 0);
        ASSERT_EQ(api.cudaMemcpyAsync(data.data(), buffers[i], bytes[i],
                                      cuda::DeviceToHost, stream),
                  0);
        ASSERT_EQ(api.cudaStreamSynchronize(stream), 0);
        results[isCut].push_back(data);
        EXPECT_NE(data, std::string(bytes[i], 0));
      }
      for (void *buffer : buffers)
        api.cudaFree(buffer);
    }
    api.cudaStreamDestroy(stream);
    EXPECT_EQ(results[0], results[1]);
    EXPECT_STREQ(mpt_standin_breach(), "");
  }
}

#ifdef MPT_CUDNN
/// cuDNN's engines for attention want a driver to compile for a device that is only
/// described. That of the toolkit for linking does until machine code is to be loaded.
TEST(CudnnAttention, GraphsOfCudnn) {
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
  const std::pair<Sizes, DataType> cases[] = {
      {{64, 12, 12, 1024, 1024, 64, true}, DataType::BF16},
      {{2, 4, 2, 100, 77, 128, false}, DataType::F16},
      // A mask of keys, and biases with gradients.
      {{32, 12, 12, 512, 512, 64, false, {32, 1, 1, 512}}, DataType::BF16},
      {{8, 12, 12, 512, 512, 64, true, {1, 12, 512, 512}, true}, DataType::BF16},
      {{2, 4, 2, 100, 77, 128, false, {2, 1, 100, 77}, true}, DataType::F16},
      // In parts; with heads that share one of keys; rows that are filled up.
      {{2, 32, 8, 4096, 4096, 128, true}, DataType::BF16},
      {{7, 3, 3, 65, 129, 192, false}, DataType::F16},
  };
  for (const auto &[sizes, type] : cases)
    for (bool isGrad : {false, true}) {
      CudnnAttentionPlan plan = makePlan(sizes, type, isGrad);
      SCOPED_TRACE(describeCudnnPlan(plan));
      cuda::CudnnGraph graph(context);
      EXPECT_EQ(graph.create(plan, what), 0) << what;
      // With a device it is a plan.
      if (!graph.hasPlan())
        EXPECT_NE(
            graph.refusal.find("(0 are not deterministic or not exact, 0 need more "),
            std::string::npos)
            << graph.refusal;
      if (!graph.hasPlan())
        EXPECT_NE(graph.refusal.find("could not be made into a plan, the last one: "
                                     "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"),
                  std::string::npos)
            << graph.refusal;
    }
  // One head's slopes are larger than what is offered.
  {
    cuda::CudnnGraph graph(context);
    const CudnnAttentionPlan large =
        makePlan({1, 1, 1, 32768, 32768, 64, true}, DataType::BF16, true);
    EXPECT_EQ(graph.create(large, what), 0) << what;
    EXPECT_EQ(
        graph.refusal,
        "none of its 2 engine configurations can be used (0 are not deterministic "
        "or not exact, 2 need more than 288 MiB, the smallest 2049 MiB, 0 could not "
        "be made into a plan)");
  }
  // Heads of 12 elements are none that it knows.
  CudnnAttentionPlan plan = makePlan(Sizes(), DataType::BF16, false);
  plan.width = 12;
  cuda::CudnnGraph graph(context);
  EXPECT_EQ(graph.create(plan, what), 0) << what;
  EXPECT_EQ(graph.refusal.find("EXECUTION_FAILED"), std::string::npos) << graph.refusal;
  EXPECT_FALSE(graph.hasPlan());
}
#endif

} // namespace
