//===- StepInterface.cpp - Names, roles and updates of arguments -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepInterface.h"
#include "mpt/Dialect/MPT/IR/StepView.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

/// A path of JAX's as words with dots: `params['dense'].kernel[0]` is
/// `params.dense.kernel.0`.
static std::string cleanPath(StringRef path) {
  std::string name;
  for (char c : path) {
    if (llvm::isAlnum(c) || c == '_' || c == '-' || c == '/' || c == ':')
      name.push_back(c);
    else if (!name.empty() && name.back() != '.')
      name.push_back('.');
  }
  while (!name.empty() && name.back() == '.')
    name.pop_back();
  return name;
}

namespace {
class Names {
public:
  void reserve(StringRef name) { used.insert(name); }
  std::string unique(std::string name) {
    std::string candidate = name;
    for (unsigned i = 1; !used.insert(candidate).second; ++i)
      candidate = name + "_" + std::to_string(i);
    return candidate;
  }

private:
  llvm::StringSet<> used;
};
} // namespace

static constexpr StringLiteral kAliasAttr = "mhlo.input_output_alias";

/// For each result the argument that it updates, or none.
static FailureOr<SmallVector<std::optional<unsigned>>> findUpdates(func::FuncOp function,
                                                                   unsigned state) {
  unsigned numArguments = function.getNumArguments(),
           numResults = function.getNumResults();
  SmallVector<std::optional<unsigned>> updates(numResults);
  SmallVector<bool> taken(numArguments, false);
  auto pair = [&](unsigned argument, unsigned result, const Twine &why) -> LogicalResult {
    if (argument >= numArguments || result >= numResults)
      return function.emitError("mpt-convert-stablehlo: ")
             << why << ": expected one of " << numArguments << " arguments and "
             << numResults << " results, found argument " << argument << " and result "
             << result;
    Type from = function.getArgumentTypes()[argument],
         to = function.getResultTypes()[result];
    if (from != to)
      return function.emitError("mpt-convert-stablehlo: ")
             << why << ": argument " << argument << " is " << from << " and result "
             << result << ", its next value, is " << to << "; expected equal types";
    if (updates[result] || taken[argument])
      return success();
    updates[result] = argument;
    taken[argument] = true;
    return success();
  };
  for (unsigned i : llvm::seq(0u, numArguments))
    if (auto alias = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output"))
      if (failed(pair(i, alias.getInt(), "tf.aliasing_output")))
        return failure();
  // TensorFlow's variables, in the attribute that XLA gives its module.
  auto module = function->getParentOfType<ModuleOp>();
  auto aliases = module->getAttrOfType<ArrayAttr>(kAliasAttr);
  if (aliases && function.getSymName() == "main")
    for (auto entry : aliases.getAsRange<DictionaryAttr>()) {
      auto alias = entry.getAs<DictionaryAttr>("alias");
      auto output = entry.getAs<DenseI64ArrayAttr>("output_index");
      auto argument =
          alias ? alias.getAs<IntegerAttr>("parameter_number") : IntegerAttr();
      if (!argument || !output || output.size() > 1)
        return function.emitError("mpt-convert-stablehlo: ")
               << kAliasAttr
               << ": expected arguments and results that are tensors, found " << entry;
      unsigned result = output.empty() ? 0 : static_cast<unsigned>(output[0]);
      if (failed(pair(argument.getInt(), result, kAliasAttr)))
        return failure();
    }
  for (unsigned i : llvm::seq(0u, state))
    if (failed(pair(i, i, "state=" + Twine(state))))
      return failure();
  // XLA gives donated memory to results of the same type, in order.
  for (unsigned i : llvm::seq(0u, numArguments)) {
    if (!function.getArgAttr(i, "jax.buffer_donor") || taken[i])
      continue;
    for (unsigned result : llvm::seq(0u, numResults))
      if (!updates[result] &&
          function.getResultTypes()[result] == function.getArgumentTypes()[i]) {
        updates[result] = i;
        taken[i] = true;
        break;
      }
  }
  return updates;
}

LogicalResult mpt::stablehlo::addStepInterface(func::FuncOp function,
                                               StringRef parameters, unsigned state) {
  FailureOr<SmallVector<std::optional<unsigned>>> updates = findUpdates(function, state);
  if (failed(updates))
    return failure();
  unsigned numParameters = 0;
  bool byNumber = !parameters.getAsInteger(10, numParameters);
  if (byNumber && numParameters > function.getNumArguments())
    return function.emitError("mpt-convert-stablehlo: parameters=")
           << parameters << ": expected at most " << function.getNumArguments()
           << ", the number of arguments of @" << function.getSymName();
  MLIRContext *context = function.getContext();
  auto text = [&](const Twine &value) { return StringAttr::get(context, value); };
  auto infoOf = [&](unsigned result) -> std::string {
    auto info = function.getResultAttrOfType<StringAttr>(result, "jax.result_info");
    StringRef path = info ? info.getValue() : StringRef();
    path.consume_front("result");
    return cleanPath(path);
  };
  SmallVector<std::optional<unsigned>> updatedBy(function.getNumArguments());
  for (auto [result, argument] : llvm::enumerate(*updates))
    if (argument)
      updatedBy[*argument] = result;

  if (function.getSymName() == "main")
    function->getParentOfType<ModuleOp>()->removeAttr(kAliasAttr);
  Names names;
  for (unsigned i : llvm::seq(0u, function.getNumArguments()))
    if (StringAttr name = StepView::getName(function, i))
      names.reserve(name.getValue());
  for (unsigned i : llvm::seq(0u, function.getNumArguments())) {
    function.removeArgAttr(i, "tf.aliasing_output");
    function.removeArgAttr(i, "jax.buffer_donor");
    StringAttr name = StepView::getName(function, i);
    if (!name) {
      std::string found;
      if (auto loc = function.getArgument(i).getLoc()->findInstanceOf<NameLoc>())
        found = cleanPath(loc.getName().getValue());
      if (found.empty() && updatedBy[i])
        found = infoOf(*updatedBy[i]);
      if (found.empty())
        found = "arg" + std::to_string(i);
      name = text(names.unique(found));
      function.setArgAttr(i, kNameAttr, name);
    }
    if (StepView::getRole(function, i))
      continue;
    StringRef rest = name.getValue();
    bool isParameter = byNumber ? i < numParameters
                                : !parameters.empty() && rest.consume_front(parameters) &&
                                      (rest.empty() || rest.front() == '.');
    isParameter = isParameter &&
                  isa<FloatType>(getElementTypeOrSelf(function.getArgumentTypes()[i]));
    function.setArgAttr(i, kRoleAttr,
                        text(isParameter    ? "parameter"
                             : updatedBy[i] ? "optimizer_state"
                                            : "input"));
  }

  Names resultNames;
  for (unsigned i : llvm::seq(0u, function.getNumResults()))
    if (StringAttr name = StepView::getResultName(function, i))
      resultNames.reserve(name.getValue());
  bool hasLoss = false;
  for (unsigned i : llvm::seq(0u, function.getNumResults())) {
    if (StepView::getResultName(function, i))
      continue;
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    std::string found = infoOf(i);
    if (found.empty())
      found = "result" + std::to_string(i);
    if (std::optional<unsigned> argument = (*updates)[i]) {
      StringAttr name = StepView::getName(function, *argument);
      function.setResultAttr(i, kUpdatesAttr, name);
      found = name.getValue().str() + ".next";
    } else if (!hasLoss && type && type.getRank() == 0 &&
               isa<FloatType>(type.getElementType())) {
      hasLoss = true;
      found = "loss";
    }
    function.setResultAttr(i, kNameAttr, text(resultNames.unique(found)));
  }
  return success();
}
