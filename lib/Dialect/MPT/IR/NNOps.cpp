//===- NNOps.cpp - Reductions, norms, pooling, losses -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type = getTensor(adaptor.getX());
  llvm::SmallBitVector reduced(type.getRank());
  for (int64_t axis : adaptor.getAxes()) {
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(location, "expected axes in [0, ", type.getRank(),
                               "), found ", axis);
    if (reduced.test(axis))
      return emitOptionalError(location, "expected distinct axes, found ", axis,
                               " twice");
    reduced.set(axis);
  }
  Shape shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!reduced.test(i))
      shape.push_back(type.getDimSize(i));
    else if (adaptor.getKeepDims())
      shape.push_back(1);
  }
  types.push_back(type.clone(shape));
  return success();
}

LogicalResult ReduceOp::verify() {
  auto checkNotEmpty = [&]() -> LogicalResult {
    if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
      return success();
    ArrayRef<int64_t> shape = getTensor(getX()).getShape();
    for (int64_t axis : getAxes()) // Inference checks their range, but later.
      if (axis >= 0 && axis < static_cast<int64_t>(shape.size()) && shape[axis] == 0)
        return emitOpError("expected at least one element along axis ")
               << axis << " for '" << stringifyReduceKind(getKind()) << "', found "
               << getX().getType();
    return success();
  };
  if (isa<FloatType>(getTensor(getX()).getElementType()))
    return failed(checkNotEmpty()) ? failure()
                                   : checkAccType(*this, getAccType(), getX());
  if (getKind() == ReduceKind::Mean)
    return emitOpError("expected a float operand for 'mean', found ")
           << getX().getType() << "; convert it with mpt.cast";
  if (getTensor(getX()).getElementType().isInteger(1))
    return emitOpError("expected a float or wider integer operand, found ")
           << getX().getType() << "; convert it with mpt.cast";
  return checkNotEmpty();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // Over nothing: the operand, if it is not rounded to another type.
  if (getAxes().empty() && getX().getType() == getY().getType())
    return getX();
  return {};
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Verifiers run before the inferred types are compared, so they cannot rely on
/// what inference checks.
static LogicalResult checkHasRows(Operation *op, Value x) {
  if (getTensor(x).getRank() >= 1)
    return success();
  return op->emitOpError("expected an operand of rank 1 or more, found ") << x.getType();
}

/// Checks that every value has the shape of x's last dimension.
static LogicalResult checkChannels(Operation *op, Value x,
                                   ArrayRef<std::pair<Value, StringRef>> values) {
  if (failed(checkHasRows(op, x)))
    return failure();
  for (auto [value, name] : values)
    if (failed(checkSameShape(op, value, name, getTensor(x).getShape().take_back(),
                              "x's last dimension")))
      return failure();
  return success();
}

/// Checks that every value has the shape of x's rows.
static LogicalResult checkRows(Operation *op, Value x,
                               ArrayRef<std::pair<Value, StringRef>> values) {
  if (failed(checkHasRows(op, x)))
    return failure();
  for (auto [value, name] : values)
    if (failed(checkSameShape(op, value, name, getTensor(x).getShape().drop_back(),
                              "x's rows")))
      return failure();
  return success();
}

static LogicalResult checkEps(Operation *op, llvm::APFloat eps) {
  return checkNotNegative(op, eps, "eps");
}

LogicalResult LayerNormOp::verify() {
  if (failed(checkEps(*this, getEps())))
    return failure();
  return checkChannels(*this, getX(), {{getGamma(), "gamma"}, {getBeta(), "beta"}});
}

LogicalResult LayerNormGradOp::verify() {
  if (failed(checkSameShape(*this, getDy(), "dy", getTensor(getX()).getShape(), "x")) ||
      failed(checkChannels(*this, getX(), {{getGamma(), "gamma"}})))
    return failure();
  return checkRows(*this, getX(), {{getMean(), "mean"}, {getRstd(), "rstd"}});
}

LogicalResult RMSNormOp::verify() {
  if (failed(checkEps(*this, getEps())))
    return failure();
  return checkChannels(*this, getX(), {{getGamma(), "gamma"}});
}

LogicalResult RMSNormGradOp::verify() {
  if (failed(checkSameShape(*this, getDy(), "dy", getTensor(getX()).getShape(), "x")) ||
      failed(checkChannels(*this, getX(), {{getGamma(), "gamma"}})))
    return failure();
  return checkRows(*this, getX(), {{getRstd(), "rstd"}});
}

LogicalResult BatchNormOp::verify() {
  if (failed(checkEps(*this, getEps())) ||
      failed(checkInRange(*this, getMomentum(), "momentum", 0.0, 1.0,
                          /*closed=*/true)))
    return failure();
  return checkChannels(*this, getX(),
                       {{getGamma(), "gamma"},
                        {getBeta(), "beta"},
                        {getRunningMean(), "running_mean"},
                        {getRunningVar(), "running_var"}});
}

LogicalResult BatchNormGradOp::verify() {
  if (failed(checkSameShape(*this, getDy(), "dy", getTensor(getX()).getShape(), "x")))
    return failure();
  return checkChannels(*this, getX(),
                       {{getGamma(), "gamma"}, {getMean(), "mean"}, {getRstd(), "rstd"}});
}

LogicalResult BatchNormInferenceOp::verify() {
  if (failed(checkEps(*this, getEps())))
    return failure();
  return checkChannels(*this, getX(),
                       {{getGamma(), "gamma"},
                        {getBeta(), "beta"},
                        {getMean(), "mean"},
                        {getVar(), "var"}});
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> mpt::detail::inferPool(std::optional<Location> location,
                                                   RankedTensorType x,
                                                   ArrayRef<int64_t> window,
                                                   ArrayRef<int64_t> strides,
                                                   ArrayRef<int64_t> padding) {
  if (x.getRank() != 4)
    return emitOptionalError(location, "expected x [N, H, W, C], found ", x);
  if (window.size() != 2 || strides.size() != 2 || padding.size() != 4)
    return emitOptionalError(location,
                             "expected 2 window sizes, 2 strides and 4 "
                             "paddings, found ",
                             window.size(), ", ", strides.size(), " and ",
                             padding.size());
  Shape shape(x.getShape());
  for (int i = 0; i < 2; ++i) {
    int64_t low = padding[2 * i], high = padding[2 * i + 1];
    if (window[i] < 1 || strides[i] < 1 || low < 0 || high < 0 || low >= window[i] ||
        high >= window[i])
      return emitOptionalError(location,
                               "expected windows and strides of at "
                               "least 1 and paddings smaller than the "
                               "window, found window ",
                               window[i], ", stride ", strides[i], ", padding ", low,
                               " and ", high);
    FailureOr<int64_t> size =
        getWindowedSize(shape[1 + i], window[i], strides[i], low, high);
    if (failed(size))
      return emitOptionalError(location,
                               "expected a window that fits the padded "
                               "size, found window ",
                               window[i], " for size ", shape[1 + i], " with padding ",
                               low, " and ", high);
    shape[1 + i] = *size;
  }
  return x.clone(shape);
}

LogicalResult MaxPoolOp::verify() { return success(); }
LogicalResult AvgPoolOp::verify() { return success(); }

/// Checks that `dy` has the shape of the pool of `x`.
static LogicalResult verifyPoolGrad(Operation *op, Value dy, Value x,
                                    ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> padding) {
  FailureOr<RankedTensorType> type =
      inferPool(op->getLoc(), getTensor(x), window, strides, padding);
  if (failed(type))
    return failure();
  return checkSameShape(op, dy, "dy", type->getShape(), "the pooled x");
}

LogicalResult MaxPoolGradOp::verify() {
  return verifyPoolGrad(*this, getDy(), getX(), getWindow(), getStrides(), getPadding());
}

LogicalResult AvgPoolGradOp::verify() {
  return verifyPoolGrad(*this, getDy(), getDx(), getWindow(), getStrides(), getPadding());
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static LogicalResult checkSmoothing(Operation *op, llvm::APFloat smoothing) {
  return checkInRange(op, smoothing, "label_smoothing", 0.0, 1.0,
                      /*closed=*/true);
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(checkSmoothing(*this, getLabelSmoothing())))
    return failure();
  return checkRows(*this, getLogits(), {{getLabels(), "labels"}});
}

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(checkScalar(*this, getDloss(), "dloss")) ||
      failed(checkSmoothing(*this, getLabelSmoothing())))
    return failure();
  return checkRows(*this, getLogits(),
                   {{getLabels(), "labels"}, {getLogSumExp(), "log_sum_exp"}});
}

LogicalResult MSELossOp::verify() {
  return checkSameShape(*this, getTarget(), "target",
                        getTensor(getPrediction()).getShape(), "the prediction");
}

LogicalResult MSELossGradOp::verify() {
  if (failed(checkScalar(*this, getDloss(), "dloss")))
    return failure();
  return checkSameShape(*this, getTarget(), "target",
                        getTensor(getPrediction()).getShape(), "the prediction");
}
