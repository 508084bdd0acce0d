//===- Sorting.cpp - Sorting in ops of mpt for importers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each element's place is the number of elements before it: n comparisons for each of n.
///
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/ImportBuilder.h"

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

Value ImportBuilder::sortedIndices(Value last, bool descending) {
  int64_t rank = getRank(last), size = getShape(last).back();
  Type i64 = builder.getI64Type(), f32 = builder.getF32Type();
  if (!require(getType(last).hasStaticShape(), "sorting an open dimension") ||
      !require(size <= 8192, "sorting more than 8192 elements"))
    return constant(0, i64, getShape(last));
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
  Value earlier =
      compare(ComparePredicate::LT, iota({1, size}, 1, i64), iota({size, 1}, 0, i64));
  before = binary<OrOp>(before, binary<AndOp>(equal, earlier));
  Value place = reduceLast(ReduceKind::Sum, cast(before, i64));
  // The inverse permutation: no two elements have one place.
  int64_t count = getType(last).getNumElements();
  if (count == 0)
    return place;
  Value sorted = ScatterAddOp::create(builder, loc, RankedTensorType::get({count}, f32),
                                      flatPosition(getShape(last), place, rank - 1),
                                      iota(getShape(last), rank - 1, f32));
  return cast(reshape(sorted, getShape(last)), i64);
}

Value ImportBuilder::takeLast(Value last, Value indices) {
  if (getElement(last).isInteger(1))
    return cast(takeLast(cast(last, builder.getI8Type()), indices), builder.getI1Type());
  Value flat = reshape(last, {getType(last).getNumElements()});
  return gather(flat, flatPosition(getShape(last), indices, getRank(last) - 1));
}
