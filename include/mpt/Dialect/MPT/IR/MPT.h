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
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/ElementwiseOpInterface.h"
#include "mpt/Dialect/MPT/Interfaces/DifferentiableOpInterface.h"
#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"
#include "mpt/Support/StepABI.h"

#include "mpt/Dialect/MPT/IR/MPTDialect.h.inc"
#include "mpt/Dialect/MPT/IR/MPTEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/MPT/IR/MPTAttrs.h.inc"

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace mpt {

/// Where an argument is written: its own location, or that of a function without a
/// body.
mlir::Location getArgumentLocation(mlir::FunctionOpInterface function, unsigned index);

/// Where the results of a function are returned, which have no locations of their own;
/// the function's location if it has no body or several blocks.
mlir::Location getResultLocation(mlir::FunctionOpInterface function);

namespace detail {
/// True if shapes are compatible and element types equal or both floats.
bool areCompatibleUpToFloatType(mlir::TypeRange inferred, mlir::TypeRange actual);
/// True if there is one type, its shape is compatible and its elements are i32
/// or i64.
bool areCompatibleIndices(mlir::TypeRange inferred, mlir::TypeRange actual);
/// Fails if `op` has a discardable attribute without a dialect's prefix.
llvm::LogicalResult verifyNoUnownedAttributes(mlir::Operation *op);
} // namespace detail

/// The type in which an op accumulates: `accType` if given, else f32 for
/// storage narrower than f32 and the storage type itself otherwise.
mlir::Type getAccumulatorType(std::optional<mlir::Type> accType, mlir::Type storageType);

/// An op with this trait has no discardable attribute without a dialect's prefix.
template <typename ConcreteType>
class NoUnownedAttributes
    : public mlir::OpTrait::TraitBase<ConcreteType, NoUnownedAttributes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifyNoUnownedAttributes(op);
  }
};

} // namespace mpt

#define GET_OP_CLASSES
#include "mpt/Dialect/MPT/IR/MPTOps.h.inc"

#endif // MPT_DIALECT_MPT_IR_MPT_H
