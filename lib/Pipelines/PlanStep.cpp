//===- PlanStep.cpp - From a training step to a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/Pipelines.h"
#include "mpt/Transforms/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mpt;

void mpt::buildPlanStepPipeline(OpPassManager &passes,
                                const PlanStepOptions &options) {
  passes.addPass(createFuseEpiloguesPass());
  passes.addPass(createDecomposePass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createFuseKernelsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  AssignSlotsPassOptions slots;
  slots.function = options.function;
  slots.target = options.target;
  slots.maxThreads = options.maxThreads;
  passes.addPass(createAssignSlotsPass(slots));
}
