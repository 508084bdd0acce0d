//===- CompiledStepsTest.cpp - Compiled ranks against micro-batches -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// As DataParallelTest, with compiled steps: ranks are threads of this process that
/// exchange values through the runtime.
///
//===----------------------------------------------------------------------===//

#include "../Runtime/ThreadTransport.h"
#include "Mixture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Host/Initializers.h"
#include "mpt/Host/JITEngine.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Support/Philox.h"
#include "mpt/Training/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

/// What each step returned and left as state, by name.
using History = std::vector<llvm::StringMap<HostTensor>>;

/// The value of an argument: rows of a rank begin at `first` of all rows.
HostTensor makeValue(const TensorInfo &info, int64_t step, int64_t rank) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(info.type, info.shape));
  uint32_t key = 0;
  for (char letter : info.name)
    key = 31 * key + letter;
  const bool isData = !isStateRole(info.role);
  if (!isData && info.init) {
    llvm::cantFail(initializeTensor(tensor, *info.init, 1, info.name));
    return tensor;
  }
  const int64_t first = isData ? rank * tensor.getNumElements() : 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    const uint64_t at = first + i;
    uint32_t word = philoxBlock(key, isData ? 1 + step : 0, 0, at / 4)[at % 4];
    double value = isFloatType(info.type) ? std::ldexp(word, -31) - 1.0 : word % 3;
    tensor.setElement(i, isData || info.role == Role::Parameter ? value : 0.0);
  }
  return tensor;
}

History train(const std::string &passes, int64_t rank, int64_t steps,
              mpt_rt_communicator *communicator) {
  // Compiling shares LLVM's tables of targets.
  static std::mutex mutex;
  MLIRContext context;
  std::unique_ptr<RuntimeEngine> engine;
  {
    std::lock_guard<std::mutex> lock(mutex);
    context.loadDialect<MPTDialect, func::FuncDialect>();
    auto module = parseSourceString<ModuleOp>(kMixture, &context);
    PassManager manager(&context);
    if (!module || failed(parsePassPipeline(passes, manager)) ||
        failed(manager.run(*module))) {
      ADD_FAILURE() << passes;
      return {};
    }
    JITOptions options;
    options.threads = 1;
    options.communicator = communicator;
    auto made = createJITEngine(std::move(module), "loss", options);
    if (!made) {
      ADD_FAILURE() << llvm::toString(made.takeError());
      return {};
    }
    engine = std::move(*made);
  }
  for (const TensorInfo &info : engine->getArguments())
    if (isStateRole(info.role))
      llvm::cantFail(engine->writeState(info.name, makeValue(info, 0, 0)));
  History history;
  for (int64_t step = 0; step < steps; ++step) {
    llvm::StringMap<HostTensor> data;
    llvm::StringMap<const HostTensor *> inputs;
    for (const TensorInfo &info : engine->getArguments())
      if (!isStateRole(info.role))
        inputs[info.name] = &(data[info.name] = makeValue(info, step, rank));
    auto results = engine->run(inputs);
    if (!results) {
      ADD_FAILURE() << "rank " << rank << ": " << llvm::toString(results.takeError());
      return history;
    }
    for (const ResultInfo &info : engine->getResults())
      if (!info.updates.empty())
        (*results)["state:" + info.updates] =
            llvm::cantFail(engine->readState(info.updates));
    history.push_back(std::move(*results));
  }
  return history;
}

/// Returns how many of the steps were taken.
int compare(const std::string &after, int ranks, int64_t steps) {
  static bool registered = [] {
    registerMPTDialectTransformsPasses();
    registerMPTParallelPasses();
    registerMPTPrecisionPasses();
    registerMPTTrainingPasses();
    return true;
  }();
  (void)registered;
  const std::string n = std::to_string(ranks);
  History want =
      train("mpt-autodiff,mpt-accumulate{steps=" + n + "}," + after, 0, steps, nullptr);
  std::vector<History> got(ranks);
  rt::ThreadRanks threads(ranks);
  threads.run([&](int rank, mpt_rt_communicator *communicator) {
    got[rank] =
        train("mpt-autodiff,mpt-data-parallel{size=" + n + " bucket-bytes=100}," + after,
              rank, steps, communicator);
  });
  const bool isLow = after.find("mpt-autocast") != std::string::npos;
  int taken = 0;
  for (auto [step, expected] : llvm::enumerate(want)) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (step >= got[rank].size()) {
        ADD_FAILURE() << "rank " << rank << " stopped at step " << step;
        return taken;
      }
      auto &mine = got[rank][step];
      EXPECT_EQ(mine.size(), expected.size());
      for (const auto &entry : expected) {
        // Rounded elsewhere, see DataParallelTest.
        if (isLow && entry.first() == "rows")
          continue;
        auto it = mine.find(entry.first());
        EXPECT_TRUE(it != mine.end() && it->second.getBytes() == entry.second.getBytes())
            << "step " << step << ", rank " << rank << " of " << n << ": "
            << entry.first().str();
      }
    }
    auto found = expected.find("found_inf");
    taken += found == expected.end() || found->second.getElement(0) == 0;
  }
  return taken;
}

TEST(CompiledStepsTest, F32) {
  for (int ranks : {2, 3, 4})
    EXPECT_EQ(compare("mpt-train-step{optimizer=adamw lr=0.01 clip-norm=1.0}", ranks, 3),
              3);
}

TEST(CompiledStepsTest, BF16) {
  for (int ranks : {2, 3, 4})
    EXPECT_EQ(compare("mpt-train-step{optimizer=momentum lr=0.1},mpt-master-weights{"
                      "kind=bf16-stochastic-rounding},mpt-autocast{type=bf16}",
                      ranks, 3),
              3);
}

TEST(CompiledStepsTest, F16WithSkippedSteps) {
  for (int ranks : {2, 3, 4}) {
    const int taken = compare(
        "mpt-train-step{optimizer=adamw lr=0.01},mpt-master-weights,mpt-loss-scale{"
        "init-scale=33554432 backoff-factor=0.03125 growth-interval=2},"
        "mpt-autocast{type=f16}",
        ranks, 5);
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 5);
  }
}

} // namespace
