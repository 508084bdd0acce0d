//===- ImportBuilder.cpp - Builds mpt ops for importers -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/ImportBuilder.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

ElementsAttr mpt::importer::retype(Attribute elements, RankedTensorType type) {
  auto found = dyn_cast_or_null<ElementsAttr>(elements);
  if (!found || found.getShapedType() == type)
    return found;
  Type from = found.getElementType(), to = type.getElementType();
  if (found.getShapedType().getShape() != type.getShape() || !from.isIntOrFloat() ||
      !to.isIntOrFloat() || from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(found))
    return dense.bitcast(to);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(found))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return {};
}

RankedTensorType ImportBuilder::broadcastType(ValueRange values, Type element) {
  Shape shape;
  for (Value value : values) {
    ArrayRef<int64_t> other = getShape(value);
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    size_t offset = shape.size() - other.size();
    for (auto [i, size] : llvm::enumerate(other)) {
      int64_t &mine = shape[offset + i];
      if (mine == 1)
        mine = size;
      else
        require(size == 1 || size == mine, "operands whose shapes do not broadcast");
    }
  }
  return RankedTensorType::get(shape, element);
}

Value ImportBuilder::constant(double value, Type element, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  if (!type.hasStaticShape()) {
    refuse("a constant tensor of open shape");
    type = RankedTensorType::get({}, element);
  }
  Attribute attribute;
  if (auto real = dyn_cast<FloatType>(element))
    attribute = builder.getFloatAttr(real, value);
  else
    attribute = builder.getIntegerAttr(
        element, element.isInteger(1) ? value != 0 : static_cast<int64_t>(value));
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attribute));
}

Value ImportBuilder::floats(ArrayRef<double> values, Type element,
                            ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  if (element.isF32()) {
    SmallVector<float> rounded(values.begin(), values.end());
    return ConstantOp::create(builder, loc,
                              DenseElementsAttr::get(type, ArrayRef<float>(rounded)));
  }
  SmallVector<Attribute> attributes;
  for (double value : values)
    attributes.push_back(builder.getFloatAttr(element, value));
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attributes));
}

Value ImportBuilder::cast(Value x, Type element) {
  if (getElement(x) == element)
    return x;
  return CastOp::create(builder, loc, getType(x).clone(element), x);
}

Value ImportBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  RankedTensorType type = getType(x);
  if (type.getShape() == shape)
    return x;
  auto result = RankedTensorType::get(shape, type.getElementType());
  if (type.hasStaticShape() && result.hasStaticShape() &&
      type.getNumElements() != result.getNumElements()) {
    refuse("a reshape that changes the number of elements");
    return constant(0, type.getElementType(), shape);
  }
  return ReshapeOp::create(builder, loc, result, x);
}

Value ImportBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return x;
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(getShape(x)[dim]);
  return TransposeOp::create(builder, loc, getType(x).clone(shape), x, permutation);
}

Value ImportBuilder::moveToLast(Value x, int64_t from) {
  Shape permutation;
  for (int64_t dim : llvm::seq<int64_t>(0, getRank(x)))
    if (dim != from)
      permutation.push_back(dim);
  if (getRank(x))
    permutation.push_back(from);
  return transpose(x, permutation);
}

Value ImportBuilder::moveFromLast(Value x, int64_t to) {
  if (getRank(x) == 0)
    return x;
  Shape permutation = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x) - 1));
  permutation.insert(permutation.begin() + to, getRank(x) - 1);
  return transpose(x, permutation);
}

Value ImportBuilder::broadcast(Value x, ArrayRef<int64_t> shape) {
  if (getShape(x) == shape)
    return x;
  size_t rank = getRank(x);
  bool fits = rank <= shape.size();
  for (size_t i = 0; fits && i < rank; ++i) {
    int64_t size = getShape(x)[i];
    fits = size == 1 || size == shape[shape.size() - rank + i];
  }
  if (!require(fits, "a broadcast to a shape that does not fit"))
    return constant(0, getElement(x), shape);
  return BroadcastOp::create(builder, loc, getType(x).clone(shape), x);
}

Value ImportBuilder::slice(Value x, int64_t dim, int64_t begin, int64_t size,
                           int64_t stride) {
  ArrayRef<int64_t> shape = getShape(x);
  if (begin == 0 && size == shape[dim] && stride == 1)
    return x;
  if (!require(!ShapedType::isDynamic(shape[dim]), "a slice of an open dimension") ||
      !require(begin >= 0 && size >= 0 && stride >= 1 &&
                   (size == 0 || begin + (size - 1) * stride < shape[dim]),
               "a slice outside of the tensor"))
    return x;
  Shape offsets(shape.size(), 0), sizes(shape), strides(shape.size(), 1), result(shape);
  for (int64_t &length : sizes)
    if (ShapedType::isDynamic(length))
      length = -1;
  offsets[dim] = begin;
  sizes[dim] = result[dim] = size;
  strides[dim] = stride;
  return SliceOp::create(builder, loc, getType(x).clone(result), x, offsets, sizes,
                         strides);
}

Value ImportBuilder::concat(ArrayRef<Value> inputs, int64_t dim) {
  if (inputs.size() == 1)
    return inputs[0];
  Shape shape(getShape(inputs[0]));
  shape[dim] = 0;
  for (Value input : inputs)
    if (!require(!ShapedType::isDynamic(getShape(input)[dim]),
                 "concatenation along an open dimension"))
      return inputs[0];
    else
      shape[dim] += getShape(input)[dim];
  return ConcatOp::create(builder, loc, getType(inputs[0]).clone(shape), inputs, dim);
}

Value ImportBuilder::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                         double value, ArrayRef<int64_t> interior) {
  Shape shape(getShape(x));
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t between = interior.empty() ? 0 : interior[i];
    int64_t added = low[i] + high[i] + std::max<int64_t>(shape[i] - 1, 0) * between;
    if (added != 0 &&
        !require(!ShapedType::isDynamic(shape[i]), "padding an open dimension"))
      return x;
    if (added != 0)
      shape[i] += added;
  }
  return PadOp::create(
      builder, loc, getType(x).clone(shape), x, builder.getDenseI64ArrayAttr(low),
      builder.getDenseI64ArrayAttr(high),
      interior.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(interior),
      f64(value));
}

Value ImportBuilder::iota(ArrayRef<int64_t> shape, int64_t axis, Type element) {
  auto type = RankedTensorType::get(shape, element);
  if (!require(type.hasStaticShape(), "indices of an open dimension"))
    return constant(0, element);
  return IotaOp::create(builder, loc, type, axis);
}

/// Slices of one element each, the last first.
static Value reverseByElements(ImportBuilder &b, Value x, int64_t dim) {
  SmallVector<Value> parts;
  for (int64_t i = getShape(x)[dim]; i-- > 0;)
    parts.push_back(b.slice(x, dim, i, 1));
  return parts.size() > 1 ? b.concat(parts, dim) : x;
}

Value ImportBuilder::reverse(Value x, int64_t dim) {
  constexpr int64_t most = 1024, mostElements = 32, fewest = 16;
  const Shape shape(getShape(x));
  const int64_t size = shape[dim];
  const bool isStatic = getType(x).hasStaticShape();
  if (!require(isStatic || size <= most,
               "reversing a dimension of more than 1024 elements beside an open one"))
    return x;
  const auto before = ArrayRef(shape).take_front(dim),
             after = ArrayRef(shape).drop_front(dim + 1);
  // Copies move rows faster than single elements.
  if (isStatic && ShapedType::getNumElements(after) < fewest &&
      ShapedType::getNumElements(before) >= fewest) {
    Shape there = {dim}, back;
    for (int64_t i = 0, rank = shape.size(); i < rank; ++i) {
      if (i != dim)
        there.push_back(i);
      back.push_back(i < dim ? i + 1 : i == dim ? 0 : i);
    }
    return transpose(reverse(transpose(x, there), 0), back);
  }
  if (!isStatic || size <= mostElements)
    return reverseByElements(*this, x, dim);
  // Rows of equal length are reversed, each by itself, and their order is; before them
  // comes what is left over.
  const int64_t rows = static_cast<int64_t>(std::sqrt(static_cast<double>(size))),
                length = size / rows, rest = size % rows;
  Shape cut(shape), whole(shape);
  cut[dim] = rows;
  cut.insert(cut.begin() + dim + 1, length);
  whole[dim] = rows * length;
  Value front = rest ? slice(x, dim, 0, rows * length) : x;
  front = reverse(reverse(reshape(front, cut), dim), dim + 1);
  front = reshape(front, whole);
  return rest ? concat({reverse(slice(x, dim, rows * length, rest), dim), front}, dim)
              : front;
}

Value ImportBuilder::abs(Value x) {
  if (isa<FloatType>(getElement(x)))
    return unary<AbsOp>(x);
  return binary<MaximumOp>(x, neg(x));
}

Value ImportBuilder::compare(ComparePredicate predicate, Value a, Value b) {
  return CompareOp::create(builder, loc, broadcastType({a, b}, builder.getI1Type()), a, b,
                           predicate);
}

Value ImportBuilder::where(Value condition, Value a, Value b) {
  // There is no choice between truth values.
  if (getElement(a).isInteger(1))
    return cast(
        where(condition, cast(a, builder.getI8Type()), cast(b, builder.getI8Type())),
        builder.getI1Type());
  return WhereOp::create(builder, loc, broadcastType({condition, a, b}, getElement(a)),
                         condition, a, b);
}

Value ImportBuilder::expm1(Value x) {
  // e^x - 1 = 2 t / (1 - t) with t = tanh(x / 2).
  Value small = compare(ComparePredicate::LT, abs(x), 1.0);
  Value t = unary<TanhOp>(mul(where(small, x, number(x, 0)), 0.5));
  Value near = div(mul(t, 2.0), sub(number(x, 1), t));
  Value far = add(unary<ExpOp>(x), -1.0);
  return where(small, near, far);
}

Value ImportBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes,
                            bool keepDims) {
  if (axes.empty())
    return x;
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(getShape(x))) {
    if (!llvm::is_contained(axes, dim))
      shape.push_back(size);
    else if (keepDims)
      shape.push_back(1);
  }
  return ReduceOp::create(builder, loc, getType(x).clone(shape), x, kind, axes, keepDims,
                          TypeAttr());
}

Value ImportBuilder::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  Shape shape(getShape(a).drop_back(2));
  int64_t rankA = getRank(a), rankB = getRank(b);
  shape.push_back(getShape(a)[rankA - (transposeA ? 1 : 2)]);
  shape.push_back(getShape(b)[rankB - (transposeB ? 2 : 1)]);
  int64_t inner = getShape(a)[rankA - (transposeA ? 2 : 1)];
  require(inner == getShape(b)[rankB - (transposeB ? 1 : 2)],
          "a matmul of matrices that do not fit");
  return MatmulOp::create(builder, loc, getType(a).clone(shape), a, b, transposeA,
                          transposeB, TypeAttr());
}

Value ImportBuilder::linear(Value x, Value weight, Value bias) {
  if (!require(getRank(x) >= 1 && getRank(weight) == 2, "a linear layer of these ranks"))
    return x;
  Shape shape(getShape(x));
  if (shape.back() != getShape(weight)[1]) {
    refuse("a linear layer whose weight does not fit");
    return x;
  }
  shape.back() = getShape(weight)[0];
  Value rows = getRank(x) == 1 ? reshape(x, {1, getShape(x)[0]}) : x;
  Value y;
  if (bias) {
    Shape rowsShape(getShape(rows));
    rowsShape.back() = shape.back();
    y = LinearOp::create(builder, loc, getType(x).clone(rowsShape), rows, weight, bias,
                         Epilogue::None, TypeAttr(), /*transpose_weight=*/true);
  } else {
    y = matmul(rows, weight, false, true);
  }
  return reshape(y, shape);
}

Value ImportBuilder::softmax(Value x, int64_t dim, bool log) {
  if (getRank(x) == 0)
    return log ? sub(x, x) : constant(1, getElement(x));
  Value last = moveToLast(x, dim);
  Value y = log ? unary<LogSoftmaxOp>(last) : unary<SoftmaxOp>(last);
  return moveFromLast(y, dim);
}

Value ImportBuilder::oneHot(Value x, int64_t size) {
  Shape shape(getShape(x));
  shape.push_back(1);
  Value classes = iota({size}, 0, getElement(x));
  return compare(ComparePredicate::EQ, reshape(x, shape), classes);
}

Value ImportBuilder::gather(Value table, Value indices) {
  Shape shape(getShape(indices));
  llvm::append_range(shape, getShape(table).drop_front());
  Type element = getElement(indices);
  if (!element.isInteger(32) && !element.isInteger(64))
    indices = cast(indices, builder.getI64Type());
  return GatherOp::create(builder, loc, getType(table).clone(shape), table, indices);
}

Value ImportBuilder::wrap(Value indices, int64_t size) {
  return where(compare(ComparePredicate::LT, indices, 0.0),
               add(indices, static_cast<double>(size)), indices);
}
