//===- GenerateRules.cpp - Rule tables as C++ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A step of the build: writes the rule tables of the YAML files named as
/// constants of C++. To read them whenever autocast runs would take longer than it
/// needs for a small graph.
///
//===----------------------------------------------------------------------===//

#include "GeneratedCode.h"
#include "RuleText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpt;

namespace {

class Generator {
public:
  explicit Generator(llvm::raw_ostream &os) : os(os) {}

  void generate(ArrayRef<RuleSets> tables);

private:
  std::string makeName() { return "data" + std::to_string(next++); }
  static std::string spell(PrecisionClass value) {
    std::string word = stringifyPrecisionClass(value).str();
    word[0] = llvm::toUpper(word[0]);
    return "PrecisionClass::" + word;
  }
  template <typename Enum>
  static std::string spell(StringRef type, Enum value) {
    return (type + "(" + llvm::Twine(unsigned(value)) + ")").str();
  }
  /// Writes an array of `type`; returns its name.
  template <typename T, typename Print>
  std::string writeArray(StringRef type, ArrayRef<T> items, Print &&print) {
    std::string name = makeName(), text;
    for (const T &item : items)
      text += "  " + print(item) + ",\n";
    os << "constexpr " << type << " " << name << "[] = {\n" << text << "};\n";
    return name;
  }
  std::string writeStrings(ArrayRef<StringRef> words) {
    return writeArray("StringRef", words, quoteCpp);
  }
  /// Assignments of what differs from a default.
  template <typename T>
  void set(std::string &text, StringRef field, const T &value, const T &initial,
           const std::string &spelled) {
    if (value != initial)
      text += "    made." + field.str() + " = " + spelled + ";\n";
  }
  std::string makeRule(const OpRule &rule);
  std::string makeCombiner(const OpRule::Combiner &combiner);
  std::string makeSet(const RuleSet &set);
  static std::string wrap(StringRef type, StringRef assignments) {
    return ("[] {\n    " + type + " made;\n" + assignments + "    return made;\n  }()")
        .str();
  }

  llvm::raw_ostream &os;
  unsigned next = 0;
};

std::string Generator::makeCombiner(const OpRule::Combiner &combiner) {
  const OpRule::Combiner none;
  std::string text;
  if (!combiner.ops.empty())
    text += "    made.ops = " + writeStrings(combiner.ops) + ";\n";
  set(text, "f16", combiner.f16, none.f16, spell(combiner.f16));
  set(text, "bf16", combiner.bf16, none.bf16, spell(combiner.bf16));
  set(text, "results", combiner.results, none.results,
      spell("ResultForm", combiner.results));
  set(text, "readsAny", combiner.readsAny, none.readsAny, "true");
  return wrap("OpRule::Combiner", text);
}

std::string Generator::makeRule(const OpRule &rule) {
  const OpRule none;
  std::string text;
  auto setFlag = [&](StringRef field, bool value, bool initial) {
    set(text, field, value, initial, value ? "true" : "false");
  };
  auto setIndices = [&](StringRef field, ArrayRef<unsigned> indices) {
    if (!indices.empty())
      set(text, field, indices, {},
          writeArray("unsigned", indices, [](unsigned i) { return std::to_string(i); }));
  };
  auto setStrings = [&](StringRef field, ArrayRef<StringRef> words) {
    if (!words.empty())
      set(text, field, words, {}, writeStrings(words));
  };
  set(text, "f16", rule.f16, none.f16, spell(rule.f16));
  set(text, "bf16", rule.bf16, none.bf16, spell(rule.bf16));
  set(text, "ifNonPositive", rule.ifNonPositive, none.ifNonPositive,
      spell(rule.ifNonPositive));
  set(text, "sign", rule.sign, none.sign, spell("ResultSign", rule.sign));
  set(text, "typing", rule.typing, none.typing, spell("OpTyping", rule.typing));
  set(text, "results", rule.results, none.results, spell("ResultForm", rule.results));
  setFlag("readsAny", rule.readsAny, none.readsAny);
  setIndices("f32Operands", rule.f32Operands);
  setIndices("f32Results", rule.f32Results);
  setIndices("absentOperands", rule.absentOperands);
  setFlag("fixedScalars", rule.fixedScalars, none.fixedScalars);
  setStrings("elementAttributes", rule.elementAttributes);
  set(text, "region", rule.region, none.region, spell("RegionPolicy", rule.region));
  setIndices("firstCarried", rule.firstCarried);
  set(text, "scanInputs", rule.scanInputs, none.scanInputs, quoteCpp(rule.scanInputs));
  if (!rule.combiners.empty())
    text += "    made.combiners = " +
            writeArray("OpRule::Combiner", rule.combiners,
                       [&](const OpRule::Combiner &each) { return makeCombiner(each); }) +
            ";\n";
  setStrings("callees", rule.callees);
  setFlag("pure", rule.pure, none.pure);
  setFlag("clone", rule.clone, none.clone);
  setFlag("list", rule.list, none.list);
  setFlag("recurrent", rule.recurrent, none.recurrent);
  setFlag("movable", rule.movable, none.movable);
  set(text, "variable", rule.variable, none.variable,
      spell("VariableRole", rule.variable));
  set(text, "lowName", rule.lowName, none.lowName, quoteCpp(rule.lowName));
  setFlag("cast", rule.cast, none.cast);
  setFlag("contraction", rule.contraction, none.contraction);
  set(text, "source", rule.source, none.source, quoteCpp(rule.source));
  return wrap("OpRule", text);
}

std::string Generator::makeSet(const RuleSet &table) {
  const RuleSet none;
  std::string text;
  auto setString = [&](StringRef field, StringRef value) {
    set(text, field, value, StringRef(), quoteCpp(value));
  };
  setString("dialect", table.dialect);
  setString("policy", table.policy);
  setString("spelling.castOp", table.spelling.castOp);
  setString("spelling.castUpOp", table.spelling.castUpOp);
  setString("spelling.castAttributes", table.spelling.castAttributes);
  setString("spelling.constantOp", table.spelling.constantOp);
  setString("spelling.constantValue", table.spelling.constantValue);
  setString("spelling.castForm", table.spelling.castForm);
  set(text, "preserveReturned", table.preserveReturned, none.preserveReturned, "true");
  if (!table.keepIf.empty())
    text += "    made.keepIf = " +
            writeArray("RuleSet::KeepIf", table.keepIf,
                       [](const RuleSet::KeepIf &each) {
                         return "{" + quoteCpp(each.attribute) + ", " +
                                quoteCpp(each.contains) + "}";
                       }) +
            ";\n";
  if (!table.rows.empty())
    text += "    made.rows = " +
            writeArray("RuleRow", table.rows,
                       [&](const RuleRow &row) {
                         std::string ops = writeStrings(row.ops);
                         return "{" + ops + ", " + makeRule(row.rule) + "}";
                       }) +
            ";\n";
  if (!table.products.empty())
    text += "    made.products = " +
            writeArray("ProductRow", table.products,
                       [&](const ProductRow &row) {
                         std::string ops = writeStrings(row.ops);
                         return "{" + ops + ", " + quoteCpp(row.macs) + "}";
                       }) +
            ";\n";
  if (!table.memory.empty())
    text += "    made.memory = " +
            writeArray("MemoryRow", table.memory,
                       [&](const MemoryRow &row) {
                         return "{" + writeStrings(row.ops) + ", " +
                                spell("ResultMemory", row.result) + ", " +
                                (row.repeatable ? "true" : "false") + "}";
                       }) +
            ";\n";
  return wrap("RuleSet", text);
}

void Generator::generate(ArrayRef<RuleSets> tables) {
  os << "// Made from the YAML files by GenerateRules.cpp.\nnamespace {\n";
  std::string names = writeArray("RuleSets", tables, [&](const RuleSets &table) {
    return "{" + quoteCpp(table.dialect) + ", " +
           writeArray("RuleSet", table.sets,
                      [&](const RuleSet &set) { return makeSet(set); }) +
           "}";
  });
  os << "constexpr ArrayRef<RuleSets> builtins = " << names << ";\n} // namespace\n";
}

} // namespace

/// mpt-generate-rules OUTPUT FILE.yaml...
int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "expected: " << argv[0] << " OUTPUT FILE.yaml...\n";
    return 1;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(errors)
        << diagnostic.getLocation() << ": " << diagnostic << "\n";
  });
  llvm::BumpPtrAllocator storage;
  std::vector<RuleSets> tables;
  SmallVector<StringRef> pending(argv + 2, argv + argc);
  // A table may extend one that comes later.
  while (!pending.empty()) {
    errors.clear();
    SmallVector<StringRef> left;
    for (StringRef path : pending) {
      std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(path);
      if (!buffer)
        return 1;
      FailureOr<std::vector<RuleSet>> sets =
          readRuleSets(UnknownLoc::get(&context), buffer->getBuffer(),
                       llvm::sys::path::filename(path), tables, storage);
      if (failed(sets))
        left.push_back(path);
      else
        tables.push_back({llvm::sys::path::stem(path), ArrayRef(*sets).copy(storage)});
    }
    if (left.size() == pending.size()) {
      llvm::errs() << errors;
      return 1;
    }
    pending = std::move(left);
  }
  llvm::sort(tables,
             [](const RuleSets &a, const RuleSets &b) { return a.dialect < b.dialect; });
  std::unique_ptr<llvm::ToolOutputFile> file = openOutput(argv[1]);
  if (!file)
    return 1;
  Generator(file->os()).generate(tables);
  file->keep();
  return 0;
}
