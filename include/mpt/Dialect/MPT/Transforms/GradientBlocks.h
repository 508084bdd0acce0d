//===- GradientBlocks.h - Sums over gradients, by blocks --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Norms of gradients as sums over blocks of 4,096 elements of a parameter. The bits of a
/// block's sum depend on the block and the parameter's size alone, and those of a
/// parameter's sum on the blocks' sums. So ranks that hold some of the blocks each find
/// the norm that one process finds (lib/Parallel/ShardedGradients.cpp).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_GRADIENTBLOCKS_H
#define MPT_DIALECT_MPT_TRANSFORMS_GRADIENTBLOCKS_H

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

namespace mpt::detail {

/// Elements of a parameter, in row-major order, whose squares are added by themselves.
/// Optimizers that keep state in 8 bits use blocks of up to this size (Dettmers et al.
/// 2022, "8-bit Optimizers via Block-wise Quantization").
inline constexpr int64_t kGradientBlock = 4096;

/// The length of the rows that a parameter of `count` elements is summed in. A block has
/// a whole number of them, but for the last one: all of a parameter of one block, and
/// otherwise the largest power of two that divides both `count` and the block, or the
/// block if that is shorter than vector units like.
int64_t getGradientRow(int64_t count);

/// All elements of `gradient` for whatever gives no sum of them: as such rows if they
/// divide it. Else as whole rows and the rest, two values, if it is large, or as rows of
/// another length.
llvm::SmallVector<mlir::Value, 2> asGradientRows(DecomposeBuilder &b,
                                                 mlir::Value gradient);

/// [blocks]: the sum of squares of each block of `gradient`, which is a parameter's or
/// some of its blocks, in the working type. `row` is the parameter's getGradientRow.
mlir::Value sumSquaresOfBlocks(DecomposeBuilder &b, mlir::Value gradient, int64_t row);

/// The sum of a parameter's blocks: a scalar.
mlir::Value addBlocks(DecomposeBuilder &b, mlir::Value sums);

/// The factor that clips gradients of the joint norm `norm` to `limit`, as
/// torch.nn.utils.clip_grad_norm_ has it.
mlir::Value getClipFactor(DecomposeBuilder &b, mlir::Value norm, double limit);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_GRADIENTBLOCKS_H
