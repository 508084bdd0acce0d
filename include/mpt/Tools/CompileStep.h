//===- CompileStep.h - From a module to a program file ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What mpt-compile does between reading a file and writing one, for other programs.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TOOLS_COMPILESTEP_H
#define MPT_TOOLS_COMPILESTEP_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt {

/// The options of mpt-compile that say how to compile; `mpt-compile --help` tells more.
struct CompileOptions {
  /// Empty: the only function, else the one called loss.
  std::string function;
  std::string cpu = "native";
  /// As clang's --target; empty: this machine.
  std::string triple;
  /// A .safetensors file with values that the state begins with; empty: none.
  std::string state;
  /// Write an object file for static linking, whose descriptor is called `symbol`.
  bool emitsObject = false;
  std::string symbol = "mpt_program";
  /// Of the shared library's segments; 0: the linker's.
  uint64_t pageSize = 0;
  bool isCuda = false, emulatedKernels = false;
  std::vector<std::string> chips;
  std::string toolkit, f32Matmuls = "exact", epilogues = "faster";
  bool fastMath = true, lowBiases = false, fusedAttention = true, joinMatmuls = true,
       cudnn = true, cudnnWide = false, cudnnAttention = false,
       cudnnPlainAttention = true, warpgroupAttention = false;
  /// Of --autotune: the cache's file, and a CUDA library of each kind.
  std::string autotune, cudart, cublasLt;
  int threads = 8;
  /// Remarks to say: what was missed of all categories, and everything of a category
  /// that matches.
  bool missedRemarks = false;
  std::string remarksFilter;
};

/// Reads options as mpt-compile has them on its command line ("--target=cuda",
/// "--chip=sm_90"). Fails on those that name files of the command (the step, -o,
/// --remarks-output-file) and on --help and --version.
llvm::Expected<CompileOptions>
parseCompileOptionList(llvm::ArrayRef<const char *> arguments);

/// Adds the dialects that a step may be written in, besides MPT's own.
void registerCompileDialects(mlir::DialectRegistry &registry);

/// Lets `context` say the remarks that `options` ask for: as YAML in `file`, or as
/// diagnostics if it is empty.
llvm::Error emitRemarks(mlir::MLIRContext &context, const CompileOptions &options,
                        llvm::StringRef file);

/// Compiles a training step, another function of the step ABI or a planned program of
/// `module` into the shared library or object file `output`, complete or not at all.
/// `module` is changed. What is wrong is in the error, with its place; other diagnostics
/// go to the context's handlers.
llvm::Error compileStep(mlir::ModuleOp module, const CompileOptions &options,
                        llvm::StringRef output);

} // namespace mpt

#endif // MPT_TOOLS_COMPILESTEP_H
