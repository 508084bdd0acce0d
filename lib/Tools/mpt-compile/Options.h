//===- Options.h - Command line of mpt-compile ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_COMPILE_OPTIONS_H
#define MPT_LIB_TOOLS_MPT_COMPILE_OPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt {

struct CompileOptions {
  std::string input, output;
  /// Empty: the only function, else the one called loss.
  std::string function;
  std::string cpu = "native";
  bool isCuda = false, emulatedKernels = false;
  std::vector<std::string> chips;
  std::string toolkit, f32Products = "exact";
  bool lowBiases = false, fusedAttention = true, savingEpilogues = true,
       cudnn = false;
  /// Of --autotune: the cache's file, and a CUDA library of each kind.
  std::string autotune, cudart, cublasLt;
  int threads = 8;
  /// Remarks to say: what was missed of all categories, and everything of a category
  /// that matches; a file that they go to instead of standard error.
  bool missedRemarks = false;
  std::string remarksFilter, remarksFile;
  bool help = false, version = false;
};

/// Parses the arguments behind the program's name. Each failure is one line
/// that names the option.
llvm::Expected<CompileOptions>
parseCompileOptions(llvm::ArrayRef<const char *> arguments);

/// The text of --help.
void printCompileHelp(llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_COMPILE_OPTIONS_H
