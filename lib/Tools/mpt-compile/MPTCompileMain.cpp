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
#include "Options.h"
#include "mpt/InitAll.h"
#include "mpt/Support/DiagnosticCapture.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/Interrupts.h"
#include "mpt/Support/Version.h"

#include "mlir/Parser/Parser.h"
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

/// Whether the file has StableHLO in any form: as text, as bytecode or as an artifact,
/// whose header names what wrote it.
static bool hasStableHLO(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  llvm::StringRef text = buffer ? (*buffer)->getBuffer() : "";
  return llvm::any_of(llvm::ArrayRef<llvm::StringRef>{"stablehlo", "vhlo", "StableHLO_"},
                      [&](llvm::StringRef word) { return text.contains(word); });
}

/// The module of `path`.
static llvm::Expected<OwningOpRef<ModuleOp>> readModule(llvm::StringRef path,
                                                        MLIRContext &context) {
  auto file = InputFile::open(path);
  if (!file)
    return file.takeError();
  DiagnosticCapture error(&context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (module)
    return module;
  std::string why = llvm::toString(error.take(path + ": cannot parse"));
  // StableHLO's, say, which other compilers take back after mpt-opt.
  if (size_t at = why.find("operation being parsed with an unregistered dialect");
      at != std::string::npos)
    why = why.substr(0, at) + "an op of a dialect that cannot be compiled; a step is of "
                              "the dialect mpt";
  if (hasStableHLO(path))
    why = llvm::StringRef(why).rtrim(" .").str() +
          "; mpt-opt --allow-unregistered-dialect --mpt-convert-stablehlo converts "
          "StableHLO in generic form, and says how to print that";
  return llvm::createStringError(why);
}

/// No output may cost the user an input or another output.
static llvm::Error checkFiles(const CompileCommand &options) {
  for (const std::string &path : {options.output, options.remarksFile, options.report})
    if (!path.empty())
      if (llvm::Error error = checkWritable(path))
        return error;
  return checkDistinctFiles({{"the step", options.input},
                             {"--cudart", options.cudart},
                             {"--cublaslt", options.cublasLt},
                             {"--state", options.state},
                             {"--autotune", options.autotune, /*isOutput=*/true},
                             {"--remarks-output-file", options.remarksFile, true},
                             {"--report-measured", options.reportMeasured},
                             {"--report-tuning", options.reportTuning},
                             {"--report", options.report, true},
                             {"-o", options.output, true}});
}

/// Writes what a step of the program in `file` costs.
static llvm::Error writeReport(const CompileCommand &options, llvm::StringRef file) {
  auto program = readDeviceProgram(file);
  if (!program)
    return program.takeError();
  const GpuChip *chip = options.reportChip;
  if (!chip && !program->cubins.empty())
    chip = findGpuChip(program->cubins.begin()->first);
  if (!chip)
    return createFileMessage("--report", "name a GPU with --report-chip: no rates are "
                                         "known of one that runs " +
                                             file);
  llvm::StringSet<> without;
  if (!options.reportTuning.empty()) {
    auto tuning = llvm::MemoryBuffer::getFile(options.reportTuning);
    if (!tuning)
      return createFileMessage(options.reportTuning,
                               "cannot read: " + tuning.getError().message());
    auto plans = readPlansWithout((*tuning)->getBuffer(), *chip);
    if (!plans)
      return createFileMessage(options.reportTuning, llvm::toString(plans.takeError()));
    without = std::move(*plans);
  }
  auto estimate = estimateProgram(*program, *chip, without);
  if (!estimate)
    return createFileMessage("--report", llvm::toString(estimate.takeError()));
  if (!options.reportMeasured.empty()) {
    auto profile = llvm::MemoryBuffer::getFile(options.reportMeasured);
    if (!profile)
      return createFileMessage(options.reportMeasured,
                               "cannot read: " + profile.getError().message());
    if (llvm::Error error = addMeasuredTimes(*estimate, (*profile)->getBuffer()))
      return createFileMessage(options.reportMeasured, llvm::toString(std::move(error)));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringRef path = options.report;
  if (path.ends_with(".json"))
    printEstimateJSON(*estimate, os);
  else if (path.ends_with(".html"))
    printEstimatePage(*estimate, os);
  else
    printEstimate(*estimate, os);
  return writeFileAtomically(path, text);
}

/// Compiles; LLVM writes remarks to `remarksFile` if it is not empty.
static int compile(const CompileCommand &options, llvm::StringRef remarksFile) {
  DialectRegistry registry;
  mpt::registerAllDialects(registry);
  registerCompileDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler others(&context, [](Diagnostic &diagnostic) {
    printDiagnostic(diagnostic, "mpt-compile");
    return success();
  });
  if (llvm::Error error = emitRemarks(context, options, remarksFile))
    return fail(llvm::toString(std::move(error)));
  auto module = readModule(options.input, context);
  if (!module)
    return fail(llvm::toString(module.takeError()));
  if (llvm::Error error = compileStep(**module, options, options.output))
    return fail(llvm::toString(std::move(error)));
  if (!options.report.empty())
    if (llvm::Error error = writeReport(options, options.output))
      return fail(llvm::toString(std::move(error)));
  return 0;
}

/// Compiles, and moves the remarks that LLVM has written to a file of its own to
/// where the user wants them.
static int compileWithRemarks(const CompileCommand &options) {
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
  auto options = parseCompileCommand(arguments);
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
  if (options->output.empty()) {
    llvm::Error error = writeReport(*options, options->input);
    return error ? fail(llvm::toString(std::move(error))) : 0;
  }
  return options->remarksFile.empty() ? compile(*options, "")
                                      : compileWithRemarks(*options);
}

int mpt::mptCompileMain(int argc, char **argv) {
  installInterruptHandlers("mpt-compile");
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  return finishStreams(runTool(llvm::ArrayRef<const char *>(argv, argc).drop_front()));
}
