//===- Pipeline.cpp - From programs to machine code of GPUs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Codegen/Common/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mpt;

void mpt::buildDeviceToLLVMPipeline(OpPassManager &passes, llvm::StringRef math) {
  OpPassManager &nested = passes.nest<gpu::GPUModuleOp>();
  nested.addPass(createCSEPass());
  nested.addPass(createLoopInvariantCodeMotionPass());
  MathToInstructionsPassOptions instructions;
  instructions.math = math.str();
  // Exponentials before they become polynomials, the rest after.
  if (math != "exact")
    nested.addPass(createMathToInstructionsPass(instructions));
  nested.addPass(createApproximateMathPass());
  nested.addPass(createMathToInstructionsPass(instructions));
  // LLVM has instructions for bf16.
  nested.addPass(arith::createArithExpandOpsPass());
  nested.addPass(createCanonicalizerPass());
  nested.addPass(createCSEPass());
  nested.addPass(createMathToLibdevicePass());
  nested.addPass(createConvertVectorToLLVMPass());
  nested.addPass(createSCFToControlFlowPass());
  nested.addPass(createConvertMathToLLVMPass());
  nested.addPass(createArithToLLVMConversionPass());
  // Runs on modules of the builtin dialect only.
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void mpt::buildKernelsToGPUPipeline(OpPassManager &passes,
                                    const KernelsToGPUOptions &options) {
  ConvertKernelsToGPUPassOptions convert;
  convert.chips.assign(options.chips.begin(), options.chips.end());
  passes.addPass(createConvertKernelsToGPUPass(convert));
  buildDeviceToLLVMPipeline(passes, options.math);
  if (options.format == "llvm")
    return;
  SerializeKernelsPassOptions serialize;
  serialize.format = options.format;
  serialize.toolkit = options.toolkit;
  passes.addPass(createSerializeKernelsPass(serialize));
}
