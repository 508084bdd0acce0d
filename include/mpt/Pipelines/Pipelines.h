//===- Pipelines.h - Named pipelines -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PIPELINES_PIPELINES_H
#define MPT_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mpt {

/// Options of `mpt-plan-step`.
struct PlanStepOptions : mlir::PassPipelineOptions<PlanStepOptions> {
  Option<std::string> function{
      *this, "function",
      llvm::cl::desc("The function to plan; the module's only one if empty"),
      llvm::cl::init("")};
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("The machine to plan for"),
                             llvm::cl::init("cpu")};
  Option<int64_t> maxThreads{
      *this, "max-threads",
      llvm::cl::desc("Most threads that workspaces are planned for"),
      llvm::cl::init(2)};
};

/// From a training step to a `mpt.program`: decompose, fuse, assign slots.
void buildPlanStepPipeline(mlir::OpPassManager &passes,
                           const PlanStepOptions &options);

/// Registers every named pipeline of MPT.
void registerPipelines();

} // namespace mpt

#endif // MPT_PIPELINES_PIPELINES_H
