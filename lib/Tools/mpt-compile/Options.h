//===- Options.h - Command line of mpt-compile ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_COMPILE_OPTIONS_H
#define MPT_LIB_TOOLS_MPT_COMPILE_OPTIONS_H

#include "mpt/Codegen/CUDA/CostModel.h"
#include "mpt/Tools/CompileStep.h"

namespace mpt {

/// The whole command line. Without `output` the input is a program, of which only a
/// report is made.
struct CompileCommand : CompileOptions {
  std::string input, output;
  /// Where remarks go; empty: to standard error.
  std::string remarksFile;
  /// Where the estimated cost of a step goes, or empty, and the GPU that it is for.
  /// Null: the GPU of the program's first machine code.
  std::string report;
  const GpuChip *reportChip = nullptr;
  /// A profile with measured times, or empty.
  std::string reportMeasured;
  /// A file that keeps what a GPU has chosen, or empty.
  std::string reportTuning;
  bool help = false, version = false;
};

/// Parses the arguments after the program's name. Each failure is one line that names the
/// option.
llvm::Expected<CompileCommand>
parseCompileCommand(llvm::ArrayRef<const char *> arguments);

/// The text of --help.
void printCompileHelp(llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_COMPILE_OPTIONS_H
