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
#include "mpt/Host/StepSignature.h"
#include "mpt/ProgramABI/ProgramFile.h"
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

/// Leaves the function to compile, or the planned program, alone in `module`, and returns
/// what hosts are told of it.
static llvm::Expected<std::string> isolate(ModuleOp module, llvm::StringRef name) {
  auto programs = module.getOps<program::ProgramOp>();
  if (!programs.empty() &&
      (name.empty() || module.lookupSymbol<program::ProgramOp>(name))) {
    // Functions that were not planned are not part of it.
    for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!other.isDeclaration())
        other.erase();
    std::string text;
    llvm::raw_string_ostream os(text);
    (*programs.begin()).print(os);
    return writeMetadata(llvm::utohexstr(llvm::xxh3_64bits(text), true, 16), nullptr);
  }
  auto function = findFunction(module, "--function", name);
  if (!function)
    return function.takeError();
  DiagnosticCapture error(module.getContext());
  FailureOr<StepSignature> signature = readStepSignature(*function);
  if (failed(signature))
    return error.take("@" + function->getName() + " cannot be run");
  for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other != *function)
      other.erase();
  return writeMetadata(computeStepDigest(*function), &*signature);
}

llvm::Error mpt::compileStep(ModuleOp module, const CompileOptions &options,
                             llvm::StringRef output) {
  auto metadata = isolate(module, options.function);
  if (!metadata)
    return metadata.takeError();
  auto machine = createTargetMachine(options.cpu);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext llvmContext;
  CudaOptions cuda{options.chips,           options.toolkit,   options.emulatedKernels,
                   options.f32Matmuls,      options.lowBiases, options.fusedAttention,
                   options.savingEpilogues, options.cudnn,     TuneMatmuls()};
  if (!options.autotune.empty())
    cuda.tune = [&](llvm::ArrayRef<rt::GemmPlan> plans) {
      return autotune(plans, options);
    };
  auto compiled = options.isCuda
                      ? compileToCuda(module, llvmContext, **machine, cuda)
                      : compileToLLVM(module, llvmContext, **machine, options.threads);
  if (!compiled)
    return compiled.takeError();
  auto *text = llvm::ConstantDataArray::getString(llvmContext, *metadata);
  new llvm::GlobalVariable(**compiled, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text,
                           rt::kProgramMetadata);
  return writeSharedLibrary(**compiled, **machine, output);
}
