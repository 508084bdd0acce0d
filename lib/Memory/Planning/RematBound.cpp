//===- RematBound.cpp - Lower bounds of rematerialization -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematBound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

using namespace mpt;

namespace {

/// Arcs of the flow above which time is made coarser.
constexpr size_t maxArcs = 6000;

/// A gap around the nodes `begin` to `end` - 1.
struct Gap {
  uint32_t begin, end;
  int64_t bytes;
  /// Cost of dropping all of it.
  double cost;
};

/// A minimum-cost flow that covers a need at each point of a line: arcs lead
/// forwards over a range of points and cost something up to their capacity;
/// covering more than is needed is free. Primal-dual with blocking flows.
class LineCover {
public:
  explicit LineCover(const std::vector<int64_t> &need) : size(need.size() + 1) {
    source = size;
    sink = size + 1;
    arcsOf.resize(size + 2);
    potential.assign(size + 2, 0);
    for (uint32_t i = 0; i < size; ++i) {
      int64_t supply = (i < need.size() ? need[i] : 0) - (i > 0 ? need[i - 1] : 0);
      if (supply > 0)
        addArc(source, i, supply, 0);
      if (supply < 0)
        addArc(i, sink, -supply, 0);
      if (i > 0)
        addArc(i, i - 1, std::numeric_limits<int64_t>::max() / 4, 0);
    }
  }
  void addArc(uint32_t from, uint32_t to, int64_t capacity, int64_t cost) {
    arcsOf[from].push_back(arcs.size());
    arcs.push_back({to, capacity, cost});
    arcsOf[to].push_back(arcs.size());
    arcs.push_back({from, 0, -cost});
  }
  void solve() {
    while (findDistances())
      augment();
  }
  /// The price of point `i`.
  int64_t getPrice(uint32_t i) const {
    return std::max<int64_t>(potential[i + 1] - potential[i], 0);
  }

private:
  struct Arc {
    uint32_t to;
    int64_t residual, cost;
  };
  bool findDistances();
  void augment();

  uint32_t size, source, sink;
  std::vector<Arc> arcs;
  std::vector<std::vector<uint32_t>> arcsOf;
  std::vector<int64_t> potential, distance;
};

bool LineCover::findDistances() {
  constexpr int64_t far = std::numeric_limits<int64_t>::max();
  distance.assign(size + 2, far);
  distance[source] = 0;
  using Entry = std::pair<int64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  queue.push({0, source});
  while (!queue.empty()) {
    auto [at, node] = queue.top();
    queue.pop();
    if (at > distance[node])
      continue;
    for (uint32_t id : arcsOf[node]) {
      const Arc &arc = arcs[id];
      if (arc.residual == 0)
        continue;
      int64_t to = at + arc.cost + potential[node] - potential[arc.to];
      if (to < distance[arc.to]) {
        distance[arc.to] = to;
        queue.push({to, arc.to});
      }
    }
  }
  int64_t limit = distance[sink];
  if (limit == far)
    return false;
  for (uint32_t i = 0; i < size + 2; ++i)
    potential[i] += std::min(distance[i], limit);
  return true;
}

/// A blocking flow along arcs of no reduced cost, by depth-first search in levels.
void LineCover::augment() {
  auto isTight = [&](uint32_t from, const Arc &arc) {
    return arc.residual > 0 && arc.cost + potential[from] == potential[arc.to];
  };
  for (;;) {
    std::vector<uint32_t> level(size + 2, ~0u), current(size + 2, 0), queue = {source};
    level[source] = 0;
    for (size_t i = 0; i < queue.size() && level[sink] == ~0u; ++i)
      for (uint32_t id : arcsOf[queue[i]])
        if (isTight(queue[i], arcs[id]) && level[arcs[id].to] == ~0u) {
          level[arcs[id].to] = level[queue[i]] + 1;
          queue.push_back(arcs[id].to);
        }
    if (level[sink] == ~0u)
      return;
    std::vector<uint32_t> path;
    uint32_t node = source;
    for (;;) {
      if (node == sink) {
        int64_t amount = std::numeric_limits<int64_t>::max();
        for (uint32_t id : path)
          amount = std::min(amount, arcs[id].residual);
        size_t cut = 0;
        for (size_t i = path.size(); i-- > 0;) {
          arcs[path[i]].residual -= amount;
          arcs[path[i] ^ 1].residual += amount;
          if (arcs[path[i]].residual == 0)
            cut = i;
        }
        node = arcs[path[cut] ^ 1].to;
        path.resize(cut);
        continue;
      }
      if (current[node] < arcsOf[node].size()) {
        uint32_t id = arcsOf[node][current[node]];
        if (isTight(node, arcs[id]) && level[arcs[id].to] == level[node] + 1) {
          path.push_back(id);
          node = arcs[id].to;
        } else {
          ++current[node];
        }
        continue;
      }
      if (path.empty())
        break;
      node = arcs[path.back() ^ 1].to;
      path.pop_back();
      ++current[node];
    }
  }
}

class Bounder {
public:
  Bounder(const RematGraph &graph) : graph(graph) {
    uint32_t count = graph.nodes.size();
    working.resize(count);
    kept.assign(count + 1, 0);
    std::vector<uint32_t> last(graph.values.size(), 0);
    std::vector<double> costs = getChainCosts();
    auto close = [&](uint32_t value, uint32_t at) {
      uint32_t begin = last[value] + 1;
      int64_t bytes = graph.values[value].bytes;
      last[value] = at;
      if (begin >= at || bytes == 0)
        return;
      const RematNode &node = graph.nodes[graph.values[value].node];
      if (node.repeats()) {
        gaps.push_back({begin, at, bytes, costs[value]});
        return;
      }
      kept[begin] += bytes;
      kept[at] -= bytes;
    };
    for (uint32_t i = 0; i < count; ++i) {
      working[i] = graph.getWorkingSet(i);
      for (uint32_t value : graph.nodes[i].inputs)
        close(value, i);
      for (uint32_t value : graph.nodes[i].outputs)
        last[value] = i;
    }
    for (uint32_t value = 0; value < graph.values.size(); ++value)
      if (graph.values[value].leaves)
        close(value, count);
    // What is alive at each node whatever is dropped.
    int64_t live = 0;
    for (uint32_t i = 0; i < count; ++i) {
      live += kept[i];
      working[i] += live;
    }
  }

  RematBound::Witness getLeast() const {
    RematBound::Witness least{0, graph.fixedBytes};
    for (uint32_t i = 0; i < working.size(); ++i)
      if (working[i] > least.bytes)
        least = {i, working[i]};
    return least;
  }

  RematBound run(int64_t budget);

private:
  /// For each value the cost of recomputing it, including inputs that have no other
  /// consumer.
  std::vector<double> getChainCosts() const;
  /// Prices from the flow with one point for every `stride` nodes.
  std::vector<double> findPrices(const std::vector<int64_t> &need, uint32_t points);
  double evaluate(const std::vector<int64_t> &need, const std::vector<double> &prices,
                  double scale);

  const RematGraph &graph;
  std::vector<Gap> gaps;
  std::vector<int64_t> working, kept;
};

std::vector<double> Bounder::getChainCosts() const {
  std::vector<uint32_t> readers(graph.values.size(), 0);
  for (const RematNode &node : graph.nodes)
    for (uint32_t input : node.inputs)
      ++readers[input];
  std::vector<double> costs(graph.values.size(), 0);
  for (const RematNode &node : graph.nodes) {
    double before = 0;
    if (node.outputs.size() == 1)
      for (uint32_t value : node.inputs) {
        const RematValue &input = graph.values[value];
        const RematNode &maker = graph.nodes[input.node];
        if (readers[value] == 1 && !input.leaves && maker.repeats() &&
            maker.outputs.size() == 1 &&
            input.bytes >= graph.values[node.outputs[0]].bytes)
          before += costs[value];
      }
    for (uint32_t output : node.outputs)
      costs[output] = before + node.cost / double(node.outputs.size());
  }
  return costs;
}

double Bounder::evaluate(const std::vector<int64_t> &need,
                         const std::vector<double> &prices, double scale) {
  std::vector<double> sums(prices.size() + 1, 0);
  double bound = 0, magnitude = 0;
  for (size_t i = 0; i < prices.size(); ++i) {
    sums[i + 1] = sums[i] + scale * prices[i];
    bound += scale * prices[i] * need[i];
    magnitude += std::abs(scale * prices[i] * need[i]);
  }
  for (const Gap &gap : gaps) {
    double paid = gap.bytes * (sums[gap.end] - sums[gap.begin]) - gap.cost;
    if (paid > 0) {
      bound -= paid;
      magnitude += paid + gap.cost;
    }
  }
  // Far above what a few hundred thousand roundings of doubles add up to.
  return bound - 1e-9 * magnitude;
}

std::vector<double> Bounder::findPrices(const std::vector<int64_t> &need,
                                        uint32_t points) {
  uint32_t count = need.size();
  // The neediest node of each stretch stands for it.
  std::vector<uint32_t> chosen;
  for (uint64_t p = 0; p < points; ++p) {
    uint32_t begin = p * count / points, end = (p + 1) * count / points;
    uint32_t best = begin;
    for (uint32_t i = begin; i < end; ++i)
      if (need[i] > need[best])
        best = i;
    if (begin < end && need[best] > 0)
      chosen.push_back(best);
  }
  std::vector<int64_t> needs;
  for (uint32_t i : chosen)
    needs.push_back(need[i]);
  double cheapest = std::numeric_limits<double>::infinity(), dearest = 0;
  for (const Gap &gap : gaps)
    if (gap.cost > 0) {
      cheapest = std::min(cheapest, gap.cost / gap.bytes);
      dearest = std::max(dearest, gap.cost / gap.bytes);
    }
  std::vector<double> prices(count, 0);
  if (dearest == 0)
    return prices;
  // Integer costs, so that what is tight is known exactly.
  double unit = std::max(cheapest * 1e-4, dearest * 1e-12);
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, int64_t> merged;
  bool isExact = points == count;
  for (const Gap &gap : gaps) {
    uint32_t begin =
        std::lower_bound(chosen.begin(), chosen.end(), gap.begin) - chosen.begin();
    uint32_t end =
        std::lower_bound(chosen.begin(), chosen.end(), gap.end) - chosen.begin();
    if (begin >= end)
      continue;
    double cost = gap.cost / gap.bytes / unit;
    // Nearly equal costs are one where time is coarse.
    if (!isExact && cost > 0)
      cost = std::exp(std::round(std::log(cost) * 64) / 64);
    merged[{begin, end, int64_t(std::llround(cost))}] += gap.bytes;
  }
  if (merged.size() > maxArcs && points > 16)
    return findPrices(need, std::max<uint32_t>(16, std::min<uint32_t>(points / 2, 2048)));
  LineCover cover(needs);
  for (auto [key, bytes] : merged)
    cover.addArc(std::get<0>(key), std::get<1>(key), bytes, std::get<2>(key));
  cover.solve();
  for (size_t i = 0; i < chosen.size(); ++i)
    prices[chosen[i]] = cover.getPrice(i) * unit;
  return prices;
}

RematBound Bounder::run(int64_t budget) {
  RematBound bound;
  bound.cost = graph.getTotalCost();
  RematBound::Witness least = getLeast();
  if (least.bytes > budget) {
    bound.infeasible = least;
    return bound;
  }
  // How far the budget is exceeded if no gap is dropped.
  std::vector<int64_t> change(working.size() + 1, 0);
  for (const Gap &gap : gaps) {
    change[gap.begin] += gap.bytes;
    change[gap.end] -= gap.bytes;
  }
  std::vector<int64_t> need(working.size());
  int64_t live = 0, most = 0;
  for (size_t i = 0; i < need.size(); ++i) {
    live += change[i];
    need[i] = std::max<int64_t>(working[i] + live - budget, 0);
    most = std::max(most, need[i]);
  }
  if (most == 0)
    return bound;
  bound.prices = findPrices(need, need.size());
  double best = 0;
  // Merged costs are off by up to a percent; so may the prices be.
  double bestScale = 1;
  for (double scale : {1.0, 0.985, 0.995, 1.005, 1.015}) {
    double value = evaluate(need, bound.prices, scale);
    if (value > best) {
      best = value;
      bestScale = scale;
    }
  }
  for (double &price : bound.prices)
    price *= bestScale;
  bound.cost += int64_t(std::ceil(std::max(best, 0.0) - 1e-6));
  return bound;
}

} // namespace

RematBound mpt::boundRemat(const RematGraph &graph, int64_t budget) {
  return Bounder(graph).run(budget);
}

RematBound::Witness mpt::getLeastBudget(const RematGraph &graph) {
  return Bounder(graph).getLeast();
}
