//===- Explain.cpp - Why an op has its precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PlanOptions.h"

namespace mpt {
#define GEN_PASS_DEF_EXPLAINPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct ExplainPass : PlanPass<mpt::impl::ExplainPassBase<ExplainPass>> {
  using PlanPass::PlanPass;

  /// Text without `=` is a pattern, not a list of options.
  LogicalResult
  initializeOptions(StringRef options,
                    function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (options.contains('='))
      return PlanPass::initializeOptions(options, errorHandler);
    match = options.str();
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkPattern(module, getArgument(), "match", match)))
      return signalPassFailure();
    std::unique_ptr<PlannedModule> planned = makePlan(module);
    if (!planned)
      return signalPassFailure();
    explain(module, getArgument(), *planned, match);
    markAllAnalysesPreserved();
  }
};

} // namespace
