//===- RuleTableTest.cpp - The built-in tables, and ops listed twice -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Policy/RuleTable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mpt/Policy/PrecisionPolicy.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

// A row with an unknown key, or an op in two rows, fails.
TEST(RuleTable, BuiltinTablesHaveNoErrors) {
  SmallVector<StringRef> dialects = RuleTable::getBuiltinDialects();
  ASSERT_FALSE(dialects.empty());
  for (const PrecisionPreset &preset : getPrecisionPresets())
    for (StringRef dialect : dialects) {
      RuleTable table(preset.name);
      EXPECT_TRUE(succeeded(table.addBuiltin(dialect))) << dialect.str();
      unsigned rows = 0;
      table.forEachName([&](StringRef) { ++rows; });
      EXPECT_NE(rows, 0u) << dialect.str();
    }
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
  RuleTable table("tf-fp16");
  EXPECT_TRUE(errors.add(table, "dialect: acme\n"
                                "policy: mpt\n"
                                "rules: [{ops: [add], class: allow}]\n"));
  EXPECT_EQ(table.lookup("acme.add"), nullptr);
}

} // namespace
