//===- GradientsNN.cpp - Gradient rules of networks -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vector-Jacobian products of reductions, norms, pooling and losses.
///
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult ReduceOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto type = getTensor(getX());
  Value spread = b.repeat(dy, type, getAxes());
  switch (getKind()) {
  case ReduceKind::Sum:
    break;
  case ReduceKind::Mean: {
    int64_t count = 1;
    for (int64_t axis : getAxes()) {
      if (type.isDynamicDim(axis))
        return emitOpError("has a gradient of 'mean' over static sizes only; run "
                           "--mpt-specialize first");
      count *= type.getDimSize(axis);
    }
    spread = b.mul(spread, 1.0 / static_cast<double>(count));
    break;
  }
  case ReduceKind::Max:
  case ReduceKind::Min: {
    // Equal elements share the gradient, as torch.amax.
    Value hit = b.compare(getX(), b.repeat(getY(), type, getAxes()),
                          ComparePredicate::EQ);
    auto counts = getTensor(dy).clone(getStatisticType(type.getElementType()));
    Value ones = b.where(hit, b.scalar(dy, 1.0), b.scalar(dy, 0.0));
    Value count = b.make<ReduceOp>(
        counts, ones, ReduceKindAttr::get(getContext(), ReduceKind::Sum),
        getAxesAttr(), getKeepDimsAttr(), TypeAttr());
    Value share = b.make<DivOp>(spread, b.repeat(count, type, getAxes()));
    spread = b.where(hit, share, b.scalar(dy, 0.0));
    break;
  }
  case ReduceKind::Prod: {
    // The product of the others: without zeros, that of all over the element.
    // A single zero alone has a slope; beside it, and with two, there is none.
    Value zero = b.scalar(getX(), 0.0), one = b.scalar(getX(), 1.0);
    Value isZero = b.compare(getX(), zero, ComparePredicate::EQ);
    Value nonZero = b.where(isZero, one, getX());
    auto reduce = [&](Value value, ReduceKind kind) {
      auto wide = getTensor(getY()).clone(getStatisticType(type.getElementType()));
      Value y = b.make<ReduceOp>(wide, value, ReduceKindAttr::get(getContext(), kind),
                                 getAxesAttr(), getKeepDimsAttr(), TypeAttr());
      return b.repeat(y, type, getAxes());
    };
    Value zeros = reduce(b.where(isZero, one, zero), ReduceKind::Sum);
    Value product = reduce(nonZero, ReduceKind::Prod);
    Value ofZero = b.where(b.compare(zeros, one, ComparePredicate::EQ), product, zero);
    Value ofOthers = b.where(b.compare(zeros, zero, ComparePredicate::EQ),
                             b.make<DivOp>(product, nonZero), zero);
    spread = b.mul(spread, b.where(isZero, ofZero, ofOthers));
    break;
  }
  }
  operandGrads[0] = b.cast(spread, type);
  return success();
}

LogicalResult SoftmaxOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<SoftmaxGradOp>(dy, getY());
  return success();
}

LogicalResult LogSoftmaxOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<LogSoftmaxGradOp>(dy, getY());
  return success();
}

LogicalResult LayerNormOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  for (Value statistic : resultGrads.drop_front())
    if (statistic)
      return emitOpError("has a gradient rule for its first result only");
  auto grad = LayerNormGradOp::create(builder, getLoc(), dy, getX(), getGamma(), getMean(),
                                     getRstd());
  for (int i = 0; i < 3; ++i)
    operandGrads[i] = grad->getResult(i);
  return success();
}

LogicalResult RMSNormOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  for (Value statistic : resultGrads.drop_front())
    if (statistic)
      return emitOpError("has a gradient rule for its first result only");
  auto grad = RMSNormGradOp::create(builder, getLoc(), dy, getX(), getGamma(), getRstd());
  for (int i = 0; i < 2; ++i)
    operandGrads[i] = grad->getResult(i);
  return success();
}

LogicalResult BatchNormOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  for (Value statistic : resultGrads.drop_front())
    if (statistic)
      return emitOpError("has a gradient rule for its first result only");
  auto grad = BatchNormGradOp::create(builder, getLoc(), dy, getX(), getGamma(), getMean(),
                                     getRstd());
  for (int i = 0; i < 3; ++i)
    operandGrads[i] = grad->getResult(i);
  return success();
}

LogicalResult BatchNormInferenceOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  Value eps = b.scalar(getVar(), getEps().convertToDouble());
  Value rstd = b.make<RsqrtOp>(b.make<AddOp>(getVar(), eps));
  if (needed[3] || needed[4])
    return emitOpError("has no gradient rule for its statistics; pass them "
                       "through mpt.stop_gradient");
  if (needed[0])
    operandGrads[0] = b.cast(b.mul(dy, b.mul(getGamma(), rstd)), getTensor(getX()));
  if (needed[1]) {
    Value normal = b.mul(b.make<SubOp>(getX(), getMean()), rstd);
    operandGrads[1] = b.sumTo(b.mul(dy, normal), getTensor(getGamma()));
  }
  if (needed[2])
    operandGrads[2] = b.sumTo(dy, getTensor(getBeta()));
  return success();
}

LogicalResult MaxPoolOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<MaxPoolGradOp>(dy, getX(), getWindow(), getStrides(),
                                          getPadding());
  return success();
}

LogicalResult AvgPoolOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  operandGrads[0] = b.make<AvgPoolGradOp>(getX().getType(), dy, getWindowAttr(),
                                          getStridesAttr(), getPaddingAttr(),
                                          getCountIncludePadAttr());
  return success();
}

LogicalResult CrossEntropyOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  if (resultGrads[1])
    return emitOpError("has no gradient rule for its result log_sum_exp");
  if (!dy)
    return success();
  operandGrads[0] = b.make<CrossEntropyGradOp>(
      getLogits().getType(), dy, getLogits(), getLabels(), getLogSumExp(),
      getReductionAttr(), getLabelSmoothingAttr(), getIgnoreIndexAttr());
  return success();
}

LogicalResult MSELossOp::buildGradients(OpBuilder &builder,
    ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGrads) {
  GradientBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  auto make = [&](Value of, Value other) -> Value {
    return b.make<MSELossGradOp>(of.getType(), dy, of, other, getReductionAttr());
  };
  if (needed[0])
    operandGrads[0] = make(getPrediction(), getTarget());
  if (needed[1])
    operandGrads[1] = make(getTarget(), getPrediction());
  return success();
}

