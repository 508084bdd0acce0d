//===- GradientClipping.h - Groups of gradients, scaled and clipped -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ops and state of the step. What they compute stays f32 or f64 under every precision
/// policy.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_GRADIENTCLIPPING_H
#define MPT_LIB_TRAINING_GRADIENTCLIPPING_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Support/ShardLayout.h"

namespace mpt::detail {

/// While it lives, marks what `builder` makes as f32 for autocast.
class KeepsPrecision : public mlir::OpBuilder::Listener {
public:
  explicit KeepsPrecision(mlir::OpBuilder &builder)
      : builder(builder), before(builder.getListener()) {
    builder.setListener(this);
  }
  ~KeepsPrecision() override { builder.setListener(before); }
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;

private:
  mlir::OpBuilder &builder;
  mlir::OpBuilder::Listener *before;
};

/// A parameter that an optimizer updates: its name, and those of the parameters that it
/// holds shards of, if it does.
struct ParameterNames {
  llvm::StringRef name;
  llvm::SmallVector<std::string> sharded;
};

/// What a text REGEX=NUMBER says, and the parameters that it is for, by position.
struct ParameterGroup {
  double number;
  llvm::SmallVector<unsigned> members;
};

/// Each parameter belongs to the first text that matches its name, or the names of all
/// that it holds shards of. A text that gets none, or some of those that are cut
/// together, or a number not above 0, or not 0 either if `allowsZero`, is an error at
/// `op`.
mlir::FailureOr<llvm::SmallVector<ParameterGroup>>
matchParameters(mlir::Operation *op, llvm::StringRef option,
                llvm::ArrayRef<std::string> texts, llvm::ArrayRef<ParameterNames> names,
                bool allowsZero = false);

/// `a` + `b`, at least f32.
mlir::Value addGradients(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a,
                         mlir::Value b);

/// `gradient` times `factor`, at least f32.
mlir::Value scaleGradient(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value gradient, double factor);

/// Replaces `gradients` by what clipping them to `limit` leaves, at least f32, and
/// returns their norm before. An infinite limit clips nothing: the norm alone is used.
/// `layouts` says how each is cut between ranks; empty if they are whole.
mlir::Value clipGradients(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::MutableArrayRef<mlir::Value> gradients, double limit,
                          llvm::ArrayRef<ShardLayout> layouts);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_GRADIENTCLIPPING_H
