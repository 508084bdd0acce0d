//===- PrecisionPlan.h - Which ops run in low precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TensorFlow's paint (auto_mixed_precision.cc, the propagation rules of
/// AutoMixedPrecisionImpl) on SSA values. Pure: the IR is not changed.
///
/// A vertex is an op with f32 operands or results that follow its precision; an
/// edge is such a result used as such an operand. In order:
///  1. allowed ops are painted;
///  2. deny spreads forward through clear and infer ops, up to the last infer or
///     denied op that they lead to;
///  3. infer and clear ops on a path between two painted ops are painted;
///  4. infer ops that read a painted op and no denied one are painted, in
///     program order;
///  5. paint spreads through clear ops both ways;
///  6. casts to f32 whose readers are all painted are painted.
/// `stable` ops (f32 inside, any storage outside) are painted as infer ops.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_ANALYSIS_PRECISIONPLAN_H
#define MPT_ANALYSIS_PRECISIONPLAN_H

#include "mpt/Policy/PrecisionPolicy.h"
#include "llvm/ADT/SetVector.h"

namespace mpt {

/// Why an op has the colour it has.
enum class PaintReason : uint8_t { Allowed, Between, Follows, Neighbour, Cast };
llvm::StringRef stringifyPaintReason(PaintReason reason);

struct PrecisionPlan {
  /// The ops that run in low precision, in the order they were painted.
  llvm::MapVector<mlir::Operation *, PaintReason> low;
  /// The ops that deny reached.
  llvm::DenseSet<mlir::Operation *> denied;

  bool isLow(mlir::Operation *op) const { return low.contains(op); }
};

/// Plans the ops of `block` (not those in nested regions) for `lowType`.
PrecisionPlan planPrecision(mlir::Block &block, const PrecisionPolicy &policy,
                            mlir::Type lowType);

/// True if operand `index` of `op` is an f32 tensor that follows op's precision.
bool isFreeOperand(mlir::Operation *op, unsigned index);
/// True if result `index` of `op` is an f32 tensor that follows op's precision.
bool isFreeResult(mlir::Operation *op, unsigned index);

} // namespace mpt

#endif // MPT_ANALYSIS_PRECISIONPLAN_H
