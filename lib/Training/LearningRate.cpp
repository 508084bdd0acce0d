//===- LearningRate.cpp - Learning-rate schedules -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-learning-rate`: puts a schedule between a step's argument `lr` and what
/// reads it. The formulas are here alone: `--mpt-train-step` and mpt-run use them.
///
//===----------------------------------------------------------------------===//

#include "LearningRate.h"
#include "GradientClipping.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"
#include "mpt/Support/NumberToString.h"
#include "mpt/Training/Passes.h"

#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_LEARNINGRATEPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult mpt::detail::checkLearningRate(Operation *op, StringRef pass,
                                             const LearningRateRule &rule) {
  if (!llvm::is_contained({"constant", "linear", "cosine", "step"}, rule.schedule))
    return op->emitError(pass) << ": unknown lr-schedule '" << rule.schedule
                               << "'; expected constant, linear, cosine or step";
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"warmup", rule.warmup},
                             {"total-steps", rule.total},
                             {"lr-step", rule.every}})
    if (value < 0)
      return op->emitError(pass)
             << ": expected " << name << " of at least 0, found " << value;
  for (auto [name, value] :
       {std::pair<StringRef, double>{"lr-final", rule.final}, {"lr-gamma", rule.gamma}})
    if (!(value >= 0) || !std::isfinite(value))
      return op->emitError(pass) << ": expected a finite " << name
                                 << " of at least 0, found " << numberToString(value);
  if ((rule.schedule == "linear" || rule.schedule == "cosine") && rule.total == 0)
    return op->emitError(pass) << ": lr-schedule=" << rule.schedule
                               << " needs total-steps=N, the steps until it ends";
  if (rule.schedule == "step" && rule.every == 0)
    return op->emitError(pass)
           << ": lr-schedule=step needs lr-step=N, the steps between two falls";
  const bool isStep = rule.schedule == "step";
  const bool falls = rule.schedule == "linear" || rule.schedule == "cosine";
  for (auto [name, isGiven, isRead, readers] :
       {std::tuple<StringRef, bool, bool, StringRef>{"lr-step", rule.every != 0, isStep,
                                                     "step"},
        {"lr-gamma", rule.gamma != 0.1, isStep, "step"},
        {"lr-final", rule.final != 0, falls, "linear or cosine"},
        {"total-steps", rule.total != 0, falls, "linear or cosine"}})
    if (isGiven && !isRead)
      return op->emitError(pass)
             << ": " << name << " has no meaning with lr-schedule=" << rule.schedule
             << "; remove it, or use lr-schedule=" << readers;
  return success();
}

Value mpt::detail::buildLearningRate(OpBuilder &builder, Location loc,
                                     const LearningRateRule &rule, Value rate,
                                     Value stepsTaken) {
  KeepsPrecision keeps(builder);
  DecomposeBuilder b(builder, loc, builder.getF64Type());
  Value taken = b.widen(stepsTaken);
  Value after = b.sub(taken, b.scalar(static_cast<double>(rule.warmup)));
  Value factor = b.scalar(1.0);
  if (rule.schedule == "linear" || rule.schedule == "cosine") {
    Value progress = b.scalar(1.0);
    if (rule.total > rule.warmup)
      progress =
          MinimumOp::create(builder, loc, progress,
                            b.div(after, static_cast<double>(rule.total - rule.warmup)));
    if (rule.schedule == "linear") {
      factor = b.add(b.mul(progress, rule.final - 1.0), 1.0);
    } else {
      Value cosine = CosOp::create(builder, loc, b.mul(progress, M_PI));
      factor = b.add(b.mul(b.add(cosine, 1.0), 0.5 * (1.0 - rule.final)), rule.final);
    }
  } else if (rule.schedule == "step") {
    Value falls =
        FloorOp::create(builder, loc, b.div(after, static_cast<double>(rule.every)));
    factor = PowOp::create(builder, loc, b.scalar(rule.gamma), falls);
  }
  if (rule.warmup > 0) {
    Value rising = b.div(b.add(taken, 1.0), static_cast<double>(rule.warmup));
    Value isRising = b.compare(taken, b.scalar(static_cast<double>(rule.warmup)),
                               ComparePredicate::LT);
    factor = b.where(isRising, rising, factor);
  }
  return b.round(b.mul(rate, factor), rate.getType());
}

namespace {

struct LearningRatePass : mpt::impl::LearningRatePassBase<LearningRatePass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
  /// The count of steps taken before this one, as state of `step`.
  FailureOr<Value> getCount(func::FuncOp step, StepEditor &editor, OpBuilder &builder);
};

/// Whether `value` is computed from `source`.
bool dependsOn(Value value, Value source) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (unsigned i = 0; i < reached.size(); ++i)
    if (Operation *op = reached[i].getDefiningOp())
      reached.insert_range(op->getOperands());
  return reached.contains(source);
}

FailureOr<Value> LearningRatePass::getCount(func::FuncOp step, StepEditor &editor,
                                            OpBuilder &builder) {
  auto i64Scalar = RankedTensorType::get({}, builder.getI64Type());
  BlockArgument count = editor.getArgument("step");
  if (count && count.getType() == i64Scalar &&
      StepView::getRole(step, count.getArgNumber()) == Role::OptimizerState)
    return Value(count);
  if (BlockArgument taken = editor.getArgument("lr.step"))
    return mlir::emitError(
        taken.getLoc(), "mpt-learning-rate: the function has an argument named "
                        "'lr.step' already; was this pass run before? If not, rename it");
  count = editor.addArgument(i64Scalar, "lr.step", Role::Schedule,
                             getZerosInit(&getContext()));
  Operation *terminator = step.getBody().front().getTerminator();
  OpBuilder atEnd(terminator);
  DecomposeBuilder b(atEnd, step.getLoc(), builder.getF64Type());
  Value next = AddOp::create(atEnd, step.getLoc(), i64Scalar, count,
                             b.integer(builder.getI64Type(), 1));
  auto i1Scalar = RankedTensorType::get({}, builder.getI1Type());
  if (std::optional<unsigned> i = StepView(step).findResult("did_step"))
    if (Value didStep = terminator->getOperand(*i); didStep.getType() == i1Scalar)
      next = SelectStateOp::create(atEnd, step.getLoc(), i64Scalar, didStep, next, count);
  editor.addResult(next, "lr.step", "lr.step");
  return Value(count);
}

LogicalResult LearningRatePass::run() {
  LearningRateRule rule{lrSchedule, warmup, totalSteps, lrFinal, lrStep, lrGamma};
  func::FuncOp step = findStepFunction(getOperation(), function, "mpt-learning-rate");
  if (!step || failed(checkLearningRate(getOperation(), "mpt-learning-rate", rule)))
    return failure();
  StepEditor editor(step, "mpt-learning-rate");
  BlockArgument rate = editor.getArgument("lr");
  auto type = rate ? dyn_cast<RankedTensorType>(rate.getType()) : RankedTensorType();
  if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return step.emitError("mpt-learning-rate: expected a scalar argument named 'lr' of a "
                          "float type; run --mpt-train-step first");
  StepView view(step);
  Operation *terminator = step.getBody().front().getTerminator();
  for (auto [i, result] : llvm::enumerate(view.getResults())) {
    const bool isUpdate = result.updates == rate.getArgNumber();
    // Another result of this name is the user's own, and StepEditor asks to rename it.
    if (isUpdate || (result.name && result.name.getValue() == "learning_rate" &&
                     !result.updates && dependsOn(terminator->getOperand(i), rate)))
      return mlir::emitError(
                 getResultLocation(step),
                 "mpt-learning-rate: the step has a schedule already: result ")
             << i << (isUpdate ? " updates 'lr'" : " is 'learning_rate'");
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
  FailureOr<Value> count = getCount(step, editor, builder);
  if (failed(count))
    return failure();
  auto schedule = [&](BlockArgument rate) {
    SmallVector<OpOperand *> readers;
    for (OpOperand &use : rate.getUses())
      if (!use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        readers.push_back(&use);
    Value scheduled = buildLearningRate(builder, step.getLoc(), rule, rate, *count);
    for (OpOperand *use : readers)
      use->set(scheduled);
    return scheduled;
  };
  editor.addResult(schedule(rate), "learning_rate");
  for (unsigned i = 0;; ++i) {
    BlockArgument own = editor.getArgument(("lr.group" + Twine(i)).str());
    if (!own || own.getType() != rate.getType() ||
        StepView::getRole(step, own.getArgNumber()) != Role::Schedule)
      return editor.finish();
    schedule(own);
  }
}

} // namespace
