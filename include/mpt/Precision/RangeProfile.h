//===- RangeProfile.h - Recorded magnitudes of a step's values -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-instrument` adds counts of magnitudes to a function's results, mpt-run
/// merges them over steps into a profile, autocast reads it back. This holds what
/// the three share: how a value is called, the profile and its file, and which of
/// its values a format cannot hold.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_RANGEPROFILE_H
#define MPT_PRECISION_RANGEPROFILE_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Precision/FloatFormats.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <limits>

namespace mpt {

//===----------------------------------------------------------------------===//
// What an instrumented function carries
//===----------------------------------------------------------------------===//

/// Calls ops by name, place and, where several of that name come from one place,
/// number: "mpt.matmul@net.mlir:12:8#1". Casts that autocast made are called
/// "autocast" and what instrumentation made is passed over, so that names are the
/// same before and after either. The folder of a file is left out, so that names outlive
/// a move.
class OpNames {
public:
  /// Names of all ops in `function`, in program order.
  explicit OpNames(mlir::Operation *function);
  /// Empty for an op that has none.
  llvm::StringRef lookup(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Operation *, std::string> names;
};

/// Calls an argument of a function by its `mpt.name`, else by its number:
/// "argument@w", "argument@#3".
std::string getArgumentName(mlir::FunctionOpInterface function, unsigned index);

/// "net.mlir:12:8" with its folder, a name, or "unknown": the first of those in
/// `location`.
std::string describeLocation(mlir::Location location);

//===----------------------------------------------------------------------===//
// The profile
//===----------------------------------------------------------------------===//

/// Figures of one value, over all its elements in all steps.
struct RecordedRange {
  std::string function, id, op, location, parameter, phase, type;
  int64_t result = 0;
  /// Largest and smallest finite magnitude; the latter infinite if there is none.
  double amax = 0, smallest = std::numeric_limits<double>::infinity();
  /// Counts. `counts[i]` magnitudes reach threshold i.
  double elements = 0;
  std::vector<double> counts;
  /// The first steps, from 1, with a NaN, an infinity, and a finite number that
  /// overflows in each of the formats; 0 if there was none.
  int64_t firstNaN = 0, firstInf = 0;
  std::vector<int64_t> firstOverflow;
  /// By format: of those of blocks, non-zero magnitudes in blocks of finite numbers
  /// alone that round to zero, and to a subnormal number.
  struct BlockCounts {
    double underflow = 0, subnormal = 0;
  };
  std::vector<BlockCounts> blocks;
};

struct RangeProfile {
  /// Steps that were merged, and those that the loss scaler skipped, which were not.
  int64_t steps = 0, skipped = 0;
  /// Formats, and formats of blocks, whose counts the profile has.
  std::vector<std::string> formats;
  /// Powers of two between the histogram's bins.
  std::vector<int64_t> edges;
  /// In program order.
  std::vector<RecordedRange> values;

  /// Counts of one value. All but `getNaN` count elements that are not NaN.
  static double getNaN(const RecordedRange &value) {
    return value.elements - value.counts.front();
  }
  static double getInf(const RecordedRange &value) { return value.counts.back(); }
  static double getNonZero(const RecordedRange &value) { return value.counts[1]; }
  /// Non-zero, finite magnitudes that round to zero, to a subnormal number, to no
  /// finite number in the format, which must be one of `formats`.
  double getUnderflow(const RecordedRange &value, llvm::StringRef format) const;
  double getSubnormal(const RecordedRange &value, llvm::StringRef format) const;
  double getOverflow(const RecordedRange &value, llvm::StringRef format) const;
  /// Finite magnitudes by bin: non-zero ones below the first edge, those between
  /// edges, those from the last edge on. Empty without edges.
  std::vector<double> getHistogram(const RecordedRange &value) const;
};

/// One JSON object per line: first the profile's own, then one per value.
std::string printRangeProfile(const RangeProfile &profile);
/// Reads what printRangeProfile wrote. Errors name `path` and the line.
llvm::Expected<RangeProfile> readRangeProfile(llvm::StringRef path);

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

struct RangeLimits {
  /// A value fits if this many times its largest magnitude does.
  double margin = 4;
  /// ... and at most this share of its non-zero elements rounds to zero.
  double underflowShare = 0.05;
};

/// True if `value` was seen with a magnitude that `format` cannot hold with the
/// margin, or with more underflow than the limit. The profile must count `format`.
bool isOutOfRange(const RangeProfile &profile, const RecordedRange &value,
                  const FloatFormat &format, const RangeLimits &limits);

/// The profile's values found in a module.
struct MatchedRanges {
  /// By value: true if it is out of range.
  llvm::DenseMap<mlir::Value, bool> values;
};

/// Looks for all values of `profile` in the functions under `root`, by function, op
/// name, place and number.
MatchedRanges matchRanges(mlir::Operation *root, const RangeProfile &profile,
                          const FloatFormat &format, const RangeLimits &limits);

} // namespace mpt

#endif // MPT_PRECISION_RANGEPROFILE_H
