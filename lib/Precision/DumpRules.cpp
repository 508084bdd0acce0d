//===- DumpRules.cpp - Print the rule tables -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PolicyOptions.h"
#include "mpt/Precision/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_DUMPRULESPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct DumpRulesPass : PolicyPass<mpt::impl::DumpRulesPassBase<DumpRulesPass>> {
  using PolicyPass::PolicyPass;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndSettings> chosen = makePolicy(module);
    if (!chosen)
      return signalPassFailure();
    RuleTable &table = chosen->policy.getRules();
    if (failed(loadTables(module, *dialects, table)))
      return signalPassFailure();
    if ((*dialects).empty())
      module.walk([&](Operation *op) { (void)chosen->policy.lookup(op); });
    table.print(llvm::errs());
    markAllAnalysesPreserved();
  }
};

} // namespace
