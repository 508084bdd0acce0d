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

TrainingOptions mpt::getTrainingOptions(const MixedPrecisionOptions &options) {
  TrainingOptions training;
  training.function = options.function;
  training.isStep = options.from != "forward";
  if (options.accumulate > 1)
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
