//===- StepFunction.cpp - Helpers of passes over step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Dialect/MPT/IR/StepView.h"

#include "mlir/IR/Builders.h"
#include "mpt/Support/ElementCount.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpt;
using mpt::detail::StepEditor;

Location mpt::detail::getModuleLocation(ModuleOp module) {
  auto written = dyn_cast<FileLineColLoc>(module.getLoc());
  if (!written || written.getLine() != 0)
    return module.getLoc();
  auto functions = module.getOps<FunctionOpInterface>();
  if (!functions.empty())
    return (*functions.begin()).getLoc();
  return FileLineColLoc::get(written.getFilename(), 1, 1);
}

func::FuncOp mpt::detail::findStepFunction(ModuleOp module, StringRef name,
                                           StringRef pass) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  SmallVector<func::FuncOp> named;
  for (func::FuncOp candidate : functions)
    if (!candidate.isDeclaration() && (name.empty() || candidate.getName() == name))
      named.push_back(candidate);
  if (named.size() != 1) {
    InFlightDiagnostic diagnostic = mlir::emitError(getModuleLocation(module), pass)
                                    << ": ";
    if (functions.empty())
      diagnostic << "there is no function in this module";
    else if (name.empty())
      diagnostic << "expected one function with a body, found " << named.size();
    else
      diagnostic << "no function '" << name << "' with a body";
    if (!functions.empty())
      diagnostic << "; name one with function=";
    for (func::FuncOp candidate : functions)
      diagnostic.attachNote(candidate.getLoc())
          << "there is '" << candidate.getName() << "'";
    return {};
  }
  func::FuncOp function = named.front();
  if (!function.getBody().hasOneBlock()) {
    function.emitError(pass) << ": expected a function of one block, found "
                             << function.getBody().getBlocks().size()
                             << " (branches cannot be differentiated or planned)";
    return {};
  }
  return function;
}

LogicalResult mpt::detail::checkStaticShapes(Operation *op, StringRef pass) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && !tensor.hasStaticShape())
        return op->emitError() << pass << ": expected static shapes, found " << type
                               << "; run --mpt-specialize first";
      if (tensor && !countElements(tensor.getShape()))
        return op->emitError()
               << pass
               << ": a value of more than 2^50 elements cannot be planned: " << type;
    }
  return success();
}

StepEditor::StepEditor(func::FuncOp function, StringRef pass)
    : function(function), pass(pass), numGivenArguments(function.getNumArguments()) {
  Attribute none = DictionaryAttr::get(function.getContext());
  argumentAttributes.assign(function.getNumArguments(), none);
  resultAttributes.assign(function.getNumResults(), none);
  if (ArrayAttr given = function.getArgAttrsAttr())
    argumentAttributes.assign(given.begin(), given.end());
  if (ArrayAttr given = function.getResAttrsAttr())
    resultAttributes.assign(given.begin(), given.end());
  for (auto [argument, attributes] :
       llvm::zip_equal(function.getArguments(), argumentAttributes))
    if (StringAttr name = StepView::getName(cast<DictionaryAttr>(attributes)))
      arguments.try_emplace(name.getValue(), argument);
}

BlockArgument StepEditor::addArgument(Type type, StringRef name, Role role,
                                      Attribute init) {
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
      builder.getNamedAttr(kRoleAttr, builder.getStringAttr(stringifyRole(role)))};
  if (init)
    attributes.push_back(builder.getNamedAttr(kInitAttr, init));
  argumentAttributes.push_back(builder.getDictionaryAttr(attributes));
  BlockArgument argument =
      function.getBody().front().addArgument(type, function.getLoc());
  arguments.try_emplace(name, argument);
  return argument;
}

void StepEditor::addResult(Value value, StringRef name, StringRef updates,
                           std::optional<NamedAttribute> attribute) {
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name))};
  if (!updates.empty())
    attributes.push_back(
        builder.getNamedAttr(kUpdatesAttr, builder.getStringAttr(updates)));
  if (attribute)
    attributes.push_back(*attribute);
  resultAttributes.push_back(builder.getDictionaryAttr(attributes));
  added.push_back(value);
}

void StepEditor::removeResults(llvm::function_ref<bool(OpOperand &)> isRemoved) {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::BitVector removed(terminator->getNumOperands());
  SmallVector<Attribute> kept;
  for (OpOperand &result : terminator->getOpOperands()) {
    const unsigned i = result.getOperandNumber();
    if (isRemoved(result))
      removed.set(i);
    else
      kept.push_back(resultAttributes[i]);
  }
  kept.append(resultAttributes.begin() + removed.size(), resultAttributes.end());
  resultAttributes = std::move(kept);
  terminator->eraseOperands(removed);
}

LogicalResult StepEditor::checkArgumentNames() {
  llvm::StringMap<unsigned> given;
  for (auto [i, attributes] : llvm::enumerate(argumentAttributes)) {
    StringAttr name = StepView::getName(cast<DictionaryAttr>(attributes));
    if (!name)
      continue;
    auto [it, isNew] = given.try_emplace(name, i);
    if (!isNew)
      return mlir::emitError(getArgumentLocation(function, it->second))
             << pass << ": argument " << it->second << " is called '" << name.getValue()
             << "', as an argument that this pass adds; rename it";
  }
  return success();
}

LogicalResult StepEditor::checkResultNames() {
  llvm::StringMap<unsigned> given;
  const size_t firstAdded = resultAttributes.size() - added.size();
  for (auto [i, attributes] : llvm::enumerate(resultAttributes)) {
    StringAttr name = StepView::getName(cast<DictionaryAttr>(attributes));
    if (!name)
      continue;
    auto [it, isNew] = given.try_emplace(name, i);
    if (isNew)
      continue;
    if (it->second < firstAdded) {
      StringAttr updates =
          StepView::getUpdates(cast<DictionaryAttr>(resultAttributes[it->second]));
      if (!updates || updates != name)
        return mlir::emitError(getResultLocation(function))
               << pass << ": result " << it->second << " is called '" << name.getValue()
               << "', as a result that this pass adds; rename it";
    }
    // Both are the pass's own, or one updates an argument: that is where the name is
    // from.
    BlockArgument argument = arguments.lookup(name);
    return mlir::emitError(argument ? argument.getLoc() : function.getLoc())
           << pass << ": the name '" << name.getValue()
           << "' is that of a result that this pass adds; rename "
           << (argument && argument.getArgNumber() < numGivenArguments
                   ? "argument " + std::to_string(argument.getArgNumber())
                   : "what it is made of");
  }
  return success();
}

LogicalResult StepEditor::finish() {
  if (failed(checkArgumentNames()) || failed(checkResultNames()))
    return failure();
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), added);
  Builder builder(function.getContext());
  function.setFunctionTypeAttr(TypeAttr::get(
      builder.getFunctionType(block.getArgumentTypes(), terminator->getOperandTypes())));
  function.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  return success();
}

namespace {

/// What a value depends on with a further predicate; one `and` for each that it
/// depends on already.
class Predicates {
public:
  explicit Predicates(Value predicate) : predicate(predicate) {}

  /// `before` may be null.
  Value with(Value before) {
    if (!before || before == predicate)
      return predicate;
    Value &both = made[before];
    if (both)
      return both;
    OpBuilder builder(predicate.getContext());
    Operation *first = predicate.getDefiningOp(), *second = before.getDefiningOp();
    builder.setInsertionPointAfterValue(
        !second || (first && second->isBeforeInBlock(first)) ? predicate : before);
    both = AndOp::create(builder, predicate.getLoc(), before, predicate);
    return both;
  }

private:
  Value predicate;
  llvm::SmallDenseMap<Value, Value> made;
};

/// Makes `op` depend on `predicates`, if it is an optimizer.
bool guardOptimizer(Operation *op, Predicates &predicates) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SGDOp, AdamOp, AdamWOp>([&](auto optimizer) {
        optimizer.getPredicateMutable().assign(predicates.with(optimizer.getPredicate()));
        return true;
      })
      .Default(false);
}

} // namespace

Value mpt::detail::getOptimizerGradient(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<SGDOp, AdamOp, AdamWOp>(
          [](auto optimizer) { return optimizer.getGradient(); })
      .Default(Value());
}

bool mpt::detail::guardUpdates(func::FuncOp step, StepEditor &editor, Value predicate) {
  Operation *terminator = step.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Predicates predicates(predicate);
  // An optimizer gives several results.
  llvm::SmallPtrSet<Operation *, 16> guarded;
  bool anyUpdate = false, hasDidStep = false;
  const StepView view(step);
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Value value = operand.get();
    const StepView::Result &result = view.getResults()[index];
    if (result.name && result.name.getValue() == "did_step" && !result.updates &&
        value.getType() == predicate.getType()) {
      operand.set(predicates.with(value));
      hasDidStep = true;
      continue;
    }
    if (!result.updates)
      continue;
    BlockArgument old = step.getArgument(*result.updates);
    if (value == old || view[old].role == Role::Rng)
      continue;
    anyUpdate = true;
    Operation *op = value.getDefiningOp();
    if (op && (guarded.contains(op) || guardOptimizer(op, predicates))) {
      guarded.insert(op);
      continue;
    }
    auto select = dyn_cast_or_null<SelectStateOp>(op);
    if (select && select.getOld() == old && select->hasOneUse())
      select.getPredicateMutable().assign(predicates.with(select.getPredicate()));
    else
      operand.set(SelectStateOp::create(builder, value.getLoc(), old.getType(), predicate,
                                        value, old));
  }
  if (anyUpdate && !hasDidStep)
    editor.addResult(predicate, "did_step");
  return anyUpdate;
}

DictionaryAttr mpt::detail::getZerosInit(MLIRContext *context) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      builder.getNamedAttr("kind", builder.getStringAttr("zeros")));
}

DictionaryAttr mpt::detail::getConstantInit(MLIRContext *context, double value) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("kind", builder.getStringAttr("constant")),
       builder.getNamedAttr("value", builder.getF64FloatAttr(value))});
}
