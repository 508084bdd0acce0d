//===- CudaApi.h - cudart and cuBLASLt by dlopen -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of both libraries that the runtime uses, in one table. Nothing
/// links against CUDA, and its headers are not needed: the declarations here are
/// those of CUDA 12 and 13 (CudaApiTest compares them where the headers are). The
/// table is also where the stand-in of the tests comes in.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_CUDAAPI_H
#define MPT_LIB_RUNTIME_CUDA_CUDAAPI_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mpt::rt::cuda {

// Of cudart.
using Error = int;
using Stream = void *;
using Event = void *;
using Graph = void *;
using GraphExec = void *;
using GraphNode = void *;
using Library = void *;
using Kernel = void *;
struct Dim3 {
  unsigned x, y, z;
};
inline constexpr Error kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2,
                       kCudartUnloading = 4, kInsufficientDriver = 35, kNoDevice = 100,
                       kInvalidKernelImage = 200, kNoKernelImageForDevice = 209,
                       kInvalidPtx = 218, kJitCompilerNotFound = 221,
                       kUnsupportedPtxVersion = 222, kNotReady = 600;
enum MemcpyKind { HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3 };
inline constexpr int kAttributeMajor = 75, kAttributeMinor = 76,
                     kAttributeMultiprocessors = 16, kAttributeClock = 13,
                     kAttributeMemoryClock = 36, kAttributeMemoryBus = 37;
inline constexpr unsigned kNonBlocking = 1, kEventNoTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;

/// cudaGraphNodeParams of a loop that runs while its handle's value is not 0.
struct ConditionalParams {
  int type = 13, reserved0[3] = {};
  uint64_t handle = 0;
  int kind = 1;
  unsigned size = 1;
  /// CUDA sets it: the graphs of the bodies, of which there is one.
  Graph *bodies = nullptr;
  int64_t reserved1[26] = {}, reserved2 = 0;
};

// Of cuBLASLt.
using Status = int;
using CublasLtHandle = void *;
using CublasLtDesc = void *;
using CublasLtLayout = void *;
using CublasLtPreference = void *;
inline constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7,
                     kDescBiasPointer = 8, kDescAuxPointer = 11, kDescAuxLd = 12,
                     kDescScalesA = 17, kDescScalesB = 18, kDescFastAccumulation = 25,
                     kDescBiasType = 26, kDescScaleModeA = 31, kDescScaleModeB = 32;
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
inline constexpr int kPreferenceWorkspace = 1, kPreferenceReductions = 3,
                     kPreferenceAlignmentA = 5;
/// Sums of parts in the output's type are not among them.
inline constexpr uint32_t kReductionsInPlace = 1, kReductionsComputeType = 2;
struct CublasLtAlgo {
  uint64_t data[8];
};
struct CublasLtHeuristic {
  CublasLtAlgo algo;
  size_t workspaceSize;
  Status state;
  float waves;
  int reserved[4];
};

#define MPT_CUDART_FUNCTIONS(X)                                                          \
  X(cudaRuntimeGetVersion, (int *))                                                      \
  X(cudaDriverGetVersion, (int *))                                                       \
  X(cudaGetLastError, ())                                                                \
  X(cudaGetDeviceCount, (int *))                                                         \
  X(cudaGetDevice, (int *))                                                              \
  X(cudaSetDevice, (int))                                                                \
  X(cudaDeviceGetAttribute, (int *, int, int))                                           \
  X(cudaDeviceGetPCIBusId, (char *, int, int))                                           \
  X(cudaMemGetInfo, (size_t *, size_t *))                                                \
  X(cudaMalloc, (void **, size_t))                                                       \
  X(cudaFree, (void *))                                                                  \
  X(cudaMallocHost, (void **, size_t))                                                   \
  X(cudaFreeHost, (void *))                                                              \
  X(cudaMemcpyAsync, (void *, const void *, size_t, int, Stream))                        \
  X(cudaMemsetAsync, (void *, int, size_t, Stream))                                      \
  X(cudaStreamCreateWithFlags, (Stream *, unsigned))                                     \
  X(cudaStreamDestroy, (Stream))                                                         \
  X(cudaStreamSynchronize, (Stream))                                                     \
  X(cudaStreamQuery, (Stream))                                                           \
  X(cudaStreamWaitEvent, (Stream, Event, unsigned))                                      \
  X(cudaStreamBeginCapture, (Stream, int))                                               \
  X(cudaStreamEndCapture, (Stream, Graph *))                                             \
  X(cudaStreamBeginCaptureToGraph,                                                       \
    (Stream, Graph, const GraphNode *, const void *, size_t, int))                       \
  X(cudaGraphConditionalHandleCreate, (uint64_t *, Graph, unsigned, unsigned))           \
  X(cudaGraphInstantiate, (GraphExec *, Graph, unsigned long long))                      \
  X(cudaGraphLaunch, (GraphExec, Stream))                                                \
  X(cudaGraphDestroy, (Graph))                                                           \
  X(cudaGraphExecDestroy, (GraphExec))                                                   \
  X(cudaEventCreateWithFlags, (Event *, unsigned))                                       \
  X(cudaEventDestroy, (Event))                                                           \
  X(cudaEventRecord, (Event, Stream))                                                    \
  X(cudaEventSynchronize, (Event))                                                       \
  X(cudaEventQuery, (Event))                                                             \
  X(cudaEventElapsedTime, (float *, Event, Event))                                       \
  X(cudaLibraryLoadData,                                                                 \
    (Library *, const void *, int *, void **, unsigned, int *, void **, unsigned))       \
  X(cudaLibraryUnload, (Library))                                                        \
  X(cudaLibraryGetKernel, (Kernel *, Library, const char *))                             \
  X(cudaFuncSetAttribute, (const void *, int, int))                                      \
  X(cudaGetDriverEntryPointByVersion,                                                    \
    (const char *, void **, unsigned, unsigned long long, int *))                        \
  X(cudaLaunchKernel, (const void *, Dim3, Dim3, void **, size_t, Stream))

/// Those that CUDA 12 has under another name, with this added to it; that without has
/// fewer parameters there.
#define MPT_CUDART_RENAMED_FUNCTIONS(X)                                                  \
  X(cudaGraphAddNode, "_v2",                                                             \
    (GraphNode *, Graph, const GraphNode *, const void *, size_t, ConditionalParams *))  \
  X(cudaStreamGetCaptureInfo, "_v3",                                                     \
    (Stream, int *, unsigned long long *, Graph *, const GraphNode **, const void **,    \
     size_t *))

#define MPT_CUBLASLT_FUNCTIONS(X)                                                        \
  X(cublasLtCreate, (CublasLtHandle *))                                                  \
  X(cublasLtDestroy, (CublasLtHandle))                                                   \
  X(cublasLtMatmulDescCreate, (CublasLtDesc *, int, int))                                \
  X(cublasLtMatmulDescDestroy, (CublasLtDesc))                                           \
  X(cublasLtMatmulDescSetAttribute, (CublasLtDesc, int, const void *, size_t))           \
  X(cublasLtMatrixLayoutCreate, (CublasLtLayout *, int, uint64_t, uint64_t, int64_t))    \
  X(cublasLtMatrixLayoutDestroy, (CublasLtLayout))                                       \
  X(cublasLtMatrixLayoutSetAttribute, (CublasLtLayout, int, const void *, size_t))       \
  X(cublasLtMatmulPreferenceCreate, (CublasLtPreference *))                              \
  X(cublasLtMatmulPreferenceDestroy, (CublasLtPreference))                               \
  X(cublasLtMatmulPreferenceSetAttribute,                                                \
    (CublasLtPreference, int, const void *, size_t))                                     \
  X(cublasLtMatmulAlgoGetHeuristic,                                                      \
    (CublasLtHandle, CublasLtDesc, CublasLtLayout, CublasLtLayout, CublasLtLayout,       \
     CublasLtLayout, CublasLtPreference, int, CublasLtHeuristic *, int *))               \
  X(cublasLtMatmul,                                                                      \
    (CublasLtHandle, CublasLtDesc, const void *, const void *, CublasLtLayout,           \
     const void *, CublasLtLayout, const void *, const void *, CublasLtLayout, void *,   \
     CublasLtLayout, const CublasLtAlgo *, void *, size_t, Stream))

struct Api {
#define MPT_DECLARE(name, parameters) int(*name) parameters = nullptr;
  MPT_CUDART_FUNCTIONS(MPT_DECLARE)
  MPT_CUBLASLT_FUNCTIONS(MPT_DECLARE)
#undef MPT_DECLARE
#define MPT_DECLARE(name, addition, parameters) int(*name) parameters = nullptr;
  MPT_CUDART_RENAMED_FUNCTIONS(MPT_DECLARE)
#undef MPT_DECLARE
  const char *(*cudaGetErrorString)(Error) = nullptr;
  size_t (*cublasLtGetVersion)() = nullptr;

  /// Why there is no cuBLASLt, or "". Its functions are null then.
  std::string withoutCublasLt;

  /// Loads both libraries; "" means the names that CUDA gives them. They stay
  /// loaded. False, with `error` set, if one that was named is missing or lacks a
  /// function, or if there is no cudart.
  bool load(const std::string &cudart, const std::string &cublasLt, std::string &error);
};

/// Opens `given`, or, if that is "", the first of `names` that there is. Null, with
/// `error` set, if there is none; it names what to install.
void *openLibrary(const std::string &given, const std::vector<std::string> &names,
                  const std::string &package, std::string &error);

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_CUDAAPI_H
