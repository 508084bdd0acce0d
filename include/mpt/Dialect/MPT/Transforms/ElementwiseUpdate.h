//===- ElementwiseUpdate.h - Optimizers that see single elements -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether an optimizer that is a function (docs/Autodiff.md) updates each element of a
/// parameter by itself. Then it can update any part of one, and parts of several that it
/// updates alike, as those are that ranks hold (Shards.h).
///
/// A parameter's own arguments are the parameter, its gradient (`grad.NAME`) and its
/// state: `NAME.SUFFIX`, in the parameter's shape. Its update is element by element if
/// what depends on them are elementwise ops of that shape alone, whose other operands are
/// scalars or constants with one value throughout.
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
    /// What its name has after the parameter's: "" of the parameter itself, ".exp_avg".
    std::string suffix;
    unsigned result = 0;
  };
  /// Null if it reads none.
  mlir::BlockArgument gradient;
  /// The parameter first, then by suffix.
  llvm::SmallVector<State> states;
  /// What depends on its elements, in the order of the function.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Parameters have the same number if the same is done to their elements, from the same
  /// first values of state.
  unsigned kind = 0;
};

/// The updates of an optimizer, by parameter.
class ElementwiseUpdates {
public:
  /// `update` has one block; `parameters` are the names of what it updates.
  ElementwiseUpdates(mlir::func::FuncOp update,
                     llvm::ArrayRef<llvm::StringRef> parameters);

  /// How `parameter` is updated; null if not element by element.
  const ElementwiseUpdate *find(llvm::StringRef parameter) const;
  /// Why not: the first op that sees more than an element of `parameter`, or null if a
  /// result does.
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
  /// The parameter whose own `argument` is, and the argument's suffix ("grad" of a
  /// gradient); nullptr if it is none's.
  std::pair<Parameter *, std::string> findOwner(const StepView &view,
                                                mlir::BlockArgument argument);
  void visit(mlir::Operation &op);
  /// A number that values have in common which are computed alike.
  unsigned number(const std::string &text);

  llvm::MapVector<llvm::StringRef, Parameter> parameters;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Value, Parameter *> owned;
  llvm::DenseSet<mlir::Operation *> cut;
  llvm::StringMap<unsigned> texts;
};

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_ELEMENTWISEUPDATE_H
