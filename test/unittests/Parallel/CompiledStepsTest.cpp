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
#include "Layers.h"
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

/// What each step returned and left as state, by name. Shards are in `shards`, by what
/// they hold.
struct History {
  std::vector<llvm::StringMap<HostTensor>> steps;
  std::vector<TensorInfo> shards;
  int64_t stateBytes = 0, arenaBytes = 0;
  /// Of the last step.
  int64_t sentBytes = 0;
};

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

/// The first value of `info`, state of rank `rank`.
HostTensor makeState(const TensorInfo &info, int64_t rank) {
  if (!info.shards)
    return makeValue(info, 0, 0);
  HostTensor shard = llvm::cantFail(HostTensor::create(info.type, info.shape));
  for (const ShardLayout::Piece &piece : info.shards->pieces) {
    if (!info.shards->has(rank, piece))
      continue;
    const ShardLayout::Tensor &tensor = info.shards->tensors[piece.tensor];
    TensorInfo whole = info;
    whole.name = tensor.name + info.shardSuffix;
    whole.shape = tensor.shape;
    if (info.shardSuffix.empty())
      whole.init = tensor.init;
    HostTensor values = makeValue(whole, 0, 0);
    for (int64_t i = piece.begin; i < piece.end; ++i)
      shard.setElement(info.shards->getPlace(piece) + i - piece.begin,
                       values.getElement(i));
  }
  return shard;
}

/// Puts what the ranks' shards hold in the place of the shards of each.
void joinShards(std::vector<History> &ranks) {
  for (size_t step = 0; step < ranks.front().steps.size(); ++step)
    for (const TensorInfo &info : ranks.front().shards) {
      std::vector<HostTensor> joined;
      for (const ShardLayout::Tensor &tensor : info.shards->tensors)
        joined.push_back(llvm::cantFail(HostTensor::create(info.type, tensor.shape)));
      for (const ShardLayout::Piece &piece : info.shards->pieces) {
        auto &mine = ranks[piece.rank].steps;
        if (step >= mine.size())
          continue;
        const HostTensor &shard = mine[step]["state:" + info.name];
        for (int64_t i = piece.begin; i < piece.end; ++i)
          joined[piece.tensor].setElement(
              i, shard.getElement(info.shards->getPlace(piece) + i - piece.begin));
      }
      for (History &rank : ranks) {
        if (step >= rank.steps.size())
          continue;
        rank.steps[step].erase("state:" + info.name);
        for (auto [tensor, value] : llvm::zip_equal(info.shards->tensors, joined))
          rank.steps[step]["state:" + tensor.name + info.shardSuffix] = value;
      }
    }
}

History train(const char *text, const std::string &passes, int64_t rank, int64_t steps,
              mpt_rt_communicator *communicator) {
  static bool registered = [] {
    registerMPTDialectTransformsPasses();
    registerMPTParallelPasses();
    registerMPTPrecisionPasses();
    registerMPTTrainingPasses();
    return true;
  }();
  (void)registered;
  // Compiling shares LLVM's tables of targets.
  static std::mutex mutex;
  MLIRContext context;
  std::unique_ptr<RuntimeEngine> engine;
  {
    std::lock_guard<std::mutex> lock(mutex);
    context.loadDialect<MPTDialect, func::FuncDialect>();
    auto module = parseSourceString<ModuleOp>(text, &context);
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
  History history;
  history.stateBytes = engine->stateBytes();
  history.arenaBytes = engine->arenaBytes();
  for (const TensorInfo &info : engine->getArguments()) {
    if (isStateRole(info.role))
      llvm::cantFail(engine->writeState(info.name, makeState(info, rank)));
    if (info.shards)
      history.shards.push_back(info);
  }
  for (int64_t step = 0; step < steps; ++step) {
    llvm::StringMap<HostTensor> data;
    llvm::StringMap<const HostTensor *> inputs;
    for (const TensorInfo &info : engine->getArguments())
      if (!isStateRole(info.role))
        inputs[info.name] = &(data[info.name] = makeValue(info, step, rank));
    const uint64_t before = mpt_rt_get_sent_bytes(communicator);
    auto results = engine->run(inputs);
    history.sentBytes =
        static_cast<int64_t>(mpt_rt_get_sent_bytes(communicator) - before);
    if (!results) {
      ADD_FAILURE() << "rank " << rank << ": " << llvm::toString(results.takeError());
      return history;
    }
    for (const ResultInfo &info : engine->getResults())
      if (!info.updates.empty())
        (*results)["state:" + info.updates] =
            llvm::cantFail(engine->readState(info.updates));
    history.steps.push_back(std::move(*results));
  }
  return history;
}

/// Compares ranks, whose steps have the passes `exchange` and end with `last`, with one
/// process. Returns how many of the steps were taken.
int compare(const std::string &after, int ranks, int64_t steps,
            const char *text = kMixture, const std::string &exchange = "",
            const std::string &last = "") {
  const std::string n = std::to_string(ranks);
  History want = train(text, "mpt-autodiff,mpt-accumulate{steps=" + n + "}," + after, 0,
                       steps, nullptr);
  std::vector<History> got(ranks);
  rt::ThreadRanks threads(ranks);
  threads.run([&](int rank, mpt_rt_communicator *communicator) {
    got[rank] = train(text,
                      "mpt-autodiff,mpt-data-parallel{size=" + n +
                          (exchange.empty() ? " bucket-bytes=100}," : "}," + exchange) +
                          after + last,
                      rank, steps, communicator);
  });
  joinShards(got);
  // Where parameters stay joined, what fills blocks of small ones counts.
  if (!exchange.empty() && last.empty())
    EXPECT_LT(got.front().stateBytes, want.stateBytes);
  const bool isLow = after.find("mpt-autocast") != std::string::npos;
  int taken = 0;
  for (auto [step, expected] : llvm::enumerate(want.steps)) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (step >= got[rank].steps.size()) {
        ADD_FAILURE() << "rank " << rank << " stopped at step " << step;
        return taken;
      }
      auto &mine = got[rank].steps[step];
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

/// The pass of a stage of ZeRO. Stage 3 has several units.
std::string getPass(int stage) {
  return stage == 3 ? "mpt-shard-parameters{unit-bytes=20000}"
                    : "mpt-shard-optimizer{stage=" + std::to_string(stage) + "}";
}

/// As above, with the optimizer's state cut between the ranks.
int compareShards(const std::string &after, int ranks, int64_t steps, int stage) {
  return compare(after, ranks, steps, kLayers, getPass(stage) + ",",
                 stage == 3 ? "" : ",mpt-join-after-update");
}

TEST(ShardedStepsTest, F32) {
  for (int ranks : {2, 3, 4})
    EXPECT_EQ(compareShards("mpt-train-step{optimizer=adamw lr=0.01 clip-norm=1.0 "
                            "weight-decay=0.1 ema-decay=0.9}",
                            ranks, 3, 1 + ranks % 2),
              3);
}

TEST(ShardedStepsTest, ParametersOfF32) {
  for (int ranks : {2, 3, 4})
    EXPECT_EQ(compareShards("mpt-train-step{optimizer=adamw lr=0.01 clip-norm=1.0 "
                            "weight-decay=0.1 ema-decay=0.9}",
                            ranks, 3, 3),
              3);
  // Batch norm, dropout and what they hand from one step to the next.
  for (const char *options : {"prefetch=0", "unit-bytes=100 keep-bytes=600"})
    EXPECT_EQ(compare("mpt-train-step{optimizer=momentum lr=0.1}", 2, 3, kMixture,
                      "mpt-shard-parameters{" + std::string(options) + "},"),
              3);
}

TEST(ShardedStepsTest, ParametersOfBF16) {
  EXPECT_EQ(compareShards("mpt-train-step{optimizer=momentum lr=0.1 grad-norm=true},"
                          "mpt-master-weights{kind=split16},mpt-autocast{type=bf16}",
                          2, 3, 3),
            3);
  EXPECT_EQ(compareShards("mpt-train-step{optimizer=adam lr=0.01 skip-spikes=3},"
                          "mpt-autocast{type=bf16}",
                          3, 3, 3),
            3);
}

TEST(ShardedStepsTest, BF16) {
  EXPECT_EQ(compareShards("mpt-train-step{optimizer=momentum lr=0.1 grad-norm=true},"
                          "mpt-master-weights{kind=split16},mpt-autocast{type=bf16}",
                          2, 3, 2),
            3);
  EXPECT_EQ(compareShards("mpt-train-step{optimizer=adam lr=0.01 skip-spikes=3},"
                          "mpt-autocast{type=bf16}",
                          3, 3, 1),
            3);
}

/// Codes, scales and random numbers are those of one process.
TEST(ShardedStepsTest, StateIn8BitsAndRoundedStochastically) {
  for (auto [ranks, stage, kind] :
       {std::tuple(2, 1, "kind=block8"),
        std::tuple(3, 3, "kind=block8 rounding=stochastic"),
        std::tuple(3, 2, "kind=bf16"), std::tuple(2, 2, "kind=bf16 min-elements=0")})
    EXPECT_EQ(compareShards("mpt-train-step{optimizer=adamw lr=0.01 clip-norm=1.0},"
                            "mpt-optimizer-state{" +
                                std::string(kind) + "}",
                            ranks, 3, stage),
              3);
  EXPECT_EQ(compareShards("mpt-train-step{optimizer=momentum lr=0.1},mpt-optimizer-state{"
                          "kind=bf16},mpt-master-weights{kind=bf16-stochastic-rounding},"
                          "mpt-autocast{type=bf16}",
                          3, 3, 2),
            3);
}

TEST(ShardedStepsTest, F16WithSkippedSteps) {
  for (auto [ranks, stage] : {std::pair(2, 2), std::pair(3, 2), std::pair(4, 3)}) {
    const int taken = compareShards(
        "mpt-train-step{optimizer=adamw lr=0.01 clip-norm=1.0},mpt-loss-scale{"
        "init-scale=33554432 backoff-factor=0.03125 growth-interval=2},"
        "mpt-autocast{type=f16}",
        ranks, 5, stage);
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 5);
  }
}

/// A table that embeds and is the last weight, too, a layer that is not trained, and
/// batch norm.
constexpr const char *kTied = R"(
func.func @loss(
    %e: tensor<96x64xf32> {mpt.name = "e", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %w: tensor<64x64xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %f: tensor<64x64xf32> {mpt.name = "f", mpt.role = "running_stat", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %g: tensor<64xf32> {mpt.name = "g", mpt.role = "parameter", mpt.init = {kind = "ones"}},
    %b: tensor<64xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %rm: tensor<64xf32> {mpt.name = "rm", mpt.role = "running_stat"},
    %rv: tensor<64xf32> {mpt.name = "rv", mpt.role = "running_stat"},
    %t: tensor<6xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<64xf32> {mpt.name = "rm", mpt.updates = "rm"},
        tensor<64xf32> {mpt.name = "rv", mpt.updates = "rv"}) {
  %0 = mpt.gather %e, %t : (tensor<96x64xf32>, tensor<6xi32>) -> tensor<6x64xf32>
  %1 = mpt.matmul %0, %w : (tensor<6x64xf32>, tensor<64x64xf32>) -> tensor<6x64xf32>
  %2 = mpt.matmul %1, %f : (tensor<6x64xf32>, tensor<64x64xf32>) -> tensor<6x64xf32>
  %3, %nm, %nv, %m, %r = mpt.batch_norm %2, %g, %b, %rm, %rv {momentum = 0.1 : f64}
      : (tensor<6x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> (tensor<6x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
  %4 = mpt.transpose %e {permutation = array<i64: 1, 0>} : (tensor<96x64xf32>) -> tensor<64x96xf32>
  %5 = mpt.matmul %3, %4 : (tensor<6x64xf32>, tensor<64x96xf32>) -> tensor<6x96xf32>
  %loss, %lse = mpt.cross_entropy %5, %t : (tensor<6x96xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
  return %loss, %nm, %nv : tensor<f32>, tensor<64xf32>, tensor<64xf32>
})";

TEST(ShardedStepsTest, TiedAndFrozenWeights) {
  for (int stage : {2, 3})
    for (int ranks : {2, 3})
      for (const char *last : {"", ",mpt-autocast{type=bf16}"})
        EXPECT_EQ(compare("mpt-train-step{optimizer=adamw lr=0.01 clip-norm=0.1}" +
                              std::string(last),
                          ranks, 3, kTied, getPass(stage) + ",",
                          stage == 3 ? "" : ",mpt-join-after-update"),
                  3);
}

/// One process has no such norm: parameters that are cut do not change the bits.
TEST(ShardedStepsTest, SynchronizedBatchNorm) {
  for (int ranks : {2, 3}) {
    auto run = [&](const std::string &exchange, const std::string &last) {
      std::vector<History> got(ranks);
      rt::ThreadRanks threads(ranks);
      threads.run([&](int rank, mpt_rt_communicator *communicator) {
        got[rank] =
            train(kTied,
                  "mpt-autodiff,mpt-data-parallel{batch-norm=synchronized size=" +
                      std::to_string(ranks) + "}," + exchange +
                      "mpt-train-step{optimizer=adamw lr=0.01 clip-norm=0.1}" + last,
                  rank, 3, communicator);
      });
      joinShards(got);
      return got;
    };
    const std::vector<History> whole = run("", "");
    for (int stage : {1, 2, 3}) {
      const std::vector<History> cut =
          run(getPass(stage) + ",", stage == 3 ? "" : ",mpt-join-after-update");
      for (int rank = 0; rank < ranks; ++rank)
        for (int step = 0; step < 3; ++step) {
          ASSERT_EQ(cut[rank].steps.size(), 3u);
          const auto &want = whole[rank].steps[step], &got = cut[rank].steps[step];
          EXPECT_EQ(got.size(), want.size());
          for (const auto &entry : want) {
            auto it = got.find(entry.first());
            EXPECT_TRUE(it != got.end() &&
                        it->second.getBytes() == entry.second.getBytes())
                << "stage " << stage << ", step " << step << ", rank " << rank << " of "
                << ranks << ": " << entry.first().str();
          }
        }
    }
  }
}

/// Two parameters of 64 blocks each.
constexpr const char *kWide = R"(
func.func @loss(
    %w0: tensor<512x512xf32> {mpt.name = "w0", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %w1: tensor<512x512xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "zeros"}},
    %x: tensor<4x512xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w0 : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  %1 = mpt.matmul %0, %w1 : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  %l = mpt.reduce %1 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : (tensor<4x512xf32>) -> tensor<f32>
  return %l : tensor<f32>
})";

/// What each of `ranks` keeps as state and sends in a step of AdamW.
History measure(int ranks, const std::string &exchange, const std::string &after,
                const char *text = kWide) {
  std::vector<History> got(ranks);
  rt::ThreadRanks threads(ranks);
  threads.run([&](int rank, mpt_rt_communicator *communicator) {
    got[rank] = train(text,
                      "mpt-autodiff,mpt-data-parallel{size=" + std::to_string(ranks) +
                          "}," + exchange + "mpt-train-step{optimizer=adamw}" + after,
                      rank, 1, communicator);
  });
  for (const History &each : got)
    EXPECT_EQ(each.stateBytes, got.front().stateBytes);
  return std::move(got.front());
}

/// Parameters of 22 blocks and a short one, which the blocks of the next one follow.
TEST(ShardedStepsTest, LongParameters) {
  const char *text = R"(
func.func @loss(
    %w0: tensor<301x301xf32> {mpt.name = "w0", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %w1: tensor<301x305xf32> {mpt.name = "w1", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.1}},
    %x: tensor<4x301xf32> {mpt.name = "x", mpt.role = "input"},
    %t: tensor<4xi32> {mpt.name = "t", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %0 = mpt.matmul %x, %w0 : (tensor<4x301xf32>, tensor<301x301xf32>) -> tensor<4x301xf32>
  %1 = mpt.tanh %0 : (tensor<4x301xf32>) -> tensor<4x301xf32>
  %2 = mpt.matmul %1, %w1 : (tensor<4x301xf32>, tensor<301x305xf32>) -> tensor<4x305xf32>
  %loss, %lse = mpt.cross_entropy %2, %t : (tensor<4x305xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
})";
  for (int stage : {1, 3})
    for (int ranks : {2, 3})
      for (const char *last : {"", ",mpt-autocast{type=bf16}"})
        EXPECT_EQ(compare("mpt-train-step{optimizer=adamw lr=0.01 clip-norm=0.1}" +
                              std::string(last),
                          ranks, 2, text, getPass(stage) + ",",
                          stage == 3 ? "" : ",mpt-join-after-update"),
                  2);
}

TEST(ShardedStepsTest, BytesOfARank) {
  const int64_t parameters = 2 * 512 * 512;
  for (int n : {2, 4}) {
    History whole = measure(n, "", ""), cut = measure(n, "mpt-shard-optimizer,", ""),
            joined = measure(n, "mpt-shard-optimizer,", ",mpt-join-after-update");
    // A master and two moments in f32; counters and rates are whole.
    const int64_t others = whole.stateBytes - 12 * parameters;
    EXPECT_LT(others, 1024);
    EXPECT_EQ(cut.stateBytes, 12 * parameters / n + others);
    // All parameters, and the rank's part of two moments.
    EXPECT_EQ(joined.stateBytes, (4 + 8 / n) * parameters + others);
    EXPECT_EQ(joined.sentBytes, cut.sentBytes);
    // Gradients there and averages back, or gradients there and parameters back.
    const double expected = 2.0 * (n - 1) / n * 4 * parameters;
    EXPECT_NEAR(whole.sentBytes, expected, 0.01 * expected);
    EXPECT_NEAR(cut.sentBytes, expected, 0.01 * expected);
    // Parameters travel in half precision where matmuls read them in it.
    History low = measure(n, "mpt-shard-optimizer,",
                          ",mpt-autocast{type=bf16},mpt-join-after-update");
    EXPECT_EQ(low.stateBytes, cut.stateBytes);
    EXPECT_NEAR(low.sentBytes, 0.75 * expected, 0.01 * expected);
  }
}

/// Eight parameters of 64 blocks each; data that both ends have gradients of, so that
/// both passes read each of them.
std::string getDeep() {
  std::string arguments, body;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    arguments += "%w" + n + ": tensor<512x512xf32> {mpt.name = \"w" + n +
                 "\", mpt.role = \"parameter\", mpt.init = {kind = \"zeros\"}}, ";
    body += "%" + std::to_string(i + 1) + " = mpt.matmul %" + n + ", %w" + n +
            " : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>\n";
  }
  return "func.func @loss(%b: tensor<512xf32> {mpt.name = \"b\", mpt.role = "
         "\"parameter\", mpt.init = {kind = \"zeros\"}}, " +
         arguments +
         "%x: tensor<4x512xf32> {mpt.name = \"x\", mpt.role = \"input\"}) -> "
         "(tensor<f32> {mpt.name = \"loss\"}) {\n"
         "%0 = mpt.add %x, %b : (tensor<4x512xf32>, tensor<512xf32>) -> "
         "tensor<4x512xf32>\n" +
         body +
         "%l = mpt.reduce %8 {kind = #mpt.reduce_kind<mean>, axes = array<i64: 0, 1>} : "
         "(tensor<4x512xf32>) -> tensor<f32>\n"
         "return %l : tensor<f32>\n}";
}

TEST(ShardedStepsTest, BytesOfParametersThatAreJoinedAgain) {
  const int64_t unit = 4 * 512 * 512, gradients = 8 * unit;
  const std::string text = getDeep();
  for (int n : {2, 4}) {
    auto measureDeep = [&](const std::string &exchange, const std::string &after = "") {
      return measure(n, exchange, after, text.c_str());
    };
    History whole = measureDeep(""), cut = measureDeep("mpt-shard-optimizer,"),
            parts = measureDeep("mpt-shard-parameters,"),
            late = measureDeep("mpt-shard-parameters{prefetch=0},"),
            joined = measureDeep("mpt-shard-optimizer,", ",mpt-join-after-update");
    const double once = double(n - 1) / n * gradients;
    EXPECT_NEAR(whole.sentBytes, 2 * once, 0.01 * once);
    EXPECT_NEAR(cut.sentBytes, 2 * once, 0.01 * once);
    // Parameters there twice, gradients back.
    EXPECT_NEAR(late.sentBytes, 3 * once, 0.01 * once);
    // The backward pass begins with the last unit, which would be sent ahead while the
    // forward pass still reads it: it stays.
    EXPECT_NEAR(parts.sentBytes, (3 - 1.0 / 8) * once, 0.01 * once);
    // What a rank keeps between steps: its part of 12 bytes a parameter.
    EXPECT_NEAR(parts.stateBytes, whole.stateBytes / n, 0.01 * whole.stateBytes);
    // A step has two units of joined parameters, two units of gradients (one that is
    // computed and one that is under way), its part of all gradients, and what an
    // exchange works with, of which one piece is the size of a unit on each rank.
    EXPECT_LT(parts.arenaBytes, (2 + 2 + 8.0 / n + 2) * unit) << parts.arenaBytes;
    EXPECT_LT(parts.arenaBytes, whole.arenaBytes);
    // All parameters are there at the same time.
    EXPECT_GT(cut.arenaBytes, 8 * unit);
    EXPECT_NEAR(joined.stateBytes, (1 + 2.0 / n) * 8 * unit, 0.01 * whole.stateBytes);
    EXPECT_EQ(joined.sentBytes, cut.sentBytes);
    if (n > 2)
      continue;
    History kept = measureDeep("mpt-shard-parameters{keep-bytes=-1},");
    EXPECT_NEAR(kept.sentBytes, 2 * once, 0.01 * once);
    EXPECT_GT(kept.arenaBytes, 8 * unit);
    // In half precision: parameters twice, gradients in f32.
    History low =
        measureDeep("mpt-shard-parameters{prefetch=0},", ",mpt-autocast{type=bf16}");
    EXPECT_NEAR(low.sentBytes, 2 * once, 0.01 * once);
  }
}

} // namespace
