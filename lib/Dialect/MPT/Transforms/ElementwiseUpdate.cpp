//===- ElementwiseUpdate.cpp - Optimizers that see single elements -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Global value numbering. A parameter's own arguments are numbered by their suffixes,
/// and shapes of parameters are ignored, so the same computation has the same numbers for
/// two parameters.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/ElementwiseUpdate.h"
#include "mpt/Dialect/MPT/IR/ElementwiseOpInterface.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static constexpr llvm::StringLiteral gradientPrefix = "grad.";

static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0;
}

/// Equal attributes and types have one address.
template <typename Unique>
static std::string spell(Unique unique) {
  return std::to_string(reinterpret_cast<uintptr_t>(unique.getAsOpaquePointer()));
}

unsigned ElementwiseUpdates::number(const std::string &text) {
  return texts.try_emplace(text, texts.size()).first->second;
}

std::pair<ElementwiseUpdates::Parameter *, std::string>
ElementwiseUpdates::findOwner(const StepView &view, BlockArgument argument) {
  StringAttr attribute = view[argument].name;
  StringRef name = attribute ? attribute.getValue() : StringRef();
  if (auto own = parameters.find(name); own != parameters.end())
    return {&own->second, ""};
  if (StringRef rest = name; rest.consume_front(gradientPrefix))
    if (auto own = parameters.find(rest); own != parameters.end())
      return {&own->second, "grad"};
  // The longest name: "a.b.sum" is of "a.b" if there is one, else of "a".
  for (size_t dot = name.rfind('.'); dot != StringRef::npos && dot > 0;
       dot = name.rfind('.', dot)) {
    auto own = parameters.find(name.take_front(dot));
    if (own == parameters.end())
      continue;
    BlockArgument parameter = own->second.update.states.front().argument;
    if (!parameter ||
        !succeeded(verifyCompatibleShape(argument.getType(), parameter.getType())))
      break;
    return {&own->second, name.drop_front(dot).str()};
  }
  return {nullptr, ""};
}

ElementwiseUpdates::ElementwiseUpdates(func::FuncOp update, ArrayRef<StringRef> names) {
  const StepView view(update);
  Block &block = update.getBody().front();
  for (StringRef name : names)
    parameters[StringAttr::get(update.getContext(), name)].update.states.emplace_back();
  for (BlockArgument argument : block.getArguments())
    if (StringAttr name = view[argument].name)
      if (auto own = parameters.find(name.getValue()); own != parameters.end())
        own->second.update.states.front().argument = argument;

  for (BlockArgument argument : block.getArguments()) {
    auto [owner, suffix] = findOwner(view, argument);
    if (!owner) {
      numbers[argument] = number("argument " + std::to_string(argument.getArgNumber()));
      continue;
    }
    owned[argument] = owner;
    std::string first = view[argument].init ? spell(view[argument].init) : "";
    numbers[argument] =
        number("own " + suffix + " " + spell(getElementTypeOrSelf(argument)) + " " +
               (suffix.empty() ? "" : first));
    if (suffix == "grad")
      owner->update.gradient = argument;
    else if (!suffix.empty())
      owner->update.states.push_back({argument, suffix, 0});
  }
  for (Operation &op : block.without_terminator())
    visit(op);

  Operation *end = block.getTerminator();
  for (auto &[name, parameter] : parameters) {
    llvm::sort(parameter.update.states,
               [](const auto &a, const auto &b) { return a.suffix < b.suffix; });
    std::string text;
    for (ElementwiseUpdate::State &state : parameter.update.states) {
      std::optional<unsigned> result =
          state.argument ? view[state.argument].updatedBy : std::nullopt;
      Value next = result ? end->getOperand(*result) : Value();
      // From its elements, or one number for all.
      SplatElementsAttr splat;
      if (!next || (owned.lookup(next) != &parameter && !isScalar(next) &&
                    !matchPattern(next, m_Constant(&splat))))
        parameter.isElementwise = false;
      else
        text += state.suffix + " " + std::to_string(numbers.lookup(next)) + " ";
      state.result = result.value_or(0);
    }
    parameter.update.kind = number("kind " + text);
  }
  // Other state must not depend on the elements of a parameter.
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    std::optional<unsigned> argument = view.getResults()[i].updates;
    Parameter *owner = owned.lookup(value);
    if (owner && (!argument || owned.lookup(block.getArgument(*argument)) != owner))
      owner->isElementwise = false;
  }
}

void ElementwiseUpdates::visit(Operation &op) {
  Parameter *owner = nullptr;
  for (Value operand : op.getOperands())
    if (Parameter *other = owned.lookup(operand)) {
      if (owner && owner != other) {
        // Elements of two parameters meet.
        for (Parameter *seen : {owner, other})
          if (std::exchange(seen->isElementwise, false))
            seen->obstacle = &op;
      }
      owner = other;
    }
  // What its regions read counts as well.
  op.walk([&](Operation *inner) {
    if (inner != &op)
      for (Value operand : inner->getOperands())
        if (Parameter *other = owned.lookup(operand))
          if (std::exchange(other->isElementwise, false))
            other->obstacle = &op;
  });

  std::string text = op.getName().getStringRef().str();
  bool isElementwise = isa<ElementwiseOpInterface>(op) && op.getNumRegions() == 0;
  if (owner) {
    Type shape = owner->update.states.front().argument
                     ? owner->update.states.front().argument.getType()
                     : Type();
    for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getOperands()),
                                           SmallVector<Value>(op.getResults()))) {
      const bool isOwn = owned.lookup(value) || value.getDefiningOp() == &op;
      SplatElementsAttr splat;
      if (isOwn ? !shape || failed(verifyCompatibleShape(value.getType(), shape))
                : !isScalar(value) && !matchPattern(value, m_Constant(&splat)))
        isElementwise = false;
    }
    if (!isElementwise && std::exchange(owner->isElementwise, false))
      owner->obstacle = &op;
    cut.insert(&op);
    owner->update.ops.push_back(&op);
  }
  text += " " + spell(op.getAttrDictionary());
  for (Value operand : op.getOperands()) {
    SplatElementsAttr splat;
    if (owner && !owned.lookup(operand) && matchPattern(operand, m_Constant(&splat)))
      text += " " + spell(splat.getSplatValue<Attribute>());
    else
      text += " #" + std::to_string(numbers.lookup(operand));
  }
  if (op.getNumRegions() > 0)
    text += " op " + std::to_string(texts.size());
  for (OpResult result : op.getResults()) {
    if (owner)
      owned[result] = owner;
    Type type = owner ? getElementTypeOrSelf(result) : result.getType();
    numbers[result] = number(text + " : " + spell(type) + " " +
                             std::to_string(result.getResultNumber()));
  }
}

const ElementwiseUpdate *ElementwiseUpdates::find(StringRef parameter) const {
  auto found = parameters.find(parameter);
  return found != parameters.end() && found->second.isElementwise ? &found->second.update
                                                                  : nullptr;
}

BlockArgument ElementwiseUpdates::getArgument(StringRef parameter) const {
  auto found = parameters.find(parameter);
  return found != parameters.end() ? found->second.update.states.front().argument
                                   : BlockArgument();
}

Operation *ElementwiseUpdates::findObstacle(StringRef parameter) const {
  auto found = parameters.find(parameter);
  return found != parameters.end() ? found->second.obstacle : nullptr;
}
