//===- InitAll.cpp - Register everything of MPT -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/InitAll.h"

#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Codegen/Common/Passes.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/IR/OpReference.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Dialect/Program/Transforms/Passes.h"
#include "mpt/Export/StableHLO/Passes.h"
#include "mpt/Import/StableHLO/Passes.h"
#include "mpt/Import/Torch/Passes.h"
#include "mpt/Memory/Passes.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Pipelines/Pipelines.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Support/SymbolNotes.h"
#include "mpt/Training/Passes.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mpt;

void mpt::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<MPTDialect, kernel::KernelDialect, program::ProgramDialect>();
  registerSymbolNotes(registry);
  registerUnknownOpSuggestions(registry);
}

void mpt::registerAllPasses() {
  registerMPTCodegenCPUPasses();
  registerMPTCodegenCUDAPasses();
  registerMPTCodegenCommonPasses();
  registerMPTKernelTransformsPasses();
  registerMPTDialectTransformsPasses();
  registerMPTProgramTransformsPasses();
  registerMPTExportStableHLOPasses();
  registerMPTImportStableHLOPasses();
  registerMPTImportTorchPasses();
  registerMPTMemoryPasses();
  registerMPTParallelPasses();
  registerMPTPrecisionPasses();
  registerMPTTrainingPasses();
  registerPipelines();
}
