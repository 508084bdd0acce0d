//===- OptimizerBlocks.h - Optimizers in the shape of blocks ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_OPTIMIZERBLOCKS_H
#define MPT_DIALECT_MPT_TRANSFORMS_OPTIMIZERBLOCKS_H

#include "mlir/IR/Operation.h"

namespace mpt::detail {

/// Gives each optimizer of `root` whose moments are 8-bit codes
/// (mpt.dequantize_blockwise) the shape [blocks, block_size], with reshapes around it, if
/// the parameter's elements are whole blocks. Changes no number: optimizers, and
/// mpt.clip_by_global_norm before them, are elementwise.
void alignOptimizersWithBlocks(mlir::Operation *root);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_OPTIMIZERBLOCKS_H
