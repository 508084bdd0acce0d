//===- HalfKeys.h - Half floats in the order of integers --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_HALFKEYS_H
#define MPT_LIB_CODEGEN_COMMON_HALFKEYS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mpt::detail {

/// Signed integers of 16 bits whose largest (smallest) one belongs to the largest
/// (smallest) of some numbers of f16 or bf16, or to a NaN if there is one. -0 is below 0.
/// The bits of a negative number other than its sign are flipped; then NaNs are at both
/// ends of the order, and an addition that wraps moves those of the losing end past the
/// winning one.
class HalfKeys {
public:
  using Value = mlir::Value;

  /// For extremes of `kind`, Max or Min, of numbers of `type`.
  HalfKeys(mlir::FloatType type, ReduceKind kind);

  /// The key of each element of `bits`, an i16 or a vector of them.
  Value encode(mlir::OpBuilder &builder, Value bits) const;
  /// The bits of the number that has the key; those of all NaNs are one.
  Value decode(mlir::OpBuilder &builder, Value key) const;

private:
  ReduceKind kind;
  /// Bits of infinity and of a NaN, and what is added to keys.
  int16_t infinity, nan, shift;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_COMMON_HALFKEYS_H
