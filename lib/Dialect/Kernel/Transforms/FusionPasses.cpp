//===- FusionPasses.cpp - From a step to kernels and calls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mpt::addKernelPasses(OpPassManager &passes, bool roundOnRead) {
  FuseKernelsPassOptions options;
  options.roundOnRead = roundOnRead;
  passes.addPass(createFuseKernelsPass(options));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}
