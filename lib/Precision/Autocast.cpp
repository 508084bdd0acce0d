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

#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Precision/ApplyPrecision.h"
#include "mpt/Precision/ModelExplorer.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PlanOptions.h"
#include "mpt/Precision/PrecisionReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mpt {
#define GEN_PASS_DEF_AUTOCASTPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct AutocastPass : PlanPass<mpt::impl::AutocastPassBase<AutocastPass>> {
  using PlanPass::PlanPass;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!explain.empty() &&
        failed(checkPattern(module, getArgument(), "explain", explain)))
      return signalPassFailure();
    std::vector<FileUse> files = {{"policy", policy}, {"profile", profile}};
    for (const std::string &table : rules)
      files.push_back({"rules", table});
    files.push_back({"summary", summary, /*isOutput=*/true});
    files.push_back({"node-data", nodeData, /*isOutput=*/true});
    if (failed(checkReportFiles(module, getArgument(), files)))
      return signalPassFailure();
    std::unique_ptr<PlannedModule> planned = makePlan(module);
    if (!planned)
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      mpt::detail::warnOfUnnamedResults(function, getArgument());
    const PrecisionPlan &plan = planned->plan;
    PrecisionPolicy &policy = planned->chosen.policy;
    if (!explain.empty())
      mpt::explain(module, getArgument(), *planned, explain);
    if (!summary.empty() &&
        failed(writeReport(
            module, getArgument(), "summary", summary, [&](llvm::raw_ostream &os) {
              printPrecisionSummary(summarizePrecision(plan, planned->planner),
                                    policy.getLowType(), os);
            })))
      return signalPassFailure();
    if (!nodeData.empty() && failed(writeReport(module, getArgument(), "node-data",
                                                nodeData, [&](llvm::raw_ostream &os) {
                                                  printNodeData(plan, module,
                                                                policy.getLowType(), os);
                                                })))
      return signalPassFailure();
    emitPrecisionRemarks(plan, planned->planner);
    const std::optional<uint64_t> paintedOverhead = plan.getPaintedOverhead();
    if (failed(applyPrecision(plan, policy, {emulate})))
      return signalPassFailure();
    if (paintedOverhead)
      module->setAttr(kPaintedOverheadAttr,
                      Builder(&getContext()).getI64IntegerAttr(*paintedOverhead));
  }
};

} // namespace
