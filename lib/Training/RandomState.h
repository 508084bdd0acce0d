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
#include "mpt/Support/ShardLayout.h"
#include "llvm/ADT/DenseMap.h"

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

  /// Keeps `each` streams for each tensor of `layouts`, as if each of the tensors drew so
  /// many times, one tensor after the other in their order in the step.
  void keepStreams(llvm::ArrayRef<ShardLayout> layouts, int64_t each);
  /// 16 bits for each element of this rank's shard, which `layout` says the tensors of:
  /// those of the whole tensors from their stream `number`. Every rank draws all.
  mlir::Value drawShard(mlir::OpBuilder &builder, mlir::Location loc,
                        const ShardLayout &layout, int64_t number);

private:
  mlir::Value seed, attempt;
  int64_t nextStream = 0;
  /// The first stream of each tensor that ranks hold together, by its order.
  llvm::DenseMap<int64_t, int64_t> kept;
};

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_RANDOMSTATE_H
