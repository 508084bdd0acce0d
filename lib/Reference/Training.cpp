//===- Training.cpp - Loss scale, clipping and optimizers -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

static bool areFinite(const std::vector<double> &values) {
  return llvm::all_of(values, [](double x) { return std::isfinite(x); });
}

//===----------------------------------------------------------------------===//
// Loss scale
//===----------------------------------------------------------------------===//

static LogicalResult evaluateGradSeed(GradSeedOp op, Frame &frame) {
  frame.set(op.getSeed(), std::vector<double>(frame.getSize(op.getSeed()), 1.0));
  return success();
}

static LogicalResult evaluateScaleLoss(ScaleLossOp op, Frame &frame) {
  std::vector<double> scaled = frame.floats(op.getLoss());
  for (double &value : scaled)
    value *= frame.floats(op.getScale())[0];
  frame.set(op.getScaled(), std::move(scaled));
  return success();
}

static LogicalResult evaluateUnscale(UnscaleOp op, Frame &frame) {
  double reciprocal = frame.round(1.0 / frame.floats(op.getScale())[0], op.getScale());
  bool finite = true;
  for (auto [gradient, unscaled] : llvm::zip_equal(op.getGradients(), op.getUnscaled())) {
    std::vector<double> values = frame.floats(gradient);
    for (double &value : values)
      value = frame.round(value * reciprocal, unscaled);
    finite &= areFinite(values);
    frame.set(unscaled, std::move(values));
  }
  frame.set(op.getAllFinite(), std::vector<int64_t>{finite});
  return success();
}

static LogicalResult evaluateAllFinite(AllFiniteOp op, Frame &frame) {
  bool finite = llvm::all_of(op.getInputs(),
                             [&](Value input) { return areFinite(frame.floats(input)); });
  frame.set(op.getFinite(), std::vector<int64_t>{finite});
  return success();
}

static LogicalResult evaluateUpdateLossScale(UpdateLossScaleOp op, Frame &frame) {
  double scale = frame.floats(op.getScale())[0];
  // An f64 product that is rounded once, as GradScaler's.
  auto type =
      cast<FloatType>(cast<ShapedType>(op.getNewScale().getType()).getElementType());
  int64_t tracker = frame.ints(op.getTracker())[0];
  if (!frame.ints(op.getAllFinite())[0]) {
    scale = roundToType(scale * op.getBackoffFactor().convertToDouble(), type);
    tracker = 0;
  } else if (++tracker == static_cast<int64_t>(op.getGrowthInterval())) {
    double grown = roundToType(scale * op.getGrowthFactor().convertToDouble(), type);
    if (std::isfinite(grown))
      scale = grown;
    tracker = 0;
  }
  frame.set(op.getNewScale(), std::vector<double>{scale});
  frame.set(op.getNewTracker(), std::vector<int64_t>{tracker});
  return success();
}

static LogicalResult evaluateClip(ClipByGlobalNormOp op, Frame &frame) {
  double squares = 0.0;
  for (Value gradient : op.getGradients())
    for (double value : frame.floats(gradient))
      squares += value * value;
  double norm = std::sqrt(squares);
  double factor = op.getMaxNorm().convertToDouble() / (norm + 1e-6);
  // A NaN stays one, as in torch.clamp.
  if (factor > 1.0)
    factor = 1.0;
  for (auto [gradient, clipped] : llvm::zip_equal(op.getGradients(), op.getClipped())) {
    std::vector<double> values = frame.floats(gradient);
    for (double &value : values)
      value *= factor;
    frame.set(clipped, std::move(values));
  }
  frame.set(op.getNorm(), std::vector<double>{norm});
  return success();
}

static LogicalResult evaluateSelectState(SelectStateOp op, Frame &frame) {
  bool taken = frame.ints(op.getPredicate())[0];
  Tensor chosen = frame.get(taken ? op.getUpdated() : op.getOld());
  frame.set(op.getResult(), std::move(chosen));
  return success();
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

static bool isTaken(Value predicate, Frame &frame) {
  return !predicate || frame.ints(predicate)[0];
}

static LogicalResult evaluateSGD(SGDOp op, Frame &frame) {
  std::vector<double> p = frame.floats(op.getParam());
  std::vector<double> buffer;
  if (op.getMomentumBuffer())
    buffer = frame.floats(op.getMomentumBuffer());
  if (isTaken(op.getPredicate(), frame)) {
    const std::vector<double> &gradient = frame.floats(op.getGradient());
    double lr = frame.floats(op.getLr())[0];
    double momentum = op.getMomentum().convertToDouble();
    double dampening = op.getDampening().convertToDouble();
    for (size_t i = 0; i < p.size(); ++i) {
      double g = gradient[i] + op.getWeightDecay().convertToDouble() * p[i];
      if (op.getMomentumBuffer()) {
        buffer[i] = momentum * buffer[i] + (1.0 - dampening) * g;
        g = op.getNesterov() ? g + momentum * buffer[i] : buffer[i];
      }
      p[i] -= lr * g;
    }
  }
  frame.set(op.getNewParam(), std::move(p));
  if (op.getNewMomentumBuffer())
    frame.set(op.getNewMomentumBuffer(), std::move(buffer));
  return success();
}

template <typename OpTy>
static LogicalResult evaluateAdam(OpTy op, Frame &frame) {
  std::vector<double> p = frame.floats(op.getParam());
  std::vector<double> m = frame.floats(op.getExpAvg());
  std::vector<double> v = frame.floats(op.getExpAvgSq());
  if (isTaken(op.getPredicate(), frame)) {
    const std::vector<double> &gradient = frame.floats(op.getGradient());
    double lr = frame.floats(op.getLr())[0];
    double step = static_cast<double>(frame.ints(op.getStep())[0]);
    double beta1 = op.getBeta1().convertToDouble();
    double beta2 = op.getBeta2().convertToDouble();
    double eps = op.getEps().convertToDouble();
    double decay = op.getWeightDecay().convertToDouble();
    double correction1 = 1.0 - std::pow(beta1, step);
    double correction2 = 1.0 - std::pow(beta2, step);
    for (size_t i = 0; i < p.size(); ++i) {
      double g = gradient[i];
      if (std::is_same_v<OpTy, AdamWOp>)
        p[i] *= 1.0 - lr * decay;
      else
        g += decay * p[i];
      m[i] = beta1 * m[i] + (1.0 - beta1) * g;
      v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
      p[i] -= lr / correction1 * m[i] / (std::sqrt(v[i]) / std::sqrt(correction2) + eps);
    }
  }
  frame.set(op.getNewParam(), std::move(p));
  frame.set(op.getNewExpAvg(), std::move(m));
  frame.set(op.getNewExpAvgSq(), std::move(v));
  return success();
}

void mpt::reference::addTraining(OpTable &table) {
  table.add<GradSeedOp>(evaluateGradSeed);
  table.add<ScaleLossOp>(evaluateScaleLoss);
  table.add<UnscaleOp>(evaluateUnscale);
  table.add<AllFiniteOp>(evaluateAllFinite);
  table.add<UpdateLossScaleOp>(evaluateUpdateLossScale);
  table.add<ClipByGlobalNormOp>(evaluateClip);
  table.add<SelectStateOp>(evaluateSelectState);
  table.add<SGDOp>(evaluateSGD);
  table.add<AdamOp>(evaluateAdam<AdamOp>);
  table.add<AdamWOp>(evaluateAdam<AdamWOp>);
}
