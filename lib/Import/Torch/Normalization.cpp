//===- Normalization.cpp - Torch's normalizations -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

/// Scale or shift: an operand, or ones and zeros of `shape` if there is no operand.
static Value affine(Lowering &l, unsigned index, double value, ArrayRef<int64_t> shape,
                    Type element) {
  return l.isNone(index) ? l.constant(value, element, shape) : l.get(index);
}

/// Normalizes the last dimension.
static LayerNormOp normalize(Lowering &l, Value x, Value gamma, Value beta, double eps) {
  Type sums = getElement(x).isF64() ? getElement(x) : l.builder.getF32Type();
  auto statistics = RankedTensorType::get(getShape(x).drop_back(), sums);
  return LayerNormOp::create(l.builder, l.loc, x.getType(), statistics, statistics, x,
                             gamma, beta, l.f64(eps));
}

/// x with its last dimensions, those of `normalized`, as one.
static Value joinLast(Lowering &l, Value x, ArrayRef<int64_t> normalized,
                      int64_t &count) {
  count = 1;
  for (int64_t size : normalized)
    count *= size;
  if (!l.require(static_cast<int64_t>(normalized.size()) <= getRank(x) && count > 0 &&
                     getShape(x).take_back(normalized.size()) == normalized,
                 "a normalized shape that is not that of the last dimensions"))
    return x;
  Shape shape(getShape(x).drop_back(normalized.size()));
  shape.push_back(count);
  return l.reshape(x, shape);
}

/// `native`: two more results, and no operand that switches cuDNN.
static std::function<void(Lowering &)> layerNorm(bool native) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    Shape normalized = l.integers(1);
    int64_t count;
    Value rows = joinLast(l, x, normalized, count);
    Type element = getElement(x);
    Value gamma = l.reshape(affine(l, 2, 1, normalized, element), {count});
    Value beta = l.reshape(affine(l, 3, 0, normalized, element), {count});
    if (!l.require(l.number(4, 1e-5) >= 0, "an eps below 0") || !l.refusal.empty())
      return;
    auto norm = normalize(l, rows, gamma, beta, l.number(4, 1e-5));
    l.set(l.reshape(norm.getY(), getShape(x)));
    if (native)
      for (unsigned i : {1u, 2u})
        l.set(l.reshape(norm->getResult(i), l.resultType(i).getShape()), i);
  };
}

static void rmsNorm(Lowering &l) {
  Value x = l.get(0);
  Shape normalized = l.integers(1);
  int64_t count;
  Value rows = joinLast(l, x, normalized, count);
  auto type = dyn_cast<FloatType>(getElement(x));
  if (!l.require(bool(type), "a tensor of integers"))
    return;
  Value gamma = l.reshape(affine(l, 2, 1, normalized, type), {count});
  if (!l.refusal.empty())
    return;
  // Without eps, that of the type.
  double ulp = std::ldexp(
      1.0, 1 - static_cast<int>(APFloat::semanticsPrecision(type.getFloatSemantics())));
  Type sums = type.isF64() ? Type(type) : l.builder.getF32Type();
  auto norm = RMSNormOp::create(l.builder, l.loc, rows.getType(),
                                RankedTensorType::get(getShape(rows).drop_back(), sums),
                                rows, gamma, l.f64(l.number(3, ulp)));
  l.set(l.reshape(norm.getY(), getShape(x)));
}

/// Groups of channels, each with all places, have mean 0 and variance 1. Sets the result
/// and returns what normalizes the groups [N groups, ..]; null if the op is refused.
static LayerNormOp groupNormOf(Lowering &l, Value x, int64_t groups, Value gamma,
                               Value beta, double eps) {
  ArrayRef<int64_t> s = getShape(x);
  if (!l.require(eps >= 0, "an eps below 0") ||
      !l.require(getType(x).hasStaticShape() && getRank(x) >= 2 && groups >= 1 &&
                     s[1] % groups == 0 && getType(x).getNumElements() > 0,
                 "groups that do not divide the channels, or an open shape"))
    return {};
  int64_t rows = s[0] * groups, count = getType(x).getNumElements() / rows;
  Type element = getElement(x);
  auto norm = normalize(l, l.reshape(x, {rows, count}), l.constant(1, element, {count}),
                        l.constant(0, element, {count}), eps);
  Value y = l.reshape(norm.getY(), s);
  Shape channels(getRank(x) - 1, 1);
  channels[0] = s[1];
  if (gamma)
    y = l.mul(y, l.reshape(gamma, channels));
  if (beta)
    y = l.add(y, l.reshape(beta, channels));
  l.set(y);
  return norm;
}

static void groupNorm(Lowering &l) {
  groupNormOf(l, l.get(0), l.integer(1), l.isNone(2) ? Value() : l.get(2),
              l.isNone(3) ? Value() : l.get(3), l.number(4, 1e-5));
}

static void nativeGroupNorm(Lowering &l) {
  bool unused = llvm::all_of(l.op->getResults().drop_front(),
                             [](Value result) { return result.use_empty(); });
  if (l.require(unused, "the groups' mean and deviation"))
    groupNormOf(l, l.get(0), l.integer(6), l.isNone(1) ? Value() : l.get(1),
                l.isNone(2) ? Value() : l.get(2), l.number(7, 1e-5));
}

/// Running statistics without the gradient that an earlier call has left in them:
/// PyTorch's buffers have none.
static Value fixStatistics(Lowering &l, Value running) {
  return running.getDefiningOp() ? l.unary<StopGradientOp>(running) : running;
}

/// Channels go last, wherever they are. Results 1 and 2 are the batch's mean and 1 /
/// deviation with `statistics`; 3 and 4, with `functional`, the next running statistics.
/// Without, these change in place.
static std::function<void(Lowering &)> batchNorm(bool statistics, bool functional) {
  return [=](Lowering &l) {
    Tensor stored = l.getStored(0);
    int64_t rank = getRank(stored.value);
    if (!l.require(rank >= 2, "a tensor of fewer than 2 dimensions"))
      return;
    bool image = rank == 4;
    Value x = image ? l.getChannelsLast(0) : l.moveToLast(l.get(0), 1);
    Type element = getElement(x);
    Type parameter =
        l.isNone(1) ? l.isNone(3) ? element : getElement(l.get(3)) : getElement(l.get(1));
    Shape channels{getShape(x).back()};
    bool training = l.flag(5);
    double momentum = l.number(6, 0.1), eps = l.number(7, 1e-5);
    if (!l.require(!ShapedType::isDynamic(channels[0]), "channels of open number") ||
        !l.require(training || !l.isNone(3), "statistics that are not there") ||
        !l.require(!training || !getType(x).hasStaticShape() ||
                       getType(x).getNumElements() > 0,
                   "the statistics of a batch without elements") ||
        !l.require(momentum >= 0 && momentum <= 1, "a momentum outside of [0, 1]"))
      return;
    Value gamma = affine(l, 1, 1, channels, parameter);
    Value beta = affine(l, 2, 0, channels, parameter);
    Value mean = affine(l, 3, 0, channels, parameter);
    Value variance = affine(l, 4, 1, channels, parameter);
    Value y;
    if (training) {
      auto norm =
          BatchNormOp::create(l.builder, l.loc, x.getType(), mean.getType(),
                              variance.getType(), gamma.getType(), gamma.getType(), x,
                              gamma, beta, mean, variance, l.f64(eps), l.f64(momentum));
      y = norm.getY();
      if (statistics) {
        l.set(norm.getMean(), 1);
        l.set(norm.getRstd(), 2);
      }
      if (functional) {
        l.set(norm.getNewMean(), 3);
        l.set(norm.getNewVar(), 4);
      } else {
        l.update(3, norm.getNewMean());
        l.update(4, norm.getNewVar());
      }
    } else {
      bool unused = llvm::all_of(l.op->getResults().drop_front(), [&](Value result) {
        return result.use_empty() || (functional && (result == l.op->getResult(3) ||
                                                     result == l.op->getResult(4)));
      });
      if (!l.require(unused, "statistics of a batch that is not normalized by them"))
        return;
      y = BatchNormInferenceOp::create(l.builder, l.loc, x.getType(), x, gamma, beta,
                                       fixStatistics(l, mean), fixStatistics(l, variance),
                                       l.f64(eps));
      if (functional) {
        l.set(mean, 3);
        l.set(variance, 4);
      }
    }
    if (image)
      l.setChannelsLast(y);
    else
      l.set(l.moveFromLast(y, 1));
  };
}

/// Operands: x, weight, bias, running mean, running variance, whether the input's
/// statistics normalize it, momentum, eps.
static void instanceNorm(Lowering &l) {
  Value x = l.get(0);
  if (!l.require(getRank(x) >= 3, "a tensor of fewer than 3 dimensions"))
    return;
  if (!l.flag(5, true)) // The operands are those of batch_norm.
    return batchNorm(false, false)(l);
  LayerNormOp norm = groupNormOf(l, x, getShape(x)[1], l.isNone(1) ? Value() : l.get(1),
                                 l.isNone(2) ? Value() : l.get(2), l.number(7, 1e-5));
  if (!norm || l.isNone(3))
    return;
  // The running statistics move by the average of all instances.
  const int64_t n = getShape(x)[0], c = getShape(x)[1],
                count = getShape(norm.getX()).back();
  if (!l.require(count > 1, "running statistics of channels with one element"))
    return;
  Value mean = norm.getMean();
  Value deviation =
      l.sub(l.cast(norm.getX(), getElement(mean)), l.reshape(mean, {n * c, 1}));
  Value variance =
      l.mul(l.reduceLast(ReduceKind::Sum, l.square(deviation)), 1.0 / (count - 1));
  const double momentum = l.number(6, 0.1);
  for (auto [operand, value] : {std::pair(3u, mean), std::pair(4u, variance)}) {
    Value running = l.get(operand);
    Value average = l.reduce(ReduceKind::Mean, l.reshape(value, {n, c}), {0});
    l.update(operand, l.add(l.mul(running, 1 - momentum),
                            l.mul(l.cast(average, getElement(running)), momentum)));
  }
}

/// With given statistics: x, weight, bias, mean, variance, momentum, eps.
static void batchNormWithoutTraining(Lowering &l) {
  Tensor stored = l.getStored(0);
  bool image = getRank(stored.value) == 4;
  bool unused = llvm::all_of(l.op->getResults().drop_front(),
                             [](Value result) { return result.use_empty(); });
  if (!l.require(getRank(stored.value) >= 2, "a tensor of fewer than 2 dimensions") ||
      !l.require(unused, "statistics of a batch that is not normalized by them"))
    return;
  Value x = image ? l.getChannelsLast(0) : l.moveToLast(l.get(0), 1);
  Value mean = fixStatistics(l, l.get(3)), variance = fixStatistics(l, l.get(4));
  Value gamma = affine(l, 1, 1, getShape(mean), getElement(mean));
  Value beta = affine(l, 2, 0, getShape(mean), getElement(mean));
  Value y = BatchNormInferenceOp::create(l.builder, l.loc, x.getType(), x, gamma, beta,
                                         mean, variance, l.f64(l.number(6, 1e-5)));
  if (image)
    l.setChannelsLast(y);
  else
    l.set(l.moveFromLast(y, 1));
}

/// Without running statistics: x, weight, bias, training, momentum, eps.
static void batchNormWithoutStatistics(Lowering &l) {
  Tensor stored = l.getStored(0);
  bool image = getRank(stored.value) == 4;
  if (!l.require(getRank(stored.value) >= 2, "a tensor of fewer than 2 dimensions") ||
      !l.require(l.flag(3), "statistics that are not there"))
    return;
  Value x = image ? l.getChannelsLast(0) : l.moveToLast(l.get(0), 1);
  Shape channels{getShape(x).back()};
  Type element = getElement(x);
  if (!l.require(!ShapedType::isDynamic(channels[0]), "channels of open number"))
    return;
  Value gamma = affine(l, 1, 1, channels, element),
        beta = affine(l, 2, 0, channels, element);
  Value zeros = l.constant(0, getElement(gamma), channels);
  auto norm = BatchNormOp::create(
      l.builder, l.loc, x.getType(), gamma.getType(), gamma.getType(), gamma.getType(),
      gamma.getType(), x, gamma, beta, zeros, l.constant(1, getElement(gamma), channels),
      l.f64(l.number(5, 1e-5)), l.f64(0.1));
  if (image)
    l.setChannelsLast(norm.getY());
  else
    l.set(l.moveFromLast(norm.getY(), 1));
  l.set(norm.getMean(), 1);
  l.set(norm.getRstd(), 2);
}

/// g v / |v|, where the norm is over all dimensions but one (Salimans and Kingma 2016).
static void weightNorm(Lowering &l) {
  Value v = l.get(0), g = l.get(1);
  int64_t rank = getRank(v), dim = l.integer(2, 0);
  Shape axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != (dim < -1 ? dim + rank : dim)) // -1 is no dimension
      axes.push_back(i);
  if (!l.require(rank > 0 && dim < rank, "a dimension out of range"))
    return;
  Value squares = l.reduce(ReduceKind::Sum, l.square(v), axes, true);
  Shape shape(getShape(squares));
  l.set(l.mul(v, l.mul(l.reshape(g, shape), l.unary<RsqrtOp>(squares))));
}

void mpt::torch::populateNormalization(Table &t) {
  t.add({"_weight_norm"}, weightNorm);
  t.add({"layer_norm"}, layerNorm(false));
  t.add({"native_layer_norm"}, layerNorm(true));
  t.add({"rms_norm"}, rmsNorm);
  t.add({"group_norm"}, groupNorm);
  t.add({"native_group_norm"}, nativeGroupNorm);
  t.add({"instance_norm"}, instanceNorm);
  t.add({"batch_norm"}, batchNorm(false, false));
  t.add({"native_batch_norm", "_native_batch_norm_legit"}, batchNorm(true, false));
  t.add({"_native_batch_norm_legit_functional"}, batchNorm(true, true));
  t.add({"_native_batch_norm_legit_no_training"}, batchNormWithoutTraining);
  t.add({"_native_batch_norm_legit.no_stats"}, batchNormWithoutStatistics);
}
