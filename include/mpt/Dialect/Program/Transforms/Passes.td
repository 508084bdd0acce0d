//===- Passes.td - Planned programs -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_PASSES_TD
#define MPT_DIALECT_PROGRAM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignBuffersPass : Pass<"mpt-assign-buffers", "::mlir::ModuleOp"> {
  let summary = "Turn a fused step into an `mpt_program.program` with one planned arena";
  let description = [{
    The arena is planned for several orders of the step's kernels and calls; the
    smallest wins (docs/Memory.md). A program that needs more than `memory-limit`
    bytes of memory for its arena, state, results and constants is an error.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to plan; the module's only one if empty">,
    Option<"target", "target", "std::string", "\"\"",
           "The machine: cpu, or cuda and its chips, as in \"cuda sm_80 sm_90\"">,
    Option<"maxThreads", "max-threads", "int64_t", "2",
           "Most threads that workspaces are planned for">,
    Option<"order", "order", "std::string", "\"best\"",
           "best, keep, early-update, least-peak or depth-first">,
    Option<"lateUpdates", "late-updates", "bool", "false",
           "With order=best, run small kernels that nothing waits for at the end, where "
           "they become one launch, if that takes at most 1/64 or 16 MiB more arena; not "
           "of a function with an mpt.memory_budget">,
    Option<"separate", "separate", "bool", "false",
           "Give values memory of their own where the arena then has at most 8 MiB, so "
           "that instructions may run at once; not of a function with an "
           "mpt.memory_budget">,
    Option<"memoryLimit", "memory-limit", "int64_t", "int64_t(1) << 46",
           "Most bytes of a program; 2^46, the default, is what a program can address">];
  let dependentDialects = ["::mpt::MPTDialect", "::mlir::memref::MemRefDialect"];
}

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_PASSES_TD
