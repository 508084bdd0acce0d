//===- Fp8Blocks.h - Matmuls of 8-bit floats scaled by blocks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_FP8BLOCKS_H
#define MPT_LIB_TRAINING_FP8BLOCKS_H

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Training/Fp8Plan.h"

namespace mpt::detail {

/// How the blocks of a plan are scaled and their matmuls summed.
struct Fp8BlockScales {
  ScaleRule rule = ScaleRule::PowerOfTwo;
  /// The scales are f8E8M0FNU, else f32.
  bool areE8M0 = false;
  /// Of mpt.scaled_matmul.
  int64_t promotion = 128, accumulatorBits = 0;

  /// DeepSeek-V3 scales what attention gives by powers of two in any case.
  ScaleRule getRule(const Fp8BlockTensor &tensor) const {
    return tensor.isFromAttention && rule == ScaleRule::Largest ? ScaleRule::PowerOfTwo
                                                                : rule;
  }
};

/// Replaces the matmuls of `plan` by mpt.scaled_matmul.
void rewriteFp8Blocks(mlir::func::FuncOp function, const Fp8BlockPlan &plan,
                      const Fp8BlockScales &scales);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_FP8BLOCKS_H
