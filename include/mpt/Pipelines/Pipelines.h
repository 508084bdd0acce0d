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
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Most bytes of the arena, as in mpt-rematerialize's budget; a "
                     "function's mpt.memory_budget goes first"),
      llvm::cl::init("")};
};

/// Options of `mpt-mixed-precision`.
struct MixedPrecisionOptions : mlir::PassPipelineOptions<MixedPrecisionOptions> {
  Option<std::string> type{*this, "type", llvm::cl::desc("f16 or bf16"),
                           llvm::cl::init("bf16")};
  Option<std::string> from{
      *this, "from",
      llvm::cl::desc("forward: differentiate and add the optimizer first; step: "
                     "the function is a training step"),
      llvm::cl::init("forward")};
  Option<std::string> function{*this, "function",
                               llvm::cl::desc("Name of the forward function"),
                               llvm::cl::init("loss")};
  Option<std::string> lossScale{
      *this, "loss-scale",
      llvm::cl::desc("auto (dynamic for f16, none for bf16), dynamic, static, none"),
      llvm::cl::init("auto")};
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("sgd, momentum, adam or adamw"),
                                llvm::cl::init("adamw")};
  Option<double> lr{*this, "lr", llvm::cl::desc("Initial learning rate"),
                    llvm::cl::init(1.0e-3)};
  Option<double> weightDecay{*this, "weight-decay", llvm::cl::desc("Weight decay"),
                             llvm::cl::init(0.0)};
  Option<double> clipNorm{
      *this, "clip-norm",
      llvm::cl::desc("Clip gradients to this global norm; 0: no clipping"),
      llvm::cl::init(0.0)};
};

/// From a forward function to a mixed-precision training step.
void buildMixedPrecisionPipeline(mlir::OpPassManager &passes,
                                 const MixedPrecisionOptions &options);

/// From a training step to a `mpt.program`: decompose, fuse, fit the
/// budget if there is one, assign slots.
void buildPlanStepPipeline(mlir::OpPassManager &passes,
                           const PlanStepOptions &options);

/// Registers every named pipeline of MPT.
void registerPipelines();

} // namespace mpt

#endif // MPT_PIPELINES_PIPELINES_H
