//===- LossScaleAnalysis.cpp - Which values carry the loss scale -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Training/LossScaleAnalysis.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/StepView.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpt;

/// The name of an op of StableHLO or CHLO, without its dialect; empty for others.
static StringRef getStableHLOName(Operation *op) {
  auto [dialect, name] = op->getName().getStringRef().split('.');
  return dialect == "stablehlo" || dialect == "chlo" ? name : StringRef();
}

/// The form of an op of StableHLO, whose operands nobody has verified.
static ScalingForm getForm(StringRef name, Operation *op) {
  auto form =
      llvm::StringSwitch<ScalingForm>(name)
          .Cases({"add", "subtract"}, ScalingForm::Sum)
          .Cases({"multiply", "dot_general", "dot", "convolution"}, ScalingForm::Product)
          .Case("divide", ScalingForm::Quotient)
          .Case("sqrt", ScalingForm::SquareRoot)
          .Case("rsqrt", ScalingForm::InverseRoot)
          .Case("square", ScalingForm::Square)
          .Case("power", ScalingForm::Power)
          .Case("sign", ScalingForm::Sign)
          .Cases({"maximum", "minimum", "compare", "select", "clamp"},
                 ScalingForm::Choice)
          .Cases({"exponential", "exponential_minus_one", "log", "log_plus_one"},
                 ScalingForm::Curve)
          .Cases({"tanh", "logistic", "sine", "cosine", "tan", "cbrt"},
                 ScalingForm::Curve)
          .Cases({"floor", "ceil", "round_nearest_even", "round_nearest_afz"},
                 ScalingForm::Curve)
          .Cases({"erf", "erfc", "erf_inv", "acos", "acosh", "asin", "asinh"},
                 ScalingForm::Curve)
          .Cases({"atan", "atanh", "cosh", "sinh", "digamma", "lgamma"},
                 ScalingForm::Curve)
          .Case("optimization_barrier", ScalingForm::SideBySide)
          .Default(ScalingForm::Linear);
  unsigned least = 1;
  if (llvm::is_contained({ScalingForm::Sum, ScalingForm::Product, ScalingForm::Quotient,
                          ScalingForm::Power, ScalingForm::Choice},
                         form))
    least = name == "select" || name == "clamp" ? 3 : 2;
  return op->getNumOperands() < least || op->getNumResults() == 0 ? ScalingForm::Linear
                                                                  : form;
}

ScalingForm mpt::getScalingForm(Operation *op) {
  if (StringRef name = getStableHLOName(op); !name.empty())
    return getForm(name, op);
  return TypeSwitch<Operation *, ScalingForm>(op)
      .Case<AddOp, SubOp>([](auto) { return ScalingForm::Sum; })
      .Case<MulOp, MatmulOp>([](auto) { return ScalingForm::Product; })
      .Case<DivOp>([](auto) { return ScalingForm::Quotient; })
      .Case<SqrtOp>([](auto) { return ScalingForm::SquareRoot; })
      .Case<RsqrtOp>([](auto) { return ScalingForm::InverseRoot; })
      .Case<ReciprocalOp>([](auto) { return ScalingForm::Inverse; })
      .Case<PowOp>([](auto) { return ScalingForm::Power; })
      .Case<SignOp>([](auto) { return ScalingForm::Sign; })
      .Case<MaximumOp, MinimumOp, CompareOp, WhereOp>(
          [](auto) { return ScalingForm::Choice; })
      .Case<ExpOp, LogOp, Log1pOp, TanhOp, SigmoidOp, ErfOp, SinOp, CosOp, SiluOp,
            SoftplusOp, GeluOp, FloorOp, SoftmaxOp, LogSoftmaxOp>(
          [](auto) { return ScalingForm::Curve; })
      .Case<GradientsOp, ClipByGlobalNormOp, BarrierOp>(
          [](auto) { return ScalingForm::SideBySide; })
      .Default([](Operation *other) {
        return isCollective(other) ? ScalingForm::SideBySide : ScalingForm::Linear;
      });
}

SmallVector<unsigned, 3> mpt::getChoices(Operation *op) {
  StringRef name = getStableHLOName(op);
  if (isa<WhereOp>(op) || name == "select")
    return {1, 2};
  if (name == "clamp")
    return {0, 1, 2};
  return {0, 1};
}

bool mpt::choosesFinite(Operation *op) {
  if (!isa<WhereOp>(op) && getStableHLOName(op) != "select")
    return false;
  Operation *condition = op->getOperand(0).getDefiningOp();
  return condition &&
         (isa<IsFiniteOp>(condition) || getStableHLOName(condition) == "is_finite");
}

DenseFPElementsAttr mpt::getConstantNumbers(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    StringRef name = getStableHLOName(op);
    if (name == "constant") {
      Attribute numbers = op->getDiscardableAttr("value");
      if (auto properties =
              dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
          !numbers && properties)
        numbers = properties.get("value");
      return dyn_cast_or_null<DenseFPElementsAttr>(numbers);
    }
    if (!isa<BroadcastOp, ReshapeOp, CastOp>(op) && name != "broadcast_in_dim" &&
        name != "reshape" && name != "convert")
      break;
    value = op->getOperand(0);
  }
  DenseFPElementsAttr numbers;
  return matchPattern(value, m_Constant(&numbers)) ? numbers : DenseFPElementsAttr();
}

SmallVector<Value> mpt::getIncoming(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  StringRef name = op->getName().getStringRef();
  auto scan = dyn_cast<ScanOp>(op);
  const bool carries = scan || name == "stablehlo.while",
             passes = carries || name == "sdy.manual_computation",
             branches = isa<CheckpointOp>(op) || name == "stablehlo.if" ||
                        name == "stablehlo.case";
  if ((argument && !passes) || (!passes && !branches))
    return {};
  const unsigned index =
      argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber();
  const bool isCarried = carries && (!scan || index < scan.getNumCarried());
  SmallVector<Value> incoming;
  if ((argument || isCarried) && index < op->getNumOperands())
    incoming.push_back(op->getOperand(index));
  if (argument && !isCarried)
    return incoming;
  // The condition of a while yields no next value.
  MutableArrayRef<Region> regions = op->getRegions();
  if (carries && !scan && !regions.empty())
    regions = regions.drop_front();
  for (Region &region : regions)
    if (!region.empty() && !region.front().empty() &&
        index < region.front().back().getNumOperands())
      incoming.push_back(region.front().back().getOperand(index));
  return incoming;
}

void LossScaleAnalysis::setToEntryState(LossScaleLattice *lattice) {
  LossScaling scaling(LossScaling::External);
  auto argument = dyn_cast<BlockArgument>(lattice->getAnchor());
  auto step = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
                       : FunctionOpInterface();
  std::optional<Role> role;
  if (step && argument.getOwner()->isEntryBlock())
    role = StepView::getRole(step, argument.getArgNumber());
  if (role == Role::LossScale && isa<FloatType>(getElementTypeOrSelf(argument.getType())))
    scaling = LossScaling::getScaled(argument, 2);
  else if (role && role != Role::OptimizerState)
    scaling = LossScaling::Plain;
  propagateIfChanged(lattice, lattice->join(scaling));
}

/// The product of `a` and `b` to the power `sign`, 1 or -1.
static LossScaling multiply(const LossScaling &a, const LossScaling &b, int sign) {
  if (a.getKind() == LossScaling::Mixed || b.getKind() == LossScaling::Mixed)
    return {LossScaling::Mixed};
  if (a.getHalves() == 0 && b.getHalves() == 0)
    return LossScaling::join(a, b);
  if (a.getHalves() != 0 && b.getHalves() != 0 && a.getScale() != b.getScale())
    return {LossScaling::Mixed};
  return LossScaling::getScaled(a.getHalves() ? a.getScale() : b.getScale(),
                                a.getHalves() + sign * b.getHalves());
}

/// `a` to the power `numerator` / `denominator`.
static LossScaling raise(const LossScaling &a, int numerator, int denominator) {
  if (a.getHalves() == 0)
    return a;
  if (a.getHalves() * numerator % denominator != 0)
    return {LossScaling::Mixed};
  return LossScaling::getScaled(a.getScale(), a.getHalves() * numerator / denominator);
}

void LossScaleAnalysis::joinIncoming(LossScaleLattice *lattice, ProgramPoint *point) {
  SmallVector<Value> incoming = getIncoming(lattice->getAnchor());
  if (incoming.empty())
    return setToEntryState(lattice);
  for (Value value : incoming)
    propagateIfChanged(lattice,
                       lattice->join(getLatticeElementFor(point, value)->getValue()));
}

void LossScaleAnalysis::visitNonControlFlowArguments(
    Operation *op, const RegionSuccessor &successor,
    ArrayRef<LossScaleLattice *> arguments, unsigned firstIndex) {
  if (isa<RegionBranchOpInterface>(op))
    return SparseForwardDataFlowAnalysis::visitNonControlFlowArguments(
        op, successor, arguments, firstIndex);
  for (LossScaleLattice *argument : arguments)
    joinIncoming(argument, getProgramPointBefore(
                               cast<BlockArgument>(argument->getAnchor()).getOwner()));
}

LogicalResult
LossScaleAnalysis::visitOperation(Operation *op,
                                  ArrayRef<const LossScaleLattice *> operands,
                                  ArrayRef<LossScaleLattice *> results) {
  auto set = [&](LossScaleLattice *lattice, LossScaling value) {
    propagateIfChanged(lattice, lattice->join(value));
  };
  if (auto scale = dyn_cast<ScaleLossOp>(op)) {
    set(results[0], LossScaling::getScaled(scale.getScale(), 2));
    return success();
  }
  if (auto unscale = dyn_cast<UnscaleOp>(op)) {
    for (size_t i = 0; i < results.size(); ++i)
      set(results[i],
          i < unscale.getUnscaled().size() ? LossScaling::Unscaled : LossScaling::Plain);
    return success();
  }
  // New parameters and moments.
  if (isa<SGDOp, AdamOp, AdamWOp>(op)) {
    for (LossScaleLattice *result : results)
      set(result, LossScaling::Plain);
    return success();
  }
  if (!results.empty() && !getIncoming(results[0]->getAnchor()).empty()) {
    for (LossScaleLattice *result : results)
      joinIncoming(result, getProgramPointAfter(op));
    return success();
  }
  const ScalingForm form = getScalingForm(op);
  switch (form) {
  case ScalingForm::Product:
  case ScalingForm::Quotient: {
    const LossScaling &a = operands[0]->getValue(), &b = operands[1]->getValue();
    if (a.getKind() != LossScaling::Unknown && b.getKind() != LossScaling::Unknown)
      set(results[0], multiply(a, b, form == ScalingForm::Quotient ? -1 : 1));
    return success();
  }
  case ScalingForm::SquareRoot:
    set(results[0], raise(operands[0]->getValue(), 1, 2));
    return success();
  case ScalingForm::InverseRoot:
    set(results[0], raise(operands[0]->getValue(), -1, 2));
    return success();
  case ScalingForm::Inverse:
    set(results[0], raise(operands[0]->getValue(), -1, 1));
    return success();
  case ScalingForm::Square:
    set(results[0], raise(operands[0]->getValue(), 2, 1));
    return success();
  case ScalingForm::Sign:
    set(results[0], raise(operands[0]->getValue(), 0, 1));
    return success();
  case ScalingForm::Power: {
    // A power of which twice the exponent is whole.
    const LossScaling &base = operands[0]->getValue();
    DenseFPElementsAttr exponents =
        base.getHalves() != 0 ? getConstantNumbers(op->getOperand(1)) : nullptr;
    if (exponents && exponents.isSplat()) {
      double twice = 2 * exponents.getSplatValue<APFloat>().convertToDouble();
      set(results[0], std::abs(twice) < 64 && twice == std::floor(twice)
                          ? raise(base, int(twice), 2)
                          : LossScaling(LossScaling::Mixed));
      return success();
    }
    break;
  }
  case ScalingForm::Choice:
    // What is not finite has any scale: a choice by that is as its finite side.
    if (choosesFinite(op)) {
      set(results[0], operands[1]->getValue());
      return success();
    }
    break;
  default:
    break;
  }
  LossScaling all(LossScaling::Constant);
  for (const LossScaleLattice *operand : operands) {
    // Wait until all is known: what a loop brings may come later.
    if (operand->getValue().getKind() == LossScaling::Unknown)
      continue;
    all = LossScaling::join(all, operand->getValue());
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    const bool isFloat =
        isa<FloatType>(getElementTypeOrSelf(result->getAnchor().getType()));
    if (!isFloat)
      set(result, LossScaling::Plain);
    else if (form == ScalingForm::SideBySide && i < operands.size())
      set(result, operands[i]->getValue());
    else
      set(result, all);
  }
  return success();
}
