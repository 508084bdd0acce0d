//===- OptimizerFunction.cpp - Optimizers that are functions ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerFunction.h"
#include "ShardedGradients.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/ElementwiseUpdate.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static InFlightDiagnostic emitPassError(Location loc) {
  return mlir::emitError(loc, "mpt-train-step: ");
}

/// Marks `op` as part of the optimizer. It runs in f32 unless it has a precision already.
static void mark(Operation *op) {
  op->setAttr(kOptimizerAttr, UnitAttr::get(op->getContext()));
  if (!op->hasAttr(kPrecisionAttr))
    op->setAttr(kPrecisionAttr, StringAttr::get(op->getContext(), "f32"));
}

static bool isMarked(Operation *op) { return op && op->hasAttr(kOptimizerAttr); }

namespace {

/// Puts one optimizer into one step.
class Inliner {
public:
  Inliner(func::FuncOp update, func::FuncOp step, StepEditor &editor,
          const llvm::MapVector<StringRef, Value> &gradients,
          const llvm::StringMap<Value> &given)
      : update(update), step(step), editor(editor), gradients(gradients), given(given),
        view(update), builder(step.getBody().front().getTerminator()) {}

  FailureOr<SmallVector<Value>> run();

private:
  /// Finds the parameters that ranks hold parts of, and how parts are updated.
  LogicalResult findShards();
  /// Adds the state to the step, and finds the value for each argument.
  LogicalResult mapArguments();
  /// The value of the step that `argument` stands for, or null after a diagnostic.
  Value find(BlockArgument argument, StringRef name);
  /// Adds the state of `shards`, an argument of the step.
  void mapShards(StringRef shards, const ElementwiseUpdate &own);
  /// `value`, a parameter or a gradient, in f32 if it has less.
  Value widen(Value value);
  Value addState(Type type, StringRef name, Attribute init);
  void clone(Operation &op);
  /// The step's value for `value` of the optimizer. With `like`, the type of a shard, a
  /// splat constant gets its shape.
  Value lookup(Value value, ShapedType like);
  void addResult(StringRef name, Value updated);

  func::FuncOp update, step;
  StepEditor &editor;
  const llvm::MapVector<StringRef, Value> &gradients;
  const llvm::StringMap<Value> &given;
  const StepView view;
  OpBuilder builder;
  IRMapping mapping;
  /// Parameters and state, as the step calls them, and their next values.
  llvm::MapVector<StringRef, Value> states;
  /// If parameters are cut between ranks: the updates of all parameters, and for each
  /// shard that of its first parameter.
  std::optional<ElementwiseUpdates> updates;
  llvm::MapVector<StringRef, const ElementwiseUpdate *> shards;
  /// The ops of these updates, and the types of their shards.
  DenseMap<Operation *, ShapedType> cut;
};

} // namespace

LogicalResult Inliner::findShards() {
  SmallVector<std::pair<StringRef, ShardLayout>> layouts;
  for (auto [name, gradient] : gradients)
    if (std::optional<ShardedState> found =
            getShards(step, editor.getArgument(name).getArgNumber()))
      layouts.emplace_back(name, std::move(found->layout));
  if (layouts.empty())
    return success();
  SmallVector<StringRef> names;
  for (auto &[name, layout] : layouts)
    for (const ShardLayout::Tensor &tensor : layout.tensors)
      names.push_back(tensor.name);
  updates.emplace(update, names);
  for (auto &[name, layout] : layouts) {
    const ElementwiseUpdate *first = nullptr;
    for (const ShardLayout::Tensor &tensor : layout.tensors) {
      BlockArgument parameter = updates->getArgument(tensor.name);
      if (!parameter)
        return emitPassError(update.getLoc())
               << "the optimizer '@" << update.getName() << "' has no argument for "
               << "the parameter \"" << tensor.name << "\"";
      if (failed(verifyCompatibleShape(cast<ShapedType>(parameter.getType()).getShape(),
                                       tensor.shape)))
        return emitPassError(parameter.getLoc())
               << "expected " << tensor.name << " of the optimizer '@" << update.getName()
               << "' to have the shape that it has in the step, found "
               << parameter.getType();
      const ElementwiseUpdate *own = updates->find(tensor.name);
      if (!own) {
        Operation *obstacle = updates->findObstacle(tensor.name);
        auto error = emitPassError(obstacle ? obstacle->getLoc() : parameter.getLoc());
        error << "ranks hold parts of \"" << tensor.name << "\", but the optimizer '@"
              << update.getName() << "' does not update it element by element";
        if (obstacle)
          error << ": '" << obstacle->getName() << "' reads more";
        return error << "; leave out --mpt-shard-optimizer and --mpt-shard-parameters";
      }
      if (first && own->kind != first->kind)
        return emitPassError(parameter.getLoc())
               << "ranks hold \"" << layout.tensors.front().name << "\" and \""
               << tensor.name << "\" together, but the optimizer '@" << update.getName()
               << "' updates them in different ways; give optimizer=@" << update.getName()
               << " to the pass that cuts them, "
               << "--mpt-shard-optimizer or --mpt-shard-parameters";
      first = first ? first : own;
    }
    shards[name] = first;
    for (Operation *op : first->ops)
      cut[op] = cast<ShapedType>(editor.getArgument(name).getType());
  }
  return success();
}

Value Inliner::widen(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto wide = type.clone(getAccumulatorType(std::nullopt, type.getElementType()));
  if (type == wide)
    return value;
  auto cast = CastOp::create(builder, value.getLoc(), wide, value, UnitAttr());
  mark(cast);
  return cast;
}

Value Inliner::addState(Type type, StringRef name, Attribute init) {
  states.insert({name, Value()});
  return editor.addArgument(type, name, Role::OptimizerState,
                            init ? init : getZerosInit(update.getContext()));
}

void Inliner::mapShards(StringRef name, const ElementwiseUpdate &own) {
  BlockArgument parameter = editor.getArgument(name);
  auto type = cast<RankedTensorType>(parameter.getType());
  if (own.gradient)
    mapping.map(own.gradient, widen(gradients.lookup(name)));
  for (const ElementwiseUpdate::State &state : own.states) {
    if (state.suffix.empty()) {
      states.insert({name, Value()});
      mapping.map(state.argument, widen(parameter));
      continue;
    }
    StringRef stateName = builder.getStringAttr(name + Twine(state.suffix)).getValue();
    mapping.map(state.argument, addState(type.clone(getElementTypeOrSelf(state.argument)),
                                         stateName, view[state.argument].init));
  }
}

Value Inliner::find(BlockArgument argument, StringRef name) {
  // Parameters and state may have the name of the loss.
  const bool isState = view[argument].role == Role::Parameter ||
                       view[argument].role == Role::OptimizerState;
  if (Value value = given.lookup(name); value && !(isState && name == "loss"))
    return value;
  if (name.consume_front("grad.") && gradients.contains(name))
    return widen(gradients.lookup(name));
  name = view[argument].name;
  if (gradients.contains(name)) {
    states.insert({name, Value()});
    return widen(editor.getArgument(name));
  }
  if (view[argument].role == Role::OptimizerState)
    return addState(argument.getType(), name, view[argument].init);
  emitPassError(argument.getLoc())
      << "expected \"" << name << "\" of the optimizer '@" << update.getName()
      << "' to be a parameter that has a gradient, a gradient (grad.NAME), loss, lr, "
         "step, or state with 'mpt.role' = \"optimizer_state\"";
  return {};
}

LogicalResult Inliner::mapArguments() {
  for (auto [name, own] : shards)
    mapShards(name, *own);
  for (BlockArgument argument : update.getArguments()) {
    if (updates && updates->isOwn(argument))
      continue;
    StringAttr name = view[argument].name;
    if (!name)
      return emitPassError(argument.getLoc())
             << "expected argument " << argument.getArgNumber() << " of the optimizer '@"
             << update.getName() << "' to have a 'mpt.name'";
    Value value = find(argument, name);
    if (!value)
      return failure();
    if (value.getType() != argument.getType())
      return emitPassError(argument.getLoc())
             << "expected " << name << " of the optimizer '@" << update.getName()
             << "' to have the type that it has in the step, "
             << (isMarked(value.getDefiningOp()) ? "16 bits widened to f32, " : "")
             << value.getType() << ", found " << argument.getType();
    mapping.map(argument, value);
  }
  for (auto [name, gradient] : gradients)
    if (!states.contains(name))
      return emitPassError(update.getLoc())
             << "the optimizer '@" << update.getName() << "' has no argument for "
             << "the parameter \"" << name << "\"";
  return success();
}

Value Inliner::lookup(Value value, ShapedType like) {
  SplatElementsAttr splat;
  if (!like || (updates && updates->isOwn(value)) ||
      !matchPattern(value, m_Constant(&splat)) || splat.getType().getRank() == 0)
    return mapping.lookupOrDefault(value);
  auto type = like.clone(splat.getElementType());
  auto constant = ConstantOp::create(
      builder, value.getLoc(), cast<RankedTensorType>(type), splat.resizeSplat(type));
  mark(constant);
  return constant;
}

void Inliner::clone(Operation &op) {
  ShapedType type = cut.lookup(&op);
  if (!type) {
    // A shard is updated once, by the ops of its first parameter.
    if (!updates || !updates->isCut(&op))
      builder.clone(op, mapping)->walk(mark);
    return;
  }
  Operation *copy = op.cloneWithoutRegions();
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    copy->setOperand(i, lookup(operand, type));
  for (auto [result, old] : llvm::zip_equal(copy->getResults(), op.getResults()))
    result.setType(type.clone(getElementTypeOrSelf(old)));
  builder.insert(copy);
  mapping.map(op.getResults(), copy->getResults());
  mark(copy);
}

void Inliner::addResult(StringRef name, Value updated) {
  states[name] = updated;
  // A parameter is rounded to the type that it is stored in.
  if (Type stored = editor.getArgument(name).getType(); stored != updated.getType()) {
    updated = CastOp::create(builder, updated.getLoc(), stored, updated, UnitAttr());
    mark(updated.getDefiningOp());
  }
  editor.addResult(updated, name, name);
}

FailureOr<SmallVector<Value>> Inliner::run() {
  if (failed(findShards()) || failed(mapArguments()))
    return failure();
  for (Operation &op : update.getBody().front().without_terminator())
    clone(op);

  Operation *end = update.getBody().front().getTerminator();
  for (auto [name, own] : shards)
    for (const ElementwiseUpdate::State &state : own->states) {
      auto like = cast<ShapedType>(editor.getArgument(name).getType());
      Value next = lookup(end->getOperand(state.result), like);
      // One number for all elements.
      if (auto type = cast<ShapedType>(next.getType());
          type.getShape() != like.getShape()) {
        next = BroadcastOp::create(builder, next.getLoc(),
                                   like.clone(type.getElementType()), next);
        mark(next.getDefiningOp());
      }
      addResult(builder.getStringAttr(name + Twine(state.suffix)).getValue(), next);
    }
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    std::optional<unsigned> argument = view.getResults()[i].updates;
    if (argument && updates && updates->isOwn(update.getArgument(*argument)))
      continue;
    StringAttr name = argument ? view.getArguments()[*argument].name : StringAttr();
    if (!name || !states.contains(name.getValue()))
      return emitPassError(update.getLoc())
             << "expected result " << i << " of the optimizer '@" << update.getName()
             << "' to be the next value of a parameter or of state, with 'mpt.updates'";
    addResult(name, lookup(value, ShapedType()));
  }
  for (auto [name, next] : states)
    if (!next)
      return emitPassError(update.getLoc())
             << "the optimizer '@" << update.getName() << "' does not give the next "
             << "value of \"" << name << "\"; return it with 'mpt.updates'";
  SmallVector<Value> updated;
  for (auto [name, gradient] : gradients)
    updated.push_back(states.lookup(name));
  if (SymbolTable::symbolKnownUseEmpty(update, update->getParentOp()))
    update.erase();
  return updated;
}

FailureOr<SmallVector<Value>>
mpt::detail::inlineOptimizer(func::FuncOp update, func::FuncOp step, StepEditor &editor,
                             const llvm::MapVector<StringRef, Value> &gradients,
                             const llvm::StringMap<Value> &given) {
  return Inliner(update, step, editor, gradients, given).run();
}
