//===- mpt-run.cpp - Trains a network from one .mlir file -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "mpt/Host/JITEngine.h"
#include "mpt/InitAll.h"
#include "mpt/Reference/ReferenceEngine.h"
#include "mpt/Tools/MPTRunMain.h"

static llvm::Expected<std::unique_ptr<mpt::StepEngine>>
createCPUEngine(mlir::OwningOpRef<mlir::ModuleOp> module,
                llvm::StringRef function, const mpt::EngineOptions &options) {
  mpt::JITOptions jit;
  jit.threads = static_cast<int>(options.threads);
  jit.memoryLimit = options.memoryLimit;
  jit.profile = options.profile;
  return mpt::createJITEngine(std::move(module), function, jit);
}

template <mpt::reference::Mode mode>
static llvm::Expected<std::unique_ptr<mpt::StepEngine>>
createInterpreter(mlir::OwningOpRef<mlir::ModuleOp> module,
                  llvm::StringRef function, const mpt::EngineOptions &options) {
  return mpt::createReferenceEngine(std::move(module), function, mode,
                                    options.memoryLimit);
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect>();
  mpt::registerAllDialects(registry);
  mpt::registerAllPasses();
  mlir::registerTransformsPasses(); // for --pipeline
  const mpt::EngineFactory engines[] = {
      {"cpu", createCPUEngine},
      {"reference", createInterpreter<mpt::reference::Mode::Storage>},
      {"reference-f64", createInterpreter<mpt::reference::Mode::Float64>,
       /*hasExactState=*/false}};
  return mpt::mptRunMain({argv + 1, static_cast<size_t>(argc - 1)}, registry,
                         engines);
}
