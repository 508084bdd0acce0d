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
/// steps over all elements. A few of many are found without sorting the others.
///
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/ImportBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
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

static Value integer(ImportBuilder &b, int64_t value, Type element) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(
      b.builder, b.loc,
      DenseElementsAttr::get(type, APInt(element.getIntOrFloatBitWidth(), value, true)));
}

/// Parts of a run that are compared in one go, a power of 2, of numbers and of tuples,
/// whose comparisons take more ops: one kernel has room for these.
static constexpr int64_t kPartsOfNumbers = 8, kPartsOfTuples = 4;

/// Sorts tuples, of which each of `values` has one part, along the last dimension of
/// [rows, a power of 2]. `isFirst` is a total order: no two tuples are equal.
static void sortTuples(ImportBuilder &b, MutableArrayRef<Value> values,
                       function_ref<Value(ArrayRef<Value>, ArrayRef<Value>)> isFirst) {
  Shape shape(getShape(values[0]));
  const int64_t rows = shape[0], size = shape[1],
                most = values.size() == 1 ? kPartsOfNumbers : kPartsOfTuples;
  Type i64 = b.builder.getI64Type();
  for (int64_t run = 2; run <= size; run *= 2)
    for (int64_t distance = run; distance > 1;) {
      // Pairs that are a half, a quarter and an eighth of `distance` apart, one after the
      // other: what is read and written once holds all three.
      const int64_t parts = std::min(distance, most), blocks = size / distance;
      SmallVector<SmallVector<Value>> tuples(parts);
      for (Value value : values) {
        value = b.reshape(value, {rows, blocks, parts, distance / parts});
        for (int64_t i = 0; i < parts; ++i)
          tuples[i].push_back(b.slice(value, 2, i, 1));
      }
      // Every other run is in descending order.
      Value isDescending;
      if (run < size)
        isDescending = b.compare(ComparePredicate::NE,
                                 b.binary<AndOp>(b.iota({blocks, 1, 1}, 0, i64),
                                                 b.constant(run / distance, i64)),
                                 0.0);
      for (int64_t apart = parts / 2; apart >= 1; apart /= 2)
        for (int64_t i = 0; i < parts; ++i) {
          if (i & apart)
            continue;
          SmallVector<Value> &low = tuples[i], &high = tuples[i + apart];
          Value keeps = isFirst(low, high);
          if (!b.refusal.empty())
            return;
          if (isDescending)
            keeps = b.binary<XorOp>(keeps, isDescending);
          for (auto [first, second] : llvm::zip_equal(low, high)) {
            Value smaller = b.where(keeps, first, second);
            second = b.where(keeps, second, first);
            first = smaller;
          }
        }
      for (auto [number, value] : llvm::enumerate(values)) {
        SmallVector<Value> sorted;
        for (ArrayRef<Value> tuple : tuples)
          sorted.push_back(tuple[number]);
        value = b.concat(sorted, 2);
      }
      distance /= parts;
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
    // Neither before the other, or both by a comparator that is not strict: equal.
    before = where(binary<XorOp>(before, after), before, earlier);
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

/// Keys of up to 32 bits: a key in the upper half of a number, its index in the lower, so
/// that no two are equal.
static Value packKeys(ImportBuilder &b, Value last, bool descending) {
  Type i64 = b.builder.getI64Type();
  Shape shape(getShape(last));
  Value keys = b.orderedBits(last);
  if (descending)
    keys = b.unary<NotOp>(keys);
  return b.binary<OrOp>(b.binary<ShiftLeftOp>(keys, integer(b, 32, i64)),
                        b.iota(shape, shape.size() - 1, i64));
}
static Value unpackIndices(ImportBuilder &b, Value keys) {
  return b.binary<AndOp>(keys, integer(b, 0xffffffff, b.builder.getI64Type()));
}
static constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

static Value sortPacked(ImportBuilder &b, Value last, bool descending) {
  Shape shape(getShape(last));
  Value keys = padToPowerOf2(b, packKeys(b, last, descending),
                             integer(b, kLast, b.builder.getI64Type()));
  sortTuples(b, keys, [&](ArrayRef<Value> x, ArrayRef<Value> y) {
    return b.compare(ComparePredicate::LT, x[0], y[0]);
  });
  return unpackIndices(b, b.reshape(b.slice(keys, 1, 0, shape.back()), shape));
}

/// The `k` smallest of the last dimension, of which no two are equal, in order.
static Value smallestOf(ImportBuilder &b, Value keys, int64_t k) {
  Value last = integer(b, kLast, b.builder.getI64Type());
  constexpr int64_t mostRounds = 16;
  if (k > mostRounds) {
    Shape shape(getShape(keys));
    keys = padToPowerOf2(b, keys, last);
    sortTuples(b, keys, [&](ArrayRef<Value> x, ArrayRef<Value> y) {
      return b.compare(ComparePredicate::LT, x[0], y[0]);
    });
    shape.back() = k;
    return b.reshape(b.slice(keys, 1, 0, k), shape);
  }
  SmallVector<Value> found;
  for (int64_t i = 0; i < k; ++i) {
    if (i > 0)
      keys = b.where(b.compare(ComparePredicate::EQ, keys, found.back()), last, keys);
    found.push_back(b.reduceLast(ReduceKind::Min, keys, /*keepDims=*/true));
  }
  return b.concat(found, getRank(keys) - 1);
}

/// Whether elements have keys of at most 32 bits.
static bool isNarrow(Value x) {
  return getElement(x).isIntOrFloat() && getElement(x).getIntOrFloatBitWidth() <= 32;
}

Value ImportBuilder::extremeIndices(Value last, int64_t k, bool largest) {
  const int64_t axis = getRank(last) - 1, size = getShape(last).back();
  if (!getType(last).hasStaticShape() || !isNarrow(last) || k == 0 || k > 64 ||
      4 * k > size)
    return slice(sortedIndices(last, largest), axis, 0, k);
  Value keys = packKeys(*this, last, largest);
  // The k smallest are in the k groups with the smallest minima. A group has every
  // `groups`-th element.
  const int64_t groups = llvm::PowerOf2Ceil(std::sqrt(double(k) * size));
  if (2 * groups > size)
    return unpackIndices(*this, smallestOf(*this, keys, k));
  Type i64 = builder.getI64Type();
  Shape low(axis + 1, 0), high(axis + 1, 0), shape(getShape(last));
  const int64_t members = llvm::divideCeil(size, groups);
  high.back() = groups * members - size;
  if (high.back()) {
    Shape rest(shape);
    rest.back() = high.back();
    keys = concat({keys, broadcast(integer(*this, kLast, i64), rest)}, axis);
  }
  shape.back() = members;
  shape.push_back(groups);
  Value minima = reduce(ReduceKind::Min, reshape(keys, shape), {axis}, false);
  Value chosen =
      binary<AndOp>(smallestOf(*this, minima, k), integer(*this, groups - 1, i64));
  shape[axis] = k;
  shape[axis + 1] = 1;
  Value places = add(reshape(chosen, shape),
                     mul(iota({members}, 0, i64), static_cast<double>(groups)));
  shape.pop_back();
  shape[axis] = k * members;
  return unpackIndices(*this,
                       smallestOf(*this, takeLast(keys, reshape(places, shape)), k));
}

Value ImportBuilder::indexAtPlace(Value last, int64_t k) {
  const int64_t axis = getRank(last) - 1, size = getShape(last).back();
  if (!isNarrow(last) || size <= kManyElements)
    return slice(sortedIndices(last, /*descending=*/false), axis, k, 1);
  Type i32 = builder.getI32Type();
  // In f32, which is exact so far, one kernel both compares and counts.
  Type number = size < int64_t(1) << 24 ? Type(builder.getF32Type()) : i32;
  auto count = [&](Value which) {
    return reduceLast(ReduceKind::Sum, cast(which, number), /*keepDims=*/true);
  };
  Shape shape(getShape(last));
  shape.back() = 1;
  // The largest number that at most k are below, bit by bit.
  Value keys = cast(orderedBits(last), i32);
  Value key = broadcast(integer(*this, std::numeric_limits<int32_t>::min(), i32), shape);
  Value place = constant(static_cast<double>(k), number);
  for (int bit = 31; bit >= 0; --bit) {
    // Two's complement: adding 2^31 is adding -2^31.
    Value next =
        binary<AddOp>(key, integer(*this, static_cast<int32_t>(uint32_t(1) << bit), i32));
    Value below = count(compare(ComparePredicate::LT, keys, next));
    key = where(compare(ComparePredicate::LE, below, place), next, key);
  }
  // Which of those equal to it, and the largest number of first elements without that.
  Value isEqual = compare(ComparePredicate::EQ, keys, key);
  Value rank = binary<SubOp>(place, count(compare(ComparePredicate::LT, keys, key)));
  Value index = broadcast(integer(*this, 0, i32), shape);
  Value places = iota({size}, 0, i32);
  for (int bit = llvm::Log2_64_Ceil(size); bit >= 0; --bit) {
    Value next = binary<AddOp>(index, integer(*this, int64_t(1) << bit, i32));
    Value before =
        count(binary<AndOp>(isEqual, compare(ComparePredicate::LT, places, next)));
    index = where(compare(ComparePredicate::LE, before, rank), next, index);
  }
  return cast(index, builder.getI64Type());
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
                                      iota(shape, rank - 1, f32), Value());
  return cast(reshape(sorted, shape), i64);
}

Value ImportBuilder::takeLast(Value last, Value indices) {
  if (getElement(last).isInteger(1))
    return cast(takeLast(cast(last, builder.getI8Type()), indices), builder.getI1Type());
  Value flat = reshape(last, {getType(last).getNumElements()});
  return gather(flat, flatPosition(getShape(last), indices, getRank(last) - 1));
}
