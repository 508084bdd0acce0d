//===- JITEngine.cpp - Functions compiled in this process -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/JITEngine.h"
#include "mpt/Codegen/CodeGen.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Host/StepSignature.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "mpt/Support/DiagnosticCapture.h"
#include "mpt/Support/Interrupts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <thread>

using namespace mlir;
using namespace mpt;

/// Reads the signature of the function `name` of `module` and leaves it alone there.
static llvm::Expected<StepSignature> isolateFunction(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isExternal())
    return llvm::createStringError("no function @" + name + " with a body");
  DiagnosticCapture error(module.getContext());
  FailureOr<StepSignature> signature = readStepSignature(function);
  if (failed(signature))
    return error.take("@" + name + " is not a step that can be run");
  for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other != function)
      other.erase();
  return std::move(*signature);
}

std::string mpt::getUserTuningFolder() {
  llvm::SmallString<128> folder;
  if (!llvm::sys::path::cache_directory(folder))
    return "";
  // The XDG specification has relative paths ignored.
  if (!llvm::sys::path::is_absolute(folder)) {
    if (!llvm::sys::path::home_directory(folder))
      return "";
    llvm::sys::path::append(folder, ".cache");
  }
  llvm::sys::path::append(folder, "mpt", "tuning");
  return folder.str().str();
}

/// The file that keeps what is measured of the step `function`; "" if nothing is.
static std::string findTuningFile(func::FuncOp function, const JITOptions &options) {
  if (!options.tunes || !options.tuningFile.empty() || options.tuningFolder.empty())
    return options.tuningFile;
  // Where no choice can be kept, each run would make its own.
  if (llvm::sys::fs::create_directories(options.tuningFolder, /*IgnoreExisting=*/true,
                                        llvm::sys::fs::owner_all) ||
      llvm::sys::fs::access(options.tuningFolder, llvm::sys::fs::AccessMode::Write))
    return "";
  llvm::SmallString<128> file(options.tuningFolder);
  llvm::sys::path::append(file, computeStepDigest(function) + ".tuning");
  return file.str().str();
}

/// Compiles for `chip`, as mpt-compile does, and opens what comes out: a file that is
/// gone when this returns.
static llvm::Expected<std::unique_ptr<RuntimeEngine>>
compileForChip(ModuleOp module, StepSignature signature, StringRef chip,
               const JITOptions &options) {
  auto machine = createTargetMachine("native");
  if (!machine)
    return machine.takeError();
  CudaOptions cuda;
  cuda.chips = {chip.str()};
  cuda.toolkit = options.toolkit;
  cuda.emulatedKernels = options.emulatedKernels;
  cuda.warpgroupAttention = options.warpgroupAttention && chip == "sm_90";
  llvm::LLVMContext llvmContext;
  auto compiled = compileToCuda(module, llvmContext, **machine, cuda);
  if (!compiled)
    return compiled.takeError();
  llvm::SmallString<128> file;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("mpt-step", "so", file))
    return llvm::createStringError("cannot make a temporary file: " + code.message());
  removeOnInterrupt(file);
  llvm::scope_exit remove([&] {
    llvm::sys::fs::remove(file);
    keepOnInterrupt(file);
  });
  if (llvm::Error error = writeSharedLibrary(**compiled, **machine, file))
    return std::move(error);
  RuntimeOptions runtime = options;
  // Without a file each run would choose for itself.
  runtime.tunes &= !runtime.tuningFile.empty();
  return RuntimeEngine::open(file, std::move(signature.arguments),
                             std::move(signature.results), runtime);
}

/// Of the GPU's `unused` bytes, those that a step leaves if it can. What libraries take
/// when they are loaded and used (code of kernels, plans, CUDA graphs) and what is lost
/// between blocks of memory is not known before. Most takes a few hundred MiB on every
/// GPU, which a small one does not have to give; the rest grows with the step.
static int64_t countKeptBack(int64_t unused) {
  constexpr int64_t kMostForLibraries = 256 << 20, kLibraryShare = 16, kStepShare = 32;
  return std::min(kMostForLibraries, unused / kLibraryShare) + unused / kStepShare;
}

/// What the step takes of the GPU's memory with the copies that runs leave of its outputs
/// where the host reads them late, and without them.
struct NeededMemory {
  int64_t withCopies, without;
};

/// What the step takes, and what is free.
static llvm::Expected<std::pair<NeededMemory, int64_t>>
countMemory(RuntimeEngine &engine) {
  auto alone = engine.countDeviceMemory();
  if (!alone)
    return alone.takeError();
  auto number = static_cast<int32_t>(engine.getArguments().size());
  std::vector<int32_t> outputs;
  for (const ResultInfo &result : engine.getResults())
    if (result.updates.empty())
      outputs.push_back(number++);
  if (llvm::Error error = engine.keepResults(outputs))
    return std::move(error);
  auto memory = engine.countDeviceMemory();
  if (llvm::Error error = engine.keepResults({})) {
    if (!memory)
      llvm::consumeError(memory.takeError());
    return std::move(error);
  }
  if (!memory)
    return memory.takeError();
  return std::pair(NeededMemory{memory->first, alone->first}, memory->second);
}

/// Compiles for the GPU that `options` choose. A step without a memory budget that needs
/// more memory than is free there, but for what is kept back, gets one that fits. Where
/// no plan does, nothing is kept back, also not for copies of results, which runs can do
/// without.
static llvm::Expected<std::unique_ptr<RuntimeEngine>>
createCudaEngine(ModuleOp module, StepSignature signature, JITOptions options) {
  options.tuningFile = findTuningFile(*module.getOps<func::FuncOp>().begin(), options);
  auto chip = findCudaChip(options);
  if (!chip)
    return chip.takeError();
  OwningOpRef<ModuleOp> again = module.clone();
  auto engine = compileForChip(module, signature, *chip, options);
  if (!engine)
    return engine;
  auto memory = countMemory(**engine);
  if (!memory)
    return memory.takeError();
  const NeededMemory needs = memory->first;
  const int64_t unused = memory->second;
  if ((*again->getOps<func::FuncOp>().begin())->hasAttr(kBudgetAttr))
    return engine;
  std::string reason, failure;
  for (auto [keptBack, needed] : {std::pair(countKeptBack(unused), needs.withCopies),
                                  std::pair(int64_t(0), needs.without)}) {
    reason = "the step takes " + std::to_string(needed) +
             " bytes of the GPU's memory and " + std::to_string(unused) + " are free";
    const int64_t excess = needed - (unused - keptBack);
    const int64_t budget = static_cast<int64_t>((*engine)->arenaBytes()) - excess;
    if (excess <= 0)
      return engine;
    if (budget <= 0)
      continue;
    OwningOpRef<ModuleOp> copy = again->clone();
    (*copy->getOps<func::FuncOp>().begin())
        ->setAttr(kBudgetAttr,
                  StringAttr::get(copy->getContext(), std::to_string(budget)));
    auto smaller = compileForChip(*copy, signature, *chip, options);
    if (smaller) {
      const std::string kept =
          keptBack > 0 ? " (" + std::to_string(keptBack) + " of them are kept back)" : "";
      (*smaller)->addNote(reason + kept + ": its values have a memory budget of " +
                          std::to_string(budget) + " bytes");
      return smaller;
    }
    failure = llvm::toString(smaller.takeError());
  }
  // What is not values of the step is too much: its first run says so.
  if (failure.empty())
    return engine;
  return llvm::createStringError(
      reason +
      ", and computing values again does not make it small enough; use a smaller batch, "
      "narrower types or micro-batches (" +
      failure + ")");
}

static llvm::Expected<std::unique_ptr<RuntimeEngine>>
createCPUEngine(ModuleOp module, StepSignature signature, const JITOptions &options) {
  RuntimeOptions runtime = options;
  if (runtime.threads <= 0)
    runtime.threads = std::max<int>(std::thread::hardware_concurrency(), 1);
  int64_t memory = options.memoryLimit > 0 ? options.memoryLimit : rt::getSystemMemory();
  auto objects =
      compileToObjects(module, runtime.threads, std::min(memory, rt::kMaxProgramBytes));
  if (!objects)
    return objects.takeError();

  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).create();
  if (!made)
    return made.takeError();
  std::shared_ptr<llvm::orc::LLJIT> jit = std::move(*made);
  // Scalar f64 functions come from this process's libm.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  jit->getMainJITDylib().addGenerator(std::move(*process));
  for (std::unique_ptr<llvm::MemoryBuffer> &object : *objects)
    if (llvm::Error error = jit->addObjectFile(std::move(object)))
      return std::move(error);
  auto symbol = jit->lookup("mpt_program");
  if (!symbol)
    return symbol.takeError();
  return RuntimeEngine::create(symbol->toPtr<mpt_program_desc *>(), jit,
                               std::move(signature.arguments),
                               std::move(signature.results), runtime);
}

llvm::Expected<std::unique_ptr<RuntimeEngine>>
mpt::createJITEngine(OwningOpRef<ModuleOp> module, StringRef name,
                     const JITOptions &options) {
  auto signature = isolateFunction(*module, name);
  if (!signature)
    return signature.takeError();
  return options.isCuda ? createCudaEngine(*module, std::move(*signature), options)
                        : createCPUEngine(*module, std::move(*signature), options);
}
