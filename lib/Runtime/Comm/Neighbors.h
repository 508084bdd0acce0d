//===- Neighbors.h - Ranks of the same machine ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether the process of another rank still runs, as far as this machine can see it. A
/// rank that has ended or was stopped is then noticed long before a deadline that leaves
/// time to compile.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMM_NEIGHBORS_H
#define MPT_LIB_RUNTIME_COMM_NEIGHBORS_H

#include <cstdint>
#include <vector>

namespace mpt::rt {

/// A process of some machine: its number there, and when it started, in ticks since that
/// machine did.
struct ProcessId {
  int64_t number = 0, start = 0;
};

enum class ProcessState { Runs, Stopped, Ended };

/// This process; zeros if the system does not say.
ProcessId getOwnProcess();
/// What has become of `process`, which is one of this machine.
ProcessState getState(const ProcessId &process);

/// The processes of all ranks.
class Neighbors {
public:
  /// While all ranks run: those of other machines, or in other containers, are not found
  /// here, and always count as running.
  void set(std::vector<ProcessId> all);
  ProcessState find(int32_t rank) const;
  /// The first rank but `own` whose process has ended; -1: none. For signal handlers,
  /// too.
  int32_t findEnded(int32_t own) const;
  /// The first rank of this machine; -1 if none is known here.
  int32_t findFirst() const;
  const ProcessId &get(int32_t rank) const { return processes[rank]; }
  int32_t size() const { return static_cast<int32_t>(processes.size()); }

private:
  /// Number 0: not of this machine.
  std::vector<ProcessId> processes;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_NEIGHBORS_H
