//===- JITEngine.cpp - The compiled CPU engine -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/JITEngine.h"
#include "mpt/Codegen/CodeGen.h"
#include "mpt/Host/StepSignature.h"
#include "mpt/Runtime/Runtime.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "mpt/Support/FirstError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <thread>

using namespace mlir;
using namespace mpt;

namespace {

class JITEngine : public StepEngine {
public:
  ~JITEngine() override { mpt_rt_destroy(context); }

  llvm::Error init(ModuleOp module, StringRef name, const JITOptions &options);

  ArrayRef<TensorInfo> getArguments() const override { return signature.arguments; }
  ArrayRef<ResultInfo> getResults() const override { return signature.results; }
  llvm::Expected<HostTensor> readState(StringRef name) const override;
  llvm::Error writeState(StringRef name, const HostTensor &value) override;
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) override;
  size_t arenaBytes() const override { return mpt_rt_arena_bytes(context); }
  size_t stateBytes() const override { return mpt_rt_state_bytes(context); }
  std::vector<ProfileEntry> profile() const override;

private:
  llvm::Error lastError(StringRef what) const {
    return llvm::createStringError(what + ": " + mpt_rt_last_error(context));
  }
  const TensorInfo *findState(StringRef name) const {
    for (const TensorInfo &info : signature.arguments)
      if (info.name == name && isStateRole(info.role))
        return &info;
    return nullptr;
  }

  StepSignature signature;
  // The code must outlive the context.
  std::unique_ptr<llvm::orc::LLJIT> jit;
  mpt_rt_context *context = nullptr;
  bool profiling = false;
};

llvm::Error JITEngine::init(ModuleOp module, StringRef name,
                            const JITOptions &options) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isExternal())
    return llvm::createStringError("no function @" + name + " with a body");
  {
    FirstError error(module.getContext());
    FailureOr<StepSignature> read = readStepSignature(function);
    if (failed(read))
      return error.take("@" + name + " is not a step that can be run");
    signature = std::move(*read);
  }
  for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other != function)
      other.erase();

  int threads = options.threads;
  if (threads <= 0)
    threads = std::max<int>(std::thread::hardware_concurrency(), 1);
  auto machine = createTargetMachine("native");
  if (!machine)
    return machine.takeError();
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  int64_t memory = options.memoryLimit > 0 ? options.memoryLimit : rt::getSystemMemory();
  auto llvmModule = compileToLLVM(module, *llvmContext, **machine, threads,
                                  std::min(memory, rt::kMaxProgramBytes));
  if (!llvmModule)
    return llvmModule.takeError();

  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  // Scalar f64 functions come from this process's libm.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  jit->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = jit->addIRModule(llvm::orc::ThreadSafeModule(
          std::move(*llvmModule), std::move(llvmContext))))
    return error;
  auto symbol = jit->lookup("mpt_program");
  if (!symbol)
    return symbol.takeError();

  context = mpt_rt_create(threads);
  if (!context)
    return llvm::createStringError("no memory for a runtime context");
  profiling = options.profile;
  mpt_rt_set_profiling(context, profiling);
  if (mpt_rt_open_desc(context, symbol->toPtr<mpt_program_desc *>()))
    return lastError("the program could not be opened");
  return llvm::Error::success();
}

llvm::Expected<HostTensor> JITEngine::readState(StringRef name) const {
  const TensorInfo *info = findState(name);
  if (!info)
    return llvm::createStringError("there is no state named '" + name + "'");
  auto tensor = HostTensor::create(info->type, info->shape);
  if (!tensor)
    return tensor.takeError();
  if (mpt_rt_read(context, info->name.c_str(), tensor->getData(),
                  tensor->getByteSize()))
    return lastError("cannot read state");
  return tensor;
}

llvm::Error JITEngine::writeState(StringRef name, const HostTensor &value) {
  const TensorInfo *info = findState(name);
  if (!info)
    return llvm::createStringError("there is no state named '" + name + "'");
  if (value.getElementType() != info->type ||
      value.getShape() != ArrayRef<int64_t>(info->shape))
    return llvm::createStringError("state '" + name + "': expected " +
                                   describeTensorType(info->type, info->shape) +
                                   ", found " + value.describe());
  if (mpt_rt_write(context, info->name.c_str(), value.getData(), value.getByteSize()))
    return lastError("cannot write state");
  return llvm::Error::success();
}

llvm::Expected<llvm::StringMap<HostTensor>>
JITEngine::run(const llvm::StringMap<const HostTensor *> &inputs) {
  for (const TensorInfo &info : signature.arguments) {
    if (isStateRole(info.role))
      continue;
    const HostTensor *value = inputs.lookup(info.name);
    if (!value)
      return llvm::createStringError("input '" + info.name + "' is missing");
    if (value->getElementType() != info.type ||
        value->getShape() != ArrayRef<int64_t>(info.shape))
      return llvm::createStringError("input '" + info.name + "': expected " +
                                     describeTensorType(info.type, info.shape) +
                                     ", found " + value->describe());
    if (mpt_rt_bind(context, info.name.c_str(), value->getData(),
                    value->getByteSize()))
      return lastError("cannot bind an input");
  }
  if (mpt_rt_run(context))
    return lastError("the step failed");
  llvm::StringMap<HostTensor> outputs;
  for (const ResultInfo &info : signature.results) {
    if (!info.updates.empty())
      continue;
    auto tensor = HostTensor::create(info.type, info.shape);
    if (!tensor)
      return tensor.takeError();
    if (mpt_rt_read_output(context, info.name.c_str(), tensor->getData(),
                           tensor->getByteSize()))
      return lastError("cannot read an output");
    outputs[info.name] = std::move(*tensor);
  }
  return outputs;
}

std::vector<ProfileEntry> JITEngine::profile() const {
  std::vector<ProfileEntry> entries;
  if (!profiling)
    return entries;
  const char *what, *location;
  double milliseconds;
  for (int32_t i = 0;
       mpt_rt_get_profile(context, i, &what, &location, &milliseconds) == 0; ++i)
    entries.push_back({std::string(what) + " " + location, milliseconds});
  return entries;
}

} // namespace

llvm::Expected<std::unique_ptr<StepEngine>>
mpt::createJITEngine(OwningOpRef<ModuleOp> module, StringRef name,
                     const JITOptions &options) {
  auto engine = std::make_unique<JITEngine>();
  if (llvm::Error error = engine->init(*module, name, options))
    return std::move(error);
  return std::unique_ptr<StepEngine>(std::move(engine));
}
