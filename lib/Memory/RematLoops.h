//===- RematLoops.h - What loops keep for the backward pass -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A scan over layers or time steps comes from JAX as two loops of StableHLO: iteration i
/// of the first writes slice i of a stacked tensor for each value that iteration i of the
/// second will read. Most of these can be computed again in the second loop, from what
/// the iteration began with.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_REMATLOOPS_H
#define MPT_LIB_MEMORY_REMATLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Precision/RuleTable.h"

namespace mpt::detail {

/// Which stacked tensors are given up.
enum class LoopRemat : uint8_t {
  None,
  /// Those whose slices follow from others without a matmul or convolution.
  Free,
  /// All whose slices follow from what the iteration began with, which is stacked in
  /// their place, and may run twice.
  All,
};

/// Rewrites the loops of `function`, and returns how many stacked tensors are gone. The
/// slices that the second loop reads are computed there by clones of the first loop's
/// ops, which carry `mpt.remat`.
unsigned recomputeInLoops(mlir::func::FuncOp function, LoopRemat level, RuleTable &rules);

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_REMATLOOPS_H
