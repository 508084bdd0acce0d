//===- DeviceState.cpp - State in a GPU's memory ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceState.h"
#include "mpt/Runtime/Runtime.h"

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

int mpt::rt::cuda::checkCode(const Api &api, Error code, const std::string &what,
                             std::string &error) {
  if (code == kSuccess)
    return MPT_RT_OK;
  const char *why = api.cudaGetErrorString(code);
  error = what + ": " + (why ? why : "unknown error") + " (CUDA error " +
          std::to_string(code) + ")";
  return code == kNoDevice || code == kInsufficientDriver ? MPT_RT_UNSUPPORTED
         : code == kOutOfMemory                           ? MPT_RT_OUT_OF_MEMORY
                                                          : MPT_RT_RUN_FAILED;
}

Error DeviceGuard::select(int device) {
  int current = -1;
  if (Error code = api.cudaGetDevice(&current))
    return code;
  Error code = api.cudaSetDevice(device);
  if (code == kSuccess && current != device && previous < 0)
    previous = current;
  return code;
}

bool DeviceGuard::selectToRelease(int device) {
  int count = 0;
  if (!api.cudaGetDeviceCount || api.cudaGetDeviceCount(&count) == kCudartUnloading)
    return false;
  (void)select(device);
  return true;
}

int mpt::rt::cuda::selectDevice(const Api &api, DeviceGuard &guard,
                                const DeviceChoice &choice, int &device,
                                int &architecture, std::string &error) {
  int count = 0, major = 0, minor = 0;
  MPT_TRY(checkCode(api, api.cudaGetDeviceCount(&count), "no GPU can be used", error));
  if (count == 0) {
    error = "this machine has no GPU";
    return MPT_RT_UNSUPPORTED;
  }
  // Launchers may show each rank its own GPU alone, or those of a few ranks.
  device = choice.isLocalRank ? choice.number % count : choice.number;
  if (device >= count) {
    error = "there is no GPU " + std::to_string(device) + "; this machine has " +
            std::to_string(count) + ", numbered from 0";
    return MPT_RT_UNSUPPORTED;
  }
  MPT_TRY(checkCode(api, guard.select(device), "no GPU can be used", error));
  MPT_TRY(checkCode(api, api.cudaDeviceGetAttribute(&major, kAttributeMajor, device),
                    "the GPU", error));
  MPT_TRY(checkCode(api, api.cudaDeviceGetAttribute(&minor, kAttributeMinor, device),
                    "the GPU", error));
  architecture = major * 10 + minor;
  return MPT_RT_OK;
}

DeviceState::~DeviceState() {
  DeviceGuard guard(api);
  if (!started || isStuck || !guard.selectToRelease(device))
    return;
  // What has failed may fail again; nothing can be done about that here.
  if (stream)
    api.cudaStreamSynchronize(stream);
  if (memory)
    api.cudaFree(memory);
  if (stream)
    api.cudaStreamDestroy(stream);
}

int DeviceState::start(DeviceGuard &guard, std::string &error) {
  if (started)
    return select(guard, error);
  MPT_TRY(api.load(cudart, cublasLt, error) ? MPT_RT_OK : MPT_RT_UNSUPPORTED);
  MPT_TRY(selectDevice(api, guard, choice, device, architecture, error));
  started = true;
  // In kilohertz and bits; memory moves data twice a clock.
  int clock = 0, memoryClock = 0, memoryBus = 0;
  const std::pair<int, int *> attributes[] = {
      {kAttributeMultiprocessors, &multiprocessors},
      {kAttributeClock, &clock},
      {kAttributeMemoryClock, &memoryClock},
      {kAttributeMemoryBus, &memoryBus}};
  for (auto [attribute, value] : attributes)
    MPT_TRY(checkCode(api, api.cudaDeviceGetAttribute(value, attribute, device),
                      "the GPU", error));
  branchRates = getBranchRates(2e3 * memoryClock * memoryBus / 8,
                               1e3 * clock * multiprocessors *
                                   getTensorFlopsPerClock(architecture));
  return checkCode(api, api.cudaStreamCreateWithFlags(&stream, kNonBlocking), "a stream",
                   error);
}

int DeviceState::select(DeviceGuard &guard, std::string &error) {
  return checkCode(api, guard.select(device), "the GPU", error);
}

int64_t DeviceState::bytesToAllocate() const {
  return memory ? 0 : (static_cast<int64_t>(host.size()) + 255) / 256 * 256;
}

Error DeviceState::allocate() {
  const int64_t bytes = bytesToAllocate();
  if (bytes == 0)
    return kSuccess;
  void *block = nullptr;
  const Error code = api.cudaMalloc(&block, bytes);
  memory = static_cast<char *>(block);
  return code;
}

int DeviceState::upload(std::string &error) {
  if (isUploaded || host.empty())
    return MPT_RT_OK;
  // The call returns when it has read pageable memory.
  MPT_TRY(checkCode(
      api, api.cudaMemcpyAsync(memory, host.data(), host.size(), HostToDevice, stream),
      "copying state", error));
  isUploaded = true;
  host = {};
  return MPT_RT_OK;
}
