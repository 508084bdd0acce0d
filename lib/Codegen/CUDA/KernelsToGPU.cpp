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

#include "mpt/Codegen/CUDA/Passes.h"
#include "DeviceCalls.h"
#include "GPUKernelEmitter.h"
#include "LaunchGroups.h"
#include "ReductionBatches.h"
#include "mpt/Codegen/CUDA/DeviceProducts.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

namespace mpt {
#define GEN_PASS_DEF_CONVERTKERNELSTOGPUPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
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
    bool hasCalls = llvm::any_of(module.getOps<program::ProgramOp>(), [](program::ProgramOp program) {
      return !program.getBody().front().getOps<program::LibraryCallOpInterface>().empty();
    });
    // Library calls may have put functions there.
    Operation *taken = module.lookupSymbol(kDeviceModule);
    auto device = dyn_cast_or_null<gpu::GPUModuleOp>(taken);
    if (taken && (!device || !device->hasAttr(kLaunchesAttr))) {
      module.emitError("the name @")
          << kDeviceModule << ", which kernels go to, is taken";
      return signalPassFailure();
    }
    if (kernels.empty() && !device && !hasCalls)
      return;
    SmallVector<Attribute> targets;
    for (const std::string &chip : chips)
      targets.push_back(NVVM::NVVMTargetAttr::get(
          &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", chip));
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    if (!device)
      device = gpu::GPUModuleOp::create(builder, module.getLoc(), kDeviceModule);
    if (!targets.empty())
      device.setTargetsAttr(builder.getArrayAttr(targets));
    bool hasProgram = !module.getOps<program::ProgramOp>().empty();
    auto nothing = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), {});
    OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
    DeviceCallEmitter calls(inner);
    llvm::StringSet<> alone;
    for (program::ProgramOp program : module.getOps<program::ProgramOp>()) {
      if (failed(convertCalls(program, calls)))
        return signalPassFailure();
      for (auto [i, batch] : llvm::enumerate(batchReductions(program))) {
        std::string name =
            (program::LaunchOp(batch.front()).getKernel() + "_batch" + Twine(i)).str();
        for (const DeviceLaunch &launch : emitBatch(program, batch, name, inner))
          addDeviceLaunch(device, launch);
      }
      for (auto [i, group] : llvm::enumerate(groupLaunches(program)))
        addDeviceLaunch(device, emitGroup(program, group, i, inner));
      for (program::LaunchOp launch : program.getBody().front().getOps<program::LaunchOp>())
        if (!launch->hasAttr(kDeviceGroupAttr))
          alone.insert(launch.getKernel());
    }
    for (const DeviceLaunch &launch : calls.getLaunches())
      addDeviceLaunch(device, launch);
    for (KernelFuncOp kernel : kernels) {
      if (!hasProgram || alone.contains(kernel.getSymName())) {
        GPUKernelEmitter emitter(kernel);
        for (const DeviceLaunch &launch : emitter.getLaunches())
          addDeviceLaunch(device, launch);
        emitter.emit(inner);
      }
      std::string name = kernel.getSymName().str();
      kernel.erase();
      // What launches name; they go with the program.
      if (hasProgram)
        LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, nothing);
    }
  }

private:
  LogicalResult convertCalls(program::ProgramOp program, DeviceCallEmitter &emitter);
  DeviceLaunch emitGroup(program::ProgramOp program, const LaunchGroup &group, size_t number,
                         OpBuilder &device);
};

/// The function of group number `number`, which its launches are told of.
DeviceLaunch ConvertKernelsToGPUPass::emitGroup(program::ProgramOp program, const LaunchGroup &group,
                                                size_t number, OpBuilder &device) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  Builder builder(&getContext());
  program::LaunchOp first = group.launches.front();
  // Two groups may begin with the same kernel.
  std::string name = (first.getKernel() + "_group" + llvm::Twine(number)).str();
  KernelFuncOp largest;
  SmallVector<GPUKernelEmitter::Member> members;
  for (program::LaunchOp launch : group.launches) {
    auto kernel = symbols.lookup<KernelFuncOp>(launch.getKernel());
    GPUKernelEmitter::Member &member = members.emplace_back();
    member.elements = GPUKernelEmitter(kernel).getElements();
    if (!largest || member.elements > GPUKernelEmitter(largest).getElements())
      largest = kernel;
    for (ValueRange buffers : {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
      for (Value buffer : buffers)
        member.offsets.push_back(buffer.getDefiningOp<program::BufferOp>().getOffset());
    launch->setAttr(kDeviceGroupAttr, builder.getStringAttr(""));
  }
  SmallVector<int64_t> spaces;
  for (Space space : group.spaces)
    spaces.push_back(static_cast<int64_t>(space));
  first->setAttr(kDeviceGroupAttr, builder.getStringAttr(name));
  first->setAttr(kDeviceSpacesAttr, builder.getDenseI64ArrayAttr(spaces));
  return GPUKernelEmitter(largest).emitGroup(device, name, members, group.bufferSpaces,
                                             spaces.size());
}

/// Gives the calls that no library does their functions, and those that need it
/// scratch memory behind the arena, which all share.
LogicalResult ConvertKernelsToGPUPass::convertCalls(program::ProgramOp program,
                                                    DeviceCallEmitter &emitter) {
  SmallVector<program::LibraryCallOpInterface> needing;
  int64_t scratch = 0;
  for (auto call : program.getBody().front().getOps<program::LibraryCallOpInterface>()) {
    FailureOr<DeviceCall> made = emitter.emit(call);
    if (failed(made))
      return failure();
    if (made->isForLibrary)
      continue;
    SmallVector<StringRef> names;
    for (const DeviceLaunch &launch : made->launches)
      names.push_back(launch.function);
    call->setAttr(kDeviceFunctionsAttr, OpBuilder(call).getStrArrayAttr(names));
    // What the CPU's code would have used.
    call.getCallWorkspaceMutable().clear();
    if (made->scratchBytes == 0)
      continue;
    needing.push_back(call);
    scratch = std::max(scratch, made->scratchBytes);
  }
  if (needing.empty())
    return success();
  int64_t offset = llvm::alignTo(program.getArenaBytes(), 256);
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  auto type = MemRefType::get({scratch}, builder.getI8Type());
  auto slot = program::BufferOp::create(builder, program.getLoc(), type, Space::Arena, offset);
  program.setArenaBytes(offset + llvm::alignTo(scratch, 64));
  for (program::LibraryCallOpInterface call : needing)
    call.getCallWorkspaceMutable().assign(slot.getBuffer());
  return success();
}

} // namespace
