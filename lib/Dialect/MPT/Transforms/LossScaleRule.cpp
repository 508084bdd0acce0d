//===- LossScaleRule.cpp - How a loss scale moves -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/LossScaleRule.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static const LossScaleRule rules[] = {
    // name, init, growth, backoff, interval, min, max, checkFinite, hysteresis, growsLate
    {"torch", 65536, 2, 0.5, 2000, 0, 0, true, Hysteresis::None, 1},
    {"tf", 32768, 2, 0.5, 2000, 1, 0, true, Hysteresis::None, 1},
    {"keras", 32768, 2, 0.5, 2000, 0, 0, false, Hysteresis::None, 1},
    {"apex", 65536, 2, 0.5, 2000, 0, 16777216, false, Hysteresis::None, 1},
    {"megatron", 4294967296, 2, 0.5, 1000, 1, 0, false, Hysteresis::UntilGrowth, 2},
    {"deepspeed", 65536, 2, 0.5, 1000, 1, 0, false, Hysteresis::AtOne, 2},
    {"deepspeed-consecutive", 65536, 2, 0.5, 1000, 1, 0, false,
     Hysteresis::AtOneConsecutive, 2},
    {"deepspeed-0.18", 65536, 2, 0.5, 1000, 1, 0, false, Hysteresis::AtOne, 2, true},
    {"deepspeed-0.18-consecutive", 65536, 2, 0.5, 1000, 1, 0, false,
     Hysteresis::AtOneConsecutive, 2, true},
    {"jmp", 32768, 2, 0.5, 2000, 1, 0, true, Hysteresis::None, 1},
    {"paddle", 65536, 2, 0.5, 2000, 1, 0, true, Hysteresis::EveryNth, 1},
};

ArrayRef<LossScaleRule> mpt::detail::getLossScaleRules() { return rules; }

LossScaleState mpt::detail::updateLossScale(OpBuilder &builder, Location loc,
                                            const LossScaleRule &rule,
                                            LossScaleState state, Value allFinite) {
  DecomposeBuilder b(builder, loc,
                     DecomposeBuilder::typeOf(state.scale).getElementType());
  Type i32 = builder.getI32Type();
  auto both = [&](Value x, Value y) -> Value {
    return AndOp::create(builder, loc, x, y);
  };
  auto isNot = [&](Value x) -> Value { return NotOp::create(builder, loc, x); };
  auto choose = [&](Value condition, Value x, Value y) -> Value {
    return WhereOp::create(builder, loc, x.getType(), condition, x, y);
  };
  Value one = b.integer(i32, 1), zero = b.integer(i32, 0);
  Value foundInf = isNot(allFinite);

  Value next = AddOp::create(builder, loc, state.good, one);
  Value grows =
      both(allFinite, b.compare(next, b.integer(i32, rule.interval + rule.growsLate),
                                ComparePredicate::GE));
  auto multiply = [&](double factor) -> Value {
    // f32 rounds the product with a factor that it holds as torch rounds all: torch
    // multiplies its f32 scale by an f64 number.
    if (rule.name != "torch" || !b.element.isF32() ||
        static_cast<double>(static_cast<float>(factor)) == factor)
      return b.mul(state.scale, factor);
    DecomposeBuilder wide(builder, loc, builder.getF64Type());
    return wide.round(wide.mul(wide.widen(state.scale), factor), state.scale.getType());
  };
  Value larger = multiply(rule.growth);
  if (rule.max != 0)
    larger = MinimumOp::create(builder, loc, larger, b.scalar(rule.max));
  if (rule.checkFinite)
    larger = b.where(IsFiniteOp::create(builder, loc, larger), larger, state.scale);
  Value smaller = multiply(rule.backoff);
  if (rule.min != 0)
    smaller = MaximumOp::create(builder, loc, smaller, b.scalar(rule.min));

  LossScaleState after;
  after.good = choose(both(allFinite, isNot(grows)), next,
                      rule.growsLate ? choose(grows, one, zero) : zero);
  Value falls = foundInf;
  Value full = b.integer(i32, rule.hysteresis);
  switch (rule.kind) {
  case Hysteresis::None:
    break;
  case Hysteresis::UntilGrowth: {
    Value fewer = SubOp::create(builder, loc, state.bad, one);
    falls = both(foundInf, b.compare(fewer, zero, ComparePredicate::LE));
    after.bad = choose(foundInf, fewer, choose(grows, full, state.bad));
    break;
  }
  case Hysteresis::AtOne:
  case Hysteresis::AtOneConsecutive: {
    falls = both(foundInf, b.compare(state.bad, one, ComparePredicate::LE));
    Value fewer = SubOp::create(builder, loc, state.bad, one);
    Value refills = rule.kind == Hysteresis::AtOne ? grows : allFinite;
    after.bad =
        choose(both(foundInf, isNot(falls)), fewer, choose(refills, full, state.bad));
    break;
  }
  case Hysteresis::EveryNth: {
    Value more = AddOp::create(builder, loc, state.bad, one);
    falls = both(foundInf, b.compare(more, full, ComparePredicate::GE));
    after.bad = choose(both(foundInf, isNot(falls)), more, zero);
    break;
  }
  }
  after.scale = b.where(falls, smaller, b.where(grows, larger, state.scale));
  return after;
}

Value mpt::detail::getLargestMagnitude(OpBuilder &builder, Location loc,
                                       ValueRange gradients) {
  DecomposeBuilder b(builder, loc, builder.getF32Type());
  Value largest = b.scalar(0.0);
  for (Value gradient : gradients)
    for (Value part : asGradientRows(b, gradient)) {
      Value rows = b.widen(part);
      Value magnitude = AbsOp::create(builder, loc, rows.getType(), rows);
      Value row = b.reduceRow(ReduceKind::Max, magnitude);
      largest =
          MaximumOp::create(builder, loc, largest, b.reduceAll(ReduceKind::Max, row));
    }
  return largest;
}

Value mpt::detail::chooseLossScale(OpBuilder &builder, Location loc,
                                   const AmaxScaleRule &rule, Value scale, Value history,
                                   Value allFinite) {
  DecomposeBuilder b(builder, loc, builder.getF32Type());
  Value largest = b.reduceAll(ReduceKind::Max, history);
  // All powers of two between the bounds; those that fit make the choice.
  SmallVector<float> powers;
  for (int exponent = static_cast<int>(std::ceil(std::log2(rule.min)));
       exponent <= static_cast<int>(std::floor(std::log2(rule.max))); ++exponent)
    powers.push_back(std::ldexp(1.0f, exponent));
  auto type =
      RankedTensorType::get({static_cast<int64_t>(powers.size())}, builder.getF32Type());
  Value table =
      ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(powers)));
  Value needed = b.mul(b.mul(table, largest), rule.margin);
  Value fits = b.compare(needed, b.scalar(rule.largest), ComparePredicate::LE);
  Value best =
      b.reduceAll(ReduceKind::Max, b.where(fits, table, b.scalar(powers.front())));
  // Gradients that are all zero say nothing.
  Value chosen =
      b.where(b.compare(largest, b.scalar(0.0), ComparePredicate::GT), best, scale);
  Value smaller = MaximumOp::create(builder, loc, b.mul(scale, rule.backoff),
                                    b.scalar(powers.front()));
  return b.where(allFinite, chosen, smaller);
}
