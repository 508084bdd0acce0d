//===- StepSignature.h - The step ABI read from IR --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From a function's argument and result attributes to what the host needs to
/// know of it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_STEPSIGNATURE_H
#define MPT_HOST_STEPSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Host/StepEngine.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpt {

/// The host's form of an element type, if it has one. Integers are signless;
/// ui8 is U8.
std::optional<ElementType> convertElementType(mlir::Type type);

struct StepSignature {
  /// Shapes may hold `kDynamicSize` (DataFiles.h) in dimension 0.
  std::vector<TensorInfo> arguments;
  std::vector<ResultInfo> results;

  /// True if the function is a whole step: a result updates a parameter, state of
  /// the optimizer or the loss scale. Of a function that has parameters, one that
  /// updates other state alone (running statistics) is a loss still to be trained.
  bool isStep() const;
  /// True if an argument's dimension 0 is open.
  bool isDynamic() const;
};

/// Reads the signature of `function`, which the dialect's verifier has accepted: names
/// are unique, and updates fit their arguments. Emits a located error and fails if an
/// argument or result is not a tensor that the host can hold or lacks `mpt.name` or
/// `mpt.role`, or if a size other than dimension 0 is dynamic.
llvm::FailureOr<StepSignature> readStepSignature(mlir::func::FuncOp function);

/// A digest of what `function` computes, as checkpoints name the step that they are of:
/// 16 hexadecimal digits that follow from its text. Locations, the memory budget and
/// order, and first values of schedules change nothing: a run may go on with others.
std::string computeStepDigest(mlir::func::FuncOp function);

/// Emits an error and fails if a scalar result of `function`, which becomes a column of
/// the metrics, has the name of another column (MetricsLog.h).
llvm::LogicalResult checkMetricNames(mlir::func::FuncOp function,
                                     const StepSignature &signature);

/// The function `name`, which the command line option `option` gives; if it is
/// empty the module's only one, else `loss`. Fails, naming the module's file and those
/// that there are.
llvm::Expected<mlir::func::FuncOp>
findFunction(mlir::ModuleOp module, llvm::StringRef option, llvm::StringRef name);

} // namespace mpt

#endif // MPT_HOST_STEPSIGNATURE_H
