//===- StateReplay.h - State that micro-batches hand on ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PARALLEL_STATEREPLAY_H
#define MPT_LIB_PARALLEL_STATEREPLAY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "llvm/ADT/SetVector.h"

namespace mpt::detail {

/// State of a function that one micro-batch hands to the next: arguments that results
/// update, such as the running statistics of `mpt.batch_norm`. Ranks run micro-batches at
/// the same time, so each finds out what its own adds to the state, the ranks exchange
/// that, and each applies all of it in turn: `update` is the part of the function that
/// reads the state, `inputs` are what it reads of the micro-batch.
class StateReplay {
public:
  /// Makes `mpt.batch_norm` of running statistics one of none, and their next values ops
  /// of their own.
  explicit StateReplay(mlir::func::FuncOp function);

  /// Leaves state alone whose next value is the same on all ranks: it is updated once.
  /// Before `find`.
  void keepOnly(llvm::function_ref<bool(mlir::Value)> isVarying);

  /// Finds the updates. `isVarying` says which values differ between ranks. Fails after
  /// an error if something else than the next state depends on state.
  mlir::LogicalResult find(llvm::function_ref<bool(mlir::Value)> isVarying);

  /// What ranks exchange, in the order of the function.
  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs.getArrayRef(); }
  /// Whether the function's result `index` is the next value of state.
  bool isState(unsigned index) const { return states.contains(index); }
  /// The next values of the states after the updates of `ranks` ranks, as results of the
  /// function. `getPart(i, r)` is input i on rank r.
  void replay(mlir::OpBuilder &builder, int64_t ranks,
              llvm::function_ref<mlir::Value(unsigned, int64_t)> getPart);

private:
  mlir::func::FuncOp function;
  StepView step;
  /// The arguments, by the numbers of the results that update them.
  llvm::MapVector<unsigned, mlir::BlockArgument> states;
  /// Ops that depend on state, in the order of the function, and their results.
  llvm::SmallVector<mlir::Operation *> update;
  llvm::DenseSet<mlir::Value> dependent;
  llvm::SmallSetVector<mlir::Value, 8> inputs;
};

} // namespace mpt::detail

#endif // MPT_LIB_PARALLEL_STATEREPLAY_H
