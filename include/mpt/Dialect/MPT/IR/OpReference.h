//===- OpReference.h - The reference of the ops -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference of the ops (docs/Ops.md) as data, and what to write in place of an op
/// that the dialect does not have. Made from the ops' definitions and
/// MPTReference.td.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_OPREFERENCE_H
#define MPT_DIALECT_MPT_IR_OPREFERENCE_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mpt {

/// One op.
struct OpReference {
  /// Without the dialect's "mpt.".
  llvm::StringLiteral name;
  /// A line without a period.
  llvm::StringLiteral summary;
  /// Semantics, operands, attributes, results, PyTorch's names and an example, in
  /// Markdown.
  llvm::StringLiteral text;
};

/// All ops, by name.
llvm::ArrayRef<OpReference> getOpReferences();

/// The op called `name`, with or without "mpt."; null if there is none.
const OpReference *findOpReference(llvm::StringRef name);

/// What to use in place of the op `name` (with or without "mpt."), which does not
/// exist: half a sentence that goes after a semicolon. Knows names of PyTorch and of
/// other libraries, in any case and with or without underscores, and misspellings.
std::string suggestOp(llvm::StringRef name);

/// Adds the suggestion to MLIR's error for an unknown op in generic form
/// (`"mpt.mean"(%x) : ...`) in contexts that use `registry`, unless a diagnostic
/// handler that is registered after the dialect is loaded takes the error first. For
/// the custom form the dialect needs no registration.
void registerUnknownOpSuggestions(mlir::DialectRegistry &registry);

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_OPREFERENCE_H
