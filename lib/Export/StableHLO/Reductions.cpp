//===- Reductions.cpp - Reductions in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

static void convertReduce(ReduceOp op, Emitter &e) {
  Value x = e.widen(e.get(op.getX()));
  bool isFloat = isa<FloatType>(getElement(x));
  if (isFloat && (e.resultType().getElementType().isF64() ||
                  (op.getAccType() && op.getAccType()->isF64())))
    x = e.convert(x, e.builder.getF64Type());
  StringRef combiner;
  switch (op.getKind()) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    combiner = "add";
    break;
  case ReduceKind::Max:
    combiner = "maximum";
    break;
  case ReduceKind::Min:
    combiner = "minimum";
    break;
  case ReduceKind::Prod:
    combiner = "multiply";
    break;
  }
  Shape axes(op.getAxes());
  llvm::sort(axes);
  Value y = axes.empty() ? x : e.reduce(combiner, x, axes);
  if (op.getKind() == ReduceKind::Mean) {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= getShape(x)[axis];
    y = e.binary("divide", y,
                 e.splat(getElement(y), getShape(y), static_cast<double>(count)));
  }
  e.set(e.reshape(y, e.resultType().getShape()));
}

/// The largest element with its index, by pairs. The first of equal elements wins, and
/// NaN is largest.
static void convertArgmax(ArgmaxOp op, Emitter &e) {
  Value x = e.widen(e.get(op.getX()));
  int64_t axis = getRank(x) - 1;
  Type element = getElement(x), index = e.resultType().getElementType();
  Value positions = e.iota(index, getShape(x), axis);
  Shape shape(getShape(x).drop_back());
  Operation *reduction =
      e.build("reduce", {getType(x).clone(shape), getType(positions).clone(shape)},
              {x, positions, e.neutral("maximum", element), e.splat(index, {}, 0.0)},
              e.array("dimensions", axis));
  auto number = RankedTensorType::get({}, element);
  auto position = RankedTensorType::get({}, index);
  e.fill(reduction, 0, {number, position, number, position},
         [&](ValueRange arguments) -> SmallVector<Value> {
           Value a = arguments[0], i = arguments[1], b = arguments[2], j = arguments[3];
           auto isNaN = [&](Value value) { return e.compare("NE", value, value); };
           Value isLarger = e.binary("or", e.compare("GT", a, b), isNaN(a));
           Value areEqual =
               e.binary("or", e.compare("EQ", a, b), e.binary("and", isNaN(a), isNaN(b)));
           Value isFirst = e.binary("and", areEqual, e.compare("LT", i, j));
           // Of two NaN the first wins.
           Value strictly = e.binary("and", isLarger, e.unary("not", areEqual));
           Value takesFirst = e.binary("or", strictly, isFirst);
           return {e.select(isLarger, a, b), e.select(takesFirst, i, j)};
         });
  e.set(reduction->getResult(1));
}

void mpt::tostablehlo::populateReductions(Table &table) {
  table.add(convertReduce);
  table.add(convertArgmax);
}
