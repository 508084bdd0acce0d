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

namespace mpt::detail {

/// Bytes that a launch, call or alternatives of them read or write, by memory effects.
struct ByteRange {
  program::Space space;
  int64_t begin, end;
  bool isWritten;
};
llvm::SmallVector<ByteRange> rangesOf(mlir::Operation *op, bool withPartials = true);
/// True if the accesses conflict: two ranges overlap and at least one is a write.
bool conflict(llvm::ArrayRef<ByteRange> first, llvm::ArrayRef<ByteRange> second);

/// Ops of `program` that run at the same time as an exchange between ranks: those after
/// an async call, up to its `wait`. Until then no other op may use the buffers of the
/// exchange, so no launch there may name a whole space.
llvm::DenseSet<mlir::Operation *> findOpsBesideExchanges(program::ProgramOp program);

/// How many launches and calls `op` is in a program's table: alternatives and loops are
/// several.
size_t countInstructions(mlir::Operation *op);

/// What takes the place of launches that follow each other: launches of functions whose
/// parameters are whole spaces. They stand in the program once it is known what all
/// others become: till then the members say which bytes are read and written.
struct SharedLaunch {
  llvm::SmallVector<program::LaunchOp> members;
  /// At most as many as members.
  llvm::SmallVector<DeviceLaunch> launches;
  llvm::SmallVector<program::Space> spaces;
};

/// Launches that follow each other in the program and can be one.
struct LaunchGroup {
  llvm::SmallVector<program::LaunchOp> launches;
  /// Blocks of memory that their buffers lie in, and in which of them each of a
  /// launch's buffers is.
  llvm::SmallVector<program::Space> spaces;
  llvm::SmallVector<unsigned> bufferSpaces;
};

/// Moves launches of kernels that differ only in size next to the first of them, unless
/// something in between prevents it, and returns the groups of two and more. None is
/// beside an exchange.
llvm::SmallVector<LaunchGroup> groupLaunches(program::ProgramOp program);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
