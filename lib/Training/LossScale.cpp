//===- LossScale.cpp - Loss scaling -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-loss-scale`: multiplies the gradient seed by the scale, unscales and
/// checks all gradients once, and puts the whole state transition under that one
/// predicate.
///
//===----------------------------------------------------------------------===//

#include "GradientClipping.h"
#include "ShardedGradients.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/LossScaleRule.h"
#include "mpt/Training/LossScaleAnalysis.h"
#include "mpt/Training/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_LOSSSCALEPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct LossScalePass : mpt::impl::LossScalePassBase<LossScalePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (mode != "dynamic" && mode != "static" && mode != "amax") {
      module.emitError("mpt-loss-scale: unknown mode '")
          << mode << "'; expected dynamic, static or amax";
      return signalPassFailure();
    }
    if (failed(makeRule(module)))
      return signalPassFailure();
    bool any = false;
    for (auto step : module.getOps<func::FuncOp>()) {
      if (step.isDeclaration() || !step.getBody().hasOneBlock() ||
          step.getBody().front().getOps<GradientsOp>().empty())
        continue;
      any = true;
      if (failed(scale(step)))
        return signalPassFailure();
    }
    if (!any) {
      mlir::emitError(getModuleLocation(module),
                      "mpt-loss-scale: no function holds mpt.gradients; run "
                      "--mpt-autodiff and --mpt-train-step first, or "
                      "--mpt-mark-stablehlo-step for a step of JAX");
      return signalPassFailure();
    }
    if (failed(checkScaledGradients(module)))
      return signalPassFailure();
  }

private:
  /// The preset's row with what the options put in its place.
  LogicalResult makeRule(ModuleOp module);
  LogicalResult scale(func::FuncOp step);
  /// Scales one loss and unscales its gradients. `suffix` tells its state from that of
  /// other losses.
  UnscaleOp scaleLoss(StepEditor &editor, OpBuilder &builder, GradSeedOp seed,
                      GradientsOp marker, StringRef suffix);
  void addDynamic(StepEditor &editor, OpBuilder &builder, UnscaleOp unscale,
                  Value allFinite, StringRef suffix);
  void addAmax(StepEditor &editor, OpBuilder &builder, UnscaleOp unscale, Value allFinite,
               StringRef suffix);
  void addScale(StepEditor &editor, OpBuilder &builder, Location loc, Value scale,
                StringRef name);
  /// The norm of the gradients, where the step returns none; null if it is not known
  /// what the optimizers read.
  FailureOr<Value> makeNorm(func::FuncOp step, OpBuilder &builder);

  LossScaleRule rule;
  /// How one of the parameters is cut between ranks; none if they are whole.
  std::optional<ShardLayout> shards;
};

/// As `%g` prints it.
std::string print(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// The largest finite number of `type`, which is "f16", "bf16" or "f32".
double getLargest(StringRef type) {
  const llvm::fltSemantics &format = type == "f16"    ? llvm::APFloat::IEEEhalf()
                                     : type == "bf16" ? llvm::APFloat::BFloat()
                                                      : llvm::APFloat::IEEEsingle();
  return llvm::APFloat::getLargest(format).convertToDouble();
}

/// Whether f32, the scale's type, holds `value` as a finite number above 0.
bool isF32AboveZero(double value) {
  auto rounded = static_cast<float>(value);
  return rounded > 0 && std::isfinite(rounded);
}

LogicalResult LossScalePass::makeRule(ModuleOp module) {
  ArrayRef<LossScaleRule> rules = getLossScaleRules();
  auto found = llvm::find_if(
      rules, [&](const LossScaleRule &each) { return each.name == preset; });
  if (found == rules.end())
    return module.emitError("mpt-loss-scale: unknown preset '")
           << preset << "'; expected one of "
           << llvm::join(llvm::map_range(
                             rules, [](const LossScaleRule &each) { return each.name; }),
                         ", ");
  rule = *found;
  const bool isAmax = mode == "amax";
  if (isAmax) {
    rule.min = 1;
    rule.max = 16777216;
  }
  LogicalResult valid = success();
  // The first mistake is reported.
  auto fail = [&](StringRef name, const Twine &why) {
    if (succeeded(valid))
      valid = module.emitError("mpt-loss-scale: ") << name << why;
  };
  auto checkMode = [&](StringRef name, bool inDynamic, bool inAmax) {
    if (mode == "static")
      fail(name,
           " has no meaning with mode=static, whose scale never changes; remove it, "
           "or use mode=" +
               Twine(inDynamic ? "dynamic" : "amax"));
    else if (mode == "dynamic" && !inDynamic)
      fail(name, " has no meaning with mode=dynamic, whose scale follows the steps that "
                 "overflow; remove it, or use mode=amax");
    else if (isAmax && !inAmax)
      fail(name, " has no meaning with mode=amax, whose scale follows the largest "
                 "gradient; remove it, or use mode=dynamic");
  };
  // The least integer and minus infinity say that nothing was given.
  auto set = [&](auto &field, auto option, StringRef name, bool inAmax, bool isValid,
                 StringRef expected) {
    using Limits = std::numeric_limits<decltype(option)>;
    if (option == (Limits::is_integer ? Limits::lowest() : -Limits::infinity()))
      return;
    if (name != "init-scale")
      checkMode(name, /*inDynamic=*/true, inAmax);
    if (!isValid)
      fail(name, " must be " + expected + ", got " + print(option));
    field = option;
  };
  const int64_t most = std::numeric_limits<int32_t>::max() - 1;
  double init = initScale, growth = growthFactor, backoff = backoffFactor, min = minScale,
         max = maxScale;
  int64_t interval = growthInterval, patience = hysteresis;
  set(rule.init, init, "init-scale", true, isF32AboveZero(init),
      "a number above 0 that f32 holds");
  set(rule.growth, growth, "growth-factor", false, growth > 1 && isF32AboveZero(growth),
      "a number above 1 that f32 holds");
  set(rule.backoff, backoff, "backoff-factor", true, backoff > 0 && backoff < 1,
      "between 0 and 1");
  set(rule.interval, interval, "growth-interval", false, interval > 0 && interval <= most,
      "above 0 and below 2^31 - 1");
  set(rule.min, min, "min-scale", true, min == 0 || isF32AboveZero(min),
      "0 (none) or a number above 0 that f32 holds");
  set(rule.max, max, "max-scale", true, max == 0 || isF32AboveZero(max),
      "0 (none) or a number above 0 that f32 holds");
  set(rule.hysteresis, patience, "hysteresis", false, patience > 0 && patience <= most,
      "above 0 and below 2^31 - 1");
  // By the value, not by whether it was given: a printed pipeline gives all options.
  for (auto [name, isGiven] : {std::pair<StringRef, bool>{"window", window != 16},
                               {"margin", margin != 16},
                               {"type", type != "f16"}})
    if (isGiven)
      checkMode(name, /*inDynamic=*/false, /*inAmax=*/true);
  if (isAmax && preset != "torch")
    fail("preset", " has no meaning with mode=amax, whose scale follows the largest "
                   "gradient; remove it, or use mode=dynamic");
  if (type != "f16" && type != "bf16" && type != "f32")
    fail("type", " must be f16, bf16 or f32, got " + type);
  if (failed(valid))
    return failure();
  if (rule.kind == Hysteresis::None && patience > 0)
    return module.emitError("mpt-loss-scale: the preset '")
           << rule.name << "' has no hysteresis; megatron, deepspeed and paddle have";
  if (rule.max != 0 && rule.min > rule.max)
    return module.emitError("mpt-loss-scale: min-scale is above max-scale");
  if (mode != "static" &&
      (rule.init < rule.min || (rule.max != 0 && rule.init > rule.max))) {
    const bool isLow = rule.init < rule.min;
    if (std::isfinite(init))
      return module.emitError("mpt-loss-scale: init-scale is ")
             << print(rule.init) << ", outside " << (isLow ? "min-scale" : "max-scale")
             << ", which is " << print(isLow ? rule.min : rule.max);
    // The preset's own is brought between bounds that were given, as Apex does.
    rule.init = isLow ? rule.min : rule.max;
  }
  if (isAmax && (rule.min == 0 || rule.max == 0))
    return module.emitError("mpt-loss-scale: mode=amax needs a min-scale and a "
                            "max-scale above 0");
  if (isAmax && !(margin >= 1))
    return module.emitError("mpt-loss-scale: margin must be 1 or more");
  // As many as mpt-fp8 looks back. The history is state, read and written in each step.
  if (isAmax && (window < 1 || window > 65536))
    return module.emitError("mpt-loss-scale: window must be 1 to 65536 steps, got ")
           << int64_t(window);
  return success();
}

UnscaleOp LossScalePass::scaleLoss(StepEditor &editor, OpBuilder &builder,
                                   GradSeedOp seed, GradientsOp marker,
                                   StringRef suffix) {
  auto f32Scalar = RankedTensorType::get({}, builder.getF32Type());
  BlockArgument scale =
      editor.addArgument(f32Scalar, ("loss_scale" + suffix).str(), Role::LossScale,
                         getConstantInit(&getContext(), rule.init));
  builder.setInsertionPointAfter(seed);
  auto scaled = ScaleLossOp::create(builder, seed.getLoc(), seed.getType(), seed, scale);
  seed.getSeed().replaceAllUsesExcept(scaled, scaled);
  builder.setInsertionPointAfter(marker);
  auto unscale = UnscaleOp::create(builder, marker.getLoc(), marker.getOutputs(), scale);
  for (auto [gradient, unscaled] :
       llvm::zip_equal(marker.getOutputs(), unscale.getUnscaled()))
    gradient.replaceAllUsesExcept(unscaled, unscale);
  return unscale;
}

/// Whether `step` updates a parameter, or what an optimizer keeps of one.
bool updatesParameters(func::FuncOp step) {
  return llvm::any_of(StepView(step).getArguments(), [](const auto &argument) {
    return argument.updatedBy &&
           (argument.role == Role::Parameter || argument.role == Role::OptimizerState);
  });
}

/// What `step` returns as `name`, or null. New state of that name is not meant: a
/// parameter may be called `grad_norm`.
Value getNamedResult(func::FuncOp step, StringRef name) {
  StepView view(step);
  std::optional<unsigned> result = view.findResult(name);
  return result && !view.getResults()[*result].updates
             ? step.getBody().front().getTerminator()->getOperand(*result)
             : Value();
}

/// The norm of the gradients, if `step` returns it. A result of the user's may have the
/// name, too; only the norm is computed from gradients, which `mpt.unscale` gives.
Value getReturnedNorm(func::FuncOp step) {
  Value norm = getNamedResult(step, "grad_norm");
  if (!norm)
    return {};
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  if (failed(getBackwardSlice(norm, &slice, options)))
    return {};
  return llvm::any_of(slice, llvm::IsaPred<UnscaleOp>) ? norm : Value();
}

/// What must be finite in a step that is taken, in addition to its gradients, as far as
/// it is known at `place`: the losses, the norm of the gradients (whose squares overflow
/// first, and so do second moments), and running statistics.
SmallVector<Value> getCheckedValues(func::FuncOp step, StepEditor &editor,
                                    ArrayRef<GradSeedOp> seeds, Value norm,
                                    Operation *place) {
  SmallVector<Value> checked;
  auto add = [&](Value value) {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (op && isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
        (op == place || op->isBeforeInBlock(place)) &&
        !llvm::is_contained(checked, value))
      checked.push_back(value);
  };
  add(norm);
  StepView view(step);
  Operation *end = step.getBody().front().getTerminator();
  for (GradSeedOp seed : seeds) {
    // A function's only loss is its first result.
    auto name = seed->getAttrOfType<StringAttr>(kLossAttr);
    if (name)
      add(getNamedResult(step, name));
    else if (end->getNumOperands() && !view.getResults()[0].updates)
      add(end->getOperand(0));
  }
  for (auto [result, value] : llvm::zip(view.getResults(), end->getOperands()))
    if (result.updates && view.getArguments()[*result.updates].role == Role::RunningStat)
      add(value);
  return checked;
}

LogicalResult LossScalePass::scale(func::FuncOp step) {
  Block &block = step.getBody().front();
  auto seeds = llvm::to_vector(block.getOps<GradSeedOp>());
  auto markers = llvm::to_vector(block.getOps<GradientsOp>());
  if (seeds.size() != markers.size() || seeds.empty())
    return step.emitError("mpt-loss-scale: expected one mpt.grad_seed and one "
                          "mpt.gradients, found ")
           << seeds.size() << " and " << markers.size() << "; each loss needs both";
  if (!block.getOps<ScaleLossOp>().empty() || !block.getOps<UnscaleOp>().empty())
    return step.emitError("mpt-loss-scale: the loss is scaled already; run this "
                          "pass once");
  OpBuilder builder(&getContext());
  StepEditor editor(step, "mpt-loss-scale");
  shards = findShardLayout(step);
  SmallVector<std::pair<UnscaleOp, std::string>> unscales;
  for (GradSeedOp seed : seeds) {
    auto loss = seed->getAttrOfType<StringAttr>(kLossAttr);
    auto marker = llvm::find_if(markers, [&](GradientsOp each) {
      return each->getAttrOfType<StringAttr>(kLossAttr) == loss;
    });
    if (marker == markers.end() || (!loss && seeds.size() > 1))
      return step.emitError("mpt-loss-scale: expected each of several mpt.grad_seed and "
                            "its mpt.gradients to have the same 'mpt.loss'");
    std::string suffix = seeds.size() == 1 ? "" : "." + loss.getValue().str();
    unscales.push_back({scaleLoss(editor, builder, seed, *marker, suffix), suffix});
  }

  if (!updatesParameters(step))
    return step.emitError("mpt-loss-scale: the function updates no parameter; run "
                          "--mpt-train-step first");

  // The step is taken if the gradients of all losses are finite, and what else must be.
  Operation *last = unscales.front().first;
  for (auto &[unscale, suffix] : unscales)
    if (last->isBeforeInBlock(unscale))
      last = unscale;
  Value norm = getReturnedNorm(step);
  const bool hasNorm = static_cast<bool>(norm);
  if (!hasNorm) {
    FailureOr<Value> made = makeNorm(step, builder);
    if (failed(made))
      return failure();
    norm = *made;
  }
  if (Operation *op = norm ? norm.getDefiningOp() : nullptr;
      op && op->getBlock() == &block && last->isBeforeInBlock(op))
    last = op;
  builder.setInsertionPointAfter(last);
  Location loc = unscales.front().first.getLoc();
  Value allFinite = unscales.front().first.getAllFinite();
  for (auto &[unscale, suffix] : llvm::drop_begin(unscales))
    allFinite =
        AndOp::create(builder, unscale.getLoc(), allFinite, unscale.getAllFinite());
  if (shards)
    allFinite = isTrueOnAllRanks(builder, loc, *shards, allFinite);
  if (SmallVector<Value> checked = getCheckedValues(step, editor, seeds, norm, last);
      !checked.empty())
    allFinite = AndOp::create(builder, loc, allFinite,
                              AllFiniteOp::create(builder, loc, checked));
  builder.setInsertionPoint(block.getTerminator());
  editor.addResult(NotOp::create(builder, loc, allFinite), "found_inf");
  if (unscales.size() > 1)
    for (auto &[unscale, suffix] : unscales)
      editor.addResult(NotOp::create(builder, unscale.getLoc(), unscale.getAllFinite()),
                       "found_inf" + suffix);
  guardUpdates(step, editor, allFinite);
  for (auto &[unscale, suffix] : unscales) {
    // Each of several scales moves by its own gradients.
    Value finite = unscales.size() == 1 ? allFinite : unscale.getAllFinite();
    if (mode == "dynamic")
      addDynamic(editor, builder, unscale, finite, suffix);
    else if (mode == "amax")
      addAmax(editor, builder, unscale, finite, suffix);
    else
      editor.addResult(unscale.getScale(), "loss_scale" + suffix, "loss_scale" + suffix);
  }
  if (norm && !hasNorm)
    editor.addResult(norm, "grad_norm");
  return editor.finish();
}

FailureOr<Value> LossScalePass::makeNorm(func::FuncOp step, OpBuilder &builder) {
  Block &block = step.getBody().front();
  SmallVector<Value> gradients, parameters;
  for (Operation &op : block)
    if (Value gradient = getOptimizerGradient(&op)) {
      gradients.push_back(gradient);
      // All optimizers have the parameter first.
      parameters.push_back(op.getOperand(0));
    }
  // Steps that update in other ways: with several losses, what they add is not known.
  auto unscales = llvm::to_vector(block.getOps<UnscaleOp>());
  if (gradients.empty() && unscales.size() == 1)
    llvm::append_range(gradients, unscales.front().getUnscaled());
  if (gradients.empty())
    return Value();
  auto layouts = getShardLayouts(step, parameters);
  if (failed(layouts))
    return failure();
  // Early, so that the pass over the gradients that checks them measures them too.
  Operation *last = unscales.back();
  for (Value gradient : gradients)
    if (Operation *op = gradient.getDefiningOp(); op && last->isBeforeInBlock(op))
      last = op;
  builder.setInsertionPointAfter(last);
  const double none = std::numeric_limits<double>::infinity();
  return clipGradients(builder, step.getLoc(), gradients, none, *layouts);
}

/// The scale after the step, and whether it is at a bound.
void LossScalePass::addScale(StepEditor &editor, OpBuilder &builder, Location loc,
                             Value scale, StringRef name) {
  editor.addResult(scale, name, name);
  auto addBound = [&](double bound, ComparePredicate predicate, StringRef kind) {
    if (bound == 0)
      return;
    auto type = cast<RankedTensorType>(scale.getType());
    Value limit = ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, static_cast<float>(bound)));
    editor.addResult(CompareOp::create(builder, loc, scale, limit, predicate),
                     (name + kind).str());
  };
  addBound(rule.min, ComparePredicate::LE, ".at_min");
  addBound(rule.max, ComparePredicate::GE, ".at_max");
}

void LossScalePass::addDynamic(StepEditor &editor, OpBuilder &builder, UnscaleOp unscale,
                               Value allFinite, StringRef suffix) {
  Location loc = unscale.getLoc();
  Value scale = unscale.getScale();
  std::string name = ("loss_scale" + suffix).str();
  auto i32Scalar = RankedTensorType::get({}, builder.getI32Type());
  LossScaleState state{scale, {}, {}};
  state.good = editor.addArgument(i32Scalar, name + ".growth_tracker", Role::LossScale,
                                  getZerosInit(&getContext()));
  if (rule.kind != Hysteresis::None)
    state.bad =
        editor.addArgument(i32Scalar, name + ".hysteresis_tracker", Role::LossScale,
                           rule.kind == Hysteresis::EveryNth
                               ? getZerosInit(&getContext())
                               : getConstantInit(&getContext(), rule.hysteresis));
  LossScaleState after;
  if (rule.name == "torch" && rule.min == 0 && rule.max == 0) {
    auto update = UpdateLossScaleOp::create(
        builder, loc, scale, state.good, allFinite, builder.getF64FloatAttr(rule.growth),
        builder.getF64FloatAttr(rule.backoff), builder.getI64IntegerAttr(rule.interval));
    after = {update.getNewScale(), update.getNewTracker(), {}};
  } else {
    after = updateLossScale(builder, loc, rule, state, allFinite);
  }
  addScale(editor, builder, loc, after.scale, name);
  editor.addResult(after.good, name + ".growth_tracker", name + ".growth_tracker");
  if (after.bad)
    editor.addResult(after.bad, name + ".hysteresis_tracker",
                     name + ".hysteresis_tracker");
}

void LossScalePass::addAmax(StepEditor &editor, OpBuilder &builder, UnscaleOp unscale,
                            Value allFinite, StringRef suffix) {
  Location loc = unscale.getLoc();
  Value scale = unscale.getScale();
  std::string name = ("loss_scale" + suffix).str();
  auto recordType = RankedTensorType::get({window}, builder.getF32Type());
  BlockArgument history = editor.addArgument(
      recordType, name + ".amax_history", Role::LossScale, getZerosInit(&getContext()));
  Value largest = getLargestMagnitude(builder, loc, unscale.getUnscaled());
  if (shards)
    largest = getLargestOfRanks(builder, loc, *shards, largest);
  Value newest = ReshapeOp::create(
      builder, loc, RankedTensorType::get({1}, builder.getF32Type()), largest);
  Value moved = newest;
  if (window > 1) {
    auto rest = RankedTensorType::get({window - 1}, builder.getF32Type());
    Value later = SliceOp::create(builder, loc, rest, history, ArrayRef<int64_t>{1},
                                  ArrayRef<int64_t>{window - 1}, ArrayRef<int64_t>{1});
    moved = ConcatOp::create(builder, loc, recordType, ValueRange{later, newest},
                             builder.getI64IntegerAttr(0));
  }
  // A step that is not taken records nothing.
  Value recorded =
      SelectStateOp::create(builder, loc, recordType, allFinite, moved, history);
  AmaxScaleRule amax{getLargest(type), margin, rule.backoff, rule.min, rule.max};
  addScale(editor, builder, loc,
           chooseLossScale(builder, loc, amax, scale, recorded, allFinite), name);
  editor.addResult(recorded, name + ".amax_history", name + ".amax_history");
}

} // namespace
