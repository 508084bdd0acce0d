//===- StepProfile.h - Where a step spends its time -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measured times of a step's library calls and kernels, beside what the machine could
/// do at best, in groups, as text, JSON and a page.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_STEPPROFILE_H
#define MPT_HOST_STEPPROFILE_H

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpt {

/// One library call or kernel of a step.
struct ProfileEntry {
  /// The name of the call, or "kernel"; on a GPU what rt::getKernelKind says.
  std::string call;
  /// Where in the source it comes from.
  std::string location;
  double milliseconds = 0;
  /// What rt::InstructionCost says of it, with the type as MLIR spells it.
  double flops = 0, bytes = 0;
  std::string type;
  /// Which of the program's instructions it is.
  int64_t number = 0;
};

/// What a machine does at most, measured on it.
struct MachineRates {
  /// Multiplications and additions per second, by the type of the operands of a matmul or
  /// convolution.
  std::map<std::string, double> flops;
  /// Bytes that a copy reads and writes per second.
  double bytes = 0;

  /// Milliseconds that an entry takes at least: at the peak of its arithmetic or at the
  /// rate of a copy, whichever is longer. What lies in a cache can be faster.
  double getBound(const ProfileEntry &entry) const;
};

/// A step's exchanges with other ranks, waiting for slower ones included.
struct ExchangeProfile {
  /// Milliseconds of all, and of those in which the step did nothing else.
  double milliseconds = 0, exposed = 0;
  /// Bytes sent.
  double bytes = 0;
};

struct StepProfile {
  /// In the order in which they run. Times are means over `steps` steps.
  std::vector<ProfileEntry> entries;
  int64_t steps = 0;
  /// Nullopt: not measured.
  std::optional<MachineRates> rates;
  /// Nullopt: of a step of one process.
  std::optional<ExchangeProfile> exchanges;

  bool empty() const { return entries.empty(); }
};

/// Entries with one name, added up.
struct ProfileGroup {
  std::string name;
  int64_t count = 0;
  double milliseconds = 0, flops = 0, bytes = 0;
  /// The sum of the entries' bounds.
  double bound = 0;
};
/// The entries of each call, or of each source location, longest first.
std::vector<ProfileGroup> groupByCall(const StepProfile &profile);
std::vector<ProfileGroup> groupBySource(const StepProfile &profile);

/// Tables of both groups. Of the sources the 20 that take longest are printed.
void printProfile(llvm::raw_ostream &os, llvm::StringRef title,
                  const StepProfile &profile);
/// One object: "steps", "ms" of a step, "rates" (null, or FLOP/s by type and bytes/s),
/// "exchanges" ("ms", "exposed_ms" and "bytes" of steps of several ranks),
/// "calls" and "sources" (groups: "name", "count", "ms", "flops", "bytes", "bound_ms"),
/// and "instructions" in the order in which they run.
std::string printProfileJSON(const StepProfile &profile);
std::string renderProfilePage(const StepProfile &profile, llvm::StringRef title);

} // namespace mpt

#endif // MPT_HOST_STEPPROFILE_H
