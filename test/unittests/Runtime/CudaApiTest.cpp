//===- CudaApiTest.cpp - The declarations against CUDA's headers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled where CUDA's headers are: values, sizes of structs, and number and
/// sizes of the parameters of every function that CudaApi.h declares by itself.
///
//===----------------------------------------------------------------------===//

#include "OneShape.h"

#include "CUDA/CudaApi.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

using namespace mpt::rt;
namespace mine = mpt::rt::cuda;

namespace {

TEST(CudaApi, Functions) {
  mine::Api api;
#define MPT_COMPARE(name, parameters)                                                    \
  EXPECT_TRUE(haveOneShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  MPT_CUDART_FUNCTIONS(MPT_COMPARE)
  MPT_CUBLASLT_FUNCTIONS(MPT_COMPARE)
#undef MPT_COMPARE
#if CUDART_VERSION >= 13000
#define MPT_COMPARE(name, addition, parameters)                                          \
  EXPECT_TRUE(haveOneShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  MPT_CUDART_RENAMED_FUNCTIONS(MPT_COMPARE)
#undef MPT_COMPARE
#endif
}

TEST(CudaApi, ConditionalNodes) {
  const mine::ConditionalParams mine;
  cudaGraphNodeParams params = {};
  EXPECT_EQ(sizeof(mine), sizeof(params));
  EXPECT_EQ(mine.type, int(cudaGraphNodeTypeConditional));
  EXPECT_EQ(mine.kind, int(cudaGraphCondTypeWhile));
  auto placeOf = [](const auto &whole, const auto &part) {
    return reinterpret_cast<const char *>(&part) - reinterpret_cast<const char *>(&whole);
  };
  EXPECT_EQ(placeOf(mine, mine.handle), placeOf(params, params.conditional.handle));
  EXPECT_EQ(placeOf(mine, mine.kind), placeOf(params, params.conditional.type));
  EXPECT_EQ(placeOf(mine, mine.size), placeOf(params, params.conditional.size));
  EXPECT_EQ(placeOf(mine, mine.bodies), placeOf(params, params.conditional.phGraph_out));
}

TEST(CudaApi, Values) {
  EXPECT_EQ(mine::kOutOfMemory, cudaErrorMemoryAllocation);
  EXPECT_EQ(mine::kInsufficientDriver, cudaErrorInsufficientDriver);
  EXPECT_EQ(mine::kNoDevice, cudaErrorNoDevice);
  EXPECT_EQ(int(mine::HostToDevice), int(cudaMemcpyHostToDevice));
  EXPECT_EQ(int(mine::DeviceToHost), int(cudaMemcpyDeviceToHost));
  EXPECT_EQ(int(mine::DeviceToDevice), int(cudaMemcpyDeviceToDevice));
  EXPECT_EQ(mine::kAttributeMajor, cudaDevAttrComputeCapabilityMajor);
  EXPECT_EQ(mine::kAttributeMinor, cudaDevAttrComputeCapabilityMinor);
  EXPECT_EQ(mine::kNonBlocking, unsigned(cudaStreamNonBlocking));
  EXPECT_EQ(mine::kEventNoTiming, unsigned(cudaEventDisableTiming));
  EXPECT_EQ(mine::kCaptureThreadLocal, cudaStreamCaptureModeThreadLocal);
  EXPECT_EQ(mine::kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(mine::kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(mine::kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(mine::kDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(mine::kDescFastAccumulation, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
  EXPECT_EQ(mine::kDescBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  EXPECT_EQ(mine::kDescAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  EXPECT_EQ(mine::kDescAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  EXPECT_EQ(mine::kDescScalesA, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  EXPECT_EQ(mine::kDescScalesB, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  EXPECT_EQ(mine::kDescScaleModeA, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
  EXPECT_EQ(mine::kDescScaleModeB, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
  EXPECT_EQ(mine::kAttributeMultiprocessors, cudaDevAttrMultiProcessorCount);
  EXPECT_EQ(mine::kAttributeClock, cudaDevAttrClockRate);
  EXPECT_EQ(mine::kAttributeMemoryClock, cudaDevAttrMemoryClockRate);
  EXPECT_EQ(mine::kAttributeMemoryBus, cudaDevAttrGlobalMemoryBusWidth);
  EXPECT_EQ(mine::kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(mine::kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(mine::kPreferenceWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(mine::kPreferenceReductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(mine::kReductionsInPlace, unsigned(CUBLASLT_REDUCTION_SCHEME_INPLACE));
  EXPECT_EQ(mine::kReductionsComputeType,
            unsigned(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  EXPECT_EQ(sizeof(mine::CublasLtAlgo), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(mine::CublasLtHeuristic), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(mine::CublasLtHeuristic, state),
            offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(sizeof(mine::Dim3), sizeof(dim3));
  EXPECT_EQ(int(GemmCompute::F32), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(int(GemmCompute::F64), CUBLAS_COMPUTE_64F);
  EXPECT_EQ(int(GemmCompute::F32FastTF32), CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(int(GemmEpilogue::ReluAuxBias), CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  EXPECT_EQ(int(GemmEpilogue::GeluAuxBias), CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(int(GemmEpilogue::DReluBGrad), CUBLASLT_EPILOGUE_DRELU_BGRAD);
  EXPECT_EQ(int(GemmEpilogue::DGeluBGrad), CUBLASLT_EPILOGUE_DGELU_BGRAD);
  EXPECT_EQ(int(GemmEpilogue::GeluBias), CUBLASLT_EPILOGUE_GELU_BIAS);
  EXPECT_EQ(int(GemmEpilogue::ReluBias), CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(int(GemmEpilogue::BGradB), CUBLASLT_EPILOGUE_BGRADB);
}

} // namespace
