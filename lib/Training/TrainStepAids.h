//===- TrainStepAids.h - What practice adds to a training step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Learning-rate schedules, scaled and clipped groups of gradients, steps skipped for
/// their gradient norm, averages of weights: all as ops and state of the step. What
/// they compute stays f32 or f64 under every precision policy.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_TRAINSTEPAIDS_H
#define MPT_LIB_TRAINING_TRAINSTEPAIDS_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

namespace mpt::detail {

/// While it lives, marks what `builder` makes as f32 for autocast.
class KeepsPrecision : public mlir::OpBuilder::Listener {
public:
  explicit KeepsPrecision(mlir::OpBuilder &builder)
      : builder(builder), before(builder.getListener()) {
    builder.setListener(this);
  }
  ~KeepsPrecision() override { builder.setListener(before); }
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;

private:
  mlir::OpBuilder &builder;
  mlir::OpBuilder::Listener *before;
};

//===----------------------------------------------------------------------===//
// Learning rate
//===----------------------------------------------------------------------===//

/// The options of the same names.
struct LearningRateRule {
  llvm::StringRef schedule;
  int64_t warmup, total;
  double final;
  int64_t every;
  double gamma;

  bool isConstant() const { return schedule == "constant" && warmup == 0; }
};

/// Emits an error for `pass` if a value is out of range or missing.
mlir::LogicalResult checkLearningRate(mlir::Operation *op, llvm::StringRef pass,
                                      const LearningRateRule &rule);

/// `rate` (a float scalar) after `stepsTaken` (i64 scalar), of rate's type.
mlir::Value buildLearningRate(mlir::OpBuilder &builder, mlir::Location loc,
                              const LearningRateRule &rule, mlir::Value rate,
                              mlir::Value stepsTaken);

//===----------------------------------------------------------------------===//
// Groups of parameters
//===----------------------------------------------------------------------===//

/// What a text REGEX=NUMBER says, and the parameters that it is for, by position.
struct ParameterGroup {
  double number;
  llvm::SmallVector<unsigned> members;
};

/// Each parameter belongs to the first text that matches its name. A text that gets
/// none, or a number not above 0, is an error at `op`.
mlir::FailureOr<llvm::SmallVector<ParameterGroup>>
matchParameters(mlir::Operation *op, llvm::StringRef option,
                llvm::ArrayRef<std::string> texts, llvm::ArrayRef<llvm::StringRef> names);

/// `a` + `b`, at least f32.
mlir::Value addGradients(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a,
                         mlir::Value b);

/// `gradient` times `factor`, at least f32.
mlir::Value scaleGradient(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value gradient, double factor);

/// Replaces `gradients` by what clipping them to `limit` leaves, at least f32, and
/// returns their norm before. An infinite limit clips nothing: the norm alone is used.
mlir::Value clipGradients(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::MutableArrayRef<mlir::Value> gradients, double limit);

//===----------------------------------------------------------------------===//
// Spikes
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Averages of weights
//===----------------------------------------------------------------------===//

enum class EmaWarmup { None, Steps, BiasCorrection };

/// 1 - decay of step `step` (i64 scalar, 1 on the first step, whose weight is 1), f64.
mlir::Value buildEmaWeight(mlir::OpBuilder &builder, mlir::Location loc, double decay,
                           EmaWarmup warmup, mlir::Value step);

/// `average` + weight (`value` - `average`), by the formula of torch.lerp.
mlir::Value updateEma(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value average,
                      mlir::Value value, mlir::Value weight);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_TRAINSTEPAIDS_H
