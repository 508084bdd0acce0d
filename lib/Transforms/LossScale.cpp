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

#include "StepFunction.h"
#include "mpt/Transforms/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_LOSSSCALEPASS
#include "mpt/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct LossScalePass : mpt::impl::LossScalePassBase<LossScalePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (mode != "dynamic" && mode != "static") {
      module.emitError("mpt-loss-scale: unknown mode '")
          << mode << "'; expected dynamic or static";
      return signalPassFailure();
    }
    if (!(initScale > 0)) {
      module.emitError("mpt-loss-scale: init-scale must be above 0, got ")
          << std::to_string(initScale);
      return signalPassFailure();
    }
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
      module.emitError("mpt-loss-scale: no function holds mpt.gradients; run "
                       "--mpt-autodiff and --mpt-train-step first");
      return signalPassFailure();
    }
  }

private:
  LogicalResult scale(func::FuncOp step);
  LogicalResult guard(func::FuncOp step, const StepEditor &editor, Value allFinite,
                      OpBuilder &builder);
};

/// Gives `op` the predicate if it is an optimizer.
bool guardOptimizer(Operation *op, Value predicate) {
  if (auto sgd = dyn_cast_or_null<SGDOp>(op)) {
    sgd.getPredicateMutable().assign(predicate);
    return true;
  }
  if (auto adam = dyn_cast_or_null<AdamOp>(op)) {
    adam.getPredicateMutable().assign(predicate);
    return true;
  }
  if (auto adamw = dyn_cast_or_null<AdamWOp>(op)) {
    adamw.getPredicateMutable().assign(predicate);
    return true;
  }
  return false;
}

LogicalResult LossScalePass::guard(func::FuncOp step, const StepEditor &editor,
                                   Value allFinite, OpBuilder &builder) {
  Operation *terminator = step.getBody().front().getTerminator();
  bool anyUpdate = false;
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto name = step.getResultAttrOfType<StringAttr>(operand.getOperandNumber(),
                                                     kUpdatesAttr);
    if (!name)
      continue;
    BlockArgument old = editor.getArgument(name.getValue());
    auto role = step.getArgAttrOfType<StringAttr>(old.getArgNumber(), kRoleAttr);
    // Random numbers and the position in the data always advance.
    if (operand.get() == old || (role && role.getValue() == "rng"))
      continue;
    anyUpdate = true;
    if (!guardOptimizer(operand.get().getDefiningOp(), allFinite))
      operand.set(SelectStateOp::create(builder, operand.get().getLoc(),
                                        old.getType(), allFinite, operand.get(),
                                        old));
  }
  if (anyUpdate)
    return success();
  return step.emitError("mpt-loss-scale: the function updates nothing; run "
                        "--mpt-train-step first");
}

LogicalResult LossScalePass::scale(func::FuncOp step) {
  Block &block = step.getBody().front();
  auto seeds = llvm::to_vector(block.getOps<GradSeedOp>());
  auto markers = llvm::to_vector(block.getOps<GradientsOp>());
  if (seeds.size() != 1 || markers.size() != 1)
    return step.emitError("mpt-loss-scale: expected one mpt.grad_seed and one "
                          "mpt.gradients, found ")
           << seeds.size() << " and " << markers.size();
  if (!block.getOps<ScaleLossOp>().empty() || !block.getOps<UnscaleOp>().empty())
    return step.emitError("mpt-loss-scale: the loss is scaled already; run this "
                          "pass once");
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  MLIRContext *context = &getContext();
  auto f32Scalar = RankedTensorType::get({}, builder.getF32Type());
  StepEditor editor(step);
  BlockArgument scale = editor.addArgument(f32Scalar, "loss_scale", "loss_scale",
                                           getConstantInit(context, initScale));

  GradSeedOp seed = seeds.front();
  builder.setInsertionPointAfter(seed);
  auto scaled = ScaleLossOp::create(builder, seed.getLoc(), seed.getType(), seed, scale);
  seed.getSeed().replaceAllUsesExcept(scaled, scaled);

  GradientsOp marker = markers.front();
  builder.setInsertionPointAfter(marker);
  auto unscale =
      UnscaleOp::create(builder, marker.getLoc(), marker.getOutputs(), scale);
  for (auto [gradient, unscaled] :
       llvm::zip_equal(marker.getOutputs(), unscale.getUnscaled()))
    gradient.replaceAllUsesExcept(unscaled, unscale);

  builder.setInsertionPoint(terminator);
  Value allFinite = unscale.getAllFinite();
  if (failed(guard(step, editor, allFinite, builder)))
    return failure();
  Value foundInf = NotOp::create(builder, unscale.getLoc(), allFinite);
  editor.addResult(foundInf, "found_inf");
  editor.addResult(allFinite, "did_step");
  if (mode == "static") {
    editor.finish();
    return success();
  }
  BlockArgument tracker = editor.addArgument(
      RankedTensorType::get({}, builder.getI32Type()),
      "loss_scale.growth_tracker", "loss_scale", getZerosInit(context));
  auto update = UpdateLossScaleOp::create(
      builder, unscale.getLoc(), scale, tracker, allFinite,
      builder.getF64FloatAttr(growthFactor), builder.getF64FloatAttr(backoffFactor),
      builder.getI64IntegerAttr(growthInterval));
  editor.addResult(update.getNewScale(), "loss_scale", "loss_scale");
  editor.addResult(update.getNewTracker(), "loss_scale.growth_tracker",
                   "loss_scale.growth_tracker");
  editor.finish();
  return success();
}

} // namespace
