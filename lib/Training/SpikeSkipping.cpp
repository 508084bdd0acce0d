//===- SpikeSkipping.cpp - Steps whose gradient norm spikes -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides by the running mean and variance of the gradient norm whether a step is
/// taken. All scalars are f64: the square of an f32 norm may be infinite in f32.
///
//===----------------------------------------------------------------------===//

#include "SpikeSkipping.h"
#include "GradientClipping.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Support/NumberToString.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult mpt::detail::checkSpikes(Operation *op, const SpikeRule &rule) {
  if (!(rule.deviations >= 0) || !std::isfinite(rule.deviations))
    return op->emitError("mpt-train-step: expected a finite skip-spikes of at least 0, "
                         "found ")
           << numberToString(rule.deviations);
  if (!(rule.alpha >= 0 && rule.alpha < 1))
    return op->emitError("mpt-train-step: expected spike-alpha in [0, 1), found ")
           << numberToString(rule.alpha);
  if (rule.warmup < 2)
    return op->emitError("mpt-train-step: expected spike-warmup of at least 2 (one norm "
                         "has no deviation), found ")
           << rule.warmup;
  if (rule.patience < 1)
    return op->emitError("mpt-train-step: expected spike-patience of at least 1, found ")
           << rule.patience;
  return success();
}

SpikeDecision mpt::detail::detectSpike(OpBuilder &builder, Location loc,
                                       const SpikeRule &rule, const SpikeState &state,
                                       Value norm) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, builder.getF64Type());
  Type i64 = builder.getI64Type();
  auto choose = [&](Value condition, Value x, Value y) -> Value {
    return WhereOp::create(builder, loc, x.getType(), condition, x, y);
  };
  Value one = b.integer(i64, 1), zero = b.integer(i64, 0);
  Value x = b.widen(norm);
  Value isFinite = IsFiniteOp::create(builder, loc, x);

  // Is it one?
  Value deviation = b.add(b.sqrt(state.variance), 1e-6);
  Value score = b.div(b.sub(x, state.mean), deviation);
  Value isLow = b.compare(score, b.scalar(rule.deviations), ComparePredicate::LE);
  Value isWarmup =
      b.compare(state.count, b.integer(i64, rule.warmup), ComparePredicate::LT);
  Value isStale =
      b.compare(state.spikes, b.integer(i64, rule.patience), ComparePredicate::GE);
  Value passes = OrOp::create(builder, loc, isLow, isWarmup);
  Value isTaken = OrOp::create(builder, loc, passes, isStale);
  SpikeDecision decision;
  decision.isNormal = AndOp::create(builder, loc, isTaken, isFinite);

  // The statistics with this norm, if it belongs to them; else they begin with it.
  Value count = AddOp::create(builder, loc, state.count.getType(), state.count, one);
  Value difference = b.sub(x, state.mean);
  Value n = b.widen(count);
  Value early = b.add(state.mean, b.div(difference, n));
  // Welford's: n var_n = (n - 1) var_{n-1} + (x - mean_{n-1}) (x - mean_n).
  Value earlySum = b.add(b.mul(b.widen(state.count), state.variance),
                         b.mul(difference, b.sub(x, early)));
  Value earlyVariance = b.div(earlySum, n);
  Value late = b.add(b.mul(state.mean, rule.alpha), b.mul(x, 1.0 - rule.alpha));
  Value rest = b.sub(x, late);
  Value lateVariance = b.add(b.mul(state.variance, rule.alpha),
                             b.mul(b.mul(rest, rest), 1.0 - rule.alpha));
  Value mean = b.where(isWarmup, early, late);
  Value variance = b.where(isWarmup, earlyVariance, lateVariance);
  decision.after.mean = b.where(passes, mean, x);
  decision.after.variance = b.where(passes, variance, b.scalar(0.0));
  // Counts need go no further than the warm-up.
  Value counted = choose(isWarmup, count, state.count);
  decision.after.count = choose(passes, counted, one);
  decision.after.spikes =
      choose(decision.isNormal, zero,
             AddOp::create(builder, loc, state.spikes.getType(), state.spikes, one));
  return decision;
}
