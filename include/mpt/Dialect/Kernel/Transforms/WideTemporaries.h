//===- WideTemporaries.h - What is read where it is made --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which values of half precision need not be rounded, since fusion stores none of them:
/// those of elementwise arithmetic that elementwise ops of the same shape alone read,
/// with no matmul, convolution or pooling in between, and those of norms that elementwise
/// ops alone read, wherever these are. A kernel computes in f32, and on
/// CPUs each rounding costs several instructions where the arithmetic costs one.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_TRANSFORMS_WIDETEMPORARIES_H
#define MPT_DIALECT_KERNEL_TRANSFORMS_WIDETEMPORARIES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace mpt {

/// The ops of `block`, in order, whose (first) f16 or bf16 results may stay f32. Equal
/// ops, such as an op and its clone after an `mpt.barrier`, are all among them or none
/// is. Casts are not: what the user rounds stays rounded.
llvm::SmallVector<mlir::Operation *> findWideTemporaries(mlir::Block &block);

} // namespace mpt

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_WIDETEMPORARIES_H
