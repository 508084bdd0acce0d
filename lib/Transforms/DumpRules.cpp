//===- DumpRules.cpp - Print the rule tables -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyOptions.h"
#include "mpt/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace mpt {
#define GEN_PASS_DEF_DUMPRULESPASS
#include "mpt/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct DumpRulesPass : PolicyPass<mpt::impl::DumpRulesPassBase<DumpRulesPass>> {
  using PolicyPass::PolicyPass;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndPreset> chosen = makePolicy(module);
    if (!chosen)
      return signalPassFailure();
    RuleTable &table = chosen->policy.getRules();
    SmallVector<StringRef> known = RuleTable::getBuiltinDialects();
    for (const std::string &dialect : *dialects) {
      if (!llvm::is_contained(known, dialect)) {
        module.emitError("mpt-dump-rules: no built-in rule table of dialect '")
            << dialect << "'; there are " << llvm::join(known, ", ");
        return signalPassFailure();
      }
      table.addBuiltin(dialect);
    }
    if ((*dialects).empty())
      module.walk([&](Operation *op) { (void)chosen->policy.lookup(op); });
    table.print(llvm::errs());
    markAllAnalysesPreserved();
  }
};

} // namespace
