//===- Pipelines.h - Named pipelines -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PIPELINES_PIPELINES_H
#define MPT_PIPELINES_PIPELINES_H

#include "mpt/Pipelines/TrainingOptions.h"

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
                             llvm::cl::desc("The machine to plan for: cpu, or cuda and "
                                            "its chips, as in \"cuda sm_80 sm_90\""),
                             llvm::cl::init("cpu")};
  Option<bool> lowBiases{
      *this, "low-biases",
      llvm::cl::desc("On GPUs, round biases of f16 and bf16 matmuls to their type"),
      llvm::cl::init(false)};
  Option<bool> fusedAttention{
      *this, "fused-attention",
      llvm::cl::desc(
          "Attention as one call of the program, where the target has one for it"),
      llvm::cl::init(true)};
  Option<std::string> epilogues{
      *this, "epilogues",
      llvm::cl::desc("On GPUs, epilogues that save and read what gradients need "
                     "(mpt-fuse-gemm-epilogues): those that are faster, saving (all "
                     "that there are) or plain (none)"),
      llvm::cl::init("faster")};
  Option<bool> joinMatmuls{
      *this, "join-matmuls",
      llvm::cl::desc("On GPUs, matmuls that share their left operand as one, where that "
                     "is faster (mpt-join-matmuls)"),
      llvm::cl::init(true)};
  Option<int64_t> maxThreads{
      *this, "max-threads",
      llvm::cl::desc("Most threads that workspaces are planned for"), llvm::cl::init(2)};
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Most bytes of the arena, as in mpt-rematerialize's budget; a "
                     "function's mpt.memory_budget goes first"),
      llvm::cl::init("")};
  Option<std::string> order{
      *this, "order",
      llvm::cl::desc("best, keep, early-update, least-peak or depth-first"),
      llvm::cl::init("best")};
  Option<int64_t> maxUnrolled{
      *this, "max-unrolled",
      llvm::cl::desc(
          "Most iterations of an mpt.scan that is unrolled; others stay loops"),
      llvm::cl::init(16)};
  Option<bool> hoistFromScans{
      *this, "hoist-from-scans",
      llvm::cl::desc(
          "Matmuls of all iterations of an mpt.scan at once, where that takes "
          "no memory (mpt-hoist-from-scans), and on CPUs weights of the others "
          "widened once (mpt-widen-scan-weights)"),
      llvm::cl::init(true)};
  Option<int64_t> memoryLimit{
      *this, "memory-limit",
      llvm::cl::desc("Most bytes of a program; 2^46, the default, is what a program can "
                     "address"),
      llvm::cl::init(int64_t(1) << 46)};
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
      llvm::cl::desc(
          "auto (dynamic for f16, none for bf16), dynamic, static, amax, none"),
      llvm::cl::init("auto")};
  Option<std::string> masterWeights{
      *this, "master-weights",
      llvm::cl::desc("f32, bf16-stochastic-rounding, bf16-kahan, split16 or none"),
      llvm::cl::init("f32")};
  Option<int64_t> accumulate{*this, "accumulate",
                             llvm::cl::desc("Micro-batches per step"), llvm::cl::init(1)};
  Option<std::string> optimizer{
      *this, "optimizer",
      llvm::cl::desc("sgd, momentum, adam, adamw, or @NAME, a function"),
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

/// Options of `mpt-apex`. A property that is empty has its level's value.
struct ApexOptions : mlir::PassPipelineOptions<ApexOptions> {
  Option<std::string> level{*this, "level", llvm::cl::desc("O0, O1, O2 or O3"),
                            llvm::cl::init("O1")};
  Option<std::string> castModelType{
      *this, "cast-model-type",
      llvm::cl::desc("Type of parameters, data and layers: f32, f16 or none"),
      llvm::cl::init("")};
  Option<std::string> patchTorchFunctions{
      *this, "patch-torch-functions",
      llvm::cl::desc("Casts around functions by Apex's lists: true or false"),
      llvm::cl::init("")};
  Option<std::string> keepBatchnormFp32{
      *this, "keep-batchnorm-fp32",
      llvm::cl::desc("Batch norm's parameters and statistics stay f32: true, false or "
                     "none"),
      llvm::cl::init("")};
  Option<std::string> masterWeights{
      *this, "master-weights",
      llvm::cl::desc("f32 masters of f16 parameters: true, false or none"),
      llvm::cl::init("")};
  Option<std::string> lossScale{*this, "loss-scale",
                                llvm::cl::desc("dynamic, or a number above 0"),
                                llvm::cl::init("")};
  Option<double> minLossScale{*this, "min-loss-scale",
                              llvm::cl::desc("Floor of a dynamic loss scale; 0: none"),
                              llvm::cl::init(0.0)};
  Option<double> maxLossScale{*this, "max-loss-scale",
                              llvm::cl::desc("Its ceiling; 0: none"),
                              llvm::cl::init(16777216.0)};
  Option<std::string> function{*this, "function",
                               llvm::cl::desc("Name of the forward function"),
                               llvm::cl::init("loss")};
  Option<std::string> trainStep{*this, "train-step",
                                llvm::cl::desc("Options of mpt-train-step, in braces"),
                                llvm::cl::init("")};
  Option<std::string> masters{
      *this, "masters",
      llvm::cl::desc("Options of mpt-master-weights, in braces: other masters than "
                     "Apex's in f32"),
      llvm::cl::init("")};
  Option<std::string> accumulate{*this, "accumulate",
                                 llvm::cl::desc("Options of mpt-accumulate, in braces"),
                                 llvm::cl::init("")};
};

/// What `mpt-mixed-precision` asks for. Fails, after `emitError` has said why, where
/// options contradict each other.
llvm::FailureOr<TrainingOptions> getTrainingOptions(const MixedPrecisionOptions &options,
                                                    EmitError emitError);

/// What `mpt-apex` asks for: Apex's levels. Fails, after `emitError` has said why, where
/// Apex refuses a combination of properties.
llvm::FailureOr<TrainingOptions> getTrainingOptions(const ApexOptions &options,
                                                    EmitError emitError);

/// The same for a caller that has the optimizer, micro-batches and masters from
/// elsewhere, in `training`, and not from the texts of `options`.
llvm::FailureOr<TrainingOptions> getTrainingOptions(const ApexOptions &options,
                                                    TrainingOptions training,
                                                    EmitError emitError);

/// From a training step to an `mpt_program.program`: decompose, fuse, fit the
/// budget if there is one, assign buffers.
void buildPlanStepPipeline(mlir::OpPassManager &passes, const PlanStepOptions &options);

/// Registers every named pipeline of MPT.
void registerPipelines();

} // namespace mpt

#endif // MPT_PIPELINES_PIPELINES_H
