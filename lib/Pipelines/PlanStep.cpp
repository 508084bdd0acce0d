//===- PlanStep.cpp - From a training step to a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/Program/Transforms/Passes.h"
#include "mpt/Memory/Passes.h"
#include "mpt/Pipelines/Pipelines.h"

using namespace mlir;
using namespace mpt;

void mpt::buildPlanStepPipeline(OpPassManager &passes, const PlanStepOptions &options) {
  SmallVector<StringRef> words;
  StringRef(options.target).split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  const bool isForGPU = !words.empty() && words.front() == "cuda";
  // Before anything is moved or repeated, so that budgets and loops change no bit.
  passes.addPass(createWidenTemporariesPass());
  if (isForGPU) {
    passes.addPass(createSelectBranchesPass());
    passes.addPass(createReductionsToGathersPass());
  }
  if (options.hoistFromScans) {
    HoistFromScansPassOptions hoist;
    hoist.maxUnrolled = options.maxUnrolled;
    passes.addPass(createHoistFromScansPass(hoist));
    if (!isForGPU) {
      WidenScanWeightsPassOptions widen;
      widen.maxUnrolled = options.maxUnrolled;
      passes.addPass(createWidenScanWeightsPass(widen));
    }
  }
  // Without chips it is not known what they can do.
  if (isForGPU && words.size() > 1) {
    ArrayRef<StringRef> chips = ArrayRef(words).drop_front();
    LegalizeForGPUPassOptions legalize;
    legalize.lowBiases = options.lowBiases;
    legalize.fusedAttention = options.fusedAttention;
    legalize.maxUnrolled = options.maxUnrolled;
    legalize.bothOrientations = StringRef(options.memoryBudget).empty();
    JoinMatmulsPassOptions join;
    FuseGemmEpiloguesPassOptions epilogues;
    for (StringRef chip : chips) {
      legalize.chips.push_back(chip.str());
      join.chips.push_back(chip.str());
      epilogues.chips.push_back(chip.str());
    }
    passes.addPass(createLegalizeForGPUPass(legalize));
    if (options.joinMatmuls)
      passes.addPass(createJoinMatmulsPass(join));
    epilogues.always = options.epilogues == "saving";
    if (options.epilogues != "plain")
      passes.addPass(createFuseGemmEpiloguesPass(epilogues));
  }
  if (!isForGPU && options.fusedAttention)
    passes.addPass(createFuseAttentionPass());
  KeepGathersPassOptions gathers;
  gathers.budget = options.memoryBudget;
  passes.addPass(createKeepGathersPass(gathers));
  // Nothing may merge the clones of a step with a budget after this.
  PlanKernelsPassOptions kernels;
  // Planning is part of each start of a run.
  kernels.effort = 500000;
  kernels.function = options.function;
  kernels.budget = options.memoryBudget;
  kernels.maxThreads = options.maxThreads;
  kernels.order = options.order;
  kernels.target = options.target;
  kernels.maxUnrolled = options.maxUnrolled;
  passes.addPass(createPlanKernelsPass(kernels));
  if (isForGPU)
    passes.addPass(createSpreadKernelsPass());
  AssignBuffersPassOptions assignment;
  assignment.function = options.function;
  assignment.target = options.target;
  assignment.maxThreads = options.maxThreads;
  assignment.order = options.order;
  assignment.memoryLimit = options.memoryLimit;
  assignment.lateUpdates = isForGPU && StringRef(options.memoryBudget).empty();
  assignment.separate = assignment.lateUpdates;
  passes.addPass(createAssignBuffersPass(assignment));
}
