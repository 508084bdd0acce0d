//===- DataParallelTest.cpp - Ranks against micro-batches -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Steps of N ranks, interpreted, are bit for bit those of one process that accumulates N
/// micro-batches: all results and all state, on every rank, over several steps.
///
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "Mixture.h"
#include "ReferenceTestSupport.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Support/Philox.h"
#include "mpt/Training/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::test;

namespace {

/// Values by name.
using Values = llvm::StringMap<Tensor>;

class DataParallelTest : public ModelTest {
protected:
  DataParallelTest() {
    static bool registered = [] {
      registerMPTDialectTransformsPasses();
      registerMPTParallelPasses();
      registerMPTPrecisionPasses();
      registerMPTTrainingPasses();
      return true;
    }();
    (void)registered;
  }

  OwningOpRef<ModuleOp> load(const std::string &text, const std::string &passes) {
    auto module = parse(text);
    if (!module) {
      ADD_FAILURE() << errors;
      return nullptr;
    }
    for (auto function : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
      if (function.getName() != "loss")
        function.erase();
    PassManager manager(&context);
    if (failed(parsePassPipeline(passes, manager)) || failed(manager.run(*module))) {
      ADD_FAILURE() << passes << ": " << errors;
      return nullptr;
    }
    return module;
  }

  /// The first value of state, or `rows` rows of data from row `first` on.
  static Tensor makeValue(const StepView::Argument &info, RankedTensorType type,
                          uint32_t number, int64_t step, int64_t first);
  static std::vector<Tensor> getArguments(func::FuncOp function, const Values &state,
                                          int64_t step, int64_t rank);
  static void store(func::FuncOp function, std::vector<Tensor> results, Values &state,
                    Values &returned);
  /// The first value of state that `shards` says is cut between ranks.
  static Tensor makeShard(const ShardedState &shards, const StepView::Argument &info,
                          RankedTensorType type, int64_t rank);
  /// Puts whole tensors in the place of what all ranks return of each.
  static void joinShards(func::FuncOp function, std::vector<Values> &returned);
  static uint32_t getNumber(StringRef name) {
    uint32_t number = 0;
    for (char letter : name)
      number = 31 * number + letter;
    return number;
  }
  static void expectEqual(const Values &got, const Values &want, const std::string &what);

  /// Returns how many of the steps were taken.
  int compare(const std::string &text, const std::string &before,
              const std::string &after, int64_t ranks, int64_t steps,
              const std::string &options = "", const std::string &exchange = "",
              const std::string &last = "");
};

Tensor DataParallelTest::makeShard(const ShardedState &shards,
                                   const StepView::Argument &info, RankedTensorType type,
                                   int64_t rank) {
  StepView::Argument zeros = info;
  zeros.role = Role::OptimizerState;
  Tensor shard = makeValue(zeros, type, 0, 0, 0);
  for (const ShardLayout::Piece &piece : shards.layout.pieces) {
    if (!shards.layout.has(rank, piece))
      continue;
    const ShardLayout::Tensor &tensor = shards.layout.tensors[piece.tensor];
    Tensor whole = makeValue(info, type.clone(tensor.shape),
                             getNumber(tensor.name + shards.suffix), 0, 0);
    std::copy(whole.floats.begin() + piece.begin, whole.floats.begin() + piece.end,
              shard.floats.begin() + shards.layout.getPlace(piece));
  }
  return shard;
}

void DataParallelTest::joinShards(func::FuncOp function, std::vector<Values> &returned) {
  StepView view(function);
  for (const StepView::Result &result : view.getResults()) {
    if (!result.updates)
      continue;
    std::optional<ShardedState> shards = getShards(function, *result.updates);
    if (!shards)
      continue;
    Values whole;
    for (const ShardLayout::Piece &piece : shards->layout.pieces) {
      const ShardLayout::Tensor &tensor = shards->layout.tensors[piece.tensor];
      const Tensor &shard = returned[piece.rank][result.name.getValue()];
      Tensor &into = whole[tensor.name + shards->suffix];
      into.elementType = shard.elementType;
      into.shape.assign(tensor.shape.begin(), tensor.shape.end());
      into.floats.resize(tensor.getNumElements());
      std::copy_n(shard.floats.begin() + shards->layout.getPlace(piece),
                  piece.getNumElements(), into.floats.begin() + piece.begin);
    }
    for (Values &rank : returned) {
      rank.erase(result.name.getValue());
      for (const auto &entry : whole)
        rank[entry.first()] = entry.second;
    }
  }
}

Tensor DataParallelTest::makeValue(const StepView::Argument &info, RankedTensorType type,
                                   uint32_t number, int64_t step, int64_t first) {
  Tensor tensor;
  tensor.elementType = type.getElementType();
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  const bool isData = !info.isState();
  const int64_t count = type.getNumElements();
  const int64_t offset = isData ? first * (count / type.getDimSize(0)) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = offset + i;
    uint32_t word = philoxBlock(11 + number, isData ? 1 + step : 0, 0, at / 4)[at % 4];
    double value = std::ldexp(word, -31) - 1.0;
    if (!isData && info.role != Role::Parameter)
      value = 0;
    if (info.init && !isData && info.init.getSpec().kind == InitKind::Constant)
      value = info.init.getSpec().numbers[0];
    if (tensor.isFloat())
      tensor.floats.push_back(static_cast<float>(value));
    else
      tensor.ints.push_back(isData ? word % 3 : 0);
  }
  return tensor;
}

std::vector<Tensor> DataParallelTest::getArguments(func::FuncOp function,
                                                   const Values &state, int64_t step,
                                                   int64_t rank) {
  StepView view(function);
  std::vector<Tensor> arguments;
  for (auto [i, info] : llvm::enumerate(view.getArguments())) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    auto known = state.find(info.name.getValue());
    const int64_t first =
        info.isState() || type.getRank() == 0 ? 0 : rank * type.getDimSize(0);
    if (known != state.end())
      arguments.push_back(known->second);
    else if (std::optional<ShardedState> shards = getShards(function, i))
      arguments.push_back(makeShard(*shards, info, type, rank));
    else
      arguments.push_back(
          makeValue(info, type, getNumber(info.name.getValue()), step, first));
  }
  return arguments;
}

void DataParallelTest::store(func::FuncOp function, std::vector<Tensor> results,
                             Values &state, Values &returned) {
  StepView view(function);
  returned.clear();
  for (auto [info, result] : llvm::zip_equal(view.getResults(), results)) {
    if (info.updates)
      state[view.getArguments()[*info.updates].name.getValue()] = result;
    returned[info.name.getValue()] = std::move(result);
  }
}

void DataParallelTest::expectEqual(const Values &got, const Values &want,
                                   const std::string &what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (const auto &entry : want) {
    auto it = got.find(entry.first());
    ASSERT_NE(it, got.end()) << what << " " << entry.first().str();
    const Tensor &a = it->second, &b = entry.second;
    EXPECT_EQ(a.elementType, b.elementType) << what << " " << entry.first().str();
    EXPECT_EQ(a.shape, b.shape) << what << " " << entry.first().str();
    EXPECT_EQ(a.ints, b.ints) << what << " " << entry.first().str();
    ASSERT_EQ(a.floats.size(), b.floats.size());
    for (size_t i = 0; i < a.floats.size(); ++i)
      ASSERT_TRUE(a.floats[i] == b.floats[i] ||
                  (std::isnan(a.floats[i]) && std::isnan(b.floats[i])))
          << what << " " << entry.first().str() << "[" << i << "]: " << a.floats[i]
          << " and " << b.floats[i];
  }
}

int DataParallelTest::compare(const std::string &text, const std::string &before,
                              const std::string &after, int64_t ranks, int64_t steps,
                              const std::string &options, const std::string &exchange,
                              const std::string &last) {
  const std::string n = std::to_string(ranks);
  auto one = load(text, before + ",mpt-accumulate{steps=" + n + "}," + after);
  auto many = load(text, before + ",mpt-data-parallel{size=" + n + options + "}," +
                             exchange + after + last);
  if (!one || !many)
    return 0;
  auto single = one->lookupSymbol<func::FuncOp>("loss");
  auto parallel = many->lookupSymbol<func::FuncOp>("loss");
  Values state, returned;
  std::vector<Values> states(ranks);
  int taken = 0;
  for (int64_t step = 0; step < steps; ++step) {
    auto want =
        reference::interpret(single, getArguments(single, state, step, 0), Mode::Storage);
    std::vector<std::vector<Tensor>> arguments;
    for (int64_t rank = 0; rank < ranks; ++rank)
      arguments.push_back(getArguments(parallel, states[rank], step, rank));
    auto got = reference::interpretRanks(parallel, arguments, Mode::Storage);
    if (failed(want) || failed(got)) {
      ADD_FAILURE() << errors;
      return taken;
    }
    store(single, std::move(*want), state, returned);
    // Autocast rounds a tensor that is only returned where it is cheaper, which may be
    // where micro-batches are joined.
    const bool isLow = after.find("mpt-autocast") != std::string::npos;
    if (isLow)
      returned.erase("rows");
    std::vector<Values> mines(ranks);
    for (int64_t rank = 0; rank < ranks; ++rank)
      store(parallel, std::move((*got)[rank]), states[rank], mines[rank]);
    joinShards(parallel, mines);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Values &mine = mines[rank];
      if (isLow)
        mine.erase("rows");
      expectEqual(mine, returned,
                  "step " + std::to_string(step) + ", rank " + std::to_string(rank) +
                      " of " + n + ":");
    }
    auto found = returned.find("found_inf");
    taken += found == returned.end() || found->second.ints[0] == 0;
  }
  return taken;
}

std::string readExample(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(MPT_EXAMPLES_DIR "/" + file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Steps whose scale is too large at first, and others.
const std::string kScaled = "mpt-train-step{optimizer=adamw lr=0.01 clip-norm=1.0 "
                            "weight-decay=0.1},mpt-master-weights,mpt-loss-scale{"
                            "init-scale=33554432 backoff-factor=0.03125 "
                            "growth-interval=2},mpt-validate-loss-scale,mpt-autocast{"
                            "type=f16},mpt-decompose";

TEST_F(DataParallelTest, MixtureF32) {
  for (int64_t ranks : {2, 3, 4})
    EXPECT_EQ(compare(kMixture, "mpt-autodiff",
                      "mpt-train-step{optimizer=momentum lr=0.1},mpt-decompose", ranks,
                      3),
              3);
}

TEST_F(DataParallelTest, MixtureBF16) {
  for (int64_t ranks : {2, 3, 4})
    EXPECT_EQ(compare(kMixture, "mpt-autodiff",
                      "mpt-train-step{optimizer=adamw lr=0.01 ema-decay=0.9},"
                      "mpt-master-weights{kind=bf16-stochastic-rounding},mpt-autocast{"
                      "type=bf16},mpt-decompose",
                      ranks, 3),
              3);
}

TEST_F(DataParallelTest, MixtureF16WithSkippedSteps) {
  for (int64_t ranks : {2, 3, 4}) {
    const int taken = compare(kMixture, "mpt-autodiff", kScaled, ranks, 5);
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 5);
  }
}

TEST_F(DataParallelTest, ShardedOptimizer) {
  EXPECT_EQ(compare(kLayers, "mpt-autodiff",
                    "mpt-train-step{optimizer=adamw lr=0.01 clip-norm=0.5 "
                    "weight-decay=0.1},mpt-decompose",
                    3, 2, "", "mpt-shard-optimizer,"),
            2);
  // All parameters on each rank, between steps too.
  EXPECT_EQ(compare(kLayers, "mpt-autodiff",
                    "mpt-train-step{optimizer=adamw lr=0.01 clip-norm=0.5 "
                    "weight-decay=0.1 ema-decay=0.9},mpt-decompose",
                    3, 2, "", "mpt-shard-optimizer,", ",mpt-join-after-update"),
            2);
  // In buckets, and each of two kinds of parameters apart.
  EXPECT_EQ(compare(kMixture, "mpt-autodiff",
                    "mpt-train-step{optimizer=momentum lr=0.1 clip-groups=w=0.1,g=0.2 "
                    "lr-groups=w1=0.5},mpt-decompose",
                    2, 2, " bucket-bytes=100",
                    "mpt-shard-optimizer{stage=1 groups=w,w1,g},"),
            2);
}

TEST_F(DataParallelTest, SmallBuckets) {
  EXPECT_EQ(compare(kMixture, "mpt-autodiff", "mpt-train-step,mpt-decompose", 3, 2,
                    " bucket-bytes=40"),
            2);
}

TEST_F(DataParallelTest, Digits) {
  const std::string text = readExample("digits/digits.mlir");
  const std::string before = "mpt-specialize{batch=2},mpt-autodiff";
  EXPECT_EQ(compare(text, before, "mpt-train-step{optimizer=sgd lr=0.1}", 3, 2), 2);
  const int taken = compare(text, before, kScaled, 2, 4);
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 4);
}

} // namespace
