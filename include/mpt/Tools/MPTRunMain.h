//===- MPTRunMain.h - The trainer, as a library -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TOOLS_MPTRUNMAIN_H
#define MPT_TOOLS_MPTRUNMAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mpt/Host/RankGroup.h"
#include "mpt/Host/StepEngine.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>
#include <memory>

namespace mpt {

struct EngineOptions {
  /// 0: the engine's default.
  int64_t threads = 0;
  /// Most bytes of memory; 0: what this process can have.
  int64_t memoryLimit = 0;
  /// Measure runs, for `StepEngine::profile`.
  bool profile = false;
  /// Run on a GPU, the one of this number, or that of the rank with this number among
  /// those of the machine.
  bool isCuda = false;
  int device = 0;
  bool isLocalRank = false;
  /// CUDA's libraries; "": those that the loader finds.
  std::string cudart, cublasLt, cudnn, nccl;
  /// As mpt_rt_set_tuning has them.
  bool tunes = true;
  std::string tuningFile;
  /// Most branches of a step's CUDA graph.
  int graphBranches = 3;
  /// To compile for a GPU, as mpt-compile's options of these names.
  std::string toolkit;
  bool emulatedKernels = false, warpgroupAttention = false;
  /// What the runtime knows the other ranks by, with --parallel; else null.
  mpt_rt_communicator *communicator = nullptr;
};

/// A program that mpt-compile wrote, ready to run.
struct OpenedProgram {
  std::unique_ptr<StepEngine> engine;
  /// Of the step function that it was compiled from.
  std::string digest;
  /// False if that trains nothing.
  bool isStep = true;
  bool isCuda = false;
};

/// What `--engine` chooses among; the first is the default.
struct EngineFactory {
  std::string name;
  /// Makes an engine for the step or evaluation function `@function` of
  /// `module`, whose shapes are static. Diagnostics that it emits are part of
  /// the error.
  std::function<llvm::Expected<std::unique_ptr<StepEngine>>(
      mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef function,
      const EngineOptions &options)>
      create;
  /// False if the engine holds state in wider types than `readState` returns,
  /// so that a checkpoint would lose bits.
  bool hasExactState = true;
  /// Opens the file of a compiled program; unset if the engine runs none. An engine
  /// that does also runs on GPUs.
  std::function<llvm::Expected<OpenedProgram>(llvm::StringRef path,
                                              const EngineOptions &options)>
      open = nullptr;
  /// Another name.
  std::string alias = {};
  /// Makes this process one of several that train together; unset if the engine runs in
  /// one alone. `deadline` is in seconds; `isCuda` is asked if it matters whether they
  /// train on GPUs.
  std::function<llvm::Expected<std::unique_ptr<RankGroup>>(
      double deadline, llvm::function_ref<llvm::Expected<bool>()> isCuda)>
      connect = nullptr;
};

/// Runs mpt-run with the arguments after the program's name; dialects of the
/// model come from `registry`, passes from the global pass registry. Results go
/// to stdout; progress and errors, one line each, to stderr. Returns the exit
/// status: 0, 1 after an error, 128 plus the signal's number after SIGINT, SIGTERM or
/// SIGHUP (with a checkpoint). Before the first step these end the process at once,
/// with the same status.
int mptRunMain(llvm::ArrayRef<const char *> arguments, mlir::DialectRegistry &registry,
               llvm::ArrayRef<EngineFactory> engines);

} // namespace mpt

#endif // MPT_TOOLS_MPTRUNMAIN_H
