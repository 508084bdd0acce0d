//===- TransposedRows.h - Rows read and written where they lie -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_KERNEL_TRANSFORMS_TRANSPOSEDROWS_H
#define MPT_LIB_DIALECT_KERNEL_TRANSFORMS_TRANSPOSEDROWS_H

#include "KernelDomain.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// What a kernel reads and writes in the place of transposes.
struct TransposedRows {
  KernelDomain domain;
  llvm::SmallVector<mlir::Value> operands, results;
  /// Transposes of results, which the kernel's results replace.
  llvm::SmallVector<TransposeOp> replaced;
};

/// Of a kernel that reduces rows, with accesses for `operands` and then `results`: the
/// same without the transposes before and after it, if rows are short, all that varies
/// along them is transposed, and the elements of neighbouring rows then lie next to each
/// other. Rows and columns of a domain may stand for the dimensions of what is
/// transposed. `isMember` says which ops are in the kernel. Otherwise nothing.
std::optional<TransposedRows>
findTransposedRows(const KernelDomain &domain, llvm::ArrayRef<mlir::Value> operands,
                   llvm::ArrayRef<mlir::Value> results,
                   llvm::function_ref<bool(mlir::Operation *)> isMember);

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_KERNEL_TRANSFORMS_TRANSPOSEDROWS_H
