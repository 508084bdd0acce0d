//===- LearningRate.h - Learning-rate schedules -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_LEARNINGRATE_H
#define MPT_LIB_TRAINING_LEARNINGRATE_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

namespace mpt::detail {

/// The options of the same names.
struct LearningRateRule {
  llvm::StringRef schedule;
  int64_t warmup, total;
  double final;
  int64_t every;
  double gamma;

  bool isConstant() const { return schedule == "constant" && warmup == 0; }
};

/// Emits an error for `pass` if a value is out of range or missing.
mlir::LogicalResult checkLearningRate(mlir::Operation *op, llvm::StringRef pass,
                                      const LearningRateRule &rule);

/// `rate` (a float scalar) after `stepsTaken` (i64 scalar), of rate's type.
mlir::Value buildLearningRate(mlir::OpBuilder &builder, mlir::Location loc,
                              const LearningRateRule &rule, mlir::Value rate,
                              mlir::Value stepsTaken);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_LEARNINGRATE_H
