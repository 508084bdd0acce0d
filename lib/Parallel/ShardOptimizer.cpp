//===- ShardOptimizer.cpp - Optimizer state cut between ranks ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-shard-optimizer`.
///
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Parallel/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_SHARDOPTIMIZERPASS
#include "mpt/Parallel/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct ShardOptimizerPass : mpt::impl::ShardOptimizerPassBase<ShardOptimizerPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (stage != 1 && stage != 2) {
      module.emitError("mpt-shard-optimizer: expected stage 1 or 2, found ")
          << int64_t(stage) << (stage == 3 ? "; --mpt-shard-parameters is stage 3" : "");
      return signalPassFailure();
    }
    ShardOptions options;
    options.pass = getArgument();
    options.groups.assign(groups.begin(), groups.end());
    options.optimizer = optimizer;
    options.cutsAtEnd = stage == 1;
    if (failed(checkShardOptions(module, options)))
      return signalPassFailure();
    func::FuncOp step = findStepFunction(module, function, getArgument());
    if (!step || failed(shardParameters(step, options)))
      signalPassFailure();
  }
};

} // namespace
