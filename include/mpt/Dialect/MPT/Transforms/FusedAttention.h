//===- FusedAttention.h - Attention as one call -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_FUSEDATTENTION_H
#define MPT_DIALECT_MPT_TRANSFORMS_FUSEDATTENTION_H

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Support/Remarks.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpt {

/// Why there are no device functions for an attention or its gradient; "" if there are.
/// They take operands that are all f16 or all bf16 (the log-sum-exp f32, a bias f32, f16
/// or bf16), of static shape, with head sizes up to 256. A bias whose gradient is read
/// has all queries or all keys. Nor are there for wide heads without a causal mask, a
/// bias or dropout, which matmuls are faster for, unless there are many keys or the
/// function has a memory budget.
std::string explainUnfusedOnGPU(mlir::Operation *op);

/// Why the CPU's runtime does not carry out an attention or its gradient as a whole; ""
/// if it does. It takes f32, f16 and bf16 of static shape, with sums in f32, where it is
/// faster than matmuls and kernels.
std::string explainUnfusedOnCPU(mlir::Operation *op);

/// Sets `fused` on each attention and gradient for which `explain` returns "", and emits
/// the remark `id` with its answer for the others.
void markFusedAttention(mlir::Operation *root, RemarkId id,
                        llvm::function_ref<std::string(mlir::Operation *)> explain);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_FUSEDATTENTION_H
