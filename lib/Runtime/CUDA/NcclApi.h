//===- NcclApi.h - NCCL by dlopen -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of NCCL that the runtime uses, in one table. Nothing links against NCCL,
/// and its header is not needed: the declarations here are those of NCCL 2.14 and newer
/// (NcclApiTest compares them where the header is). The table is also where the stand-in
/// of the tests comes in.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_NCCLAPI_H
#define MPT_LIB_RUNTIME_CUDA_NCCLAPI_H

#include "CudaApi.h"

namespace mpt::rt::cuda {

using NcclComm = void *;
using NcclResult = int;
struct NcclUniqueId {
  char internal[128];
};
/// The part of ncclConfig_t that NCCL 2.14 had. Newer versions read as much as `size`
/// says and take their own defaults for what `version` did not have.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
};
/// The oldest version whose communicators need not block, and so can have a deadline.
inline constexpr int kNcclVersion = 21400;
inline constexpr NcclResult kNcclSuccess = 0, kNcclUnhandledCudaError = 1,
                            kNcclInvalidArgument = 4, kNcclInvalidUsage = 5,
                            kNcclRemoteError = 6, kNcclInProgress = 7;
/// Of ncclDataType_t and ncclRedOp_t.
enum class NcclType : int {
  I8 = 0,
  U8 = 1,
  I32 = 2,
  U32 = 3,
  I64 = 4,
  U64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9
};
enum class NcclOp : int { Sum = 0, Prod = 1, Max = 2, Min = 3, Avg = 4 };

#define MPT_NCCL_FUNCTIONS(X)                                                            \
  X(ncclGetUniqueId, (NcclUniqueId *))                                                   \
  X(ncclCommInitRankConfig, (NcclComm *, int, NcclUniqueId, int, NcclConfig *))          \
  X(ncclCommFinalize, (NcclComm))                                                        \
  X(ncclCommDestroy, (NcclComm))                                                         \
  X(ncclCommAbort, (NcclComm))                                                           \
  X(ncclCommGetAsyncError, (NcclComm, NcclResult *))                                     \
  X(ncclGroupStart, ())                                                                  \
  X(ncclGroupEnd, ())                                                                    \
  X(ncclAllReduce, (const void *, void *, size_t, NcclType, NcclOp, NcclComm, Stream))   \
  X(ncclReduceScatter,                                                                   \
    (const void *, void *, size_t, NcclType, NcclOp, NcclComm, Stream))                  \
  X(ncclAllGather, (const void *, void *, size_t, NcclType, NcclComm, Stream))           \
  X(ncclSend, (const void *, size_t, NcclType, int, NcclComm, Stream))                   \
  X(ncclRecv, (void *, size_t, NcclType, int, NcclComm, Stream))                         \
  X(ncclBroadcast, (const void *, void *, size_t, NcclType, int, NcclComm, Stream))

struct NcclApi {
  NcclResult (*ncclGetVersion)(int *) = nullptr;
#define MPT_DECLARE(name, parameters) NcclResult(*name) parameters = nullptr;
  MPT_NCCL_FUNCTIONS(MPT_DECLARE)
#undef MPT_DECLARE
  const char *(*ncclGetErrorString)(NcclResult) = nullptr;
  const char *(*ncclGetLastError)(NcclComm) = nullptr;
  /// Of the library that was loaded: 23007 for 2.30.7.
  int version = 0;

  /// Loads the library; "" means libnccl.so.2. It stays loaded. False, with `error` set,
  /// if it is missing, too old or lacks a function.
  bool load(const std::string &library, std::string &error);
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_NCCLAPI_H
