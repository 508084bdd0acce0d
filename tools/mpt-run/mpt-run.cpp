//===- mpt-run.cpp - Trains a network from one .mlir file -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Host/JITEngine.h"
#include "mpt/Host/MpiRanks.h"
#include "mpt/InitAll.h"
#include "mpt/Reference/ReferenceEngine.h"
#include "mpt/Tools/MPTRunMain.h"

static mpt::JITOptions getJITOptions(const mpt::EngineOptions &options) {
  mpt::JITOptions jit;
  jit.threads = static_cast<int>(options.threads);
  jit.profile = options.profile;
  jit.device = options.device;
  jit.isLocalRank = options.isLocalRank;
  jit.cudart = options.cudart;
  jit.cublasLt = options.cublasLt;
  jit.cudnn = options.cudnn;
  jit.nccl = options.nccl;
  jit.tunes = options.tunes;
  jit.tuningFile = options.tuningFile;
  jit.graphBranches = options.graphBranches;
  jit.tuningFolder = mpt::getUserTuningFolder();
  jit.memoryLimit = options.memoryLimit;
  jit.isCuda = options.isCuda;
  jit.toolkit = options.toolkit;
  jit.emulatedKernels = options.emulatedKernels;
  jit.warpgroupAttention = options.warpgroupAttention;
  jit.communicator = options.communicator;
  return jit;
}

static llvm::Expected<std::unique_ptr<mpt::StepEngine>>
createCompiled(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef function,
               const mpt::EngineOptions &options) {
  return mpt::createJITEngine(std::move(module), function, getJITOptions(options));
}

static llvm::Expected<mpt::OpenedProgram>
openCompiled(llvm::StringRef path, const mpt::EngineOptions &options) {
  auto engine = mpt::RuntimeEngine::open(path, getJITOptions(options));
  if (!engine)
    return engine.takeError();
  mpt::OpenedProgram program;
  program.digest = (*engine)->getDigest().str();
  program.isStep = (*engine)->isStep();
  program.isCuda = (*engine)->isCuda();
  program.engine = std::move(*engine);
  return std::move(program);
}

template <mpt::reference::Mode mode>
static llvm::Expected<std::unique_ptr<mpt::StepEngine>>
createInterpreter(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef function,
                  const mpt::EngineOptions &options) {
  // What a compiled step does not round, either.
  mlir::PassManager passes(module->getContext());
  passes.addPass(mpt::createWidenTemporariesPass());
  if (mlir::failed(passes.run(*module)))
    return llvm::createStringError("temporaries could not be widened");
  return mpt::createReferenceEngine(std::move(module), function, mode,
                                    options.memoryLimit);
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  // Bodies of kernels, in steps that are fused already, have arith and math.
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect>();
  mpt::registerAllDialects(registry);
  mpt::registerAllPasses();
  mlir::registerTransformsPasses(); // for --pipeline
  const mpt::EngineFactory engines[] = {
      {"compiled", createCompiled, /*hasExactState=*/true, openCompiled, "cpu",
       mpt::connectRanks},
      {"reference", createInterpreter<mpt::reference::Mode::Storage>},
      {"reference-f64", createInterpreter<mpt::reference::Mode::Float64>,
       /*hasExactState=*/false}};
  return mpt::mptRunMain({argv + 1, static_cast<size_t>(argc - 1)}, registry, engines);
}
