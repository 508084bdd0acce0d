//===- PlanStep.cpp - From a training step to a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/Pipelines.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/Program/Transforms/Passes.h"
#include "mpt/Memory/Passes.h"

using namespace mlir;
using namespace mpt;

void mpt::buildPlanStepPipeline(OpPassManager &passes,
                                const PlanStepOptions &options) {
  SmallVector<StringRef> words;
  StringRef(options.target).split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  const bool isForGPU = !words.empty() && words.front() == "cuda";
  // Without chips it is not known what they can do.
  if (isForGPU && words.size() > 1) {
    ArrayRef<StringRef> chips = ArrayRef(words).drop_front();
    LegalizeForGPUPassOptions legalize;
    legalize.lowBiases = options.lowBiases;
    legalize.fusedAttention = options.fusedAttention;
    FuseGemmEpiloguesPassOptions epilogues;
    for (StringRef chip : chips) {
      legalize.chips.push_back(chip.str());
      epilogues.chips.push_back(chip.str());
    }
    passes.addPass(createLegalizeForGPUPass(legalize));
    if (options.savingEpilogues)
      passes.addPass(createFuseGemmEpiloguesPass(epilogues));
  }
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
  remat.target = options.target;
  passes.addPass(createRematerializePass(remat));
  if (isForGPU)
    passes.addPass(createSpreadKernelsPass());
  AssignSlotsPassOptions slots;
  slots.function = options.function;
  slots.target = options.target;
  slots.maxThreads = options.maxThreads;
  slots.order = options.order;
  slots.memoryLimit = options.memoryLimit;
  passes.addPass(createAssignSlotsPass(slots));
}
