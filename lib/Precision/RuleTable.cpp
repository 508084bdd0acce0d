//===- RuleTable.cpp - Rows for ops of foreign dialects -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/RuleTable.h"

#include "RuleText.h"
#include "YamlText.h"
#include "mpt/Precision/PolicyFile.h"
#include "mpt/Support/ThreadDiagnosticHandler.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mpt;

// Every *.yaml of lib/Precision/Rules, sorted by name: `builtins`.
#include "BuiltinRules.inc"

SmallVector<StringRef> RuleTable::getBuiltinDialects() {
  SmallVector<StringRef> dialects;
  for (const RuleSets &builtin : builtins)
    dialects.push_back(builtin.dialect);
  return dialects;
}

void RuleTable::addSet(const RuleSet &set) {
  if (!set.policy.empty() && !llvm::is_contained(policies, set.policy))
    return;
  Dialect &entry = dialects[set.dialect];
  entry.preserveReturned |= set.preserveReturned;
  if (!set.spelling.castOp.empty()) {
    DialectSpelling previous = entry.spelling;
    entry.spelling = set.spelling;
    entry.spelling.constantOp = previous.constantOp;
    entry.spelling.constantValue = previous.constantValue;
  }
  if (!set.spelling.constantOp.empty()) {
    entry.spelling.constantOp = set.spelling.constantOp;
    entry.spelling.constantValue = set.spelling.constantValue;
  }
  for (const RuleSet::KeepIf &condition : set.keepIf)
    if (!llvm::is_contained(entry.keepIf, condition))
      entry.keepIf.push_back(condition);
  sets.push_back(&set);
  for (const RuleRow &row : set.rows)
    for (StringRef op : row.ops)
      byName[op] = &row.rule;
  for (const ProductRow &row : set.products)
    for (StringRef op : row.ops)
      products[op] = row.macs;
  for (const MemoryRow &row : set.memory)
    for (StringRef op : row.ops)
      memory[op] = &row;
}

/// What casts are made of is a cast also where no row says so.
void RuleTable::addImpliedCasts(StringRef dialect, StringRef source) {
  auto found = dialects.find(dialect);
  if (found == dialects.end())
    return;
  for (StringRef op : {found->second.spelling.castOp, found->second.spelling.castUpOp})
    if (op.split('.').first == dialect && !lookup(op)) {
      OpRule *rule = new (storage) OpRule;
      rule->cast = true;
      rule->source = source;
      byName[op] = rule;
    }
}

/// What of a user's table can be seen to be wrong before anything is cast.
static LogicalResult checkSpelling(Location loc, StringRef source,
                                   const DialectSpelling &spelling) {
  MLIRContext *context = loc.getContext();
  for (StringRef op : {spelling.castOp, spelling.castUpOp}) {
    auto name = op.empty() ? std::nullopt : RegisteredOperationName::lookup(op, context);
    if (name && (!name->hasTrait<OpTrait::OneResult>() ||
                 (spelling.castForm.empty() && !name->hasTrait<OpTrait::OneOperand>())))
      return mlir::emitError(loc) << "rule table: " << source << ": cast: '" << op
                                  << "' does not make one value of another";
  }
  if (spelling.castAttributes.empty())
    return success();
  std::string why;
  Attribute attributes;
  {
    ThreadDiagnosticHandler handler(
        context, [&](Diagnostic &diagnostic) { why = ": " + diagnostic.str(); });
    attributes = parseAttribute(spelling.castAttributes, context);
  }
  if (isa_and_nonnull<DictionaryAttr>(attributes))
    return success();
  return mlir::emitError(loc) << "rule table: " << source << ": cast: attributes '"
                              << spelling.castAttributes
                              << "' are not a dictionary such as {saturate = 1 : si64}"
                              << why;
}

/// The name of a built-in policy that `name` may be a slip of, or "".
static StringRef findNearestPolicy(StringRef name) {
  StringRef nearest;
  unsigned best = name.size() / 3 + 1;
  for (StringRef each : getBuiltinPolicies())
    if (unsigned distance = name.edit_distance(each, true, best); distance < best) {
      best = distance;
      nearest = each;
    }
  return nearest;
}

LogicalResult RuleTable::addText(Location loc, StringRef yaml, StringRef source) {
  FailureOr<std::vector<RuleSet>> read =
      readRuleSets(loc, yaml, source, builtins, storage);
  if (failed(read))
    return failure();
  if (read->empty())
    return mlir::emitError(loc) << "rule table: " << source
                                << ": there is no table in it; one begins with "
                                   "'dialect: NAME'";
  source = source.copy(storage);
  ArrayRef<RuleSet> kept = ArrayRef(*read).copy(storage);
  for (const RuleSet &set : kept) {
    if (!set.inherited && failed(checkSpelling(loc, source, set.spelling)))
      return failure();
    if (!set.policy.empty() && !llvm::is_contained(policies, set.policy) &&
        !llvm::is_contained(getBuiltinPolicies(), set.policy)) {
      InFlightDiagnostic warning = mlir::emitWarning(loc);
      warning << "rule table: " << source << ": the table for the policy '" << set.policy
              << "' is not used: that is neither in use nor built in";
      if (StringRef nearest = findNearestPolicy(set.policy); !nearest.empty())
        warning << "; did you mean '" << nearest << "'?";
    }
    // The user's rows are added to the built-in ones, not put in their place.
    addBuiltin(set.dialect);
    addSet(set);
    for (const RuleRow &row : set.rows)
      if (!set.inherited &&
          !(row.rule.f32Operands.empty() && row.rule.f32Results.empty()))
        written.insert(&row.rule);
  }
  for (const RuleSet &set : kept)
    addImpliedCasts(set.dialect, source);
  return success();
}

void RuleTable::addBuiltin(StringRef dialect) {
  if (!loaded.try_emplace(dialect, true).second)
    return;
  for (const RuleSets &builtin : builtins)
    if (builtin.dialect == dialect)
      for (const RuleSet &set : builtin.sets)
        addSet(set);
  addImpliedCasts(dialect, "");
}

LogicalResult RuleTable::addFile(Location loc, StringRef path) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &error);
  if (!buffer)
    return mlir::emitError(loc) << "rule table: " << error;
  return addText(loc, buffer->getBuffer(), path);
}

const OpRule *RuleTable::lookup(StringRef opName) const { return byName.lookup(opName); }

std::string RuleTable::getFullName(Operation *op) const {
  StringRef name = op->getName().getStringRef();
  const OpRule *rule = lookup(name);
  if (!rule || rule->nameAttribute.empty())
    return {};
  auto value = op->getAttrOfType<StringAttr>(rule->nameAttribute);
  return value ? (name + ":" + value.getValue()).str() : std::string();
}

const OpRule *RuleTable::lookup(Operation *op) const {
  std::string full = getFullName(op);
  const OpRule *named = full.empty() ? nullptr : lookup(full);
  return named ? named : lookup(op->getName().getStringRef());
}

const MemoryRow *RuleTable::lookupMemory(Operation *op) const {
  std::string full = getFullName(op);
  const MemoryRow *named = full.empty() ? nullptr : lookupMemory(full);
  return named ? named : lookupMemory(op->getName().getStringRef());
}

void RuleTable::forEachName(llvm::function_ref<void(StringRef)> visit) const {
  for (const RuleSet *set : sets)
    for (const RuleRow &row : set->rows)
      for (StringRef op : row.ops)
        visit(op);
}

const DialectSpelling *RuleTable::getSpelling(StringRef dialect) const {
  auto found = dialects.find(dialect);
  return found == dialects.end() || found->second.spelling.castOp.empty()
             ? nullptr
             : &found->second.spelling;
}

ArrayRef<RuleSet::KeepIf> RuleTable::getKeepConditions(StringRef dialect) const {
  auto found = dialects.find(dialect);
  return found == dialects.end() ? ArrayRef<RuleSet::KeepIf>() : found->second.keepIf;
}

bool RuleTable::preservesReturned(StringRef dialect) const {
  auto found = dialects.find(dialect);
  return found != dialects.end() && found->second.preserveReturned;
}

static void printRow(llvm::raw_ostream &os, PrecisionClass f16, PrecisionClass bf16,
                     ResultForm results, bool readsAny) {
  if (f16 == bf16)
    os << ", class: " << stringifyPrecisionClass(f16);
  else
    os << ", class-f16: " << stringifyPrecisionClass(f16)
       << ", class-bf16: " << stringifyPrecisionClass(bf16);
  os << ", results: " << getWords(results)[size_t(results)]
     << ", reads: " << (readsAny ? "any" : "same");
}

namespace {

/// Prints the value of a key.
struct ValuePrinter {
  llvm::raw_ostream &os;

  void print(bool value) { os << (value ? "true" : "false"); }
  void print(StringRef text) { os << printYaml(text); }
  void print(unsigned index) { os << index; }
  void print(const OpRule::Combiner &combiner) {
    os << "{ops: [";
    llvm::interleaveComma(combiner.ops, os,
                          [&](StringRef op) { os << quoteYaml(op.split('.').second); });
    os << "]";
    printRow(os, combiner.f16, combiner.bf16, combiner.results, combiner.readsAny);
    os << "}";
  }
  template <typename T>
  void print(ArrayRef<T> values) {
    os << "[";
    llvm::interleaveComma(values, os, [&](const T &value) { print(value); });
    os << "]";
  }
  template <typename Enum>
  std::enable_if_t<std::is_enum_v<Enum>> print(Enum value) {
    os << getWords(value)[size_t(value)];
  }
};

} // namespace

static void printRule(llvm::raw_ostream &os, const OpRule &rule, StringRef name) {
  os << "- {ops: [" << quoteYaml(name) << "]";
  printRow(os, rule.f16, rule.bf16, rule.results, rule.readsAny);
  forEachSetKey(rule, [&](StringRef key, const auto &value) {
    os << ", " << key << ": ";
    ValuePrinter{os}.print(value);
  });
  os << "} # " << rule.source << "\n";
}

void RuleTable::print(llvm::raw_ostream &os) const {
  SmallVector<std::pair<StringRef, const OpRule *>> sorted(byName.begin(), byName.end());
  llvm::sort(sorted, llvm::less_first());
  StringRef dialect;
  for (auto [op, rule] : sorted) {
    auto [prefix, name] = op.split('.');
    if (prefix != dialect) {
      os << "---\ndialect: " << printYaml(prefix) << "\n";
      if (const DialectSpelling *spelling = getSpelling(prefix)) {
        os << "cast: {op: " << printYaml(spelling->castOp);
        if (!spelling->castUpOp.empty())
          os << ", up: " << printYaml(spelling->castUpOp);
        if (!spelling->castAttributes.empty())
          os << ", attributes: " << quoteYaml(spelling->castAttributes);
        if (!spelling->castForm.empty())
          os << ", form: " << spelling->castForm;
        os << "}\n";
        if (!spelling->constantOp.empty())
          os << "constant: {op: " << printYaml(spelling->constantOp)
             << ", value: " << printYaml(spelling->constantValue) << "}\n";
      }
      auto found = dialects.find(prefix);
      if (found != dialects.end() && !found->second.keepIf.empty()) {
        os << "keep-if:\n";
        for (const auto &[attribute, text] : found->second.keepIf)
          os << "- {attribute: " << printYaml(attribute)
             << ", contains: " << quoteYaml(text) << "}\n";
      }
      os << "rules:\n";
      dialect = prefix;
    }
    printRule(os, *rule, name);
  }
  SmallVector<std::pair<StringRef, StringRef>> formulas(products.begin(), products.end());
  llvm::sort(formulas);
  dialect = "";
  for (auto [op, macs] : formulas) {
    auto [prefix, name] = op.split('.');
    if (prefix != dialect)
      os << "---\ndialect: " << printYaml(prefix) << "\nproducts:\n";
    dialect = prefix;
    os << "- {ops: [" << quoteYaml(name) << "], macs: " << quoteYaml(macs) << "}\n";
  }
  SmallVector<std::pair<StringRef, const MemoryRow *>> rows(memory.begin(), memory.end());
  llvm::sort(rows, llvm::less_first());
  dialect = "";
  for (auto [op, row] : rows) {
    auto [prefix, name] = op.split('.');
    if (prefix != dialect)
      os << "---\ndialect: " << printYaml(prefix) << "\nmemory:\n";
    dialect = prefix;
    os << "- {ops: [" << quoteYaml(name)
       << "], result: " << getWords(row->result)[size_t(row->result)];
    if (!row->repeatable)
      os << ", repeatable: false";
    if (row->fusion != LoopFusion::None)
      os << ", fusion: " << getWords(row->fusion)[size_t(row->fusion)];
    os << "}\n";
  }
}
