//===- Rematerialize.cpp - Fit functions into memory budgets -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematSession.h"
#include "mpt/Memory/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct RematerializePass : mpt::impl::RematerializePassBase<RematerializePass> {
  using Base::Base;
  RematerializePass(const RematerializePassOptions &options,
                    std::vector<RematCurve> &curves)
      : Base(options), curves(&curves) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    RematSession session(
        module,
        {getArgument(), strategy, budget, function, barrier, client, order, target,
         std::vector<std::string>(rules.begin(), rules.end()), effort, maxThreads, seed},
        curves);
    if (failed(session.readOptions()))
      return signalPassFailure();
    FailureOr<SmallVector<RematTarget>> targets = session.findTargets();
    if (failed(targets) || (strategy != "none" && failed(session.planAll(*targets))))
      signalPassFailure();
  }

private:
  /// Where set, all that can be chosen goes there, and nothing is rewritten.
  std::vector<RematCurve> *curves = nullptr;
};

} // namespace

std::unique_ptr<Pass> mpt::createRematCurvePass(const RematerializePassOptions &options,
                                                std::vector<RematCurve> &curves) {
  return std::make_unique<RematerializePass>(options, curves);
}
