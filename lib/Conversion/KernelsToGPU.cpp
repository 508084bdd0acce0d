//===- KernelsToGPU.cpp - Kernels as functions of a gpu.module -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-convert-kernels-to-gpu`: emits every kernel of the module into one
/// `gpu.module` and removes the `mpt.kernel_func`s.
///
//===----------------------------------------------------------------------===//

#include "GPUKernelEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTKERNELSTOGPUPASS
#include "mpt/Conversion/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct ConvertKernelsToGPUPass
    : mpt::impl::ConvertKernelsToGPUPassBase<ConvertKernelsToGPUPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<KernelFuncOp>());
    for (KernelFuncOp kernel : kernels)
      if (failed(GPUKernelEmitter(kernel).check()))
        return signalPassFailure();
    if (kernels.empty())
      return;
    if (module.lookupSymbol("mpt_kernels")) {
      module.emitError("the name @mpt_kernels, which kernels go to, is taken");
      return signalPassFailure();
    }
    SmallVector<Attribute> targets;
    for (const std::string &chip : chips)
      targets.push_back(NVVM::NVVMTargetAttr::get(
          &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", chip));
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto device = gpu::GPUModuleOp::create(
        builder, module.getLoc(), "mpt_kernels",
        targets.empty() ? ArrayAttr() : builder.getArrayAttr(targets));
    bool hasProgram = !module.getOps<ProgramOp>().empty();
    auto nothing = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), {});
    OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
    SmallVector<NamedAttribute> launches;
    for (KernelFuncOp kernel : kernels) {
      GPUKernelEmitter emitter(kernel);
      for (const DeviceLaunch &launch : emitter.getLaunches())
        launches.push_back(builder.getNamedAttr(
            launch.function,
            builder.getDenseI64ArrayAttr(
                {launch.blocks[0], launch.blocks[1], launch.threads})));
      emitter.emit(inner);
      std::string name = kernel.getSymName().str();
      kernel.erase();
      // What launches name; they go with the program.
      if (hasProgram)
        LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, nothing);
    }
    // Stays when the module is compiled.
    device->setAttr(kLaunchesAttr, builder.getDictionaryAttr(launches));
  }
};

} // namespace
