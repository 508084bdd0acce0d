//===- KeptResults.h - What runs have made, in the host's memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Copies of some of the GPU's memory as each of the last two runs left it, made while
/// the next run is under way: the stream of the runs copies it within the GPU's memory,
/// and a stream of its own takes it from there to pinned memory.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CUDA_KEPTRESULTS_H
#define MPT_LIB_RUNTIME_CUDA_KEPTRESULTS_H

#include "DeviceState.h"

#include <memory>
#include <vector>

namespace mpt::rt::cuda {

class KeptResults {
public:
  /// Of the GPU's memory: of the block of the state, or of the program's own.
  struct Part {
    const char *data;
    int64_t bytes;
    bool isState;
  };

  explicit KeptResults(std::shared_ptr<DeviceState> state) : state(std::move(state)) {}
  /// Waits for copies that are under way.
  ~KeptResults();
  KeptResults(const KeptResults &) = delete;
  KeptResults &operator=(const KeptResults &) = delete;

  /// What `allocate` takes of the GPU's memory for copies of `parts`, which may be told
  /// by their distances from the beginnings of their blocks, if it has that much.
  static int64_t countBytes(const std::vector<Part> &parts);
  /// What it has taken.
  int64_t countBytes() const { return parked ? 2 * bytes : 0; }

  // The GPU is the thread's. The first two return an mpt_rt_status; `error` says more.

  /// Takes the memory for copies of `parts`. Where the GPU has none left, or they are
  /// large, runs wait until they are copied.
  int allocate(const std::vector<Part> &parts, std::string &error);
  /// After a run has been put into the stream: copies what it makes.
  int copy(std::string &error);
  /// When the copies of the last run are made, or of the one before it (`ago` 1); null
  /// once the host has waited for that.
  Event getEvent(int ago) const {
    return hasWaited[getHalf(ago)] ? nullptr : fetched[getHalf(ago)];
  }
  void setWaited(int ago) { hasWaited[getHalf(ago)] = true; }
  /// The same run's copy of part `part`, once the host has waited for that.
  const char *find(int ago, size_t part) const {
    return pinned + getHalf(ago) * bytes + places[part];
  }

private:
  /// What one copy takes: parts that lie next to each other.
  struct Span {
    const char *data;
    int64_t bytes, at;
    bool isState;
  };
  struct Layout {
    std::vector<Span> spans;
    /// Of each part.
    std::vector<int64_t> places;
    int64_t bytes = 0;
  };
  static Layout layOut(const std::vector<Part> &parts);

  int64_t getHalf(int ago) const { return (copies - 1 - ago) % 2; }

  const std::shared_ptr<DeviceState> state;
  std::vector<Span> spans;
  std::vector<int64_t> places;
  /// Of the copies of one run; both blocks have those of two.
  int64_t bytes = 0, copies = 0;
  char *pinned = nullptr, *parked = nullptr;
  Stream stream = nullptr;
  bool hasWaited[2] = {false, false};
  /// The run is done; its copies are.
  Event made[2] = {nullptr, nullptr}, fetched[2] = {nullptr, nullptr};
};

} // namespace mpt::rt::cuda

#endif // MPT_LIB_RUNTIME_CUDA_KEPTRESULTS_H
