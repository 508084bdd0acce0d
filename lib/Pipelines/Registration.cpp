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

/// Registers the training pipeline under `name`. Unlike the others it can refuse its
/// options.
template <typename Options>
static void registerTrainingPipeline(StringRef name, StringRef description,
                                     FailureOr<TrainingOptions> (*read)(const Options &,
                                                                        EmitError)) {
  registerPassPipeline(
      name, description,
      [read](OpPassManager &passes, StringRef text,
             EmitError emitError) -> LogicalResult {
        Options options;
        if (failed(options.parseFromString(text)))
          return failure();
        FailureOr<TrainingOptions> training = read(options, emitError);
        return failed(training) ? failure()
                                : buildTrainingPipeline(passes, *training, emitError);
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> show) {
        show(Options());
      });
}

void mpt::registerPipelines() {
  registerTrainingPipeline<MixedPrecisionOptions>(
      "mpt-mixed-precision", "From a forward function to a mixed-precision training step",
      [](const MixedPrecisionOptions &options, EmitError emitError) {
        return getTrainingOptions(options, emitError);
      });
  registerTrainingPipeline<ApexOptions>(
      "mpt-apex", "From a forward function to a training step as Apex's O0 to O3 make it",
      [](const ApexOptions &options, EmitError emitError) {
        return getTrainingOptions(options, emitError);
      });
  PassPipelineRegistration<PlanStepOptions>("mpt-plan-step",
                                            "From a training step to a planned program",
                                            buildPlanStepPipeline);
  PassPipelineRegistration<KernelsToLLVMOptions>("mpt-kernels-to-llvm",
                                                 "From kernels to LLVM dialect functions",
                                                 buildKernelsToLLVMPipeline);
  PassPipelineRegistration<KernelsToGPUOptions>(
      "mpt-kernels-to-gpu", "From kernels to PTX or machine code of NVIDIA's GPUs",
      buildKernelsToGPUPipeline);
  PassPipelineRegistration<KernelsToLLVMOptions>(
      "mpt-program-to-llvm", "From a planned program to the LLVM dialect",
      buildProgramToLLVMPipeline);
}
