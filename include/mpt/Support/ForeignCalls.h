//===- ForeignCalls.h - Calls in ops of other compilers --------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// JAX writes calls into the bodies of reductions. MLIR verifies no call within an
/// unregistered op of one region: the op might be a symbol table of its own. A tool that
/// reads such modules parses them without verification, inlines these calls, and then
/// verifies.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_FOREIGNCALLS_H
#define MPT_SUPPORT_FOREIGNCALLS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class Operation;
class SymbolRefAttr;
} // namespace mlir

namespace mpt {

/// Whether a module of this text, or bytecode, may have calls.
bool mayHaveCalls(llvm::StringRef text);

/// Replaces calls within unregistered ops of one region by what they call, a function of
/// `root` with one block. `root` need not be verified. Leaves a call if its types do not
/// match, its callee is defined inside such an op, it is recursive or nested more than
/// 128 deep, or a million ops were inlined before it.
void inlineForeignCalls(mlir::Operation *root);

/// The symbols that `op` names in its attributes and in its properties, which ops that
/// are not registered keep apart.
void walkSymbols(mlir::Operation *op,
                 llvm::function_ref<void(mlir::SymbolRefAttr)> visit);

} // namespace mpt

#endif // MPT_SUPPORT_FOREIGNCALLS_H
