//===- ScanHoist.h - What need not run in a loop ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides which matmuls of an `mpt.scan` run once for all iterations, before or after
/// the loop, and what is stacked for that. The memory of a step does not grow by it: what
/// is stacked takes the place of another stack in each iteration, or less than what the
/// loop need not carry any more. Pure: nothing is changed.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_SCANHOIST_H
#define MPT_DIALECT_MPT_TRANSFORMS_SCANHOIST_H

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/SetVector.h"

namespace mpt::detail {

/// A carried value that an iteration only adds to.
struct CarriedSum {
  /// Which of the carried values it is.
  unsigned carried;
  /// What is added to it, in this order.
  llvm::SmallVector<mlir::Value> addends;
};

/// What leaves a scan.
struct ScanHoist {
  /// Ops of the body that run before the loop, in its order.
  llvm::SetVector<mlir::Operation *> before;
  /// Their values that the loop reads, slice by slice.
  llvm::SetVector<mlir::Value> inputs;
  /// Ops of the body that run after the loop, in its order. They read slices, values from
  /// above, and what the loop stacks.
  llvm::SetVector<mlir::Operation *> after;
  /// Values of the body that the loop stacks for these and for `sums`, and did not.
  llvm::SetVector<mlir::Value> stacked;
  /// Sums that are taken after the loop.
  llvm::SmallVector<CarriedSum> sums;

  bool isEmpty() const { return before.empty() && after.empty() && sums.empty(); }
};

/// Whether `op`, with operands that differ from iteration to iteration where `varies`
/// says so, can run for all iterations at once: all of these have a new dimension 0, and
/// so has its result. Shapes are static.
bool isBatchable(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> varies);

/// Whether the sum over all iterations of `value`, computed in the body of `scan`, is one
/// op (or several that move or round its result): a matmul over the stacked rows, or a
/// reduction. Adds what it reads of the body to `read`.
bool isSummable(ScanOp scan, mlir::Value value, llvm::SetVector<mlir::Value> &read);

/// Decides for one scan. What the loop reads is not moved ahead of it with `onlyAfter`.
ScanHoist planScanHoist(ScanOp scan, bool onlyAfter);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_SCANHOIST_H
