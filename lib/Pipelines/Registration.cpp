//===- Registration.cpp - Registers the named pipelines -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CPU/Passes.h"
#include "mpt/Codegen/CUDA/Passes.h"
#include "mpt/Pipelines/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mpt;

void mpt::registerPipelines() {
  PassPipelineRegistration<MixedPrecisionOptions>(
      "mpt-mixed-precision",
      "From a forward function to a mixed-precision training step",
      buildMixedPrecisionPipeline);
  // Unlike the others this one can refuse its options.
  registerPassPipeline(
      "mpt-apex", "From a forward function to a training step as Apex's O0 to O3 make it",
      [](OpPassManager &passes, StringRef text,
         function_ref<LogicalResult(const Twine &)> emitError) -> LogicalResult {
        ApexOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        return buildApexPipeline(passes, options, emitError);
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> show) {
        show(ApexOptions());
      });
  PassPipelineRegistration<PlanStepOptions>(
      "mpt-plan-step", "From a training step to a planned program",
      buildPlanStepPipeline);
  PassPipelineRegistration<>("mpt-kernels-to-llvm",
                             "From kernels to LLVM dialect functions",
                             buildKernelsToLLVMPipeline);
  PassPipelineRegistration<KernelsToGPUOptions>(
      "mpt-kernels-to-gpu", "From kernels to PTX or machine code of NVIDIA's GPUs",
      buildKernelsToGPUPipeline);
  PassPipelineRegistration<>("mpt-program-to-llvm",
                             "From a planned program to the LLVM dialect",
                             buildProgramToLLVMPipeline);
}
