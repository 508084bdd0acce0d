//===- Autocast.cpp - Automatic mixed precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-autocast`: plans and applies. The decisions are in
/// Analysis/PrecisionPlan, the rewriting in ApplyPrecision.
///
//===----------------------------------------------------------------------===//

#include "PolicyOptions.h"
#include "mpt/Analysis/PrecisionReport.h"
#include "mpt/Transforms/ApplyPrecision.h"
#include "mpt/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mpt {
#define GEN_PASS_DEF_AUTOCASTPASS
#include "mpt/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct AutocastPass : PolicyPass<mpt::impl::AutocastPassBase<AutocastPass>> {
  using PolicyPass::PolicyPass;

  LogicalResult writeSummary(ModuleOp module, const PrecisionPlan &plan, Type low) {
    std::string error;
    std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(summary, &error);
    if (!file)
      return module.emitError("mpt-autocast: summary: ") << error;
    printPrecisionSummary(summarizePrecision(plan), low, file->os());
    file->keep();
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<PolicyAndSettings> chosen = makePolicy(module);
    if (!chosen)
      return signalPassFailure();
    StringRef name = strategy.empty() ? chosen->settings.strategy : StringRef(strategy);
    std::optional<PrecisionStrategy> how = symbolizePrecisionStrategy(name);
    if (!how) {
      module.emitError("mpt-autocast: unknown strategy '")
          << name << "'; expected mincut, paint, promote or none";
      return signalPassFailure();
    }
    PrecisionGraph graph(module, chosen->policy,
                         {/*likeGrappler=*/*how == PrecisionStrategy::Paint,
                          specializeCalls,
                          foldConstants && chosen->settings.foldConstants});
    if (chosen->policy.hadErrors())
      return signalPassFailure();
    PrecisionPlanOptions options;
    options.strategy = *how;
    options.checkConstants = checkConstants && chosen->settings.checkConstants;
    options.exceptions = chosen->findExceptions(graph);
    options.castArguments = chosen->settings.castArguments;
    PrecisionPlan plan = planPrecision(graph, options);
    if (!explain.empty()) {
      llvm::Regex pattern(explain);
      std::string error;
      if (!pattern.isValid(error)) {
        module.emitError("mpt-autocast: explain: ") << error;
        return signalPassFailure();
      }
      if (explainPrecision(plan, pattern) == 0)
        module.emitWarning("mpt-autocast: explain: no op or location matches '")
            << explain << "'";
    }
    if (!summary.empty() && failed(writeSummary(module, plan, chosen->policy.getLowType())))
      return signalPassFailure();
    // Nobody listens, most of the time.
    const uint32_t remarked =
        getContext().getRemarkEngine() ? graph.getVertices().size() : 0;
    for (uint32_t v = 0; v < remarked; ++v)
      if (plan.isLow(v))
        remark::passed(graph.getVertices()[v].op->getLoc(),
                       remark::RemarkOpts::name("LowPrecision").category(getArgument()))
            << remark::reason("{0}", describePrecisionReason(plan[v].reason));
    if (failed(applyPrecision(plan, chosen->policy, {emulate})))
      signalPassFailure();
  }
};

} // namespace
