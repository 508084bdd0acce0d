//===- DecomposeTraining.cpp - Optimizers and loss scale as primitive ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Optimizers, loss scale, clipping. Formulas are those of the ops'
/// descriptions, in f32; Adam's bias corrections are scalars in f64.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"
#include "mpt/Dialect/MPT/Transforms/LossScaleRule.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// `updated`, rounded to the type of `result`, if the step is taken, else `old`.
Value guard(DecomposeBuilder &b, Value predicate, Value updated, Value old,
            Value result) {
  updated = b.round(updated, result.getType());
  if (!predicate)
    return updated;
  return WhereOp::create(b.builder, b.loc, result.getType(), predicate, updated, old);
}

LogicalResult decomposeSGD(SGDOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getParam());
  Value p = op.getParam();
  Value g = b.widen(op.getGradient());
  double decay = op.getWeightDecay().convertToDouble();
  if (decay != 0.0)
    g = b.add(g, b.mul(p, decay));
  SmallVector<Value> results;
  Value buffer;
  if (op.getMomentumBuffer()) {
    double momentum = op.getMomentum().convertToDouble();
    buffer = b.add(b.mul(op.getMomentumBuffer(), momentum),
                   b.mul(g, 1.0 - op.getDampening().convertToDouble()));
    g = op.getNesterov() ? b.add(g, b.mul(buffer, momentum)) : buffer;
  }
  Value updated = b.sub(p, b.mul(g, op.getLr()));
  results.push_back(guard(b, op.getPredicate(), updated, p, op.getNewParam()));
  if (buffer)
    results.push_back(guard(b, op.getPredicate(), buffer, op.getMomentumBuffer(),
                            op.getNewMomentumBuffer()));
  rewriter.replaceOp(op, results);
  return success();
}

/// Adam and AdamW differ in where the weight decay goes.
template <typename Adam>
LogicalResult decomposeAdam(Adam op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getParam());
  DecomposeBuilder wide(rewriter, op.getLoc(), rewriter.getF64Type());
  constexpr bool decoupled = std::is_same_v<Adam, AdamWOp>;
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();

  // Scalars: 1 - beta^t cancels for small t, so f64.
  Value t = wide.widen(op.getStep());
  auto correction = [&](double beta) {
    Value power = PowOp::create(rewriter, op.getLoc(), wide.scalar(beta), t);
    return wide.sub(wide.scalar(1.0), power);
  };
  auto scalarType = RankedTensorType::get({}, b.element);
  Value stepSize = b.round(wide.div(op.getLr(), correction(beta1)), scalarType);
  Value rootCorrection = b.round(wide.sqrt(correction(beta2)), scalarType);

  Value p = op.getParam();
  Value g = b.widen(op.getGradient());
  if (!decoupled && decay != 0.0)
    g = b.add(g, b.mul(p, decay));
  Value m = b.add(b.mul(op.getExpAvg(), beta1), b.mul(g, 1.0 - beta1));
  Value v = b.add(b.mul(op.getExpAvgSq(), beta2), b.mul(b.mul(g, g), 1.0 - beta2));
  Value denominator =
      b.add(b.div(b.sqrt(v), rootCorrection), op.getEps().convertToDouble());
  Value base = p;
  if (decoupled && decay != 0.0)
    base = b.mul(p, b.sub(b.scalar(1.0), b.mul(op.getLr(), decay)));
  Value updated = b.sub(base, b.mul(b.div(m, denominator), stepSize));
  Value taken = op.getPredicate();
  rewriter.replaceOp(op, {guard(b, taken, updated, p, op.getNewParam()),
                          guard(b, taken, m, op.getExpAvg(), op.getNewExpAvg()),
                          guard(b, taken, v, op.getExpAvgSq(), op.getNewExpAvgSq())});
  return success();
}

/// 1 if an element of `value` is not finite, else 0.
Value countNonFinite(DecomposeBuilder &b, Value value) {
  Value finite = IsFiniteOp::create(b.builder, b.loc, value);
  Value bad = b.where(finite, b.scalar(0.0), b.scalar(1.0));
  return b.reduceAll(ReduceKind::Max, b.reduceRow(ReduceKind::Max, bad));
}

/// True if the sum of all flags is zero.
Value noneOf(DecomposeBuilder &b, ArrayRef<Value> flags) {
  Value sum = b.scalar(0.0);
  for (auto [i, flag] : llvm::enumerate(flags))
    sum = i == 0 ? flag : b.add(sum, flag);
  return b.compare(sum, b.scalar(0.0), ComparePredicate::EQ);
}

LogicalResult decomposeUnscale(UnscaleOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getScale());
  Value inverse = b.div(b.scalar(1.0), op.getScale());
  SmallVector<Value> results, flags;
  for (auto [gradient, result] : llvm::zip_equal(op.getGradients(), op.getUnscaled())) {
    // Where nothing is checked, rows of another shape would be a kernel of their own.
    if (op.getAllFinite().use_empty()) {
      results.push_back(b.round(b.mul(gradient, inverse), result.getType()));
      continue;
    }
    SmallVector<Value, 2> parts = asGradientRows(b, gradient);
    for (Value &part : parts) {
      part = b.mul(part, inverse);
      flags.push_back(countNonFinite(b, part));
    }
    Value unscaled = parts.size() == 1 ? parts.front() : b.mul(gradient, inverse);
    results.push_back(b.round(unscaled, result.getType()));
  }
  results.push_back(noneOf(b, flags));
  rewriter.replaceOp(op, results);
  return success();
}

LogicalResult decomposeAllFinite(AllFiniteOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), rewriter.getF32Type());
  SmallVector<Value> flags;
  for (Value input : op.getInputs()) {
    // A number needs no reduction: whoever reads the flag asks for itself.
    if (DecomposeBuilder::typeOf(input).getRank() == 0)
      flags.push_back(b.where(IsFiniteOp::create(rewriter, op.getLoc(), input),
                              b.scalar(0.0), b.scalar(1.0)));
    else
      for (Value part : asGradientRows(b, input))
        flags.push_back(countNonFinite(b, part));
  }
  rewriter.replaceOp(op, noneOf(b, flags));
  return success();
}

LogicalResult decomposeUpdateLossScale(UpdateLossScaleOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getScale());
  LossScaleRule rule = getLossScaleRules().front();
  rule.growth = op.getGrowthFactor().convertToDouble();
  rule.backoff = op.getBackoffFactor().convertToDouble();
  rule.interval = op.getGrowthInterval();
  LossScaleState after =
      updateLossScale(rewriter, op.getLoc(), rule, {op.getScale(), op.getTracker(), {}},
                      op.getAllFinite());
  rewriter.replaceOp(op, {b.round(after.scale, op.getNewScale().getType()), after.good});
  return success();
}

LogicalResult decomposeClipByGlobalNorm(ClipByGlobalNormOp op,
                                        PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), op.getNorm());
  Value total = b.scalar(0.0);
  for (auto [i, gradient] : llvm::enumerate(op.getGradients())) {
    const int64_t row =
        getGradientRow(DecomposeBuilder::typeOf(gradient).getNumElements());
    Value sum = addBlocks(b, sumSquaresOfBlocks(b, gradient, row));
    total = i == 0 ? sum : b.add(total, sum);
  }
  Value norm = b.sqrt(total);
  Value factor = getClipFactor(b, norm, op.getMaxNorm().convertToDouble());
  SmallVector<Value> results;
  for (auto [gradient, clipped] : llvm::zip_equal(op.getGradients(), op.getClipped()))
    results.push_back(b.round(b.mul(gradient, factor), clipped.getType()));
  results.push_back(b.round(norm, op.getNorm().getType()));
  rewriter.replaceOp(op, results);
  return success();
}

LogicalResult decomposeSelectState(SelectStateOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<WhereOp>(op, op.getType(), op.getPredicate(),
                                       op.getUpdated(), op.getOld());
  return success();
}

LogicalResult decomposeScaleLoss(ScaleLossOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLoss(), op.getScale());
  return success();
}

LogicalResult decomposeGradSeed(GradSeedOp op, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op.getType());
  rewriter.replaceOpWithNewOp<ConstantOp>(
      op, type,
      DenseElementsAttr::get(type, rewriter.getFloatAttr(type.getElementType(), 1.0)));
  return success();
}

LogicalResult decomposeGradients(GradientsOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, op.getInputs());
  return success();
}

LogicalResult decomposeStopGradient(StopGradientOp op, PatternRewriter &rewriter) {
  DecomposeBuilder b(rewriter, op.getLoc(), getElementTypeOrSelf(op.getX()));
  rewriter.replaceOp(op, b.round(op.getX(), op.getType()));
  return success();
}

/// A reduction over ranks between casts to and from the types that its call takes: f64 if
/// it adds in that, f32, f16, bf16 and integers.
template <typename Op>
LogicalResult decomposeRankReduction(Op op, PatternRewriter &rewriter) {
  auto getReduced = [&](Type element, bool isWide) -> Type {
    if (isWide)
      return rewriter.getF64Type();
    const bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16;
    return isNarrow ? rewriter.getF32Type() : element;
  };
  auto convert = [&](Value value, Type element) -> Value {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType() == element)
      return value;
    return CastOp::create(rewriter, op.getLoc(), type.clone(element), value,
                          /*autocast=*/false);
  };
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  bool changes = false;
  for (auto [input, output] : llvm::zip_equal(op.getInputs(), op.getOutputs())) {
    const Type from = getElementTypeOrSelf(input), to = getElementTypeOrSelf(output);
    const bool isWide = from.isF64() || to.isF64();
    const Type taken = getReduced(from, isWide), given = getReduced(to, isWide);
    changes |= taken != from || given != to;
    inputs.push_back(convert(input, taken));
    types.push_back(cast<RankedTensorType>(output.getType()).clone(given));
  }
  if (!changes)
    return failure();
  auto made = Op::create(rewriter, op.getLoc(), types, inputs, op.getAxisAttr(),
                         op.getKindAttr(), op.getOrderAttr(), op.getWireAttr());
  SmallVector<Value> results;
  for (auto [result, output] : llvm::zip_equal(made.getOutputs(), op.getOutputs()))
    results.push_back(convert(result, getElementTypeOrSelf(output)));
  rewriter.replaceOp(op, results);
  return success();
}

} // namespace

void mpt::populateDecomposeTrainingPatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, decomposeAdam<AdamOp>, decomposeAdam<AdamWOp>, decomposeSGD,
              decomposeUnscale, decomposeAllFinite, decomposeUpdateLossScale,
              decomposeClipByGlobalNorm, decomposeSelectState, decomposeScaleLoss,
              decomposeGradSeed, decomposeGradients, decomposeStopGradient,
              decomposeRankReduction<AllReduceOp>,
              decomposeRankReduction<ReduceScatterOp>);
}
