//===- TrainingPipeline.cpp - From a loss function to a step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/TrainingOptions.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mpt;

StringRef mpt::getDefaultLossScale(StringRef type) {
  return type == "f16" ? "dynamic" : "none";
}

std::string mpt::describeOptionError(StringRef message) {
  // The text itself and where it stands follow on further lines.
  StringRef reason = message.split('\n').first;
  for (StringRef prefix : {"error: ", "<Pass-Options-Parser>: "})
    if (reason.contains(prefix))
      reason = reason.split(prefix).second;
  // The parser prints a value that an option cannot take by itself.
  return reason.empty() ? "a value cannot be read, see the line above" : reason.str();
}

LogicalResult mpt::addPass(OpPassManager &passes, std::unique_ptr<Pass> pass,
                           StringRef text, StringRef origin, EmitError emitError) {
  auto fail = [&](const Twine &message) {
    return emitError(origin + describeOptionError(message.str()));
  };
  if (failed(pass->initializeOptions(text, fail)))
    return failure();
  passes.addPass(std::move(pass));
  return success();
}

LogicalResult mpt::buildTrainingPipeline(OpPassManager &passes,
                                         const TrainingOptions &options,
                                         EmitError emitError) {
  auto add = [&](auto createPass, const auto &settings) {
    return addPass(passes, createPass(settings.options), settings.text, settings.origin,
                   emitError);
  };
  if (options.castParameters) {
    CastParametersPassOptions cast = *options.castParameters;
    cast.function = options.function;
    passes.addPass(createCastParametersPass(cast));
  }
  if (!options.isStep) {
    AutodiffPassOptions autodiff;
    autodiff.function = options.function;
    passes.addPass(createAutodiffPass(autodiff));
    if (auto accumulate = options.accumulate) {
      accumulate->options.function = options.function;
      if (failed(add([](auto o) { return createAccumulatePass(o); }, *accumulate)))
        return failure();
    }
    if (auto parallel = options.dataParallel) {
      parallel->options.function = options.function;
      if (failed(add([](auto o) { return createDataParallelPass(o); }, *parallel)))
        return failure();
    }
    if (auto shards = options.shardOptimizer) {
      shards->options.function = options.function;
      if (failed(add([](auto o) { return createShardOptimizerPass(o); }, *shards)))
        return failure();
    }
    if (auto shards = options.shardParameters) {
      shards->options.function = options.function;
      if (failed(add([](auto o) { return createShardParametersPass(o); }, *shards)))
        return failure();
    }
    auto trainStep = options.trainStep;
    trainStep.options.function = options.function;
    if (failed(add([](auto o) { return createTrainStepPass(o); }, trainStep)))
      return failure();
  }
  auto fp8 = options.fp8;
  if (fp8)
    fp8->options.function = options.function;
  auto addFp8 = [&] {
    return fp8 ? add([](auto o) { return createFp8Pass(o); }, *fp8) : success();
  };
  // Recipes with a scale for each block have no state, so that they may follow autocast:
  // what is kept between their matmuls is then stored as autocast says.
  const bool isLast =
      fp8 && (fp8->options.recipe == "deepseek" || fp8->options.recipe == "mxfp8");
  if (!isLast && failed(addFp8()))
    return failure();
  if (options.optimizerState &&
      failed(add([](auto o) { return createOptimizerStatePass(o); },
                 *options.optimizerState)))
    return failure();
  if (options.masterWeights || options.hasDefaultMasters) {
    auto masters =
        options.masterWeights.value_or(PassSettings<MasterWeightsPassOptions>());
    if (failed(add([](auto o) { return createMasterWeightsPass(o); }, masters)))
      return failure();
  }
  if (options.lossScale &&
      failed(add([](auto o) { return createLossScalePass(o); }, *options.lossScale)))
    return failure();
  passes.addPass(createValidateLossScalePass());
  if (options.autocast &&
      failed(add([](auto o) { return createAutocastPass(o); }, *options.autocast)))
    return failure();
  if (isLast && failed(addFp8()))
    return failure();
  // What is read in half precision stays cut.
  if (options.shardOptimizer)
    passes.addPass(createJoinAfterUpdatePass());
  return success();
}
