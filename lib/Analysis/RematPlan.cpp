//===- RematPlan.cpp - What to compute again to save memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/RematPlan.h"

#include "RematLookahead.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

using namespace mpt;
using namespace mpt::detail;

namespace {

/// Exponents that the sweep tries; the first is the default.
constexpr std::pair<double, double> sweep[] = {
    {1, 1},     {1, 0.5},   {1, 0},     {1, 2},     {0.5, 1}, {0.75, 0.5},
    {1.5, 1},   {0.5, 0.5}, {0.25, 0},  {1.25, 0.25}, {0, 1}, {2, 1}};

/// `ratio` of `bytes`, rounded down, but for what the ratio's own rounding took.
int64_t scale(int64_t bytes, double ratio) {
  return int64_t(std::min(double(bytes) * ratio * (1 + 1e-12), 9e18));
}

/// Uniform in [0, count); the same on every machine, unlike std's distributions.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  uint32_t below(uint32_t count) { return engine() % count; }

private:
  std::mt19937_64 engine;
};

class Frontier {
public:
  Frontier(const RematGraph &graph, const RematOptions &options)
      : graph(graph), options(options), index(graph), effort(options.effort) {}

  std::vector<RematPlan> run();

private:
  /// Adds the order if it is new to the frontier; returns its cost and peak.
  RematProfile add(std::vector<uint32_t> order);
  /// The cheapest plan within `budget`, or null.
  const RematPlan *find(int64_t budget) const {
    const RematPlan *best = nullptr;
    for (const RematPlan &plan : plans)
      if (plan.peak <= budget)
        best = &plan;
    return best;
  }
  std::vector<int64_t> makeLadder() const;
  /// One lookahead run and its improvement. Returns the cost, -1 if stuck.
  int64_t tryLookahead(int64_t budget, const LookaheadParameters &parameters);
  void climb(int64_t budget, int64_t share);
  /// Values that are made by nodes alike, as an index per value.
  std::vector<uint32_t> classifyValues(uint32_t &count) const;

  const RematGraph &graph;
  const RematOptions &options;
  RematIndex index;
  int64_t effort;
  /// By ascending peak and descending cost.
  std::vector<RematPlan> plans;
  std::map<int64_t, std::pair<double, double>> bestParameters;
};

RematProfile Frontier::add(std::vector<uint32_t> order) {
  RematProfile profile = measureRemat(graph, order);
  if (!profile.isValid)
    return profile;
  auto at = std::lower_bound(
      plans.begin(), plans.end(), profile.peak,
      [](const RematPlan &plan, int64_t peak) { return plan.peak < peak; });
  if ((at != plans.begin() && std::prev(at)->cost <= profile.cost) ||
      (at != plans.end() && at->peak == profile.peak && at->cost <= profile.cost))
    return profile;
  auto end = at;
  while (end != plans.end() && end->cost >= profile.cost)
    ++end;
  at = plans.erase(at, end);
  plans.insert(at, {std::move(order), profile.peak, profile.cost});
  return profile;
}

int64_t Frontier::tryLookahead(int64_t budget, const LookaheadParameters &parameters) {
  effort -= graph.nodes.size();
  std::vector<uint32_t> order = runLookahead(index, budget, parameters);
  if (order.empty() && !graph.nodes.empty())
    return -1;
  effort -= order.size();
  return add(dropRepetitions(index, order, budget)).cost;
}

std::vector<int64_t> Frontier::makeLadder() const {
  int64_t least = getLeastBudget(graph).bytes;
  int64_t plain = measureRemat(graph, getPlainOrder(graph)).peak;
  // Twenty steps, so that the usual ratios are among them; more where a run is cheap.
  size_t size = graph.nodes.size();
  int64_t steps = size > 20000 ? 20 : size > 4000 ? 40 : 100;
  std::vector<int64_t> ladder;
  for (int64_t i = 1; i < steps; ++i) {
    int64_t budget = scale(plain, double(i) / steps);
    if (budget > least)
      ladder.push_back(budget);
  }
  // Where it is tight.
  int64_t fine = size > 20000 ? 1 : 4;
  for (int64_t i = 0; i < fine; ++i)
    ladder.push_back(least + (plain - least) * i / 200);
  std::sort(ladder.begin(), ladder.end());
  ladder.erase(std::unique(ladder.begin(), ladder.end()), ladder.end());
  return ladder;
}

std::vector<uint32_t> Frontier::classifyValues(uint32_t &count) const {
  std::map<std::tuple<int64_t, int64_t, size_t, size_t>, uint32_t> classes;
  std::vector<uint32_t> result;
  for (uint32_t v = 0; v < graph.values.size(); ++v) {
    const RematNode &node = graph.nodes[graph.values[v].node];
    auto key = std::make_tuple(node.cost, graph.values[v].bytes, node.inputs.size(),
                               size_t(index.readersOf[v + 1] - index.readersOf[v]));
    result.push_back(classes.insert({key, uint32_t(classes.size())}).first->second);
  }
  count = classes.size();
  return result;
}

void Frontier::climb(int64_t budget, int64_t share) {
  int64_t stop = effort - share;
  uint32_t classCount = 0;
  std::vector<uint32_t> classes = classifyValues(classCount);
  std::vector<float> weights(graph.values.size(), 0);
  auto [bytes, distance] = bestParameters[budget];
  LookaheadParameters parameters{bytes, distance, &weights};
  int64_t best = tryLookahead(budget, parameters);
  if (best < 0)
    best = std::numeric_limits<int64_t>::max();
  Random random(options.seed ^ uint64_t(budget));
  while (effort > stop) {
    std::vector<std::pair<uint32_t, float>> undo;
    auto change = [&](uint32_t value, float by) {
      undo.push_back({value, weights[value]});
      weights[value] += by;
    };
    float by = (random.below(2) ? 1.f : -1.f) * float(1 << random.below(5)) / 4;
    uint32_t kind = random.below(8);
    LookaheadParameters before = parameters;
    if (kind == 0) {
      std::tie(parameters.bytes, parameters.distance) =
          sweep[random.below(std::size(sweep))];
    } else if (kind < 4) {
      uint32_t chosen = random.below(classCount);
      for (uint32_t v = 0; v < classes.size(); ++v)
        if (classes[v] == chosen)
          change(v, by);
    } else {
      uint32_t moves = 1 + random.below(3);
      for (uint32_t i = 0; i < moves; ++i)
        change(random.below(weights.size()), i % 2 ? -by : by);
    }
    int64_t cost = tryLookahead(budget, parameters);
    if (cost >= 0 && cost <= best) {
      best = cost;
      continue;
    }
    parameters = before;
    for (auto [value, weight] : llvm::reverse(undo))
      weights[value] = weight;
  }
}

std::vector<RematPlan> Frontier::run() {
  RematProfile plain = measureRemat(graph, getPlainOrder(graph));
  if (!plain.isValid)
    return {};
  // What the user wants made again is, however much room there is.
  bool hasNever = llvm::any_of(graph.nodes, [](const RematNode &node) {
    return node.save == RematSave::Never;
  });
  constexpr int64_t noLimit = std::numeric_limits<int64_t>::max() / 4;
  if (options.strategy != RematStrategy::None && hasNever)
    add(runLookahead(index, noLimit, LookaheadParameters()));
  if (plans.empty())
    add(getPlainOrder(graph));
  if (options.strategy == RematStrategy::None)
    return std::move(plans);
  bool isAuto = options.strategy == RematStrategy::Auto ||
                options.strategy == RematStrategy::Optimal;
  auto addImproved = [&](const std::vector<uint32_t> &order) {
    RematProfile profile = add(order);
    if (profile.isValid)
      add(dropRepetitions(index, order, profile.peak));
  };
  if (isAuto || options.strategy == RematStrategy::Segments)
    for (const std::vector<uint32_t> &order : planSegments(index))
      addImproved(order);
  if (isAuto || options.strategy == RematStrategy::MinCut)
    addImproved(planMinCut(index));
  if (!isAuto)
    return std::move(plans);

  std::vector<int64_t> ladder = makeLadder();
  // The default on every rung first, then the others while the effort lasts.
  int64_t sweepEffort = effort / 2;
  for (auto [bytes, distance] : sweep) {
    if (bytes != sweep[0].first || distance != sweep[0].second)
      if (effort < options.effort - sweepEffort)
        break;
    for (int64_t budget : ladder) {
      const RematPlan *known = find(budget);
      int64_t before = known ? known->cost : -1;
      int64_t cost = tryLookahead(budget, {bytes, distance, nullptr});
      if (cost >= 0 && (before < 0 || cost < before))
        bestParameters[budget] = {bytes, distance};
    }
  }
  // Local search on twenty rungs.
  std::vector<int64_t> rungs;
  for (int64_t i = 1; i < 20; ++i) {
    int64_t budget = scale(plain.peak, double(i) / 20);
    if (std::binary_search(ladder.begin(), ladder.end(), budget))
      rungs.push_back(budget);
  }
  for (size_t i = 0; i < rungs.size() && effort > 0; ++i) {
    if (!bestParameters.count(rungs[i]))
      bestParameters[rungs[i]] = sweep[0];
    climb(rungs[i], effort / int64_t(rungs.size() - i));
  }
  // What was found on one rung may do better with the room of the next ones.
  std::vector<RematPlan> known = plans;
  for (int64_t budget : ladder) {
    unsigned tried = 0;
    for (const RematPlan &plan : llvm::reverse(known)) {
      if (plan.peak > budget || ++tried > 3 || effort < -options.effort / 4)
        continue;
      effort -= plan.order.size();
      add(dropRepetitions(index, plan.order, budget));
    }
  }
  return std::move(plans);
}

} // namespace

std::optional<RematStrategy> mpt::parseRematStrategy(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<RematStrategy>>(name)
      .Case("none", RematStrategy::None)
      .Case("segments", RematStrategy::Segments)
      .Case("mincut", RematStrategy::MinCut)
      .Case("optimal", RematStrategy::Optimal)
      .Case("auto", RematStrategy::Auto)
      .Default(std::nullopt);
}

std::optional<RematBudget> mpt::parseRematBudget(llvm::StringRef text) {
  text = text.trim();
  if (text == "min")
    return RematBudget{RematBudget::Min};
  double number = 0;
  llvm::StringRef digits = text.take_while(
      [](char c) { return llvm::isDigit(c) || c == '.' || c == 'e'; });
  llvm::StringRef unit = text.drop_front(digits.size()).trim();
  if (digits.empty() || digits.getAsDouble(number) || !(number > 0) ||
      !(number < 9e18))
    return std::nullopt;
  if (unit == "x")
    return RematBudget{RematBudget::Ratio, 0, number};
  if (unit == "%")
    return RematBudget{RematBudget::Ratio, 0, number / 100};
  std::optional<double> factor = llvm::StringSwitch<std::optional<double>>(unit)
                                     .Cases({"", "B"}, 1.0)
                                     .Case("kB", 1e3)
                                     .Case("MB", 1e6)
                                     .Case("GB", 1e9)
                                     .Case("KiB", 0x1p10)
                                     .Case("MiB", 0x1p20)
                                     .Case("GiB", 0x1p30)
                                     .Default(std::nullopt);
  if (!factor || number * *factor >= 9e18)
    return std::nullopt;
  return RematBudget{RematBudget::Bytes, int64_t(number * *factor)};
}

std::optional<int64_t> mpt::resolveRematBudget(const RematBudget &budget,
                                               int64_t plain) {
  switch (budget.kind) {
  case RematBudget::Bytes:
    return budget.bytes;
  case RematBudget::Ratio:
    return scale(plain, budget.ratio);
  case RematBudget::Min:
    break;
  }
  return std::nullopt;
}

std::vector<RematPlan> mpt::planRematFrontier(const RematGraph &graph,
                                              const RematOptions &options) {
  return Frontier(graph, options).run();
}

RematResult mpt::planRemat(const RematGraph &graph, const RematBudget &budget,
                           const RematOptions &options) {
  RematResult result;
  RematProfile plain = measureRemat(graph, getPlainOrder(graph));
  result.plainPeak = plain.peak;
  result.plainCost = result.costBound = plain.cost;
  result.leastBudget = getLeastBudget(graph);
  std::vector<RematPlan> plans = planRematFrontier(graph, options);
  // The working set of everything may be an invalid graph's.
  if (plans.empty()) {
    result.status = RematResult::NotFound;
    return result;
  }
  std::optional<int64_t> bytes = resolveRematBudget(budget, plain.peak);
  // Without a budget `mincut` is what it does, the others are what they can.
  if (!bytes) {
    result.budget = plans.front().peak;
  } else {
    result.budget = *bytes;
  }
  RematBound bound = boundRemat(graph, result.budget);
  result.costBound = bound.cost;
  result.plan = plans.front();
  for (RematPlan &plan : plans)
    if (plan.peak <= result.budget)
      result.plan = plan;
  if (bound.infeasible) {
    result.status = RematResult::Infeasible;
    result.witness = *bound.infeasible;
    result.plan = plans.front();
    return result;
  }
  bool isMet = result.plan.peak <= result.budget;
  if (options.strategy == RematStrategy::Optimal) {
    RematIndex index(graph);
    std::vector<uint32_t> order = searchOptimal(
        index, result.budget,
        isMet ? result.plan.cost : std::numeric_limits<int64_t>::max(),
        options.maxStates, result.isOptimal);
    if (!order.empty()) {
      RematProfile profile = measureRemat(graph, order);
      if (profile.isValid && profile.peak <= result.budget) {
        result.plan = {std::move(order), profile.peak, profile.cost};
        isMet = true;
      }
    }
    if (result.isOptimal && isMet)
      result.costBound = result.plan.cost;
  }
  if (result.plan.cost <= result.costBound && isMet)
    result.isOptimal = true;
  if (!isMet)
    result.status = RematResult::NotFound;
  return result;
}
