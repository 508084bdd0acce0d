//===- ShardedGradients.h - Gradients that ranks hold together --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a step decides by all gradients where each rank has shards of them
/// (`--mpt-shard-optimizer`). All ranks decide alike, with the bits of one process that
/// has the whole gradients.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_SHARDEDGRADIENTS_H
#define MPT_LIB_TRAINING_SHARDEDGRADIENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Dialect/MPT/IR/Shards.h"

namespace mpt::detail {

/// How each of some parameters is cut: the layouts of `parameters`, arguments of
/// `function` or what master weights make of them. Empty if none of them is; if only some
/// are, an error and failure.
llvm::FailureOr<std::vector<ShardLayout>>
getShardLayouts(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> parameters);

/// The layout of a parameter of `function`, or null if none is cut.
std::optional<ShardLayout> findShardLayout(mlir::func::FuncOp function);

/// The joint norm of `gradients`, cut as `layouts` say, with the bits of
/// `mpt.clip_by_global_norm` of the whole ones.
mlir::Value getShardedNorm(mlir::OpBuilder &builder, mlir::Location loc,
                           llvm::ArrayRef<mlir::Value> gradients,
                           llvm::ArrayRef<ShardLayout> layouts);

/// True if `flag`, an i1, is true on all ranks.
mlir::Value isTrueOnAllRanks(mlir::OpBuilder &builder, mlir::Location loc,
                             const ShardLayout &layout, mlir::Value flag);
/// The largest `value` of all ranks; NaN if one is.
mlir::Value getLargestOfRanks(mlir::OpBuilder &builder, mlir::Location loc,
                              const ShardLayout &layout, mlir::Value value);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_SHARDEDGRADIENTS_H
