//===- JoinedParts.h - Slices that are read where they lie -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks exchange parameters many at a time. Each of them is then read where the exchange
/// leaves it, and so are other slices that calls can read where they lie. Pure.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_JOINEDPARTS_H
#define MPT_DIALECT_MPT_TRANSFORMS_JOINEDPARTS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// True if `op` is a slice whose elements follow each other in its operand and begin
/// there at a multiple of 64 bytes, if nothing but ops of its own block reads it (no
/// loop, and it is not returned), and if it is one of
///   - at least 4,096 elements of what `mpt.all_gather` joins, or of an argument that
///     ranks hold shards of (`mpt.shards`);
///   - all whole blocks of 4,096 elements of another value that the step computes;
///   - at least half of such a value, read by convolutions and their gradients alone: the
///     depths that a place of a filter in 3 dimensions is applied to.
/// It then needs no memory: its readers find the elements in its operand.
bool isJoinedPart(mlir::Operation *op);

/// How many elements of its operand lie before such a slice.
int64_t getPartOffset(SliceOp part);

/// This rank's part of `all`, [ranks size], in which what each of `ranks` ranks along
/// `axis` has follows that of the others: [size].
mlir::Value takePart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value all,
                     int64_t ranks, llvm::StringRef axis);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_JOINEDPARTS_H
