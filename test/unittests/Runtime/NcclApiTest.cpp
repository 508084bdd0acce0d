//===- NcclApiTest.cpp - The declarations against NCCL's header -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled where NCCL's header is: values, and number and sizes of the parameters of
/// every function that NcclApi.h declares by itself.
///
//===----------------------------------------------------------------------===//

#include "OneShape.h"

#include "CUDA/NcclApi.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <nccl.h>

namespace mine = mpt::rt::cuda;

namespace {

TEST(NcclApi, Functions) {
  mine::NcclApi api;
#define MPT_COMPARE(name, parameters)                                                    \
  EXPECT_TRUE(haveOneShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  MPT_NCCL_FUNCTIONS(MPT_COMPARE)
  MPT_COMPARE(ncclGetVersion, ())
  MPT_COMPARE(ncclGetErrorString, ())
  MPT_COMPARE(ncclGetLastError, ())
#undef MPT_COMPARE
}

TEST(NcclApi, Values) {
  EXPECT_EQ(mine::kNcclSuccess, int(ncclSuccess));
  EXPECT_EQ(mine::kNcclUnhandledCudaError, int(ncclUnhandledCudaError));
  EXPECT_EQ(mine::kNcclInvalidArgument, int(ncclInvalidArgument));
  EXPECT_EQ(mine::kNcclInvalidUsage, int(ncclInvalidUsage));
  EXPECT_EQ(mine::kNcclRemoteError, int(ncclRemoteError));
  EXPECT_EQ(mine::kNcclInProgress, int(ncclInProgress));
  EXPECT_EQ(mine::kNcclVersion, NCCL_VERSION(2, 14, 0));
#define MPT_COMPARE(type) EXPECT_EQ(int(mine::NcclType::type), int(MPT_THEIRS(type)))
#define MPT_THEIRS(type) kTheirs##type
  constexpr ncclDataType_t kTheirsI8 = ncclInt8, kTheirsU8 = ncclUint8,
                           kTheirsI32 = ncclInt32, kTheirsU32 = ncclUint32,
                           kTheirsI64 = ncclInt64, kTheirsU64 = ncclUint64,
                           kTheirsF16 = ncclFloat16, kTheirsF32 = ncclFloat32,
                           kTheirsF64 = ncclFloat64, kTheirsBF16 = ncclBfloat16;
  MPT_COMPARE(I8);
  MPT_COMPARE(U8);
  MPT_COMPARE(I32);
  MPT_COMPARE(U32);
  MPT_COMPARE(I64);
  MPT_COMPARE(U64);
  MPT_COMPARE(F16);
  MPT_COMPARE(F32);
  MPT_COMPARE(F64);
  MPT_COMPARE(BF16);
#undef MPT_COMPARE
#undef MPT_THEIRS
  EXPECT_EQ(int(mine::NcclOp::Sum), int(ncclSum));
  EXPECT_EQ(int(mine::NcclOp::Prod), int(ncclProd));
  EXPECT_EQ(int(mine::NcclOp::Max), int(ncclMax));
  EXPECT_EQ(int(mine::NcclOp::Min), int(ncclMin));
  EXPECT_EQ(int(mine::NcclOp::Avg), int(ncclAvg));
}

/// The part that NCCL 2.14 has begins as that of this version.
TEST(NcclApi, Structs) {
  EXPECT_EQ(sizeof(mine::NcclUniqueId), sizeof(ncclUniqueId));
  EXPECT_LE(sizeof(mine::NcclConfig), sizeof(ncclConfig_t));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(mine::NcclConfig().magic, theirs.magic);
  EXPECT_EQ(offsetof(mine::NcclConfig, size), offsetof(ncclConfig_t, size));
  EXPECT_EQ(offsetof(mine::NcclConfig, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(mine::NcclConfig, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(mine::NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
}

#ifdef MPT_NCCL
/// The library itself has all of them, on a machine without a GPU, too.
TEST(NcclApi, Loads) {
  mine::NcclApi api;
  std::string error;
  ASSERT_TRUE(api.load(MPT_NCCL, error)) << error;
  EXPECT_GE(api.version, mine::kNcclVersion);
  EXPECT_STREQ(api.ncclGetErrorString(mine::kNcclSuccess), "no error");
}
#endif

} // namespace
