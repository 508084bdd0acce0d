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
#include "mpt/ExecutionEngine/CodeGen.h"
#include "mpt/ExecutionEngine/FileIO.h"
#include "mpt/ExecutionEngine/StepSignature.h"
#include "mpt/InitAll.h"
#include "mpt/Support/FirstError.h"
#include "mpt/Support/Version.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

using namespace mlir;
using namespace mpt;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "mpt-compile: " << message << "\n";
  return 1;
}

/// The module of `path` with the function to compile alone. One that holds a
/// planned program is taken as it is.
static llvm::Expected<OwningOpRef<ModuleOp>>
readModule(llvm::StringRef path, llvm::StringRef name, MLIRContext &context) {
  auto file = InputFile::open(path);
  if (!file)
    return file.takeError();
  FirstError error(&context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return error.take(path + ": cannot parse");
  if (name.empty() && !module->getOps<ProgramOp>().empty())
    return module;
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

int mpt::mptCompileMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A limit on file sizes is an error of the write, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::cl::OptionCategory category("mpt-compile");
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<step.mlir>"),
                                   llvm::cl::cat(category));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("The file to write"),
                                    llvm::cl::value_desc("step.so"),
                                    llvm::cl::cat(category));
  llvm::cl::opt<std::string> name(
      "function",
      llvm::cl::desc("The function to compile (default: the only one, else loss)"),
      llvm::cl::cat(category));
  llvm::cl::opt<std::string> target("target", llvm::cl::desc("cpu"),
                                    llvm::cl::init("cpu"), llvm::cl::cat(category));
  llvm::cl::opt<std::string> cpu(
      "mcpu", llvm::cl::desc("The CPU to generate code for, as clang's -mcpu"),
      llvm::cl::init("native"), llvm::cl::cat(category));
  llvm::cl::opt<int> threads(
      "max-threads", llvm::cl::desc("Most threads that workspaces are planned for"),
      llvm::cl::init(8), llvm::cl::cat(category));
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Compiles a training step into a file that MPT's runtime opens\n");
  if (input.empty())
    return fail("missing argument: the step, a .mlir file");
  if (output.empty())
    return fail("missing option: give -o FILE");
  if (target != "cpu")
    return fail("unknown target '" + target + "'; this build compiles for cpu");
  if (threads < 1)
    return fail("--max-threads must be at least 1");

  DialectRegistry registry;
  mpt::registerAllDialects(registry);
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  memref::MemRefDialect>();
  MLIRContext context(registry);
  auto module = readModule(input, name, context);
  if (!module)
    return fail(llvm::toString(module.takeError()));
  auto machine = createTargetMachine(cpu);
  if (!machine)
    return fail(llvm::toString(machine.takeError()));
  llvm::LLVMContext llvmContext;
  auto compiled = compileToLLVM(**module, llvmContext, **machine, threads);
  if (!compiled)
    return fail(llvm::toString(compiled.takeError()));
  if (llvm::Error error = writeSharedLibrary(**compiled, **machine, output))
    return fail(llvm::toString(std::move(error)));
  return 0;
}
