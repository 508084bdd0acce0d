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
#include "mpt/InitAll.h"
#include "mpt/Support/Version.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpt;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "mpt-compile: " << message << "\n";
  return 1;
}

int mpt::mptCompileMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::OptionCategory category("mpt-compile");
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<step.mlir>"),
                                   llvm::cl::Required, llvm::cl::cat(category));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("The file to write"),
                                    llvm::cl::value_desc("step.so"),
                                    llvm::cl::Required, llvm::cl::cat(category));
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
  if (target != "cpu")
    return fail("unknown target '" + target + "'; this build compiles for cpu");
  if (threads < 1)
    return fail("--max-threads must be at least 1");

  DialectRegistry registry;
  mpt::registerAllDialects(registry);
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  memref::MemRefDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(input, &context);
  if (!module)
    return 1;
  auto machine = createTargetMachine(cpu);
  if (!machine)
    return fail(llvm::toString(machine.takeError()));
  llvm::LLVMContext llvmContext;
  auto compiled = compileToLLVM(*module, llvmContext, **machine, threads);
  if (!compiled)
    return fail(llvm::toString(compiled.takeError()));
  if (llvm::Error error = writeSharedLibrary(**compiled, **machine, output))
    return fail(llvm::toString(std::move(error)));
  return 0;
}
