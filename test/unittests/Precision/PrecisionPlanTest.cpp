//===- PrecisionPlanTest.cpp - mincut against every assignment -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random graphs, small enough to try all assignments: of unregistered ops, and of MPT's
/// where sums are concerned. The cost of one is counted here from the module itself, not
/// by the plan.
///
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mpt;

namespace {

const char *kRules = R"(
dialect: t
cast: {op: cast}
constant: {op: const, value: value}
rules:
- {ops: [mm], class: allow, contraction: true}
- {ops: [wmm], class: allow, results: wide, contraction: true}
- {ops: [mul], class: infer}
- {ops: [copy], class: clear}
- {ops: [exp], class: deny}
- {ops: [sum], class: deny, reads: any, results: f32}
)";

struct Random {
  std::mt19937 generator;
  uint32_t operator()(uint32_t below) { return generator() % below; }
};

std::string makeModule(Random &random, unsigned ops) {
  const char *names[] = {"mm", "wmm", "mul", "copy", "exp", "sum", "mul", "copy"};
  const char *shapes[] = {"1000", "4000", "16000"};
  std::string text = "func.func @f(%v0: tensor<1000xf32>, %v1: tensor<4000xf32>, "
                     "%v2: tensor<16000xf32>) -> (";
  std::vector<std::string> types = {"tensor<1000xf32>", "tensor<4000xf32>",
                                    "tensor<16000xf32>"};
  std::string body;
  unsigned values = 3;
  for (unsigned i = 0; i < ops; ++i) {
    unsigned a = values - 1 - random(std::min(values, 4u)), b = random(values);
    std::string type = std::string("tensor<") + shapes[random(3)] + "xf32>";
    body += "  %v" + std::to_string(values) + " = \"t." + names[random(8)] + "\"(%v" +
            std::to_string(a) + ", %v" + std::to_string(b) + ") : (" + types[a] + ", " +
            types[b] + ") -> " + type + "\n";
    types.push_back(type);
    ++values;
  }
  unsigned returned = 3 + random(ops);
  return text + types[returned] + ") {\n" + body + "  return %v" +
         std::to_string(returned) + " : " + types[returned] + "\n}\n";
}

/// What casts of `plan` cost, from first principles: the ops of the function,
/// each value once a direction; the bytes read and written and 16384 for each.
uint64_t getCost(ModuleOp module, const PrecisionPlan &plan) {
  const PrecisionGraph &graph = plan.getGraph();
  auto runsLow = [&](Operation *op) {
    uint32_t vertex = graph.getVertex(op);
    return vertex != PrecisionGraph::kNone && plan.isLow(vertex);
  };
  uint64_t bytes = 0;
  auto count = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    bool anyLow = false, anyF32 = false;
    for (Operation *user : value.getUsers()) {
      if (user->getName().getStringRef() == "t.sum")
        continue; // reads either type
      (runsLow(user) ? anyLow : anyF32) = true;
    }
    const uint64_t cost = cast<ShapedType>(value.getType()).getNumElements() * 6 + 16384;
    bool low = maker && runsLow(maker);
    if (low && maker->getName().getStringRef() == "t.wmm")
      low = !anyF32 && anyLow; // f32 is as good
    bytes += ((low && anyF32) || (!low && anyLow)) ? cost : 0;
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (Value argument : function.getArguments())
      count(argument);
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        count(result);
    });
  }
  return bytes;
}

TEST(PrecisionPlan, MinCutIsOptimalAndNoWorseThanPaint) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect>();
  context.allowUnregisteredDialects();
  Random random{std::mt19937(11)};
  unsigned tried = 0, paintedOverhead = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = makeModule(random, 4 + random(9));
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    PrecisionPolicy policy(BFloat16Type::get(&context));
    ASSERT_TRUE(succeeded(
        policy.getRules().addText(UnknownLoc::get(&context), kRules, "test.yaml")));
    PrecisionGraph graph(*module, policy, {});
    PrecisionPlanOptions options;
    options.strategy = PrecisionStrategy::MinCut;
    // Every other graph with a cost gate: products may stay f32 and forgo something.
    const bool gated = round % 2;
    if (gated) {
      options.gains.resize(graph.getVertices().size());
      for (uint32_t v = 0; v < options.gains.size(); ++v)
        if (graph.getVertices()[v].contraction)
          options.gains[v] = random(80000);
    }
    auto getTotal = [&](const PrecisionPlan &plan) {
      uint64_t total = getCost(*module, plan);
      for (uint32_t v = 0; v < options.gains.size(); ++v)
        if (!plan.isLow(v))
          total += options.gains[v];
      return total;
    };
    PrecisionPlan found = planPrecision(graph, options);
    PrecisionPlan::Casts casts = found.countCasts();
    ASSERT_EQ(casts.bytes + 16384 * (casts.down + casts.up), getCost(*module, found))
        << text;
    if (!gated) {
      PrecisionPlanOptions byPaint;
      byPaint.strategy = PrecisionStrategy::Paint;
      PrecisionPlan painted = planPrecision(graph, byPaint);
      ASSERT_LE(casts.bytes, painted.countCasts().bytes) << text;
      for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
        if (graph.getVertices()[v].contraction)
          ASSERT_GE(found.isLow(v), painted.isLow(v)) << text;
    }
    if (std::optional<uint64_t> overhead = found.getPaintedOverhead()) {
      ++paintedOverhead;
      ASSERT_EQ(*found.getProvedMinimum(),
                casts.bytes + *overhead * (casts.down + casts.up))
          << text;
      continue;
    }

    ASSERT_EQ(found.getCost(options.cost), getTotal(found)) << text;
    // The flow's proof is of the same number.
    ASSERT_TRUE(found.getProvedMinimum());
    ASSERT_EQ(*found.getProvedMinimum(), getTotal(found)) << text;
    PrecisionPlanOptions bytesAlone;
    bytesAlone.cost = CastCost::getFlat(0);
    PrecisionPlan fewest = planPrecision(graph, bytesAlone);
    ASSERT_EQ(*fewest.getProvedMinimum(), fewest.countCasts().bytes) << text;
    if (!gated)
      ASSERT_LE(*fewest.getProvedMinimum(), casts.bytes) << text;

    // What may go either way: low, or left in f32 only for the sake of casts.
    std::vector<uint32_t> free;
    for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
      PrecisionReason reason = found[v].reason;
      if (reason == PrecisionReason::FewerCasts || reason == PrecisionReason::CostGate ||
          (found.isLow(v) && (reason != PrecisionReason::Allowed ||
                              (gated && graph.getVertices()[v].contraction))))
        free.push_back(v);
    }
    if (free.size() > 10)
      continue;
    ++tried;
    PrecisionPlan other = found;
    uint64_t best = ~uint64_t(0), leastBytes = best;
    for (uint32_t labels = 0; labels < 1u << free.size(); ++labels) {
      for (size_t i = 0; i < free.size(); ++i)
        other[free[i]].low = labels >> i & 1;
      best = std::min(best, getTotal(other));
      leastBytes = std::min(leastBytes, other.countCasts().bytes);
    }
    if (!gated)
      ASSERT_EQ(*fewest.getProvedMinimum(), leastBytes) << text;
    ASSERT_EQ(getTotal(found), best) << text;
  }
  EXPECT_GT(tried, 200u);
  EXPECT_GT(paintedOverhead, 5u);
}

/// f16's sums widen what they add: a cast for them alone moves no bytes.
TEST(PrecisionPlan, SumsReadWithoutBytes) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, MPTDialect>();
  Random random{std::mt19937(5)};
  const std::string type = "tensor<64x64xf32>";
  const char *names[] = {"matmul", "mul", "mul", "tanh", "relu", "exp", "reduce"};
  unsigned tried = 0, withoutBytes = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = "func.func @f(%v0: " + type + ") -> " + type + " {\n";
    unsigned values = 1;
    for (unsigned i = 0, ops = 6 + random(8); i < ops; ++i) {
      auto pick = [&] {
        return "%v" + std::to_string(values - 1 - random(std::min(values, 3u)));
      };
      const std::string name = names[random(7)], x = pick();
      if (name == "reduce") {
        text += "  %r" + std::to_string(i) + " = mpt.reduce " + x +
                " {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (" + type +
                ") -> tensor<64xf32>\n";
        continue;
      }
      const bool isBinary = name == "matmul" || name == "mul";
      const std::string operands = x + (isBinary ? ", " + pick() : "");
      text += "  %v" + std::to_string(values++) + " = mpt." + name + " " + operands +
              " : (" + type + (isBinary ? ", " + type : "") + ") -> " + type + "\n";
    }
    text += "  return %v" + std::to_string(values - 1) + " : " + type + "\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    PrecisionPolicy policy(Float16Type::get(&context));
    PrecisionGraph graph(*module, policy, {});

    auto feedsSums = [](Operation *op) {
      return isa<MulOp>(op) && !op->use_empty() &&
             llvm::all_of(op->getUsers(), llvm::IsaPred<ReduceOp>);
    };
    auto getBytes = [&](const PrecisionPlan &plan) {
      auto runsLow = [&](Operation *op) {
        uint32_t vertex = graph.getVertex(op);
        return vertex != PrecisionGraph::kNone && plan.isLow(vertex);
      };
      uint64_t bytes = 0;
      auto count = [&](Value value, bool low, bool isWide) {
        bool anyLow = false, anyF32 = false, moves = false;
        for (Operation *user : value.getUsers()) {
          (runsLow(user) ? anyLow : anyF32) = true;
          moves |= !runsLow(user) && !isa<ReduceOp>(user) && !feedsSums(user);
        }
        if (isWide && low)
          low = anyLow && !anyF32; // f32 is as good
        if (low ? anyF32 : anyLow)
          bytes += 16384 + (!low || moves ? 64 * 64 * 6 : 0);
      };
      auto function = *module->getOps<func::FuncOp>().begin();
      count(function.getArgument(0), false, false);
      for (Operation &op : function.getBody().front())
        for (Value result : op.getResults())
          count(result, runsLow(&op), isa<MatmulOp>(op));
      return bytes;
    };
    PrecisionPlan found = planPrecision(graph, {});
    for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
      ASSERT_FALSE(found.isLow(v) && feedsSums(graph.getVertices()[v].op)) << text;
    if (found.getPaintedOverhead())
      continue;
    ASSERT_EQ(found.getCost(CastCost()), getBytes(found)) << text;
    ASSERT_EQ(*found.getProvedMinimum(), getBytes(found)) << text;
    std::vector<uint32_t> free;
    for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
      if (found[v].reason == PrecisionReason::FewerCasts ||
          (found.isLow(v) && found[v].reason != PrecisionReason::Allowed))
        free.push_back(v);
    if (free.empty() || free.size() > 10)
      continue;
    ++tried;
    PrecisionPlan other = found;
    uint64_t best = ~uint64_t(0);
    for (uint32_t labels = 0; labels < 1u << free.size(); ++labels) {
      for (size_t i = 0; i < free.size(); ++i)
        other[free[i]].low = labels >> i & 1;
      best = std::min(best, getBytes(other));
    }
    ASSERT_EQ(getBytes(found), best) << text;
    const PrecisionPlan::Casts casts = found.countCasts();
    withoutBytes += getBytes(found) < casts.bytes + 16384 * (casts.down + casts.up);
  }
  EXPECT_GT(tried, 50u);
  EXPECT_GT(withoutBytes, 5u);
}

} // namespace
