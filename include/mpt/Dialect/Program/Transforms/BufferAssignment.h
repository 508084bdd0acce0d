//===- BufferAssignment.h - Where every buffer of a step lives -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides where each value of a scheduled step lives: state and outputs in
/// blocks of their own, everything else in one arena, in place where an
/// elementwise result can take its operand's bytes. Pure. Time is counted in ops:
/// what one instruction of an op needs is there for all of them.
///
/// A new value of a state argument is written straight into the state if every
/// reader of the old value runs before, or is the same kernel reading each
/// point where it writes it; otherwise it is copied there after the last op.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_BUFFERASSIGNMENT_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_BUFFERASSIGNMENT_H

#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Dialect/Program/Transforms/InstructionList.h"
#include "mpt/Memory/Planning/MemoryGraph.h"

namespace mpt {

/// A place in one of a program's spaces.
struct BufferPlace {
  program::Space space = program::Space::Arena;
  /// Bytes from the start of the space; the input's number for `input`; the
  /// constant's number for `constant`.
  int64_t offset = 0;
  /// Bytes from the start of the input or constant.
  int64_t start = 0;
  /// Bytes by which it moves with each iteration of the loops around its use, the
  /// outermost first.
  llvm::SmallVector<int64_t, 2> strides = {};
};

/// A copy that ends the step: `source`'s bytes to `destination`.
struct FinalCopy {
  mlir::Value source;
  BufferPlace destination;
  /// Through this arena place first, because other final copies overwrite the
  /// source.
  std::optional<BufferPlace> through;
};

struct BufferAssignment {
  /// Place of every owner (see InstructionList).
  llvm::DenseMap<mlir::Value, BufferPlace> places;
  /// Arena offset of each instruction's scratch, -1 where it has none.
  llvm::SmallVector<int64_t> scratchOffsets;
  llvm::SmallVector<FinalCopy> finalCopies;
  /// Place of each argument, and of each result that is not an update.
  llvm::SmallVector<BufferPlace> arguments;
  llvm::SmallVector<std::optional<BufferPlace>> outputs;
  int64_t arenaBytes = 0;
  int64_t stateBytes = 0;
  int64_t outputBytes = 0;
  int64_t constantBytes = 0;
  /// The most bytes alive at one point: no arena without recomputation, in this
  /// order, can be smaller.
  int64_t arenaLowerBound = 0;
  /// What was planned: one op for each that has instructions, in their order, and
  /// the profile whose blocks lie at `blockOffsets` of the arena.
  MemoryGraph graph;
  MemoryProfile profile;
  llvm::SmallVector<int64_t> blockOffsets;
};

/// One iteration of a loop (mpt.scan) as a step of its own, planned once. Its function
/// has the arguments of the scan's body and then what that uses from above. What is
/// carried and changes is state, which results update; what is stacked are the other
/// results.
struct LoopBody {
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  int64_t count = 1;
  bool reverse = false;
  /// The owner of what says, before each iteration, whether it runs; null if all run.
  mlir::Value condition;
  /// By argument: the owner in the step around it of the memory that the argument is, or,
  /// of a slice, that it moves over. Of state it is the scan's result.
  llvm::SmallVector<mlir::Value> arguments;
  llvm::SmallVector<bool> isSlice;
  /// The owners of the state's first values, in the order of the instruction's outputs.
  llvm::SmallVector<mlir::Value> inits;
  /// By result: the scan's result that it is a slice of, or null for an update.
  llvm::SmallVector<mlir::Value> stacked;
  InstructionList schedule;
  BufferAssignment plan;

  /// The number that `init` is all of, if it is a constant of equal floats: memory is
  /// filled with it.
  static std::optional<double> getFill(mlir::Value init);

  /// Whether the slice of stacked result `result` may lie where that of the stacked input
  /// which `input` owns lies: each iteration reads the one before it writes the other.
  bool writesAfterReads(unsigned result, mlir::Value input) const;

  /// Bytes by which `slice` moves with each iteration, and where it lies in the first.
  int64_t getStride(mlir::RankedTensorType slice) const;
  int64_t getFirst(mlir::RankedTensorType slice) const;
};

/// Bytes of a packed tensor; i1 takes one byte an element.
int64_t getTensorBytes(mlir::RankedTensorType type);

/// Assigns the buffers of `function` scheduled as `schedule`. (`options.alignment` is
/// not read: buffers have their own.)
BufferAssignment assignBuffers(mlir::func::FuncOp function,
                               const InstructionList &schedule,
                               ArenaOptions options = {});

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_BUFFERASSIGNMENT_H
