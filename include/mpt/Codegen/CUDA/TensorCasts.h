//===- TensorCasts.h - Casts to 8 bits by one scale, both ways --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The recipes `delayed` and `current` of --mpt-fp8 multiply a tensor by a scale,
/// saturate and cast it; matmuls on GPUs read the result and its transpose. What reads
/// the tensor once and makes both, and its amax, is mpt.gemm_quantize.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_TENSORCASTS_H
#define MPT_CODEGEN_CUDA_TENSORCASTS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// A cast to 8 bits of min(max(x * factor, -M), M), where M is the largest number of the
/// result's type; of infinities and NaN as they are.
struct TensorCast {
  CastOp cast;
  /// What is read: of f32, f16 or bf16, any shape whose last dimension are the columns.
  mlir::Value x;
  /// What x is rounded to before, or null.
  mlir::Type via;
  /// f32, without dimensions.
  mlir::Value factor;
  /// The largest magnitude of x, if the step computes it.
  ReduceOp amax;
  /// Whether `factor` is made of `amax`, so that x is read twice.
  bool isFactorOfAmax = false;
  int64_t rows = 0, columns = 0;
};

/// The parts of what `cast` casts, or nothing if it is something else, or of sizes that
/// are not multiples of 16. Pure.
std::optional<TensorCast> matchTensorCast(CastOp cast);

/// Whether a kernel of its own should make the 8-bit floats of `cast`. Other casts are
/// the end of the kernel that computes x, which then need not be stored. Pure.
bool hasOwnKernel(const TensorCast &cast);

/// Replaces casts that have a kernel of their own, and transposes of 8-bit matrices, by
/// mpt.gemm_quantize. With `both` one op makes both orientations, where both are read:
/// both are in memory until their last reader. No number changes.
void fuseTensorCasts(mlir::Operation *root, bool both);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_TENSORCASTS_H
