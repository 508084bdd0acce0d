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
/// CPUs each rounding costs several instructions where the arithmetic costs one. And
/// which casts of arguments are not worth their time, since no memory is saved by them.
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

/// Rows up to which a matmul by a weight of f32 takes no longer than one by bf16:
/// rounding and pairing a number takes as long as it saves.
inline constexpr int64_t fewRows = 16;

/// The casts of `block` that autocast made of f32 arguments, that are isRoundedOnRead or
/// isRoundedIfRenamed, and whose readers may as well have the argument itself on a CPU:
/// all casts to f16, of which no CPU's library has a faster matmul or convolution, and
/// casts to bf16 of the right sides of matmuls of at most `fewRows` rows.
llvm::SmallVector<mlir::Operation *> findIdleCasts(mlir::Block &block);

} // namespace mpt

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_WIDETEMPORARIES_H
