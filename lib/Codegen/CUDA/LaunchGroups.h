//===- LaunchGroups.h - Which launches of a program can be one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
#define MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H

#include "mpt/Dialect/Program/IR/Program.h"

namespace mpt::detail {

/// Bytes that a launch or call reads or writes, by its memory effects.
struct ByteRange {
  Space space;
  int64_t begin, end;
  bool isWritten;
};
llvm::SmallVector<ByteRange> rangesOf(mlir::Operation *op, bool withPartials = true);
/// True if the accesses conflict: two ranges overlap and at least one is a write.
bool conflict(llvm::ArrayRef<ByteRange> first, llvm::ArrayRef<ByteRange> second);

/// Launches that follow each other in the program and can be one.
struct LaunchGroup {
  llvm::SmallVector<program::LaunchOp> launches;
  /// Blocks of memory that their buffers lie in, and in which of them each of a
  /// launch's buffers is.
  llvm::SmallVector<Space> spaces;
  llvm::SmallVector<unsigned> bufferSpaces;
};

/// Moves launches of kernels that differ only in size behind the first of them that
/// nothing in between prevents, and returns the groups of two and more.
llvm::SmallVector<LaunchGroup> groupLaunches(program::ProgramOp program);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
