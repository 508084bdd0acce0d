//===- Sharder.h - Parameters cut between ranks -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `--mpt-shard-optimizer` and `--mpt-shard-parameters` do to a step.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PARALLEL_SHARDER_H
#define MPT_LIB_PARALLEL_SHARDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mpt::detail {

struct ShardOptions {
  /// The name of the pass, which errors begin with.
  llvm::StringRef pass;
  /// Parameters that different ones of these regular expressions match are not cut
  /// together.
  std::vector<std::string> groups;
  /// An optimizer that is a function, `@NAME`: parameters that it updates in different
  /// ways are not cut together. Empty: an op, which updates all alike.
  std::string optimizer;
  /// Gradients are cut after the backward pass, and not as soon as they are there.
  bool cutsAtEnd = false;
  /// Parameters are joined whenever they are needed (GatherPlan.h), and not once.
  bool joinsAgain = false;
  /// Of what is joined together; 0: getDefaultUnitBytes.
  int64_t unitBytes = 0;
  /// How many units ahead.
  int64_t prefetch = 1;
  /// Bytes of joined parameters that are kept from one pass over the model to the next.
  int64_t keptBytes = 0;
};

/// An error if one of `options.groups` is not a regular expression, or the module has no
/// function `options.optimizer`.
llvm::LogicalResult checkShardOptions(mlir::ModuleOp module, const ShardOptions &options);

/// Cuts the parameters of `function`, which `--mpt-data-parallel` made, between its
/// ranks.
llvm::LogicalResult shardParameters(mlir::func::FuncOp function,
                                    const ShardOptions &options);

} // namespace mpt::detail

#endif // MPT_LIB_PARALLEL_SHARDER_H
