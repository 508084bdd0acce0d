//===- Kernel.h - The mpt_kernel dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_IR_KERNEL_H
#define MPT_DIALECT_KERNEL_IR_KERNEL_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mpt/Dialect/Kernel/IR/KernelDialect.h.inc"
#include "mpt/Dialect/Kernel/IR/KernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/Kernel/IR/KernelAttrs.h.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/Kernel/IR/KernelOps.h.inc"

namespace mpt::kernel {

/// The coefficients of an index that is a sum of dimensions times constants:
/// one for each of `numDims` dimensions, then the constant. Fails for anything
/// else (divisions, symbols).
mlir::FailureOr<llvm::SmallVector<int64_t>> getLinearCoefficients(mlir::AffineExpr expr,
                                                                  unsigned numDims);

} // namespace mpt::kernel

#endif // MPT_DIALECT_KERNEL_IR_KERNEL_H
