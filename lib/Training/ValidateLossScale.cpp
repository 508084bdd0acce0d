//===- ValidateLossScale.cpp - Mistakes with scaled gradients -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-validate-loss-scale`: changes nothing, reports each mistake at its op.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Training/LossScaleAnalysis.h"
#include "mpt/Training/Passes.h"

#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace mpt {
#define GEN_PASS_DEF_VALIDATELOSSSCALEPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// The mistakes of one module.
class Checks {
public:
  /// With `onlyScales`, how parameters are stored is not asked.
  Checks(bool onlyScales) : onlyScales(onlyScales) {}

  LogicalResult run(ModuleOp module) {
    DataFlowSolver solver;
    dataflow::loadBaselineAnalyses(solver);
    solver.load<LossScaleAnalysis>();
    if (failed(solver.initializeAndRun(module)))
      return module.emitError("mpt-validate-loss-scale: the analysis failed");
    bool valid = true;
    module.walk([&](Operation *op) { valid &= succeeded(check(op, solver)); });
    return success(valid);
  }

private:
  LossScaling get(const DataFlowSolver &solver, Value value) {
    const auto *lattice = solver.lookupState<LossScaleLattice>(value);
    return lattice ? lattice->getValue() : LossScaling();
  }

  /// An error at `op`, which says what to do in a step of JAX.
  static InFlightDiagnostic report(Operation *op, const Twine &message) {
    InFlightDiagnostic error = op->emitError(message);
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "stablehlo" || dialect == "chlo")
      error.attachNote() << "in a step of JAX gradients are unscaled by "
                            "mpt.jax.gradients; the rule of a jax.custom_vjp gets them "
                            "unscaled in mpt.jax.train_step(.., gradients=\"jax\")";
    return error;
  }

  static std::string formatPower(const LossScaling &scaling) {
    std::string text = std::to_string(scaling.getHalves() / 2);
    return scaling.getHalves() % 2 ? std::to_string(scaling.getHalves()) + "/2" : text;
  }

  LogicalResult checkUnscale(UnscaleOp op, const DataFlowSolver &solver) {
    Value scale = op.getScale();
    for (auto [i, gradient] : llvm::enumerate(op.getGradients())) {
      LossScaling scaling = get(solver, gradient);
      if (scaling.getKind() == LossScaling::Unscaled)
        return op->emitError("gradient ")
               << i << " is unscaled already; unscale each gradient once a step, after "
               << "the last addition to it";
      if (scaling.getKind() == LossScaling::Mixed && isa<BlockArgument>(gradient))
        return op->emitError("gradient ")
               << i << " is unscaled already on one way here and not on another; unscale "
               << "each gradient once a step, after the last addition to it";
      if (scaling.getKind() == LossScaling::Scaled && scaling.getScale() != scale) {
        InFlightDiagnostic error = op->emitError("gradient ")
                                   << i << " was scaled by another scale than this one; "
                                   << "keep one scale from mpt.scale_loss to mpt.unscale "
                                   << "and update it after";
        error.attachNote(scaling.getScale().getLoc()) << "the scale that was used";
        return error;
      }
      if (scaling.getKind() == LossScaling::Scaled && scaling.getHalves() != 2)
        return op->emitError("gradient ")
               << i << " holds the scale to the power " << formatPower(scaling)
               << ", not 1; unscale gradients before their squares, norms or quotients "
               << "are used";
      if (scaling.getKind() == LossScaling::Plain)
        return op->emitError("gradient ")
               << i << " is not scaled; put mpt.scale_loss before its backward pass, or "
               << "leave mpt.unscale out";
    }
    return success();
  }

  /// Whether somebody said that this parameter has no master.
  static bool isWithoutMaster(const StepView::Argument &parameter) {
    return parameter.master && !parameter.hasMaster();
  }

  /// The name of the parameter that an optimizer reads, with a space after it, or
  /// nothing where it has none.
  static std::string getParameterName(Operation *optimizer) {
    StringAttr name = StepView::get(optimizer->getOperand(0)).name;
    return name ? "'" + name.str() + "' " : "";
  }

  /// A parameter of f16 that something other than an optimizer updates.
  LogicalResult checkParameter(func::ReturnOp end, const StepView::Argument &state,
                               Value old, Value value) {
    if (!getElementTypeOrSelf(value.getType()).isF16() ||
        (value.getDefiningOp() && getOptimizerGradient(value.getDefiningOp())) ||
        state.role != Role::Parameter || value == old || isWithoutMaster(state))
      return success();
    return end.emitError("the parameter ")
           << state.name << " is stored in f16, which loses updates below half a unit in "
           << "the last place; keep it in f32 and cast it where the network reads it, "
           << "as --mpt-master-weights does";
  }

  /// State that keeps what a scale that moves has multiplied.
  LogicalResult checkState(func::ReturnOp end, const DataFlowSolver &solver) {
    auto step = end->getParentOfType<func::FuncOp>();
    StepView view(step);
    for (auto [result, value] : llvm::zip(view.getResults(), end.getOperands())) {
      LossScaling scaling = get(solver, value);
      if (!result.updates)
        continue;
      const StepView::Argument &updated = view.getArguments()[*result.updates];
      if (!onlyScales &&
          failed(checkParameter(end, updated, step.getArgument(*result.updates), value)))
        return failure();
      if (scaling.getKind() != LossScaling::Scaled)
        continue;
      // The scales of 8-bit floats follow what matmuls read, which is scaled, and
      // saturate where it grows.
      // The next scale is not a gradient.
      if (updated.role == Role::LossScale)
        continue;
      if (StringRef state = updated.name.getValue();
          state == kFp8HistoryState || state == kFp8ScaleState)
        continue;
      auto scale = dyn_cast<BlockArgument>(scaling.getScale());
      // A scale that stays the same does no harm.
      if (scale && scale.getOwner() == &step.getBody().front() && view[scale].name &&
          (!view[scale].updatedBy || end.getOperand(*view[scale].updatedBy) == scale))
        continue;
      InFlightDiagnostic error = end.emitError("the state ")
                                 << updated.name
                                 << " keeps a value that is still scaled, "
                                 << "and the scale may be another when it is read; put "
                                 << "mpt.unscale before it";
      error.attachNote(value.getLoc()) << "the value";
      return error;
    }
    return success();
  }

  LogicalResult check(Operation *op, const DataFlowSolver &solver) {
    if (auto unscale = dyn_cast<UnscaleOp>(op))
      return checkUnscale(unscale, solver);
    if (auto scale = dyn_cast<ScaleLossOp>(op)) {
      if (get(solver, scale->getOperand(0)).isScaled())
        return op->emitError(
            "what is scaled here is scaled already; scale once, where the "
            "backward pass begins");
      return success();
    }
    if (auto clip = dyn_cast<ClipByGlobalNormOp>(op)) {
      for (auto [i, gradient] : llvm::enumerate(clip.getGradients()))
        if (get(solver, gradient).isScaled())
          return clip.emitError("gradient ")
                 << i << " is still scaled, so that the limit means another norm; put "
                 << "mpt.unscale before clipping";
      return success();
    }
    if (auto end = dyn_cast<func::ReturnOp>(op))
      return checkState(end, solver);
    if (Value gradient = getOptimizerGradient(op)) {
      if (get(solver, gradient).isScaled())
        return op->emitError("the optimizer reads a gradient that is still scaled; put "
                             "mpt.unscale before it");
      if (!onlyScales && getElementTypeOrSelf(op->getResult(0).getType()).isF16() &&
          !isWithoutMaster(StepView::get(op->getOperand(0))))
        return op->emitError("the parameter ")
               << getParameterName(op) << "is stored in f16, which loses updates below "
               << "half a unit in the last place; run --mpt-master-weights, or "
               << "say mpt.master = \"none\" on it";
      return success();
    }
    if (failed(checkSum(op, solver)) || failed(checkQuotient(op, solver)) ||
        failed(checkChoice(op, solver)) || failed(checkCurve(op, solver)))
      return failure();
    return checkMixing(op, solver);
  }

  /// A sum of a scaled value and one of parameters, data or numbers.
  LogicalResult checkSum(Operation *op, const DataFlowSolver &solver) {
    if (getScalingForm(op) != ScalingForm::Sum)
      return success();
    for (unsigned i : {0u, 1u})
      if (LossScaling::Kind other = get(solver, op->getOperand(1 - i)).getKind();
          (other == LossScaling::Plain ||
           (other == LossScaling::Constant && !hasNoMagnitude(op->getOperand(1 - i)))) &&
          isScaledData(op->getOperand(i), solver))
        return report(op, "operand ")
               << i << " is scaled and the other is not; put mpt.unscale before what is "
               << "added to gradients, such as weight decay";
    return success();
  }

  /// Whether `value` is what an extreme, a comparison or a choice may meet a scaled value
  /// with at any scale: zeros, infinities, NaNs, and the largest numbers of its type.
  static bool hasNoMagnitude(Value value) {
    DenseFPElementsAttr elements = getConstantNumbers(value);
    return elements &&
           llvm::all_of(elements.getValues<APFloat>(), [](const APFloat &number) {
             return number.isZero() || !number.isFinite() || number.isLargest();
           });
  }

  /// Whether `value` is computed from loss scales and constants alone, as the next scale
  /// is.
  static bool isScaleItself(Value value, DenseSet<Value> &seen) {
    if (!seen.insert(value).second)
      return true;
    if (SmallVector<Value> incoming = getIncoming(value); !incoming.empty())
      return llvm::all_of(incoming,
                          [&](Value each) { return isScaleItself(each, seen); });
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto step = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      return step && argument.getOwner()->isEntryBlock() &&
             StepView::getRole(step, argument.getArgNumber()) == Role::LossScale;
    }
    Operation *op = value.getDefiningOp();
    // What chooses between two scales, or says that one grows, is no float.
    return op->getNumRegions() == 0 && !isa<ScaleLossOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return !isa<FloatType>(getElementTypeOrSelf(operand.getType())) ||
                    isScaleItself(operand, seen);
           });
  }

  /// Whether `value` is data that a loss scale multiplies. One that divides what may be
  /// scaled, such as what a scan carries, unscales it.
  bool isScaledData(Value value, const DataFlowSolver &solver) {
    DenseSet<Value> seen;
    return get(solver, value).getHalves() > 0 && !isScaleItself(value, seen);
  }

  /// Whether what `op` chooses becomes an 8-bit float, whose scale follows what it reads:
  /// `op` saturates.
  static bool isSaturation(Operation *op) {
    return !op->use_empty() && llvm::all_of(op->getUsers(), [](Operation *user) {
      if (isa<CastOp>(user) || user->getName().getStringRef() == "stablehlo.convert") {
        Type type = getElementTypeOrSelf(user->getResultTypes().front());
        return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 8;
      }
      return getScalingForm(user) == ScalingForm::Choice && isSaturation(user);
    });
  }

  /// An extreme, a comparison or a choice between a scaled value and one that is not:
  /// which of both it is depends on the scale.
  LogicalResult checkChoice(Operation *op, const DataFlowSolver &solver) {
    if (getScalingForm(op) != ScalingForm::Choice || choosesFinite(op) ||
        isSaturation(op))
      return success();
    for (unsigned i : getChoices(op))
      for (unsigned j : getChoices(op)) {
        LossScaling::Kind kind = get(solver, op->getOperand(j)).getKind();
        if ((kind != LossScaling::Plain && kind != LossScaling::Constant) ||
            hasNoMagnitude(op->getOperand(j)) || !isScaledData(op->getOperand(i), solver))
          continue;
        return report(op, "operand ")
               << i << " is scaled and operand " << j
               << " is not, so that the result depends on the scale; put mpt.unscale "
                  "before what clips gradients or compares them with a limit";
      }
    return success();
  }

  /// A function that is not linear, of a scaled value.
  LogicalResult checkCurve(Operation *op, const DataFlowSolver &solver) {
    if (getScalingForm(op) != ScalingForm::Curve ||
        !isScaledData(op->getOperand(0), solver))
      return success();
    return report(op, "operand 0 is scaled, and the op is not linear, so that the scale "
                      "cannot be divided out of its result; put mpt.unscale before it");
  }

  /// A scale that is divided out of what has none any more.
  LogicalResult checkQuotient(Operation *op, const DataFlowSolver &solver) {
    const ScalingForm form = getScalingForm(op);
    if ((form != ScalingForm::Product && form != ScalingForm::Quotient) ||
        get(solver, op->getResult(0)).getHalves() >= 0)
      return success();
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (get(solver, operand).getKind() == LossScaling::Unscaled)
        return report(op, "operand ")
               << i << " is unscaled already; unscale each gradient once a step, after "
               << "the last addition to it";
    return success();
  }

  /// What adds gradients of different scales, at the first op that does.
  LogicalResult checkMixing(Operation *op, const DataFlowSolver &solver) {
    auto isMixed = [&](Value value) {
      return get(solver, value).getKind() == LossScaling::Mixed;
    };
    // What lies side by side is not added.
    if (isa<ConcatOp>(op) || op->getName().getStringRef() == "stablehlo.concatenate")
      return success();
    for (Value result : op->getResults()) {
      SmallVector<Value> incoming = getIncoming(result);
      if (incoming.empty() && op->getNumResults() == 1)
        incoming = op->getOperands();
      if (isMixed(result) && !incoming.empty() && llvm::none_of(incoming, isMixed))
        return report(op,
                      "combines gradients of different scales, or an unscaled one with "
                      "one that is still scaled; keep one scale for all micro-batches "
                      "of a step, or unscale each before they meet");
    }
    return success();
  }

  bool onlyScales;
};

/// Whether `op` is part of what a training step has and a forward function has not.
bool concernsStep(Operation *op) {
  if (isa<ScaleLossOp, UnscaleOp, ClipByGlobalNormOp>(op) || getOptimizerGradient(op))
    return true;
  auto function = dyn_cast<func::FuncOp>(op);
  return function && StepView(function).hasUpdates();
}

struct ValidateLossScalePass
    : mpt::impl::ValidateLossScalePassBase<ValidateLossScalePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module
             .walk([](Operation *op) {
               return concernsStep(op) ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted())
      warnOfNothingToDo(module, getArgument(),
                        "no loss scale, no optimizer and no result with mpt.updates");
    if (failed(Checks(/*onlyScales=*/false).run(module)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

LogicalResult mpt::checkScaledGradients(ModuleOp module) {
  return Checks(/*onlyScales=*/true).run(module);
}
