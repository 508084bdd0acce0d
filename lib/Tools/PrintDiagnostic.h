//===- PrintDiagnostic.h - Diagnostics as lines -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_PRINTDIAGNOSTIC_H
#define MPT_LIB_TOOLS_PRINTDIAGNOSTIC_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

namespace mpt {

/// Prints `diagnostic` and its notes to standard error, each as
/// "net.mlir:3:5: warning: text"; where none is known, the tool is the place.
inline void printDiagnostic(const mlir::Diagnostic &diagnostic, llvm::StringRef tool) {
  using mlir::DiagnosticSeverity;
  auto place =
      mlir::LocationAttr(diagnostic.getLocation()).findInstanceOf<mlir::FileLineColLoc>();
  if (place)
    llvm::errs() << place.getFilename().getValue() << ':' << place.getLine() << ':'
                 << place.getColumn() << ": ";
  else
    llvm::errs() << tool << ": ";
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    llvm::errs() << "error: ";
    break;
  case DiagnosticSeverity::Warning:
    llvm::errs() << "warning: ";
    break;
  case DiagnosticSeverity::Remark:
    llvm::errs() << "remark: ";
    break;
  case DiagnosticSeverity::Note:
    llvm::errs() << "note: ";
    break;
  }
  llvm::errs() << diagnostic << '\n';
  for (const mlir::Diagnostic &note : diagnostic.getNotes())
    printDiagnostic(note, tool);
}

} // namespace mpt

#endif // MPT_LIB_TOOLS_PRINTDIAGNOSTIC_H
