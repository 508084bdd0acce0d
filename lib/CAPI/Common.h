//===- Common.h - Helpers of the C API --------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CAPI_COMMON_H
#define MPT_LIB_CAPI_COMMON_H

#include "mpt-c/Error.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt::capi {

/// What an MptError points at.
struct ErrorObject {
  struct Message {
    MlirDiagnosticSeverity severity = MlirDiagnosticError;
    std::string file, text;
    intptr_t line = 0, column = 0;
  };
  std::string text;
  std::vector<Message> messages;
};

inline MptError success() { return {nullptr}; }
/// An error of this text. A place at its beginning ("model.mlir:3:5: ") becomes that of
/// its diagnostic.
MptError fail(const llvm::Twine &text);
MptError fail(llvm::Error error);

/// Collects the errors that MLIR emits while it lives. Other diagnostics go on to the
/// next handler.
class CollectErrors {
public:
  explicit CollectErrors(mlir::MLIRContext *context);
  /// What was collected, as one error; `otherwise` if that is nothing.
  MptError take(const llvm::Twine &otherwise);
  /// `error`, with what was collected as its diagnostics.
  MptError take(llvm::Error error);

private:
  void add(const mlir::Diagnostic &diagnostic, MlirDiagnosticSeverity severity);
  std::vector<ErrorObject::Message> messages;
  mlir::ScopedDiagnosticHandler handler;
};

/// `text` without what is not there.
inline llvm::StringRef unwrapText(MlirStringRef text) {
  return text.data ? llvm::StringRef(text.data, text.length) : llvm::StringRef();
}

/// What "cpu", "cuda" or "cuda:N" says.
struct DeviceName {
  bool isCuda = false;
  /// N; 0 without one.
  int index = 0;
  bool hasIndex = false;
};
llvm::Expected<DeviceName> parseDevice(llvm::StringRef text);

} // namespace mpt::capi

#endif // MPT_LIB_CAPI_COMMON_H
