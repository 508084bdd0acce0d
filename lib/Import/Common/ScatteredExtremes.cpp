//===- ScatteredExtremes.cpp - The largest of what is scattered -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/ScatteredExtremes.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

/// Zeros [rows] with `numbers`, floats, added at `indices`; both have one dimension.
static Value addRows(ImportBuilder &l, Value indices, Value numbers, int64_t rows) {
  return ScatterAddOp::create(l.builder, l.loc,
                              RankedTensorType::get({rows}, getElement(numbers)), indices,
                              numbers);
}

/// A number of `element`, of 16 bits or more, whose order `orderedBits` gives.
static Value unorderedBits(ImportBuilder &l, Value bits, Type element) {
  Type i32 = l.builder.getI32Type(), f32 = l.builder.getF32Type();
  auto lowBits = [&](Value like) { return l.constant(0x7fffffff, getElement(like)); };
  bits = l.where(l.compare(ComparePredicate::LT, bits, 0.0),
                 l.binary<XorOp>(bits, lowBits(bits)), bits);
  Value number =
      BitcastOp::create(l.builder, l.loc, getType(bits).clone(f32), l.cast(bits, i32));
  return l.cast(number, element);
}

Value mpt::importer::findScattered(ImportBuilder &l, bool largest, Value x,
                                   Value position, Value source, bool includeSelf) {
  Type i64 = l.builder.getI64Type(), f32 = l.builder.getF32Type(),
       element = getElement(x);
  const int64_t places = getType(x).getNumElements();
  auto flatten = [&](Value value) {
    return l.reshape(value, {getType(value).getNumElements()});
  };
  const Shape shape(getShape(x));
  x = flatten(x);
  position = flatten(position);
  source = flatten(source);
  if (includeSelf) {
    position = l.concat({position, l.iota({places}, 0, i64)}, 0);
    source = l.concat({source, x}, 0);
  }
  const int64_t count = getType(source).getNumElements();
  // From 0 on; NaN is above all.
  Value fixed = l.unary<StopGradientOp>(source);
  Value keys = l.orderedBits(fixed);
  if (!largest)
    keys = l.where(l.compare(ComparePredicate::NE, fixed, fixed), keys,
                   l.unary<NotOp>(keys));
  keys = l.add(keys, 0x1p31);
  constexpr int64_t digits = 16;
  Value isLeft = l.constant(1, f32, {count}), best = l.constant(0, i64, {places}), named;
  for (int64_t shift = 28; shift >= 0; shift -= 4) {
    Value digit =
        l.binary<AndOp>(l.binary<ShiftRightLogicalOp>(keys, l.constant(shift, i64)),
                        l.constant(digits - 1, i64));
    Value slot = l.add(l.mul(position, static_cast<double>(digits)), digit);
    Value counts = l.reshape(addRows(l, slot, isLeft, places * digits), {places, digits});
    Value highest = l.reduceLast(ReduceKind::Max,
                                 l.where(l.compare(ComparePredicate::GT, counts, 0.0),
                                         l.iota({digits}, 0, f32), l.constant(-1, f32)));
    if (!named)
      named = l.compare(ComparePredicate::GE, highest, 0.0);
    isLeft = l.where(
        l.compare(ComparePredicate::EQ, l.cast(digit, f32), l.gather(highest, position)),
        isLeft, l.constant(0, f32));
    best = l.add(l.mul(best, static_cast<double>(digits)), l.cast(highest, i64));
  }
  best = l.add(best, -0x1p31);
  if (!largest)
    best = l.where(l.compare(ComparePredicate::EQ, best, 0x7fffffff), best,
                   l.unary<NotOp>(best));
  Value value = unorderedBits(l, best, element);
  // Nothing is added to the value but its gradient; infinities have none.
  Value share = l.gather(addRows(l, position, isLeft, places), position);
  Value passes = l.binary<AndOp>(
      l.compare(ComparePredicate::GT, isLeft, 0.0),
      l.compare(ComparePredicate::LT, l.abs(fixed),
                l.constant(std::numeric_limits<double>::infinity(), element)));
  Value change = l.where(passes, l.div(l.sub(source, fixed), l.cast(share, element)),
                         l.constant(0, element));
  value = l.add(value, addRows(l, position, change, places));
  return l.reshape(includeSelf ? value : l.where(named, value, x), shape);
}
