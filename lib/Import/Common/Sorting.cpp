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

/// Sorts tuples, of which each of `values` has one part, along the last dimension of
/// [rows, a power of 2]. `isFirst` is a total order: no two tuples are equal.
static void sortTuples(ImportBuilder &b, MutableArrayRef<Value> values,
                       function_ref<Value(ArrayRef<Value>, ArrayRef<Value>)> isFirst) {
  Shape shape(getShape(values[0]));
  int64_t rows = shape[0], size = shape[1];
  Type i64 = b.builder.getI64Type();
  for (int64_t run = 2; run <= size; run *= 2)
    for (int64_t distance = run / 2; distance >= 1; distance /= 2) {
      // Pairs `distance` apart; every other run is in descending order.
      int64_t pairs = size / (2 * distance);
      SmallVector<Value> low, high;
      for (Value value : values) {
        value = b.reshape(value, {rows, pairs, 2, distance});
        low.push_back(b.slice(value, 2, 0, 1));
        high.push_back(b.slice(value, 2, 1, 1));
      }
      Value keeps = isFirst(low, high);
      if (!b.refusal.empty())
        return;
      if (run < size) {
        Value number = b.binary<AndOp>(b.iota({pairs, 1, 1}, 0, i64),
                                       b.constant(run / (2 * distance), i64));
        keeps = b.binary<XorOp>(keeps, b.compare(ComparePredicate::NE, number, 0.0));
      }
      for (auto [value, first, second] : llvm::zip_equal(values, low, high))
        value =
            b.concat({b.where(keeps, first, second), b.where(keeps, second, first)}, 2);
    }
  for (Value &value : values)
    value = b.reshape(value, shape);
}

/// `x` of shape [.., size] as [rows, a power of 2].
static Value padToPowerOf2(ImportBuilder &b, Value x, Value padding) {
  int64_t size = getShape(x).back(), rows = getType(x).getNumElements() / size;
  int64_t padded = llvm::PowerOf2Ceil(size);
  x = b.reshape(x, {rows, size});
  return padded == size ? x
                        : b.concat({x, b.broadcast(padding, {rows, padded - size})}, 1);
}

Value ImportBuilder::sortedByNetwork(
    ArrayRef<Value> keys,
    function_ref<Value(ArrayRef<Value>, ArrayRef<Value>)> comesBefore) {
  Type i64 = builder.getI64Type();
  Shape shape(getShape(keys[0]));
  int64_t size = shape.back();
  if (getType(keys[0]).getNumElements() == 0)
    return constant(0, i64, shape);
  SmallVector<Value> values;
  for (Value key : keys)
    values.push_back(padToPowerOf2(*this, key, constant(0, getElement(key))));
  // Beside the keys, the index; from `size` on it is that of padding.
  Shape all(getShape(values[0]));
  values.push_back(broadcast(iota({all[1]}, 0, i64), all));
  sortTuples(*this, values, [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    Value before = comesBefore(a.drop_back(), b.drop_back());
    Value after = comesBefore(b.drop_back(), a.drop_back());
    if (!refusal.empty())
      return before;
    Value earlier = compare(ComparePredicate::LT, a.back(), b.back());
    before = binary<OrOp>(before, binary<AndOp>(unary<NotOp>(after), earlier));
    if (all[1] == size)
      return before;
    auto isPadding = [&](Value index) {
      return compare(ComparePredicate::GE, index, static_cast<double>(size));
    };
    Value both = binary<OrOp>(isPadding(a.back()), isPadding(b.back()));
    return where(both, earlier, before);
  });
  return reshape(slice(values.back(), 1, 0, size), shape);
}

/// Keys of up to 32 bits: a key in the upper half of a number, its index in the lower.
static Value sortPacked(ImportBuilder &b, Value last, bool descending) {
  Type i64 = b.builder.getI64Type();
  Shape shape(getShape(last));
  auto constants = [&](int64_t value) {
    return ConstantOp::create(
        b.builder, b.loc,
        DenseElementsAttr::get(RankedTensorType::get({}, i64), APInt(64, value, true)));
  };
  Value keys = b.orderedBits(last);
  if (descending)
    keys = b.unary<NotOp>(keys);
  keys = b.binary<OrOp>(b.binary<ShiftLeftOp>(keys, constants(32)),
                        b.iota(shape, shape.size() - 1, i64));
  keys = padToPowerOf2(b, keys, constants(std::numeric_limits<int64_t>::max()));
  sortTuples(b, keys, [&](ArrayRef<Value> x, ArrayRef<Value> y) {
    return b.compare(ComparePredicate::LT, x[0], y[0]);
  });
  keys = b.slice(keys, 1, 0, shape.back());
  return b.reshape(b.binary<AndOp>(keys, constants(0xffffffff)), shape);
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
  if (!require(getType(last).hasStaticShape(), "sorting an open dimension"))
    return constant(0, i64, getShape(last));
  bool isMany = size > kManyElements;
  if (isMany && getElement(last).getIntOrFloatBitWidth() <= 32)
    return sortPacked(*this, last, descending);
  if (getElement(last).isInteger(1))
    last = cast(last, builder.getI8Type());
  bool floats = isa<FloatType>(getElement(last));
  if (floats)
    last = unary<StopGradientOp>(last);
  auto comesBefore = [&](Value a, Value b) {
    Value before =
        compare(descending ? ComparePredicate::GT : ComparePredicate::LT, a, b);
    if (!floats)
      return before;
    Value first = descending ? a : b, second = descending ? b : a;
    Value isNaN = compare(ComparePredicate::NE, first, first);
    Value isNumber = compare(ComparePredicate::EQ, second, second);
    return binary<OrOp>(before, binary<AndOp>(isNaN, isNumber));
  };
  if (isMany)
    return sortedByNetwork(last, [&](ArrayRef<Value> a, ArrayRef<Value> b) {
      return comesBefore(a[0], b[0]);
    });
  Shape across(getShape(last)), down(getShape(last));
  across.insert(across.end() - 1, 1); // [.., 1, n]: the others
  down.push_back(1);                  // [.., n, 1]: the element
  Value other = reshape(last, across), mine = reshape(last, down);
  Value equal = compare(ComparePredicate::EQ, other, mine);
  if (floats) {
    auto isNaN = [&](Value x) { return compare(ComparePredicate::NE, x, x); };
    equal = binary<OrOp>(equal, binary<AndOp>(isNaN(mine), isNaN(other)));
  }
  return sortedIndices(comesBefore(other, mine), equal);
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
