//===- StepFunction.h - Helpers of passes over step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRANSFORMS_STEPFUNCTION_H
#define MPT_LIB_TRANSFORMS_STEPFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// The function `name` with a body of one block; otherwise emits an error that
/// names the functions there are.
mlir::func::FuncOp findStepFunction(mlir::ModuleOp module, llvm::StringRef name,
                                    llvm::StringRef pass);

/// The argument whose `mpt.name` is `name`, or null.
mlir::BlockArgument getNamedArgument(mlir::func::FuncOp function,
                                     llvm::StringRef name);

/// Adds an argument of a step with its attributes; `init` may be null.
mlir::BlockArgument addStepArgument(mlir::func::FuncOp function, mlir::Type type,
                                    llvm::StringRef name, llvm::StringRef role,
                                    mlir::DictionaryAttr init);

/// Adds `value` to what the function returns, as `name` and, if `updates` is
/// not empty, as the next value of that argument.
void addStepResult(mlir::func::FuncOp function, mlir::Value value,
                   llvm::StringRef name, llvm::StringRef updates = "");

/// A dictionary for `mpt.init`.
mlir::DictionaryAttr getZerosInit(mlir::MLIRContext *context);
mlir::DictionaryAttr getConstantInit(mlir::MLIRContext *context, double value);

} // namespace mpt::detail

#endif // MPT_LIB_TRANSFORMS_STEPFUNCTION_H
