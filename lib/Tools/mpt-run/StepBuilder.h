//===- StepBuilder.h - From a model to a step -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_RUN_STEPBUILDER_H
#define MPT_LIB_TOOLS_MPT_RUN_STEPBUILDER_H

#include "Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mpt/Host/StepSignature.h"

namespace mpt {

/// A module with one function, ready for an engine.
struct PreparedFunction {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
  /// Static.
  StepSignature signature;
  /// A digest of the function's text.
  std::string digest;
  /// That of the step that takes each batch as a whole, if this one cuts it for ranks or
  /// to accumulate; else "".
  std::string wholeDigest;
};

/// `readStepSignature`, with the diagnostic as the error.
llvm::Expected<StepSignature> readSignature(mlir::func::FuncOp function);

/// A copy of `function` alone, dimension 0 set to `batch` where it is open.
llvm::Expected<PreparedFunction> specialize(mlir::func::FuncOp function, int64_t batch,
                                            const RunOptions &options);

/// As `specialize`, and made a training step in `precision` (a type, or
/// TYPE:LOSS-SCALE) as the options say, unless it is one already; with the schedule of
/// a run of `steps` steps. `batch` is that of a micro-batch; data named in `shared` is
/// not cut.
llvm::Expected<PreparedFunction> buildStep(mlir::func::FuncOp function, bool isStep,
                                           int64_t batch,
                                           llvm::ArrayRef<std::string> shared,
                                           int64_t steps, llvm::StringRef precision,
                                           const RunOptions &options);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_RUN_STEPBUILDER_H
