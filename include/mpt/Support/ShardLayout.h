//===- ShardLayout.h - What a rank holds of which tensors -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tensors that ranks hold together, each of them some flat ranges (ZeRO: Rajbhandari et
/// al. 2020). Passes, the host and checkpoints read one description.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_SHARDLAYOUT_H
#define MPT_SUPPORT_SHARDLAYOUT_H

#include "mpt/Support/StepABI.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpt {

/// Tensors that are cut together. Every rank has one buffer of `size` elements, its
/// shard.
struct ShardLayout {
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    /// Its place among all tensors of the step that are cut.
    int64_t order = 0;
    /// How the whole tensor begins.
    std::optional<InitSpec> init;

    int64_t getNumElements() const {
      int64_t count = 1;
      for (int64_t size : shape)
        count *= size;
      return count;
    }
  };
  /// Elements [begin, end) of a tensor, in row-major order, are those of `rank`'s shard
  /// from `offset` on.
  struct Piece {
    int64_t tensor = 0, rank = 0, begin = 0, end = 0, offset = 0;

    int64_t getNumElements() const { return end - begin; }
  };

  /// The axis of the mesh that ranks are numbered along, and how many there are.
  std::string axis;
  int64_t ranks = 1;
  /// Elements of a shard. Those that no piece fills are zeros.
  int64_t size = 0;
  /// Every rank has the shards of all, one after the other, in a buffer of `ranks * size`
  /// elements.
  bool isJoined = false;
  /// A shard begins with room for so many blocks of 4,096 elements (GradientBlocks.h),
  /// each of which is one of a tensor. The last block of a tensor may be shorter; those
  /// of small tensors come after all others.
  int64_t blocks = 0;
  std::vector<Tensor> tensors;
  /// By tensor, then by `begin`. Together they cover each tensor once.
  std::vector<Piece> pieces;

  /// Whether `rank` has `piece`.
  bool has(int64_t rank, const Piece &piece) const {
    return isJoined || piece.rank == rank;
  }
  /// Where `piece` lies in the buffer of a rank that has it.
  int64_t getPlace(const Piece &piece) const {
    return piece.offset + (isJoined ? piece.rank * size : 0);
  }
};

} // namespace mpt

#endif // MPT_SUPPORT_SHARDLAYOUT_H
