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

/// 16 of a row's columns for each of the 1024 threads that a block of a GPU has at most.
static constexpr int64_t kMostSummedColumns = 16384;

mpt::FusionOptions mpt::getFusionOptions(bool isForGPU) {
  return {/*roundOnRead=*/!isForGPU,
          /*mostSummedColumns=*/isForGPU ? kMostSummedColumns : 0,
          /*attentionViews=*/isForGPU,
          /*transposedRows=*/!isForGPU};
}

void mpt::addKernelPasses(OpPassManager &passes, const FusionOptions &fusion) {
  FuseKernelsPassOptions options;
  options.roundOnRead = fusion.roundOnRead;
  options.mostSummedColumns = fusion.mostSummedColumns;
  options.attentionViews = fusion.attentionViews;
  options.transposedRows = fusion.transposedRows;
  passes.addPass(createFuseKernelsPass(options));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}
