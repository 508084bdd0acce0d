//===- WarpgroupAttentionEmitter.h - Attention by wgmma --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention and its gradients for sm_90a alone: matmuls of warpgroups from shared
/// memory, to which a warp of its own copies tiles by TMA, as in FlashAttention-3 (Shah
/// et al. 2024). They compute what the functions of FlashAttentionEmitter.h do, with sums
/// in another order. Nothing is added atomically.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_WARPGROUPATTENTIONEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_WARPGROUPATTENTIONEMITTER_H

#include "FlashAttentionEmitter.h"

#include <array>

namespace mpt::detail {

/// A tensor of rank 4 as cuTensorMapEncodeTiled takes it: the elements of a row first,
/// then rows, heads and batch entries in the order of their strides. Elements have two
/// bytes, and tiles the swizzle of 128 bytes.
struct TensorMapPlan {
  std::array<int64_t, 4> sizes{}, box{};
  /// Bytes, of all but the first dimension.
  std::array<int64_t, 3> strides{};
  /// Which dimension counts what.
  unsigned row = 1, head = 2, entry = 3;
};

/// Nullopt if CUDA has no map of such a tensor: rows must lie at multiples of 16 bytes,
/// and each stride must be a multiple of the one before and not less than what that one
/// counts.
std::optional<TensorMapPlan> planTensorMap(const RowStrides &strides, int64_t width,
                                           int64_t rows, int64_t heads, int64_t entries,
                                           int64_t boxRows);

/// How a block works: `consumers` warpgroups with 64 queries each meet `keyTile` keys at
/// a time. Of wide heads these are copied by a warp of another warpgroup, which gives its
/// registers to the others. Of narrow ones a multiprocessor has two blocks, of which one
/// computes while the other begins or ends, and whose first warp copies, too.
struct WarpgroupAttentionPlan {
  TensorMapPlan query, key, value;
  int64_t consumers = 2, keyTile = 128, stages = 2, blocksAtOnce = 1;
  int64_t blocks = 0, threads = 0;
  /// Dynamic shared memory.
  int64_t sharedBytes = 0;
  int64_t queryTile() const { return consumers * 64; }
};

/// Whether there is a kernel for it: heads of 64 or 128 elements, f16 or bf16, without
/// mask, bias and dropout, and less than 2^31 elements.
std::optional<WarpgroupAttentionPlan> planWarpgroupAttention(const AttentionShape &shape);

/// Tensor maps of query, key and value; query, key, value -> result, log-sum-exp (f32).
void emitWarpgroupAttention(GPUFunctionBuilder &code, const AttentionShape &shape,
                            const WarpgroupAttentionPlan &plan);

/// How a block of a gradient works: of the same warpgroups, `consumers` have 64 queries
/// (or keys) each, and meet `tile` keys (queries) at a time.
struct WarpgroupGradPlan {
  /// Of the tensors that are read in tiles, key and value (query and dy), and of those of
  /// which a block reads its own rows by maps, too, key and value: registers have no room
  /// for wide heads.
  TensorMapPlan x, y;
  std::optional<std::array<TensorMapPlan, 2>> own;
  int64_t consumers = 2, tile = 64, stages = 4;
  int64_t blocks = 0, threads = 0;
  /// Dynamic shared memory.
  int64_t sharedBytes = 0;
  int64_t rows() const { return consumers * 64; }
  unsigned numMaps() const { return own ? 4 : 2; }
};

/// Whether there are kernels for the gradients of the query, and of key and value: where
/// there is one forward, and rows of gradients lie at multiples of two elements.
std::optional<WarpgroupGradPlan> planWarpgroupQueryGradient(const AttentionShape &shape);
std::optional<WarpgroupGradPlan> planWarpgroupKeyGradients(const AttentionShape &shape);

/// Tensor maps of key and value; what emitQueryGradient takes and makes.
void emitWarpgroupQueryGradient(GPUFunctionBuilder &code, const AttentionShape &shape,
                                const WarpgroupGradPlan &plan);
/// Tensor maps of query and dy, and with `own` of key and value; what emitKeyGradients
/// takes and makes.
void emitWarpgroupKeyGradients(GPUFunctionBuilder &code, const AttentionShape &shape,
                               const WarpgroupGradPlan &plan);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_WARPGROUPATTENTIONEMITTER_H
