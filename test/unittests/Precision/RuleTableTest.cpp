//===- RuleTableTest.cpp - The built-in tables, and ops listed twice -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/RuleTable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mpt/Precision/PrecisionPolicy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

TEST(RuleTable, BuiltinTablesHaveRows) {
  SmallVector<StringRef> dialects = RuleTable::getBuiltinDialects();
  ASSERT_FALSE(dialects.empty());
  for (StringRef policy : getBuiltinPolicies())
    for (StringRef dialect : dialects) {
      RuleTable table({policy.str()});
      table.addBuiltin(dialect);
      unsigned rows = 0;
      table.forEachName([&](StringRef) { ++rows; });
      // Of MPT's ops only scans, and what ends them, have rows.
      if (dialect == "mpt")
        EXPECT_EQ(rows, 2u);
      else
        EXPECT_GT(rows, 2u) << dialect.str();
    }
}

/// docs/RuleTables.md has a row for each key, with the words for its values.
TEST(RuleTable, EveryKeyIsDocumented) {
  auto file = llvm::MemoryBuffer::getFile(MPT_RULE_DOC);
  ASSERT_TRUE(file);
  OpRule::forEachKey([&](StringRef key, auto field) {
    StringRef row;
    for (StringRef line : llvm::split((*file)->getBuffer(), '\n'))
      if (line.starts_with("| `") &&
          line.split(" | ").first.contains(("`" + key + "`").str()))
        row = line;
    EXPECT_FALSE(row.empty()) << key.str();
    using Value = std::decay_t<decltype(OpRule().*field)>;
    if constexpr (std::is_enum_v<Value> && !std::is_same_v<Value, PrecisionClass>)
      for (StringRef word : getWords(Value()))
        EXPECT_TRUE(word.empty() || row.contains(("`" + word + "`").str()))
            << key.str() << " " << word.str();
  });
}

struct Errors {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string text;
  ScopedDiagnosticHandler handler{
      &context, [this](Diagnostic &diagnostic) { text += diagnostic.str(); }};

  bool add(RuleTable &table, StringRef yaml) {
    return succeeded(table.addText(UnknownLoc::get(&context), yaml, "my.yaml"));
  }
};

std::string print(const RuleTable &table) {
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os);
  return text;
}

// The build made the constants from these files: what is read from them now, over
// the constants and so in their place, is the same.
TEST(RuleTable, BuiltinTablesAreTheirText) {
  Errors errors;
  for (StringRef dialect : RuleTable::getBuiltinDialects()) {
    std::string file = (dialect + ".yaml").str();
    auto text = llvm::MemoryBuffer::getFile(MPT_RULES_DIR "/" + file);
    ASSERT_TRUE(bool(text)) << file;
    RuleTable builtin, read;
    builtin.addBuiltin(dialect);
    EXPECT_TRUE(succeeded(
        read.addText(UnknownLoc::get(&errors.context), (*text)->getBuffer(), file)));
    EXPECT_EQ(print(builtin), print(read));
  }
}

TEST(RuleTable, AnOpInTwoRowsIsAnError) {
  Errors errors;
  RuleTable table;
  EXPECT_FALSE(errors.add(table, "dialect: acme\n"
                                 "rules:\n"
                                 "- {ops: [dot, add], class: allow}\n"
                                 "- {ops: [add], class: deny}\n"));
  EXPECT_EQ(errors.text,
            "my.yaml: 'acme.add' is in two rows of one table; keep one of them");
}

TEST(RuleTable, ALaterTableReplacesRows) {
  Errors errors;
  RuleTable table;
  EXPECT_TRUE(errors.add(table, "dialect: acme\n"
                                "rules: [{ops: [add], class: allow}]\n"
                                "---\n"
                                "dialect: acme\n"
                                "rules: [{ops: [add], class: deny}]\n"));
  ASSERT_NE(table.lookup("acme.add"), nullptr);
  EXPECT_EQ(table.lookup("acme.add")->f16, PrecisionClass::Deny);
}

TEST(RuleTable, TablesOfAnotherPolicyDoNotCount) {
  Errors errors;
  RuleTable table({"tf-fp16"});
  EXPECT_TRUE(errors.add(table, "dialect: acme\n"
                                "policy: mpt\n"
                                "rules: [{ops: [add], class: allow}]\n"));
  EXPECT_EQ(table.lookup("acme.add"), nullptr);
}

} // namespace
