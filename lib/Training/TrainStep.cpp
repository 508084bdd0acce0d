//===- TrainStep.cpp - One function for one whole training step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-train-step`: replaces the gradients that a differentiated function
/// returns by an optimizer that returns the next parameters and its own state.
///
//===----------------------------------------------------------------------===//

#include "GradientClipping.h"
#include "LearningRate.h"
#include "OptimizerFunction.h"
#include "ShardedGradients.h"
#include "SpikeSkipping.h"
#include "WeightAverages.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Support/NumberToString.h"
#include "mpt/Training/Passes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_TRAINSTEPPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct TrainStepPass : mpt::impl::TrainStepPassBase<TrainStepPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
  LogicalResult checkOptions();
  /// Options that the optimizer, or what is switched off, would not read are errors.
  LogicalResult checkUnread();
  /// Whether the optimizer is a function of the module.
  bool isFunction() const { return StringRef(optimizer).starts_with("@"); }
  /// That function, or null if there is none.
  func::FuncOp findOptimizerFunction();
  bool isMomentumGiven() const {
    return momentum != -std::numeric_limits<double>::infinity();
  }
  /// Of the optimizers of SGD; the option's value where it is given.
  double getMomentum() const {
    return isMomentumGiven() ? momentum : optimizer == "momentum" ? 0.9 : 0.0;
  }
  /// SGD with momentum, by either name.
  bool hasMomentumBuffer() const {
    return optimizer == "momentum" || (optimizer == "sgd" && getMomentum() > 0);
  }
  /// Checks that `name` is a parameter that an optimizer can update.
  LogicalResult checkParameter(func::FuncOp step, const StepEditor &editor,
                               StringAttr name, Type gradient);
  void buildOptimizer(OpBuilder &builder, func::FuncOp step, StepEditor &editor,
                      BlockArgument parameter, StringRef name, Value gradient, Value lr,
                      double decay, Value count);
  double getWeightDecay(func::FuncOp step, BlockArgument parameter);
  LearningRateRule getLearningRate() const {
    return {lrSchedule, warmup, totalSteps, lrFinal, lrStep, lrGamma};
  }
  SpikeRule getSpikes() const {
    return {skipSpikes, spikeAlpha, spikeWarmup, spikePatience};
  }

  /// What happens to gradients between autodiff and the optimizer; adds the norms to
  /// the results. Returns the predicate of a step that is to be taken, or null.
  FailureOr<Value> buildGradients(OpBuilder &builder, func::FuncOp step,
                                  StepEditor &editor, ArrayRef<ParameterNames> names,
                                  MutableArrayRef<Value> gradients);
  /// Moves the results by which the forward pass changes parameters that have a gradient
  /// to `written`.
  LogicalResult takeWritten(func::FuncOp step, StepEditor &editor,
                            const llvm::MapVector<StringRef, Value> &gradients);
  /// The average of `value`, the next one of the parameter `name`.
  void buildEma(OpBuilder &builder, StepEditor &editor, StringRef name, Value value,
                Value weight);

  /// The loss that the gradients are those of: the sum of several. Null if those have
  /// different types.
  Value buildLoss(OpBuilder &builder, func::FuncOp step);

  /// State of skip-spikes whose next value goes in after the other state is guarded.
  Value nextSpikes;
  /// Next values of parameters, in the order of `mpt.gradients`.
  SmallVector<Value> updated;
  /// Parameters that the forward pass changes, and what it makes of them.
  SmallVector<std::pair<BlockArgument, Value>> written;
};

LogicalResult TrainStepPass::checkOptions() {
  ModuleOp module = getOperation();
  if (isFunction() ? !findOptimizerFunction()
                   : !llvm::is_contained({"sgd", "momentum", "adam", "adamw"},
                                         StringRef(optimizer)))
    return module.emitError("mpt-train-step: unknown optimizer '")
           << optimizer
           << "'; expected sgd, momentum, adam, adamw, or @NAME, a function of the "
              "module with one block";
  if (decay != "matrices" && decay != "all")
    return module.emitError("mpt-train-step: unknown decay '")
           << decay << "'; expected matrices or all";
  for (auto [name, value] : {std::pair<StringRef, double>{"lr", lr},
                             {"momentum", getMomentum()},
                             {"eps", eps},
                             {"weight-decay", weightDecay},
                             {"clip-norm", clipNorm}})
    if (!(value >= 0) || !std::isfinite(value))
      return module.emitError("mpt-train-step: expected a finite ")
             << name << " of at least 0, found " << numberToString(value);
  for (auto [name, value] :
       {std::pair<StringRef, double>{"beta1", beta1}, {"beta2", beta2}})
    if (!(value >= 0 && value < 1))
      return module.emitError("mpt-train-step: expected ")
             << name << " in [0, 1), found " << numberToString(value);
  if (!(emaDecay >= 0 && emaDecay < 1))
    return module.emitError("mpt-train-step: expected ema-decay in [0, 1), found ")
           << numberToString(emaDecay);
  if (emaWarmup != "none" && emaWarmup != "steps" && emaWarmup != "bias-correction")
    return module.emitError("mpt-train-step: unknown ema-warmup '")
           << emaWarmup << "'; expected none, steps or bias-correction";
  if (emaWarmup != "none" && emaDecay == 0)
    return module.emitError("mpt-train-step: ema-warmup needs an ema-decay above 0");
  if (failed(checkLearningRate(module, "mpt-train-step", getLearningRate())) ||
      failed(checkSpikes(module, getSpikes())))
    return failure();
  if (failed(checkUnread()))
    return failure();
  if (nesterov && getMomentum() == 0)
    return module.emitError("mpt-train-step: nesterov needs a momentum above 0, found ")
           << "optimizer=" << optimizer << " and momentum "
           << numberToString(getMomentum()) << "; give momentum=0.9";
  return success();
}

func::FuncOp TrainStepPass::findOptimizerFunction() {
  auto found =
      getOperation().lookupSymbol<func::FuncOp>(StringRef(optimizer).drop_front());
  return found && found.getName() != StringRef(function) && !found.isDeclaration() &&
                 found.getBody().hasOneBlock()
             ? found
             : func::FuncOp();
}

LogicalResult TrainStepPass::checkUnread() {
  ModuleOp module = getOperation();
  if (isFunction()) {
    for (auto [name, isGiven] :
         {std::pair<StringRef, bool>{"momentum", isMomentumGiven()},
          {"nesterov", nesterov},
          {"beta1", beta1 != 0.9},
          {"beta2", beta2 != 0.999},
          {"eps", eps != 1e-8},
          {"weight-decay", weightDecay != 0},
          {"decay", decay != "matrices"},
          {"decay-groups", !decayGroups.empty()}})
      if (isGiven)
        return module.emitError("mpt-train-step: ")
               << name << " has no meaning with optimizer=" << optimizer
               << ", which says itself how parameters are updated; remove it";
    return success();
  }
  const bool isAdam = optimizer == "adam" || optimizer == "adamw";
  // By the value, not by whether it was given: a printed pipeline gives all options.
  for (auto [name, isGiven, ofAdam] :
       {std::tuple<StringRef, bool, bool>{"momentum", isMomentumGiven(), false},
        {"nesterov", nesterov, false},
        {"beta1", beta1 != 0.9, true},
        {"beta2", beta2 != 0.999, true},
        {"eps", eps != 1e-8, true}})
    if (isGiven && ofAdam != isAdam)
      return module.emitError("mpt-train-step: ")
             << name << " has no meaning with optimizer=" << optimizer
             << "; remove it, or use optimizer="
             << (ofAdam ? "adam or adamw" : "momentum");
  if (decay != "matrices" && weightDecay == 0 && !weightDecay.hasValue())
    return module.emitError("mpt-train-step: decay=")
           << decay << " has no effect without weight-decay; give weight-decay=X, or "
           << "remove decay";
  if (skipSpikes == 0 && !skipSpikes.hasValue())
    for (auto [name, isGiven] :
         {std::pair<StringRef, bool>{"spike-alpha", spikeAlpha != 0.97},
          {"spike-warmup", spikeWarmup != 25},
          {"spike-patience", spikePatience != 10}})
      if (isGiven)
        return module.emitError("mpt-train-step: ")
               << name << " has no effect without skip-spikes; give skip-spikes=X, the "
               << "deviations above the mean that make a spike, or remove " << name;
  return success();
}

double TrainStepPass::getWeightDecay(func::FuncOp step, BlockArgument parameter) {
  auto wanted = step.getArgAttrOfType<BoolAttr>(parameter.getArgNumber(), kDecayAttr);
  if (wanted)
    return wanted.getValue() ? weightDecay : 0.0;
  bool isMatrix = cast<RankedTensorType>(parameter.getType()).getRank() >= 2;
  // All that it holds shards of are, or none.
  if (auto shards = getShards(step, parameter.getArgNumber()))
    isMatrix = shards->layout.tensors.front().shape.size() >= 2;
  return decay == "all" || isMatrix ? weightDecay : 0.0;
}

void TrainStepPass::buildOptimizer(OpBuilder &builder, func::FuncOp step,
                                   StepEditor &editor, BlockArgument parameter,
                                   StringRef name, Value gradient, Value lr, double decay,
                                   Value count) {
  Location loc = gradient.getLoc();
  auto type = cast<RankedTensorType>(parameter.getType());
  // State is f32 even where the parameter is stored in less.
  auto stateType = type.clone(getAccumulatorType(std::nullopt, type.getElementType()));
  auto addState = [&](StringRef suffix) {
    return editor.addArgument(stateType, (name + suffix).str(), Role::OptimizerState,
                              getZerosInit(&getContext()));
  };
  auto f64 = [&](double value) { return builder.getF64FloatAttr(value); };

  if (optimizer == "sgd" || optimizer == "momentum") {
    Value buffer;
    SmallVector<Type> types = {type};
    if (hasMomentumBuffer()) {
      buffer = addState(".momentum_buffer");
      types.push_back(stateType);
    }
    auto update =
        SGDOp::create(builder, loc, types, parameter, gradient, lr, buffer, Value(),
                      f64(buffer ? getMomentum() : 0.0), f64(0.0), f64(decay),
                      buffer && nesterov ? builder.getUnitAttr() : UnitAttr());
    updated.push_back(update.getNewParam());
    editor.addResult(update.getNewParam(), name, name);
    if (buffer)
      editor.addResult(update.getNewMomentumBuffer(), (name + ".momentum_buffer").str(),
                       (name + ".momentum_buffer").str());
    return;
  }
  Value average = addState(".exp_avg"), square = addState(".exp_avg_sq");
  auto build = [&](auto tag) {
    using Adam = decltype(tag);
    auto update = Adam::create(builder, loc, TypeRange{type, stateType, stateType},
                               parameter, gradient, lr, average, square, count, Value(),
                               f64(beta1), f64(beta2), f64(eps), f64(decay));
    updated.push_back(update.getNewParam());
    editor.addResult(update.getNewParam(), name, name);
    for (auto [value, suffix] :
         {std::pair<Value, StringRef>{update.getNewExpAvg(), ".exp_avg"},
          {update.getNewExpAvgSq(), ".exp_avg_sq"}})
      editor.addResult(value, (name + suffix).str(), (name + suffix).str());
  };
  if (optimizer == "adam")
    build(AdamOp());
  else
    build(AdamWOp());
}

FailureOr<Value> TrainStepPass::buildGradients(OpBuilder &builder, func::FuncOp step,
                                               StepEditor &editor,
                                               ArrayRef<ParameterNames> names,
                                               MutableArrayRef<Value> gradients) {
  Location loc = step.getLoc();
  SmallVector<Value> parameters;
  for (const ParameterNames &parameter : names)
    parameters.push_back(editor.getArgument(parameter.name));
  auto layouts = getShardLayouts(step, parameters);
  if (failed(layouts))
    return failure();
  auto scaled = matchParameters(step, "scale-gradients", scaleGradients, names);
  auto clipped = matchParameters(step, "clip-groups", clipGroups, names);
  if (failed(scaled) || failed(clipped))
    return failure();
  for (const ParameterGroup &group : *scaled)
    for (unsigned i : group.members)
      gradients[i] = scaleGradient(builder, loc, gradients[i], group.number);

  const double none = std::numeric_limits<double>::infinity();
  const bool isSkipping = skipSpikes > 0;
  // With groups, the norm of all gradients is taken in addition to the one that clip-norm
  // limits.
  Value norm;
  if (gradNorm || isSkipping || !clipped->empty())
    norm = clipGradients(builder, loc, gradients,
                         clipped->empty() && clipNorm > 0 ? clipNorm : none, *layouts);
  for (auto [i, group] : llvm::enumerate(*clipped)) {
    SmallVector<Value> members;
    std::vector<ShardLayout> memberLayouts;
    for (unsigned member : group.members) {
      members.push_back(gradients[member]);
      if (!layouts->empty())
        memberLayouts.push_back((*layouts)[member]);
    }
    Value groupNorm = clipGradients(builder, loc, members, group.number, memberLayouts);
    for (auto [member, gradient] : llvm::zip_equal(group.members, members))
      gradients[member] = gradient;
    editor.addResult(groupNorm, ("grad_norm.group" + Twine(i)).str());
  }
  if (clipNorm > 0 && (!norm || !clipped->empty())) {
    Value limited = clipGradients(builder, loc, gradients, clipNorm, *layouts);
    norm = norm ? norm : limited;
  }
  if (norm)
    editor.addResult(norm, "grad_norm");
  if (!isSkipping)
    return Value();

  auto addState = [&](Type element, StringRef name) -> Value {
    return editor.addArgument(RankedTensorType::get({}, element), name,
                              Role::OptimizerState, getZerosInit(&getContext()));
  };
  Type f64 = builder.getF64Type(), i64 = builder.getI64Type();
  SpikeState state;
  state.mean = addState(f64, "grad_norm.mean");
  state.variance = addState(f64, "grad_norm.variance");
  state.count = addState(i64, "grad_norm.count");
  state.spikes = addState(i64, "grad_norm.spikes");
  SpikeDecision decision = detectSpike(builder, loc, getSpikes(), state, norm);
  editor.addResult(decision.after.mean, "grad_norm.mean", "grad_norm.mean");
  editor.addResult(decision.after.variance, "grad_norm.variance", "grad_norm.variance");
  editor.addResult(decision.after.count, "grad_norm.count", "grad_norm.count");
  editor.addResult(NotOp::create(builder, loc, decision.isNormal), "is_spike");
  nextSpikes = decision.after.spikes;
  return decision.isNormal;
}

void TrainStepPass::buildEma(OpBuilder &builder, StepEditor &editor, StringRef name,
                             Value value, Value weight) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string state = (name + ".ema").str();
  Value average = editor.addArgument(
      type.clone(getAccumulatorType(std::nullopt, type.getElementType())), state,
      Role::OptimizerState, getZerosInit(&getContext()));
  editor.addResult(updateEma(builder, value.getLoc(), average, value, weight), state,
                   state);
}

Value TrainStepPass::buildLoss(OpBuilder &builder, func::FuncOp step) {
  Operation *terminator = step.getBody().front().getTerminator();
  SmallVector<Value> losses;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (step.getResultAttr(i, kLossAttr))
      losses.push_back(value);
  if (losses.empty())
    return terminator->getOperand(0);
  Value sum = losses.front();
  for (Value loss : ArrayRef(losses).drop_front()) {
    if (loss.getType() != sum.getType())
      return {};
    sum = AddOp::create(builder, step.getLoc(), sum.getType(), sum, loss);
  }
  return sum;
}

LogicalResult TrainStepPass::checkParameter(func::FuncOp step, const StepEditor &editor,
                                            StringAttr name, Type gradient) {
  BlockArgument parameter = editor.getArgument(name.getValue());
  if (!parameter)
    return step.emitError("mpt-train-step: no argument named ")
           << name << ", which mpt.gradients names";
  auto type = dyn_cast<RankedTensorType>(parameter.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return mlir::emitError(parameter.getLoc(), "mpt-train-step: expected the parameter ")
           << name << " to be a ranked tensor of a float type, found "
           << parameter.getType();
  if (failed(verifyCompatibleShape(type, gradient)))
    return mlir::emitError(parameter.getLoc(),
                           "mpt-train-step: expected the gradient of ")
           << name << " to have the shape of the parameter, " << type << ", found "
           << gradient;
  return success();
}

LogicalResult
TrainStepPass::takeWritten(func::FuncOp step, StepEditor &editor,
                           const llvm::MapVector<StringRef, Value> &gradients) {
  const StepView view(step);
  Operation *terminator = step.getBody().front().getTerminator();
  llvm::BitVector taken(terminator->getNumOperands());
  for (auto [i, result] : llvm::enumerate(view.getResults())) {
    StringAttr name =
        result.updates ? view.getArguments()[*result.updates].name : StringAttr();
    if (!name || !gradients.contains(name.getValue()))
      continue;
    BlockArgument parameter = editor.getArgument(name.getValue());
    if (Type element = getElementTypeOrSelf(parameter.getType());
        element.getIntOrFloatBitWidth() < 32)
      return mlir::emitError(parameter.getLoc(),
                             "mpt-train-step: the forward pass changes "
                             "the parameter ")
             << name << ", which is stored in " << element
             << "; store it in f32, --mpt-autocast chooses where it is read in less";
    written.push_back({parameter, terminator->getOperand(i)});
    taken.set(i);
  }
  editor.removeResults(
      [&](OpOperand &result) { return taken[result.getOperandNumber()]; });
  return success();
}

LogicalResult TrainStepPass::run() {
  updated.clear();
  written.clear();
  nextSpikes = {};
  func::FuncOp step = findStepFunction(getOperation(), function, "mpt-train-step");
  if (!step || failed(checkOptions()))
    return failure();
  auto markers = llvm::to_vector(step.getBody().front().getOps<GradientsOp>());
  if (markers.empty() ||
      (markers.size() > 1 &&
       !llvm::all_of(markers, [](GradientsOp op) { return op->hasAttr(kLossAttr); })))
    return step.emitError("mpt-train-step: expected one mpt.gradients op, found ")
           << markers.size() << "; run --mpt-autodiff first";
  StepEditor editor(step, "mpt-train-step");
  for (GradientsOp marker : markers)
    for (auto [name, gradient] : llvm::zip_equal(marker.getNames(), marker.getInputs()))
      if (failed(
              checkParameter(step, editor, cast<StringAttr>(name), gradient.getType())))
        return failure();
  for (StringRef taken : {"step", "lr"})
    if (BlockArgument argument = editor.getArgument(taken))
      return mlir::emitError(argument.getLoc(),
                             "mpt-train-step: the function has an argument named '")
             << taken << "' already; was this pass run before? If not, rename it";
  auto counter = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
  if (BlockArgument attempt = editor.getArgument("attempt");
      attempt && attempt.getType() != counter)
    return mlir::emitError(attempt.getLoc(),
                           "mpt-train-step: expected the argument named 'attempt' to "
                           "be the counter of attempts, of type ")
           << counter << ", found " << attempt.getType();

  editor.removeResults([&](OpOperand &result) {
    return result.get().getDefiningOp<GradientsOp>() != nullptr;
  });
  Operation *terminator = step.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Location loc = step.getLoc();
  auto i64Scalar = RankedTensorType::get({}, builder.getI64Type());
  auto f32Scalar = RankedTensorType::get({}, builder.getF32Type());

  // The gradients of several losses are added after each has been unscaled.
  llvm::MapVector<StringRef, Value> sums;
  for (GradientsOp marker : markers)
    for (auto [name, gradient] :
         llvm::zip_equal(marker.getNames(), marker.getOutputs())) {
      Value &sum = sums[cast<StringAttr>(name).getValue()];
      sum = sum ? addGradients(builder, loc, sum, gradient) : gradient;
    }
  if (failed(takeWritten(step, editor, sums)))
    return failure();
  SmallVector<ParameterNames> names;
  SmallVector<Value> gradients;
  for (auto [name, sum] : sums) {
    ParameterNames &added = names.emplace_back(ParameterNames{name, {}});
    if (auto shards = getShards(step, editor.getArgument(name).getArgNumber()))
      for (const ShardLayout::Tensor &tensor : shards->layout.tensors)
        added.sharded.push_back(tensor.name);
    gradients.push_back(sum);
  }
  auto rateGroups =
      matchParameters(step, "lr-groups", lrGroups, names, /*allowsZero=*/true);
  auto decayGroups = matchParameters(step, "decay-groups", this->decayGroups, names,
                                     /*allowsZero=*/true);
  if (failed(rateGroups) || failed(decayGroups))
    return failure();
  FailureOr<Value> isNormal = buildGradients(builder, step, editor, names, gradients);
  if (failed(isNormal))
    return failure();

  Operation *const lastOfGradients = terminator->getPrevNode();
  Value one =
      ConstantOp::create(builder, loc, i64Scalar,
                         DenseElementsAttr::get(i64Scalar, builder.getI64IntegerAttr(1)));
  BlockArgument count = editor.addArgument(i64Scalar, "step", Role::OptimizerState,
                                           getZerosInit(&getContext()));
  Value nextCount = AddOp::create(builder, loc, i64Scalar, count, one);
  BlockArgument attempt = editor.getArgument("attempt");
  if (!attempt)
    attempt =
        editor.addArgument(i64Scalar, "attempt", Role::Rng, getZerosInit(&getContext()));
  Value nextAttempt = AddOp::create(builder, loc, i64Scalar, attempt, one);
  Value rate = editor.addArgument(f32Scalar, "lr", Role::Schedule,
                                  getConstantInit(&getContext(), lr));
  if (!getLearningRate().isConstant()) {
    rate = buildLearningRate(builder, loc, getLearningRate(), rate, count);
    editor.addResult(rate, "learning_rate");
  }

  llvm::StringMap<Value> given = {{"lr", rate}, {"step", nextCount}};
  SmallVector<Value> rates(names.size(), rate);
  for (auto [i, group] : llvm::enumerate(*rateGroups)) {
    std::string name = ("lr.group" + Twine(i)).str();
    Value own = editor.addArgument(f32Scalar, name, Role::Schedule,
                                   getConstantInit(&getContext(), group.number));
    if (!getLearningRate().isConstant())
      own = buildLearningRate(builder, loc, getLearningRate(), own, count);
    given[name] = own;
    for (unsigned member : group.members)
      rates[member] = own;
  }
  SmallVector<double> decays;
  for (const ParameterNames &parameter : names)
    decays.push_back(getWeightDecay(step, editor.getArgument(parameter.name)));
  for (const ParameterGroup &group : *decayGroups)
    for (unsigned member : group.members)
      decays[member] = group.number;
  if (isFunction()) {
    for (auto [parameter, gradient] : llvm::zip_equal(names, gradients))
      sums[parameter.name] = gradient;
    if (Value loss = buildLoss(builder, step))
      given["loss"] = loss;
    auto next = inlineOptimizer(findOptimizerFunction(), step, editor, sums, given);
    if (failed(next))
      return failure();
    updated = std::move(*next);
  } else {
    for (auto [parameter, gradient, lr, decay] :
         llvm::zip_equal(names, gradients, rates, decays))
      buildOptimizer(builder, step, editor, editor.getArgument(parameter.name),
                     parameter.name, gradient, lr, decay, nextCount);
  }
  // What the forward pass has written is updated.
  for (auto [parameter, value] : written)
    parameter.replaceUsesWithIf(value, [&](OpOperand &use) {
      return use.getOwner() != terminator &&
             use.getOwner()->getBlock() == terminator->getBlock() &&
             lastOfGradients->isBeforeInBlock(use.getOwner());
    });
  if (emaDecay > 0) {
    auto kind = emaWarmup == "steps"             ? EmaWarmup::Steps
                : emaWarmup == "bias-correction" ? EmaWarmup::BiasCorrection
                                                 : EmaWarmup::None;
    Value weight = buildEmaWeight(builder, loc, emaDecay, kind, nextCount);
    for (auto [parameter, value] : llvm::zip_equal(names, updated))
      buildEma(builder, editor, parameter.name, value, weight);
  }
  editor.addResult(nextCount, "step", "step");
  editor.addResult(nextAttempt, "attempt", "attempt");
  if (failed(editor.finish()))
    return failure();
  if (!*isNormal)
    return success();
  StepEditor last(step, "mpt-train-step");
  guardUpdates(step, last, *isNormal);
  // Spikes in a row count on where all else stands still.
  last.addResult(nextSpikes, "grad_norm.spikes", "grad_norm.spikes");
  return last.finish();
}

} // namespace
