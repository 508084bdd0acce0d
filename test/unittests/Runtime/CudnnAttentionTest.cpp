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
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mpt::rt;

namespace {

struct Sizes {
  int64_t batch = 2, heads = 4, groups = 4, queries = 64, keys = 64, width = 64;
  bool causal = false;
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
  const bool isGrad = Call::id == CallId::CudnnAttentionGrad;
  if (isGrad)
    add(s.heads, s.queries);
  add(s.heads, s.queries);
  add(s.groups, s.keys);
  add(s.groups, s.keys);
  add(s.heads, s.queries);
  addSums();
  if (isGrad) {
    add(s.heads, s.queries);
    add(s.groups, s.keys);
    add(s.groups, s.keys);
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
}

/// A damaged program does not reach outside its buffers.
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
  };
  for (const auto &[sizes, type] : cases)
    for (bool isGrad : {false, true}) {
      CudnnAttentionPlan plan = makePlan(sizes, type, isGrad);
      SCOPED_TRACE(describeCudnnPlan(plan));
      cuda::CudnnGraph graph(context);
      EXPECT_EQ(graph.create(plan, what), 0) << what;
      // With a device it is a plan.
      if (!graph.hasPlan())
        EXPECT_NE(graph.refusal.find("could not be made into a plan, the last one: "
                                     "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"),
                  std::string::npos)
            << graph.refusal;
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
