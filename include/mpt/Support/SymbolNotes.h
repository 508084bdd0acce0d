//===- SymbolNotes.h - Why MLIR does not find a symbol -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MLIR refuses a `func.call` inside an op that has one region and is of a dialect
/// that is not registered: such an op may be a symbol table of its own, so the
/// search for the function ends there. Its error says only that there is no such
/// function. The note added here says why, and what to do.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_SYMBOLNOTES_H
#define MPT_SUPPORT_SYMBOLNOTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace mpt {

/// Adds the note to every such error in contexts that use `registry` and permit
/// ops of unregistered dialects.
inline void registerSymbolNotes(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, mlir::func::FuncDialect *) {
    context->getDiagEngine().registerHandler([context](mlir::Diagnostic &diagnostic) {
      // Func's own words (FuncOps.cpp).
      if (context->allowsUnregisteredDialects() &&
          diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
          llvm::StringRef(diagnostic.str())
              .ends_with("does not reference a valid function"))
        diagnostic.attachNote()
            << "if that function is there: MLIR does not look for it from inside an op "
               "that has one region and is of an unregistered dialect; inline such "
               "calls before, where the dialect is registered";
      return mlir::failure();
    });
  });
}

} // namespace mpt

#endif // MPT_SUPPORT_SYMBOLNOTES_H
