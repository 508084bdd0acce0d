//===- ReportToken.h - One rank of a machine reports ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMM_REPORTTOKEN_H
#define MPT_LIB_RUNTIME_COMM_REPORTTOKEN_H

#include "Neighbors.h"

#include <atomic>
#include <cstdint>

namespace mpt::rt {

/// A flag in memory that the ranks of a machine share, which one of them takes: when all
/// end for one reason, that one reports it. Beside it is the rank that was lost first:
/// those that noticed that end, too, and others would take them for the cause. The memory
/// has no name and goes with the ranks. Where it cannot be shared, each rank has its own.
class ReportToken {
public:
  ReportToken();
  ~ReportToken();
  ReportToken(const ReportToken &) = delete;
  ReportToken &operator=(const ReportToken &) = delete;

  /// The descriptor that other ranks find the memory by; -1: none.
  int32_t getDescriptor() const { return descriptor; }
  /// Takes part in the flag that `process`, of this machine, has at `descriptor`. Before
  /// the first `take`.
  void join(const ProcessId &process, int32_t descriptor);
  /// True for the first that asks. For signal handlers, too.
  bool take() { return !shared->isTaken.exchange(true); }
  /// This rank has found that `rank` is lost. Returns the one that was first found to be,
  /// by any rank of the machine. For signal handlers, too.
  int32_t agreeOnLost(int32_t rank) {
    int32_t known = 0;
    return shared->lost.compare_exchange_strong(known, rank + 1) ? rank : known - 1;
  }

private:
  struct Shared {
    std::atomic<bool> isTaken{false};
    /// The rank, counted from 1; 0: none.
    std::atomic<int32_t> lost{0};
  };
  static Shared *map(int descriptor);

  Shared own;
  Shared *shared = &own;
  int32_t descriptor = -1;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_REPORTTOKEN_H
