//===- Gradients.cpp - Gradient rules of elementwise ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vector-Jacobian products of elementwise ops. Each gradient has its operand's
/// type.
///
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

//===----------------------------------------------------------------------===//
// GradientBuilder
//===----------------------------------------------------------------------===//

Value GradientBuilder::scalar(Value like, double value) {
  Type element = getStatisticType(getTensor(like).getElementType());
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
}

Value GradientBuilder::cast(Value value, RankedTensorType type) {
  auto from = getTensor(value);
  if (from.getElementType() == type.getElementType())
    return value;
  return CastOp::create(builder, loc, from.clone(type.getElementType()), value);
}

Value GradientBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = getTensor(value);
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, type.clone(shape), value);
}

Value GradientBuilder::sumTo(Value gradient, RankedTensorType type) {
  auto from = getTensor(gradient);
  int64_t extra = from.getRank() - type.getRank();
  SmallVector<int64_t> axes;
  Shape kept;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    bool repeated =
        i < extra || (type.getDimSize(i - extra) == 1 && from.getDimSize(i) != 1);
    if (repeated)
      axes.push_back(i);
    else
      kept.push_back(from.getDimSize(i));
  }
  if (!axes.empty())
    gradient = ReduceOp::create(
        builder, loc, RankedTensorType::get(kept, type.getElementType()),
        gradient, ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum),
        builder.getDenseI64ArrayAttr(axes), UnitAttr(), TypeAttr());
  return reshape(cast(gradient, type), type.getShape());
}

Value GradientBuilder::repeat(Value gradient, RankedTensorType x,
                              ArrayRef<int64_t> axes) {
  Shape shape(x.getShape());
  for (int64_t axis : axes)
    shape[axis] = 1;
  Value kept = reshape(gradient, shape);
  return BroadcastOp::create(
      builder, loc, x.clone(getTensor(gradient).getElementType()), kept);
}

Value GradientBuilder::flatten(Value value) {
  auto type = getTensor(value);
  if (type.getRank() == 2)
    return value;
  int64_t rows = 1;
  for (int64_t size : type.getShape().drop_back())
    rows = ShapedType::isDynamic(size) || ShapedType::isDynamic(rows)
               ? ShapedType::kDynamic
               : rows * size;
  return reshape(value, {rows, type.getShape().back()});
}

Value GradientBuilder::matmul(Type type, Value lhs, Value rhs, bool transposeLhs,
                              bool transposeRhs, TypeAttr acc) {
  auto unit = [&](bool set) { return set ? builder.getUnitAttr() : UnitAttr(); };
  return MatmulOp::create(builder, loc, type, lhs, rhs, unit(transposeLhs),
                          unit(transposeRhs), acc);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult NegOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.neg(dy);
  return success();
}

LogicalResult AbsOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.mul(dy, b.make<SignOp>(getX()));
  return success();
}

LogicalResult ExpOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.mul(dy, getY());
  return success();
}

LogicalResult LogOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<DivOp>(dy, getX());
  return success();
}

LogicalResult SqrtOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<DivOp>(b.mul(dy, 0.5), getY());
  return success();
}

LogicalResult RsqrtOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.mul(b.mul(b.mul(dy, getY()), b.mul(getY(), getY())), -0.5);
  return success();
}

LogicalResult ReciprocalOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.neg(b.mul(dy, b.mul(getY(), getY())));
  return success();
}

LogicalResult TanhOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<TanhGradOp>(dy, getY());
  return success();
}

LogicalResult SigmoidOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<SigmoidGradOp>(dy, getY());
  return success();
}

LogicalResult ReluOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<ReluGradOp>(dy, getY());
  return success();
}

LogicalResult SiluOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<SiluGradOp>(dy, getX());
  return success();
}

LogicalResult GeluOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<GeluGradOp>(dy, getX(), getApproximate());
  return success();
}

LogicalResult ErfOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  // erf'(x) = 2 / sqrt(pi) e^(-x^2)
  Value slope = b.make<ExpOp>(b.neg(b.mul(getX(), getX())));
  operandGrads[0] = b.mul(b.mul(dy, slope), 1.1283791670955126);
  return success();
}

LogicalResult SinOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.mul(dy, b.make<CosOp>(getX()));
  return success();
}

LogicalResult CosOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.neg(b.mul(dy, b.make<SinOp>(getX())));
  return success();
}

/// The derivative is zero wherever it exists.
LogicalResult SignOp::buildGradients(OpBuilder &, ValueRange, ArrayRef<bool>,
                                     MutableArrayRef<Value>) {
  return success();
}
LogicalResult FloorOp::buildGradients(OpBuilder &, ValueRange, ArrayRef<bool>,
                                      MutableArrayRef<Value>) {
  return success();
}
LogicalResult StopGradientOp::buildGradients(OpBuilder &, ValueRange,
                                             ArrayRef<bool>,
                                             MutableArrayRef<Value>) {
  return success();
}

LogicalResult BarrierOp::buildGradients(OpBuilder &, ValueRange resultGrads,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> operandGrads) {
  for (auto [i, gradient] : llvm::enumerate(resultGrads))
    if (needed[i])
      operandGrads[i] = gradient;
  return success();
}

LogicalResult AddOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0])
    operandGrads[0] = b.sumTo(dy, lhs);
  if (needed[1])
    operandGrads[1] = b.sumTo(dy, rhs);
  return success();
}

LogicalResult SubOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0])
    operandGrads[0] = b.sumTo(dy, lhs);
  if (needed[1])
    operandGrads[1] = b.sumTo(b.neg(dy), rhs);
  return success();
}

LogicalResult MulOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0])
    operandGrads[0] = b.sumTo(b.mul(dy, getRhs()), lhs);
  if (needed[1])
    operandGrads[1] = b.sumTo(b.mul(dy, getLhs()), rhs);
  return success();
}

LogicalResult DivOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0])
    operandGrads[0] = b.sumTo(b.make<DivOp>(dy, getRhs()), lhs);
  if (needed[1])
    operandGrads[1] = b.sumTo(b.neg(b.make<DivOp>(b.mul(dy, getResult()), getRhs())), rhs);
  return success();
}

/// Ties share the gradient, as in PyTorch.
static Value selectExtreme(GradientBuilder &b, Value dy, Value mine, Value other,
                           ComparePredicate wins) {
  Value zero = b.scalar(dy, 0.0);
  Value won = b.where(b.compare(mine, other, wins), dy, zero);
  return b.where(b.compare(mine, other, ComparePredicate::EQ), b.mul(dy, 0.5),
                 won);
}

LogicalResult MaximumOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0])
    operandGrads[0] = b.sumTo(selectExtreme(b, dy, getLhs(), getRhs(), ComparePredicate::GT), lhs);
  if (needed[1])
    operandGrads[1] = b.sumTo(selectExtreme(b, dy, getRhs(), getLhs(), ComparePredicate::GT), rhs);
  return success();
}

LogicalResult MinimumOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0])
    operandGrads[0] = b.sumTo(selectExtreme(b, dy, getLhs(), getRhs(), ComparePredicate::LT), lhs);
  if (needed[1])
    operandGrads[1] = b.sumTo(selectExtreme(b, dy, getRhs(), getLhs(), ComparePredicate::LT), rhs);
  return success();
}

LogicalResult PowOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  if (needed[0]) {
    Value less = b.make<SubOp>(getRhs(), b.scalar(getRhs(), 1.0));
    Value slope = b.mul(b.make<PowOp>(getLhs(), less), getRhs());
    // To the power 0 all is 1, 0 too, where the formula says 0 * infinity.
    Value zero = b.scalar(dy, 0.0);
    Value isConstant = b.compare(getRhs(), zero, ComparePredicate::EQ);
    operandGrads[0] = b.sumTo(b.mul(dy, b.where(isConstant, zero, slope)), lhs);
  }
  if (needed[1]) {
    // 0 to a power does not change with the power.
    Value zero = b.scalar(dy, 0.0);
    Value slope = b.mul(getResult(), b.make<LogOp>(getLhs()));
    Value isZero = b.compare(getLhs(), zero, ComparePredicate::EQ);
    operandGrads[1] = b.sumTo(b.mul(dy, b.where(isZero, zero, slope)), rhs);
  }
  return success();
}

LogicalResult WhereOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  Value zero = b.scalar(dy, 0.0);
  if (needed[1])
    operandGrads[1] = b.sumTo(b.where(getCondition(), dy, zero),
                              getTensor(getOnTrue()));
  if (needed[2])
    operandGrads[2] = b.sumTo(
        b.where(b.make<NotOp>(getCondition()), dy, zero), getTensor(getOnFalse()));
  return success();
}

LogicalResult DropoutOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  if (!dy)
    return success();
  operandGrads[0] = b.make<DropoutGradOp>(dy, getMask(), getRateAttr());
  return success();
}
