//===- ScaledGemms.h - Matmuls with block scales by cuBLASLt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which `mpt.scaled_matmul` are calls of cuBLASLt with block scales. On sm_90 the
/// library has f32 scales of 1x128 and 128x128 blocks; from sm_100 on f8E8M0FNU ones of
/// 1x32 blocks. There, larger blocks whose scales are powers of two have each scale
/// several times, as NVIDIA's Transformer Engine does it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_SCALEDGEMMS_H
#define MPT_CODEGEN_CUDA_SCALEDGEMMS_H

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/ProgramABI/GemmPlan.h"

namespace mpt {

/// An operand as mpt.gemm_quantize makes it of what is quantized.
struct ScaledGemmOperand {
  /// What makes the operand and its scales.
  QuantizeOp quantize;
  /// K is the first dimension of what is quantized.
  bool isColumn = false;
  /// Elements of a block along rows and along K, and how the library wants the scales.
  std::array<int64_t, 2> block = {1, 1};
  GemmScaling scaling = GemmScaling::None;
};

struct ScaledGemm {
  /// Empty if the library does it.
  std::string why;
  ScaledGemmOperand lhs, rhs;
  /// For a result of f32.
  rt::GemmPlan plan;
};

/// Whether cuBLASLt can do `op` on all of `architectures`, and how. Pure.
ScaledGemm planScaledGemm(ScaledMatmulOp op, llvm::ArrayRef<int64_t> architectures);

/// Replaces what the library can do by `mpt.gemm` and `mpt.gemm_quantize`, and says in
/// remarks what it can do and what not.
void rewriteScaledGemms(mlir::Operation *root, llvm::ArrayRef<int64_t> architectures);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_SCALEDGEMMS_H
