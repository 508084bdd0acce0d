//===- StepAttributes.h - Attributes of step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_MPT_IR_STEPATTRIBUTES_H
#define MPT_LIB_DIALECT_MPT_IR_STEPATTRIBUTES_H

#include "mlir/IR/Diagnostics.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"

namespace mpt::detail {

/// Whether `value` is a string that `mpt.role` or `mpt.master` may be.
bool isRole(mlir::Attribute value);
bool isMaster(mlir::Attribute value);

/// Fails, with an error that says what to do, unless `attribute` is on the list of
/// discardable attributes (DiscardableAttributes.h), may stand at `place` (of `op`) and
/// has a value of the right kind. `described` is that place in words.
llvm::LogicalResult
verifyDiscardableAttribute(mlir::NamedAttribute attribute, AttributePlace place,
                           llvm::StringRef op, llvm::StringRef described,
                           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The attribute of the list that is meant if the prefix of `attribute` is misspelled, as
/// in `mtp.precision`, and "" else. Prefixes of registered dialects are not misspelled.
llvm::StringRef findMisspelledPrefix(mlir::NamedAttribute attribute,
                                     AttributePlace place);

} // namespace mpt::detail

#endif // MPT_LIB_DIALECT_MPT_IR_STEPATTRIBUTES_H
