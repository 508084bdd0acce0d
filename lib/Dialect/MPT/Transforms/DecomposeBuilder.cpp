//===- DecomposeBuilder.cpp - Helpers for decompositions --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Rows of about this many elements suit vector reductions.
static constexpr int64_t longestRow = 4096;
/// Shorter rows cost more than they parallelize.
static constexpr int64_t shortestRow = 32;

RankedTensorType DecomposeBuilder::broadcastType(Value a, Value b) {
  ArrayRef<int64_t> lhs = typeOf(a).getShape(), rhs = typeOf(b).getShape();
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t> shape(lhs);
  for (size_t i = 0; i < rhs.size(); ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    if (size == 1)
      size = rhs[rhs.size() - 1 - i];
  }
  return RankedTensorType::get(shape, element);
}

Value DecomposeBuilder::where(Value condition, Value a, Value b) {
  auto type = broadcastType(a, b);
  SmallVector<int64_t> shape(type.getShape());
  // The condition may be the largest of the three.
  ArrayRef<int64_t> mask = typeOf(condition).getShape();
  if (mask.size() > shape.size())
    shape.insert(shape.begin(), mask.size() - shape.size(), 1);
  for (size_t i = 0; i < mask.size(); ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    if (size == 1)
      size = mask[mask.size() - 1 - i];
  }
  return WhereOp::create(builder, loc, RankedTensorType::get(shape, element), condition,
                         a, b);
}

Value DecomposeBuilder::scalar(double value) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
}

Value DecomposeBuilder::integer(Type integerType, int64_t value) {
  auto type = RankedTensorType::get({}, integerType);
  return ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getIntegerAttr(integerType, value)));
}

Value DecomposeBuilder::widen(Value value) {
  if (typeOf(value).getElementType() == element)
    return value;
  return CastOp::create(builder, loc, typeOf(value).clone(element), value);
}

Value DecomposeBuilder::round(Value value, Type type) {
  auto target = mlir::cast<RankedTensorType>(type);
  if (typeOf(value).getElementType() != target.getElementType())
    value =
        CastOp::create(builder, loc, typeOf(value).clone(target.getElementType()), value);
  return reshape(value, target.getShape());
}

Value DecomposeBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

Value DecomposeBuilder::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> axes,
                               bool keepDims) {
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(typeOf(value).getShape())) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      shape.push_back(size);
    else if (keepDims)
      shape.push_back(1);
  }
  return ReduceOp::create(builder, loc, RankedTensorType::get(shape, element), value,
                          ReduceKindAttr::get(builder.getContext(), kind),
                          builder.getDenseI64ArrayAttr(axes),
                          keepDims ? builder.getUnitAttr() : UnitAttr(), TypeAttr());
}

Value DecomposeBuilder::reduceRow(ReduceKind kind, Value value) {
  return reduce(kind, value, {typeOf(value).getRank() - 1}, /*keepDims=*/true);
}

Value DecomposeBuilder::reduceColumns(ReduceKind kind, Value value) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank() - 1));
  if (axes.empty())
    return widen(value);
  return reduce(kind, value, axes, /*keepDims=*/false);
}

Value DecomposeBuilder::reduceAll(ReduceKind kind, Value value) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  if (axes.empty())
    return widen(value);
  return reduce(kind, value, axes, /*keepDims=*/false);
}

Value DecomposeBuilder::asRow(Value statistic) {
  SmallVector<int64_t> shape(typeOf(statistic).getShape());
  shape.push_back(1);
  return reshape(statistic, shape);
}

Value DecomposeBuilder::asRows(Value value) {
  int64_t count = typeOf(value).getNumElements();
  int64_t columns = 1;
  for (int64_t i = 1; i <= longestRow && i <= count; ++i)
    if (count % i == 0)
      columns = i;
  if (columns < shortestRow)
    columns = std::max<int64_t>(count, 1);
  return reshape(value, {count / columns, columns});
}
