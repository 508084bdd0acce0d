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
  std::string spell(bool value) { return value ? "true" : "false"; }
  std::string spell(unsigned value) { return std::to_string(value); }
  std::string spell(StringRef text) { return quoteCpp(text); }
  std::string spell(const OpRule::Combiner &combiner);
  template <typename T>
  std::string spell(ArrayRef<T> values) {
    return writeArray(llvm::getTypeName<T>(), values,
                      [&](const T &value) { return spell(value); });
  }
  template <typename Enum>
  std::enable_if_t<std::is_enum_v<Enum>, std::string> spell(Enum value) {
    return (llvm::getTypeName<Enum>() + "(" + llvm::Twine(unsigned(value)) + ")").str();
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
  /// Assignments of what differs from a default.
  template <typename T>
  void set(std::string &text, StringRef field, const T &value, const T &initial) {
    if (value != initial)
      text += "    made." + field.str() + " = " + spell(value) + ";\n";
  }
  /// What a row and a combiner say of precision.
  template <typename Row>
  std::string setClass(const Row &row) {
    const Row none;
    std::string text;
    set(text, "f16", row.f16, none.f16);
    set(text, "bf16", row.bf16, none.bf16);
    set(text, "results", row.results, none.results);
    set(text, "readsAny", row.readsAny, none.readsAny);
    return text;
  }
  std::string makeRule(const OpRule &rule);
  std::string makeSet(const RuleSet &set);
  static std::string wrap(StringRef type, StringRef assignments) {
    return ("[] {\n    " + type + " made;\n" + assignments + "    return made;\n  }()")
        .str();
  }

  llvm::raw_ostream &os;
  unsigned next = 0;
};

std::string Generator::spell(const OpRule::Combiner &combiner) {
  std::string text = setClass(combiner);
  set(text, "ops", combiner.ops, {});
  return wrap("OpRule::Combiner", text);
}

std::string Generator::makeRule(const OpRule &rule) {
  std::string text = setClass(rule);
  forEachSetKey(rule, [&](StringRef key, const auto &value) {
    text += "    made." + toFieldName(key) + " = " + spell(value) + ";\n";
  });
  set(text, "source", rule.source, {});
  return wrap("OpRule", text);
}

std::string Generator::makeSet(const RuleSet &table) {
  const RuleSet none;
  std::string text;
  auto setString = [&](StringRef field, StringRef value) {
    set(text, field, value, StringRef());
  };
  setString("dialect", table.dialect);
  setString("policy", table.policy);
  setString("spelling.castOp", table.spelling.castOp);
  setString("spelling.castUpOp", table.spelling.castUpOp);
  setString("spelling.castAttributes", table.spelling.castAttributes);
  setString("spelling.constantOp", table.spelling.constantOp);
  setString("spelling.constantValue", table.spelling.constantValue);
  setString("spelling.castForm", table.spelling.castForm);
  set(text, "preserveReturned", table.preserveReturned, none.preserveReturned);
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
                         std::string ops = spell(row.ops);
                         return "{" + ops + ", " + makeRule(row.rule) + "}";
                       }) +
            ";\n";
  if (!table.products.empty())
    text += "    made.products = " +
            writeArray("ProductRow", table.products,
                       [&](const ProductRow &row) {
                         std::string ops = spell(row.ops);
                         return "{" + ops + ", " + quoteCpp(row.macs) + "}";
                       }) +
            ";\n";
  if (!table.memory.empty())
    text += "    made.memory = " +
            writeArray("MemoryRow", table.memory,
                       [&](const MemoryRow &row) {
                         return "{" + spell(row.ops) + ", " + spell(row.result) + ", " +
                                spell(row.repeatable) + ", " + spell(row.fusion) + "}";
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
