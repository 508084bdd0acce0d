//===- RandomState.h - Random bits of a step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_RANDOMSTATE_H
#define MPT_LIB_TRAINING_RANDOMSTATE_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

namespace mpt::detail {

/// Draws random bits in a step, from streams that nothing else in it has.
class RandomState {
public:
  /// Finds the step's `attempt` and `seed`, once, or adds `seed`. Fails after an error
  /// of `pass`, at the argument or function, if there is no counter of attempts.
  llvm::LogicalResult find(mlir::func::FuncOp step, StepEditor &editor,
                           llvm::StringRef pass);
  /// 16 bits for each element of a tensor of `shape`. `find` was called before.
  mlir::Value draw(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::ArrayRef<int64_t> shape);

private:
  mlir::Value seed, attempt;
  int64_t nextStream = 0;
};

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_RANDOMSTATE_H
