//===- Random.cpp - Torch's random masks and numbers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Other numbers than PyTorch's, of the same distributions: MPT's generator is a function
/// of the run's seed, the step, and the op.
///
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

/// Uniform multiples of 2^-24 in [0, 1), as torch.rand has in f32. With `open`, half of
/// that more: in (0, 1).
static Value uniform(Lowering &l, ArrayRef<int64_t> shape, bool open = false) {
  Type f32 = l.builder.getF32Type();
  auto halfWord = [&] { // in [0, 2^16)
    return l.add(l.cast(l.randomBits(shape), f32), 32768.0);
  };
  Value high = halfWord(), low = l.unary<FloorOp>(l.mul(halfWord(), 1.0 / 256));
  Value number = l.add(l.mul(high, 256.0), low);
  return l.mul(open ? l.add(number, 0.5) : number, std::ldexp(1.0, -24));
}

/// Standard normal numbers (Box and Muller 1958).
static Value normal(Lowering &l, ArrayRef<int64_t> shape) {
  Value radius = l.unary<SqrtOp>(l.mul(l.unary<LogOp>(uniform(l, shape, true)), -2.0));
  Value angle = l.mul(uniform(l, shape), 2 * M_PI);
  return l.mul(radius, l.unary<CosOp>(angle));
}

static void setFloats(Lowering &l, Value numbers) {
  l.set(l.cast(numbers, l.resultElement()));
}

/// Integers in [low, high).
static void integers(Lowering &l, int64_t low, int64_t high) {
  if (!l.require(high > low && high - low <= (1 << 24),
                 "an empty range of integers, or one of more than 2^24"))
    return;
  Value u = l.mul(uniform(l, l.resultType().getShape()), static_cast<double>(high - low));
  l.set(l.cast(l.add(l.unary<FloorOp>(u), static_cast<double>(low)), l.resultElement()));
}

/// Dropout of whole channels, [N, C, ..].
static Value channelMask(Lowering &l, Value x, double p) {
  Shape shape(getShape(x));
  for (int64_t dim = 1; dim < getRank(x); ++dim)
    if (dim != (l.channelsLast ? getRank(x) - 1 : 1))
      shape[dim] = 1;
  return l.cast(l.randomMask(shape, p), getElement(x));
}

/// Dropout for SELU networks (Klambauer et al. 2017): what is dropped is -1.7581, and
/// mean and variance stay.
static std::function<void(Lowering &)> alphaDropout(bool wholeChannels) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    double p = l.number(1);
    if (!l.flag(2) || p == 0)
      return l.set(x);
    if (!l.require(p > 0 && p < 1, "a probability of dropout outside of [0, 1)") ||
        !l.require(!wholeChannels || getRank(x) >= 2,
                   "a tensor of at least 2 dimensions"))
      return;
    constexpr double alpha = 1.7580993408473766;
    double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
    Value kept = wholeChannels ? channelMask(l, x, p)
                               : l.cast(l.randomMask(getShape(x), p), getElement(x));
    // a (x kept - alpha (1 - kept)) + a alpha p
    Value dropped = l.mul(l.add(kept, -1.0), alpha * a);
    l.set(l.add(l.add(l.mul(l.mul(x, kept), a), dropped), a * alpha * p));
  };
}

void mpt::torch::populateRandom(Table &t) {
  t.elementwise({"dropout"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(l.flag(2) && l.number(1) > 0 ? l.dropout(x, l.number(1)) : x);
  });
  t.elementwise({"native_dropout"}, [](Lowering &l) {
    Value x = l.get(0), mask;
    if (l.flag(2, true) && l.number(1) > 0)
      x = l.dropout(x, l.number(1), &mask);
    l.set(x);
    if (mask)
      l.set(mask, 1);
    else
      l.set(l.constant(1, l.builder.getI1Type(), getShape(x)), 1);
  });
  t.elementwise({"feature_dropout"}, [](Lowering &l) {
    Value x = l.get(0);
    double p = l.number(1);
    if (!l.flag(2) || p == 0)
      return l.set(x);
    if (l.require(getRank(x) >= 2, "a tensor of at least 2 dimensions"))
      l.set(l.mul(x, l.mul(channelMask(l, x, p), 1 / (1 - p))));
  });
  t.elementwise({"alpha_dropout"}, alphaDropout(false));
  t.elementwise({"feature_alpha_dropout"}, alphaDropout(true));
  t.elementwise({"bernoulli.p"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(l.cast(l.randomMask(getShape(x), 1 - l.number(1, 0.5)), getElement(x)));
  });
  t.elementwise({"bernoulli"}, [](Lowering &l) {
    Value p = l.get(0, l.builder.getF32Type());
    l.set(l.cast(l.compare(ComparePredicate::LT, uniform(l, getShape(p)), p),
                 l.resultElement()));
  });
  t.add({"rand", "rand_like"},
        [](Lowering &l) { setFloats(l, uniform(l, l.resultType().getShape())); });
  t.add({"randn", "randn_like"},
        [](Lowering &l) { setFloats(l, normal(l, l.resultType().getShape())); });
  t.add({"uniform"}, [](Lowering &l) {
    double from = l.number(1, 0), to = l.number(2, 1);
    setFloats(l, l.add(l.mul(uniform(l, l.resultType().getShape()), to - from), from));
  });
  t.add({"normal_functional"}, [](Lowering &l) {
    Value x = l.mul(normal(l, l.resultType().getShape()), l.number(2, 1));
    setFloats(l, l.add(x, l.number(1, 0)));
  });
  t.add({"exponential"}, [](Lowering &l) {
    Value u = uniform(l, l.resultType().getShape(), /*open=*/true);
    setFloats(l, l.mul(l.unary<LogOp>(u), -1 / l.number(1, 1)));
  });
  t.add({"randint"}, [](Lowering &l) { integers(l, 0, l.integer(0)); });
  t.add({"randint.low"}, [](Lowering &l) { integers(l, l.integer(0), l.integer(1)); });
  t.add({"randint_like"}, [](Lowering &l) { integers(l, 0, l.integer(1)); });
  t.add({"randint_like.low_dtype"},
        [](Lowering &l) { integers(l, l.integer(1), l.integer(2)); });
}
