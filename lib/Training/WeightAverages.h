//===- WeightAverages.h - Moving averages of weights ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TRAINING_WEIGHTAVERAGES_H
#define MPT_LIB_TRAINING_WEIGHTAVERAGES_H

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"

namespace mpt::detail {

enum class EmaWarmup { None, Steps, BiasCorrection };

/// 1 - decay of step `step` (i64 scalar, 1 on the first step, whose weight is 1), f64.
mlir::Value buildEmaWeight(mlir::OpBuilder &builder, mlir::Location loc, double decay,
                           EmaWarmup warmup, mlir::Value step);

/// `average` + weight (`value` - `average`), by the formula of torch.lerp.
mlir::Value updateEma(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value average,
                      mlir::Value value, mlir::Value weight);

} // namespace mpt::detail

#endif // MPT_LIB_TRAINING_WEIGHTAVERAGES_H
