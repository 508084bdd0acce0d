//===- RematSimulationTest.cpp - Plans of real steps, simulated -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every plan of rematerialization for the examples' training steps and for a step that
/// JAX made is run by simulators that know nothing of planners: the numbers of each plan
/// (RematInstances.h), what the rewritten function computes and keeps, and what the
/// planned program does to its memory, byte by byte (PlanSimulator.h).
///
//===----------------------------------------------------------------------===//

#include "../Memory/RematInstances.h"
#include "ExampleNetworks.h"
#include "PlanSimulator.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Kernel/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Memory/Planning/RematPlan.h"
#include "mpt/Memory/RematFunction.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>

using namespace mpt;
using namespace mpt::test;

namespace {

const Network kBERT = {"bert/bert.mlir", "", 2, 96, 512};
const Network kResNet = {"resnet/resnet.mlir", "", 4, 10, 512};
const Network kUNet = {"unet/unet.mlir", "", 2, 2, 512};

enum class Grain { Ops, Kernels };

class RematSimulationTest : public ExampleNetworkTest {
protected:
  /// The gradients up to the ops that kernels are made of, or a training step up to
  /// kernels.
  OwningOpRef<ModuleOp> loadStep(const Network &network, const char *precision,
                                 Grain grain) {
    std::string passes;
    const bool isNarrow = llvm::StringRef(precision) != "f32";
    if (grain == Grain::Kernels)
      passes += ",mpt-train-step{function=loss optimizer=adamw clip-norm=1}";
    if (grain == Grain::Kernels && isNarrow)
      passes += ",mpt-master-weights";
    if (isNarrow)
      passes += std::string(",mpt-autocast{type=") + precision + "}";
    OwningOpRef<ModuleOp> module = load(network, passes);
    PassManager manager(&context);
    addDecomposePasses(manager);
    if (grain == Grain::Kernels)
      addKernelPasses(manager);
    if (!module || failed(manager.run(*module)))
      return nullptr;
    return module;
  }

  OwningOpRef<ModuleOp> loadForeign() {
    context.allowUnregisteredDialects();
    return parseSourceFile<ModuleOp>(
        MPT_MEMORY_TEST_DIR "/Inputs/stablehlo_mlp_sincos.mlir", &context);
  }

  /// A copy of `module` after `passes`.
  OwningOpRef<ModuleOp> runOn(ModuleOp module, const std::string &passes) {
    OwningOpRef<ModuleOp> copy = module.clone();
    PassManager manager(&context);
    if (failed(parsePassPipeline(passes, manager)) || failed(manager.run(*copy)))
      return nullptr;
    return copy;
  }

  void checkFrontiers(ModuleOp module);
  void checkFunctions(ModuleOp module, std::initializer_list<const char *> options,
                      llvm::StringRef barrier = "");
  void checkPrograms(ModuleOp module, std::initializer_list<const char *> budgets);
};

func::FuncOp getFunction(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

/// The numbers of every plan there is to choose from.
void RematSimulationTest::checkFrontiers(ModuleOp module) {
  RuleTable rules;
  RematFunctionOptions build;
  build.rules = &rules;
  FailureOr<RematFunction> described = buildRematFunction(getFunction(module), build);
  ASSERT_TRUE(succeeded(described));
  const RematGraph &graph = described->graph;
  size_t most = 0;
  for (RematStrategy strategy : {RematStrategy::None, RematStrategy::Segments,
                                 RematStrategy::MinCut, RematStrategy::Auto}) {
    RematOptions options;
    options.strategy = strategy;
    options.effort = 50'000;
    std::vector<RematPlan> plans = planRematFrontier(graph, options);
    most = std::max(most, plans.size());
    ASSERT_FALSE(plans.empty());
    for (const RematPlan &plan : plans) {
      int64_t cost = 0;
      EXPECT_EQ(simulate(graph, plan.order, cost), plan.peak);
      EXPECT_EQ(cost, plan.cost);
    }
  }
  EXPECT_GT(most, 2u);
}

/// What is rewritten computes the same and takes no more than it was given.
void RematSimulationTest::checkFunctions(ModuleOp module,
                                         std::initializer_list<const char *> options,
                                         llvm::StringRef barrier) {
  const FunctionRun plain = simulateFunction(getFunction(module), barrier);
  EXPECT_TRUE(plain.clones.empty());
  const llvm::DenseSet<uint64_t> made(plain.originals.begin(), plain.originals.end());
  for (llvm::StringRef option : options) {
    SCOPED_TRACE(option.str());
    auto [ratio, strategy] = option.split(' ');
    double part = 0;
    ASSERT_FALSE(ratio.getAsDouble(part));
    auto budget = int64_t(part * double(plain.peak));
    std::string passes = "mpt-rematerialize{effort=20000 strategy=" + strategy.str() +
                         " budget=" + std::to_string(budget);
    if (!barrier.empty())
      passes += " barrier=" + barrier.str();
    OwningOpRef<ModuleOp> planned = runOn(module, passes + "}");
    ASSERT_TRUE(planned);
    FunctionRun run = simulateFunction(getFunction(*planned), barrier);
    EXPECT_FALSE(run.clones.empty());
    for (uint64_t clone : run.clones)
      EXPECT_TRUE(made.contains(clone));
    EXPECT_EQ(run.results, plain.results);
    // In their order, but for results of kernels that only clones still make. A fused
    // step is put into the order that its arena is planned in.
    std::vector<uint64_t> before(plain.originals.begin(), plain.originals.end()),
        after(run.originals.begin(), run.originals.end());
    if (!getFunction(module).getOps<kernel::KernelOp>().empty()) {
      std::sort(before.begin(), before.end());
      std::sort(after.begin(), after.end());
    }
    size_t at = 0;
    for (uint64_t original : before)
      at += at < after.size() && after[at] == original;
    EXPECT_EQ(at, after.size());
    EXPECT_LE(run.peak, budget);
  }
}

/// Whatever lies where in the arena, state and results end up the same.
void RematSimulationTest::checkPrograms(ModuleOp module,
                                        std::initializer_list<const char *> budgets) {
  OwningOpRef<ModuleOp> plain = runOn(module, "mpt-assign-buffers");
  ASSERT_TRUE(plain);
  ProgramRun want = simulateProgram(*plain);
  EXPECT_TRUE(want.faults.empty()) << want.faults.front();
  EXPECT_GT(want.state.size(), 1000u);
  int64_t arena = (*plain->getOps<program::ProgramOp>().begin()).getArenaBytes();
  for (llvm::StringRef budget : budgets) {
    SCOPED_TRACE(budget.str());
    OwningOpRef<ModuleOp> planned =
        runOn(module, "mpt-rematerialize{effort=20000 budget=" + budget.str() +
                          "},mpt-assign-buffers");
    ASSERT_TRUE(planned);
    ProgramRun got = simulateProgram(*planned);
    EXPECT_TRUE(got.faults.empty()) << got.faults.front();
    EXPECT_EQ(got.state, want.state);
    EXPECT_EQ(got.results, want.results);
    double part = 0;
    if (!budget.drop_back().getAsDouble(part))
      EXPECT_LE(double((*planned->getOps<program::ProgramOp>().begin()).getArenaBytes()),
                part * double(arena));
  }
}

TEST_F(RematSimulationTest, GPT) {
  OwningOpRef<ModuleOp> ops = loadStep(kGPT, "bf16", Grain::Ops);
  ASSERT_TRUE(ops);
  checkFunctions(*ops, {"0.7 auto", "0.95 segments", "0.9 mincut"});
  OwningOpRef<ModuleOp> kernels = loadStep(kGPT, "bf16", Grain::Kernels);
  ASSERT_TRUE(kernels);
  checkFrontiers(*kernels);
  checkFunctions(*kernels, {"0.7 auto"});
  checkPrograms(*kernels, {"0.7x"});
}
TEST_F(RematSimulationTest, BERTWithDropout) {
  OwningOpRef<ModuleOp> ops = loadStep(kBERT, "f32", Grain::Ops);
  ASSERT_TRUE(ops);
  checkFunctions(*ops, {"0.7 auto", "0.9 mincut"});
  OwningOpRef<ModuleOp> kernels = loadStep(kBERT, "f16", Grain::Kernels);
  ASSERT_TRUE(kernels);
  checkFrontiers(*kernels);
  checkPrograms(*kernels, {"0.8x"});
}
TEST_F(RematSimulationTest, ResNet) {
  OwningOpRef<ModuleOp> ops = loadStep(kResNet, "f32", Grain::Ops);
  ASSERT_TRUE(ops);
  checkFrontiers(*ops);
  checkFunctions(*ops, {"0.8 auto", "0.95 mincut"});
  OwningOpRef<ModuleOp> kernels = loadStep(kResNet, "f32", Grain::Kernels);
  ASSERT_TRUE(kernels);
  checkFrontiers(*kernels);
  checkPrograms(*kernels, {"0.9x", "min"});
}
TEST_F(RematSimulationTest, UNet) {
  OwningOpRef<ModuleOp> kernels = loadStep(kUNet, "bf16", Grain::Kernels);
  ASSERT_TRUE(kernels);
  checkFrontiers(*kernels);
  checkPrograms(*kernels, {"min"});
}
TEST_F(RematSimulationTest, StableHLO) {
  OwningOpRef<ModuleOp> module = loadForeign();
  ASSERT_TRUE(module);
  checkFrontiers(*module);
  checkFunctions(*module, {"0.8 auto", "0.85 optimal", "0.95 mincut"});
  checkFunctions(*module, {"0.8 auto"}, "stablehlo.optimization_barrier");
}

/// Pairs of a value and its exact widening that both are there when the backward pass
/// begins, and are read in it.
unsigned countBothSides(func::FuncOp function) {
  Operation *seed = *function.getOps<GradSeedOp>().begin();
  auto isKept = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return (!maker || maker->isBeforeInBlock(seed)) &&
           llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return seed->isBeforeInBlock(user); });
  };
  unsigned count = 0;
  for (auto cast : function.getOps<CastOp>()) {
    auto from = cast.getX().getType().getElementType();
    auto to = cast.getY().getType().getElementType();
    bool widens = isa<FloatType>(from) && isa<FloatType>(to) &&
                  to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
    count += widens && isKept(cast.getY());
  }
  return count;
}

TEST_F(RematSimulationTest, NarrowSides) {
  OwningOpRef<ModuleOp> module = load(kGPT, "", [](func::FuncOp function) {
    // Rounded, widened again, and read in both passes.
    OpBuilder builder(function.getContext());
    for (auto gelu : llvm::make_early_inc_range(function.getOps<GeluOp>())) {
      builder.setInsertionPointAfter(gelu);
      auto type = cast<RankedTensorType>(gelu.getType());
      auto narrow = CastOp::create(builder, gelu.getLoc(),
                                   type.clone(builder.getBF16Type()), gelu.getResult());
      auto wide = CastOp::create(builder, gelu.getLoc(), type, narrow);
      auto sine = SinOp::create(builder, gelu.getLoc(), type, wide);
      gelu.getResult().replaceAllUsesExcept(sine, narrow);
    }
  });
  ASSERT_TRUE(module);
  EXPECT_GT(countBothSides(getFunction(*module)), 0u);
  for (const char *strategy : {"auto", "segments", "mincut", "optimal"})
    for (const char *budget : {"1x", "min"}) {
      SCOPED_TRACE(std::string(strategy) + " " + budget);
      OwningOpRef<ModuleOp> planned =
          runOn(*module, std::string("mpt-rematerialize{effort=20000 strategy=") +
                             strategy + " budget=" + budget + "}");
      ASSERT_TRUE(planned);
      EXPECT_EQ(countBothSides(getFunction(*planned)), 0u);
      FunctionRun run = simulateFunction(getFunction(*planned));
      EXPECT_EQ(run.results, simulateFunction(getFunction(*module)).results);
    }
}

/// The simulators see what is wrong.
TEST_F(RematSimulationTest, Faults) {
  OwningOpRef<ModuleOp> kernels = loadStep(kDigits, "f32", Grain::Kernels);
  ASSERT_TRUE(kernels);
  OwningOpRef<ModuleOp> program = runOn(*kernels, "mpt-assign-buffers");
  ASSERT_TRUE(program);
  const ProgramRun want = simulateProgram(*program);
  ASSERT_TRUE(want.faults.empty());
  // Each buffer of the arena in turn is put where another one is.
  unsigned moved = 0, seen = 0;
  SmallVector<program::BufferOp> slots;
  for (auto slot :
       (*program->getOps<program::ProgramOp>().begin()).getOps<program::BufferOp>())
    if (slot.getSpace() == program::Space::Arena)
      slots.push_back(slot);
  ASSERT_GT(slots.size(), 10u);
  for (program::BufferOp slot : slots) {
    uint64_t offset = slot.getOffset();
    if (offset == 0)
      continue;
    slot.setOffset(offset - 64);
    ProgramRun got = simulateProgram(*program);
    slot.setOffset(offset);
    ++moved;
    seen += !got.faults.empty() || got.state != want.state || got.results != want.results;
  }
  EXPECT_GT(moved, 5u);
  // Where nothing was alive right before it, a buffer may be moved.
  EXPECT_GE(2 * seen, moved);
  (*program->getOps<program::ProgramOp>().begin()).setArenaBytes(64);
  EXPECT_FALSE(simulateProgram(*program).faults.empty());

  // A clone, and one of nothing.
  OwningOpRef<ModuleOp> step = parseSourceString<ModuleOp>(R"(
    func.func @step(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
      %a = mpt.tanh %x : (tensor<64xf32>) -> tensor<64xf32>
      %b = mpt.exp %a : (tensor<64xf32>) -> tensor<64xf32>
      %c = mpt.tanh %x {mpt.remat = 0 : i64} : (tensor<64xf32>) -> tensor<64xf32>
      %d = mpt.mul %b, %c : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %d : tensor<64xf32>
    })",
                                                           &context);
  ASSERT_TRUE(step);
  FunctionRun right = simulateFunction(getFunction(*step));
  ASSERT_EQ(right.clones.size(), 1u);
  EXPECT_TRUE(llvm::is_contained(right.originals, right.clones[0]));
  EXPECT_EQ(right.peak, 2 * 256);
  for (Operation &op : getFunction(*step).getOps())
    if (op.hasAttr("mpt.remat"))
      op.setOperand(0, getFunction(*step).getArgument(1));
  FunctionRun wrong = simulateFunction(getFunction(*step));
  ASSERT_EQ(wrong.clones.size(), 1u);
  EXPECT_FALSE(llvm::is_contained(wrong.originals, wrong.clones[0]));
  EXPECT_NE(wrong.results, right.results);
}

} // namespace
