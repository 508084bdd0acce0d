//===- PlanSimulator.h - Plans run on symbols -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs functions and planned programs on symbols rather than numbers: what an op makes
/// is a hash of all that it depends on. Two runs that end in the same symbols compute the
/// same, and a value that was overwritten, never made or made of something else is
/// another symbol. Shares no code with planners.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_UNITTESTS_REFERENCE_PLANSIMULATOR_H
#define MPT_UNITTESTS_REFERENCE_PLANSIMULATOR_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

#include <string>
#include <vector>

namespace mpt::test {

/// What became of a function.
struct FunctionRun {
  /// Of everything it returns.
  std::vector<uint64_t> results;
  /// Of the results of ops that are no clones, and of clones, in order.
  std::vector<uint64_t> originals, clones;
  /// The most bytes of temporaries alive at once, each rounded up to 64.
  int64_t peak = 0;
};

/// Runs `function`, whose ops called `barrier` return their operands. Ops that make
/// something new each time they run (random numbers without a state, collectives, custom
/// calls) make another symbol each time.
FunctionRun simulateFunction(mlir::func::FuncOp function, llvm::StringRef barrier = "");

/// What became of a program's memory.
struct ProgramRun {
  /// A symbol for each byte of the state and of the results.
  std::vector<uint64_t> state, results;
  /// What the plan does wrong, whatever comes out of it.
  std::vector<std::string> faults;
};

/// Runs the one program of `module` byte by byte. Faults are slots out of their blocks,
/// buffers that an op may not write while it reads others there, and reads of bytes that
/// nothing wrote.
ProgramRun simulateProgram(mlir::ModuleOp module);

} // namespace mpt::test

#endif // MPT_UNITTESTS_REFERENCE_PLANSIMULATOR_H
