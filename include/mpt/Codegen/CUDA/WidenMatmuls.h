//===- WidenMatmuls.h - Matmuls that cuBLASLt can do -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_WIDENMATMULS_H
#define MPT_CODEGEN_CUDA_WIDENMATMULS_H

#include "mlir/IR/PatternMatch.h"

namespace mpt {

/// Matmuls that cuBLASLt can only do with an f32 result (because the result is f16 and
/// the bias f32) get an f32 result and a cast after it. The number of roundings stays the
/// same. With `lowBiases` such a bias is rounded to the result's type instead, as
/// PyTorch's autocast does: one more rounding, and half the bytes of the result.
/// `architectures` as in GemmPlan.h.
void populateWidenMatmulsPatterns(mlir::RewritePatternSet &patterns,
                                  llvm::ArrayRef<int64_t> architectures, bool lowBiases);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_WIDENMATMULS_H
