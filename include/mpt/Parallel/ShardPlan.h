//===- ShardPlan.h - Which rank holds what of which tensor ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PARALLEL_SHARDPLAN_H
#define MPT_PARALLEL_SHARDPLAN_H

#include "mpt/Support/ShardLayout.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpt {

/// The elements that tensors are cut at multiples of, `detail::kGradientBlock`.
inline constexpr int64_t kShardBlock = 4096;

/// Short blocks of tensors of at least `kShardBlock` elements begin at multiples of so
/// many elements of a shard: the default block-size of `--mpt-optimizer-state`.
inline constexpr int64_t kStateBlock = 256;

/// Tensors of at least so many elements are cut into whole blocks alone, so that each
/// lies in one piece in the shards of all ranks, joined. Zeros fill the last block: less
/// than a sixteenth of the tensor.
inline constexpr int64_t kWholeBlocks = 16 * kShardBlock;

/// Whether a tensor of `count` elements is cut into whole blocks alone.
inline bool hasWholeBlocks(int64_t count) { return count >= kWholeBlocks; }

/// Where the elements of tensors of `counts` elements are on `ranks` ranks: `size`,
/// `blocks` and `pieces` of a layout.
///
/// Tensors are cut at multiples of `kShardBlock` of their elements alone. Blocks of that
/// size follow each other in the order of the tensors, and each rank takes as many of
/// them as the others; the last ranks may take fewer. The last block of a tensor, if it
/// is shorter, is one of these if the tensor hasWholeBlocks, and else goes to a rank that
/// has the fewest elements of such blocks so far, longest first (Graham 1969, "Bounds on
/// Multiprocessing Timing Anomalies": at most 4/3 of the best). With n ranks a shard
/// therefore has less than two blocks more than 1/n of all elements and of what fills
/// blocks, plus a third of what short blocks take.
ShardLayout planShards(llvm::ArrayRef<int64_t> counts, int64_t ranks);

} // namespace mpt

#endif // MPT_PARALLEL_SHARDPLAN_H
