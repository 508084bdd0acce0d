//===- RematPlanTest.cpp - Plans of rematerialization -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematPlan.h"

#include "RematInstances.h"
#include "gtest/gtest.h"

#include <random>

using namespace mpt;
using namespace mpt::test;

namespace {

RematOptions quick(RematStrategy strategy = RematStrategy::Auto) {
  RematOptions options;
  options.strategy = strategy;
  options.effort = 6'000;
  return options;
}

RematBudget bytes(int64_t count) { return {RematBudget::Bytes, count}; }
RematBudget ratio(double r) { return {RematBudget::Ratio, 0, r}; }

/// The plan does what it says, by the tests' own simulator.
void expectHonest(const RematGraph &graph, const RematPlan &plan) {
  int64_t cost = 0;
  EXPECT_EQ(simulate(graph, plan.order, cost), plan.peak);
  EXPECT_EQ(cost, plan.cost);
}

/// A chain: forward nodes of `bytes` each, and a backward node for each.
RematGraph makeChain(uint32_t length, int64_t bytes) {
  RematGraph graph;
  std::vector<uint32_t> forward;
  for (uint32_t i = 0; i < length; ++i) {
    RematNode node;
    node.cost = 1;
    node.isFree = i % 2;
    if (i > 0)
      node.inputs = {forward.back()};
    forward.push_back(graph.addValue(graph.addNode(node), bytes));
  }
  graph.backward = length;
  uint32_t gradient = ~0u;
  for (uint32_t i = length; i-- > 0;) {
    RematNode node;
    node.cost = 2;
    node.inputs = {forward[i]};
    if (gradient != ~0u)
      node.inputs.push_back(gradient);
    gradient = graph.addValue(graph.addNode(node), bytes, i == 0);
  }
  return graph;
}

TEST(RematPlan, EveryPlanIsWhatItSays) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    RematGraph graph = makeRandomGraph(4 + seed % 30, seed);
    for (RematStrategy strategy : {RematStrategy::None, RematStrategy::Segments,
                                   RematStrategy::MinCut, RematStrategy::Auto}) {
      std::vector<RematPlan> plans = planRematFrontier(graph, quick(strategy));
      ASSERT_FALSE(plans.empty());
      for (size_t i = 0; i < plans.size(); ++i) {
        expectHonest(graph, plans[i]);
        if (i > 0) {
          EXPECT_GT(plans[i].peak, plans[i - 1].peak);
          EXPECT_LT(plans[i].cost, plans[i - 1].cost);
        }
      }
    }
  }
}

TEST(RematPlan, AgainstTryingEverything) {
  unsigned met = 0, infeasible = 0, proved = 0, equal = 0, total = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    RematGraph graph = makeRandomGraph(6, 1000 + seed);
    if (graph.values.size() > 9)
      continue;
    RematProfile plain = measureRemat(graph, getPlainOrder(graph));
    for (int64_t budget = plain.peak; budget > plain.peak / 2; budget -= 2) {
      int64_t least = searchEverything(graph, budget);
      RematBound bound = boundRemat(graph, budget);
      if (bound.infeasible) {
        EXPECT_EQ(least, -1) << seed << " " << budget;
        ++infeasible;
      } else if (least >= 0) {
        EXPECT_LE(bound.cost, least) << seed << " " << budget;
      }
      RematResult best = planRemat(graph, bytes(budget), quick(RematStrategy::Optimal));
      EXPECT_EQ(best.status == RematResult::Met, least >= 0) << seed << " " << budget;
      if (best.isOptimal)
        ++proved;
      if (least < 0)
        continue;
      EXPECT_EQ(best.plan.cost, least) << seed << " " << budget;
      RematResult found = planRemat(graph, bytes(budget), quick());
      if (found.status == RematResult::Met) {
        ++met;
        EXPECT_GE(found.plan.cost, least);
        EXPECT_LE(found.costBound, least);
        equal += found.plan.cost == least;
        expectHonest(graph, found.plan);
      }
      ++total;
    }
  }
  EXPECT_GT(total, 60u);
  EXPECT_GT(infeasible, 20u);
  EXPECT_GT(proved, 60u);
  // The planner is a heuristic; on graphs this small it hardly ever misses.
  EXPECT_GE(equal * 100, total * 95);
  EXPECT_GE(met * 100, total * 95);
}

TEST(RematPlan, BoundCountsWhatIsReadByNothingElse) {
  // Residual blocks at random: x[i+1] = x[i] + f(x[i]), and only the sums are read by
  // the backward nodes. To make a sum again, f must run again, too.
  unsigned tight = 0, total = 0;
  for (uint32_t seed = 0; seed < 90; ++seed) {
    std::mt19937 engine(seed);
    auto below = [&](uint32_t count) { return uint32_t(engine() % count); };
    RematGraph graph;
    auto add = [&](std::vector<uint32_t> inputs, int64_t bytes) {
      RematNode node;
      node.inputs = std::move(inputs);
      node.cost = 1 + below(9);
      node.mayRepeat = below(10) != 0;
      return graph.addValue(graph.addNode(node), bytes);
    };
    std::vector<uint32_t> sums = {add({}, 1 + below(4))};
    for (unsigned block = 0; block < 2 + below(2); ++block) {
      uint32_t inner = add({sums.back()}, 1 + below(6));
      std::vector<uint32_t> inputs = {sums.back(), inner};
      if (below(2))
        inputs.push_back(add({}, 1 + below(6)));
      sums.push_back(add(inputs, 1 + below(5)));
    }
    uint32_t gradient = add({sums.back()}, 1 + below(4));
    for (size_t i = sums.size(); i-- > 0 && graph.values.size() < 12;)
      gradient = add({sums[i], gradient}, 1 + below(4));
    RematProfile plain = measureRemat(graph, getPlainOrder(graph));
    for (int64_t budget = plain.peak - 1; budget > plain.peak / 2; --budget) {
      int64_t least = searchEverything(graph, budget);
      RematBound bound = boundRemat(graph, budget);
      if (bound.infeasible)
        EXPECT_EQ(least, -1) << seed << " " << budget;
      if (least < 0)
        continue;
      EXPECT_LE(bound.cost, least) << seed << " " << budget;
      ++total;
      tight += bound.cost == least;
    }
  }
  EXPECT_GT(total, 100u);
  EXPECT_GT(tight, 10u);
}

TEST(RematPlan, Annealing) {
  // With enough effort for it: mostly cheaper than without, honest, and as the user
  // says.
  RematOptions more = quick();
  more.effort = 100'000;
  unsigned cheaper = 0, dearer = 0;
  for (uint32_t seed = 0; seed < 4; ++seed) {
    RematGraph graph = makeRandomGraph(24 + 4 * seed, 700 + seed);
    std::vector<RematPlan> plans = planRematFrontier(graph, more);
    for (const RematPlan &plan : plans)
      expectHonest(graph, plan);
    for (const RematPlan &before : planRematFrontier(graph, quick())) {
      int64_t least = std::numeric_limits<int64_t>::max();
      for (const RematPlan &plan : plans)
        if (plan.peak <= before.peak)
          least = plan.cost;
      cheaper += least < before.cost;
      dearer += least > before.cost;
    }
  }
  EXPECT_GT(cheaper, 3 * dearer);
  RematGraph graph = makeChain(12, 64);
  graph.nodes[3].save = RematSave::Must;
  graph.nodes[4].save = RematSave::Never;
  graph.nodes[5].mayRepeat = false;
  for (const RematPlan &plan : planRematFrontier(graph, more)) {
    EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 3), 1);
    EXPECT_GE(std::count(plan.order.begin(), plan.order.end(), 4), 2);
    EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 5), 1);
  }
  // The optimum that an integer program proves, from every seed.
  RematGraph unet = makeUNet().build(1);
  unet.fixedBytes = 0;
  more.effort = 1'500'000;
  for (more.seed = 1; more.seed <= 3; ++more.seed)
    EXPECT_NEAR(planRemat(unet, ratio(0.5), more).getOverhead(), 1.05252, 1e-5);
}

TEST(RematPlan, MoreBytesNeverCostMore) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    RematGraph graph = makeRandomGraph(25, 500 + seed);
    RematProfile plain = measureRemat(graph, getPlainOrder(graph));
    int64_t last = -1;
    for (int64_t budget = plain.peak / 4; budget <= plain.peak; ++budget) {
      RematResult result = planRemat(graph, bytes(budget), quick());
      if (result.status != RematResult::Met) {
        EXPECT_EQ(last, -1);
        continue;
      }
      EXPECT_LE(result.plan.peak, budget);
      if (last >= 0)
        EXPECT_LE(result.plan.cost, last);
      last = result.plan.cost;
    }
    EXPECT_EQ(last, plain.cost);
  }
}

TEST(RematPlan, LongFreeChainsAreMonotone) {
  // What made a partitioner's peak rise as its budget fell: long chains recomputed
  // as one region.
  RematGraph graph = makeChain(100, 64);
  RematProfile plain = measureRemat(graph, getPlainOrder(graph));
  int64_t last = std::numeric_limits<int64_t>::max();
  for (double r : {0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0}) {
    RematResult result = planRemat(graph, ratio(r), quick());
    if (result.status == RematResult::Met) {
      EXPECT_LE(result.plan.peak, r * plain.peak);
      EXPECT_LE(result.plan.cost, last);
      last = result.plan.cost;
    }
  }
  EXPECT_EQ(last, plain.cost);
}

TEST(RematPlan, Chains) {
  // Chen: a root of the chain is kept, for about one more forward pass.
  RematGraph graph = makeChain(100, 64);
  std::vector<RematPlan> plans = planRematFrontier(graph, quick(RematStrategy::Segments));
  EXPECT_LE(plans.front().peak, 25 * 64);
  EXPECT_LE(plans.front().cost, plans.back().cost + 100);
  // Every second node is free, and costs nothing to leave out.
  RematResult free = planRemat(graph, {RematBudget::Min}, quick(RematStrategy::MinCut));
  EXPECT_EQ(free.status, RematResult::Met);
  EXPECT_LE(free.plan.peak, 54 * 64);
  EXPECT_LE(free.plan.cost, 350);
}

/// Two values of 64 bytes that one of 64 bytes makes; the backward pass reads them with a
/// matmul and behind it.
static RematGraph makeAbsorbed() {
  RematGraph graph;
  auto add = [&](std::vector<uint32_t> inputs, bool isAbsorbed) {
    RematNode node;
    node.inputs = std::move(inputs);
    node.cost = 100;
    node.isFree = node.isAbsorbed = isAbsorbed;
    node.repeatCost = isAbsorbed ? 10 : 100;
    node.splitsKernels = !isAbsorbed;
    return graph.addValue(graph.addNode(std::move(node)), 64);
  };
  uint32_t product = add({}, false);
  uint32_t mask = add({product}, true), clamp = add({product}, true);
  uint32_t loss = add({mask, clamp}, false);
  graph.backward = graph.nodes.size();
  uint32_t gradient = add({loss, mask, clamp}, false);
  add({gradient, mask, clamp}, false);
  return graph;
}

TEST(RematPlan, FreeAtAPrice) {
  RematGraph graph = makeAbsorbed();
  // Both are made again before the matmul, and for what comes behind it.
  std::vector<uint32_t> twice = {0, 1, 2, 3, 1, 2, 4, 1, 2, 5};
  EXPECT_EQ(planFreeRemat(graph, /*onlyMarked=*/false), twice);
  // 20 units of time for 64 bytes.
  EXPECT_EQ(planFreeRemat(graph, /*onlyMarked=*/false, 3), twice);
  std::vector<uint32_t> plain = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(planFreeRemat(graph, /*onlyMarked=*/false, 4), plain);
  EXPECT_EQ(planFreeRemat(graph, /*onlyMarked=*/true, 3), plain);
  // What no kernel computes for itself stays where it was made.
  graph.nodes[1].isAbsorbed = false;
  std::vector<uint32_t> once = {0, 1, 2, 3, 1, 2, 4, 2, 5};
  EXPECT_EQ(planFreeRemat(graph, /*onlyMarked=*/false, 3), once);
}

TEST(RematPlan, SaysWhyNot) {
  RematGraph graph = makeChain(5, 64);
  RematResult result = planRemat(graph, bytes(3 * 64 - 1), quick());
  EXPECT_EQ(result.status, RematResult::Infeasible);
  EXPECT_EQ(result.witness.bytes, 3 * 64);
  EXPECT_EQ(graph.getWorkingSet(result.witness.node), 3 * 64);
  EXPECT_EQ(result.leastBudget.bytes, 3 * 64);
  graph.fixedBytes = 10;
  EXPECT_EQ(planRemat(graph, bytes(200), quick()).leastBudget.bytes, 3 * 64 + 10);
}

TEST(RematPlan, MustAndNeverAreHonoured) {
  RematGraph graph = makeChain(12, 64);
  graph.nodes[3].save = RematSave::Must;
  graph.nodes[5].mayRepeat = false;
  for (const RematPlan &plan : planRematFrontier(graph, quick())) {
    EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 3), 1);
    EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 5), 1);
  }
  graph.nodes[4].save = RematSave::Never;
  for (RematStrategy strategy :
       {RematStrategy::Segments, RematStrategy::MinCut, RematStrategy::Auto})
    for (const RematPlan &plan : planRematFrontier(graph, quick(strategy)))
      EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 4), 2);
}

/// Values that a plan keeps from the forward pass to the backward pass.
std::vector<bool> getKept(const RematGraph &graph, const std::vector<uint32_t> &order) {
  std::vector<bool> kept(graph.values.size(), false), isOld = kept;
  bool isBackward = false;
  for (uint32_t id : order) {
    isBackward |= id == graph.backward;
    for (uint32_t value : graph.nodes[id].inputs)
      if (isBackward && isOld[value])
        kept[value] = true;
    for (uint32_t value : graph.nodes[id].outputs)
      isOld[value] = !isBackward;
  }
  return kept;
}

TEST(RematPlan, OnlyTheNarrowSideIsKept) {
  // Every third forward node widens what is before it. The backward pass reads all.
  RematGraph graph;
  std::vector<uint32_t> forward;
  for (uint32_t i = 0; i < 12; ++i) {
    RematNode node;
    node.cost = i % 3 == 1 ? 3 : 40;
    node.widens = i % 3 == 1;
    if (i > 0)
      node.inputs = {forward.back()};
    // One that does not run again, one of something that was widened before.
    node.mayRepeat = i != 3;
    forward.push_back(graph.addValue(graph.addNode(node), i % 3 == 0 ? 32 : 64));
  }
  graph.nodes[5].widens = true;
  graph.values[4].bytes = 48;
  graph.nodes[5].inputs = {4};
  graph.backward = 12;
  uint32_t gradient = ~0u;
  for (uint32_t i = 12; i-- > 0;) {
    RematNode node;
    node.cost = 50;
    node.inputs = {forward[i]};
    if (gradient != ~0u)
      node.inputs.push_back(gradient);
    gradient = graph.addValue(graph.addNode(node), 64, i == 0);
  }
  std::vector<bool> plain = getKept(graph, getPlainOrder(graph));
  EXPECT_TRUE(plain[1] && plain[4] && plain[5]);
  RematOptions options = quick();
  for (RematStrategy strategy : {RematStrategy::Segments, RematStrategy::MinCut,
                                 RematStrategy::Auto, RematStrategy::Optimal}) {
    options.strategy = strategy;
    std::vector<RematPlan> plans = planRematFrontier(graph, options);
    ASSERT_FALSE(plans.empty());
    for (double part : {1.0, 0.8, 0.6})
      plans.push_back(planRemat(graph, ratio(part), options).plan);
    for (const RematPlan &plan : plans) {
      expectHonest(graph, plan);
      std::vector<bool> kept = getKept(graph, plan.order);
      for (uint32_t value = 0; value < 12; ++value)
        EXPECT_FALSE(graph.nodes[value].widens && kept[value]) << value;
    }
  }
  // One of each widening that the plain order reads in both passes, and no more.
  EXPECT_EQ(keepNarrowSides(graph, getPlainOrder(graph)).size(), graph.nodes.size() + 5);
  // Results and what does not run again stay.
  graph.nodes[1].mayRepeat = false;
  graph.values[7].leaves = true;
  EXPECT_EQ(keepNarrowSides(graph, getPlainOrder(graph)).size(), graph.nodes.size() + 3);
}

/// `inner`, behind something that widens what is before it and is read again at the end.
RematGraph putInWidening(const RematGraph &inner, bool widens) {
  const int64_t peak = measureRemat(inner, getPlainOrder(inner)).peak;
  RematGraph graph;
  auto add = [&](std::vector<uint32_t> inputs, int64_t bytes, int64_t cost) {
    RematNode node;
    node.inputs = std::move(inputs);
    node.cost = cost;
    return graph.addValue(graph.addNode(node), bytes);
  };
  uint32_t narrow = add({}, 1, 1);
  uint32_t wide = add({narrow}, peak * 6 / 10 - 2, inner.getTotalCost());
  graph.nodes.back().widens = widens;
  add({wide}, 1, 1);
  const uint32_t nodes = graph.nodes.size(), values = graph.values.size();
  for (RematNode node : inner.nodes) {
    for (uint32_t &value : node.inputs)
      value += values;
    for (uint32_t &value : node.outputs)
      value += values;
    graph.nodes.push_back(node);
  }
  for (RematValue value : inner.values) {
    value.node += nodes;
    graph.values.push_back(value);
  }
  graph.backward = nodes + inner.backward;
  add({wide}, 1, 1);
  return graph;
}

TEST(RematPlan, WideningsDoNotHideWhatCanBeGained) {
  // The budgets have no room for the wide side. That it runs again, for half of the cost,
  // is in the bound, and must not be taken for what the bound does not have.
  RematOptions more = quick();
  more.effort = 100'000;
  int64_t widening = 0, other = 0, before = 0;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    RematGraph inner = makeRandomGraph(28 + 2 * seed, 700 + seed);
    int64_t peak = measureRemat(inner, getPlainOrder(inner)).peak;
    for (double part : {0.66, 0.72, 0.78, 0.84}) {
      RematBudget budget = bytes(int64_t(part * double(peak)));
      RematResult result = planRemat(putInWidening(inner, true), budget, more);
      RematResult expected = planRemat(putInWidening(inner, false), budget, more);
      RematResult least = planRemat(putInWidening(inner, true), budget, quick());
      EXPECT_EQ(result.status, expected.status);
      if (least.status != RematResult::Met)
        continue;
      widening += result.plan.cost;
      other += expected.plan.cost;
      before += least.plan.cost;
    }
  }
  // The two searches go ways of their own.
  EXPECT_LT(std::abs(widening - other), 0.002 * double(other));
  EXPECT_GT(before, 1.008 * double(other));
}

TEST(RematPlan, InvalidOrders) {
  RematGraph graph = makeChain(3, 1);
  EXPECT_TRUE(measureRemat(graph, {0, 1, 2, 3, 4, 5}).isValid);
  EXPECT_TRUE(measureRemat(graph, {0, 1, 2, 1, 3, 4, 5}).isValid);
  EXPECT_FALSE(measureRemat(graph, {0, 1, 2, 3, 4}).isValid);
  EXPECT_FALSE(measureRemat(graph, {0, 2, 1, 3, 4, 5}).isValid);
  EXPECT_FALSE(measureRemat(graph, {1, 0, 2, 3, 4, 5}).isValid);
  graph.nodes[1].mayRepeat = false;
  EXPECT_FALSE(measureRemat(graph, {0, 1, 2, 1, 3, 4, 5}).isValid);
}

TEST(RematPlan, SameTwice) {
  RematGraph graph = makeRandomGraph(40, 7);
  std::vector<RematPlan> a = planRematFrontier(graph, quick()),
                         b = planRematFrontier(graph, quick());
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i].order, b[i].order);
}

TEST(RematPlan, PublicInstances) {
  // Published by Checkmate for 16 GB; no order of these nodes can do more.
  auto getMost = [](const LayerNet &net) {
    int64_t batch = 1;
    while (getLeastBudget(net.build(batch + 1)).bytes <= 16'000'000'000)
      ++batch;
    return batch;
  };
  EXPECT_EQ(getMost(makeVGG(true)), 289);
  EXPECT_EQ(getMost(makeUNet()), 61);
  EXPECT_EQ(getMost(makeMobileNet()), 1231);
  RematResult result =
      planRemat(makeVGG(true).build(289), bytes(16'000'000'000), quick());
  EXPECT_EQ(result.status, RematResult::Met);
  EXPECT_LT(result.getOverhead(), 1.002);
  RematGraph vgg = makeVGG(false).build(1);
  vgg.fixedBytes = 0;
  // The optimum that an integer program proves.
  EXPECT_NEAR(planRemat(vgg, ratio(0.85), quick()).getOverhead(), 1.00187, 1e-5);
}

TEST(RematPlan, Budgets) {
  auto get = [](const char *text) {
    std::optional<RematBudget> budget = parseRematBudget(text);
    return budget ? resolveRematBudget(*budget, 1000) : std::optional<int64_t>(-1);
  };
  EXPECT_EQ(get("1000"), 1000);
  EXPECT_EQ(get("4GiB"), int64_t(4) << 30);
  EXPECT_EQ(get("1.5 kB"), 1500);
  EXPECT_EQ(get("1.5KB"), 1500);
  EXPECT_EQ(get("0.5x"), 500);
  EXPECT_EQ(get("70%"), 700);
  EXPECT_EQ(get("min"), std::nullopt);
  for (const char *bad : {"", "x", "-1", "0", "1TB", "0.5y", "1e99", "mint", "nan"})
    EXPECT_EQ(get(bad), -1) << bad;
}

} // namespace
