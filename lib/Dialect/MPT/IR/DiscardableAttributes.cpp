//===- DiscardableAttributes.cpp - Notes on ops and arguments -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"

#include "StepAttributes.h"
#include "StrictModel.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Support/NearestName.h"

using namespace mlir;
using namespace mpt;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isText(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && !text.getValue().empty();
}
static bool isAnyText(Attribute value) { return isa<StringAttr>(value); }
static bool isUnit(Attribute value) { return isa<UnitAttr>(value); }
static bool isBool(Attribute value) { return isa<BoolAttr>(value); }
static bool isDictionary(Attribute value) { return isa<DictionaryAttr>(value); }
static bool isI64(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64);
}
static bool isCount(Attribute value) {
  return isI64(value) && !cast<IntegerAttr>(value).getValue().isNegative();
}
static bool isI64Array(Attribute value) { return isa<DenseI64ArrayAttr>(value); }
static bool isTextArray(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, llvm::IsaPred<StringAttr>);
}
static bool isDictionaryOfI64Arrays(Attribute value) {
  auto dictionary = dyn_cast<DictionaryAttr>(value);
  return dictionary && llvm::all_of(dictionary, [](NamedAttribute entry) {
           return isa<DenseI64ArrayAttr>(entry.getValue());
         });
}
static bool isRecords(Attribute value) {
  auto dictionary = dyn_cast<DictionaryAttr>(value);
  if (!dictionary || dictionary.size() != 2)
    return false;
  Attribute types = dictionary.get("types"), edges = dictionary.get("edges");
  return types && isTextArray(types) && isa_and_nonnull<DenseI64ArrayAttr>(edges);
}

template <const auto &Values>
static bool isOneOf(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && llvm::is_contained(Values, text.getValue());
}

static constexpr StringLiteral saves[] = {"must", "never"};
static constexpr StringLiteral precisions[] = {"f32", "low"};
static constexpr StringLiteral parts[] = {"before", "behind", "instead"};

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

static constexpr StringLiteral modules[] = {"builtin.module"};
static constexpr StringLiteral functions[] = {"func.func"};
static constexpr StringLiteral functionsAndModules[] = {"func.func", "builtin.module"};
static constexpr StringLiteral markers[] = {"mpt.grad_seed", "mpt.gradients"};
static constexpr StringLiteral attentions[] = {"mpt.attention", "mpt.attention_grad"};
static constexpr StringLiteral kernels[] = {"gpu.module", "gpu.binary"};
static constexpr StringLiteral launches[] = {"mpt_program.launch"};
static constexpr StringLiteral calls[] = {"mpt_program.*"};
static constexpr StringLiteral instructions[] = {"mpt_program.*"};

ArrayRef<DiscardableAttribute> mpt::getDiscardableAttributes() {
  constexpr auto Argument = AttributePlace::Argument, Result = AttributePlace::Result,
                 Op = AttributePlace::Op;
  static const DiscardableAttribute attributes[] = {
      {kNameAttr, Argument, {}, isText, "a string that is not empty", "all passes"},
      {kNameAttr, Result, {}, isText, "a string that is not empty", "all passes"},
      {kRoleAttr, Argument, {}, detail::isRole, "one of parameter, optimizer_state, "
       "running_stat, loss_scale, rng, schedule, input, target", "all passes"},
      {kInitAttr, Argument, {}, isDictionary, "a dictionary", "mpt-run"},
      {kUpdatesAttr, Result, {}, isText, "a string that is not empty", "all passes"},
      {kMasterAttr, Argument, {}, detail::isMaster, "one of f32, bf16-stochastic-rounding, "
       "bf16-kahan, split16, none", "mpt-master-weights"},
      {kLowOfAttr, Argument, {}, isText, "the name of a parameter", "mpt-run"},
      {kDecayAttr, Argument, {}, isBool, "true or false", "mpt-train-step"},
      {kLossAttr, Result, {}, isUnit, "no value", "mpt-autodiff"},
      {kLossAttr, Op, markers, isText, "the name of a loss", "mpt-loss-scale"},

      {kPrecisionAttr, Op, {}, isOneOf<precisions>, "\"f32\" or \"low\"",
       "mpt-autocast"},
      {kPrecisionClassAttr, Op, {}, isText, "a string that is not empty",
       "mpt-annotate-precision"},
      {kPrecisionSourceAttr, Op, {}, isText, "a string that is not empty",
       "mpt-annotate-precision"},
      {kOwnCastAttr, Op, {}, isUnit, "no value", "mpt-autocast"},
      {kAmongPaintedAttr, Op, modules, isCount, "an i64 that is not negative",
       "mpt-autocast"},
      {kTargetAttr, Op, modules, isText, "a string such as \"sm_90\"",
       "mpt-autocast, mpt-pad-tensor-cores"},

      {kRecordAttr, Op, {}, isUnit, "no value", "mpt-instrument"},
      {kRecordAttr, Result, {}, isDictionary, "a dictionary", "mpt-run"},
      {kRecordsAttr, Op, functions, isRecords,
       "a dictionary of 'types', an array of strings, and 'edges', an array<i64>",
       "mpt-run"},

      {kBudgetAttr, Op, functions, isText, "a string such as \"512MB\" or \"0.5x\"",
       "mpt-rematerialize"},
      {kMemoryOrderAttr, Op, functions, isText,
       "a string: best, keep, early-update, least-peak or depth-first",
       "mpt-assign-slots, mpt-memory-report, mpt-rematerialize"},
      {kPlannedForAttr, Op, functionsAndModules, isAnyText, "a string",
       "mpt-assign-slots, mpt-rematerialize"},
      {kSaveAttr, Op, {}, isOneOf<saves>, "\"must\" or \"never\"",
       "mpt-rematerialize"},
      {kRegionAttr, Op, {}, isCount, "an i64 that is not negative", "mpt-autodiff"},
      {kRematAttr, Op, {}, isCount, "an i64 that is not negative", "mpt-rematerialize"},
      {kBackwardAttr, Op, {}, isUnit, "no value", "mpt-rematerialize"},
      {kSumAttr, Op, {}, isCount, "an i64 that is not negative", "mpt-rematerialize"},

      {kFusedAttr, Op, attentions, isUnit, "no value", "mpt-decompose"},
      {kLaunchesAttr, Op, kernels, isDictionaryOfI64Arrays,
       "a dictionary of array<i64>", "mpt-compile"},
      {kDeviceFunctionsAttr, Op, calls, isTextArray, "an array of strings",
       "mpt-compile"},
      {kDeviceGroupAttr, Op, launches, isAnyText, "a string", "mpt-compile"},
      {kDeviceSpacesAttr, Op, launches, isI64Array, "an array<i64>", "mpt-compile"},
      {kReplacesEpilogueAttr, Op, instructions, isUnit, "no value", "mpt-compile"},
      {kConvolutionPartAttr, Op, instructions, isOneOf<parts>,
       "\"before\", \"behind\" or \"instead\"", "mpt-compile"},
      {kTunedProductsAttr, Op, modules, isDictionaryOfI64Arrays,
       "a dictionary of array<i64>", "mpt-compile"},
  };
  return attributes;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static std::string describePlace(const DiscardableAttribute &attribute) {
  if (attribute.place != AttributePlace::Op)
    return attribute.place == AttributePlace::Argument ? "an argument" : "a result";
  if (attribute.ops.empty())
    return "an op in a function";
  return llvm::join(attribute.ops, " or ");
}

LogicalResult
mpt::detail::verifyDiscardableAttribute(NamedAttribute attribute, AttributePlace place,
                                        StringRef op, StringRef described,
                                        llvm::function_ref<InFlightDiagnostic()> emitError) {
  StringRef name = attribute.getName();
  auto mayStand = [&](const DiscardableAttribute &candidate) {
    if (candidate.place != place || place != AttributePlace::Op)
      return candidate.place == place;
    return candidate.ops.empty() ? !llvm::is_contained(functionsAndModules, op)
                                 : llvm::any_of(candidate.ops, [&](StringRef allowed) {
                                     return allowed.consume_back("*")
                                                ? op.starts_with(allowed)
                                                : op == allowed;
                                   });
  };
  SmallVector<StringRef> standing;
  SmallVector<std::string> places;
  for (const DiscardableAttribute &candidate : getDiscardableAttributes()) {
    if (candidate.name != name || !mayStand(candidate))
      continue;
    if (candidate.isValid(attribute.getValue()))
      return success();
    return emitError() << "expected '" << name << "' to be " << candidate.expected
                       << (candidate.expected.contains(", ") ? "; found " : ", found ")
                       << attribute.getValue();
  }
  for (const DiscardableAttribute &candidate : getDiscardableAttributes()) {
    if (mayStand(candidate))
      standing.push_back(candidate.name);
    if (candidate.name == name)
      places.push_back(describePlace(candidate));
  }
  if (!places.empty())
    return emitError() << "expected '" << name << "' on " << llvm::join(places, " or ")
                       << ", found it on " << described;
  InFlightDiagnostic error = emitError() << "unknown attribute '" << name << "' on "
                                         << described;
  if (StringRef nearest = findNearestName(name, standing); !nearest.empty())
    return error << "; did you mean '" << nearest << "'?";
  if (place == AttributePlace::Op)
    return error << "; the prefix 'mpt.' is MPT's own, take another one";
  return error << "; known are " << llvm::join(standing, ", ");
}

LogicalResult MPTDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = op->getName().getStringRef();
  // Functions of other dialects are what one of func becomes.
  return detail::verifyDiscardableAttribute(
      attribute, AttributePlace::Op, isa<FunctionOpInterface>(op) ? "func.func" : name,
      name, [&] { return emitError(op->getLoc()); });
}

std::string mpt::detail::describeUnknownAttribute(StringRef name,
                                                  ArrayRef<StringAttr> own) {
  SmallVector<StringRef> names;
  for (StringAttr each : own)
    if (!each.getValue().ends_with("SegmentSizes"))
      names.push_back(each);
  StringRef nearest = findNearestName(name, names);
  // Words in common say more than letters: `is_causal` is `causal`.
  for (StringRef each : names)
    if ((each.size() > 3 && name.contains(each)) ||
        (name.size() > 3 && each.contains(name)))
      nearest = each;
  const std::string prefixed = ("mpt." + name).str();
  for (const DiscardableAttribute &each : getDiscardableAttributes())
    if (each.place == AttributePlace::Op && each.name == prefixed)
      nearest = each.name;
  std::string text = ("has no attribute '" + name + "'; ").str();
  if (!nearest.empty())
    return text + "did you mean '" + nearest.str() + "'?";
  return text + (names.empty() ? "it has none" : "it has " + llvm::join(names, ", ")) +
         " (a note of your own takes a prefix, as in 'my." + name.str() + "')";
}

LogicalResult mpt::detail::verifyNoUnownedAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    auto [prefix, rest] = name.split('.');
    if ((!prefix.empty() && !rest.empty()) ||
        (isa<SymbolOpInterface>(op) && name == SymbolTable::getVisibilityAttrName()))
      continue;
    return op->emitOpError(
        describeUnknownAttribute(name, op->getName().getAttributeNames()));
  }
  return success();
}

LogicalResult mpt::detail::StrictModel::setPropertiesFromAttr(OperationName name,
                                                              Properties properties,
                                                              Attribute attribute,
                                                              EmitError emitError) {
  ArrayRef<StringAttr> own = name.getAttributeNames();
  if (auto entries = dyn_cast_or_null<DictionaryAttr>(attribute))
    for (NamedAttribute entry : entries)
      if (!llvm::is_contained(own, entry.getName()) &&
          !entry.getName().getValue().ends_with("SegmentSizes"))
        return emitError() << "the op "
                           << describeUnknownAttribute(entry.getName(), own);
  return model->setPropertiesFromAttr(name, properties, attribute, emitError);
}
