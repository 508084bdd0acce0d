//===- ElementwiseOpInterface.h - Ops on single elements --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The op interface that drives fusion, and the op trait that lets a result take
/// the memory of an operand.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_ELEMENTWISEOPINTERFACE_H
#define MPT_DIALECT_MPT_IR_ELEMENTWISEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "mpt/Dialect/MPT/IR/ElementwiseOpInterface.h.inc"

namespace mpt {

/// Each element of a result is made of the operands' elements at the same place,
/// and otherwise only of numbers that are known before any result is written (a
/// learning rate, a norm). So a result may take the memory of an operand of its
/// shape and element width that nobody reads later. Memory planning treats such
/// an op like a rule table's row `result: elementwise`.
template <typename ConcreteOp>
class InPlaceTrait : public mlir::OpTrait::TraitBase<ConcreteOp, InPlaceTrait> {};

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_ELEMENTWISEOPINTERFACE_H
