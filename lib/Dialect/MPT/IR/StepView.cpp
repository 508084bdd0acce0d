//===- StepView.cpp - Arguments and results of a step function -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"

using namespace mlir;
using namespace mpt;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

std::optional<Role> mpt::readRole(Attribute attribute) {
  if (auto role = dyn_cast_or_null<RoleAttr>(attribute))
    return role.getValue();
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? parseRole(text.getValue()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

/// A name in an error: 'mean'.
static std::string quote(std::string_view name) { return "'" + std::string(name) + "'"; }

static std::optional<double> readNumber(Attribute value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(value);
      number && number.getType().isSignlessInteger(64))
    return static_cast<double>(number.getInt());
  return std::nullopt;
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               InitKind kind, DictionaryAttr numbers) {
  const InitKindNames &names = getNames(kind);
  auto inKind = [&] { return " in 'mpt.init' of kind " + quote(names.name); };
  std::string known;
  InitSpec spec{kind, {}};
  for (auto [name, number] : llvm::zip_equal(names.numbers, spec.numbers)) {
    if (name.empty())
      continue;
    known += (known.empty() ? "only " : ", ") + std::string(name);
    Attribute value = numbers ? numbers.get(StringRef(name)) : Attribute();
    std::optional<double> read = readNumber(value);
    const bool isFan = StringRef(name).starts_with("fan_");
    if (!read || (isFan && !isa<IntegerAttr>(value))) {
      InFlightDiagnostic error = emitError()
                                 << "expected the " << (read ? "integer " : "number ")
                                 << quote(name) << inKind() << ", found ";
      return value ? error << value : error << "none";
    }
    number = *read;
  }
  for (NamedAttribute entry : numbers ? numbers.getValue() : ArrayRef<NamedAttribute>())
    if (!llvm::is_contained(names.numbers, std::string_view(entry.getName().getValue())))
      return emitError() << "expected " << (known.empty() ? "no number" : known)
                         << inKind() << ", found " << entry.getName();
  if (const char *requirement = getRequirement(spec))
    return emitError() << "expected " << requirement << inKind() << ", found " << numbers;
  return success();
}

InitSpec InitAttr::getSpec() const {
  InitSpec spec{getKind(), {}};
  for (auto [name, number] : llvm::zip_equal(getNames(getKind()).numbers, spec.numbers))
    if (!name.empty() && getNumbers())
      number = readNumber(getNumbers().get(StringRef(name))).value_or(0);
  return spec;
}

FailureOr<InitAttr> mpt::readInit(Attribute attribute,
                                  function_ref<InFlightDiagnostic()> emitError) {
  if (auto init = dyn_cast<InitAttr>(attribute))
    return init;
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  auto name = dictionary ? dictionary.getAs<StringAttr>("kind") : StringAttr();
  std::optional<InitKind> kind = name ? parseInitKind(name.getValue()) : std::nullopt;
  if (!kind) {
    InFlightDiagnostic error =
        emitError() << "expected 'mpt.init' to be #mpt.init or a dictionary with 'kind' "
                       "one of ";
    for (const InitKindNames &known : kInitKindNames)
      error << (&known == kInitKindNames ? "" : ", ") << StringRef(known.name);
    return error << "; found " << attribute;
  }
  NamedAttrList numbers(dictionary);
  numbers.erase("kind");
  MLIRContext *context = attribute.getContext();
  InitAttr init = InitAttr::getChecked(emitError, context, *kind,
                                       numbers.empty() ? DictionaryAttr()
                                                       : numbers.getDictionary(context));
  if (!init)
    return failure();
  return init;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

StepView::Argument StepView::read(FunctionOpInterface function, unsigned index) {
  Argument argument;
  argument.name = getName(function, index);
  argument.role = getRole(function, index);
  // What the verifier refuses is not a first value.
  if (Attribute init = function.getArgAttr(index, kInitAttr))
    argument.init =
        readInit(init, [] { return InFlightDiagnostic(); }).value_or(InitAttr());
  argument.master = function.getArgAttrOfType<StringAttr>(index, kMasterAttr);
  argument.lowOf = function.getArgAttrOfType<StringAttr>(index, kLowOfAttr);
  return argument;
}

StepView::StepView(FunctionOpInterface function) {
  DenseMap<StringAttr, unsigned> named;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (StringAttr name = arguments.emplace_back(read(function, i)).name)
      named.try_emplace(name, i);
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    Result &result = results.emplace_back();
    result.name = getResultName(function, i);
    auto updates = function.getResultAttrOfType<StringAttr>(i, kUpdatesAttr);
    auto argument = updates ? named.find(updates) : named.end();
    if (argument == named.end())
      continue;
    result.updates = argument->second;
    arguments[argument->second].updatedBy = i;
  }
}

template <typename Range>
static std::optional<unsigned> findNamed(const Range &range, StringRef name) {
  for (auto [i, entry] : llvm::enumerate(range))
    if (entry.name && entry.name.getValue() == name)
      return i;
  return std::nullopt;
}

std::optional<unsigned> StepView::findArgument(StringRef name) const {
  return findNamed(arguments, name);
}

std::optional<unsigned> StepView::findResult(StringRef name) const {
  return findNamed(results, name);
}

std::optional<Role> StepView::getRole(FunctionOpInterface function, unsigned index) {
  return readRole(function.getArgAttr(index, kRoleAttr));
}

bool StepView::hasUpdates() const {
  return llvm::any_of(results, [](const Result &result) { return result.updates; });
}

StringAttr StepView::getName(FunctionOpInterface function, unsigned index) {
  return function.getArgAttrOfType<StringAttr>(index, kNameAttr);
}

StringAttr StepView::getResultName(FunctionOpInterface function, unsigned index) {
  return function.getResultAttrOfType<StringAttr>(index, kNameAttr);
}

StepView::Argument StepView::get(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp())
               : FunctionOpInterface();
  if (!function || !argument.getOwner()->isEntryBlock())
    return {};
  return read(function, argument.getArgNumber());
}

StringAttr StepView::getName(DictionaryAttr attributes) {
  return attributes.getAs<StringAttr>(kNameAttr);
}

StringAttr StepView::getUpdates(DictionaryAttr attributes) {
  return attributes.getAs<StringAttr>(kUpdatesAttr);
}
