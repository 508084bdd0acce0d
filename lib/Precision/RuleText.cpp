//===- RuleText.cpp - Rule tables as their YAML has them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleText.h"

#include "YamlText.h"
#include "mpt/Precision/MacFormula.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

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
  std::string typing, region, scanInputs, ifNonPositive, sign, variable, lowName;
  std::vector<unsigned> f32Operands, f32Results, absentOperands, firstCarried;
  std::vector<std::string> elementAttributes;
  std::vector<CombinerText> combiners;
  std::vector<std::string> callees;
  bool pure = true, clone = false, cast = false, contraction = false, list = false,
       recurrent = false, movable = true;
  std::string scalars;
};
struct ProductText {
  std::vector<std::string> ops;
  std::string macs;
};
struct MemoryText {
  std::vector<std::string> ops;
  std::string result;
  bool repeatable = true;
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
  std::vector<ProductText> products;
  std::vector<MemoryText> memory;
};

} // namespace

LLVM_YAML_IS_SEQUENCE_VECTOR(CombinerText)
LLVM_YAML_IS_SEQUENCE_VECTOR(RowText)
LLVM_YAML_IS_SEQUENCE_VECTOR(AttributeText)
LLVM_YAML_IS_SEQUENCE_VECTOR(ProductText)
LLVM_YAML_IS_SEQUENCE_VECTOR(MemoryText)
LLVM_YAML_IS_DOCUMENT_LIST_VECTOR(TableText)

static void mapClass(llvm::yaml::IO &io, ClassText &text) {
  mapChoice(io, "class", text.all, kClassNames);
  mapChoice(io, "class-f16", text.f16, kClassNames);
  mapChoice(io, "class-bf16", text.bf16, kClassNames);
  mapChoice(io, "results", text.results, {"same", "wide", "f32"});
  mapChoice(io, "reads", text.reads, {"same", "any"});
}

static void checkOp(llvm::yaml::IO &io, llvm::StringRef op) {
  if (op.contains('*'))
    io.setError("'" + llvm::Twine(op) +
                "' is not an op; a row names each of its ops, "
                "patterns are for the lists of a policy");
}

template <>
struct llvm::yaml::MappingTraits<CombinerText> {
  static void mapping(IO &io, CombinerText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapRequiredKey(io, "ops", text.ops);
    mapClass(io, text);
  }
};

template <>
struct llvm::yaml::MappingTraits<RowText> {
  static void mapping(IO &io, RowText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapRequiredKey(io, "ops", text.ops);
    for (const std::string &op : text.ops)
      checkOp(io, op);
    mapClass(io, text);
    mapChoice(io, "class-if-nonpositive", text.ifNonPositive,
              ArrayRef(kClassNames).drop_back());
    mapChoice(io, "sign", text.sign, {"nonnegative", "same", "opposite", "product"});
    mapChoice(io, "typing", text.typing, {"uniform", "positional"});
    mapChoice(io, "region", text.region, {"opaque", "combiner", "carry", "branches"});
    mapIndices(io, "first-carried", text.firstCarried);
    if (!text.firstCarried.empty() && text.firstCarried.size() != 3)
      io.setError("expected three indices for first-carried: of an operand, a block "
                  "argument and an operand of the terminator");
    mapKey(io, "scan-inputs", text.scanInputs);
    mapIndices(io, "f32-operands", text.f32Operands);
    mapIndices(io, "f32-results", text.f32Results);
    mapIndices(io, "absent-operands", text.absentOperands);
    mapChoice(io, "scalars", text.scalars, {"any", "fixed"});
    mapKey(io, "element-attributes", text.elementAttributes);
    mapKey(io, "combiners", text.combiners);
    mapKey(io, "callees", text.callees);
    mapFlag(io, "pure", text.pure);
    mapFlag(io, "clone", text.clone);
    mapFlag(io, "cast", text.cast);
    mapFlag(io, "contraction", text.contraction);
    mapFlag(io, "list", text.list);
    mapFlag(io, "recurrent", text.recurrent);
    mapFlag(io, "movable", text.movable);
    mapChoice(io, "variable", text.variable, {"source", "read", "pass"});
    mapKey(io, "low-name", text.lowName);
  }
};

template <>
struct llvm::yaml::MappingTraits<ProductText> {
  static void mapping(IO &io, ProductText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapRequiredKey(io, "ops", text.ops);
    mapRequiredKey(io, "macs", text.macs);
    std::string error;
    if (!MacFormula::parse(text.macs, error))
      io.setError("macs '" + llvm::Twine(text.macs) + "': " + error);
  }
};

template <>
struct llvm::yaml::MappingTraits<MemoryText> {
  static void mapping(IO &io, MemoryText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapRequiredKey(io, "ops", text.ops);
    mapChoice(io, "result", text.result, {"own", "view", "elementwise", "update"});
    mapFlag(io, "repeatable", text.repeatable);
  }
};

template <>
struct llvm::yaml::MappingTraits<OpText> {
  static void mapping(IO &io, OpText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapRequiredKey(io, "op", text.op);
    checkOp(io, text.op);
    mapKey(io, "up", text.up);
    checkOp(io, text.up);
    mapKey(io, "attributes", text.attributes);
    mapKey(io, "value", text.value);
    mapChoice(io, "form", text.form, {"operand", "torch", "onnx"});
  }
};

template <>
struct llvm::yaml::MappingTraits<AttributeText> {
  static void mapping(IO &io, AttributeText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapRequiredKey(io, "attribute", text.attribute);
    mapRequiredKey(io, "contains", text.contains);
  }
};

template <>
struct llvm::yaml::MappingTraits<TableText> {
  static void mapping(IO &io, TableText &text) {
    mapRequiredKey(io, "dialect", text.dialect);
    if (llvm::StringRef(text.dialect).contains('*'))
      io.setError("'" + llvm::Twine(text.dialect) +
                  "' is not a dialect; a table is for one");
    mapKey(io, "extends", text.extends);
    mapKey(io, "policy", text.policy);
    mapKey(io, "cast", text.cast);
    mapKey(io, "constant", text.constant);
    mapFlag(io, "preserve-returned", text.preserveReturned);
    mapKey(io, "keep-if", text.keepIf);
    mapKey(io, "rules", text.rules);
    mapKey(io, "products", text.products);
    mapKey(io, "memory", text.memory);
  }
};

//===----------------------------------------------------------------------===//
// From the text to rows
//===----------------------------------------------------------------------===//

namespace {

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

/// Makes rows of text; keeps what they consist of.
class RowMaker {
public:
  RowMaker(StringRef dialect, StringRef source, llvm::BumpPtrAllocator &storage)
      : dialect(dialect), source(source), storage(storage) {}

  RuleSet makeSet(const TableText &table);
  RuleSet cloneSet(const RuleSet &set);

private:
  template <typename T>
  ArrayRef<T> keep(ArrayRef<T> items) {
    return items.copy(storage);
  }
  StringRef keep(StringRef text) { return text.copy(storage); }
  ArrayRef<StringRef> keep(const std::vector<std::string> &words) {
    return map<StringRef>(words, [&](StringRef word) { return keep(word); });
  }
  template <typename To, typename From, typename Make>
  ArrayRef<To> map(const From &items, Make &&make) {
    SmallVector<To> made;
    for (const auto &item : items)
      made.push_back(make(item));
    return keep(ArrayRef<To>(made));
  }
  StringRef prefix(StringRef op) { return keep((dialect + "." + op).str()); }
  /// `op` with its dialect: names with a dot have it already.
  StringRef qualify(StringRef op) {
    return op.empty() || op.contains('.') ? keep(op) : prefix(op);
  }
  OpRule makeRule(const RowText &text);

  StringRef dialect, source;
  llvm::BumpPtrAllocator &storage;
};

OpRule RowMaker::makeRule(const RowText &text) {
  OpRule rule;
  rule.f16 = readClass(text, text.f16, PrecisionClass::Fixed);
  rule.bf16 = readClass(text, text.bf16, PrecisionClass::Fixed);
  rule.ifNonPositive =
      symbolizePrecisionClass(text.ifNonPositive).value_or(PrecisionClass::Fixed);
  rule.sign = llvm::StringSwitch<ResultSign>(text.sign)
                  .Case("nonnegative", ResultSign::NonNegative)
                  .Case("same", ResultSign::Same)
                  .Case("opposite", ResultSign::Opposite)
                  .Case("product", ResultSign::Product)
                  .Default(ResultSign::Any);
  rule.results = readResults(text.results, ResultForm::Same);
  rule.readsAny = readReads(text.reads, false);
  rule.typing = text.typing == "positional" ? OpTyping::Positional : OpTyping::Uniform;
  rule.f32Operands = keep(ArrayRef(text.f32Operands));
  rule.f32Results = keep(ArrayRef(text.f32Results));
  rule.absentOperands = keep(ArrayRef(text.absentOperands));
  rule.fixedScalars = text.scalars == "fixed";
  rule.elementAttributes = keep(text.elementAttributes);
  rule.region = llvm::StringSwitch<RegionPolicy>(text.region)
                    .Case("combiner", RegionPolicy::Combiner)
                    .Case("carry", RegionPolicy::Carry)
                    .Case("branches", RegionPolicy::Branches)
                    .Default(RegionPolicy::Opaque);
  rule.firstCarried = keep(ArrayRef(text.firstCarried));
  rule.scanInputs = keep(text.scanInputs);
  rule.combiners = map<OpRule::Combiner>(text.combiners, [&](const CombinerText &each) {
    OpRule::Combiner combiner;
    combiner.ops = map<StringRef>(each.ops, [&](StringRef op) { return prefix(op); });
    combiner.f16 = readClass(each, each.f16, rule.f16);
    combiner.bf16 = readClass(each, each.bf16, rule.bf16);
    combiner.results = readResults(each.results, rule.results);
    combiner.readsAny = readReads(each.reads, rule.readsAny);
    return combiner;
  });
  rule.callees = keep(text.callees);
  rule.pure = text.pure;
  rule.clone = text.clone;
  rule.cast = text.cast;
  rule.contraction = text.contraction;
  rule.list = text.list;
  rule.recurrent = text.recurrent;
  rule.movable = text.movable;
  rule.variable = llvm::StringSwitch<VariableRole>(text.variable)
                      .Case("source", VariableRole::Source)
                      .Case("read", VariableRole::Read)
                      .Case("pass", VariableRole::Pass)
                      .Default(VariableRole::None);
  rule.lowName = qualify(text.lowName);
  rule.source = source;
  return rule;
}

RuleSet RowMaker::makeSet(const TableText &table) {
  RuleSet set;
  set.dialect = dialect;
  set.policy = keep(table.policy);
  set.preserveReturned = table.preserveReturned;
  set.spelling.castOp = qualify(table.cast.op);
  set.spelling.castUpOp = qualify(table.cast.up);
  set.spelling.castAttributes = keep(table.cast.attributes);
  set.spelling.castForm = keep(table.cast.form);
  set.spelling.constantOp = qualify(table.constant.op);
  set.spelling.constantValue = keep(table.constant.value);
  set.keepIf = map<RuleSet::KeepIf>(table.keepIf, [&](const AttributeText &each) {
    return RuleSet::KeepIf{keep(each.attribute), keep(each.contains)};
  });
  set.rows = map<RuleRow>(table.rules, [&](const RowText &row) {
    return RuleRow{map<StringRef>(row.ops, [&](StringRef op) { return prefix(op); }),
                   makeRule(row)};
  });
  set.products = map<ProductRow>(table.products, [&](const ProductText &row) {
    return ProductRow{map<StringRef>(row.ops, [&](StringRef op) { return prefix(op); }),
                      keep(row.macs)};
  });
  set.memory = map<MemoryRow>(table.memory, [&](const MemoryText &row) {
    return MemoryRow{map<StringRef>(row.ops, [&](StringRef op) { return prefix(op); }),
                     llvm::StringSwitch<ResultMemory>(row.result)
                         .Case("view", ResultMemory::View)
                         .Case("elementwise", ResultMemory::Elementwise)
                         .Case("update", ResultMemory::Update)
                         .Default(ResultMemory::Own),
                     row.repeatable};
  });
  return set;
}

/// `set`, which is for another dialect, for this one's ops of the same names.
RuleSet RowMaker::cloneSet(const RuleSet &set) {
  auto rename = [&](StringRef op) {
    auto [prefix, name] = op.split('.');
    return prefix == set.dialect ? this->prefix(name) : op;
  };
  auto renameAll = [&](ArrayRef<StringRef> ops) { return map<StringRef>(ops, rename); };
  RuleSet clone = set;
  clone.dialect = dialect;
  clone.inherited = true;
  for (StringRef *op :
       {&clone.spelling.castOp, &clone.spelling.castUpOp, &clone.spelling.constantOp})
    *op = rename(*op);
  clone.rows = map<RuleRow>(set.rows, [&](const RuleRow &row) {
    RuleRow made{renameAll(row.ops), row.rule};
    made.rule.combiners =
        map<OpRule::Combiner>(row.rule.combiners, [&](OpRule::Combiner combiner) {
          combiner.ops = renameAll(combiner.ops);
          return combiner;
        });
    made.rule.lowName = rename(row.rule.lowName);
    made.rule.source = source;
    return made;
  });
  clone.products = map<ProductRow>(set.products, [&](const ProductRow &row) {
    return ProductRow{renameAll(row.ops), row.macs};
  });
  clone.memory = map<MemoryRow>(set.memory, [&](const MemoryRow &row) {
    return MemoryRow{renameAll(row.ops), row.result, row.repeatable};
  });
  return clone;
}

} // namespace

FailureOr<std::vector<RuleSet>> mpt::readRuleSets(Location loc, StringRef yaml,
                                                  StringRef source,
                                                  ArrayRef<RuleSets> bases,
                                                  llvm::BumpPtrAllocator &storage) {
  FailureOr<std::vector<TableText>> tables =
      readYaml<TableText>({loc, "rule table"}, yaml, source);
  if (failed(tables))
    return failure();
  source = source.copy(storage);
  std::vector<RuleSet> sets;
  for (const TableText &table : *tables) {
    llvm::StringSet<> listed;
    for (const RowText &row : table.rules)
      for (const std::string &name : row.ops)
        if (!listed.insert(name).second)
          return mlir::emitError(loc)
                 << source << ": '" << table.dialect << "." << name
                 << "' is in two rows of one table; keep one of them";
    RowMaker maker(StringRef(table.dialect).copy(storage), source, storage);
    if (!table.extends.empty()) {
      auto base = llvm::find_if(
          bases, [&](const RuleSets &each) { return each.dialect == table.extends; });
      if (base == bases.end())
        return mlir::emitError(loc)
               << source << ": extends '" << table.extends
               << "', which has no built-in rule table; there are "
               << llvm::join(
                      llvm::map_range(bases,
                                      [](const RuleSets &each) { return each.dialect; }),
                      ", ");
      for (const RuleSet &set : base->sets)
        sets.push_back(maker.cloneSet(set));
    }
    sets.push_back(maker.makeSet(table));
  }
  return sets;
}
