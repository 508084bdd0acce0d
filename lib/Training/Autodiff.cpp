//===- Autodiff.cpp - Reverse-mode differentiation -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-autodiff`: walks a forward function backwards from its loss and asks
/// each op on a path from a parameter for its vector-Jacobian product.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Training/Passes.h"

#include "mlir/Transforms/RegionUtils.h"

namespace mpt {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// Replaces each `mpt.checkpoint` by its body, whose ops are marked to be recomputed
/// rather than saved.
void inlineCheckpoints(func::FuncOp function) {
  SmallVector<CheckpointOp> checkpoints;
  function.walk([&](CheckpointOp op) { checkpoints.push_back(op); });
  Builder builder(function.getContext());
  for (CheckpointOp checkpoint : checkpoints) {
    Block &body = checkpoint.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    for (Operation &op : body.without_terminator())
      op.setAttr(kSaveAttr, builder.getStringAttr("never"));
    // What leaves the region is saved.
    for (Value value : yield.getValues())
      if (Operation *op = value.getDefiningOp())
        if (op->getBlock() == &body)
          op->removeAttr(kSaveAttr);
    SmallVector<Value> values(yield.getValues());
    checkpoint->getBlock()->getOperations().splice(checkpoint->getIterator(),
                                                   body.getOperations(), body.begin(),
                                                   std::prev(body.end()));
    checkpoint->replaceAllUsesWith(values);
    checkpoint->erase();
  }
}

class Differentiator {
public:
  explicit Differentiator(func::FuncOp function)
      : function(function), block(function.getBody().front()),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  /// Marks every value that depends on a parameter and can carry a gradient.
  void findActive();
  /// The results that are losses, by number: those with `mpt.loss`, else the first.
  FailureOr<SmallVector<unsigned>> findLosses();
  /// Appends the backward pass of `loss`.
  LogicalResult differentiateLoss(Value loss, ArrayRef<Operation *> forward);
  /// Appends the markers of all gradients, and returns these from the function.
  LogicalResult addMarkers(ArrayRef<unsigned> losses);
  FailureOr<Value> makeZeros(BlockArgument parameter, StringRef name);
  LogicalResult differentiate(Operation *op);
  void accumulate(Value value, Value gradient);
  bool isActive(Value value) const { return active.contains(value); }
  /// True if a region of `op` uses an active value from above.
  bool capturesActive(Operation *op) const;

  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  SmallVector<BlockArgument> parameters;
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
  /// Of each loss: its seed, and its gradients of `parameters`, null where there is none.
  SmallVector<GradSeedOp> seeds;
  SmallVector<SmallVector<Value>> parameterGradients;
};

void Differentiator::findActive() {
  active.insert(parameters.begin(), parameters.end());
  for (Operation &op : block.without_terminator()) {
    bool dependsOnParameter =
        llvm::any_of(op.getOperands(), [&](Value v) { return isActive(v); }) ||
        capturesActive(&op);
    if (isa<StopGradientOp>(op) || !dependsOnParameter)
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
}

bool Differentiator::capturesActive(Operation *op) const {
  bool captures = false;
  for (Region &region : op->getRegions())
    visitUsedValuesDefinedAbove(
        region, region, [&](OpOperand *use) { captures |= isActive(use->get()); });
  return captures;
}

void Differentiator::accumulate(Value value, Value gradient) {
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, gradient.getLoc(), value.getType(), sum, gradient)
                  .getResult()
            : gradient;
}

LogicalResult Differentiator::differentiate(Operation *op) {
  SmallVector<Value> resultGrads;
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGrads, [](Value gradient) { return gradient; }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(isActive(operand));
  if (llvm::none_of(needed, [](bool need) { return need; }) && !capturesActive(op))
    return success();
  auto rule = dyn_cast<DifferentiableOpInterface>(op);
  if (!rule) {
    InFlightDiagnostic diagnostic = op->emitError("'")
                                    << op->getName()
                                    << "' is on a path from a parameter to the loss but "
                                       "has no gradient rule";
    if (op->getNumRegions() > 0)
      diagnostic << "; unroll or inline it first";
    else if (op->getName().getStringRef() == "func.call")
      diagnostic << "; inline the call first (--inline)";
    else
      diagnostic << "; cut the path with mpt.stop_gradient if it needs none";
    return diagnostic;
  }
  SmallVector<Value> operandGrads(op->getNumOperands());
  // Where a rule reads only some results' gradients, the first may be missing.
  if (failed(rule.buildGradients(builder, resultGrads, needed, operandGrads)))
    return failure();
  for (auto [operand, gradient, need] :
       llvm::zip_equal(op->getOperands(), operandGrads, needed)) {
    if (!need || !gradient)
      continue;
    if (gradient.getType() != operand.getType()) {
      auto type = cast<RankedTensorType>(operand.getType());
      if (cast<ShapedType>(gradient.getType()).getShape() != type.getShape())
        gradient = ReshapeOp::create(builder, op->getLoc(),
                                     type.clone(getElementTypeOrSelf(gradient.getType())),
                                     gradient);
      if (gradient.getType() != type)
        gradient = CastOp::create(builder, op->getLoc(), type, gradient);
    }
    accumulate(operand, gradient);
  }
  return success();
}

FailureOr<SmallVector<unsigned>> Differentiator::findLosses() {
  Operation *terminator = block.getTerminator();
  SmallVector<unsigned> losses;
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    if (function.getResultAttr(i, kLossAttr))
      losses.push_back(i);
  const bool isMarked = !losses.empty();
  if (!isMarked)
    losses.push_back(0);
  auto isScalarFloat = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
  };
  for (unsigned i : losses) {
    Type type = i < terminator->getNumOperands()
                    ? terminator->getOperand(i).getType()
                    : Type(NoneType::get(function.getContext()));
    if (!isMarked && !isScalarFloat(type))
      return mlir::emitError(getResultLocation(function),
                             "mpt-autodiff: expected the function's first result "
                             "to be the loss, a scalar float tensor; found ")
             << type;
    if (!isScalarFloat(type))
      return mlir::emitError(getResultLocation(function),
                             "mpt-autodiff: expected result ")
             << i << ", which has 'mpt.loss', to be a scalar float tensor; found "
             << type;
    if (isMarked && !StepView::getResultName(function, i))
      return mlir::emitError(getResultLocation(function),
                             "mpt-autodiff: expected a 'mpt.name' on result ")
             << i << ", which has 'mpt.loss'";
  }
  return losses;
}

LogicalResult Differentiator::differentiateLoss(Value loss,
                                                ArrayRef<Operation *> forward) {
  gradients.clear();
  GradSeedOp seed = GradSeedOp::create(builder, loss.getLoc(), loss.getType());
  gradients[loss] = seed;
  seeds.push_back(seed);
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();
  SmallVector<Value> &values = parameterGradients.emplace_back();
  for (BlockArgument parameter : parameters)
    values.push_back(gradients.lookup(parameter));
  return success();
}

FailureOr<Value> Differentiator::makeZeros(BlockArgument parameter, StringRef name) {
  mlir::emitWarning(parameter.getLoc(), "mpt-autodiff: parameter '")
      << name << "' does not reach the loss; its gradient is zero";
  auto type = cast<RankedTensorType>(parameter.getType());
  if (!type.hasStaticShape())
    return mlir::emitError(parameter.getLoc(),
                           "mpt-autodiff: expected parameters of static shape, found ")
           << type;
  return ConstantOp::create(builder, function.getLoc(), type,
                            DenseElementsAttr::get(
                                type, builder.getFloatAttr(type.getElementType(), 0.0)))
      .getResult();
}

LogicalResult Differentiator::addMarkers(ArrayRef<unsigned> losses) {
  StepEditor editor(function, "mpt-autodiff");
  for (auto [k, result] : llvm::enumerate(losses)) {
    std::string prefix = "grad.";
    StringAttr loss;
    if (function.getResultAttr(result, kLossAttr)) {
      loss = StepView::getResultName(function, result);
      prefix += loss.getValue().str() + ".";
    }
    SmallVector<Value> values;
    SmallVector<Attribute> names;
    for (auto [i, parameter] : llvm::enumerate(parameters)) {
      StringAttr name = StepView::getName(function, parameter.getArgNumber());
      Value gradient = parameterGradients[k][i];
      // What one of several losses does not reach has no gradient of it; what none
      // reaches has zeros, of the first.
      if (!gradient &&
          (k > 0 || llvm::any_of(parameterGradients, [&, at = i](const auto &other) {
             return bool(other[at]);
           })))
        continue;
      if (!gradient) {
        FailureOr<Value> zeros = makeZeros(parameter, name.getValue());
        if (failed(zeros))
          return failure();
        gradient = *zeros;
      }
      values.push_back(gradient);
      names.push_back(name);
    }
    if (values.empty())
      return function.emitError("mpt-autodiff: no parameter reaches the loss ") << loss;
    auto marker = GradientsOp::create(builder, function.getLoc(), values,
                                      builder.getArrayAttr(names));
    if (loss) {
      marker->setAttr(kLossAttr, loss);
      seeds[k]->setAttr(kLossAttr, loss);
    }
    for (auto [name, gradient] : llvm::zip_equal(names, marker.getOutputs()))
      editor.addResult(gradient, prefix + cast<StringAttr>(name).getValue().str());
  }
  return editor.finish();
}

LogicalResult Differentiator::run() {
  FailureOr<SmallVector<unsigned>> losses = findLosses();
  if (failed(losses))
    return failure();
  if (!block.getOps<GradSeedOp>().empty())
    return function.emitError("mpt-autodiff: the function has a mpt.grad_seed: it "
                              "was differentiated before");
  for (BlockArgument argument : function.getArguments()) {
    if (StepView::getRole(function, argument.getArgNumber()) != Role::Parameter)
      continue;
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return mlir::emitError(argument.getLoc(),
                             "mpt-autodiff: expected parameters to be ranked "
                             "tensors of a float type, found argument ")
             << argument.getArgNumber() << " of type " << argument.getType();
    if (!StepView::getName(function, argument.getArgNumber()))
      return mlir::emitError(argument.getLoc(),
                             "mpt-autodiff: expected a 'mpt.name' on every "
                             "parameter, found none on argument ")
             << argument.getArgNumber();
    parameters.push_back(argument);
  }
  if (parameters.empty())
    return function.emitError("mpt-autodiff: expected an argument with mpt.role "
                              "= \"parameter\" to differentiate for, found none");

  // Here, where the results are the user's own, and not where a tool needs the name.
  warnOfUnnamedResults(function, "mpt-autodiff");

  inlineCheckpoints(function);
  Operation *terminator = block.getTerminator();
  findActive();
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);

  builder.setInsertionPoint(terminator);
  for (unsigned result : *losses)
    if (failed(differentiateLoss(terminator->getOperand(result), forward)))
      return failure();
  return addMarkers(*losses);
}

struct AutodiffPass : mpt::impl::AutodiffPassBase<AutodiffPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp forward = findStepFunction(getOperation(), function, "mpt-autodiff");
    if (!forward || failed(Differentiator(forward).run()))
      signalPassFailure();
  }
};

} // namespace
