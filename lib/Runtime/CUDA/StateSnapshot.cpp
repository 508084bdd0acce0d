//===- StateSnapshot.cpp - State as it was between two runs -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSnapshot.h"
#include "mpt/Runtime/Runtime.h"

#include <algorithm>
#include <cstring>

using namespace mpt::rt;
using namespace mpt::rt::cuda;

/// Returns from the calling function if `expression` fails.
#define MPT_TRY(expression)                                                              \
  if (int status = (expression))                                                         \
  return status

/// Of pinned memory: what is copied to the host at a time.
static constexpr int64_t kPiece = 4 << 20;

/// Libraries take some of the GPU's memory when they first need it.
static int64_t getReserve(int64_t total) {
  return std::min<int64_t>(total / 32, 256 << 20);
}

StateSnapshot::~StateSnapshot() {
  const Api &api = state->api;
  DeviceGuard guard(api);
  if (!guard.selectToRelease(state->device))
    return;
  if (stream) {
    api.cudaStreamSynchronize(stream);
    api.cudaStreamDestroy(stream);
  }
  if (made)
    api.cudaEventDestroy(made);
  if (pinned)
    api.cudaFreeHost(pinned);
  if (copy)
    api.cudaFree(copy);
  state->snapshotBytes -= copied;
}

int StateSnapshot::take(int64_t bytes, bool &fits, std::string &error) {
  const Api &api = state->api;
  auto attempt = [&](Error code) {
    return checkCode(api, code, "a copy of the state", error);
  };
  DeviceGuard guard(api);
  MPT_TRY(state->select(guard, error));
  size_t unused = 0, total = 0;
  MPT_TRY(attempt(api.cudaMemGetInfo(&unused, &total)));
  fits = bytes + getReserve(static_cast<int64_t>(total)) <= static_cast<int64_t>(unused);
  void *block = nullptr;
  const int64_t size = (std::max<int64_t>(bytes, 1) + 255) / 256 * 256;
  const Error code = fits ? api.cudaMalloc(&block, size) : kSuccess;
  // Not in one piece.
  fits = fits && code != kOutOfMemory;
  if (!fits)
    return MPT_RT_OK;
  MPT_TRY(attempt(code));
  copy = static_cast<char *>(block);
  state->snapshotBytes += copied = size;
  MPT_TRY(attempt(api.cudaMallocHost(&block, kPiece)));
  pinned = static_cast<char *>(block);
  MPT_TRY(attempt(api.cudaStreamCreateWithFlags(&stream, kNonBlocking)));
  MPT_TRY(attempt(api.cudaEventCreateWithFlags(&made, kEventNoTiming)));
  MPT_TRY(attempt(
      api.cudaMemcpyAsync(copy, state->memory, bytes, DeviceToDevice, state->stream)));
  MPT_TRY(attempt(api.cudaEventRecord(made, state->stream)));
  return attempt(api.cudaStreamWaitEvent(stream, made, 0));
}

int StateSnapshot::read(int64_t offset, int64_t bytes, void *data, std::string &error) {
  const Api &api = state->api;
  auto attempt = [&](Error code) {
    return checkCode(api, code, "reading a copy of the state", error);
  };
  DeviceGuard guard(api);
  MPT_TRY(state->select(guard, error));
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const int64_t count = std::min(bytes - at, kPiece);
    MPT_TRY(attempt(
        api.cudaMemcpyAsync(pinned, copy + offset + at, count, DeviceToHost, stream)));
    MPT_TRY(attempt(api.cudaStreamSynchronize(stream)));
    std::memcpy(static_cast<char *>(data) + at, pinned, count);
  }
  return MPT_RT_OK;
}
