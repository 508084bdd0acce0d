//===- MixedPrecision.cpp - From a forward function to a mixed-precision step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/Pipelines.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Training/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mpt;

void mpt::buildMixedPrecisionPipeline(OpPassManager &passes,
                                      const MixedPrecisionOptions &options) {
  if (options.from == "forward") {
    AutodiffPassOptions autodiff;
    autodiff.function = options.function;
    passes.addPass(createAutodiffPass(autodiff));
    if (options.accumulate > 1) {
      AccumulatePassOptions accumulate;
      accumulate.function = options.function;
      accumulate.steps = options.accumulate;
      passes.addPass(createAccumulatePass(accumulate));
    }
    TrainStepPassOptions step;
    step.function = options.function;
    step.optimizer = options.optimizer;
    step.lr = options.lr;
    step.weightDecay = options.weightDecay;
    step.clipNorm = options.clipNorm;
    passes.addPass(createTrainStepPass(step));
  }
  MasterWeightsPassOptions masters;
  masters.kind = options.masterWeights;
  passes.addPass(createMasterWeightsPass(masters));
  std::string mode = options.lossScale;
  if (mode == "auto")
    mode = options.type == "f16" ? "dynamic" : "none";
  if (mode != "none") {
    LossScalePassOptions scale;
    scale.mode = mode;
    if (mode == "amax")
      scale.type = options.type;
    passes.addPass(createLossScalePass(scale));
  }
  passes.addPass(createValidateLossScalePass());
  AutocastPassOptions autocast;
  autocast.type = options.type;
  passes.addPass(createAutocastPass(autocast));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}
