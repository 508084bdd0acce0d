//===- DescribedDevice.h - A GPU that need not be there -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_UNITTESTS_RUNTIME_DESCRIBEDDEVICE_H
#define MPT_TEST_UNITTESTS_RUNTIME_DESCRIBEDDEVICE_H

/// An H100, as cuDNN describes one.
inline const char *const kH100 = R"({"maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132,
  "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 85899345920, "smClockRateKHz": 1980000,
  "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "cudaDeviceId": 0,
  "deviceVer": 900, "driverVer": 13000, "deviceName": "NVIDIA H100 80GB HBM3"})";

#endif // MPT_TEST_UNITTESTS_RUNTIME_DESCRIBEDDEVICE_H
