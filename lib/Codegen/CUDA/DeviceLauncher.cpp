//===- DeviceLauncher.cpp - Launches of functions in a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceLauncher.h"
#include "mpt/Codegen/CUDA/DeviceProducts.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

void mpt::addDeviceLaunch(Operation *device, const DeviceLaunch &launch) {
  OpBuilder builder(device->getContext());
  NamedAttrList launches(device->getAttrOfType<DictionaryAttr>(kLaunchesAttr));
  launches.set(launch.function,
               builder.getDenseI64ArrayAttr(
                   {launch.blocks[0], launch.blocks[1], launch.threads, launch.bound}));
  device->setAttr(kLaunchesAttr, launches.getDictionary(device->getContext()));
}

gpu::GPUModuleOp DeviceLauncher::getDevice() {
  if (auto found = module.lookupSymbol<gpu::GPUModuleOp>(kDeviceModule))
    return found;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  return gpu::GPUModuleOp::create(b, module.getLoc(), kDeviceModule);
}

program::LaunchOp DeviceLauncher::launch(Location loc, StringRef name, const std::string &key,
                                int64_t blocks, int64_t threads, bool isWide,
                                ValueRange inputs, ValueRange outputs, Emit emit) {
  std::string &function = functions[(name + " " + key).str()];
  if (function.empty()) {
    function = ("mpt_" + name + "_" + Twine(functions.size())).str();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    gpu::GPUModuleOp device = getDevice();
    OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
    for (ValueRange buffers : {inputs, outputs})
      for (Value buffer : buffers)
        isWide |= cast<MemRefType>(buffer.getType()).getNumElements() >= int64_t(1) << 31;
    DeviceCode code(inner, loc, function, inputs.size() + outputs.size(), threads, isWide);
    emit(code);
    code.finish();
    addDeviceLaunch(device, {function, {std::max<int64_t>(blocks, 1), 1}, threads});
    // What the launches name; it goes with the program.
    LLVM::LLVMFuncOp::create(
        b, module.getLoc(), function,
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {}));
  }
  return program::LaunchOp::create(builder, loc,
                          FlatSymbolRefAttr::get(builder.getContext(), function), inputs,
                          outputs, Value(), builder.getI64IntegerAttr(1));
}
