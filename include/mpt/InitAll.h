//===- InitAll.h - Register everything of MPT -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One call each for tools and embedders: dialects (with their external
/// models) and passes (with the named pipelines).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_INITALL_H
#define MPT_INITALL_H

#include "mlir/IR/DialectRegistry.h"
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

namespace mpt {

/// Registers the dialects of MPT, and what makes errors of the dialects around it
/// clearer.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<MPTDialect, kernel::KernelDialect, program::ProgramDialect>();
  registerSymbolNotes(registry);
  registerUnknownOpSuggestions(registry);
}

/// Registers every pass and pipeline of MPT.
inline void registerAllPasses() {
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

} // namespace mpt

#endif // MPT_INITALL_H
