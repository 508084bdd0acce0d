//===- KernelInfo.h - Facts about kernel bodies -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the planner and the code generators must agree on about a kernel: its
/// rows and tasks, which body values are the same for a whole row, and the
/// partial sums that a `column` kernel needs between its two stages.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_TRANSFORMS_KERNELINFO_H
#define MPT_DIALECT_KERNEL_TRANSFORMS_KERNELINFO_H

#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "llvm/ADT/DenseSet.h"

namespace mpt {

/// Rows of a kernel's domain: the product of all sizes but the last (1 for a
/// one-dimensional domain, 1 x 1 for a zero-dimensional one).
int64_t getKernelRows(llvm::ArrayRef<int64_t> domain);
/// Points of a row: the last size.
int64_t getKernelColumns(llvm::ArrayRef<int64_t> domain);
/// Tasks of a kernel: ceil(rows / chunkRows), at least 1.
int64_t getKernelTasks(llvm::ArrayRef<int64_t> domain, int64_t chunkRows);

/// The partial sums of one `mpt_kernel.column_reduce`.
struct ColumnPartials {
  kernel::ColumnReduceOp op;
  /// The domain's columns, or 1 if the operand is the same for a whole row.
  int64_t columns;
  /// First byte of its [tasks, columns] block of the accumulator's type within
  /// the partials buffer (64-byte aligned).
  int64_t offset;
};

/// Which values of a kernel's body do not vary along a row, and its column
/// reductions. Linear in the body.
class KernelInfo {
public:
  /// `op` is a `mpt_kernel.kernel` or `mpt_kernel.func`.
  explicit KernelInfo(mlir::Operation *op);

  bool isRowUniform(mlir::Value value) const { return rowUniform.contains(value); }
  /// True if `value` depends on a column reduction, so that it is computed
  /// once, after all rows.
  bool isAfterColumns(mlir::Value value) const { return afterColumns.contains(value); }
  llvm::ArrayRef<ColumnPartials> getColumnPartials() const { return partials; }
  /// Bytes of the partials buffer; 0 without column reductions.
  int64_t getPartialsBytes() const { return partialsBytes; }
  /// Rows of a task whose floating-point sums over columns are taken on their own and
  /// then added to the task's, one such block after another; 0 if each row is added at
  /// once.
  int64_t getRowsPerBlock() const { return rowsPerBlock; }

private:
  llvm::DenseSet<mlir::Value> rowUniform;
  llvm::DenseSet<mlir::Value> afterColumns;
  llvm::SmallVector<ColumnPartials> partials;
  int64_t partialsBytes = 0, rowsPerBlock = 0;
};

} // namespace mpt

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_KERNELINFO_H
