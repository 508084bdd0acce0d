//===- TrainingOptions.h - From a loss function to a step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pipeline that makes a training step, and its options. mpt-run,
/// `mpt-mixed-precision` and `mpt-apex` fill in the options in their own way and share
/// the pipeline.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PIPELINES_TRAININGOPTIONS_H
#define MPT_PIPELINES_TRAININGOPTIONS_H

#include "mpt/Parallel/Passes.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Training/Passes.h"

#include <optional>
#include <string>

namespace mpt {

/// How one pass of the pipeline is configured.
template <typename PassOptions>
struct PassSettings {
  PassOptions options;
  /// Further options that a user wrote, as in --mpt-train-step="lr=1e-3". They take
  /// precedence over `options`.
  std::string text;
  /// Where the text comes from; errors about it begin so, as in "--optimizer: ".
  std::string origin;
};

/// Options of the training pipeline, pass by pass in the order in which they run. The
/// name of the function goes to each pass that takes one; the builder sets it.
struct TrainingOptions {
  /// The function to make a step of.
  std::string function = "loss";
  /// The function is a whole step: it is not differentiated, and gets no optimizer.
  bool isStep = false;
  /// Parameters in 16 bits; nullopt leaves their types as they are.
  std::optional<CastParametersPassOptions> castParameters;
  /// Micro-batches per step; nullopt: one.
  std::optional<PassSettings<AccumulatePassOptions>> accumulate;
  /// The ranks that train together; nullopt: one.
  std::optional<PassSettings<DataParallelPassOptions>> dataParallel;
  /// How they hold the optimizer's state together; nullopt: each holds all of it.
  std::optional<PassSettings<ShardOptimizerPassOptions>> shardOptimizer;
  /// The same, with parameters that are joined whenever they are needed; not with
  /// `shardOptimizer`.
  std::optional<PassSettings<ShardParametersPassOptions>> shardParameters;
  PassSettings<TrainStepPassOptions> trainStep;
  /// nullopt: no 8-bit floats.
  std::optional<PassSettings<Fp8PassOptions>> fp8;
  /// nullopt: moments in f32.
  std::optional<PassSettings<OptimizerStatePassOptions>> optimizerState;
  /// nullopt: the default kind.
  std::optional<PassSettings<MasterWeightsPassOptions>> masterWeights;
  /// Parameters that the function declares in 16 bits get f32 masters if masterWeights is
  /// nullopt; without that they are refused, as Apex does at O0 and O1. Parameters in f32
  /// are their own masters.
  bool hasDefaultMasters = true;
  /// nullopt: no loss scale.
  std::optional<PassSettings<LossScalePassOptions>> lossScale;
  /// nullopt: everything is computed in the types of the function.
  std::optional<PassSettings<AutocastPassOptions>> autocast;
};

/// The mode of `mpt-loss-scale` that a step computed in `type` (f32, bf16 or f16) needs
/// unless the user chooses one: "dynamic" for f16, else "none".
llvm::StringRef getDefaultLossScale(llvm::StringRef type);

using EmitError = llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;

/// The first line of what MLIR's parser of options or pipelines says, without the place
/// in the text that it points into.
std::string describeOptionError(llvm::StringRef message);

/// Adds `pass` with the further options in `text`. Fails, after `emitError` got a message
/// that begins with `origin`, if they cannot be read.
llvm::LogicalResult addPass(mlir::OpPassManager &passes, std::unique_ptr<mlir::Pass> pass,
                            llvm::StringRef text, llvm::StringRef origin,
                            EmitError emitError);

/// Adds the passes from a loss function (or a step) to a training step in the precision
/// that `options` ask for. Fails, after `emitError` has said why, if a pass cannot read
/// the text of its settings.
llvm::LogicalResult buildTrainingPipeline(mlir::OpPassManager &passes,
                                          const TrainingOptions &options,
                                          EmitError emitError);

} // namespace mpt

#endif // MPT_PIPELINES_TRAININGOPTIONS_H
