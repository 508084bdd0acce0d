//===- ThreadDiagnosticHandler.h - One thread's diagnostics -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_THREADDIAGNOSTICHANDLER_H
#define MPT_SUPPORT_THREADDIAGNOSTICHANDLER_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Threading.h"

namespace mpt {

/// Takes the diagnostics that this thread emits while it lives. Passes use this: a
/// `mlir::ScopedDiagnosticHandler` takes those of the whole context, and so also what
/// passes say of other modules in other threads at the same time.
class ThreadDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  template <typename Handler>
  ThreadDiagnosticHandler(mlir::MLIRContext *context, Handler handler)
      : ScopedDiagnosticHandler(context, [thread = llvm::get_threadid(),
                                          handler](mlir::Diagnostic &diagnostic) {
          if (llvm::get_threadid() != thread)
            return mlir::failure();
          handler(diagnostic);
          return mlir::success();
        }) {}
};

} // namespace mpt

#endif // MPT_SUPPORT_THREADDIAGNOSTICHANDLER_H
