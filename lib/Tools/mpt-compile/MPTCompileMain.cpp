//===- MPTCompileMain.cpp - Ahead-of-time compilation -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `mpt-compile step.mlir -o step.so`: a training step, or a planned program,
/// as one file that the runtime opens.
///
//===----------------------------------------------------------------------===//

#include "mpt/Tools/MPTCompileMain.h"
#include "../PrintDiagnostic.h"
#include "Autotune.h"
#include "Options.h"
#include "mpt/Codegen/CodeGen.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/Interrupts.h"
#include "mpt/Host/StepSignature.h"
#include "mpt/InitAll.h"
#include "mpt/Support/FirstError.h"
#include "mpt/Support/Version.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "mpt-compile: " << message << "\n";
  return 1;
}

/// The module of `path` with the function to compile alone, or the planned program.
static llvm::Expected<OwningOpRef<ModuleOp>>
readModule(llvm::StringRef path, llvm::StringRef name, MLIRContext &context) {
  auto file = InputFile::open(path);
  if (!file)
    return file.takeError();
  FirstError error(&context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module) {
    std::string why = llvm::toString(error.take(path + ": cannot parse"));
    // StableHLO's, say, which other compilers take back after mpt-opt.
    if (size_t at = why.find("operation being parsed with an unregistered dialect");
        at != std::string::npos)
      why = why.substr(0, at) + "an op of a dialect that cannot be compiled; a step is of "
                                "the dialect mpt";
    return llvm::createStringError(why);
  }
  if (!module->getOps<program::ProgramOp>().empty() &&
      (name.empty() || module->lookupSymbol<program::ProgramOp>(name))) {
    // Functions that were not planned are no part of it.
    for (auto other : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
      if (!other.isDeclaration())
        other.erase();
    return module;
  }
  auto function = findFunction(*module, "--function", name);
  if (!function)
    return function.takeError();
  if (failed(readStepSignature(*function)))
    return error.take("@" + function->getName() + " cannot be run");
  for (auto other : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
    if (other != *function)
      other.erase();
  return module;
}

/// Lets `context` say the remarks that `options` ask for, in `file` if it is not
/// empty.
static llvm::Error listen(MLIRContext &context, const CompileOptions &options,
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
                      context, file, llvm::remarks::Format::YAML,
                      std::move(policy), categories);
  if (failed(enabled))
    return createFileMessage(file, "cannot write remarks");
  return llvm::Error::success();
}

/// No output may cost the user an input or another output.
static llvm::Error checkFiles(const CompileOptions &options) {
  for (const std::string &path : {options.output, options.remarksFile})
    if (!path.empty())
      if (llvm::Error error = checkWritable(path))
        return error;
  return checkDistinctFiles({{"the step", options.input},
                             {"--cudart", options.cudart},
                             {"--cublaslt", options.cublasLt},
                             {"--autotune", options.autotune, /*isOutput=*/true},
                             {"--remarks-output-file", options.remarksFile, true},
                             {"-o", options.output, true}});
}

/// Compiles; LLVM writes remarks to `remarksFile` if it is not empty.
static int compile(const CompileOptions &options, llvm::StringRef remarksFile) {
  DialectRegistry registry;
  mpt::registerAllDialects(registry);
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  memref::MemRefDialect>();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler others(&context, [](Diagnostic &diagnostic) {
    printDiagnostic(diagnostic, "mpt-compile");
    return success();
  });
  if (llvm::Error error = listen(context, options, remarksFile))
    return fail(llvm::toString(std::move(error)));
  auto module = readModule(options.input, options.function, context);
  if (!module)
    return fail(llvm::toString(module.takeError()));
  auto machine = createTargetMachine(options.cpu);
  if (!machine)
    return fail(llvm::toString(machine.takeError()));
  llvm::LLVMContext llvmContext;
  CudaOptions cuda{options.chips, options.toolkit, options.emulatedKernels,
                   options.f32Products, options.lowBiases,
                   options.fusedAttention, options.savingEpilogues, options.cudnn,
                   TuneProducts()};
  if (!options.autotune.empty())
    cuda.tune = [&](llvm::ArrayRef<rt::GemmPlan> plans) { return autotune(plans, options); };
  auto compiled =
      options.isCuda
          ? compileToCuda(**module, llvmContext, **machine, cuda)
          : compileToLLVM(**module, llvmContext, **machine, options.threads);
  if (!compiled)
    return fail(llvm::toString(compiled.takeError()));
  if (llvm::Error error = writeSharedLibrary(**compiled, **machine, options.output))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

/// Compiles, and moves the remarks that LLVM has written to a file of its own to
/// where the user wants them.
static int compileWithRemarks(const CompileOptions &options) {
  llvm::SmallString<128> temporary;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("mpt-remarks", "yaml", temporary))
    return fail("cannot make a temporary file: " + code.message());
  removeOnInterrupt(temporary);
  llvm::scope_exit remove([&] {
    llvm::sys::fs::remove(temporary);
    keepOnInterrupt(temporary);
  });
  int status = compile(options, temporary);
  auto remarks = llvm::MemoryBuffer::getFile(temporary);
  if (!remarks)
    return fail(temporary + ": cannot read: " + remarks.getError().message());
  if (llvm::Error error =
          writeFileAtomically(options.remarksFile, (*remarks)->getBuffer()))
    return fail(llvm::toString(std::move(error)));
  return status;
}

/// Results that standard output could not take are a failure. Remarks and errors
/// that standard error could not take are not worth the program.
static int finishStreams(int status) {
  llvm::outs().flush();
  if (std::error_code code = llvm::outs().error()) {
    llvm::errs() << "mpt-compile: standard output: cannot write: " << code.message()
                 << "\n";
    llvm::outs().clear_error();
    status = 1;
  }
  static_cast<llvm::raw_fd_ostream &>(llvm::errs()).clear_error();
  return status;
}

static int runTool(llvm::ArrayRef<const char *> arguments) {
  auto options = parseCompileOptions(arguments);
  if (!options)
    return fail(llvm::toString(options.takeError()));
  if (options->help || options->version) {
    if (options->help)
      printCompileHelp(llvm::outs());
    else
      llvm::outs() << "mpt-compile " << kVersion << "\n";
    return 0;
  }
  if (llvm::Error error = checkFiles(*options))
    return fail(llvm::toString(std::move(error)));
  return options->remarksFile.empty() ? compile(*options, "")
                                      : compileWithRemarks(*options);
}

int mpt::mptCompileMain(int argc, char **argv) {
  installInterruptHandlers("mpt-compile");
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  return finishStreams(
      runTool(llvm::ArrayRef<const char *>(argv, argc).drop_front()));
}
