//===- SpecialFunctions.h - Functions that mpt has no op for ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elementwise functions of floats as ops of the mpt dialect, for importers. All but
/// `logGamma` and `digamma` compute in their operand's type; their values are computed by
/// parts, and their gradients by the derivative's formula.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_SPECIALFUNCTIONS_H
#define MPT_IMPORT_COMMON_SPECIALFUNCTIONS_H

#include "mpt/Import/Common/ImportBuilder.h"

namespace mpt::importer {

mlir::Value sinh(ImportBuilder &l, mlir::Value x);
mlir::Value cosh(ImportBuilder &l, mlir::Value x);
mlir::Value atan(ImportBuilder &l, mlir::Value x);
mlir::Value asin(ImportBuilder &l, mlir::Value x);
mlir::Value acos(ImportBuilder &l, mlir::Value x);
/// The angle of the point (x, y), between -pi and pi. Operands broadcast.
/// The angle of (x, y), between -pi and pi, by the signs of zeros, too. The gradient
/// where both are 0 is 0.
mlir::Value atan2(ImportBuilder &l, mlir::Value y, mlir::Value x);
mlir::Value asinh(ImportBuilder &l, mlir::Value x);
mlir::Value acosh(ImportBuilder &l, mlir::Value x);
mlir::Value atanh(ImportBuilder &l, mlir::Value x);
/// log |gamma(x)|, computed in f64.
mlir::Value logGamma(ImportBuilder &l, mlir::Value x);
/// The derivative of `logGamma`, computed in f64; NaN at 0, -1, -2, ...
mlir::Value digamma(ImportBuilder &l, mlir::Value x);

} // namespace mpt::importer

#endif // MPT_IMPORT_COMMON_SPECIALFUNCTIONS_H
