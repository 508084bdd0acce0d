//===- DeviceLauncher.cpp - Launches of functions in a program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceLauncher.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

program::DeviceLaunchOp mpt::detail::createDeviceLaunch(OpBuilder &builder, Location loc,
                                                        const DeviceLaunch &launch,
                                                        ValueRange inputs,
                                                        ValueRange outputs,
                                                        Value workspace) {
  MLIRContext *context = builder.getContext();
  auto function = SymbolRefAttr::get(context, kDeviceModule,
                                     FlatSymbolRefAttr::get(context, launch.function));
  return program::DeviceLaunchOp::create(builder, loc, function, launch.blocks,
                                         launch.threads, inputs, outputs, workspace,
                                         launch.bound);
}

gpu::GPUModuleOp DeviceLauncher::getDevice() {
  if (auto found = module.lookupSymbol<gpu::GPUModuleOp>(kDeviceModule))
    return found;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  return gpu::GPUModuleOp::create(b, module.getLoc(), kDeviceModule);
}

void DeviceLauncher::launch(Location loc, StringRef name, const std::string &key,
                            int64_t blocks, int64_t threads, bool isWide,
                            ValueRange inputs, ValueRange outputs, Emit emit) {
  DeviceLaunch &made = launches[(name + " " + key).str()];
  if (made.function.empty()) {
    made = {("mpt_" + name + "_" + Twine(launches.size())).str(),
            {std::max<int64_t>(blocks, 1), 1},
            threads};
    OpBuilder inner = OpBuilder::atBlockEnd(&getDevice().getBodyRegion().front());
    for (ValueRange buffers : {inputs, outputs})
      for (Value buffer : buffers)
        isWide |= program::countSpannedElements(cast<MemRefType>(buffer.getType()))
                      .value_or(INT64_MAX) >= int64_t(1) << 31;
    GPUFunctionBuilder code(inner, loc, made.function, inputs.size() + outputs.size(),
                            threads, isWide);
    emit(code);
    code.finish();
  }
  createDeviceLaunch(builder, loc, made, inputs, outputs);
}

void DeviceLauncher::addVariant(Location loc, StringRef name, const std::string &key,
                                int64_t threads, int64_t parameters, int64_t maps,
                                ArrayRef<int64_t> numbers, Emit emit) {
  auto found = launches.find((name + " " + key).str());
  if (found == launches.end())
    return;
  const std::string &function = found->second.function;
  gpu::GPUModuleOp device = getDevice();
  NamedAttrList variants(getVariants(device));
  if (variants.get(function))
    return;
  variants.set(function, builder.getDenseI64ArrayAttr(numbers));
  setVariants(device, variants.getDictionary(module.getContext()));
  OpBuilder inner = OpBuilder::atBlockEnd(&device.getBodyRegion().front());
  GPUFunctionBuilder code(inner, loc, getVariantName(function), parameters, threads,
                          /*isWide=*/false, /*numbers=*/0, maps);
  emit(code);
  code.finish();
}

std::pair<Value, int64_t> CudnnScratch::get(OpBuilder &builder, Location loc,
                                            MemRefType type, int64_t at) {
  Value buffer =
      program::BufferOp::create(builder, loc, type, program::Space::Arena, first + at);
  int64_t end = at + type.getNumElements() * bytesOf(type.getElementType());
  bytes = std::max(bytes, end);
  return {buffer, llvm::alignTo(end, 256)};
}

void CudnnScratch::finish() {
  if (bytes > 0)
    program.setArenaBytes(first + llvm::alignTo(bytes, 64));
}

program::AlternativesOp mpt::detail::createAlternatives(OpBuilder &builder,
                                                        Operation *call) {
  builder.setInsertionPoint(call);
  auto alternatives = program::AlternativesOp::create(builder, call->getLoc());
  alternatives.getPreferred().emplaceBlock();
  alternatives.getFallback().emplaceBlock();
  return alternatives;
}
