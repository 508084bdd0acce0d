//===- KernelScalar.h - Elementwise ops on scalars -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_KERNEL_TRANSFORMS_KERNELSCALAR_H
#define MPT_LIB_DIALECT_KERNEL_TRANSFORMS_KERNELSCALAR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace mpt::detail {

/// Builds what the elementwise mpt op `op` computes of one element, from
/// `operands`, elements of its operands' types; the result has the element type
/// of its result. Arithmetic is in f32, or f64 if f64 takes part, rounded once.
/// Null if `op` is not elementwise.
mlir::Value buildScalarOp(mlir::OpBuilder &builder, mlir::Operation *op,
                          mlir::ValueRange operands);

/// `value` (a float scalar) converted to float type `type` with one rounding.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type type);

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_KERNEL_TRANSFORMS_KERNELSCALAR_H
