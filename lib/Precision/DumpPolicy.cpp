//===- DumpPolicy.cpp - Print the effective policy -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PolicyOptions.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace mpt {
#define GEN_PASS_DEF_DUMPPOLICYPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct DumpPolicyPass : PolicyPass<mpt::impl::DumpPolicyPassBase<DumpPolicyPass>> {
  using PolicyPass::PolicyPass;

  /// The class of each op of `wanted`, by name, with who says so.
  void printClasses(PrecisionPolicy &policy, const llvm::StringSet<> &wanted,
                    llvm::raw_ostream &os) {
    struct Row {
      /// None: that depends on the single op.
      std::optional<PrecisionClass> precisionClass;
      StringRef origin;
    };
    std::map<StringRef, Row> rows;
    auto isWanted = [&](StringRef name) {
      return wanted.contains(name.split('.').first);
    };
    for (RegisteredOperationName name : getContext().getRegisteredOperations()) {
      auto *interface = name.getInterface<PrecisionOpInterface>();
      if (!interface || !isWanted(name.getStringRef()))
        continue;
      // Other dialects' ops may look at their operands or regions for an answer.
      std::optional<PrecisionClass> known;
      if (name.getDialectNamespace() == MPTDialect::getDialectNamespace()) {
        Operation *op =
            Operation::create(OperationState(UnknownLoc::get(&getContext()), name));
        known = cast<PrecisionOpInterface>(op).getPrecisionClass(policy.getLowType());
        op->destroy();
      }
      rows[name.getStringRef()] = {known, "op"};
    }
    const RuleTable &table = policy.getRules();
    table.forEachName([&](StringRef name) {
      if (const OpRule *rule = isWanted(name) ? table.lookup(name) : nullptr)
        rows[name] = {rule->getClass(policy.getLowType()), rule->source};
    });
    policy.getLists().forEach([&](StringRef in, const OpLists::Entries &entries) {
      for (const auto &[name, entry] : entries)
        if (auto found = rows.find(name.getStringRef());
            in.empty() && found != rows.end())
          found->second = {entry.precisionClass, entry.origin};
    });
    os << "# class, op, origin\n";
    for (const auto &[name, row] : rows)
      os << "# "
         << (row.precisionClass ? stringifyPrecisionClass(*row.precisionClass) : "varies")
         << " " << name << " " << row.origin << "\n";
    policy.getLists().forEach([&](StringRef in, const OpLists::Entries &entries) {
      for (const auto &[name, entry] : entries)
        if (!in.empty())
          os << "# " << stringifyPrecisionClass(entry.precisionClass) << " "
             << name.getStringRef() << " " << entry.origin << ", in '" << in << "'\n";
    });
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndSettings> chosen = makePolicy(module);
    if (!chosen || failed(loadTables(module, *dialects, chosen->policy.getRules())))
      return signalPassFailure();
    llvm::StringSet<> wanted;
    for (const std::string &dialect : *dialects)
      wanted.insert(dialect);
    if (wanted.empty())
      module.walk([&](Operation *op) {
        wanted.insert(op->getName().getDialectNamespace());
        (void)chosen->policy.lookup(op);
      });
    std::string text;
    llvm::raw_string_ostream os(text);
    printPolicy(chosen->settings, os);
    printClasses(chosen->policy, wanted, os);
    llvm::errs() << text;
    markAllAnalysesPreserved();
  }
};

} // namespace
