//===- ShapeOps.cpp - Constants, casts and ops that move elements -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() {
  auto type = getTensor(getResult());
  if (getAxis() < 0 || static_cast<int64_t>(getAxis()) >= type.getRank())
    return emitOpError("expected axis in [0, ")
           << type.getRank() << "), found " << getAxis();
  return success();
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

bool CastOp::areCastCompatible(TypeRange inputs, TypeRange outputs) {
  return inputs.size() == 1 && outputs.size() == 1 &&
         succeeded(verifyCompatibleShape(inputs.front(), outputs.front()));
}

LogicalResult CastOp::verify() {
  return checkSameShape(*this, getY(), "result", getTensor(getX()).getShape(),
                        "the operand");
}

/// True if every value of `from` is a value of `to`.
static bool isExactWidening(Type from, Type to) {
  auto a = dyn_cast<FloatType>(from), b = dyn_cast<FloatType>(to);
  if (!a || !b)
    return false;
  const llvm::fltSemantics &narrow = a.getFloatSemantics();
  const llvm::fltSemantics &wide = b.getFloatSemantics();
  return llvm::APFloat::isRepresentableBy(narrow, wide);
}

/// Folds casts to the operand's own type, and the second of two casts that MPT
/// made if the first changed no value: x -> wide -> x's type is x.
OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  auto previous = getX().getDefiningOp<CastOp>();
  if (!previous || !getAutocast() || !previous.getAutocast())
    return {};
  if (!isExactWidening(getTensor(previous.getX()).getElementType(),
                       getTensor(previous.getY()).getElementType()))
    return {};
  if (previous.getX().getType() == getY().getType())
    return previous.getX();
  getXMutable().assign(previous.getX());
  return getY();
}

//===----------------------------------------------------------------------===//
// Reshape, transpose, broadcast
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = getTensor(getX()), to = getTensor(getY());
  if (from.getElementType() != to.getElementType() &&
      !(isa<FloatType>(from.getElementType()) &&
        isa<FloatType>(to.getElementType())))
    return emitOpError("expected equal element types, found ")
           << from.getElementType() << " and " << to.getElementType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("cannot convert ")
           << from.getElementType() << " to " << to.getElementType()
           << "; use mpt.cast";
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getNumElements() != to.getNumElements())
    return emitOpError("expected a shape of ")
           << from.getNumElements() << " elements, found "
           << shapeToString(to.getShape()) << " with " << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType() && getTensor(getX()).hasStaticShape())
    return getX();
  if (auto previous = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(previous.getX());
    return getY();
  }
  auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX());
  if (elements && getTensor(getY()).hasStaticShape())
    return elements.reshape(getTensor(getY()));
  return {};
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *context,
    std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  auto type = getTensor(adaptor.getX());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  llvm::SmallBitVector seen(type.getRank());
  if (static_cast<int64_t>(permutation.size()) != type.getRank())
    return emitOptionalError(location, "expected a permutation of ",
                             type.getRank(), " dimensions, found ",
                             permutation.size());
  Shape shape;
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= type.getRank() || seen.test(dim))
      return emitOptionalError(location, "expected each dimension once in the "
                                         "permutation, found ", dim,
                               dim < 0 || dim >= type.getRank()
                                   ? " (out of range)" : " twice");
    seen.set(dim);
    shape.push_back(type.getDimSize(dim));
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult TransposeOp::verify() { return success(); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType() &&
      llvm::is_sorted(getPermutation()))
    return getX();
  auto previous = getX().getDefiningOp<TransposeOp>();
  if (!previous || getTensor(previous.getX()).getElementType() !=
                       getTensor(getX()).getElementType())
    return {};
  Shape composed;
  for (int64_t dim : getPermutation())
    composed.push_back(previous.getPermutation()[dim]);
  setPermutation(composed);
  getXMutable().assign(previous.getX());
  return getY();
}

LogicalResult BroadcastOp::verify() {
  auto from = getTensor(getX()), to = getTensor(getY());
  FailureOr<Shape> shape = broadcastShapes(from.getShape(), to.getShape());
  if (failed(shape) || !shapesAgree(*shape, to.getShape()))
    return emitOpError("cannot broadcast ")
           << shapeToString(from.getShape()) << " to "
           << shapeToString(to.getShape())
           << ": expected sizes that are equal or 1, aligned at the last "
              "dimension";
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected equal element types, found ")
           << from.getElementType() << " and " << to.getElementType();
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType() && getTensor(getX()).hasStaticShape())
    return getX();
  auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getX());
  if (splat && getTensor(getY()).hasStaticShape())
    return splat.resizeSplat(getTensor(getY()));
  return {};
}

//===----------------------------------------------------------------------===//
// Slice, concat, pad
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *context,
    std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  auto type = getTensor(adaptor.getX());
  size_t rank = type.getRank();
  if (adaptor.getOffsets().size() != rank || adaptor.getSizes().size() != rank ||
      adaptor.getStrides().size() != rank)
    return emitOptionalError(location, "expected ", rank, " offsets, sizes and "
                             "strides, found ", adaptor.getOffsets().size(), ", ",
                             adaptor.getSizes().size(), " and ",
                             adaptor.getStrides().size());
  for (size_t i = 0; i < rank; ++i) {
    int64_t offset = adaptor.getOffsets()[i], size = adaptor.getSizes()[i],
            stride = adaptor.getStrides()[i], full = type.getDimSize(i);
    int64_t last = size > 0 ? offset + (size - 1) * stride : offset;
    if (offset < 0 || size < 0 || stride < 1 ||
        (!ShapedType::isDynamic(full) && (size > 0 ? last >= full : last > full)))
      return emitOptionalError(location, "the slice leaves dimension ", i,
                               " of size ", full, ": offset ", offset, ", size ",
                               size, ", stride ", stride);
  }
  types.push_back(type.clone(adaptor.getSizes()));
  return success();
}

LogicalResult SliceOp::verify() { return success(); }

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() &&
                 getTensor(getX()).hasStaticShape()
             ? OpFoldResult(getX())
             : OpFoldResult();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context,
    std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "expected at least one operand");
  auto first = getTensor(adaptor.getInputs().front());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(location, "expected axis in [0, ", first.getRank(),
                             "), found ", axis);
  Shape shape(first.getShape());
  int64_t total = 0;
  for (Value input : adaptor.getInputs()) {
    auto type = getTensor(input);
    bool ok = type.getRank() == first.getRank();
    for (int64_t i = 0; ok && i < type.getRank(); ++i) {
      ok = i == axis || sizesAgree(type.getDimSize(i), shape[i]);
      if (ok && ShapedType::isDynamic(shape[i]))
        shape[i] = type.getDimSize(i);
    }
    if (!ok)
      return emitOptionalError(location, "expected operands that differ along "
                                         "axis ", axis, " only, found ", first,
                               " and ", type);
    if (type.isDynamicDim(axis) || ShapedType::isDynamic(total))
      total = ShapedType::kDynamic;
    else
      total += type.getDimSize(axis);
  }
  shape[axis] = total;
  types.push_back(first.clone(shape));
  return success();
}

LogicalResult ConcatOp::verify() { return success(); }

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs().front().getType() == getY().getType())
    return getInputs().front();
  return {};
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *context,
    std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  auto type = getTensor(adaptor.getX());
  size_t rank = type.getRank();
  std::optional<ArrayRef<int64_t>> interior = adaptor.getInterior();
  if (adaptor.getLow().size() != rank || adaptor.getHigh().size() != rank ||
      (interior && interior->size() != rank))
    return emitOptionalError(location, "expected ", rank, " values in 'low', "
                             "'high' and 'interior', found ",
                             adaptor.getLow().size(), ", ",
                             adaptor.getHigh().size(), " and ",
                             interior ? interior->size() : rank);
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    int64_t low = adaptor.getLow()[i], high = adaptor.getHigh()[i];
    int64_t between = interior ? (*interior)[i] : 0, size = type.getDimSize(i);
    if (low < 0 || high < 0 || between < 0)
      return emitOptionalError(location, "expected paddings of at least 0, found ",
                               std::min({low, high, between}));
    shape.push_back(ShapedType::isDynamic(size)
                        ? size
                        : size + low + high + (size > 0 ? (size - 1) * between : 0));
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult PadOp::verify() { return success(); }

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *context,
    std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  auto table = getTensor(adaptor.getTable());
  if (table.getRank() < 1)
    return emitOptionalError(location, "expected a table of rank 1 or more, "
                                       "found ", table);
  Shape shape(getTensor(adaptor.getIndices()).getShape());
  shape.append(table.getShape().drop_front().begin(), table.getShape().end());
  types.push_back(table.clone(shape));
  return success();
}

LogicalResult GatherOp::verify() {
  if (getTensor(getTable()).getElementType() != getTensor(getY()).getElementType())
    return emitOpError("expected a result of the table's element type ")
           << getTensor(getTable()).getElementType() << ", found "
           << getTensor(getY()).getElementType();
  return success();
}

LogicalResult ScatterAddOp::verify() {
  auto table = getTensor(getTable());
  if (table.getRank() < 1)
    return emitOpError("expected a table of rank 1 or more, found ") << table;
  Shape shape(getTensor(getIndices()).getShape());
  shape.append(table.getShape().drop_front().begin(), table.getShape().end());
  return checkSameShape(*this, getUpdates(), "updates", shape,
                        "indices and the table's rows");
}
