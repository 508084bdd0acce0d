//===- StepAttributes.cpp - Attributes of step functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks attributes of arguments and results of functions, and what names and
/// `mpt.updates` have to fit.
///
//===----------------------------------------------------------------------===//

#include "StepAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace mpt;

static constexpr std::string_view roles[] = {
#define GET_STEP_ROLES
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_STEP_ROLES
};

// The names are those that the reference describes, in its order.
namespace {
constexpr bool haveDescribedRoles() {
  int i = 0;
  for (std::string_view name : kRoleNames)
    if (std::string_view(roles[i++]) != name)
      return false;
  return std::size(roles) == std::size(kRoleNames);
}
static_assert(haveDescribedRoles(), "StepABI.h and MPTReference.td differ in roles");
constexpr InitKindNames describedInits[] = {
#define GET_INIT_KINDS
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_INIT_KINDS
};
constexpr bool haveDescribedInits() {
  int i = 0;
  for (const InitKindNames &kind : kInitKindNames) {
    const InitKindNames &described = describedInits[i++];
    if (kind.name != described.name || kind.numbers[0] != described.numbers[0] ||
        kind.numbers[1] != described.numbers[1])
      return false;
  }
  return std::size(describedInits) == std::size(kInitKindNames);
}
static_assert(haveDescribedInits(),
              "StepABI.h and MPTReference.td differ in kinds of init");
} // namespace

static constexpr StringLiteral masters[] = {"f32", "bf16-stochastic-rounding",
                                            "bf16-kahan", "split16", "none"};

/// The body of `function`, which is not verified yet; null if there is none.
static Region *getBody(FunctionOpInterface function) {
  return function->getNumRegions() == 0 || function->getRegion(0).empty()
             ? nullptr
             : &function->getRegion(0);
}

Location mpt::getArgumentLocation(FunctionOpInterface function, unsigned index) {
  Region *body = getBody(function);
  return body && index < body->getNumArguments() ? body->getArgument(index).getLoc()
                                                 : function.getLoc();
}

Location mpt::getResultLocation(FunctionOpInterface function) {
  Region *body = getBody(function);
  if (body && body->hasOneBlock() && body->front().mightHaveTerminator())
    return body->front().getTerminator()->getLoc();
  return function.getLoc();
}

/// Names are keys of checkpoints, columns of metrics and C strings of the runtime.
static LogicalResult verifyName(llvm::function_ref<InFlightDiagnostic()> emitError,
                                StringAttr attribute) {
  StringRef name = attribute.getValue();
  if (!llvm::json::isUTF8(name) ||
      llvm::any_of(name, [](char c) { return llvm::isASCII(c) && !llvm::isPrint(c); }))
    return emitError() << "expected 'mpt.name' to be UTF-8 without control characters, "
                          "found "
                       << attribute;
  if (name == "__metadata__")
    return emitError() << "'mpt.name' is \"__metadata__\", which .safetensors files keep "
                          "for themselves; rename it";
  if (name == "mpt")
    return emitError()
           << "'mpt.name' is \"mpt\", with which the names of its optimizer's "
              "state begin, and names that begin with 'mpt.' are kept for MPT; "
              "rename it";
  if (name.starts_with("mpt."))
    return emitError() << "'mpt.name' is \"" << name
                       << "\", and names that begin with 'mpt.' are kept for MPT; rename "
                          "it";
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

static LogicalResult verifyArgumentNames(FunctionOpInterface function, unsigned index) {
  auto nameOf = [&](unsigned i) { return function.getArgAttr(i, kNameAttr); };
  unsigned count = function.getNumArguments();
  if (findFirst(count, nameOf) != index)
    return success();
  DenseMap<Attribute, unsigned> seen;
  for (unsigned i = index; i < count; ++i)
    if (Attribute name = nameOf(i))
      if (auto [it, inserted] = seen.try_emplace(name, i); !inserted)
        return mlir::emitError(getArgumentLocation(function, i),
                               "expected a 'mpt.name' of its own for every "
                               "argument, found ")
               << name << " on arguments " << it->second << " and " << i;
  return success();
}

static LogicalResult verifyResultNames(FunctionOpInterface function, StringRef attribute,
                                       unsigned index) {
  auto nameOf = [&](unsigned i) { return function.getResultAttr(i, attribute); };
  unsigned count = function.getNumResults();
  if (findFirst(count, nameOf) != index)
    return success();
  DenseMap<Attribute, unsigned> seen;
  for (unsigned i = index; i < count; ++i)
    if (Attribute name = nameOf(i))
      if (auto [it, inserted] = seen.try_emplace(name, i); !inserted)
        return mlir::emitError(getResultLocation(function), "expected a '")
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
      return mlir::emitError(getResultLocation(function),
                             "expected an argument with the 'mpt.name' ")
             << updates << ", which result " << i << " updates, found none";
    Type expected = function.getArgumentTypes()[argument->second];
    Type found = function.getResultTypes()[i];
    auto role = function.getArgAttrOfType<StringAttr>(argument->second, kRoleAttr);
    if (role && (role.getValue() == "input" || role.getValue() == "target"))
      return mlir::emitError(getResultLocation(function), "expected result ")
             << i << " to update state, found 'mpt.updates' = " << updates
             << ", an argument with 'mpt.role' = " << role
             << ", which the host gives anew in each step";
    if (expected != found)
      return mlir::emitError(getResultLocation(function), "expected result ")
             << i << ", which updates " << updates << ", to be of its type " << expected
             << ", found " << found;
  }
  return success();
}

static bool hasAttributeOfMPT(ArrayRef<NamedAttribute> attributes) {
  return llvm::any_of(attributes, [](NamedAttribute attribute) {
    return attribute.getName().getValue().starts_with("mpt.");
  });
}

/// Fails if an attribute of `function`, its arguments, its results or what it is in has a
/// slip in the prefix. The dialect's verifier is only asked for those with its prefix, so
/// this looks at all others at the first argument or result, `index` at `place`, that has
/// one.
static LogicalResult verifyPrefixes(FunctionOpInterface function, AttributePlace place,
                                    unsigned index) {
  auto attributesOf = [&](AttributePlace at, unsigned i) {
    return at == AttributePlace::Argument ? function.getArgAttrs(i)
                                          : function.getResultAttrs(i);
  };
  for (unsigned i = 0; i < index; ++i)
    if (hasAttributeOfMPT(attributesOf(place, i)))
      return success();
  auto check = [&](ArrayRef<NamedAttribute> attributes, AttributePlace at, Location loc,
                   const Twine &described) -> LogicalResult {
    for (NamedAttribute attribute : attributes)
      if (StringRef meant = mpt::detail::findMisspelledPrefix(attribute, at);
          !meant.empty())
        return mlir::emitError(loc)
               << "unknown attribute '" << attribute.getName().getValue() << "' on "
               << described << "; did you mean '" << meant << "'?";
    return success();
  };
  for (unsigned i : llvm::seq(function.getNumArguments()))
    if (failed(check(function.getArgAttrs(i), AttributePlace::Argument,
                     getArgumentLocation(function, i), "argument " + Twine(i))))
      return failure();
  for (unsigned i : llvm::seq(function.getNumResults()))
    if (failed(check(function.getResultAttrs(i), AttributePlace::Result,
                     getResultLocation(function), "result " + Twine(i))))
      return failure();
  for (Operation *op = function; op; op = op->getParentOp())
    if (failed(check(llvm::to_vector(op->getDiscardableAttrs()), AttributePlace::Op,
                     op->getLoc(), op->getName().getStringRef())))
      return failure();
  return success();
}

bool mpt::detail::isRole(Attribute value) { return readRole(value).has_value(); }

bool mpt::detail::isMaster(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && llvm::is_contained(masters, text.getValue());
}

LogicalResult MPTDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  auto emitError = [&] {
    return mlir::emitError(function ? getArgumentLocation(function, argIndex)
                                    : op->getLoc());
  };
  StringRef name = attribute.getName();
  if (name == kInitAttr) {
    FailureOr<InitAttr> init = readInit(attribute.getValue(), emitError);
    if (failed(init))
      return failure();
    auto type = function ? dyn_cast<ShapedType>(function.getArgumentTypes()[argIndex])
                         : ShapedType();
    if (init->getSpec().isRandom() && type && !isa<FloatType>(type.getElementType()))
      return emitError() << "expected a float tensor for 'mpt.init' of kind '"
                         << StringRef(getNames(init->getKind()).name) << "', found "
                         << type;
    return success();
  }
  if (failed(detail::verifyDiscardableAttribute(
          attribute, AttributePlace::Argument, op->getName().getStringRef(),
          ("argument " + Twine(argIndex)).str(), emitError)) ||
      (function && failed(verifyPrefixes(function, AttributePlace::Argument, argIndex))))
    return failure();
  if (name == kNameAttr &&
      failed(verifyName(emitError, cast<StringAttr>(attribute.getValue()))))
    return failure();
  if (function && name == kNameAttr)
    return verifyArgumentNames(function, argIndex);
  if (function && name == kShardsAttr)
    return readShards(attribute.getValue(), function.getArgumentTypes()[argIndex],
                      emitError);
  if (function && name == kLowOfAttr &&
      llvm::none_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
        return function.getArgAttr(i, kNameAttr) == attribute.getValue();
      }))
    return emitError() << "expected an argument with the 'mpt.name' "
                       << attribute.getValue()
                       << ", which 'mpt.low_of' names, found none";
  return success();
}

LogicalResult MPTDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                      unsigned resultIndex,
                                                      NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attribute.getName();
  auto emitError = [&] {
    return mlir::emitError(function ? getResultLocation(function) : op->getLoc());
  };
  if (failed(detail::verifyDiscardableAttribute(
          attribute, AttributePlace::Result, op->getName().getStringRef(),
          ("result " + Twine(resultIndex)).str(), emitError)) ||
      (function && failed(verifyPrefixes(function, AttributePlace::Result, resultIndex))))
    return failure();
  if (name == kNameAttr &&
      failed(verifyName(emitError, cast<StringAttr>(attribute.getValue()))))
    return failure();
  if (function && name == kNameAttr)
    return verifyResultNames(function, kNameAttr, resultIndex);
  if (function && name == kUpdatesAttr)
    return verifyUpdates(function, resultIndex);
  return success();
}
