//===- DumpRules.cpp - Print the rule tables -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/ElementwiseOpInterface.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PolicyOptions.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

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
    llvm::StringSet<> printed;
    printed.insert_range(*dialects);
    if ((*dialects).empty())
      module.walk([&](Operation *op) {
        (void)chosen->policy.lookup(op);
        printed.insert(op->getName().getDialectNamespace());
      });
    if (failed(addTraits(table, printed)))
      return signalPassFailure();
    table.print(llvm::errs());
    markAllAnalysesPreserved();
  }

private:
  /// Adds as rows what the ops of `printed` dialects say by a trait, where the
  /// table has no row that says otherwise.
  LogicalResult addTraits(RuleTable &table, const llvm::StringSet<> &printed) {
    llvm::MapVector<StringRef, SmallVector<StringRef>> inPlace;
    for (RegisteredOperationName name : getContext().getRegisteredOperations()) {
      StringRef dialect = name.getDialectNamespace();
      if (printed.contains(dialect) && name.hasTrait<InPlaceTrait>() &&
          !table.lookupMemory(name.getStringRef()))
        inPlace[dialect].push_back(name.stripDialect());
    }
    for (auto &[dialect, ops] : inPlace) {
      std::string text = ("dialect: " + dialect + "\nmemory:\n- {ops: [" +
                          llvm::join(ops, ", ") + "], result: elementwise}\n")
                             .str();
      if (failed(table.addText(getOperation().getLoc(), text, "traits of the ops")))
        return failure();
    }
    return success();
  }
};

} // namespace
