//===- MixedPrecision.cpp - From a forward function to a mixed-precision step -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/Pipelines.h"

using namespace mlir;
using namespace mpt;

FailureOr<TrainingOptions> mpt::getTrainingOptions(const MixedPrecisionOptions &options,
                                                   EmitError emitError) {
  if (options.from != "forward" && options.from != "step")
    return emitError("mpt-mixed-precision: from: expected forward or step, found '" +
                     options.from + "'");
  TrainingOptions training;
  training.function = options.function;
  training.isStep = options.from == "step";
  if (training.isStep)
    for (auto [name, isGiven] :
         {std::pair("accumulate", options.accumulate.hasValue()),
          std::pair("optimizer", options.optimizer.hasValue()),
          std::pair("lr", options.lr.hasValue()),
          std::pair("weight-decay", options.weightDecay.hasValue()),
          std::pair("clip-norm", options.clipNorm.hasValue())})
      if (isGiven)
        return emitError("mpt-mixed-precision: " + Twine(name) +
                         " is for a forward function, and from=step says that this is a "
                         "step; leave one of them out");
  if (options.accumulate != 1)
    training.accumulate.emplace().options.steps = options.accumulate;
  TrainStepPassOptions &step = training.trainStep.options;
  step.optimizer = options.optimizer;
  step.lr = options.lr;
  step.weightDecay = options.weightDecay;
  step.clipNorm = options.clipNorm;
  training.masterWeights.emplace().options.kind = options.masterWeights;
  std::string mode = options.lossScale;
  if (mode == "auto")
    mode = getDefaultLossScale(options.type);
  if (mode != "none") {
    LossScalePassOptions &scale = training.lossScale.emplace().options;
    scale.mode = mode;
    if (mode == "amax")
      scale.type = options.type;
  }
  training.autocast.emplace().options.type = options.type;
  return training;
}
