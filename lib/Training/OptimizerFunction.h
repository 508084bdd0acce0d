//===- OptimizerFunction.h - Optimizers that are functions ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-train-step=optimizer=@NAME`: a function of the module updates the parameters.
///
/// Its arguments are told apart by `mpt.name`: a parameter has the parameter's name, its
/// gradient is `grad.NAME`, as `--mpt-autodiff` calls it, `loss` is the loss before this
/// update, without a loss scale, `lr` and `lr.group0` are learning rates, `step` counts
/// steps and is 1 in the first. All others are state with the role `optimizer_state`,
/// which begins as `mpt.init` says, with zeros if it says nothing. Each result has
/// `mpt.updates`: the function gives the next value of all parameters and of all state.
///
/// Parameters and gradients of 16 bits are arguments of f32. Ranks may hold parts of
/// parameters that the function updates element by element (ElementwiseUpdate.h).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_OPTIMIZERFUNCTION_H
#define MPT_LIB_TRAINING_OPTIMIZERFUNCTION_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

#include "llvm/ADT/MapVector.h"

namespace mpt::detail {

/// Puts the body of `update` before the end of `step`, whose parameters have the
/// gradients in `gradients`, by name. `given` has the values of `loss`, `lr`, its groups
/// and `step`. Adds the state and all next values to `editor`, and removes `update` if
/// nothing else calls it. Ops get `mpt.optimizer`, and `mpt.precision = "f32"` if they
/// have none. Returns the next values of the parameters, in the order of `gradients`;
/// fails after a diagnostic at the argument or result.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
inlineOptimizer(mlir::func::FuncOp update, mlir::func::FuncOp step, StepEditor &editor,
                const llvm::MapVector<llvm::StringRef, mlir::Value> &gradients,
                const llvm::StringMap<mlir::Value> &given);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_OPTIMIZERFUNCTION_H
