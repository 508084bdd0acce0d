//===- LossScaleRule.h - How a loss scale moves -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dynamic loss scales of eight libraries as rows of one table, and the ops that
/// move a scale by such a row.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_LOSSSCALERULE_H
#define MPT_DIALECT_MPT_TRANSFORMS_LOSSSCALERULE_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// What bad steps are tolerated before the scale falls. All count them in one state.
enum class Hysteresis : uint8_t {
  /// None: every bad step lowers the scale.
  None,
  /// Megatron-LM: the counter starts at `hysteresis` and falls on each bad step; at 0
  /// and below each one lowers the scale. Growth alone refills it.
  UntilGrowth,
  /// DeepSpeed: the counter falls to 1 on bad steps; at 1 each one lowers the scale.
  /// Growth refills it.
  AtOne,
  /// DeepSpeed with consecutive_hysteresis: so does any good step.
  AtOneConsecutive,
  /// Paddle: every `hysteresis`-th bad step in a row lowers the scale.
  EveryNth,
};

/// A bad step (a gradient is not finite) multiplies the scale by `backoff`, but not
/// below `min`, and the `interval`-th good step in a row by `growth`, but not above
/// `max`, nor to infinity if `checkFinite`. 0: no bound.
struct LossScaleRule {
  llvm::StringRef name;
  double init, growth, backoff;
  int64_t interval;
  double min, max;
  bool checkFinite;
  Hysteresis kind;
  int64_t hysteresis;
  /// DeepSpeed since 0.18: after a bad step, and at first, growth takes one more good
  /// step.
  bool growsLate = false;
};

/// Sources: torch.amp.GradScaler; tf.mixed_precision (the dynamic scale of
/// tf_keras's LossScaleOptimizer); keras 3's LossScaleOptimizer; apex.amp's LossScaler;
/// Megatron-LM's DynamicGradScaler; DeepSpeed's DynamicLossScaler with its
/// configuration's defaults, up to 0.17 and since 0.18; jmp's DynamicLossScale;
/// paddle.amp.GradScaler. PyTorch's is the first.
llvm::ArrayRef<LossScaleRule> getLossScaleRules();

struct LossScaleState {
  /// A float scalar; i32 good steps in a row; i32 counter of bad steps, or null.
  mlir::Value scale, good, bad;
};

/// The state after a step. `rule` must have all of its values.
LossScaleState updateLossScale(mlir::OpBuilder &builder, mlir::Location loc,
                               const LossScaleRule &rule, LossScaleState state,
                               mlir::Value allFinite);

/// What a scale is chosen by the largest gradients with.
struct AmaxScaleRule {
  /// The largest finite number of the type that gradients have.
  double largest;
  /// The scale is the greatest power of two with which the largest of the recorded
  /// magnitudes times `margin` stays at or below `largest`.
  double margin;
  double backoff, min, max;
};

/// The scale after a step that recorded `history` (f32 [steps], unscaled magnitudes,
/// zeros where there are none); a bad step multiplies it by `backoff`.
mlir::Value chooseLossScale(mlir::OpBuilder &builder, mlir::Location loc,
                            const AmaxScaleRule &rule, mlir::Value scale,
                            mlir::Value history, mlir::Value allFinite);

/// The largest magnitude among all of `gradients`, f32.
mlir::Value getLargestMagnitude(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::ValueRange gradients);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_LOSSSCALERULE_H
