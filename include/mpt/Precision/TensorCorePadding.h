//===- TensorCorePadding.h - Sizes that tensor cores want -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a matmul should be padded. Tensor cores want the contiguous
/// dimensions of all three matrices in multiples of 16 bytes; cuBLAS before 11 does not
/// use them otherwise, later ones use them less well (NVIDIA, Matrix Multiplication
/// Background User's Guide). The estimate is for a library that does not: the gain is
/// the most there can be.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_TENSORCOREPADDING_H
#define MPT_PRECISION_TENSORCOREPADDING_H

#include "mpt/Precision/TargetDescription.h"

namespace mpt {

/// lhs is [lhsBatch, M, K], rhs [rhsBatch, K, N], the result [lhsBatch, M, N], all
/// contiguous; with `transposeLhs` lhs is stored as [K, M], with `transposeRhs` rhs as
/// [N, K].
struct MatmulSizes {
  int64_t lhsBatch = 1, rhsBatch = 1, m = 0, n = 0, k = 0;
  bool transposeLhs = false, transposeRhs = false;
  mlir::Type lhsType, resultType;
};

struct MatmulPadding {
  /// The sizes to pad to; the original size where it fits.
  int64_t m = 0, n = 0, k = 0;
  /// In microseconds: what tensor cores save, and what it costs to copy the operands into
  /// padded matrices and the result out of one.
  double saved = 0, cost = 0;
  bool pays() const { return saved > cost; }
};

/// How `shape` would be padded for `target`; nullopt if it fits as it is or the target
/// has no units for its type.
std::optional<MatmulPadding> planPadding(const MatmulSizes &shape,
                                         const TargetDescription &target);

} // namespace mpt

#endif // MPT_PRECISION_TENSORCOREPADDING_H
