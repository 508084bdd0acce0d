//===- PlainMatmulEmitter.h - Matmuls that cuBLASLt cannot run -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_PLAINMATMULEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_PLAINMATMULEMITTER_H

#include "mpt/ProgramABI/GemmPlan.h"

#include "mlir/IR/Builders.h"

namespace mpt::detail {

/// Emits the function that rt::makePlainMatmul names for `plan`, for all matmuls of its
/// types, at the end of `device`. Tiles of both operands are widened into shared memory,
/// 16 values of k at a time, and each thread makes 4 x 4 results. Every sum is over
/// ascending k, so the bits depend on nothing but the operands. Where operands have
/// scales, the sum of each block of k is scaled and added, as mpt.scaled_matmul is
/// defined.
void emitPlainMatmul(mlir::OpBuilder &device, mlir::Location loc,
                     const rt::GemmPlan &plan, llvm::StringRef name);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_PLAINMATMULEMITTER_H
