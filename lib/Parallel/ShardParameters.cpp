//===- ShardParameters.cpp - Parameters joined when needed ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-shard-parameters`.
///
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Parallel/Passes.h"

#include <limits>

namespace mpt {
#define GEN_PASS_DEF_SHARDPARAMETERSPASS
#include "mpt/Parallel/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

struct ShardParametersPass : mpt::impl::ShardParametersPassBase<ShardParametersPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
};

LogicalResult ShardParametersPass::run() {
  ModuleOp module = getOperation();
  for (auto [name, value, least] :
       {std::tuple("unit-bytes", int64_t(unitBytes), int64_t(0)),
        std::tuple("prefetch", int64_t(prefetch), int64_t(0)),
        std::tuple("keep-bytes", int64_t(keepBytes), int64_t(-1))})
    if (value < least)
      return module.emitError("mpt-shard-parameters: expected at least ")
             << least << " for " << name << ", found " << value;
  ShardOptions options;
  options.pass = getArgument();
  options.groups.assign(groups.begin(), groups.end());
  options.optimizer = optimizer;
  options.joinsAgain = true;
  options.unitBytes = unitBytes;
  options.prefetch = prefetch;
  options.keptBytes =
      keepBytes < 0 ? std::numeric_limits<int64_t>::max() : int64_t(keepBytes);
  if (failed(checkShardOptions(module, options)))
    return failure();
  func::FuncOp step = findStepFunction(module, function, getArgument());
  return success(step && succeeded(shardParameters(step, options)));
}

} // namespace
