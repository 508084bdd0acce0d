//===- WeightAverages.cpp - Moving averages of weights ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightAverages.h"
#include "GradientClipping.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

Value mpt::detail::buildEmaWeight(OpBuilder &builder, Location loc, double decay,
                                  EmaWarmup warmup, Value step) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, builder.getF64Type());
  Value t = b.widen(step);
  Value one = b.scalar(1.0);
  Value weight = b.scalar(1.0 - decay);
  if (warmup == EmaWarmup::Steps) {
    // 1 - t / (9 + t)
    Value atStart = b.div(b.scalar(9.0), b.add(t, 9.0));
    weight = MaximumOp::create(builder, loc, weight, atStart);
  } else if (warmup == EmaWarmup::BiasCorrection) {
    // The corrected average is itself a moving one: its decay is
    // d (1 - d^(t-1)) / (1 - d^t).
    Value power = PowOp::create(builder, loc, b.scalar(decay), t);
    weight = b.div(weight, b.sub(one, power));
  }
  return b.where(b.compare(t, one, ComparePredicate::LE), one, weight);
}

Value mpt::detail::updateEma(OpBuilder &builder, Location loc, Value average, Value value,
                             Value weight) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, DecomposeBuilder::typeOf(average).getElementType());
  Value w = b.round(weight, RankedTensorType::get({}, b.element));
  Value difference = b.sub(value, average);
  Value isSmall = b.compare(w, b.scalar(0.5), ComparePredicate::LT);
  Value near = b.add(average, b.mul(difference, w));
  Value far = b.sub(value, b.mul(difference, b.sub(b.scalar(1.0), w)));
  return b.where(isSmall, near, far);
}
