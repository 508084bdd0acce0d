//===- DeviceState.h - State in a GPU's memory ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_DEVICESTATE_H
#define MPT_LIB_RUNTIME_CUDA_DEVICESTATE_H

#include "CudaApi.h"
#include "mpt/ProgramABI/BranchPlan.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace mpt::rt::cuda {

/// Gives the thread the GPU back that it had when it called MPT.
class DeviceGuard {
public:
  explicit DeviceGuard(const Api &api) : api(api) {}
  ~DeviceGuard() {
    if (previous >= 0)
      api.cudaSetDevice(previous);
  }
  DeviceGuard(const DeviceGuard &) = delete;
  DeviceGuard &operator=(const DeviceGuard &) = delete;
  /// Makes `device` the thread's.
  Error select(int device);
  /// The same in order to give back what lies there. False if CUDA was not loaded, or, at
  /// the end of a process, has gone first: then there is nothing to be given back to.
  bool selectToRelease(int device);

private:
  const Api &api;
  int previous = -1;
};

/// Which GPU a program runs on.
struct DeviceChoice {
  /// CUDA's number of it, or, if `isLocalRank`, the number of this rank among those of
  /// its machine.
  int number = 0;
  bool isLocalRank = false;
};

/// Makes the GPU that `choice` means this thread's, until `guard` ends, and sets `device`
/// to CUDA's number of it and `architecture` to its own (90 for sm_90). Returns an
/// mpt_rt_status; `error` says more.
int selectDevice(const Api &api, DeviceGuard &guard, const DeviceChoice &choice,
                 int &device, int &architecture, std::string &error);

/// An mpt_rt_status for what a function of CUDA returned; `error` says more.
int checkCode(const Api &api, Error code, const std::string &what, std::string &error);

/// A GPU, the state in its memory, and the stream in which the work of all programs that
/// have this state is done, one after the other. Until the first of them runs there is no
/// GPU, and state lies in the host's memory.
class DeviceState {
public:
  DeviceState(std::string cudart, std::string cublasLt, DeviceChoice choice,
              int64_t bytes)
      : choice(choice), host(bytes, 0), cudart(std::move(cudart)),
        cublasLt(std::move(cublasLt)) {}
  ~DeviceState();
  DeviceState(const DeviceState &) = delete;
  DeviceState &operator=(const DeviceState &) = delete;

  /// Loads CUDA and takes the GPU and a stream, or selects the GPU that was taken.
  /// Returns an mpt_rt_status, as what follows does; `error` says more.
  int start(DeviceGuard &guard, std::string &error);
  /// Makes the GPU this thread's while `guard` lives.
  int select(DeviceGuard &guard, std::string &error);
  /// Copies the values from the host to the GPU's memory, if they are not there.
  int upload(std::string &error);

  /// Bytes of the GPU's memory that `allocate` takes: none if it has them.
  int64_t bytesToAllocate() const;
  /// Takes the GPU's memory, if it has none. CUDA's own result.
  Error allocate();

  const DeviceChoice choice;
  /// CUDA's number of the GPU, once it is taken.
  int device = 0;
  Api api;
  int architecture = 0, multiprocessors = 0;
  /// What the GPU does in a second, for planning branches.
  BranchRates branchRates;
  Stream stream = nullptr;
  /// Where the state lies on the GPU, and in the host's memory, until it is uploaded.
  char *memory = nullptr;
  std::vector<char> host;
  /// Bytes of the GPU's memory that snapshots of the state take.
  std::atomic<int64_t> snapshotBytes = 0;
  /// There may be something to destroy; the state's values are on the GPU.
  bool started = false, isUploaded = false;
  /// Work was started that does not end: what waits for it, or frees memory, never would.
  bool isStuck = false;
  /// The first failure of the device; nothing runs after it.
  int failed = 0;
  std::string failure;

private:
  std::string cudart, cublasLt;
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_DEVICESTATE_H
