//===- CudnnApiTest.cpp - The declarations against cuDNN's headers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled where cuDNN's headers are: values, and number and sizes of the parameters of
/// every function that CudnnApi.h declares by itself.
///
//===----------------------------------------------------------------------===//

#include "OneShape.h"

#include "CUDA/CudnnApi.h"

#include <cudnn_graph.h>
#include <cudnn_version.h>
#include <gtest/gtest.h>

namespace mine = mpt::rt::cuda;

namespace {

TEST(CudnnApi, Functions) {
  mine::CudnnApi api;
#define MPT_COMPARE(name, parameters)                                                    \
  EXPECT_TRUE(haveOneShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  MPT_CUDNN_FUNCTIONS(MPT_COMPARE)
  MPT_COMPARE(cudnnGetErrorString, ())
  MPT_COMPARE(cudnnGetVersion, ())
#undef MPT_COMPARE
}

TEST(CudnnApi, Kinds) {
#define MPT_COMPARE(mine_, theirs)                                                       \
  EXPECT_EQ(int(mine::CudnnKind::mine_), int(CUDNN_BACKEND_##theirs##_DESCRIPTOR))
  MPT_COMPARE(Convolution, CONVOLUTION);
  MPT_COMPARE(Engine, ENGINE);
  MPT_COMPARE(EngineConfig, ENGINECFG);
  MPT_COMPARE(EngineHeuristics, ENGINEHEUR);
  MPT_COMPARE(ExecutionPlan, EXECUTION_PLAN);
  MPT_COMPARE(ConvolutionForward, OPERATION_CONVOLUTION_FORWARD);
  MPT_COMPARE(ConvolutionBackwardFilter, OPERATION_CONVOLUTION_BACKWARD_FILTER);
  MPT_COMPARE(ConvolutionBackwardData, OPERATION_CONVOLUTION_BACKWARD_DATA);
  MPT_COMPARE(OperationGraph, OPERATIONGRAPH);
  MPT_COMPARE(VariantPack, VARIANT_PACK);
  MPT_COMPARE(Tensor, TENSOR);
  MPT_COMPARE(Pointwise, POINTWISE);
  MPT_COMPARE(PointwiseOperation, OPERATION_POINTWISE);
  MPT_COMPARE(Matmul, MATMUL);
  MPT_COMPARE(MatmulOperation, OPERATION_MATMUL);
  MPT_COMPARE(Reduction, REDUCTION);
  MPT_COMPARE(ReductionOperation, OPERATION_REDUCTION);
  MPT_COMPARE(ReshapeOperation, OPERATION_RESHAPE);
#if CUDNN_VERSION >= 90800
  MPT_COMPARE(DeviceProperties, DEVICEPROP);
#endif
#undef MPT_COMPARE
}

TEST(CudnnApi, Types) {
#define MPT_COMPARE(mine_, theirs)                                                       \
  EXPECT_EQ(int(mine::CudnnType::mine_), int(CUDNN_TYPE_##theirs))
  MPT_COMPARE(Handle, HANDLE);
  MPT_COMPARE(DataType, DATA_TYPE);
  MPT_COMPARE(Boolean, BOOLEAN);
  MPT_COMPARE(PointwiseMode, POINTWISE_MODE);
  MPT_COMPARE(ReductionOperator, REDUCTION_OPERATOR_TYPE);
  MPT_COMPARE(Int64, INT64);
  MPT_COMPARE(Float, FLOAT);
  MPT_COMPARE(VoidPtr, VOID_PTR);
  MPT_COMPARE(ConvolutionMode, CONVOLUTION_MODE);
  MPT_COMPARE(HeuristicsMode, HEUR_MODE);
  MPT_COMPARE(NumericalNote, NUMERICAL_NOTE);
  MPT_COMPARE(Descriptor, BACKEND_DESCRIPTOR);
  MPT_COMPARE(Char, CHAR);
#undef MPT_COMPARE
}

TEST(CudnnApi, Attributes) {
#define MPT_COMPARE(mine_, theirs)                                                       \
  EXPECT_EQ(int(mine::CudnnAttribute::mine_), int(CUDNN_ATTR_##theirs))
  MPT_COMPARE(ConvolutionComputeType, CONVOLUTION_COMP_TYPE);
  MPT_COMPARE(ConvolutionMode, CONVOLUTION_CONV_MODE);
  MPT_COMPARE(ConvolutionDilations, CONVOLUTION_DILATIONS);
  MPT_COMPARE(ConvolutionStrides, CONVOLUTION_FILTER_STRIDES);
  MPT_COMPARE(ConvolutionPostPaddings, CONVOLUTION_POST_PADDINGS);
  MPT_COMPARE(ConvolutionPrePaddings, CONVOLUTION_PRE_PADDINGS);
  MPT_COMPARE(ConvolutionSpatialDims, CONVOLUTION_SPATIAL_DIMS);
  MPT_COMPARE(HeuristicsMode, ENGINEHEUR_MODE);
  MPT_COMPARE(HeuristicsGraph, ENGINEHEUR_OPERATION_GRAPH);
  MPT_COMPARE(HeuristicsResults, ENGINEHEUR_RESULTS);
  MPT_COMPARE(ConfigEngine, ENGINECFG_ENGINE);
  MPT_COMPARE(PlanHandle, EXECUTION_PLAN_HANDLE);
  MPT_COMPARE(PlanConfig, EXECUTION_PLAN_ENGINE_CONFIG);
  MPT_COMPARE(PlanWorkspace, EXECUTION_PLAN_WORKSPACE_SIZE);
  MPT_COMPARE(ForwardAlpha, OPERATION_CONVOLUTION_FORWARD_ALPHA);
  MPT_COMPARE(ForwardBeta, OPERATION_CONVOLUTION_FORWARD_BETA);
  MPT_COMPARE(ForwardConvolution, OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  MPT_COMPARE(ForwardW, OPERATION_CONVOLUTION_FORWARD_W);
  MPT_COMPARE(ForwardX, OPERATION_CONVOLUTION_FORWARD_X);
  MPT_COMPARE(ForwardY, OPERATION_CONVOLUTION_FORWARD_Y);
  MPT_COMPARE(DataAlpha, OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
  MPT_COMPARE(DataBeta, OPERATION_CONVOLUTION_BWD_DATA_BETA);
  MPT_COMPARE(DataConvolution, OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
  MPT_COMPARE(DataW, OPERATION_CONVOLUTION_BWD_DATA_W);
  MPT_COMPARE(DataDx, OPERATION_CONVOLUTION_BWD_DATA_DX);
  MPT_COMPARE(DataDy, OPERATION_CONVOLUTION_BWD_DATA_DY);
  MPT_COMPARE(FilterAlpha, OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
  MPT_COMPARE(FilterBeta, OPERATION_CONVOLUTION_BWD_FILTER_BETA);
  MPT_COMPARE(FilterConvolution, OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
  MPT_COMPARE(FilterDw, OPERATION_CONVOLUTION_BWD_FILTER_DW);
  MPT_COMPARE(FilterX, OPERATION_CONVOLUTION_BWD_FILTER_X);
  MPT_COMPARE(FilterDy, OPERATION_CONVOLUTION_BWD_FILTER_DY);
  MPT_COMPARE(GraphHandle, OPERATIONGRAPH_HANDLE);
  MPT_COMPARE(GraphOperations, OPERATIONGRAPH_OPS);
  MPT_COMPARE(TensorAlignment, TENSOR_BYTE_ALIGNMENT);
  MPT_COMPARE(TensorType, TENSOR_DATA_TYPE);
  MPT_COMPARE(TensorDims, TENSOR_DIMENSIONS);
  MPT_COMPARE(TensorStrides, TENSOR_STRIDES);
  MPT_COMPARE(TensorId, TENSOR_UNIQUE_ID);
  MPT_COMPARE(TensorIsVirtual, TENSOR_IS_VIRTUAL);
  MPT_COMPARE(TensorIsNumber, TENSOR_IS_BY_VALUE);
  MPT_COMPARE(PointwiseMode, POINTWISE_MODE);
  MPT_COMPARE(PointwiseType, POINTWISE_MATH_PREC);
  MPT_COMPARE(PointwiseAxis, POINTWISE_AXIS);
  MPT_COMPARE(PointwiseDescription, OPERATION_POINTWISE_PW_DESCRIPTOR);
  MPT_COMPARE(PointwiseX, OPERATION_POINTWISE_XDESC);
  MPT_COMPARE(PointwiseB, OPERATION_POINTWISE_BDESC);
  MPT_COMPARE(PointwiseY, OPERATION_POINTWISE_YDESC);
  MPT_COMPARE(PointwiseT, OPERATION_POINTWISE_TDESC);
  MPT_COMPARE(MatmulType, MATMUL_COMP_TYPE);
  MPT_COMPARE(MatmulA, OPERATION_MATMUL_ADESC);
  MPT_COMPARE(MatmulB, OPERATION_MATMUL_BDESC);
  MPT_COMPARE(MatmulC, OPERATION_MATMUL_CDESC);
  MPT_COMPARE(MatmulDescription, OPERATION_MATMUL_DESC);
  MPT_COMPARE(ReductionOperator, REDUCTION_OPERATOR);
  MPT_COMPARE(ReductionType, REDUCTION_COMP_TYPE);
  MPT_COMPARE(ReductionX, OPERATION_REDUCTION_XDESC);
  MPT_COMPARE(ReductionY, OPERATION_REDUCTION_YDESC);
  MPT_COMPARE(ReductionDescription, OPERATION_REDUCTION_DESC);
  MPT_COMPARE(ReshapeX, OPERATION_RESHAPE_XDESC);
  MPT_COMPARE(ReshapeY, OPERATION_RESHAPE_YDESC);
  MPT_COMPARE(PackIds, VARIANT_PACK_UNIQUE_IDS);
  MPT_COMPARE(PackPointers, VARIANT_PACK_DATA_POINTERS);
  MPT_COMPARE(PackWorkspace, VARIANT_PACK_WORKSPACE);
  MPT_COMPARE(EngineNotes, ENGINE_NUMERICAL_NOTE);
#if CUDNN_VERSION >= 90800
  MPT_COMPARE(HeuristicsDevice, ENGINEHEUR_DEVICEPROP);
  MPT_COMPARE(PlanDevice, EXECUTION_PLAN_DEVICEPROP);
  MPT_COMPARE(DeviceJson, DEVICEPROP_JSON_REPRESENTATION);
#endif
#undef MPT_COMPARE
}

TEST(CudnnApi, Values) {
  EXPECT_EQ(mine::kNoteTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  EXPECT_EQ(mine::kNoteDownConverts, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  EXPECT_EQ(mine::kNoteReducedReduction,
            CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  EXPECT_EQ(mine::kNoteFFT, CUDNN_NUMERICAL_NOTE_FFT);
  EXPECT_EQ(mine::kNoteNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  EXPECT_EQ(mine::kNoteWinograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
  EXPECT_GE(mine::kNoteCount, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  EXPECT_EQ(mine::kDnnFloat, CUDNN_DATA_FLOAT);
  EXPECT_EQ(mine::kDnnInt32, CUDNN_DATA_INT32);
  EXPECT_EQ(mine::kDnnBoolean, CUDNN_DATA_BOOLEAN);
  EXPECT_EQ(mine::kDnnPlus, CUDNN_POINTWISE_ADD);
  EXPECT_EQ(mine::kDnnMultiply, CUDNN_POINTWISE_MUL);
  EXPECT_EQ(mine::kDnnDivide, CUDNN_POINTWISE_DIV);
  EXPECT_EQ(mine::kDnnSubtract, CUDNN_POINTWISE_SUB);
  EXPECT_EQ(mine::kDnnExp, CUDNN_POINTWISE_EXP);
  EXPECT_EQ(mine::kDnnLog, CUDNN_POINTWISE_LOG);
  EXPECT_EQ(mine::kDnnNotBelow, CUDNN_POINTWISE_CMP_GE);
  EXPECT_EQ(mine::kDnnIndex, CUDNN_POINTWISE_GEN_INDEX);
  EXPECT_EQ(mine::kDnnSelect, CUDNN_POINTWISE_BINARY_SELECT);
  EXPECT_EQ(mine::kDnnAdd, CUDNN_REDUCE_TENSOR_ADD);
  EXPECT_EQ(mine::kDnnMax, CUDNN_REDUCE_TENSOR_MAX);
  EXPECT_EQ(mine::kDnnHalf, CUDNN_DATA_HALF);
  EXPECT_EQ(mine::kDnnBFloat16, CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(mine::kDnnCrossCorrelation, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(mine::kDnnModeFallback, CUDNN_HEUR_MODE_FALLBACK);
  EXPECT_EQ(mine::kDnnModeA, CUDNN_HEUR_MODE_A);
}

} // namespace
