//===- CompileStep.cpp - From a module to a program file --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Tools/CompileStep.h"
#include "Autotune.h"
#include "mpt/Codegen/CodeGen.h"
#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Host/Checkpoint.h"
#include "mpt/Host/StateValues.h"
#include "mpt/Host/StepSignature.h"
#include "mpt/ProgramABI/ProgramFile.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/Support/DiagnosticCapture.h"
#include "mpt/Support/FileIO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mpt;

void mpt::registerCompileDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  memref::MemRefDialect>();
}

llvm::Error mpt::emitRemarks(MLIRContext &context, const CompileOptions &options,
                             llvm::StringRef file) {
  if (!options.missedRemarks && options.remarksFilter.empty())
    return llvm::Error::success();
  remark::RemarkCategories categories;
  if (!options.remarksFilter.empty())
    categories.passed = categories.missed = categories.analysis = categories.failed =
        options.remarksFilter;
  if (options.missedRemarks)
    categories.missed = categories.failed = ".*";
  auto policy = std::make_unique<remark::RemarkEmittingPolicyAll>();
  bool isPrinted = file.empty();
  LogicalResult enabled =
      isPrinted ? remark::enableOptimizationRemarks(context, nullptr, std::move(policy),
                                                    categories, isPrinted)
                : remark::enableOptimizationRemarksWithLLVMStreamer(
                      context, file, llvm::remarks::Format::YAML, std::move(policy),
                      categories);
  if (failed(enabled))
    return createFileMessage(file, "cannot write remarks");
  return llvm::Error::success();
}

/// What hosts are told of a step: see ProgramFile.h.
static std::string writeMetadata(llvm::StringRef digest, const StepSignature *signature) {
  llvm::json::Object object{{"step", digest}};
  if (signature) {
    object["is_step"] = signature->isStep();
    llvm::json::Array masters;
    llvm::json::Object lows;
    for (const TensorInfo &argument : signature->arguments) {
      if (argument.hasMaster)
        masters.push_back(argument.name);
      if (!argument.lowOf.empty())
        lows[argument.name] = argument.lowOf;
    }
    object["masters"] = std::move(masters);
    object["low_of"] = std::move(lows);
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

namespace {
/// Takes values of a step's state, of which nothing runs.
class StateCollector : public StepEngine {
public:
  explicit StateCollector(const StepSignature &signature) : signature(signature) {}

  llvm::ArrayRef<TensorInfo> getArguments() const override { return signature.arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return signature.results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override {
    auto found = values.find(name.str());
    if (found == values.end())
      return llvm::createStringError("state '" + name + "' has no value");
    return found->second;
  }
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override {
    values.insert_or_assign(name.str(), value);
    return llvm::Error::success();
  }
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &) override {
    return llvm::createStringError("the step is not compiled yet");
  }
  size_t arenaBytes() const override { return 0; }
  size_t stateBytes() const override { return 0; }

  std::map<std::string, HostTensor> values;

private:
  const StepSignature &signature;
};

/// What `compileStep` knows of the step apart from its code.
struct StepData {
  std::string metadata;
  /// Values that the state begins with (mpt/ProgramABI/ProgramFormat.h); empty: none.
  std::string state;
};
} // namespace

/// The block of values in the file `path` for the step's state.
static llvm::Expected<std::string> readStateBlock(const StepSignature &signature,
                                                  llvm::StringRef digest,
                                                  llvm::StringRef path) {
  StateCollector collector(signature);
  if (llvm::Error error = readStateFile(path, digest, collector))
    return std::move(error);
  std::vector<rt::StateValue> values;
  std::vector<int64_t> elementSizes;
  for (const auto &[name, tensor] : collector.values) {
    if (tensor.getByteSize() == 0)
      continue;
    values.push_back(
        {name, static_cast<const uint8_t *>(tensor.getData()), tensor.getByteSize()});
    elementSizes.push_back(getElementSize(tensor.getElementType()));
  }
  std::string block, why;
  if (!rt::writeStateValues(std::move(values), elementSizes, rt::kMaxStateValueBytes,
                            block, why))
    return createFileMessage(path, why);
  return block;
}

/// Leaves the function to compile, or the planned program, alone in `module`, and returns
/// what goes into the file with it.
static llvm::Expected<StepData> isolate(ModuleOp module, const CompileOptions &options) {
  llvm::StringRef name = options.function;
  auto programs = module.getOps<program::ProgramOp>();
  if (!programs.empty() &&
      (name.empty() || module.lookupSymbol<program::ProgramOp>(name))) {
    if (!options.state.empty())
      return llvm::createStringError(
          "--state: expected a step function, found a program that is planned already; "
          "compile the step that it was planned from");
    // Functions that were not planned are not part of it.
    for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!other.isDeclaration())
        other.erase();
    std::string text;
    llvm::raw_string_ostream os(text);
    (*programs.begin()).print(os);
    return StepData{
        writeMetadata(llvm::utohexstr(llvm::xxh3_64bits(text), true, 16), nullptr), ""};
  }
  auto function = findFunction(module, "--function", name);
  if (!function)
    return function.takeError();
  DiagnosticCapture error(module.getContext());
  FailureOr<StepSignature> signature = readStepSignature(*function);
  if (failed(signature))
    return error.take("@" + function->getName() + " cannot be run");
  // A file has one block of first values, for whichever process opens it.
  if (llvm::any_of(signature->arguments,
                   [](const TensorInfo &argument) { return argument.shards != nullptr; }))
    return llvm::createStringError(
        "@" + function->getName() +
        " has parameters that are cut between ranks (mpt.shards), which a compiled step "
        "cannot give first values; train it with mpt-run, or compile a step without "
        "--mpt-shard-optimizer");
  for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other != *function)
      other.erase();
  const std::string digest = computeStepDigest(*function);
  StepData data{writeMetadata(digest, &*signature), ""};
  if (!options.state.empty()) {
    auto block = readStateBlock(*signature, digest, options.state);
    if (!block)
      return block.takeError();
    data.state = std::move(*block);
  }
  return data;
}

llvm::Error mpt::compileStep(ModuleOp module, const CompileOptions &options,
                             llvm::StringRef output) {
  auto data = isolate(module, options);
  if (!data)
    return data.takeError();
  auto machine = createTargetMachine(options.cpu, options.triple);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext llvmContext;
  CudaOptions cuda{options.chips,
                   options.toolkit,
                   options.emulatedKernels,
                   options.f32Matmuls,
                   options.fastMath,
                   options.lowBiases,
                   options.fusedAttention,
                   options.epilogues,
                   options.joinMatmuls,
                   options.cudnn,
                   options.cudnnWide,
                   options.cudnnAttention,
                   options.cudnnPlainAttention,
                   options.warpgroupAttention,
                   TuneMatmuls()};
  if (!options.autotune.empty())
    cuda.tune = [&](llvm::ArrayRef<rt::GemmPlan> plans) {
      return autotune(plans, options);
    };
  auto compiled = options.isCuda
                      ? compileToCuda(module, llvmContext, **machine, cuda)
                      : compileToLLVM(module, llvmContext, **machine, options.threads);
  if (!compiled)
    return compiled.takeError();
  if (!data->state.empty())
    if (llvm::Error error = addStateValues(**compiled, data->state))
      return error;
  if (options.emitsObject)
    return writeObject(**compiled, **machine, options.symbol, output);
  auto *text = llvm::ConstantDataArray::getString(llvmContext, data->metadata);
  new llvm::GlobalVariable(**compiled, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text,
                           rt::kProgramMetadata);
  return writeSharedLibrary(**compiled, **machine, output, options.pageSize);
}
