//===- KernelDomain.h - The loops a kernel runs over -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_KERNEL_TRANSFORMS_KERNELDOMAIN_H
#define MPT_LIB_DIALECT_KERNEL_TRANSFORMS_KERNELDOMAIN_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mpt::detail {

/// A tensor that a kernel reads or writes, and the index it uses at a point.
struct KernelAccess {
  mlir::RankedTensorType type;
  mlir::AffineMap map;
  /// By the tensor's dimensions, where it will lie as a part of a larger one; otherwise
  /// empty. Dimensions of different strides are not joined.
  llvm::SmallVector<int64_t> strides = {};
};

/// A kernel's domain and accesses, simplified together.
struct KernelDomain {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<KernelAccess> accesses;
  /// For each dimension, whether the body asks for its index.
  llvm::SmallVector<bool> indexed;
  /// Whether the body reduces, so that the last dimension must stay.
  bool reduces = false;

  /// Drops dimensions of size 1, joins adjacent dimensions where every access walks them
  /// as one, and gives elementwise kernels over flat memory rows of a good length. Tensor
  /// types change to shapes of as many elements. Changes nothing if an access has
  /// elements of f4E2M1FN or f8E8M0FNU, which mpt.reshape does not take. Returns, for
  /// each old dimension that the body indexes, its new number.
  llvm::SmallVector<int64_t> simplify();

  /// Rows of a task: about 32 Ki points, fewer tasks than 64 if `hasColumns`.
  int64_t getChunkRows(bool hasColumns) const;

private:
  llvm::SmallVector<int64_t> dropUnitDims();
};

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_KERNEL_TRANSFORMS_KERNELDOMAIN_H
