//===- FlashAttentionEmitter.h - Attention as device functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scaled dot-product attention without its matrix of scores in memory, and its
/// gradients, on tensor cores: FlashAttention-2 (Dao 2023). Sums have one
/// order, and nothing is added atomically: the gradients of the query and of
/// key and value are functions of their own.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_FLASHATTENTIONEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_FLASHATTENTIONEMITTER_H

#include "GPUFunctionBuilder.h"

namespace mpt::detail {

/// Elements from one batch entry, head and row of a tensor to the next. The elements of a
/// row lie side by side.
struct RowStrides {
  int64_t batch = 0, head = 0, row = 0;
};

/// query [batch, queries, width], key and value [batch / sharing, keys, width], all of
/// `type`, f16 or bf16; batch counts heads, too. With a mask, an i1 of
/// [batch / heads, heads, queries, keys], it is the last input of all functions
/// but emitDots.
struct AttentionShape {
  int64_t batch = 0, queries = 0, keys = 0, width = 0;
  /// Where rows lie; of dy, dquery, dkey and dvalue for the gradient alone.
  RowStrides query, key, value, result, dy, dquery, dkey, dvalue;
  bool isCausal = false;
  double scale = 1;
  mlir::Type type;
  int64_t heads = 1;
  /// Heads of keys and values; each is read by as many heads of queries.
  int64_t groups = 1;
  int64_t sharing() const { return heads / groups; }
  /// The mask's, 0 where it has size 1; without elements if there is no mask.
  llvm::SmallVector<int64_t, 4> maskStrides;

  /// Whether there are functions for it.
  bool isSupported() const {
    return width >= 32 && width <= 128 && width % 16 == 0 && queries > 0 && keys > 0 &&
           batch > 0 && (type.isF16() || type.isBF16());
  }
  /// Queries, or keys, that a block of kAttentionThreads works on.
  static constexpr int64_t kTile = 64;
  int64_t queryBlocks() const { return batch * ((queries + kTile - 1) / kTile); }
  int64_t keyBlocks() const { return batch / sharing() * ((keys + kTile - 1) / kTile); }
  /// Of emitDots: a warp a row.
  int64_t dotBlocks() const { return (batch * queries + 3) / 4; }
  bool isWide() const {
    int64_t elements = std::max(queries, keys) * width;
    if (!maskStrides.empty())
      elements = std::max(elements, queries * keys);
    return batch * elements >= (int64_t(1) << 31) - (1 << 20);
  }
};

inline constexpr int64_t kAttentionThreads = 128;

/// query, key, value, mask -> result, log-sum-exp (f32).
void emitAttention(GPUFunctionBuilder &code, const AttentionShape &shape);
/// dy, result -> the sums over a row of their products (f32).
void emitDots(GPUFunctionBuilder &code, const AttentionShape &shape);
/// dy, query, key, value, log-sum-exp, dots, mask -> dquery.
void emitQueryGradient(GPUFunctionBuilder &code, const AttentionShape &shape);
/// dy, query, key, value, log-sum-exp, dots, mask -> dkey, dvalue.
void emitKeyGradients(GPUFunctionBuilder &code, const AttentionShape &shape);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_FLASHATTENTIONEMITTER_H
