//===- ShapeOps.cpp - Constants, casts and ops that move elements -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() {
  auto type = getTensor(getResult());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOpError("expected axis in [0, ") << type.getRank() << "), found " << axis;
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  if (!integer || type.isDynamicDim(axis))
    return success();
  unsigned bits = integer.getWidth() == 1 ? 1 : integer.getWidth() - 1;
  if (bits < 63 && type.getDimSize(axis) > (int64_t(1) << bits))
    return emitOpError("expected an element type that holds indices up to ")
           << type.getDimSize(axis) - 1 << ", found " << integer;
  return success();
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

bool CastOp::areCastCompatible(TypeRange inputs, TypeRange outputs) {
  // That shapes agree is checked by the verifier, which says what it expected.
  return inputs.size() == 1 && outputs.size() == 1 &&
         isa<RankedTensorType>(inputs.front()) && isa<RankedTensorType>(outputs.front());
}

LogicalResult CastOp::verify() {
  return checkSameShape(*this, getY(), "result", getTensor(getX()).getShape(),
                        "the operand");
}

LogicalResult BitcastOp::verify() {
  Type from = getTensor(getX()).getElementType(), to = getTensor(getY()).getElementType();
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError("expected a result with elements of the operand's ")
           << from.getIntOrFloatBitWidth() << " bits, found " << to
           << "; mpt.cast converts values";
  return checkSameShape(*this, getY(), "result", getTensor(getX()).getShape(),
                        "the operand");
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() ? OpFoldResult(getX()) : OpFoldResult();
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

/// Checks an op that moves elements without converting them.
static LogicalResult checkSameElementType(Operation *op, RankedTensorType from,
                                          RankedTensorType to) {
  if (from.getElementType() == to.getElementType())
    return success();
  return op->emitOpError("expected a result of the operand's element type ")
         << from.getElementType() << ", found " << to.getElementType()
         << "; convert with mpt.cast";
}

/// `attribute`, a constant operand, as the result of an op that only moves or
/// repeats its elements; null unless all are equal and there are any.
static OpFoldResult foldSplat(Attribute attribute, RankedTensorType type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(attribute);
  if (!splat || splat.getElementType() != type.getElementType())
    return {};
  std::optional<int64_t> count = countElements(type.getShape());
  return count && *count > 0 ? OpFoldResult(splat.resizeSplat(type)) : OpFoldResult();
}

LogicalResult ReshapeOp::verify() {
  auto from = getTensor(getX()), to = getTensor(getY());
  if (failed(checkSameElementType(*this, from, to)))
    return failure();
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return success();
  std::optional<int64_t> expected = countElements(from.getShape());
  std::optional<int64_t> found = countElements(to.getShape());
  if (!expected || !found)
    return emitOpError("expected fewer than 2^63 elements, found ")
           << shapeToString((expected ? to : from).getShape());
  if (*expected != *found)
    return emitOpError("expected a shape of ")
           << *expected << " elements, found " << shapeToString(to.getShape()) << " with "
           << *found;
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
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto type = getTensor(adaptor.getX());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  llvm::SmallBitVector seen(type.getRank());
  if (static_cast<int64_t>(permutation.size()) != type.getRank())
    return emitOptionalError(location, "expected a permutation of ", type.getRank(),
                             " dimensions, found ", permutation.size());
  Shape shape;
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= type.getRank() || seen.test(dim))
      return emitOptionalError(
          location,
          "expected each dimension once in the "
          "permutation, found ",
          dim, dim < 0 || dim >= type.getRank() ? " (out of range)" : " twice");
    seen.set(dim);
    shape.push_back(type.getDimSize(dim));
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult TransposeOp::verify() { return success(); }

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType() && llvm::is_sorted(getPermutation()))
    return getX();
  if (OpFoldResult constant = foldSplat(adaptor.getX(), getTensor(getY())))
    return constant;
  auto previous = getX().getDefiningOp<TransposeOp>();
  if (!previous ||
      getTensor(previous.getX()).getElementType() != getTensor(getX()).getElementType())
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
    return emitOpError("expected sizes that are equal to the result's or 1, "
                       "aligned at the last dimension, found ")
           << shapeToString(from.getShape()) << " for the result "
           << shapeToString(to.getShape());
  return checkSameElementType(*this, from, to);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType() && getTensor(getX()).hasStaticShape())
    return getX();
  if (auto previous = getX().getDefiningOp<BroadcastOp>()) {
    getXMutable().assign(previous.getX());
    return getY();
  }
  return foldSplat(adaptor.getX(), getTensor(getY()));
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
    return emitOptionalError(location, "expected ", rank,
                             " offsets, sizes and "
                             "strides, found ",
                             adaptor.getOffsets().size(), ", ", adaptor.getSizes().size(),
                             " and ", adaptor.getStrides().size());
  Shape shape(adaptor.getSizes());
  for (size_t i = 0; i < rank; ++i) {
    int64_t offset = adaptor.getOffsets()[i], size = adaptor.getSizes()[i],
            stride = adaptor.getStrides()[i], full = type.getDimSize(i);
    if (size == -1 && offset == 0 && stride == 1) {
      shape[i] = full;
      continue;
    }
    // The end of the box, or no value if it is beyond int64_t.
    std::optional<int64_t> end = offset;
    if (size > 0) {
      end = llvm::checkedMulAdd(size - 1, stride, offset);
      if (end)
        end = llvm::checkedAdd<int64_t>(*end, 1);
    }
    if (offset < 0 || size < 0 || stride < 1 || !end ||
        (!ShapedType::isDynamic(full) && *end > full))
      return emitOptionalError(location, "expected a slice within dimension ", i, " of ",
                               shapeToString(type.getShape()), ", found offset ", offset,
                               ", size ", size, ", stride ", stride);
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult SliceOp::verify() { return success(); }

/// Elements of a constant. Few only: a constant that is read in parts would be stored
/// twice.
static OpFoldResult foldSlice(SliceOp op, Attribute x) {
  constexpr int64_t maxElements = 16;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(x);
  RankedTensorType from = getTensor(op.getX()), to = getTensor(op.getY());
  if (!elements || !to.hasStaticShape() || to.getNumElements() > maxElements ||
      from.getElementType() != to.getElementType() || elements.getType() != from)
    return {};
  SmallVector<int64_t> fromStrides = computeStrides(from.getShape()),
                       toStrides = computeStrides(to.getShape());
  SmallVector<Attribute> kept;
  auto all = elements.getValues<Attribute>();
  for (int64_t position : llvm::seq(to.getNumElements())) {
    int64_t index = 0;
    for (auto [dim, at] : llvm::enumerate(delinearize(position, toStrides)))
      index += (op.getOffsets()[dim] + at * op.getStrides()[dim]) * fromStrides[dim];
    kept.push_back(all[index]);
  }
  return DenseElementsAttr::get(to, kept);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType() && getTensor(getX()).hasStaticShape())
    return getX();
  if (OpFoldResult splat = foldSplat(adaptor.getX(), getTensor(getY())))
    return splat;
  return foldSlice(*this, adaptor.getX());
}

/// Whether a reshape to `type` says which sizes the result has.
static bool hasOneOpenSize(RankedTensorType type) {
  return type.getNumDynamicDims() <= 1;
}

/// A slice of a transpose reads what is transposed, if the transpose of the slice only
/// moves dimensions of size 1.
static LogicalResult sliceTransposed(SliceOp op, PatternRewriter &rewriter) {
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  if (!transpose)
    return failure();
  auto type = getTensor(op.getY()), source = getTensor(transpose.getX());
  if (!hasOneOpenSize(type) || type.getElementType() != source.getElementType())
    return failure();
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  SmallVector<int64_t> inverse(permutation.size());
  int64_t last = -1;
  for (auto [i, dim, size] : llvm::enumerate(permutation, type.getShape())) {
    inverse[dim] = i;
    if (size == 1)
      continue;
    if (dim < last)
      return failure();
    last = dim;
  }
  auto slice = SliceOp::create(
      rewriter, op.getLoc(), type.clone(applyPermutation(type.getShape(), inverse)),
      transpose.getX(), applyPermutation(op.getOffsets(), inverse),
      applyPermutation(op.getSizes(), inverse),
      applyPermutation(op.getStrides(), inverse));
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, slice);
  return success();
}

/// The last slice of what a scan stacks is carried out of it, if each iteration carries
/// what it stacks.
static LogicalResult sliceLastOfScan(SliceOp op, PatternRewriter &rewriter) {
  auto scan = op.getX().getDefiningOp<ScanOp>();
  YieldOp yield = scan ? scan.getYield() : YieldOp();
  if (!yield)
    return failure();
  const unsigned number = cast<OpResult>(op.getX()).getResultNumber();
  auto type = getTensor(op.getY());
  if (number < scan.getNumCarried() || !hasOneOpenSize(type) ||
      op.getOffsets().front() != scan.getIndex(scan.getTripCount() - 1) ||
      op.getSizes().front() != 1 ||
      type.getShape().drop_front() != getTensor(op.getX()).getShape().drop_front())
    return failure();
  ValueRange carried = yield.getOperands().take_front(scan.getNumCarried());
  auto found = llvm::find(carried, yield.getOperand(number));
  if (found == carried.end())
    return failure();
  Value result = scan.getResult(found - carried.begin());
  if (getTensor(result).getElementType() != type.getElementType())
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, result);
  return success();
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add(sliceTransposed);
  patterns.add(sliceLastOfScan);
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "expected at least one operand, found none");
  auto first = getTensor(adaptor.getInputs().front());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(location, "expected axis in [0, ", first.getRank(),
                             "), found ", axis);
  Shape shape(first.getShape());
  std::optional<int64_t> total = 0;
  bool isOpen = false;
  for (Value input : adaptor.getInputs()) {
    auto type = getTensor(input);
    bool ok = type.getRank() == first.getRank();
    for (int64_t i = 0; ok && i < type.getRank(); ++i) {
      ok = i == axis || sizesAgree(type.getDimSize(i), shape[i]);
      if (ok && ShapedType::isDynamic(shape[i]))
        shape[i] = type.getDimSize(i);
    }
    if (!ok)
      return emitOptionalError(location,
                               "expected operands that differ along "
                               "axis ",
                               axis, " only, found ", first, " and ", type);
    Type left = first.getElementType(), right = type.getElementType();
    if (left != right && !(isa<FloatType>(left) && isa<FloatType>(right)))
      return emitOptionalError(location,
                               "expected operands of one integer type or "
                               "of floats, found ",
                               first, " and ", type);
    isOpen |= type.isDynamicDim(axis);
    if (total && !isOpen)
      total = llvm::checkedAdd(*total, type.getDimSize(axis));
  }
  if (!total)
    return emitOptionalError(location,
                             "expected a sum of sizes below 2^63 along "
                             "axis ",
                             axis, ", found more");
  shape[axis] = isOpen ? ShapedType::kDynamic : *total;
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
    return emitOptionalError(location, "expected ", rank,
                             " values in 'low', "
                             "'high' and 'interior', found ",
                             adaptor.getLow().size(), ", ", adaptor.getHigh().size(),
                             " and ", interior ? interior->size() : rank);
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    int64_t low = adaptor.getLow()[i], high = adaptor.getHigh()[i];
    int64_t between = interior ? (*interior)[i] : 0, size = type.getDimSize(i);
    if (low < 0 || high < 0 || between < 0)
      return emitOptionalError(location, "expected paddings of at least 0, found ",
                               std::min({low, high, between}));
    if (!ShapedType::isDynamic(size)) {
      std::optional<int64_t> padded = llvm::checkedAdd(low, high);
      if (padded && size > 0)
        padded = llvm::checkedMulAdd(size - 1, between, *padded);
      if (padded)
        padded = llvm::checkedAdd(*padded, size);
      if (!padded)
        return emitOptionalError(location,
                                 "expected a padded size below 2^63 of "
                                 "dimension ",
                                 i, " of ", shapeToString(type.getShape()),
                                 ", found low ", low, ", high ", high, ", interior ",
                                 between);
      size = *padded;
    }
    shape.push_back(size);
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult PadOp::verify() {
  auto integer = dyn_cast<IntegerType>(getTensor(getY()).getElementType());
  if (!integer)
    return success();
  // i1 counts as 0 or 1, wider integers are signed.
  bool isBool = integer.getWidth() == 1;
  llvm::APSInt value(integer.getWidth(), /*isUnsigned=*/isBool);
  bool isExact = false;
  getValue().convertToInteger(value, llvm::APFloat::rmTowardZero, &isExact);
  // -0.0 converts to 0, which is what it is padded with.
  if (isExact || getValue().isZero())
    return success();
  return emitOpError("expected 'value' to be a value of the element type ")
         << integer << ", found " << numberToString(getValue().convertToDouble());
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  bool isIdentity = llvm::all_of(getLow(), isZero) && llvm::all_of(getHigh(), isZero) &&
                    (!getInterior() || llvm::all_of(*getInterior(), isZero));
  return isIdentity && getX().getType() == getY().getType() ? OpFoldResult(getX())
                                                            : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  if (getTensor(getTable()).getElementType() != getTensor(getY()).getElementType())
    return emitOpError("expected a result of the table's element type ")
           << getTensor(getTable()).getElementType() << ", found "
           << getTensor(getY()).getElementType() << "; convert with mpt.cast";
  return success();
}

LogicalResult CheckIndicesOp::verify() {
  return checkAtLeast(*this, getSize(), "size", 0);
}

template <typename Op>
static LogicalResult verifyScatter(Op op) {
  auto table = getTensor(op.getTable());
  if (table.getRank() < 1)
    return op.emitOpError("expected a table of rank 1 or more, found ") << table;
  if (op.getInit() && op.getInit().getType() != table)
    return op.emitOpError("expected 'init' of the table's type ")
           << table << ", found " << op.getInit().getType();
  Shape shape(getTensor(op.getIndices()).getShape());
  shape.append(table.getShape().drop_front().begin(), table.getShape().end());
  return checkSameShape(op, op.getUpdates(), "updates", shape,
                        "indices and the table's rows");
}

LogicalResult ScatterAddOp::verify() { return verifyScatter(*this); }

LogicalResult ScatterReduceOp::verify() {
  if (getKind() == ReduceKind::Sum || getKind() == ReduceKind::Mean)
    return emitOpError("expected a kind of max, min or prod, found ")
           << stringifyReduceKind(getKind()) << "; mpt.scatter_add sums";
  Type element = getTensor(getTable()).getElementType();
  if (getTensor(getUpdates()).getElementType() != element)
    return emitOpError("expected updates of the table's element type ")
           << element << ", found " << getTensor(getUpdates()).getElementType()
           << "; convert with mpt.cast";
  return verifyScatter(*this);
}
