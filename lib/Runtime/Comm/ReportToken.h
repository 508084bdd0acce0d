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
/// end for one reason, that one reports it. The memory has no name and goes with the
/// ranks. Where it cannot be shared, each rank has a flag of its own.
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
  bool take() { return !flag->exchange(true); }

private:
  using Flag = std::atomic<bool>;
  static Flag *map(int descriptor);

  Flag own{false};
  Flag *flag = &own;
  int32_t descriptor = -1;
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMM_REPORTTOKEN_H
