//===- RangeRecorder.h - Records of a run, merged ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_RUN_RANGERECORDER_H
#define MPT_LIB_TOOLS_MPT_RUN_RANGERECORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Host/EventLog.h"
#include "mpt/Precision/RangeProfile.h"

namespace mpt {

/// Merges what the results of an instrumented function say, step by step.
class RangeRecorder {
public:
  /// Reads which results hold records; nothing if `function` has none, an error if
  /// they are not as `--mpt-instrument` writes them.
  static llvm::Expected<std::optional<RangeRecorder>> create(mlir::func::FuncOp function);

  /// Adds the results of attempt `attempt` (from 1). The figures of one that the
  /// loss scaler skipped are left out, but for what `warn` tells.
  void add(const llvm::StringMap<HostTensor> &results, int64_t attempt, bool skipped);

  /// Writes a histogram of the exponents of each value's magnitudes (log2) in one step
  /// to `events`, if the records have histograms.
  llvm::Error writeHistograms(EventLog &events,
                              const llvm::StringMap<HostTensor> &results,
                              int64_t attempt) const;

  const RangeProfile &getProfile() const { return profile; }

  /// A line each for the first NaN, the first infinity and the first overflow: in
  /// the first step that has one, the first in program order.
  void warn(llvm::raw_ostream &os) const;

private:
  struct Names {
    /// The last is empty without formats of blocks.
    std::string amax, smallest, counts, blocks;
  };
  RangeProfile profile;
  /// Elements of each value in one step.
  std::vector<double> elements;
  std::vector<Names> names;
};

/// A page with the histograms of `profile` against the ranges of the formats. It
/// needs nothing else: no network, no scripts.
std::string renderRangePage(const RangeProfile &profile, llvm::StringRef title);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_RUN_RANGERECORDER_H
