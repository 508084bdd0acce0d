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
                              numbers, Value());
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

/// The sum of the elements up to each, of [n] (Hillis and Steele 1986).
static Value sumUpTo(ImportBuilder &l, Value x) {
  const int64_t n = getShape(x)[0];
  for (int64_t step = 1; step < n; step *= 2)
    x = l.add(x, l.pad(l.slice(x, 0, 0, n - step), {step}, {0}, 0));
  return x;
}

Value mpt::importer::findScatteredRows(ImportBuilder &l, bool largest, Value x,
                                       Value rows, Value source, bool includeSelf) {
  Type i64 = l.builder.getI64Type(), f32 = l.builder.getF32Type(),
       element = getElement(x);
  const Shape shape(getShape(x));
  const int64_t places = shape[0], count = getShape(source)[0],
                width = llvm::product_of(ArrayRef<int64_t>(shape).drop_front());
  x = l.reshape(x, {places, width});
  source = l.reshape(source, {count, width});
  // Rows of a block: where there are few rows for each place, most of larger blocks would
  // be of none.
  const int64_t log = count < 16 * places ? 3 : 4, size = int64_t(1) << log,
                blocks = places + count / size;
  const double none = largest ? -std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::infinity();
  auto choose = [&](Value a, Value b) {
    return largest ? l.binary<MaximumOp>(a, b) : l.binary<MinimumOp>(a, b);
  };
  // The rows by their places, and where those of a place begin. A place has at least one
  // block.
  Value order = l.sortedIndices(l.cast(rows, l.builder.getI32Type()), false);
  Value counts = l.cast(addRows(l, rows, l.constant(1, f32, {count}), places), i64);
  Value ends = sumUpTo(l, counts), begins = l.sub(ends, counts);
  Value own = l.binary<MaximumOp>(
      l.binary<ShiftRightLogicalOp>(l.add(counts, size - 1.0), l.constant(log, i64)),
      l.constant(1, i64));
  Value blockEnds = sumUpTo(l, own), firsts = l.sub(blockEnds, own);
  Value place = l.add(
      sumUpTo(l, l.cast(addRows(l, firsts, l.constant(1, f32, {places}), blocks), i64)),
      -1.0);
  // The largest of each block.
  Value inPlace = l.sub(l.iota({blocks}, 0, i64), l.gather(firsts, place));
  Value first = l.add(l.gather(begins, place), l.mul(inPlace, static_cast<double>(size)));
  Value at = l.add(l.reshape(first, {blocks, 1}), l.iota({1, size}, 1, i64));
  Value isHere =
      l.compare(ComparePredicate::LT, at, l.reshape(l.gather(ends, place), {blocks, 1}));
  at = l.binary<MinimumOp>(at, l.constant(static_cast<double>(count - 1), i64));
  Value fixed = l.unary<StopGradientOp>(source), fixedX = l.unary<StopGradientOp>(x);
  Value best = l.where(l.reshape(isHere, {blocks, size, 1}),
                       l.gather(fixed, l.gather(order, at)), l.constant(none, element));
  for (int64_t half = size / 2; half > 0; half /= 2)
    best = choose(l.slice(best, 1, 0, half), l.slice(best, 1, half, half));
  best = l.reshape(best, {blocks, width});
  // ... and of the blocks of a place up to each.
  for (int64_t step = 1; step < blocks; step *= 2) {
    auto shift = [&](Value value, double fill) {
      Shape low(getRank(value), 0), high(getRank(value), 0);
      low[0] = step;
      return l.pad(l.slice(value, 0, 0, blocks - step), low, high, fill);
    };
    Value isSame = l.compare(ComparePredicate::EQ, shift(place, -1), place);
    best = choose(best, l.where(l.reshape(isSame, {blocks, 1}), shift(best, none),
                                l.constant(none, element)));
  }
  Value value = l.gather(best, l.add(blockEnds, -1.0));
  if (includeSelf)
    value = choose(value, fixedX);
  // Nothing is added to the value but its gradient; infinities have none.
  auto isBest = [&](Value number, Value value) {
    return l.cast(l.compare(ComparePredicate::EQ, number, value), f32);
  };
  auto addAll = [&](Value numbers) {
    return ScatterAddOp::create(l.builder, l.loc, getType(numbers).clone({places, width}),
                                rows, numbers, Value());
  };
  auto change = [&](Value number, Value fixed, Value isBest, Value share) {
    Value passes = l.binary<AndOp>(
        l.compare(ComparePredicate::GT, isBest, 0.0),
        l.compare(ComparePredicate::LT, l.abs(fixed),
                  l.constant(std::numeric_limits<double>::infinity(), element)));
    return l.where(passes, l.div(l.sub(number, fixed), l.cast(share, element)),
                   l.constant(0, element));
  };
  Value bestRows = isBest(fixed, l.gather(value, rows)), share = addAll(bestRows);
  Value bestX = includeSelf ? isBest(fixedX, value) : Value();
  if (includeSelf)
    share = l.add(share, bestX);
  value = l.add(value, addAll(change(source, fixed, bestRows, l.gather(share, rows))));
  if (includeSelf)
    value = l.add(value, change(x, fixedX, bestX, share));
  else
    value = l.where(l.reshape(l.compare(ComparePredicate::GT, counts, 0.0), {places, 1}),
                    value, x);
  return l.reshape(value, shape);
}
