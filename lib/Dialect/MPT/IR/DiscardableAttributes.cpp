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
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/TargetNames.h"
#include "mpt/Support/MemoryBudget.h"
#include "mpt/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isText(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && !text.getValue().empty();
}
static bool isBudget(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && parseRematBudget(text.getValue());
}
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
static bool isTextArray(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, llvm::IsaPred<StringAttr>);
}
static bool isMesh(Attribute value) { return isa<MeshAttr>(value); }
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
static constexpr StringLiteral orders[] = {"best", "keep", "early-update", "least-peak",
                                           "depth-first"};
static constexpr StringLiteral precisions[] = {"f32", "low"};

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

static constexpr StringLiteral modules[] = {"builtin.module"};
static constexpr StringLiteral functions[] = {"func.func"};
static constexpr StringLiteral functionsAndModules[] = {"func.func", "builtin.module"};
static constexpr StringLiteral markers[] = {"mpt.grad_seed", "mpt.gradients"};
static constexpr StringLiteral sums[] = {"mpt.reduce", "mpt_kernel.row_reduce",
                                         "mpt_kernel.column_reduce"};

ArrayRef<DiscardableAttribute> mpt::getDiscardableAttributes() {
  constexpr auto Argument = AttributePlace::Argument, Result = AttributePlace::Result,
                 Op = AttributePlace::Op;
  static const DiscardableAttribute attributes[] = {
      {kNameAttr, Argument, {}, isText, "a string that is not empty", "all passes"},
      {kNameAttr, Result, {}, isText, "a string that is not empty", "all passes"},
      {kRoleAttr,
       Argument,
       {},
       detail::isRole,
       "one of parameter, optimizer_state, "
       "running_stat, loss_scale, rng, schedule, input, target",
       "all passes"},
      {kInitAttr, Argument, {}, isDictionary, "a dictionary", "mpt-run"},
      {kUpdatesAttr, Result, {}, isText, "a string that is not empty", "all passes"},
      {kMasterAttr,
       Argument,
       {},
       detail::isMaster,
       "one of f32, bf16-stochastic-rounding, "
       "bf16-kahan, split16, none",
       "mpt-master-weights"},
      {kLowOfAttr, Argument, {}, isText, "the name of a parameter", "mpt-run"},
      {kDecayAttr, Argument, {}, isBool, "true or false", "mpt-train-step"},
      {kShardsAttr,
       Argument,
       {},
       isDictionary,
       "a dictionary",
       "mpt-train-step, mpt-loss-scale, mpt-run"},
      {kLossAttr, Result, {}, isUnit, "no value", "mpt-autodiff"},
      {kLossAttr, Op, markers, isText, "the name of a loss", "mpt-loss-scale"},

      {kPrecisionAttr, Op, {}, isOneOf<precisions>, "\"f32\" or \"low\"", "mpt-autocast"},
      {kOptimizerAttr, Op, {}, isUnit, "no value", "mpt-master-weights"},
      {kPrecisionClassAttr,
       Op,
       {},
       isText,
       "a string that is not empty",
       "mpt-annotate-precision"},
      {kPrecisionSourceAttr,
       Op,
       {},
       isText,
       "a string that is not empty",
       "mpt-annotate-precision"},
      {kOwnCastAttr, Op, {}, isUnit, "no value", "mpt-autocast"},
      {kPaintedOverheadAttr, Op, modules, isCount, "an i64 that is not negative",
       "mpt-autocast"},
      {kTargetAttr, Op, modules, isOneOf<kTargetNames>, "a machine, such as \"sm_90\"",
       "mpt-autocast, mpt-pad-tensor-cores"},
      {kMeshAttr, Op, modules, isMesh, "a mesh, such as #mpt.mesh<data = 4>",
       "mpt-data-parallel, mpt-assign-buffers"},

      {kRecordAttr, Op, {}, isUnit, "no value", "mpt-instrument"},
      {kRecordAttr, Result, {}, isDictionary, "a dictionary", "mpt-run"},
      {kRecordsAttr, Op, functions, isRecords,
       "a dictionary of 'types', an array of strings, and 'edges', an array<i64>",
       "mpt-run"},

      {kBudgetAttr, Op, functions, isBudget,
       "a size such as \"512MB\", a share such as \"0.5x\" or \"50%\", or \"min\"",
       "mpt-rematerialize, mpt-plan-kernels"},
      {kMemoryOrderAttr, Op, functions, isOneOf<orders>,
       "a string: best, keep, early-update, least-peak or depth-first",
       "mpt-assign-buffers, mpt-memory-report, mpt-rematerialize, "
       "mpt-plan-kernels"},
      {kSaveAttr, Op, {}, isOneOf<saves>, "\"must\" or \"never\"", "mpt-rematerialize"},
      {kRematAttr, Op, {}, isCount, "an i64 that is not negative", "mpt-rematerialize"},
      {kBackwardAttr, Op, {}, isUnit, "no value", "mpt-plan-kernels"},
      {kSumAttr, Op, sums, isCount, "an i64 that is not negative", "mpt-plan-kernels"},
  };
  return attributes;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Whether `context` knows a dialect called `name`, loaded or not.
static bool isRegistered(MLIRContext *context, StringRef name) {
  return context->getLoadedDialect(name) ||
         llvm::is_contained(context->getAvailableDialects(), name);
}

static std::string describePlace(const DiscardableAttribute &attribute) {
  if (attribute.place != AttributePlace::Op)
    return attribute.place == AttributePlace::Argument ? "an argument" : "a result";
  if (attribute.ops.empty())
    return "an op in a function";
  return llvm::join(attribute.ops, " or ");
}

LogicalResult mpt::detail::verifyDiscardableAttribute(
    NamedAttribute attribute, AttributePlace place, StringRef op, StringRef described,
    llvm::function_ref<InFlightDiagnostic()> emitError) {
  StringRef name = attribute.getName();
  auto mayStand = [&](const DiscardableAttribute &candidate) {
    if (candidate.place != place || place != AttributePlace::Op)
      return candidate.place == place;
    return candidate.ops.empty() ? !llvm::is_contained(functionsAndModules, op) &&
                                       !op.starts_with("mpt_program.")
                                 : llvm::is_contained(candidate.ops, op);
  };
  SmallVector<StringRef> standing;
  SmallVector<std::string> places;
  for (const DiscardableAttribute &candidate : getDiscardableAttributes()) {
    if (candidate.name != name || !mayStand(candidate))
      continue;
    if (candidate.isValid(attribute.getValue()))
      return success();
    InFlightDiagnostic error = emitError();
    error << "expected '" << name << "' to be " << candidate.expected
          << (candidate.expected.contains(", ") ? "; found " : ", found ")
          << attribute.getValue();
    if (name == kTargetAttr)
      error << "; known are " << llvm::join(ArrayRef(kTargetNames), ", ");
    return error;
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
  InFlightDiagnostic error = emitError()
                             << "unknown attribute '" << name << "' on " << described;
  if (StringRef nearest = findNearestName(name, standing); !nearest.empty())
    return error << "; did you mean '" << nearest << "'?";
  if (place == AttributePlace::Op)
    return error << "; the prefix 'mpt.' is MPT's own, take another one";
  return error << "; known are " << llvm::join(standing, ", ");
}

/// What marks of passes say of an op must be true of it.
static LogicalResult verifyMark(Operation *op, StringRef name) {
  if (name == kOwnCastAttr && (isa_and_nonnull<MPTDialect>(op->getDialect()) ||
                               op->getNumOperands() == 0 || op->getNumResults() != 1 ||
                               op->getOperand(0).getType() == op->getResult(0).getType()))
    return op->emitError() << "expected '" << name
                           << "' on a cast of another dialect, from one type to another; "
                              "found it on "
                           << op->getName() << "; remove it (mpt-autocast adds it)";
  if (llvm::is_contained({kSaveAttr, kRematAttr, kBackwardAttr}, name) &&
      op->getNumResults() == 0)
    return op->emitError() << "expected '" << name
                           << "' on an op with results, found it on " << op->getName()
                           << ", which has none; remove it";
  return success();
}

LogicalResult MPTDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = op->getName().getStringRef();
  // Functions of other dialects are what one of func becomes.
  if (failed(detail::verifyDiscardableAttribute(
          attribute, AttributePlace::Op,
          isa<FunctionOpInterface>(op) ? "func.func" : name, name,
          [&] { return emitError(op->getLoc()); })))
    return failure();
  return verifyMark(op, attribute.getName());
}

StringRef mpt::detail::findMisspelledPrefix(NamedAttribute attribute,
                                            AttributePlace place) {
  StringRef name = attribute.getName();
  Dialect *owner = attribute.getNameDialect();
  if (owner || !name.contains('.') ||
      isRegistered(attribute.getName().getContext(), name.split('.').first))
    return {};
  auto [prefix, rest] = name.split('.');
  // Two letters the other way round are one slip.
  std::string sorted = prefix.lower();
  llvm::sort(sorted);
  if (sorted != "mpt" && prefix.edit_distance("mpt") > 1)
    return {};
  for (const DiscardableAttribute &each : getDiscardableAttributes())
    if (each.place == place &&
        rest.edit_distance(each.name.drop_front(StringRef("mpt.").size())) <= 1)
      return each.name;
  return {};
}

namespace {
/// What other libraries call an attribute.
struct OtherAttribute {
  StringLiteral name, attribute;
};
} // namespace

static constexpr OtherAttribute otherAttributes[] = {
#define GET_OTHER_ATTRIBUTES
#include "mpt/Dialect/MPT/IR/OpReference.inc"
#undef GET_OTHER_ATTRIBUTES
};

std::string mpt::detail::describeUnknownAttribute(StringRef name,
                                                  ArrayRef<StringAttr> own) {
  SmallVector<StringRef> names;
  for (StringAttr each : own)
    if (!each.getValue().ends_with("SegmentSizes"))
      names.push_back(each);
  StringRef nearest = findNearestName(name, names);
  // What other libraries call it says more than letters, and so do words in
  // common: `is_causal` is `causal`.
  for (StringRef each : names)
    if ((each.size() > 3 && name.contains(each)) ||
        (name.size() > 3 && each.contains(name)))
      nearest = each;
  for (const OtherAttribute &other : otherAttributes)
    if (other.name == name && llvm::is_contained(names, other.attribute))
      nearest = other.attribute;
  const std::string prefixed = ("mpt." + name).str();
  for (const DiscardableAttribute &each : getDiscardableAttributes())
    if (each.place == AttributePlace::Op && each.name == prefixed)
      nearest = each.name;
  std::string text = ("has no attribute '" + name + "'; ").str();
  if (!nearest.empty())
    return text + "did you mean '" + nearest.str() + "'?";
  return text + (names.empty() ? "it has none" : "it has " + llvm::join(names, ", ")) +
         " (a note of your own takes its dialect's prefix, as in 'my." + name.str() +
         "')";
}

LogicalResult mpt::detail::verifyNoUnownedAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    auto [prefix, rest] = name.split('.');
    if (isa<SymbolOpInterface>(op) && name == SymbolTable::getVisibilityAttrName())
      continue;
    if (prefix.empty() || rest.empty())
      return op->emitOpError(
          describeUnknownAttribute(name, op->getName().getAttributeNames()));
    if (StringRef meant = findMisspelledPrefix(attribute, AttributePlace::Op);
        !meant.empty())
      return op->emitOpError() << "has an attribute '" << name << "'; did you mean '"
                               << meant << "'?";
    // MPT's other dialects own no attributes of ops.
    if (prefix == "mpt_kernel" || prefix == "mpt_program")
      return op->emitOpError()
             << "has an attribute '" << name
             << "', which no pass reads; notes for MPT begin with 'mpt.'";
    if (!attribute.getNameDialect() && !isRegistered(op->getContext(), prefix) &&
        !op->getContext()->allowsUnregisteredDialects())
      return op->emitOpError()
             << "has an attribute '" << name << "' of the dialect '" << prefix
             << "', which is not registered; remove it, or allow unregistered dialects "
                "(mpt-opt --allow-unregistered-dialect)";
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
        return emitError() << "the op " << describeUnknownAttribute(entry.getName(), own);
  return model->setPropertiesFromAttr(name, properties, attribute, emitError);
}
