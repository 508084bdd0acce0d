//===- StepFunction.h - Helpers of passes over step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_STEPFUNCTION_H
#define MPT_DIALECT_MPT_TRANSFORMS_STEPFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/StringMap.h"

namespace mpt::detail {

/// Where an error about all of `module` points: at the module, or if it is not written in
/// the file, at its first function or the file's first line.
mlir::Location getModuleLocation(mlir::ModuleOp module);

/// The function `name`, or the only one of the module if `name` is empty, with a body of
/// one block; otherwise emits an error that names the functions there are.
mlir::func::FuncOp findStepFunction(mlir::ModuleOp module, llvm::StringRef name,
                                    llvm::StringRef pass);

/// Emits an error for `pass` if an operand or result of `op` has a dynamic size or
/// more elements than countElements counts.
mlir::LogicalResult checkStaticShapes(mlir::Operation *op, llvm::StringRef pass);

/// Adds arguments and results to a step. Function type and attributes follow in
/// `finish`, once, so that adding many is linear.
///
/// All names that passes give arguments and results go through here, and `finish`
/// checks them against the names that are there: an argument or a result of the
/// user's never gets the name of another.
class StepEditor {
public:
  /// `pass` begins diagnostics.
  StepEditor(mlir::func::FuncOp function, llvm::StringRef pass);

  /// The argument whose `mpt.name` is `name`, or null.
  mlir::BlockArgument getArgument(llvm::StringRef name) const {
    return arguments.lookup(name);
  }
  /// Adds an argument with its attributes; `init`, a value of `mpt.init`, may be null.
  mlir::BlockArgument addArgument(mlir::Type type, llvm::StringRef name, Role role,
                                  mlir::Attribute init);
  /// Adds `value` to what the function returns, as `name` and, if `updates` is
  /// not empty, as the next value of that argument.
  void addResult(mlir::Value value, llvm::StringRef name, llvm::StringRef updates = "",
                 std::optional<mlir::NamedAttribute> attribute = std::nullopt);
  /// Removes the results that `isRemoved` accepts, among those not added here.
  void removeResults(llvm::function_ref<bool(mlir::OpOperand &)> isRemoved);
  /// Gives the function its new type. Must be called last. Fails, after a diagnostic
  /// at the argument or result, if a name that was added is taken.
  llvm::LogicalResult finish();

private:
  llvm::LogicalResult checkArgumentNames();
  llvm::LogicalResult checkResultNames();

  mlir::func::FuncOp function;
  llvm::StringRef pass;
  unsigned numGivenArguments;
  llvm::StringMap<mlir::BlockArgument> arguments;
  llvm::SmallVector<mlir::Attribute> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> added;
};

/// Guards every state update of `step` with `predicate`, except state with role `rng`:
/// random numbers and the position in the data always advance. ANDs `predicate` into the
/// result `did_step`, adding it if absent. Returns false if the step updates no state.
/// Call before `editor` finishes; what was added through it before is not guarded.
bool guardUpdates(mlir::func::FuncOp step, StepEditor &editor, mlir::Value predicate);

/// The gradient that an optimizer reads, or null for any other op.
mlir::Value getOptimizerGradient(mlir::Operation *op);

/// Names of the state of 8-bit matmuls (--mpt-fp8).
inline constexpr llvm::StringLiteral kFp8HistoryState = "fp8.amax_history";
inline constexpr llvm::StringLiteral kFp8ScaleState = "fp8.scale";

/// A dictionary for `mpt.init`.
mlir::DictionaryAttr getZerosInit(mlir::MLIRContext *context);
mlir::DictionaryAttr getConstantInit(mlir::MLIRContext *context, double value);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_STEPFUNCTION_H
