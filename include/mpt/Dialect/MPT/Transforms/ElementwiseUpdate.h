//===- ElementwiseUpdate.h - Optimizers that see single elements -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether an optimizer function (docs/Autodiff.md) updates each element of a parameter
/// independently of all others. If it does, it can also update a shard (Shards.h): part
/// of a parameter, or parts of several parameters with the same update.
///
/// A parameter's own arguments are the parameter, its gradient (`grad.NAME`) and its
/// state: `NAME.SUFFIX`, in the parameter's shape. The update is elementwise if every op
/// that depends on them is elementwise and has that shape. The other operands of these
/// ops must be scalars or splat constants.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_ELEMENTWISEUPDATE_H
#define MPT_DIALECT_MPT_TRANSFORMS_ELEMENTWISEUPDATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mpt::detail {

/// What an optimizer does to the elements of one parameter.
struct ElementwiseUpdate {
  /// An argument of its own, and the number of the result that updates it.
  struct State {
    mlir::BlockArgument argument;
    /// The rest of its name after the parameter's name, such as ".exp_avg"; empty for
    /// the parameter itself.
    std::string suffix;
    unsigned result = 0;
  };
  /// Null if the optimizer does not read the gradient.
  mlir::BlockArgument gradient;
  /// The parameter first, then by suffix.
  llvm::SmallVector<State> states;
  /// The ops that depend on its elements, in the order of the function.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Equal for two parameters if their elements are updated by the same computation, and
  /// their state has the same `mpt.init`.
  unsigned kind = 0;
};

/// The updates of an optimizer, by parameter.
class ElementwiseUpdates {
public:
  /// `update` has one block; `parameters` are the names of what it updates.
  ElementwiseUpdates(mlir::func::FuncOp update,
                     llvm::ArrayRef<llvm::StringRef> parameters);

  /// The update of `parameter`; null if it is not elementwise.
  const ElementwiseUpdate *find(llvm::StringRef parameter) const;
  /// The first op that makes the update of `parameter` not elementwise; null if no op
  /// does, but what the function returns.
  mlir::Operation *findObstacle(llvm::StringRef parameter) const;
  /// The argument that is `parameter`; null if there is none.
  mlir::BlockArgument getArgument(llvm::StringRef parameter) const;
  /// Whether `value` is a parameter's own argument, or depends on one.
  bool isOwn(mlir::Value value) const { return owned.contains(value); }
  /// Whether `op` reads such a value.
  bool isCut(mlir::Operation *op) const { return cut.contains(op); }

private:
  struct Parameter {
    ElementwiseUpdate update;
    bool isElementwise = true;
    mlir::Operation *obstacle = nullptr;
  };
  /// The parameter that `argument` belongs to (null if there is none), and the argument's
  /// suffix; "grad" for a gradient.
  std::pair<Parameter *, std::string> findOwner(const StepView &view,
                                                mlir::BlockArgument argument);
  void visit(mlir::Operation &op);
  /// The value number of `text`, which describes a computation.
  unsigned number(const std::string &text);

  llvm::MapVector<llvm::StringRef, Parameter> parameters;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Value, Parameter *> owned;
  llvm::DenseSet<mlir::Operation *> cut;
  llvm::StringMap<unsigned> texts;
};

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_ELEMENTWISEUPDATE_H
