//===- EightBitMatmuls.h - 8-bit matmuls as chips have them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_EIGHTBITMATMULS_H
#define MPT_CODEGEN_CUDA_EIGHTBITMATMULS_H

#include "mlir/IR/PatternMatch.h"

namespace mpt {

/// Before sm_100 cuBLASLt multiplies 8-bit floats only if the summed dimension is the
/// last one of both operands. The others are transposed.
void populateEightBitMatmulPatterns(mlir::RewritePatternSet &patterns);

/// Emits an error for each matmul whose block scales one of `architectures` does not
/// have: f8E8M0FNU before sm_100, and f32 before sm_90.
llvm::LogicalResult checkBlockScales(mlir::Operation *root,
                                     llvm::ArrayRef<int64_t> architectures);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_EIGHTBITMATMULS_H
