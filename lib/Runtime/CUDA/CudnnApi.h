//===- CudnnApi.h - cuDNN by dlopen -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of cuDNN's backend (graph) API that the runtime uses, in one table.
/// The declarations are those of cuDNN 9; its headers are not needed (CudnnApiTest
/// compares them where these are).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_CUDNNAPI_H
#define MPT_LIB_RUNTIME_CUDA_CUDNNAPI_H

#include "CudaApi.h"

namespace mpt::rt::cuda {

using CudnnHandle = void *;
using CudnnDesc = void *;
/// The oldest cuDNN that will do.
inline constexpr size_t kDnnVersion = 90000;

/// cudnnBackendDescriptorType_t.
enum class CudnnKind : int {
  Pointwise = 0,
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  EngineHeuristics = 4,
  ExecutionPlan = 5,
  ConvolutionForward = 10,
  ConvolutionBackwardFilter = 11,
  ConvolutionBackwardData = 12,
  PointwiseOperation = 13,
  OperationGraph = 15,
  VariantPack = 16,
  Tensor = 17,
  Matmul = 18,
  MatmulOperation = 19,
  Reduction = 21,
  ReductionOperation = 22,
  ReshapeOperation = 31,
  DeviceProperties = 38,
};

/// cudnnBackendAttributeType_t.
enum class CudnnType : int {
  Handle = 0,
  DataType = 1,
  Boolean = 2,
  Int64 = 3,
  Float = 4,
  VoidPtr = 6,
  ConvolutionMode = 7,
  HeuristicsMode = 8,
  NumericalNote = 11,
  PointwiseMode = 14,
  Descriptor = 15,
  ReductionOperator = 18,
  Char = 24,
};

/// cudnnBackendAttributeName_t.
enum class CudnnAttribute : int {
  PointwiseMode = 0,
  PointwiseType = 1,
  PointwiseAxis = 9,
  ConvolutionComputeType = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPaddings = 104,
  ConvolutionPrePaddings = 105,
  ConvolutionSpatialDims = 106,
  HeuristicsMode = 200,
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  HeuristicsDevice = 204,
  ConfigEngine = 300,
  ConfigWorkspace = 303,
  PlanHandle = 400,
  PlanConfig = 401,
  PlanWorkspace = 402,
  PlanDevice = 407,
  ForwardAlpha = 700,
  ForwardBeta = 701,
  ForwardConvolution = 702,
  ForwardW = 703,
  ForwardX = 704,
  ForwardY = 705,
  DataAlpha = 706,
  DataBeta = 707,
  DataConvolution = 708,
  DataW = 709,
  DataDx = 710,
  DataDy = 711,
  FilterAlpha = 712,
  FilterBeta = 713,
  FilterConvolution = 714,
  FilterDw = 715,
  FilterX = 716,
  FilterDy = 717,
  PointwiseDescription = 750,
  PointwiseX = 751,
  PointwiseB = 752,
  PointwiseY = 753,
  PointwiseT = 758,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorType = 901,
  TensorDims = 902,
  TensorStrides = 903,
  TensorId = 906,
  TensorIsVirtual = 907,
  TensorIsNumber = 908,
  PackIds = 1000,
  PackPointers = 1001,
  PackWorkspace = 1003,
  EngineNotes = 1303,
  MatmulType = 1500,
  MatmulA = 1520,
  MatmulB = 1521,
  MatmulC = 1522,
  MatmulDescription = 1523,
  ReductionOperator = 1600,
  ReductionType = 1601,
  ReductionX = 1610,
  ReductionY = 1611,
  ReductionDescription = 1612,
  ReshapeX = 2200,
  ReshapeY = 2201,
  DeviceJson = 2702,
};

/// cudnnBackendNumericalNote_t, and how many there are.
inline constexpr int kNoteTensorCore = 0, kNoteDownConverts = 1,
                     kNoteReducedReduction = 2, kNoteFFT = 3, kNoteNondeterministic = 4,
                     kNoteWinograd = 5, kNoteCount = 10;
/// cudnnDataType_t, cudnnConvolutionMode_t and cudnnBackendHeurMode_t.
inline constexpr int kDnnFloat = 0, kDnnHalf = 2, kDnnInt32 = 4, kDnnBFloat16 = 9,
                     kDnnBoolean = 11, kDnnCrossCorrelation = 1, kDnnModeFallback = 2,
                     kDnnModeA = 3;
/// cudnnPointwiseMode_t and cudnnReduceTensorOp_t.
inline constexpr int kDnnPlus = 0, kDnnMultiply = 1, kDnnDivide = 6, kDnnSubtract = 9,
                     kDnnExp = 13, kDnnLog = 15, kDnnIdentity = 21, kDnnNotBelow = 303,
                     kDnnIndex = 501, kDnnSelect = 601, kDnnAdd = 0, kDnnMax = 3;

#define MPT_CUDNN_FUNCTIONS(X)                                                           \
  X(cudnnCreate, (CudnnHandle *))                                                        \
  X(cudnnDestroy, (CudnnHandle))                                                         \
  X(cudnnSetStream, (CudnnHandle, Stream))                                               \
  X(cudnnBackendCreateDescriptor, (CudnnKind, CudnnDesc *))                              \
  X(cudnnBackendDestroyDescriptor, (CudnnDesc))                                          \
  X(cudnnBackendFinalize, (CudnnDesc))                                                   \
  X(cudnnBackendSetAttribute,                                                            \
    (CudnnDesc, CudnnAttribute, CudnnType, int64_t, const void *))                       \
  X(cudnnBackendGetAttribute,                                                            \
    (CudnnDesc, CudnnAttribute, CudnnType, int64_t, int64_t *, void *))                  \
  X(cudnnBackendExecute, (CudnnHandle, CudnnDesc, CudnnDesc))

struct CudnnApi {
#define MPT_DECLARE(name, parameters) int(*name) parameters = nullptr;
  MPT_CUDNN_FUNCTIONS(MPT_DECLARE)
#undef MPT_DECLARE
  const char *(*cudnnGetErrorString)(int) = nullptr;
  size_t (*cudnnGetVersion)() = nullptr;

  /// Loads the library; "" means the name that NVIDIA gives it. It stays loaded. False,
  /// with `error` set, if it is missing, lacks a function or is too old.
  bool load(const std::string &library, std::string &error);
  /// "CUDNN_STATUS_BAD_PARAM (2000)".
  std::string nameOf(int status) const;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_CUDNNAPI_H
