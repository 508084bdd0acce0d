//===- SpikeSkipping.h - Steps whose gradient norm spikes -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_SPIKESKIPPING_H
#define MPT_LIB_TRAINING_SPIKESKIPPING_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

namespace mpt::detail {

/// The options of the same names.
struct SpikeRule {
  double deviations, alpha;
  int64_t warmup, patience;
};

mlir::LogicalResult checkSpikes(mlir::Operation *op, const SpikeRule &rule);

/// State of the statistics before a step, or after it.
struct SpikeState {
  /// f64 scalars; i64 scalars: norms in the statistics, spikes in a row.
  mlir::Value mean, variance, count, spikes;
};

struct SpikeDecision {
  /// i1 scalar: the step is to be taken.
  mlir::Value isNormal;
  /// Mean, variance and count are for a step that is taken.
  SpikeState after;
};

/// ZClip's statistics with `skip_update_on_spike` (Kumar et al. 2025): mean and
/// variance of the first `warmup` norms, then moving ones. A spike is skipped, as
/// OLMo-core's SkipStepOptimizer does, instead of clipped. A norm that is not finite
/// is a spike always.
SpikeDecision detectSpike(mlir::OpBuilder &builder, mlir::Location loc,
                          const SpikeRule &rule, const SpikeState &state,
                          mlir::Value norm);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_SPIKESKIPPING_H
