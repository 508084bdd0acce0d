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

#include "StepFunction.h"
#include "mpt/Support/NumberToString.h"
#include "mpt/Transforms/Passes.h"

#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_TRAINSTEPPASS
#include "mpt/Transforms/Passes.h.inc"
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
  /// Checks that `name` is a parameter that an optimizer can update.
  LogicalResult checkParameter(func::FuncOp step, const StepEditor &editor,
                               StringAttr name, Type gradient);
  /// Removes the results `grad.*` that autodiff added.
  void buildOptimizer(OpBuilder &builder, func::FuncOp step, StepEditor &editor,
                      BlockArgument parameter, StringRef name, Value gradient,
                      Value lr, Value count);
  double getWeightDecay(func::FuncOp step, BlockArgument parameter);
};

LogicalResult TrainStepPass::checkOptions() {
  ModuleOp module = getOperation();
  if (!llvm::is_contained({"sgd", "momentum", "adam", "adamw"},
                          StringRef(optimizer)))
    return module.emitError("mpt-train-step: unknown optimizer '")
           << optimizer << "'; expected sgd, momentum, adam or adamw";
  if (decay != "matrices" && decay != "all")
    return module.emitError("mpt-train-step: unknown decay '")
           << decay << "'; expected matrices or all";
  for (auto [name, value] : {std::pair<StringRef, double>{"lr", lr},
                             {"momentum", momentum},
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
  if (nesterov && (optimizer != "momentum" || momentum == 0))
    return module.emitError("mpt-train-step: expected optimizer=momentum with a "
                            "momentum above 0 with nesterov, found optimizer=")
           << optimizer << " and momentum " << numberToString(momentum);
  return success();
}

double TrainStepPass::getWeightDecay(func::FuncOp step, BlockArgument parameter) {
  auto wanted =
      step.getArgAttrOfType<BoolAttr>(parameter.getArgNumber(), "mpt.decay");
  if (wanted)
    return wanted.getValue() ? weightDecay : 0.0;
  bool isMatrix = cast<RankedTensorType>(parameter.getType()).getRank() >= 2;
  return decay == "all" || isMatrix ? weightDecay : 0.0;
}

void TrainStepPass::buildOptimizer(OpBuilder &builder, func::FuncOp step,
                                   StepEditor &editor,
                                   BlockArgument parameter, StringRef name,
                                   Value gradient, Value lr, Value count) {
  Location loc = gradient.getLoc();
  auto type = cast<RankedTensorType>(parameter.getType());
  // State is f32 even where the parameter is stored in less.
  auto stateType =
      type.clone(getAccumulatorType(std::nullopt, type.getElementType()));
  auto addState = [&](StringRef suffix) {
    return editor.addArgument(stateType, (name + suffix).str(),
                           "optimizer_state", getZerosInit(&getContext()));
  };
  auto f64 = [&](double value) { return builder.getF64FloatAttr(value); };
  double decayed = getWeightDecay(step, parameter);

  if (optimizer == "sgd" || optimizer == "momentum") {
    Value buffer;
    SmallVector<Type> types = {type};
    if (optimizer == "momentum") {
      buffer = addState(".momentum_buffer");
      types.push_back(stateType);
    }
    auto update = SGDOp::create(
        builder, loc, types, parameter, gradient, lr, buffer, Value(),
        f64(buffer ? momentum : 0.0), f64(0.0), f64(decayed),
        buffer && nesterov ? builder.getUnitAttr() : UnitAttr());
    editor.addResult(update.getNewParam(), name, name);
    if (buffer)
      editor.addResult(update.getNewMomentumBuffer(),
                    (name + ".momentum_buffer").str(),
                    (name + ".momentum_buffer").str());
    return;
  }
  Value average = addState(".exp_avg"), square = addState(".exp_avg_sq");
  auto build = [&](auto tag) {
    using Adam = decltype(tag);
    auto update = Adam::create(builder, loc,
                               TypeRange{type, stateType, stateType}, parameter,
                               gradient, lr, average, square, count, Value(),
                               f64(beta1), f64(beta2), f64(eps), f64(decayed));
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

LogicalResult TrainStepPass::checkParameter(func::FuncOp step,
                                            const StepEditor &editor,
                                            StringAttr name, Type gradient) {
  BlockArgument parameter = editor.getArgument(name.getValue());
  if (!parameter)
    return step.emitError("mpt-train-step: no argument named ")
           << name << ", which mpt.gradients names";
  auto type = dyn_cast<RankedTensorType>(parameter.getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return step.emitError("mpt-train-step: expected the parameter ")
           << name << " to be a ranked tensor of a float type, found "
           << parameter.getType();
  if (failed(verifyCompatibleShape(type, gradient)))
    return step.emitError("mpt-train-step: expected the gradient of ")
           << name << " to have the shape of the parameter, " << type << ", found "
           << gradient;
  return success();
}

LogicalResult TrainStepPass::run() {
  func::FuncOp step = findStepFunction(getOperation(), function, "mpt-train-step");
  if (!step || failed(checkOptions()))
    return failure();
  auto markers = llvm::to_vector(step.getBody().front().getOps<GradientsOp>());
  if (markers.size() != 1)
    return step.emitError("mpt-train-step: expected one mpt.gradients op, found ")
           << markers.size() << "; run --mpt-autodiff first";
  GradientsOp marker = markers.front();
  StepEditor editor(step);
  for (auto [name, gradient] : llvm::zip_equal(marker.getNames(), marker.getInputs()))
    if (failed(checkParameter(step, editor, cast<StringAttr>(name), gradient.getType())))
      return failure();
  for (StringRef taken : {"step", "lr"})
    if (editor.getArgument(taken))
      return step.emitError("mpt-train-step: the function has an argument named '")
             << taken << "' already; was this pass run before?";
  auto counter = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
  if (BlockArgument attempt = editor.getArgument("attempt");
      attempt && attempt.getType() != counter)
    return step.emitError("mpt-train-step: expected the argument named 'attempt' to "
                          "be the counter of attempts, of type ")
           << counter << ", found " << attempt.getType();

  editor.removeResults(
      [&](Value value) { return value.getDefiningOp() == marker; });
  Operation *terminator = step.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Location loc = step.getLoc();
  auto i64Scalar = RankedTensorType::get({}, builder.getI64Type());
  auto f32Scalar = RankedTensorType::get({}, builder.getF32Type());

  SmallVector<Value> gradients(marker.getOutputs());
  if (clipNorm > 0) {
    auto clip = ClipByGlobalNormOp::create(builder, loc, gradients,
                                           builder.getF64FloatAttr(clipNorm));
    gradients.assign(clip.getClipped().begin(), clip.getClipped().end());
    editor.addResult(clip.getNorm(), "grad_norm");
  }

  Value one = ConstantOp::create(
      builder, loc, i64Scalar,
      DenseElementsAttr::get(i64Scalar, builder.getI64IntegerAttr(1)));
  BlockArgument count = editor.addArgument(i64Scalar, "step", "optimizer_state",
                                        getZerosInit(&getContext()));
  Value nextCount = AddOp::create(builder, loc, i64Scalar, count, one);
  BlockArgument attempt = editor.getArgument("attempt");
  if (!attempt)
    attempt = editor.addArgument(i64Scalar, "attempt", "rng",
                              getZerosInit(&getContext()));
  Value nextAttempt = AddOp::create(builder, loc, i64Scalar, attempt, one);
  BlockArgument rate =
      editor.addArgument(f32Scalar, "lr", "schedule",
                      getConstantInit(&getContext(), lr));

  for (auto [name, gradient] : llvm::zip_equal(marker.getNames(), gradients)) {
    StringRef text = cast<StringAttr>(name).getValue();
    buildOptimizer(builder, step, editor, editor.getArgument(text), text, gradient,
                   rate, nextCount);
  }
  editor.addResult(nextCount, "step", "step");
  editor.addResult(nextAttempt, "attempt", "attempt");
  editor.finish();
  return success();
}

} // namespace
