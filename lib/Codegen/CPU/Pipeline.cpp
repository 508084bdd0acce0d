//===- Pipeline.cpp - From programs to the LLVM dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Codegen/Common/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mpt;

void mpt::readMachine(const llvm::TargetMachine &machine, KernelsToLLVMOptions &options) {
  const llvm::MCSubtargetInfo &processor = *machine.getMCSubtargetInfo();
  const bool isX86 = machine.getTargetTriple().isX86();
  options.avx512 = isX86 && processor.checkFeatures("+avx512f");
  options.avx512BF16 =
      isX86 && processor.checkFeatures("+avx512bf16,+avx512dq,+avx512vl");
}

void mpt::buildKernelsToLLVMPipeline(OpPassManager &passes,
                                     const KernelsToLLVMOptions &options) {
  ConvertKernelsToVectorPassOptions vectors;
  vectors.avx512 = options.avx512;
  passes.addPass(createConvertKernelsToVectorPass(vectors));
  passes.addPass(createShareKernelsPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createApproximateMathPass());
  ExpandBF16PassOptions roundings;
  roundings.avx512BF16 = options.avx512BF16;
  passes.addPass(createExpandBF16Pass(roundings));
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  passes.addPass(arith::createArithExpandOpsPass(expand));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void mpt::buildProgramToLLVMPipeline(OpPassManager &passes,
                                     const KernelsToLLVMOptions &options) {
  buildKernelsToLLVMPipeline(passes, options);
  passes.addPass(createConvertProgramToLLVMPass());
}
