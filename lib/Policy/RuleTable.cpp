//===- RuleTable.cpp - Rows for ops of foreign dialects -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Policy/RuleTable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"

using namespace mlir;
using namespace mpt;

//===----------------------------------------------------------------------===//
// The text's form
//===----------------------------------------------------------------------===//

namespace {

/// What a row says of precision; as a row of its own or of a combiner.
struct ClassText {
  std::string all, f16, bf16, results, reads;
};
struct CombinerText : ClassText {
  std::vector<std::string> ops;
};
struct RowText : ClassText {
  std::vector<std::string> ops;
  std::string typing, region, ifNonPositive, sign, variable, lowName;
  std::vector<unsigned> f32Operands, f32Results, absentOperands;
  std::vector<std::string> elementAttributes;
  std::vector<CombinerText> combiners;
  std::vector<std::string> callees;
  bool pure = true, clone = false, cast = false, contraction = false, list = false,
       recurrent = false;
};
struct OpText {
  std::string op, up, attributes, value, form;
};
struct AttributeText {
  std::string attribute, contains;
};
struct TableText {
  std::string dialect, extends, policy;
  OpText cast, constant;
  bool preserveReturned = false;
  std::vector<AttributeText> keepIf;
  std::vector<RowText> rules;
};

} // namespace

LLVM_YAML_IS_SEQUENCE_VECTOR(CombinerText)
LLVM_YAML_IS_SEQUENCE_VECTOR(RowText)
LLVM_YAML_IS_SEQUENCE_VECTOR(AttributeText)
LLVM_YAML_IS_DOCUMENT_LIST_VECTOR(TableText)

/// One of `choices`, or an error of the text.
static void mapChoice(llvm::yaml::IO &io, const char *key, std::string &value,
                      ArrayRef<StringRef> choices) {
  io.mapOptional(key, value);
  if (value.empty() || llvm::is_contained(choices, value))
    return;
  io.setError("unknown " + llvm::Twine(key) + " '" + value + "'; expected one of " +
              llvm::join(choices, ", "));
}

static const StringRef classNames[] = {"allow", "deny", "infer",
                                       "clear", "stable", "fixed"};

static void mapClass(llvm::yaml::IO &io, ClassText &text) {
  mapChoice(io, "class", text.all, classNames);
  mapChoice(io, "class-f16", text.f16, classNames);
  mapChoice(io, "class-bf16", text.bf16, classNames);
  mapChoice(io, "results", text.results, {"same", "wide", "f32"});
  mapChoice(io, "reads", text.reads, {"same", "any"});
}

template <>
struct llvm::yaml::MappingTraits<CombinerText> {
  static void mapping(IO &io, CombinerText &text) {
    io.mapRequired("ops", text.ops);
    mapClass(io, text);
  }
};

template <>
struct llvm::yaml::MappingTraits<RowText> {
  static void mapping(IO &io, RowText &text) {
    io.mapRequired("ops", text.ops);
    mapClass(io, text);
    mapChoice(io, "class-if-nonpositive", text.ifNonPositive, classNames);
    mapChoice(io, "sign", text.sign, {"nonnegative", "same", "opposite", "product"});
    mapChoice(io, "typing", text.typing, {"uniform", "positional"});
    mapChoice(io, "region", text.region, {"opaque", "combiner", "carry", "branches"});
    io.mapOptional("f32-operands", text.f32Operands);
    io.mapOptional("f32-results", text.f32Results);
    io.mapOptional("absent-operands", text.absentOperands);
    io.mapOptional("element-attributes", text.elementAttributes);
    io.mapOptional("combiners", text.combiners);
    io.mapOptional("callees", text.callees);
    io.mapOptional("pure", text.pure, true);
    io.mapOptional("clone", text.clone, false);
    io.mapOptional("cast", text.cast, false);
    io.mapOptional("contraction", text.contraction, false);
    io.mapOptional("list", text.list, false);
    io.mapOptional("recurrent", text.recurrent, false);
    mapChoice(io, "variable", text.variable, {"source", "read", "pass"});
    io.mapOptional("low-name", text.lowName);
  }
};

template <>
struct llvm::yaml::MappingTraits<OpText> {
  static void mapping(IO &io, OpText &text) {
    io.mapRequired("op", text.op);
    io.mapOptional("up", text.up);
    io.mapOptional("attributes", text.attributes);
    io.mapOptional("value", text.value);
    mapChoice(io, "form", text.form, {"operand", "torch", "onnx"});
  }
};

template <>
struct llvm::yaml::MappingTraits<AttributeText> {
  static void mapping(IO &io, AttributeText &text) {
    io.mapRequired("attribute", text.attribute);
    io.mapRequired("contains", text.contains);
  }
};

template <>
struct llvm::yaml::MappingTraits<TableText> {
  static void mapping(IO &io, TableText &text) {
    io.mapRequired("dialect", text.dialect);
    io.mapOptional("extends", text.extends);
    io.mapOptional("policy", text.policy);
    io.mapOptional("cast", text.cast);
    io.mapOptional("constant", text.constant);
    io.mapOptional("preserve-returned", text.preserveReturned, false);
    io.mapOptional("keep-if", text.keepIf);
    io.mapOptional("rules", text.rules);
  }
};

//===----------------------------------------------------------------------===//
// From the text to rows
//===----------------------------------------------------------------------===//

namespace {

struct Builtin {
  StringRef dialect, text;
};

/// Every *.yaml of lib/Policy/Rules, sorted by name.
const Builtin builtins[] = {
#include "BuiltinRules.inc"
};

PrecisionClass readClass(const ClassText &text, StringRef special,
                         PrecisionClass inherited) {
  StringRef word = !special.empty() ? special : StringRef(text.all);
  return symbolizePrecisionClass(word).value_or(inherited);
}

ResultForm readResults(StringRef word, ResultForm inherited) {
  return llvm::StringSwitch<ResultForm>(word)
      .Case("same", ResultForm::Same)
      .Case("wide", ResultForm::Wide)
      .Case("f32", ResultForm::F32)
      .Default(inherited);
}

bool readReads(StringRef word, bool inherited) {
  return word.empty() ? inherited : word == "any";
}

/// `op` with its dialect: names with a dot have it already.
std::string qualify(StringRef op, StringRef dialect) {
  if (op.empty() || op.contains('.'))
    return op.str();
  return (dialect + "." + op).str();
}

OpRule makeRule(const RowText &text, StringRef name, StringRef dialect,
                StringRef source) {
  OpRule rule;
  rule.name = (dialect + "." + name).str();
  rule.f16 = readClass(text, text.f16, PrecisionClass::Fixed);
  rule.bf16 = readClass(text, text.bf16, PrecisionClass::Fixed);
  rule.ifNonPositive = symbolizePrecisionClass(text.ifNonPositive);
  rule.sign = llvm::StringSwitch<ResultSign>(text.sign)
                  .Case("nonnegative", ResultSign::NonNegative)
                  .Case("same", ResultSign::Same)
                  .Case("opposite", ResultSign::Opposite)
                  .Case("product", ResultSign::Product)
                  .Default(ResultSign::Any);
  rule.results = readResults(text.results, ResultForm::Same);
  rule.readsAny = readReads(text.reads, false);
  rule.typing =
      text.typing == "positional" ? OpTyping::Positional : OpTyping::Uniform;
  rule.f32Operands.append(text.f32Operands.begin(), text.f32Operands.end());
  rule.f32Results.append(text.f32Results.begin(), text.f32Results.end());
  rule.absentOperands.append(text.absentOperands.begin(), text.absentOperands.end());
  rule.elementAttributes = text.elementAttributes;
  rule.region = llvm::StringSwitch<RegionPolicy>(text.region)
                    .Case("combiner", RegionPolicy::Combiner)
                    .Case("carry", RegionPolicy::Carry)
                    .Case("branches", RegionPolicy::Branches)
                    .Default(RegionPolicy::Opaque);
  for (const CombinerText &each : text.combiners) {
    OpRule::Combiner combiner;
    for (const std::string &op : each.ops)
      combiner.ops.push_back((dialect + "." + op).str());
    combiner.f16 = readClass(each, each.f16, rule.f16);
    combiner.bf16 = readClass(each, each.bf16, rule.bf16);
    combiner.results = readResults(each.results, rule.results);
    combiner.readsAny = readReads(each.reads, rule.readsAny);
    rule.combiners.push_back(std::move(combiner));
  }
  rule.callees = text.callees;
  rule.pure = text.pure;
  rule.clone = text.clone;
  rule.cast = text.cast;
  rule.contraction = text.contraction;
  rule.list = text.list;
  rule.recurrent = text.recurrent;
  rule.variable = llvm::StringSwitch<VariableRole>(text.variable)
                      .Case("source", VariableRole::Source)
                      .Case("read", VariableRole::Read)
                      .Case("pass", VariableRole::Pass)
                      .Default(VariableRole::None);
  if (!text.lowName.empty())
    rule.lowName = qualify(text.lowName, dialect);
  rule.source = source;
  return rule;
}

/// Emits what the YAML reader found at its place in `source`.
void emitTextError(const llvm::SMDiagnostic &diagnostic, void *opaque) {
  Location loc = *static_cast<Location *>(opaque);
  mlir::emitError(FileLineColLoc::get(loc.getContext(), diagnostic.getFilename(),
                                      diagnostic.getLineNo(),
                                      diagnostic.getColumnNo() + 1))
      << "rule table: " << diagnostic.getMessage();
}

} // namespace

SmallVector<StringRef> RuleTable::getBuiltinDialects() {
  SmallVector<StringRef> dialects;
  for (const Builtin &builtin : builtins)
    dialects.push_back(builtin.dialect);
  return dialects;
}

/// The tables of `yaml`, or failure after errors that name `source`.
static FailureOr<std::vector<TableText>> readText(Location loc, StringRef yaml,
                                                  StringRef source) {
  llvm::yaml::Input input(llvm::MemoryBufferRef(yaml, source), nullptr,
                          emitTextError, &loc);
  std::vector<TableText> tables;
  input >> tables;
  if (input.error())
    return failure();
  return tables;
}

static const Builtin *findBuiltin(StringRef dialect) {
  auto found = llvm::find_if(
      builtins, [&](const Builtin &each) { return each.dialect == dialect; });
  return found == std::end(builtins) ? nullptr : found;
}

LogicalResult RuleTable::addText(Location loc, StringRef yaml, StringRef source) {
  FailureOr<std::vector<TableText>> tables = readText(loc, yaml, source);
  if (failed(tables))
    return failure();
  sources.push_back(source.str());
  StringRef origin = sources.back();
  auto addRows = [&](const TableText &table, StringRef dialect) {
    if (!table.policy.empty() && table.policy != policy)
      return;
    Dialect &entry = dialects[dialect];
    entry.preserveReturned |= table.preserveReturned;
    if (!table.cast.op.empty()) {
      entry.spelling.castOp = qualify(table.cast.op, dialect);
      entry.spelling.castUpOp = qualify(table.cast.up, dialect);
      entry.spelling.castAttributes = table.cast.attributes;
      entry.spelling.castForm = table.cast.form;
    }
    if (!table.constant.op.empty()) {
      entry.spelling.constantOp = qualify(table.constant.op, dialect);
      entry.spelling.constantValue = table.constant.value;
    }
    for (const AttributeText &each : table.keepIf) {
      std::pair<std::string, std::string> condition(each.attribute, each.contains);
      if (!llvm::is_contained(entry.keepIf, condition))
        entry.keepIf.push_back(std::move(condition));
      anyKeepIf = true;
    }
    for (const RowText &row : table.rules)
      for (const std::string &name : row.ops) {
        rows.push_back(makeRule(row, name, dialect, origin));
        byName[rows.back().name] = &rows.back();
      }
  };
  for (const TableText &table : *tables) {
    llvm::StringSet<> listed;
    for (const RowText &row : table.rules)
      for (const std::string &name : row.ops)
        if (!listed.insert(name).second)
          return mlir::emitError(loc)
                 << source << ": '" << table.dialect << "." << name
                 << "' is in two rows of one table; keep one of them";
    // The user's rows are added to the built-in ones, not put in their place.
    if (failed(addBuiltin(table.dialect)))
      return failure();
    if (!table.extends.empty()) {
      const Builtin *base = findBuiltin(table.extends);
      if (!base)
        return mlir::emitError(loc)
               << source << ": extends '" << table.extends
               << "', which has no built-in rule table; there are "
               << llvm::join(getBuiltinDialects(), ", ");
      FailureOr<std::vector<TableText>> inherited =
          readText(loc, base->text, base->dialect);
      if (failed(inherited))
        return failure();
      for (const TableText &each : *inherited)
        addRows(each, table.dialect);
    }
    addRows(table, table.dialect);
    // What casts are made of is a cast also where no row says so.
    const DialectSpelling &spelling = dialects[table.dialect].spelling;
    for (const std::string &name : {spelling.castOp, spelling.castUpOp})
      if (StringRef(name).starts_with(table.dialect + ".") && !lookup(name)) {
        OpRule rule;
        rule.name = name;
        rule.cast = true;
        rule.source = origin;
        rows.push_back(std::move(rule));
        byName[name] = &rows.back();
      }
  }
  return success();
}

LogicalResult RuleTable::addBuiltin(StringRef dialect) {
  if (!loaded.try_emplace(dialect, true).second)
    return success();
  const Builtin *builtin = findBuiltin(dialect);
  if (!builtin)
    return success();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  return addText(UnknownLoc::get(&context), builtin->text, (dialect + ".yaml").str());
}

LogicalResult RuleTable::addFile(Location loc, StringRef path) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &error);
  if (!buffer)
    return mlir::emitError(loc) << "rule table: " << error;
  return addText(loc, buffer->getBuffer(), path);
}

const OpRule *RuleTable::lookup(StringRef opName) const {
  return byName.lookup(opName);
}

void RuleTable::forEachName(llvm::function_ref<void(StringRef)> visit) const {
  for (const OpRule &rule : rows)
    visit(rule.name);
}

const DialectSpelling *RuleTable::getSpelling(StringRef dialect) const {
  auto found = dialects.find(dialect);
  return found == dialects.end() || found->second.spelling.castOp.empty()
             ? nullptr
             : &found->second.spelling;
}

bool RuleTable::keeps(Operation *op) const {
  if (!anyKeepIf)
    return false;
  auto found = dialects.find(op->getName().getDialectNamespace());
  if (found == dialects.end())
    return false;
  return llvm::any_of(found->second.keepIf, [&](const auto &each) {
    auto attribute = op->getAttrOfType<StringAttr>(each.first);
    return attribute && attribute.getValue().contains_insensitive(each.second);
  });
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
  const StringRef forms[] = {"same", "wide", "f32"};
  os << ", results: " << forms[size_t(results)]
     << ", reads: " << (readsAny ? "any" : "same");
}

static void printRule(llvm::raw_ostream &os, const OpRule &rule, StringRef name) {
  auto printIndices = [&](StringRef key, ArrayRef<unsigned> indices) {
    if (!indices.empty())
      os << ", " << key << ": [" << llvm::join(llvm::map_range(indices, [](unsigned i) {
               return std::to_string(i);
             }), ", ") << "]";
  };
  os << "- {ops: [\"" << name << "\"]";
  printRow(os, rule.f16, rule.bf16, rule.results, rule.readsAny);
  if (rule.ifNonPositive)
    os << ", class-if-nonpositive: " << stringifyPrecisionClass(*rule.ifNonPositive);
  const StringRef signs[] = {"", "nonnegative", "same", "opposite", "product"};
  if (rule.sign != ResultSign::Any)
    os << ", sign: " << signs[size_t(rule.sign)];
  if (rule.typing == OpTyping::Positional)
    os << ", typing: positional";
  printIndices("f32-operands", rule.f32Operands);
  printIndices("f32-results", rule.f32Results);
  printIndices("absent-operands", rule.absentOperands);
  if (!rule.elementAttributes.empty())
    os << ", element-attributes: [" << llvm::join(rule.elementAttributes, ", ") << "]";
  const StringRef regions[] = {"opaque", "combiner", "carry", "branches"};
  if (rule.region != RegionPolicy::Opaque)
    os << ", region: " << regions[size_t(rule.region)];
  if (!rule.combiners.empty()) {
    os << ", combiners: [";
    llvm::interleaveComma(rule.combiners, os, [&](const OpRule::Combiner &combiner) {
      os << "{ops: [";
      llvm::interleaveComma(combiner.ops, os, [&](const std::string &op) {
        os << '"' << StringRef(op).split('.').second << '"';
      });
      os << "]";
      printRow(os, combiner.f16, combiner.bf16, combiner.results, combiner.readsAny);
      os << "}";
    });
    os << "]";
  }
  if (!rule.callees.empty())
    os << ", callees: [" << llvm::join(rule.callees, ", ") << "]";
  if (!rule.pure)
    os << ", pure: false";
  if (rule.clone)
    os << ", clone: true";
  if (rule.cast)
    os << ", cast: true";
  if (rule.contraction)
    os << ", contraction: true";
  if (rule.list)
    os << ", list: true";
  if (rule.recurrent)
    os << ", recurrent: true";
  const StringRef roles[] = {"", "source", "read", "pass"};
  if (rule.variable != VariableRole::None)
    os << ", variable: " << roles[size_t(rule.variable)];
  if (!rule.lowName.empty())
    os << ", low-name: " << rule.lowName;
  os << "} # " << rule.source << "\n";
}

void RuleTable::print(llvm::raw_ostream &os) const {
  SmallVector<const OpRule *> sorted;
  for (const auto &entry : byName)
    sorted.push_back(entry.second);
  llvm::sort(sorted, [](const OpRule *a, const OpRule *b) { return a->name < b->name; });
  StringRef dialect;
  for (const OpRule *rule : sorted) {
    auto [prefix, name] = StringRef(rule->name).split('.');
    if (prefix != dialect) {
      os << "---\ndialect: " << prefix << "\n";
      if (const DialectSpelling *spelling = getSpelling(prefix)) {
        os << "cast: {op: " << spelling->castOp;
        if (!spelling->castUpOp.empty())
          os << ", up: " << spelling->castUpOp;
        if (!spelling->castAttributes.empty())
          os << ", attributes: \"" << spelling->castAttributes << "\"";
        if (!spelling->castForm.empty())
          os << ", form: " << spelling->castForm;
        os << "}\n";
        if (!spelling->constantOp.empty())
          os << "constant: {op: " << spelling->constantOp
             << ", value: " << spelling->constantValue << "}\n";
      }
      auto found = dialects.find(prefix);
      if (found != dialects.end() && !found->second.keepIf.empty()) {
        os << "keep-if:\n";
        for (const auto &[attribute, text] : found->second.keepIf)
          os << "- {attribute: " << attribute << ", contains: \"" << text << "\"}\n";
      }
      os << "rules:\n";
      dialect = prefix;
    }
    printRule(os, *rule, name);
  }
}
