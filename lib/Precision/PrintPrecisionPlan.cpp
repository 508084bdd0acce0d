//===- PrintPrecisionPlan.cpp - Show what autocast would do -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PlanOptions.h"

namespace mpt {
#define GEN_PASS_DEF_PRINTPRECISIONPLANPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

struct PrintPrecisionPlanPass
    : PlanPass<mpt::impl::PrintPrecisionPlanPassBase<PrintPrecisionPlanPass>> {
  using PlanPass::PlanPass;

  void runOnOperation() override {
    std::unique_ptr<PlannedModule> planned = makePlan(getOperation());
    if (!planned)
      return signalPassFailure();
    printPrecisionPlan(planned->plan, getOperation(), llvm::errs());
    markAllAnalysesPreserved();
  }
};

} // namespace
