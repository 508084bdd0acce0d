//===- AttentionViews.h - Tensors that attention reads in place -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fused attention on GPUs takes the strides of its tensors. So a matmul's result
/// [B, T, H, D] need not be transposed to the [B, H, T, D] that attention reads, nor
/// back: the transpose becomes a view, as does a slice of a result for several heads'
/// query, key and value. Pure.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_ATTENTIONVIEWS_H
#define MPT_DIALECT_MPT_TRANSFORMS_ATTENTIONVIEWS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include <optional>

namespace mpt {

/// True if `op` is a transpose that nothing reads but fused attentions and their
/// gradients, as query, key, value or dy, and whose rows stay whole. It then needs no
/// memory: the readers find its elements in its operand.
bool isReadInPlace(mlir::Operation *op);

/// The transpose through whose result fused attention, or its gradient, can write
/// `result`, or null: it keeps rows whole, and what else reads the result are gradients
/// of attention, as the result of their attention. It then takes no time, and the result
/// no memory of its own.
mlir::TypedValue<mlir::RankedTensorType> getWrittenInPlace(mlir::Value result);

/// If `op` is a slice that nothing reads but transposes that are isReadInPlace: where it
/// begins in its operand, in bytes, a multiple of 64. It needs no memory either.
std::optional<int64_t> getStartInPlace(mlir::Operation *op);

/// True if `op` is a transpose that isReadInPlace or getWrittenInPlace speaks of, or a
/// slice that getStartInPlace does.
bool isAttentionView(mlir::Operation *op);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_ATTENTIONVIEWS_H
