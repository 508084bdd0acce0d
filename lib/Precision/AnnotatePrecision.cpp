//===- AnnotatePrecision.cpp - Show each op's class -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PolicyOptions.h"

namespace mpt {
#define GEN_PASS_DEF_ANNOTATEPRECISIONPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct AnnotatePrecisionPass
    : PolicyPass<mpt::impl::AnnotatePrecisionPassBase<AnnotatePrecisionPass>> {
  using PolicyPass::PolicyPass;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndSettings> chosen = makePolicy(module);
    if (!chosen)
      return signalPassFailure();
    Builder builder(&getContext());
    module.walk([&](Operation *op) {
      OpRecord record = chosen->policy.lookup(op);
      if (record.source == RuleSource::Unlisted)
        return;
      op->setAttr(kPrecisionClassAttr,
                  builder.getStringAttr(stringifyPrecisionClass(record.precisionClass)));
      op->setAttr(kPrecisionSourceAttr,
                  builder.getStringAttr(stringifyRuleSource(record.source)));
    });
    if (chosen->policy.hadErrors())
      return signalPassFailure();
    warnOfUnknownOps(module, getArgument(), chosen->policy);
    chosen->policy.warnOfUnused(module, getArgument());
  }
};

} // namespace
