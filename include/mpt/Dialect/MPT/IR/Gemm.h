//===- Gemm.h - Matmuls with epilogues that save -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_GEMM_H
#define MPT_DIALECT_MPT_IR_GEMM_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// The type of the value that `mpt.gemm` with `activation` saves in addition to a result
/// of `type`.
mlir::RankedTensorType getSavedType(Epilogue activation, mlir::RankedTensorType type);

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_GEMM_H
