//===- OpFlops.h - Floating-point operations of an op -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_OPFLOPS_H
#define MPT_PRECISION_OPFLOPS_H

#include "mpt/Precision/RuleTable.h"

namespace mlir {
class Operation;
}

namespace mpt {

/// Floating-point operations of `op`, a multiply-add being two.
struct OpFlops {
  uint64_t flops = 0;
  /// No formula of a table says how many: 2 sqrt(|A| |B| |C|) for the two largest
  /// operands and the largest result, which is exact for the matmul of two matrices
  /// and too much for a batch of them.
  bool isEstimate = false;
};

/// By the formula that the op's table has for it; an estimate where there is none and
/// `isContraction`; nullopt otherwise. A dynamic dimension counts as 1. Windows count as
/// if nothing were padded, and what is in a loop counts once.
std::optional<OpFlops> countFlops(mlir::Operation *op, const RuleTable &rules,
                                  bool isContraction);

} // namespace mpt

#endif // MPT_PRECISION_OPFLOPS_H
