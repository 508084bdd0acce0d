//===- FusedAttention.h - Attention that a GPU does as a whole -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_FUSEDATTENTION_H
#define MPT_DIALECT_MPT_TRANSFORMS_FUSEDATTENTION_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// Why there are no device functions for an attention or its gradient; "" if there are.
/// They take operands that are all f16 or all bf16 (the log-sum-exp f32, the mask i1), of
/// static shape, one shape for key and value, and head sizes that are multiples of 16
/// from 32 to 128.
std::string explainUnfusedAttention(mlir::Operation *op);

/// Sets `fused` on all that can be fused, and emits the remark
/// mpt.cuda.attention-decomposed for all that cannot.
void markFusedAttention(mlir::Operation *root);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_FUSEDATTENTION_H
