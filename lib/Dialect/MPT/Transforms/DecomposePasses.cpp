//===- DecomposePasses.cpp - The passes before fusion -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mpt::addDecomposePasses(OpPassManager &passes, const DecomposePassOptions &options) {
  passes.addPass(createFuseEpiloguesPass());
  passes.addPass(createDecomposePass(options));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}
