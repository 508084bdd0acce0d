//===- RuleText.cpp - Rule tables as their YAML has them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleText.h"

#include "YamlText.h"
#include "mlir/IR/Dialect.h"
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
  std::vector<std::string> ops;
  std::string all, f16, bf16, reads;
  std::optional<ResultForm> results;
};
struct CombinerText : ClassText {};
struct RowText : ClassText {
  std::vector<CombinerText> combiners;
  /// All other keys.
  OpRule rule;
};
struct ProductText {
  std::vector<std::string> ops;
  std::string macs;
};
struct MemoryText {
  std::vector<std::string> ops;
  std::optional<ResultMemory> result;
  bool repeatable = true;
  std::optional<LoopFusion> fusion;
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

/// One of the words for the values of `Enum`.
template <typename Enum>
static void mapWord(llvm::yaml::IO &io, const char *key, std::optional<Enum> &value) {
  std::string word;
  llvm::ArrayRef<llvm::StringRef> words = getWords(Enum());
  mapChoice(io, key, word,
            llvm::filter_to_vector(words, [](auto each) { return !each.empty(); }));
  if (auto found = llvm::find(words, word); !word.empty() && found != words.end())
    value = Enum(found - words.begin());
}

static void mapClass(llvm::yaml::IO &io, ClassText &text) {
  mapRequiredKey(io, "ops", text.ops);
  mapChoice(io, "class", text.all, kClassNames);
  mapChoice(io, "class-f16", text.f16, kClassNames);
  mapChoice(io, "class-bf16", text.bf16, kClassNames);
  mapWord(io, "results", text.results);
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
    mapClass(io, text);
  }
};

namespace {

/// Reads a key of a row into its field.
class RowReader {
public:
  RowReader(llvm::yaml::IO &io, RowText &text)
      : io(io), text(text), storage(*YamlContext::of(io).storage) {}

  template <typename Field>
  void operator()(const char *key, Field OpRule::*field) {
    read(key, text.rule.*field);
  }

private:
  void read(const char *key, bool &value) { mapFlag(io, key, value); }
  void read(const char *key, llvm::StringRef &value) {
    std::string word;
    mapKey(io, key, word);
    value = llvm::StringRef(word).copy(storage);
  }
  void read(const char *key, llvm::ArrayRef<unsigned> &value) {
    std::vector<unsigned> indices;
    mapIndices(io, key, indices);
    value = llvm::ArrayRef(indices).copy(storage);
  }
  void read(const char *key, llvm::ArrayRef<llvm::StringRef> &value) {
    std::vector<std::string> words;
    mapKey(io, key, words);
    llvm::SmallVector<llvm::StringRef> copies;
    for (llvm::StringRef word : words)
      copies.push_back(word.copy(storage));
    value = llvm::ArrayRef(copies).copy(storage);
  }
  /// They get what they do not say from their row, once it is read.
  void read(const char *key, llvm::ArrayRef<OpRule::Combiner> &) {
    mapKey(io, key, text.combiners);
  }
  template <typename Enum>
  void read(const char *key, Enum &value) {
    std::optional<Enum> found;
    mapWord(io, key, found);
    value = found.value_or(value);
  }

  llvm::yaml::IO &io;
  RowText &text;
  llvm::BumpPtrAllocator &storage;
};

} // namespace

template <>
struct llvm::yaml::MappingTraits<RowText> {
  static void mapping(IO &io, RowText &text) {
    mpt::YamlKeyScope scope(io, "");
    mapClass(io, text);
    for (const std::string &op : text.ops)
      checkOp(io, op);
    OpRule::forEachKey(RowReader(io, text));
    if (size_t count = text.rule.firstCarried.size(); count != 0 && count != 3)
      io.setError("expected three indices for first-carried: of an operand, a block "
                  "argument and an operand of the terminator");
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
    mapWord(io, "result", text.result);
    mapFlag(io, "repeatable", text.repeatable);
    mapWord(io, "fusion", text.fusion);
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
    // Empty where the key was not read, which is an error already.
    if (!text.dialect.empty() && !mlir::Dialect::isValidNamespace(text.dialect))
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
  OpRule rule = text.rule;
  rule.f16 = readClass(text, text.f16, PrecisionClass::Fixed);
  rule.bf16 = readClass(text, text.bf16, PrecisionClass::Fixed);
  rule.results = text.results.value_or(ResultForm::Same);
  rule.readsAny = readReads(text.reads, false);
  rule.combiners = map<OpRule::Combiner>(text.combiners, [&](const CombinerText &each) {
    OpRule::Combiner combiner;
    combiner.ops = map<StringRef>(each.ops, [&](StringRef op) { return prefix(op); });
    combiner.f16 = readClass(each, each.f16, rule.f16);
    combiner.bf16 = readClass(each, each.bf16, rule.bf16);
    combiner.results = each.results.value_or(rule.results);
    combiner.readsAny = readReads(each.reads, rule.readsAny);
    return combiner;
  });
  rule.lowName = qualify(rule.lowName);
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
                     row.result.value_or(ResultMemory::Own), row.repeatable,
                     row.fusion.value_or(LoopFusion::None)};
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
    return MemoryRow{renameAll(row.ops), row.result, row.repeatable, row.fusion};
  });
  return clone;
}

} // namespace

FailureOr<std::vector<RuleSet>> mpt::readRuleSets(Location loc, StringRef yaml,
                                                  StringRef source,
                                                  ArrayRef<RuleSets> bases,
                                                  llvm::BumpPtrAllocator &storage) {
  FailureOr<std::vector<TableText>> tables =
      readYaml<TableText>({loc, "rule table", &storage}, yaml, source);
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
