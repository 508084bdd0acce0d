//===- StepAttributes.cpp - Attributes of step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks `mpt.name`, `mpt.role`, `mpt.init` and `mpt.updates` on arguments and
/// results of functions.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpt;

static constexpr StringLiteral roles[] = {
#define GET_STEP_ROLES
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_STEP_ROLES
};

namespace {
/// One way to initialize a tensor and the numbers it needs.
struct InitKind {
  StringLiteral name;
  SmallVector<StringRef> parameters;
};
} // namespace

static ArrayRef<InitKind> getInitKinds() {
  static const InitKind kinds[] = {
#define GET_INIT_KINDS
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_INIT_KINDS
  };
  return kinds;
}

static constexpr StringLiteral masters[] = {
    "f32", "bf16-stochastic-rounding", "bf16-kahan", "split16", "none"};

static StringRef identity(StringRef text) { return text; }

template <typename Range, typename Get>
static std::string join(const Range &range, Get get) {
  std::string text;
  for (const auto &entry : range)
    text += (text.empty() ? "" : ", ") + get(entry).str();
  return text;
}

static LogicalResult verifyInit(Operation *op, Attribute attribute) {
  auto init = dyn_cast<DictionaryAttr>(attribute);
  auto kind = init ? dyn_cast_or_null<StringAttr>(init.get("kind")) : StringAttr();
  const InitKind *known = nullptr;
  for (const InitKind &candidate : getInitKinds())
    if (kind && candidate.name == kind.getValue())
      known = &candidate;
  if (!known)
    return op->emitError("expected 'mpt.init' to be a dictionary with 'kind' one "
                         "of ")
           << join(getInitKinds(), [](const InitKind &k) { return k.name; })
           << "; found " << attribute;
  for (StringRef parameter : known->parameters)
    if (Attribute value = init.get(parameter);
        !isa_and_nonnull<FloatAttr, IntegerAttr>(value)) {
      InFlightDiagnostic error = op->emitError("expected the number '")
                                 << parameter << "' in 'mpt.init' of kind '"
                                 << known->name << "', found ";
      return value ? error << value : error << "none";
    }
  for (NamedAttribute entry : init)
    if (entry.getName() != "kind" &&
        !llvm::is_contained(known->parameters, entry.getName().getValue()))
      return op->emitError("expected ")
             << (known->parameters.empty()
                     ? std::string("no number")
                     : "only " + join(known->parameters, identity))
             << " in 'mpt.init' of kind '" << known->name << "', found "
             << entry.getName();
  return success();
}

// The verifier comes here once per attribute. What concerns all arguments or
// results together is checked at the first one that has the attribute.

/// The first of `count` for which `get` returns an attribute.
static unsigned findFirst(unsigned count, llvm::function_ref<Attribute(unsigned)> get) {
  unsigned i = 0;
  while (i < count && !get(i))
    ++i;
  return i;
}

static LogicalResult verifyArgumentNames(FunctionOpInterface function,
                                         unsigned index) {
  auto nameOf = [&](unsigned i) { return function.getArgAttr(i, kNameAttr); };
  unsigned count = function.getNumArguments();
  if (findFirst(count, nameOf) != index)
    return success();
  DenseMap<Attribute, unsigned> seen;
  for (unsigned i = index; i < count; ++i)
    if (Attribute name = nameOf(i))
      if (auto [it, inserted] = seen.try_emplace(name, i); !inserted)
        return function.emitError("expected a 'mpt.name' of its own for every "
                                  "argument, found ")
               << name << " on arguments " << it->second << " and " << i;
  return success();
}

static LogicalResult verifyResultNames(FunctionOpInterface function,
                                       StringRef attribute, unsigned index) {
  auto nameOf = [&](unsigned i) { return function.getResultAttr(i, attribute); };
  unsigned count = function.getNumResults();
  if (findFirst(count, nameOf) != index)
    return success();
  DenseMap<Attribute, unsigned> seen;
  for (unsigned i = index; i < count; ++i)
    if (Attribute name = nameOf(i))
      if (auto [it, inserted] = seen.try_emplace(name, i); !inserted)
        return function.emitError("expected a '")
               << attribute << "' of its own for every result, found " << name
               << " on results " << it->second << " and " << i
               << (attribute == kNameAttr
                       ? "; rename one of them (passes that make a step add "
                         "results with names of their own)"
                       : "");
  return success();
}

static LogicalResult verifyUpdates(FunctionOpInterface function, unsigned index) {
  auto updatesOf = [&](unsigned i) { return function.getResultAttr(i, kUpdatesAttr); };
  unsigned count = function.getNumResults();
  if (findFirst(count, updatesOf) != index)
    return success();
  if (failed(verifyResultNames(function, kUpdatesAttr, index)))
    return failure();
  DenseMap<Attribute, unsigned> arguments;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (Attribute name = function.getArgAttr(i, kNameAttr))
      arguments.try_emplace(name, i);
  for (unsigned i = index; i < count; ++i) {
    Attribute updates = updatesOf(i);
    if (!updates)
      continue;
    auto argument = arguments.find(updates);
    if (argument == arguments.end())
      return function.emitError("expected an argument with the 'mpt.name' ")
             << updates << ", which result " << i << " updates, found none";
    Type expected = function.getArgumentTypes()[argument->second];
    Type found = function.getResultTypes()[i];
    if (expected != found)
      return function.emitError("expected result ")
             << i << ", which updates " << updates << ", to be of its type "
             << expected << ", found " << found;
  }
  return success();
}

LogicalResult MPTDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto text = dyn_cast<StringAttr>(attribute.getValue());
  if (name == kInitAttr)
    return verifyInit(op, attribute.getValue());
  if (name == kRoleAttr) {
    if (text && llvm::is_contained(roles, text.getValue()))
      return success();
    return op->emitError("expected 'mpt.role' to be one of ")
           << join(roles, identity) << "; found "
           << attribute.getValue();
  }
  if (name == kNameAttr) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!text || text.getValue().empty())
      return op->emitError("expected 'mpt.name' to be a string that is not empty, "
                           "found ")
             << attribute.getValue();
    return function ? verifyArgumentNames(function, argIndex) : success();
  }
  if (name == kMasterAttr && !(text && llvm::is_contained(masters, text.getValue())))
    return op->emitError("expected 'mpt.master' to be one of ")
           << join(masters, identity) << "; found " << attribute.getValue();
  if (name == kLowOfAttr && !text)
    return op->emitError("expected 'mpt.low_of' to be the name of a parameter, found ")
           << attribute.getValue();
  if (name == "mpt.decay" && !isa<BoolAttr>(attribute.getValue()))
    return op->emitError("expected 'mpt.decay' to be true or false, found ")
           << attribute.getValue();
  if (name == kUpdatesAttr)
    return op->emitError("expected 'mpt.updates' on a result, found it on "
                         "argument ")
           << argIndex;
  return success();
}

LogicalResult MPTDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                      unsigned resultIndex,
                                                      NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto text = dyn_cast<StringAttr>(attribute.getValue());
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (name == kRoleAttr || name == kInitAttr)
    return op->emitError("expected '")
           << name << "' on an argument, found it on result " << resultIndex;
  if (name != kNameAttr && name != kUpdatesAttr)
    return success();
  if (!text || text.getValue().empty())
    return op->emitError("expected '")
           << name << "' to be a string that is not empty, found "
           << attribute.getValue();
  if (!function)
    return success();
  return name == kNameAttr ? verifyResultNames(function, kNameAttr, resultIndex)
                           : verifyUpdates(function, resultIndex);
}
