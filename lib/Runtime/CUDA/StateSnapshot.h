//===- StateSnapshot.h - State as it was between two runs -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A copy of the state within the GPU's memory, made between two runs by their stream. A
/// stream of its own brings it to the host while runs go on, for a thread of its own.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_STATESNAPSHOT_H
#define MPT_LIB_RUNTIME_CUDA_STATESNAPSHOT_H

#include "DeviceState.h"

#include <memory>

namespace mpt::rt::cuda {

class StateSnapshot {
public:
  explicit StateSnapshot(std::shared_ptr<DeviceState> state) : state(std::move(state)) {}
  /// Waits for copies that are under way.
  ~StateSnapshot();
  StateSnapshot(const StateSnapshot &) = delete;
  StateSnapshot &operator=(const StateSnapshot &) = delete;

  // Both return an mpt_rt_status; `error` says more.

  /// Begins a copy of `bytes` bytes of state, on the thread of the runs. Sets `fits` to
  /// whether the GPU has memory for it; else there is none.
  int take(int64_t bytes, bool &fits, std::string &error);
  /// Copies bytes of it to the host, on any thread.
  int read(int64_t offset, int64_t bytes, void *data, std::string &error);

private:
  const std::shared_ptr<DeviceState> state;
  char *copy = nullptr, *pinned = nullptr;
  int64_t copied = 0;
  Stream stream = nullptr;
  Event made = nullptr;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_STATESNAPSHOT_H
