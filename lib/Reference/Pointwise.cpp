//===- Pointwise.cpp - Ops of one value and randomness ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elementwise ops of one operand, derivatives of activations, dropout.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "mpt/Support/Philox.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

double mpt::reference::sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

static constexpr double kSqrtHalf = 0.70710678118654752440;
static constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
static constexpr double kInvSqrtTwoPi = 0.39894228040143267794;
/// Hendrycks and Gimpel 2016.
static constexpr double kGeluCubic = 0.044715;

double mpt::reference::gelu(double x, GeluApproximation kind) {
  if (kind == GeluApproximation::Erf)
    return x * 0.5 * std::erfc(-x * kSqrtHalf);
  // (1 + tanh u) / 2 = sigmoid(2u), without the cancellation.
  return x * sigmoid(2.0 * kSqrtTwoOverPi * (x + kGeluCubic * x * x * x));
}

double mpt::reference::geluSlope(double x, GeluApproximation kind) {
  if (kind == GeluApproximation::Erf)
    return 0.5 * std::erfc(-x * kSqrtHalf) + x * kInvSqrtTwoPi * std::exp(-0.5 * x * x);
  double s = sigmoid(2.0 * kSqrtTwoOverPi * (x + kGeluCubic * x * x * x));
  double slope = 2.0 * kSqrtTwoOverPi * (1.0 + 3.0 * kGeluCubic * x * x);
  return s + x * s * (1.0 - s) * slope;
}

static double relu(double x) { return x > 0.0 || std::isnan(x) ? x : 0.0; }

double mpt::reference::applyEpilogue(double x, Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::None:
    return x;
  case Epilogue::Relu:
    return relu(x);
  case Epilogue::Gelu:
    return gelu(x, GeluApproximation::Tanh);
  }
  return x;
}

/// y = f(x)
template <typename OpTy>
static void addUnary(OpTable &table, double (*f)(double)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    std::vector<double> y = frame.floats(op.getX());
    for (double &value : y)
      value = f(value);
    frame.set(op.getY(), std::move(y));
    return success();
  });
}

/// dx = f(dy, saved)
template <typename OpTy>
static void addSlope(OpTable &table, double (*f)(double, double)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    std::vector<double> dx = frame.floats(op->getOperand(0));
    const std::vector<double> &saved = frame.floats(op->getOperand(1));
    for (auto [gradient, value] : llvm::zip_equal(dx, saved))
      gradient = f(gradient, value);
    frame.set(op.getDx(), std::move(dx));
    return success();
  });
}

static LogicalResult evaluateGelu(GeluOp op, Frame &frame) {
  std::vector<double> y = frame.floats(op.getX());
  for (double &value : y)
    value = gelu(value, op.getApproximate());
  frame.set(op.getY(), std::move(y));
  return success();
}

static LogicalResult evaluateGeluGrad(GeluGradOp op, Frame &frame) {
  std::vector<double> dx = frame.floats(op.getDy());
  for (auto [gradient, x] : llvm::zip_equal(dx, frame.floats(op.getX())))
    gradient *= geluSlope(x, op.getApproximate());
  frame.set(op.getDx(), std::move(dx));
  return success();
}

static LogicalResult evaluateIsFinite(IsFiniteOp op, Frame &frame) {
  std::vector<int64_t> y;
  for (double x : frame.floats(op.getX()))
    y.push_back(std::isfinite(x));
  frame.set(op.getY(), std::move(y));
  return success();
}

static LogicalResult evaluateNot(NotOp op, Frame &frame) {
  std::vector<int64_t> y = frame.ints(op.getX());
  for (int64_t &value : y)
    value = ~value;
  frame.set(op.getY(), std::move(y));
  return success();
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

std::vector<int64_t> mpt::reference::drawMask(int64_t size, int64_t seed, int64_t attempt,
                                              int64_t stream, double rate) {
  std::vector<int64_t> mask(size);
  uint32_t threshold = dropoutThreshold(rate);
  for (int64_t i = 0; i < size; ++i)
    mask[i] = philoxBlock(seed, static_cast<uint32_t>(stream), attempt, i / 4)[i % 4] >=
              threshold;
  return mask;
}

static LogicalResult evaluateRandomMask(RandomMaskOp op, Frame &frame) {
  frame.set(op.getMask(),
            drawMask(frame.getSize(op.getMask()), frame.ints(op.getSeed())[0],
                     frame.ints(op.getAttempt())[0], op.getStream(),
                     op.getRate().convertToDouble()));
  return success();
}

static LogicalResult evaluateDropout(DropoutOp op, Frame &frame) {
  std::vector<double> y = frame.floats(op.getX());
  double rate = op.getRate().convertToDouble();
  std::vector<int64_t> mask =
      drawMask(static_cast<int64_t>(y.size()), frame.ints(op.getSeed())[0],
               frame.ints(op.getAttempt())[0], op.getStream(), rate);
  for (auto [value, kept] : llvm::zip_equal(y, mask))
    value = kept ? value / (1.0 - rate) : 0.0;
  frame.set(op.getY(), std::move(y));
  frame.set(op.getMask(), std::move(mask));
  return success();
}

static LogicalResult evaluateDropoutGrad(DropoutGradOp op, Frame &frame) {
  std::vector<double> dx = frame.floats(op.getDy());
  double rate = op.getRate().convertToDouble();
  for (auto [value, kept] : llvm::zip_equal(dx, frame.ints(op.getMask())))
    value = kept ? value / (1.0 - rate) : 0.0;
  frame.set(op.getDx(), std::move(dx));
  return success();
}

void mpt::reference::addPointwise(OpTable &table) {
  addUnary<NegOp>(table, [](double x) { return -x; });
  addUnary<AbsOp>(table, [](double x) { return std::abs(x); });
  addUnary<ExpOp>(table, [](double x) { return std::exp(x); });
  addUnary<LogOp>(table, [](double x) { return std::log(x); });
  addUnary<Log1pOp>(table, [](double x) { return std::log1p(x); });
  addUnary<SqrtOp>(table, [](double x) { return std::sqrt(x); });
  addUnary<RsqrtOp>(table, [](double x) { return 1.0 / std::sqrt(x); });
  addUnary<ReciprocalOp>(table, [](double x) { return 1.0 / x; });
  addUnary<TanhOp>(table, [](double x) { return std::tanh(x); });
  addUnary<SigmoidOp>(table, sigmoid);
  addUnary<ErfOp>(table, [](double x) { return std::erf(x); });
  addUnary<SinOp>(table, [](double x) { return std::sin(x); });
  addUnary<CosOp>(table, [](double x) { return std::cos(x); });
  addUnary<ReluOp>(table, relu);
  addUnary<SiluOp>(table, [](double x) { return x * sigmoid(x); });
  addUnary<SoftplusOp>(table, [](double x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  });
  addUnary<SignOp>(
      table, [](double x) { return std::isnan(x) ? x : double(x > 0) - double(x < 0); });
  addUnary<FloorOp>(table, [](double x) { return std::floor(x); });
  addSlope<ReluGradOp>(table, [](double dy, double y) { return y > 0 ? dy : 0.0; });
  addSlope<TanhGradOp>(table, [](double dy, double y) { return dy * (1.0 - y * y); });
  addSlope<SigmoidGradOp>(table, [](double dy, double y) { return dy * y * (1.0 - y); });
  addSlope<SiluGradOp>(table, [](double dy, double x) {
    double s = sigmoid(x);
    return dy * s * (1.0 + x * (1.0 - s));
  });
  table.add<GeluOp>(evaluateGelu);
  table.add<GeluGradOp>(evaluateGeluGrad);
  table.add<IsFiniteOp>(evaluateIsFinite);
  table.add<NotOp>(evaluateNot);
  table.add<RandomMaskOp>(evaluateRandomMask);
  table.add<DropoutOp>(evaluateDropout);
  table.add<DropoutGradOp>(evaluateDropoutGrad);
}
