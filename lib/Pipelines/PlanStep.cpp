//===- PlanStep.cpp - From a training step to a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/Pipelines.h"
#include "mpt/Conversion/Passes.h"
#include "mpt/Transforms/MemoryPasses.h"
#include "mpt/Transforms/Passes.h"

using namespace mlir;
using namespace mpt;

void mpt::buildPlanStepPipeline(OpPassManager &passes,
                                const PlanStepOptions &options) {
  // Fuses too. Of kernels and calls, on the arena that there will be. Nothing may merge
  // clones behind it.
  RematerializePassOptions remat;
  remat.grain = "kernels";
  // Planning is part of each start of a run.
  remat.effort = 500000;
  remat.function = options.function;
  remat.budget = options.memoryBudget;
  remat.maxThreads = options.maxThreads;
  remat.order = options.order;
  passes.addPass(createRematerializePass(remat));
  if (llvm::StringRef(options.target).starts_with("cuda"))
    passes.addPass(createSpreadKernelsPass());
  AssignSlotsPassOptions slots;
  slots.function = options.function;
  slots.target = options.target;
  slots.maxThreads = options.maxThreads;
  slots.order = options.order;
  passes.addPass(createAssignSlotsPass(slots));
}
