//===- Sorting.cpp - Sorting in ops of mpt for importers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of a few elements each one's place is the number of elements before it: n comparisons
/// for each of n. More are sorted by Batcher's bitonic network (1968), log2(n)^2 / 2
/// steps over all elements.
///
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/ImportBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

Value ImportBuilder::flatPosition(ArrayRef<int64_t> shape, Value indices, int64_t dim) {
  Value position;
  int64_t stride = 1;
  for (int64_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    Value along = i == dim ? indices : iota(getShape(indices), i, getElement(indices));
    along = mul(along, static_cast<double>(stride));
    position = position ? add(position, along) : along;
  }
  return position;
}

Value ImportBuilder::orderedBits(Value x) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type(), f32 = builder.getF32Type();
  if (!isa<FloatType>(getElement(x)))
    return cast(getElement(x).isInteger(1) ? cast(x, i32) : x, i64);
  x = cast(unary<StopGradientOp>(x), f32);
  auto constants = [&](int32_t value) {
    return ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, i32), APInt(32, value, true)));
  };
  Value bits = BitcastOp::create(builder, loc, getType(x).clone(i32), x);
  bits = where(compare(ComparePredicate::EQ, x, 0.0), constants(0), bits);
  // Below 0 the order of the bits is the other way.
  Value mirrored = binary<XorOp>(bits, constants(0x7fffffff));
  bits = where(compare(ComparePredicate::LT, x, 0.0), mirrored, bits);
  bits = where(compare(ComparePredicate::NE, x, x), constants(0x7fffffff), bits);
  return cast(bits, i64);
}

Value ImportBuilder::sortedByNetwork(Value last, bool descending) {
  Type i64 = builder.getI64Type();
  Shape shape(getShape(last));
  int64_t size = shape.back(), rows = getType(last).getNumElements() / size;
  int64_t padded = llvm::PowerOf2Ceil(size);
  auto constants = [&](int64_t value) {
    return ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, i64), APInt(64, value, true)));
  };
  // A key in the upper half of a number, its index in the lower: no two are equal.
  Value keys = orderedBits(last);
  if (descending)
    keys = unary<NotOp>(keys);
  Value x = binary<OrOp>(binary<ShiftLeftOp>(keys, constants(32)),
                         iota(shape, shape.size() - 1, i64));
  x = reshape(x, {rows, size});
  if (padded != size) {
    Value largest = constants(std::numeric_limits<int64_t>::max());
    x = concat({x, broadcast(largest, {rows, padded - size})}, 1);
  }
  for (int64_t run = 2; run <= padded; run *= 2)
    for (int64_t distance = run / 2; distance >= 1; distance /= 2) {
      // Pairs `distance` apart; every other run is in descending order.
      int64_t pairs = padded / (2 * distance);
      x = reshape(x, {rows, pairs, 2, distance});
      Value a = slice(x, 2, 0, 1), b = slice(x, 2, 1, 1);
      Value low = binary<MinimumOp>(a, b), high = binary<MaximumOp>(a, b);
      if (run < padded) {
        Value number =
            binary<AndOp>(iota({pairs, 1, 1}, 0, i64), constants(run / (2 * distance)));
        Value ascending = compare(ComparePredicate::EQ, number, 0.0);
        Value first = where(ascending, low, high);
        high = where(ascending, high, low);
        low = first;
      }
      x = concat({low, high}, 2);
    }
  x = slice(reshape(x, {rows, padded}), 1, 0, size);
  return reshape(binary<AndOp>(x, constants(0xffffffff)), shape);
}

Value ImportBuilder::largestIndices(Value last, int64_t k) {
  Type i64 = builder.getI64Type();
  int64_t axis = getRank(last) - 1, size = getShape(last).back();
  bool isWide =
      !getElement(last).isIntOrFloat() || getElement(last).getIntOrFloatBitWidth() > 32;
  if (isWide || k == 0 || k > 32 || 8 * k > size)
    return slice(sortedIndices(last, /*descending=*/true), axis, 0, k);
  // The largest, k times. What was found is below all.
  Value keys = orderedBits(last), places = iota({size}, 0, i64);
  SmallVector<Value> found;
  for (int64_t i = 0; i < k; ++i) {
    Value best = reduceLast(ReduceKind::Max, keys, /*keepDims=*/true);
    Value here = where(compare(ComparePredicate::EQ, keys, best), places,
                       constant(static_cast<double>(size), i64));
    found.push_back(reduceLast(ReduceKind::Min, here, /*keepDims=*/true));
    if (i + 1 < k)
      keys = where(compare(ComparePredicate::EQ, places, found.back()),
                   constant(-0x1p40, i64), keys);
  }
  return concat(found, axis);
}

Value ImportBuilder::sortedIndices(Value last, bool descending) {
  int64_t size = getShape(last).back();
  Type i64 = builder.getI64Type();
  if (!require(getType(last).hasStaticShape(), "sorting an open dimension") ||
      !require(size <= 8192 || getElement(last).getIntOrFloatBitWidth() <= 32,
               "sorting more than 8192 elements of 64 bits"))
    return constant(0, i64, getShape(last));
  constexpr int64_t manyElements = 1024;
  if (size > manyElements && getElement(last).getIntOrFloatBitWidth() <= 32)
    return sortedByNetwork(last, descending);
  if (getElement(last).isInteger(1))
    last = cast(last, builder.getI8Type());
  bool floats = isa<FloatType>(getElement(last));
  if (floats)
    last = unary<StopGradientOp>(last);
  Shape across(getShape(last)), down(getShape(last));
  across.insert(across.end() - 1, 1); // [.., 1, n]: the others
  down.push_back(1);                  // [.., n, 1]: the element
  Value other = reshape(last, across), mine = reshape(last, down);
  Value before =
      compare(descending ? ComparePredicate::GT : ComparePredicate::LT, other, mine);
  Value equal = compare(ComparePredicate::EQ, other, mine);
  if (floats) {
    auto isNaN = [&](Value x) { return compare(ComparePredicate::NE, x, x); };
    auto isNumber = [&](Value x) { return compare(ComparePredicate::EQ, x, x); };
    Value first = descending ? other : mine, second = descending ? mine : other;
    before = binary<OrOp>(before, binary<AndOp>(isNaN(first), isNumber(second)));
    equal = binary<OrOp>(equal, binary<AndOp>(isNaN(mine), isNaN(other)));
  }
  return sortedIndices(before, equal);
}

Value ImportBuilder::sortedIndices(Value before, Value equal) {
  Type i64 = builder.getI64Type(), f32 = builder.getF32Type();
  Shape shape(getShape(before).drop_back());
  int64_t rank = shape.size(), size = shape.back();
  Value earlier =
      compare(ComparePredicate::LT, iota({1, size}, 1, i64), iota({size, 1}, 0, i64));
  before = binary<OrOp>(before, binary<AndOp>(equal, earlier));
  Value place = reduceLast(ReduceKind::Sum, cast(before, i64));
  // The inverse permutation: no two elements have one place.
  int64_t count = getType(place).getNumElements();
  if (count == 0)
    return place;
  Value sorted = ScatterAddOp::create(builder, loc, RankedTensorType::get({count}, f32),
                                      flatPosition(shape, place, rank - 1),
                                      iota(shape, rank - 1, f32));
  return cast(reshape(sorted, shape), i64);
}

Value ImportBuilder::takeLast(Value last, Value indices) {
  if (getElement(last).isInteger(1))
    return cast(takeLast(cast(last, builder.getI8Type()), indices), builder.getI1Type());
  Value flat = reshape(last, {getType(last).getNumElements()});
  return gather(flat, flatPosition(getShape(last), indices, getRank(last) - 1));
}
