//===- PointwiseOps.cpp - Elementwise ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/Dialect/CommonFolders.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

FailureOr<Type> mpt::detail::inferArithmeticType(std::optional<Location> location,
                                                 Value lhs, Value rhs) {
  Type left = getTensor(lhs).getElementType();
  Type right = getTensor(rhs).getElementType();
  if (left == right || (isa<FloatType>(left) && isa<FloatType>(right)))
    return left;
  return emitOptionalError(location,
                           "expected two floats or two equal integer types, "
                           "found ",
                           left, " and ", right, "; convert one with mpt.cast");
}

LogicalResult mpt::detail::inferBinary(std::optional<Location> location, Value lhs,
                                       Value rhs, SmallVectorImpl<Type> &types,
                                       bool allowsBool) {
  FailureOr<Shape> shape = inferBroadcast(location, {lhs, rhs});
  FailureOr<Type> type = inferArithmeticType(location, lhs, rhs);
  if (failed(shape) || failed(type))
    return failure();
  if ((*type).isInteger(1) && !allowsBool)
    return emitOptionalError(location,
                             "expected floats or integers of at least "
                             "8 bits, found ",
                             *type,
                             "; use mpt.and, mpt.or, mpt.xor or mpt.not, or convert "
                             "with mpt.cast");
  types.push_back(RankedTensorType::get(*shape, *type));
  return success();
}

LogicalResult mpt::detail::inferBool(std::optional<Location> location,
                                     ValueRange operands, MLIRContext *context,
                                     SmallVectorImpl<Type> &types) {
  FailureOr<Shape> shape = inferBroadcast(location, operands);
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(*shape, IntegerType::get(context, 1)));
  return success();
}

LogicalResult mpt::detail::inferLikeGradient(std::optional<Location> location, Value dy,
                                             Value other, SmallVectorImpl<Type> &types) {
  if (!shapesAgree(getTensor(dy).getShape(), getTensor(other).getShape()))
    return emitOptionalError(location, "expected operands of one shape, found ",
                             dy.getType(), " and ", other.getType());
  types.push_back(dy.getType());
  return success();
}

LogicalResult RandomMaskOp::verify() {
  return checkInRange(*this, getRate(), "rate", 0.0, 1.0);
}
LogicalResult DropoutOp::verify() {
  return checkInRange(*this, getRate(), "rate", 0.0, 1.0);
}
LogicalResult DropoutGradOp::verify() {
  return checkInRange(*this, getRate(), "rate", 0.0, 1.0);
}

//===----------------------------------------------------------------------===//
// Folders. x + 0 is not x for x = -0, so only what holds for every float.
//===----------------------------------------------------------------------===//

/// True if `attribute` is a splat of `value` (of -0.0 if `negativeZero`).
static bool isSplat(Attribute attribute, double value, bool negativeZero = false) {
  auto elements = dyn_cast_or_null<SplatElementsAttr>(attribute);
  if (!elements)
    return false;
  if (auto number = dyn_cast<FloatAttr>(elements.getSplatValue<Attribute>()))
    return number.getValueAsDouble() == value &&
           number.getValue().isNegative() == negativeZero;
  if (auto number = dyn_cast<IntegerAttr>(elements.getSplatValue<Attribute>()))
    return !number.getType().isInteger(1) && number.getInt() == value;
  return false;
}

/// `value` if it can stand for the op's result as it is: it has the result's
/// type, and no size of it is open that another operand may repeat.
static OpFoldResult standIn(Operation *op, Value value) {
  if (value.getType() != op->getResult(0).getType())
    return {};
  auto isSingle = [](int64_t size) { return size == 1; };
  if (!getTensor(value).hasStaticShape())
    for (Value other : op->getOperands())
      if (other != value && !llvm::all_of(getTensor(other).getShape(), isSingle))
        return {};
  return value;
}

/// What integer arithmetic makes of two small constants of the result's type: amounts of
/// shifts and the like, which unrolled loops leave.
template <typename Function>
static OpFoldResult foldIntegers(Operation *op, ArrayRef<Attribute> operands,
                                 Function compute) {
  constexpr int64_t maxElements = 16;
  auto type = getTensor(op->getResult(0));
  if (!isa<IntegerType>(type.getElementType()) || !type.hasStaticShape() ||
      type.getNumElements() > maxElements)
    return {};
  for (Attribute operand : operands) {
    auto elements = dyn_cast_or_null<DenseElementsAttr>(operand);
    if (!elements || elements.getType() != type)
      return {};
  }
  return constFoldBinaryOp<IntegerAttr>(operands, type, compute);
}

OpFoldResult NegOp::fold(FoldAdaptor) {
  auto previous = getX().getDefiningOp<NegOp>();
  bool isExact = previous && previous.getX().getType() == getY().getType() &&
                 previous.getY().getType() == getY().getType();
  return isExact ? OpFoldResult(previous.getX()) : OpFoldResult();
}

OpFoldResult NotOp::fold(FoldAdaptor) {
  auto previous = getX().getDefiningOp<NotOp>();
  return previous && previous.getX().getType() == getY().getType()
             ? OpFoldResult(previous.getX())
             : OpFoldResult();
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  bool isFloat = isa<FloatType>(getTensor(getResult()).getElementType());
  if (isSplat(adaptor.getRhs(), 0.0, isFloat))
    return standIn(*this, getLhs());
  if (isSplat(adaptor.getLhs(), 0.0, isFloat))
    return standIn(*this, getRhs());
  return foldIntegers(*this, adaptor.getOperands(),
                      [](const APInt &a, const APInt &b) { return a + b; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getRhs(), 0.0))
    return standIn(*this, getLhs());
  return foldIntegers(*this, adaptor.getOperands(),
                      [](const APInt &a, const APInt &b) { return a - b; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getRhs(), 1.0))
    return standIn(*this, getLhs());
  if (isSplat(adaptor.getLhs(), 1.0))
    return standIn(*this, getRhs());
  return foldIntegers(*this, adaptor.getOperands(),
                      [](const APInt &a, const APInt &b) { return a * b; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 1.0) ? standIn(*this, getLhs()) : OpFoldResult();
}

/// Whether all elements are integers of which each bit is `bit`.
static bool isBits(Attribute attribute, bool bit) {
  auto elements = dyn_cast_or_null<SplatElementsAttr>(attribute);
  if (!elements || !isa<IntegerType>(elements.getElementType()))
    return false;
  auto number = elements.getSplatValue<APInt>();
  return bit ? number.isAllOnes() : number.isZero();
}

/// A bitwise op of two constants, or the operand that it leaves as it is because each bit
/// of the other is `neutral`.
template <typename Op, typename Function>
static OpFoldResult foldBitwise(Op op, typename Op::FoldAdaptor adaptor, bool neutral,
                                Function compute) {
  if (isBits(adaptor.getRhs(), neutral))
    return standIn(op, op.getLhs());
  if (isBits(adaptor.getLhs(), neutral))
    return standIn(op, op.getRhs());
  return foldIntegers(op, adaptor.getOperands(), compute);
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return standIn(*this, getLhs());
  return foldBitwise(*this, adaptor, true,
                     [](const APInt &a, const APInt &b) { return a & b; });
}
OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return standIn(*this, getLhs());
  return foldBitwise(*this, adaptor, false,
                     [](const APInt &a, const APInt &b) { return a | b; });
}
OpFoldResult XorOp::fold(FoldAdaptor adaptor) {
  return foldBitwise(*this, adaptor, false,
                     [](const APInt &a, const APInt &b) { return a ^ b; });
}

template <typename Op, typename Function>
static OpFoldResult foldShift(Op op, typename Op::FoldAdaptor adaptor, Function compute) {
  if (isBits(adaptor.getRhs(), false))
    return standIn(op, op.getLhs());
  return foldIntegers(op, adaptor.getOperands(), compute);
}

OpFoldResult ShiftLeftOp::fold(FoldAdaptor adaptor) {
  return foldShift(*this, adaptor,
                   [](const APInt &a, const APInt &n) { return a.shl(n); });
}
OpFoldResult ShiftRightLogicalOp::fold(FoldAdaptor adaptor) {
  return foldShift(*this, adaptor,
                   [](const APInt &a, const APInt &n) { return a.lshr(n); });
}
OpFoldResult ShiftRightArithmeticOp::fold(FoldAdaptor adaptor) {
  return foldShift(*this, adaptor,
                   [](const APInt &a, const APInt &n) { return a.ashr(n); });
}

OpFoldResult WhereOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return standIn(*this, getOnTrue());
  auto condition = dyn_cast_or_null<SplatElementsAttr>(adaptor.getCondition());
  if (!condition)
    return {};
  return standIn(*this, condition.getSplatValue<bool>() ? getOnTrue() : getOnFalse());
}
