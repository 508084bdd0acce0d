//===- PrecisionPolicy.cpp - Which class each op has -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionPolicy.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Interfaces/ElementRegionOpInterface.h"

using namespace mlir;
using namespace mpt;

StringRef mpt::stringifyRuleSource(RuleSource source) {
  switch (source) {
  case RuleSource::Attribute:
    return "attribute";
  case RuleSource::List:
    return "list";
  case RuleSource::Table:
    return "table";
  case RuleSource::Interface:
    return "op";
  case RuleSource::Unlisted:
    return "unlisted";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

bool OpRecord::saysCast(Operation *op) {
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  return interface && interface.isElementCast();
}

bool OpRecord::saysContraction(Operation *op) const {
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  return interface &&
         (interface.hasWideResults() || (hasElementRegion && results == ResultForm::F32 &&
                                         precisionClass == PrecisionClass::Allow));
}

bool OpRecord::canClone(Operation *op) const {
  if ((op->getNumRegions() != 0 && !hasElementRegion) || op->getNumResults() != 1)
    return false;
  return rule ? rule->clone && rule->pure
              : precisionClass == PrecisionClass::Clear && isPure(op);
}

Port OpRecord::saysOperandPort(Operation *op, unsigned index) const {
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  if (!interface || (!onlyMoves && interface.isFixedPrecisionOperand(index)))
    return Port::Fixed;
  if (!readsAny && !readsLoosely)
    return Port::Follows;
  auto region = dyn_cast<ElementRegionOpInterface>(op);
  if (!region || !region.readsAnyElement(index))
    return Port::Follows;
  return readsAny ? Port::Any : Port::Loose;
}

bool OpRecord::saysFixedResult(Operation *op, unsigned index) {
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  return !interface || interface.isFixedPrecisionResult(index);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

LogicalResult PrecisionPolicy::keep(Location loc, ArrayRef<KeepPattern> patterns) {
  for (const KeepPattern &each : patterns) {
    llvm::Regex pattern(each.text);
    std::string error;
    if (!pattern.isValid(error))
      return emitError(each.place.getLoc(loc))
             << "keep: '" << each.text << "' is not a regular expression: " << error;
    keptScopes.push_back({each, std::move(pattern)});
  }
  return success();
}

bool PrecisionPolicy::isInKeptScope(Operation *op) {
  if (keptScopes.empty())
    return false;
  std::string place = describePlace(op);
  bool found = false;
  for (KeptScope &scope : keptScopes)
    if (scope.pattern.match(place))
      found = scope.matched = true;
  return found;
}

void PrecisionPolicy::warnOfUnused(Operation *module, StringRef pass) const {
  auto warn = [&](StringRef key, StringRef text, const PolicyPlace &place) {
    InFlightDiagnostic warning = emitWarning(place.getLoc(module->getLoc()));
    warning << pass << ": " << key << ": '" << text
            << "' matches no op; it is matched with an op's name, location (file:line, "
               "name) and function (@name)";
    if (!place.file.empty())
      warning << ". 'unmatched: ignore' in this file permits patterns that match nothing";
  };
  for (const KeptScope &scope : keptScopes)
    if (!scope.matched && !scope.keep.place.mayMiss)
      warn("keep", scope.keep.text, scope.keep.place);
  lists.forEachUnmatched(
      module, [&](StringRef text, const PolicyPlace &place) { warn("in", text, place); });
  for (const auto &each : indexed) {
    const OpRule *rule = each.first;
    auto [mostOperands, mostResults] = each.second;
    auto check = [&](StringRef key, StringRef what, ArrayRef<unsigned> indices,
                     Operation *op, unsigned count) {
      for (unsigned index : indices)
        if (index >= count)
          op->emitWarning() << pass << ": " << rule->source << ": " << key << ": '"
                            << op->getName() << "' has no " << what << " " << index
                            << "; it has " << count << ", counted from 0";
    };
    check("f32-operands", "operand", rule->f32Operands, mostOperands,
          mostOperands->getNumOperands());
    check("f32-results", "result", rule->f32Results, mostResults,
          mostResults->getNumResults());
  }
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

const OpRule *PrecisionPolicy::findRule(Operation *op) {
  OperationName name = op->getName();
  auto [entry, isNew] = ruleCache.try_emplace(name, nullptr);
  if (isNew) {
    rules.addBuiltin(name.getDialectNamespace());
    entry->second = rules.lookup(name.getStringRef());
  }
  const OpRule *rule = entry->second;
  return rule && !rule->nameAttribute.empty() ? rules.lookup(op) : rule;
}

int PrecisionPolicy::getSign(Value value, unsigned steps) {
  Operation *op = value.getDefiningOp();
  if (!op || steps == 0)
    return 0;
  ElementsAttr elements;
  if (isConstant(op, rules, &elements)) {
    auto dense = dyn_cast<DenseFPElementsAttr>(elements);
    if (!dense || !dense.isSplat())
      return 0;
    llvm::APFloat number = dense.getSplatValue<llvm::APFloat>();
    return number.isNaN() ? 0 : number.isNegative() ? -1 : 1;
  }
  const OpRule *rule = findRule(op);
  if (!rule || op->getNumOperands() == 0)
    return 0;
  if (rule->cast)
    return getSign(op->getOperand(0), steps - 1);
  switch (rule->sign) {
  case ResultSign::Any:
    return 0;
  case ResultSign::NonNegative:
    return 1;
  case ResultSign::Same:
    return getSign(op->getOperand(0), steps - 1);
  case ResultSign::Opposite:
    return -getSign(op->getOperand(0), steps - 1);
  case ResultSign::Product:
    if (op->getNumOperands() != 2)
      return 0;
    if (op->getOperand(0) == op->getOperand(1))
      return 1;
    return getSign(op->getOperand(0), steps - 1) * getSign(op->getOperand(1), steps - 1);
  }
  return 0;
}

/// The first row of `rule` that covers all that `op`'s regions compute.
static const OpRule::Combiner *findCombiner(const OpRule &rule, Operation *op) {
  for (const OpRule::Combiner &combiner : rule.combiners) {
    bool covers = true;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          covers &= &inner == &block.back() ||
                    llvm::is_contained(combiner.ops, inner.getName().getStringRef());
    if (covers)
      return &combiner;
  }
  return nullptr;
}

/// An op that computes on elements is what its region does.
void PrecisionPolicy::refineByRegion(Operation *op, OpRecord &record) {
  auto interface = cast<ElementRegionOpInterface>(op);
  Region &region = interface.getElementRegion();
  if (interface.combinesElements())
    record.results = ResultForm::F32;
  if (region.empty() || record.precisionClass == PrecisionClass::Allow)
    return;
  Block &block = region.front();
  auto getClass = [&](Operation *inner) {
    const OpRule *rule = findRule(inner);
    return rule ? rule->getClass(low) : PrecisionClass::Fixed;
  };
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  record.onlyMoves = llvm::all_of(block, [&](Operation &inner) {
    return &inner == &block.back() || isConstant(&inner, rules) ||
           llvm::none_of(inner.getOperandTypes(), isFloat) ||
           (getClass(&inner) == PrecisionClass::Clear && inner.getNumRegions() == 0);
  });
  if (record.onlyMoves) {
    record.precisionClass = PrecisionClass::Clear;
    record.results = ResultForm::Same;
  } else if (llvm::any_of(block.back().getOperands(), [&](Value yielded) {
               Operation *made = yielded.getDefiningOp();
               return made && getClass(made) == PrecisionClass::Deny;
             })) {
    record.precisionClass = PrecisionClass::Deny;
  }
}

/// `none` of MLIR or of a dialect that this process does not know.
static bool isNoneType(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return isa<NoneType>(type) || (opaque && opaque.getTypeData() == "none");
}

/// `op` is the first of its name.
const PrecisionPolicy::NameFacts &PrecisionPolicy::getFacts(Operation *op) {
  const OpRule *row = findRule(op);
  const bool isNamed = row && row != rules.lookup(op->getName().getStringRef());
  if (isNamed) {
    if (auto found = factsOfRow.find(row); found != factsOfRow.end())
      return *found->second;
  } else if (auto found = factsOf.find(op->getName()); found != factsOf.end()) {
    return *found->second;
  }
  auto made = std::make_unique<NameFacts>();
  OpRecord &record = made->record;
  record.hasElementRegion = isa<ElementRegionOpInterface>(op);
  if (const OpRule *rule = row) {
    record.rule = rule;
    record.source = RuleSource::Table;
    record.precisionClass = rule->getClass(low);
    record.results = rule->results;
    record.readsAny = rule->readsAny;
    made->varies = rules.hasWrittenIndices(rule) || !rule->absentOperands.empty() ||
                   rule->classIfNonpositive != PrecisionClass::Fixed ||
                   !rule->combiners.empty();
  } else if (isa<PrecisionOpInterface>(op)) {
    record.source = RuleSource::Interface;
    made->varies = true;
  }
  for (const RuleSet::KeepIf &each :
       rules.getKeepConditions(op->getName().getDialectNamespace()))
    made->keepIf.push_back(
        {StringAttr::get(op->getContext(), each.attribute), each.contains});
  return *((isNamed ? factsOfRow[row] : factsOf[op->getName()]) = std::move(made));
}

/// What depends on more of the op than its name.
void PrecisionPolicy::refine(Operation *op, OpRecord &record) {
  if (const OpRule *rule = record.rule) {
    if (rules.hasWrittenIndices(rule)) {
      auto &[operands, results] = indexed.try_emplace(rule, op, op).first->second;
      if (op->getNumOperands() > operands->getNumOperands())
        operands = op;
      if (op->getNumResults() > results->getNumResults())
        results = op;
    }
    if (llvm::any_of(rule->absentOperands, [&](unsigned index) {
          return index < op->getNumOperands() &&
                 !isNoneType(op->getOperand(index).getType());
        }))
      record.precisionClass = PrecisionClass::Fixed;
    if (rule->classIfNonpositive != PrecisionClass::Fixed && op->getNumOperands() != 0 &&
        getSign(op->getOperand(0)) == -1)
      record.precisionClass = rule->classIfNonpositive;
    if (const OpRule::Combiner *combiner =
            rule->combiners.empty() ? nullptr : findCombiner(*rule, op)) {
      record.precisionClass = low.isF16() ? combiner->f16 : combiner->bf16;
      record.results = combiner->results;
      record.readsAny = combiner->readsAny;
    }
  } else if (auto interface = dyn_cast<PrecisionOpInterface>(op)) {
    record.precisionClass = interface.getPrecisionClass(low);
    // The largest and the smallest are numbers that it reads.
    if (auto reduce = dyn_cast<ReduceOp>(op);
        reduce && record.precisionClass == PrecisionClass::Deny &&
        (reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::Min))
      record.precisionClass = PrecisionClass::Clear;
    if (interface.hasWideResults())
      record.results = ResultForm::Wide;
    if (record.hasElementRegion)
      refineByRegion(op, record);
  }
}

OpRecord PrecisionPolicy::lookup(Operation *op) {
  const NameFacts &facts = getFacts(op);
  OpRecord record = facts.record;
  if (facts.varies)
    refine(op, record);
  if (record.source != RuleSource::Unlisted)
    if (const OpLists::Entry *listed = lists.lookup(op); listed && record.isMovable(op)) {
      record.precisionClass = listed->precisionClass;
      record.source = RuleSource::List;
    }
  auto keeps = [&](const std::pair<StringAttr, StringRef> &condition) {
    auto text = dyn_cast_or_null<StringAttr>(op->getAttr(condition.first));
    return text && text.getValue().contains_insensitive(condition.second);
  };
  if (llvm::any_of(facts.keepIf, keeps)) {
    record.kept = true;
    record.source = RuleSource::Attribute;
  }
  if (isInKeptScope(op)) {
    record.kept = true;
    record.source = RuleSource::List;
  }
  if (auto text = dyn_cast_or_null<StringAttr>(op->getDiscardableAttr(precisionName))) {
    if (text.getValue() == "f32") {
      record.kept = true;
      record.source = RuleSource::Attribute;
    } else if (text.getValue() == "low") {
      record.kept = false;
      if (!record.isMovable(op)) {
        if (reported.insert(op).second)
          op->emitError() << "'" << op->getName() << "' has no low form; take "
                          << kPrecisionAttr << " = \"low\" off it";
      } else if (record.source != RuleSource::Unlisted) {
        record.precisionClass = PrecisionClass::Allow;
        record.source = RuleSource::Attribute;
      }
    }
  }
  auto isScalar = [](Type type) { return isa<FloatType>(type); };
  if (record.rule && record.rule->scalars == ScalarPolicy::Fixed &&
      (llvm::any_of(op->getOperandTypes(), isScalar) ||
       llvm::any_of(op->getResultTypes(), isScalar)))
    record.precisionClass = PrecisionClass::Fixed;
  // What is f32 inside and in its results reads either type at no cost.
  if (record.hasElementRegion && !record.rule &&
      record.precisionClass == PrecisionClass::Deny) {
    record.readsAny = true;
    record.results = ResultForm::F32;
  }
  // A sum that a list lets run low returns what it reads.
  if (record.rule && record.results == ResultForm::F32 && record.readsAny &&
      (record.source == RuleSource::List || record.source == RuleSource::Attribute) &&
      llvm::is_contained(
          {PrecisionClass::Allow, PrecisionClass::Infer, PrecisionClass::Clear},
          record.precisionClass)) {
    record.readsAny = false;
    record.results = ResultForm::Same;
  }
  record.readsLoosely = record.hasElementRegion && !record.rule &&
                        mixedResults != MixedResults::None &&
                        record.results == ResultForm::Same &&
                        record.precisionClass != PrecisionClass::Allow;
  if (mixedResults == MixedResults::Matmuls && record.results == ResultForm::Wide)
    record.results = ResultForm::F32;
  if (mixedResults == MixedResults::None ||
      (mixedResults == MixedResults::Matmuls && record.rule)) {
    const bool readAny = record.readsAny;
    record.readsAny &= record.isCast(op);
    if (record.results == ResultForm::Wide || (readAny && !record.readsAny))
      record.results = ResultForm::Same;
  }
  return record;
}

bool PrecisionPolicy::readsVariable(Operation *op) {
  auto getRole = [&](Operation *each) {
    const OpRule *rule = each ? findRule(each) : nullptr;
    return rule ? rule->variable : VariableRole::None;
  };
  auto getMaker = [](Operation *each) {
    return each->getNumOperands() == 0 ? nullptr : each->getOperand(0).getDefiningOp();
  };
  VariableRole role = getRole(op);
  // As many loops around each other as anyone writes.
  for (unsigned depth = 0; op && role == VariableRole::Pass && depth < 16; ++depth) {
    op = getMaker(op);
    role = getRole(op);
  }
  return op && role == VariableRole::Read &&
         getRole(getMaker(op)) == VariableRole::Source;
}

bool mpt::isConstant(Operation *op, const RuleTable &rules, ElementsAttr *value) {
  if (op->getNumOperands() != 0 || op->getNumResults() != 1)
    return false;
  ElementsAttr found;
  if (op->hasTrait<OpTrait::ConstantLike>()) {
    if (!matchPattern(op, m_Constant(&found)))
      found = {};
  } else {
    const DialectSpelling *spelling =
        rules.getSpelling(op->getName().getDialectNamespace());
    if (!spelling || spelling->constantOp != op->getName().getStringRef())
      return false;
    found = op->getAttrOfType<ElementsAttr>(spelling->constantValue);
  }
  if (value)
    *value = found;
  return static_cast<bool>(found);
}
