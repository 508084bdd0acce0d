//===- ElementRegions.h - Widening and rounding in a region -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_EXTERNALMODELS_ELEMENTREGIONS_H
#define MPT_LIB_PRECISION_EXTERNALMODELS_ELEMENTREGIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeRange.h"

namespace mpt {

/// `value`, a scalar float of another width, as a `type`; constants are folded.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::FloatType type, mlir::Value value);

/// Gives the first arguments of `block` the float types `arguments`; what is
/// inside still sees the types it had. Where its terminator yields a float that
/// is not of the type in `results`, it is converted.
void convertElementBlock(mlir::Block &block, mlir::TypeRange arguments,
                         mlir::TypeRange results);

} // namespace mpt

#endif // MPT_LIB_PRECISION_EXTERNALMODELS_ELEMENTREGIONS_H
