//===- DiagnosticCapture.h - Diagnostics as one line -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_DIAGNOSTICCAPTURE_H
#define MPT_SUPPORT_DIAGNOSTICCAPTURE_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace mpt {

/// Keeps the first error that MLIR emits while it lives, as
/// "model.mlir:3:5: message". Other diagnostics go on to the next handler.
class DiagnosticCapture {
public:
  explicit DiagnosticCapture(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::failure();
          if (text.empty()) {
            llvm::raw_string_ostream os(text);
            if (auto place = mlir::LocationAttr(diagnostic.getLocation())
                                 .findInstanceOf<mlir::FileLineColLoc>())
              os << place.getFilename().getValue() << ':' << place.getLine() << ':'
                 << place.getColumn() << ": ";
            os << diagnostic;
          }
          return mlir::success();
        }) {}

  /// The error, or `otherwise` if there was none.
  llvm::Error take(const llvm::Twine &otherwise) const {
    return llvm::createStringError(text.empty() ? otherwise : llvm::Twine(text));
  }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace mpt

#endif // MPT_SUPPORT_DIAGNOSTICCAPTURE_H
