//===- MPT.h - The mpt dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPT_H
#define MPT_DIALECT_MPT_IR_MPT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpt/Dialect/MPT/Interfaces/DifferentiableOpInterface.h"
#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"

#include "mpt/Dialect/MPT/IR/MPTDialect.h.inc"
#include "mpt/Dialect/MPT/IR/MPTEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/MPT/IR/MPTAttrs.h.inc"

namespace mpt {

/// Attributes of arguments and results of a step function.
inline constexpr llvm::StringLiteral kNameAttr = "mpt.name";
inline constexpr llvm::StringLiteral kRoleAttr = "mpt.role";
inline constexpr llvm::StringLiteral kInitAttr = "mpt.init";
inline constexpr llvm::StringLiteral kUpdatesAttr = "mpt.updates";
/// On a parameter: how it is kept between steps (docs/MasterWeights.md).
inline constexpr llvm::StringLiteral kMasterAttr = "mpt.master";
/// On state: the parameter whose low 16 bits it holds.
inline constexpr llvm::StringLiteral kLowOfAttr = "mpt.low_of";

namespace detail {
/// True if shapes are compatible and element types equal or both floats.
bool areCompatibleUpToFloatType(mlir::TypeRange inferred,
                                mlir::TypeRange actual);
/// True if there is one type, its shape is compatible and its elements are i32
/// or i64.
bool areCompatibleIndices(mlir::TypeRange inferred, mlir::TypeRange actual);
} // namespace detail

/// The coefficients of an index that is a sum of dimensions times constants:
/// one for each of `numDims` dimensions, then the constant. Fails for anything
/// else (divisions, symbols).
mlir::FailureOr<llvm::SmallVector<int64_t>>
getLinearCoefficients(mlir::AffineExpr expr, unsigned numDims);

/// The type in which an op accumulates: `accType` if given, else f32 for
/// storage narrower than f32 and the storage type itself otherwise.
mlir::Type getAccumulatorType(std::optional<mlir::Type> accType,
                              mlir::Type storageType);

} // namespace mpt

#define GET_OP_CLASSES
#include "mpt/Dialect/MPT/IR/MPTOps.h.inc"

#endif // MPT_DIALECT_MPT_IR_MPT_H
