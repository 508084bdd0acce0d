//===- JoinedParts.h - Parameters that lie in what ranks joined -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks exchange parameters many at a time. Each of them is then read where the exchange
/// leaves it. Pure.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_JOINEDPARTS_H
#define MPT_DIALECT_MPT_TRANSFORMS_JOINEDPARTS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// True if `op` is a slice of what `mpt.all_gather` joins, of an argument that ranks hold
/// shards of (`mpt.shards`), or all whole blocks of 4,096 elements of another value that
/// the step computes, if it has at least 4,096 elements that follow each other and begin
/// at a multiple of 64 bytes, and if nothing but ops of its own block reads it: no
/// loop, and it is not returned. It then needs no memory: its readers find the elements
/// in its operand.
bool isJoinedPart(mlir::Operation *op);

/// How many elements of its operand lie before such a slice.
int64_t getPartOffset(SliceOp part);

/// This rank's part of `all`, [ranks size], in which what each of `ranks` ranks along
/// `axis` has follows that of the others: [size].
mlir::Value takePart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value all,
                     int64_t ranks, llvm::StringRef axis);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_JOINEDPARTS_H
