//===- LaunchGroups.h - Which launches of a program can be one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
#define MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H

#include "mpt/Codegen/CUDA/DeviceKernels.h"
#include "mpt/Dialect/Program/IR/Program.h"

#include "llvm/ADT/DenseSet.h"
#include <vector>

namespace mpt::detail {

/// Bytes that a launch, call or alternatives of them read or write, by memory effects.
struct ByteRange {
  program::Space space;
  int64_t begin, end;
  bool isWritten;
  /// Of a part of a matrix: bytes of its rows, and from one row to the next; 0: all.
  int64_t width = 0, pitch = 0;
};
llvm::SmallVector<ByteRange> rangesOf(mlir::Operation *op, bool withPartials = true);
/// True if the accesses conflict: two ranges overlap and at least one is a write. Other
/// columns of one matrix do not overlap.
bool conflict(llvm::ArrayRef<ByteRange> first, llvm::ArrayRef<ByteRange> second);

/// Ops of `program` that run at the same time as an exchange between ranks: those after
/// an async call, up to its `wait`. Until then no other op may use the buffers of the
/// exchange, so no launch there may name a whole space.
llvm::DenseSet<mlir::Operation *> findOpsBesideExchanges(program::ProgramOp program);

/// How many launches and calls `op` is in a program's table: alternatives and loops are
/// several.
size_t countInstructions(mlir::Operation *op);

/// What functions get one pointer to: the arena, all state, all outputs, or one input or
/// constant, which are blocks of their own.
struct MemoryBlock {
  program::Space space;
  /// Of an input or constant.
  int64_t number = 0;

  bool isReadOnly() const {
    return space == program::Space::Input || space == program::Space::Constant;
  }
  bool operator==(const MemoryBlock &other) const {
    return space == other.space && number == other.number;
  }
};
MemoryBlock blockOf(program::BufferOp buffer);
/// Bytes from the beginning of its block.
int64_t startInBlock(program::BufferOp buffer);

/// What takes the place of launches that follow each other: launches of functions whose
/// parameters are blocks of memory, those that are read only first. They stand in the
/// program once it is known what all others become: till then the members say which bytes
/// are read and written.
struct SharedLaunch {
  llvm::SmallVector<program::LaunchOp> members;
  /// At most as many as members.
  llvm::SmallVector<DeviceLaunch> launches;
  llvm::SmallVector<MemoryBlock> blocks;
};

/// Launches that follow each other in the program and can be one.
struct LaunchGroup {
  llvm::SmallVector<program::LaunchOp> launches;
  /// By launch: its part. Launches of one part have kernels that differ only in size.
  llvm::SmallVector<unsigned> parts;
  /// Blocks of memory that their buffers lie in, read-only ones first, and, by part, in
  /// which of them each of a launch's buffers is.
  llvm::SmallVector<MemoryBlock> blocks;
  llvm::SmallVector<llvm::SmallVector<unsigned>> partBlocks;
};

/// Moves launches of pointwise kernels next to each other, unless something in between
/// prevents it, and returns the groups of two and more: of kernels that differ only in
/// size, and then of any kernels, as long as all blocks of threads run at once. (More of
/// them would have the registers of the largest kernel in each.) None is beside an
/// exchange.
std::vector<LaunchGroup> groupLaunches(program::ProgramOp program);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
