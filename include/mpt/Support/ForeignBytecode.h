//===- ForeignBytecode.h - Bytecode with ops of other compilers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Since version 5 of MLIR's bytecode an op writes its properties in a form of its own.
/// A compiler that has not registered the op reads them as an attribute, without an
/// error, and what it writes in their place the op cannot read. These two functions are
/// for compilers that work on unregistered ops.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_FOREIGNBYTECODE_H
#define MPT_SUPPORT_FOREIGNBYTECODE_H

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace mpt {

/// Call it on a module that was read from bytecode. Fails at the first unregistered op
/// that has properties: they cannot be trusted. Bytecode before version 5 has none.
llvm::LogicalResult checkForeignProperties(mlir::Operation *root);

/// Call it on a module before it is written as bytecode. The properties of unregistered
/// ops become discardable attributes, from which the compiler that has the op makes
/// properties again. Fails at the first op whose properties are not a dictionary.
llvm::LogicalResult moveForeignProperties(mlir::Operation *root);

} // namespace mpt

#endif // MPT_SUPPORT_FOREIGNBYTECODE_H
