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

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static InFlightDiagnostic emitPassError(Location loc) {
  return mlir::emitError(loc, "mpt-train-step: ");
}

namespace {

/// What the arguments of one optimizer function stand for.
class Arguments {
public:
  Arguments(func::FuncOp update, func::FuncOp step, StepEditor &editor,
            const llvm::MapVector<StringRef, Value> &gradients,
            const llvm::StringMap<Value> &given)
      : update(update), step(step), editor(editor), gradients(gradients), given(given),
        view(update) {}

  /// Adds the state to the step. Fails after a diagnostic.
  LogicalResult map();
  Value lookup(BlockArgument argument) const { return values.lookup(argument); }
  /// Whether the function gives the next value of what is called `name`.
  bool isUpdated(StringRef name) const { return states.contains(name); }
  ArrayRef<StringRef> getStates() const { return states.getArrayRef(); }

private:
  /// The value of the step that `argument` stands for, or null after a diagnostic.
  Value find(BlockArgument argument, StringRef name);

  func::FuncOp update, step;
  StepEditor &editor;
  const llvm::MapVector<StringRef, Value> &gradients;
  const llvm::StringMap<Value> &given;
  const StepView view;
  IRMapping values;
  /// Parameters and state.
  llvm::SetVector<StringRef> states;
};

} // namespace

LogicalResult Arguments::map() {
  for (auto [name, gradient] : gradients)
    if (BlockArgument parameter = editor.getArgument(name);
        getShards(step, parameter.getArgNumber()))
      return emitPassError(parameter.getLoc())
             << "the optimizer '@" << update.getName()
             << "' reads whole parameters, but ranks hold parts of them; use sgd, "
                "momentum, adam or adamw, or leave out --mpt-shard-optimizer and "
                "--mpt-shard-parameters";
  for (BlockArgument argument : update.getArguments()) {
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
             << "' to have the type that it has in the step, " << value.getType()
             << ", found " << argument.getType();
    values.map(argument, value);
  }
  for (auto [name, gradient] : gradients)
    if (!states.contains(name))
      return emitPassError(update.getLoc())
             << "the optimizer '@" << update.getName() << "' has no argument for "
             << "the parameter \"" << name << "\"";
  return success();
}

Value Arguments::find(BlockArgument argument, StringRef name) {
  if (Value value = given.lookup(name))
    return value;
  if (name.consume_front("grad.") && gradients.contains(name))
    return gradients.lookup(name);
  name = view[argument].name;
  if (gradients.contains(name)) {
    BlockArgument parameter = editor.getArgument(name);
    auto type = cast<RankedTensorType>(parameter.getType());
    if (type.getElementTypeBitWidth() < 32) {
      emitPassError(parameter.getLoc())
          << "expected the optimizer '@" << update.getName()
          << "' to update parameters of f32 or f64, found \"" << name << "\" of " << type
          << "; keep parameters in f32, --mpt-autocast rounds them where they are read";
      return {};
    }
    states.insert(name);
    return parameter;
  }
  if (view[argument].role != Role::OptimizerState) {
    emitPassError(argument.getLoc())
        << "expected \"" << name << "\" of the optimizer '@" << update.getName()
        << "' to be a parameter that has a gradient, a gradient (grad.NAME), lr, step, "
           "or state with 'mpt.role' = \"optimizer_state\"";
    return {};
  }
  states.insert(name);
  Attribute init = view[argument].init;
  return editor.addArgument(argument.getType(), name, Role::OptimizerState,
                            init ? init : getZerosInit(update.getContext()));
}

FailureOr<SmallVector<Value>>
mpt::detail::inlineOptimizer(func::FuncOp update, func::FuncOp step, StepEditor &editor,
                             const llvm::MapVector<StringRef, Value> &gradients,
                             const llvm::StringMap<Value> &given) {
  Arguments arguments(update, step, editor, gradients, given);
  if (failed(arguments.map()))
    return failure();

  IRMapping mapping;
  for (BlockArgument argument : update.getArguments())
    mapping.map(argument, arguments.lookup(argument));
  OpBuilder builder(step.getBody().front().getTerminator());
  auto wide = builder.getStringAttr("f32");
  for (Operation &op : update.getBody().front().without_terminator())
    builder.clone(op, mapping)->walk([&](Operation *inner) {
      if (!inner->hasAttr(kPrecisionAttr))
        inner->setAttr(kPrecisionAttr, wide);
    });

  StepView view(update);
  Operation *end = update.getBody().front().getTerminator();
  llvm::StringMap<Value> next;
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    std::optional<unsigned> argument = view.getResults()[i].updates;
    StringAttr name = argument ? view.getArguments()[*argument].name : StringAttr();
    if (!name || !arguments.isUpdated(name))
      return emitPassError(update.getLoc())
             << "expected result " << i << " of the optimizer '@" << update.getName()
             << "' to be the next value of a parameter or of state, with 'mpt.updates'";
    Value updated = mapping.lookupOrDefault(value);
    editor.addResult(updated, name, name);
    next[name] = updated;
  }
  for (StringRef name : arguments.getStates())
    if (!next.contains(name))
      return emitPassError(update.getLoc())
             << "the optimizer '@" << update.getName() << "' does not give the next "
             << "value of \"" << name << "\"; return it with 'mpt.updates'";
  SmallVector<Value> updated;
  for (auto [name, gradient] : gradients)
    updated.push_back(next.lookup(name));
  if (SymbolTable::symbolKnownUseEmpty(update, update->getParentOp()))
    update.erase();
  return updated;
}
