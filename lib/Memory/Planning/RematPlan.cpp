//===- RematPlan.cpp - What to compute again to save memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematPlan.h"

#include "RematStrategies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <limits>

using namespace mpt;
using namespace mpt::detail;

namespace {

/// Of larger graphs a run is dear, and fewer are made.
constexpr size_t manyNodes = 20'000;

/// Exponents that the sweep tries; the first is the default.
constexpr std::pair<double, double> sweep[] = {
    {1, 1},   {1, 0.5},   {1, 0},    {1, 2},       {0.5, 1}, {0.75, 0.5},
    {1.5, 1}, {0.5, 0.5}, {0.25, 0}, {1.25, 0.25}, {0, 1},   {2, 1}};

/// Steps of annealing, for all rungs, per unit of effort; about as much time as running
/// a node in the lookahead planner. Below so many per node and rung it is not worth it.
constexpr int64_t annealSteps = 128, leastAnneal = 500;

/// Most steps of one annealing for each repetition that there can be: pairs of a node and
/// a later one. The public networks of docs/benchmarks.md need no more.
constexpr int64_t mostAnneal = 512;

/// Of graphs of at most so many nodes the best plan is searched for instead, in at most
/// so many states per node; that takes less time than annealing does.
constexpr int64_t maxSearched = 24, searchedStates = 32;

/// `ratio` of `bytes`, rounded down, but for what the ratio's own rounding took.
int64_t scale(int64_t bytes, double ratio) {
  return int64_t(std::min(double(bytes) * ratio * (1 + 1e-12), 9e18));
}

/// keepNarrowSides, if that takes no more bytes: where a widening runs both of its sides
/// are there, which in the least of budgets may be one too many.
void narrow(const RematGraph &graph, std::vector<uint32_t> &order,
            RematProfile &profile) {
  std::vector<uint32_t> narrowed = keepNarrowSides(graph, order);
  if (narrowed.size() == order.size())
    return;
  RematProfile after = measureRemat(graph, narrowed);
  if (!after.isValid || after.peak > profile.peak)
    return;
  order = std::move(narrowed);
  profile = after;
}

class Frontier {
public:
  Frontier(const RematGraph &graph, const RematOptions &options)
      : graph(graph), options(options), index(graph) {}

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
  /// One lookahead run and its improvement.
  void tryLookahead(int64_t budget, const LookaheadParameters &parameters);
  /// The rungs on which to anneal: all of a small graph, else every twentieth of what the
  /// plain order takes, and the tightest.
  std::vector<bool> chooseAnnealed(const std::vector<int64_t> &ladder,
                                   int64_t plain) const;
  /// Local search for plans within `budget`; of a tiny graph, where it can, the search
  /// for the best one.
  void improve(int64_t budget, int64_t steps, uint64_t seed);
  bool findOptimal(int64_t budget, int64_t cheaperThan, int64_t maxStates);

  const RematGraph &graph;
  const RematOptions &options;
  RematIndex index;
  bool hasNever = false;
  /// By ascending peak and descending cost.
  std::vector<RematPlan> plans;
};

RematProfile Frontier::add(std::vector<uint32_t> order) {
  RematProfile profile = measureRemat(graph, order);
  if (!profile.isValid)
    return profile;
  narrow(graph, order, profile);
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

void Frontier::tryLookahead(int64_t budget, const LookaheadParameters &parameters) {
  std::vector<uint32_t> order = runLookahead(index, budget, parameters);
  if (!order.empty())
    add(dropRepetitions(index, order, budget));
}

std::vector<int64_t> Frontier::makeLadder() const {
  int64_t least = getLeastBudget(graph).bytes;
  int64_t plain = measureRemat(graph, getPlainOrder(graph)).peak;
  // Twenty steps, so that the usual ratios are among them; more where a run is cheap.
  size_t size = graph.nodes.size();
  int64_t steps = size > manyNodes ? 20 : size > 4000 ? 40 : 100;
  std::vector<int64_t> ladder;
  for (int64_t i = 1; i < steps; ++i) {
    int64_t budget = scale(plain, double(i) / steps);
    if (budget > least)
      ladder.push_back(budget);
  }
  // Where it is tight.
  int64_t fine = size > manyNodes ? 1 : 4;
  for (int64_t i = 0; i < fine; ++i)
    ladder.push_back(least + (plain - least) * i / 200);
  std::sort(ladder.begin(), ladder.end());
  ladder.erase(std::unique(ladder.begin(), ladder.end()), ladder.end());
  return ladder;
}

std::vector<bool> Frontier::chooseAnnealed(const std::vector<int64_t> &ladder,
                                           int64_t plain) const {
  std::vector<bool> chosen(ladder.size(), graph.nodes.size() <= 200);
  for (int64_t i = 1; i < 20; ++i) {
    auto at =
        std::lower_bound(ladder.begin(), ladder.end(), scale(plain, double(i) / 20));
    if (at != ladder.end())
      chosen[at - ladder.begin()] = true;
  }
  if (!chosen.empty())
    chosen.front() = true;
  return chosen;
}

bool Frontier::findOptimal(int64_t budget, int64_t cheaperThan, int64_t maxStates) {
  bool isProved = false;
  std::vector<uint32_t> order =
      searchOptimal(index, budget, cheaperThan, maxStates, isProved);
  if (!order.empty())
    add(std::move(order));
  return isProved;
}

void Frontier::improve(int64_t budget, int64_t steps, uint64_t seed) {
  const RematPlan *known = find(budget);
  RematBound bound = boundRemat(graph, budget);
  if (bound.infeasible)
    return;
  // Nothing to be gained. Widenings that run again though there is room for their wide
  // side are not in the bound.
  int64_t cost = std::numeric_limits<int64_t>::max();
  if (known)
    cost = measureRemat(graph, dropRepetitions(index, known->order, budget)).cost;
  if (known && double(cost - bound.cost) * 1e4 < double(graph.getTotalCost()))
    return;
  const int64_t size = graph.nodes.size();
  if (size <= maxSearched && findOptimal(budget, cost, searchedStates * size))
    return;
  AnnealParameters parameters;
  parameters.work = std::min(steps, mostAnneal * size * size / 2);
  parameters.seed = seed;
  auto run = [&](const std::vector<uint32_t> &start) {
    std::vector<uint32_t> order = annealOrder(index, start, budget, parameters);
    if (!order.empty())
      add(dropRepetitions(index, order, budget));
  };
  // What RematSave::Never asks for is in what is known, and stays there.
  if (!hasNever)
    run(runByPrices(index, bound.prices));
  parameters.hot /= 4;
  known = find(budget);
  if (known || !hasNever)
    run(known ? std::vector<uint32_t>(known->order) : runByPrices(index, bound.prices));
}

std::vector<RematPlan> Frontier::run() {
  RematProfile plain = measureRemat(graph, getPlainOrder(graph));
  if (!plain.isValid)
    return {};
  // What the user wants made again is, however much room there is.
  hasNever = llvm::any_of(
      graph.nodes, [](const RematNode &node) { return node.save == RematSave::Never; });
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
  if (isAuto && graph.nodes.size() > manyNodes) {
    // Of many orders only those that are on the frontier.
    std::vector<std::vector<uint32_t>> orders = planSegments(index);
    for (const std::vector<uint32_t> &order : orders)
      add(order);
    llvm::erase_if(orders, [&](const std::vector<uint32_t> &order) {
      return llvm::none_of(plans,
                           [&](const RematPlan &plan) { return plan.order == order; });
    });
    for (const std::vector<uint32_t> &order : orders)
      addImproved(order);
  } else if (isAuto || options.strategy == RematStrategy::Segments) {
    for (const std::vector<uint32_t> &order : planSegments(index))
      addImproved(order);
  }
  if (isAuto || options.strategy == RematStrategy::MinCut)
    addImproved(planMinCut(index));
  if (!isAuto)
    return std::move(plans);

  std::vector<int64_t> ladder = makeLadder();
  // From the lowest up, each with a share of the effort that depends on nothing but the
  // graph: what is met by a budget and at what cost does not change if more is asked for.
  const int64_t size = graph.nodes.size(), rungs = ladder.size();
  const int64_t runs =
      std::clamp<int64_t>(options.effort / (8 * size * rungs + 1), 1, std::size(sweep));
  const int64_t again = std::min<int64_t>(options.effort / (2 * size * rungs + 1), 3);
  const std::vector<bool> isAnnealed = chooseAnnealed(ladder, plain.peak);
  const int64_t annealed = llvm::count(isAnnealed, true);
  const int64_t steps = std::min<int64_t>(options.effort, int64_t(1) << 50) *
                        annealSteps / (2 * std::max<int64_t>(annealed, 1));
  // A run may take less than it is given; where runs are dear, that is not waited for.
  for (int64_t budget : ladder)
    if (budget <= options.maxBytes || size <= int64_t(manyNodes))
      for (int64_t i = 0; i < runs; ++i)
        tryLookahead(budget, {sweep[i].first, sweep[i].second});
  for (auto [number, budget] : llvm::enumerate(ladder)) {
    if (budget > options.maxBytes)
      break;
    if (isAnnealed[number] && steps >= leastAnneal * size)
      improve(budget, steps, options.seed + number);
    // What was found on one rung may do better with the room of the next ones.
    std::vector<std::vector<uint32_t>> known;
    for (const RematPlan &plan : llvm::reverse(plans))
      if (plan.peak <= budget && int64_t(known.size()) < again)
        known.push_back(plan.order);
    for (const std::vector<uint32_t> &order : known)
      add(dropRepetitions(index, order, budget));
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

std::optional<int64_t> mpt::resolveRematBudget(const RematBudget &budget, int64_t plain) {
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
  std::optional<int64_t> bytes = resolveRematBudget(budget, plain.peak);
  RematOptions limited = options;
  limited.maxBytes = std::min(limited.maxBytes, bytes.value_or(limited.maxBytes));
  std::vector<RematPlan> plans = planRematFrontier(graph, limited);
  // The working set of everything may be an invalid graph's.
  if (plans.empty()) {
    result.status = RematResult::NotFound;
    return result;
  }
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
    std::vector<uint32_t> order =
        searchOptimal(index, result.budget,
                      isMet ? result.plan.cost : std::numeric_limits<int64_t>::max(),
                      options.maxStates, result.isOptimal);
    if (!order.empty()) {
      RematProfile profile = measureRemat(graph, order);
      if (profile.isValid && profile.peak <= result.budget) {
        const int64_t least = profile.cost;
        narrow(graph, order, profile);
        result.isOptimal &= profile.cost == least;
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
