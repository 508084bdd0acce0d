//===- EightBitFloats.h - f8 in integer arithmetic -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// No CPU and no upstream lowering knows f8E4M3FN, f8E5M2 and f8E8M0FNU, so kernels
/// hold them as their bits and convert here, vector or scalar alike.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_EIGHTBITFLOATS_H
#define MPT_LIB_CODEGEN_COMMON_EIGHTBITFLOATS_H

#include "mlir/IR/Builders.h"

namespace mpt::detail {

/// f8E4M3FN, f8E5M2, f8E8M0FNU, or f4E2M1FN, whose four bits lie in a byte of their own.
bool isEightBitFloat(mlir::Type type);

/// The f32 that `bits` (i8 or a vector of it) stand for in `format`. Exact.
mlir::Value extendEightBitFloat(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value bits, mlir::Type format);

/// The bits of `value` (f32 or a vector of it) in `format`, rounded to nearest
/// even. Too large values become infinity, or NaN where there is none; NaN is quiet.
/// f4E2M1FN has neither: what is too large becomes 6 or -6, and NaN 6, as in NVIDIA's
/// PTX. f8E8M0FNU has no sign and no zero: it takes the magnitude, and 2^-127 for zero.
mlir::Value truncateToEightBitFloat(mlir::OpBuilder &builder, mlir::Location loc,
                                    mlir::Value value, mlir::Type format);

/// `value` (f64 or a vector of it) in f32, rounded to odd: the neighbour with an
/// odd last bit unless it is exact. Rounding that to nearest even in a type of at
/// most 22 significant bits gives what rounding `value` itself would (Boldo and
/// Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
mlir::Value roundToOddF32(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_COMMON_EIGHTBITFLOATS_H
