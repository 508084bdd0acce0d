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

#include "llvm/Support/MathExtras.h"

namespace mpt::detail {

/// Elements from one batch entry, head and row of a tensor to the next, and to its first
/// one from a multiple of 16 bytes. The elements of a row lie side by side.
struct RowStrides {
  int64_t batch = 0, head = 0, row = 0, first = 0;
};

/// query [batch, queries, width], key [batch / sharing, keys, width] and value
/// [batch / sharing, keys, valueWidth], all of `type`, f16 or bf16; batch counts heads,
/// too. Of what follows the inputs that all have, in this order, each function reads what
/// there is: a mask (i1) and a bias (f32, f16 or bf16), each [batch / heads, heads,
/// queries, keys] with size 1 where it is the same for all, and for dropout the seed and
/// the number of steps tried (i64).
struct AttentionShape {
  int64_t batch = 0, queries = 0, keys = 0, width = 0, valueWidth = 0;
  /// Where rows lie; of dy, dquery, dkey and dvalue for the gradient alone.
  RowStrides query, key, value, result, dy, dquery, dkey, dvalue;
  bool isCausal = false;
  double scale = 1;
  mlir::Type type;
  int64_t heads = 1;
  /// Heads of keys and values; each is read by as many heads of queries.
  int64_t groups = 1;
  int64_t sharing() const { return heads / groups; }
  /// The mask's and the bias's, 0 where they have size 1; without elements if there is
  /// none.
  llvm::SmallVector<int64_t, 4> maskStrides, biasStrides;
  mlir::Type biasType;
  /// Elements from a multiple of 16 bytes to the bias.
  int64_t biasPlace = 0;
  /// The bias's sizes, which are those of its gradient.
  llvm::SmallVector<int64_t, 4> biasSizes;
  bool hasMask() const { return !maskStrides.empty(); }
  bool hasBias() const { return !biasStrides.empty(); }
  /// As those of `mpt.random_mask` with the shape [batch / heads, heads, queries, keys].
  std::optional<double> dropout;
  int64_t stream = 0;

  /// Whether there are functions for it.
  bool isSupported() const {
    return width > 0 && width <= kMostWidth && valueWidth > 0 &&
           valueWidth <= kMostWidth && queries > 0 && keys > 0 && batch > 0 &&
           (type.isF16() || type.isBF16());
  }
  static constexpr int64_t kMostWidth = 256;
  /// Queries, or keys, that a block of kAttentionThreads works on.
  static constexpr int64_t kTile = 64;
  /// Queries that a block of emitAttention and emitQueryGradient works on, and keys that
  /// one of emitKeyGradients does: twice as many where registers hold them and there are
  /// blocks for all multiprocessors.
  int64_t queryTile() const { return tileOf(batch, queries); }
  int64_t keyTile() const { return tileOf(batch / sharing(), keys); }
  /// A head size with zeros that fill the last matmul. Of those between 192 and 256 ptxas
  /// would spill a hundred registers.
  static int64_t pad(int64_t size) {
    return size > 192 ? kMostWidth : llvm::alignTo(size, 16);
  }
  int64_t paddedWidth() const { return pad(width); }
  int64_t paddedValueWidth() const { return pad(valueWidth); }
  /// Whether registers hold the sums of one of the gradients of key and value only.
  bool splitsKeyGradients() const { return paddedWidth() + paddedValueWidth() > 256; }
  /// Keys that emitBiasGradient works on at once.
  int64_t biasKeys() const {
    return paddedWidth() + paddedValueWidth() > 256 ? kTile / 2 : kTile;
  }
  int64_t queryBlocks() const { return batch * llvm::divideCeil(queries, queryTile()); }
  int64_t keyBlocks() const {
    return batch / sharing() * llvm::divideCeil(keys, keyTile());
  }
  /// Whether the bias is the same for all queries, or all keys: its gradient is a sum.
  bool addsBiasQueries() const { return biasSizes[2] == 1 && queries != 1; }
  bool addsBiasKeys() const { return biasSizes[3] == 1 && keys != 1; }
  int64_t biasBlocks() const {
    return biasSizes[0] * biasSizes[1] *
           (addsBiasQueries() ? 1 : llvm::divideCeil(queries, kTile)) *
           (addsBiasKeys() ? 1 : llvm::divideCeil(keys, biasKeys()));
  }
  bool isWide() const {
    const int64_t rows = std::max(queries, keys);
    int64_t elements = batch * rows * std::max(width, valueWidth);
    if (hasMask() || hasBias())
      elements = std::max(elements, batch * queries * keys);
    // Operands may be parts of larger tensors.
    for (const RowStrides &at : {query, key, value, result, dy, dquery, dkey, dvalue})
      elements =
          std::max(elements, batch / heads * at.batch + heads * at.head + rows * at.row);
    return elements >= (int64_t(1) << 31) - (1 << 20);
  }

private:
  int64_t tileOf(int64_t matrices, int64_t rows) const {
    const bool isSmall =
        width <= 64 && valueWidth <= 64 && !hasBias() && !dropout && !isWide();
    return isSmall && matrices * (rows / (2 * kTile)) >= 256 ? 2 * kTile : kTile;
  }
};

inline constexpr int64_t kAttentionThreads = 128;

/// query, key, value, options -> result, log-sum-exp (f32).
void emitAttention(GPUFunctionBuilder &code, const AttentionShape &shape);
/// dy, query, key, value, log-sum-exp, result, options -> dquery, and the sums over a row
/// of dy times the result (f32), which the others call dots. With a bias, factors of the
/// rows' probabilities come after them.
void emitQueryGradient(GPUFunctionBuilder &code, const AttentionShape &shape);
/// dy, query, key, value, log-sum-exp, dots, options -> dkey, dvalue, or one of them.
void emitKeyGradients(GPUFunctionBuilder &code, const AttentionShape &shape);
void emitKeyGradient(GPUFunctionBuilder &code, const AttentionShape &shape);
void emitValueGradient(GPUFunctionBuilder &code, const AttentionShape &shape);
/// dy, query, key, value, log-sum-exp, dots, options -> dbias, of a bias that has all
/// queries, or all keys, or both.
void emitBiasGradient(GPUFunctionBuilder &code, const AttentionShape &shape);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_FLASHATTENTIONEMITTER_H
