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

/// Bytes of a packed tensor; i1 takes one byte an element.
int64_t getTensorBytes(mlir::RankedTensorType type);

/// Assigns the buffers of `function` scheduled as `schedule`. (`options.alignment` is
/// not read: buffers have their own.)
BufferAssignment assignBuffers(mlir::func::FuncOp function,
                               const InstructionList &schedule,
                               ArenaOptions options = {});

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_BUFFERASSIGNMENT_H
