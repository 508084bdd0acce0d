//===- RematOptimal.cpp - The best plan of a small graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A* over (number of nodes that have run, values that are there). Values are
/// dropped only where a node would not fit, and no more of them than it takes:
/// having more never hurts. What is still to be paid is bounded from below by the
/// prices of RematBound, with what is away now counted as paid for.
///
//===----------------------------------------------------------------------===//

#include "RematStrategies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>

using namespace mpt;
using namespace mpt::detail;

namespace {

constexpr uint32_t maxValues = 128;
/// Ways to make room for one node; beyond, nothing is proved.
constexpr size_t maxDropSets = 5000;

struct Set {
  std::array<uint64_t, 2> words = {0, 0};
  bool has(uint32_t i) const { return words[i / 64] >> (i % 64) & 1; }
  void add(uint32_t i) { words[i / 64] |= uint64_t(1) << (i % 64); }
  void remove(uint32_t i) { words[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  Set operator&(const Set &o) const {
    return {{words[0] & o.words[0], words[1] & o.words[1]}};
  }
  bool operator==(const Set &o) const { return words == o.words; }
};

struct State {
  uint32_t next;
  Set there;
  bool operator==(const State &o) const { return next == o.next && there == o.there; }
};

struct StateHash {
  size_t operator()(const State &s) const {
    uint64_t hash = s.next;
    for (uint64_t word : s.there.words)
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ull ^ (hash >> 29);
    return hash ^ (hash >> 32);
  }
};

class Search {
public:
  Search(const RematIndex &index, int64_t budget, int64_t cheaperThan, int64_t maxStates)
      : index(index), graph(index.graph), budget(budget), limit(cheaperThan),
        maxStates(maxStates) {}

  std::vector<uint32_t> run(bool &isProved);

private:
  struct Record {
    int64_t cost;
    uint32_t parent, node;
    State state;
  };
  struct Entry {
    int64_t total;
    uint32_t next, record;
    int64_t cost;
    bool operator<(const Entry &o) const {
      return total != o.total ? total > o.total
             : next != o.next ? next < o.next
                              : record > o.record;
    }
  };

  void prepare();
  int64_t boundFrom(const State &state) const;
  void expand(uint32_t record);
  void tryNode(uint32_t record, uint32_t node);
  void reach(uint32_t parent, uint32_t node, State state, int64_t cost);
  /// The read of `value` at or after `next`; the number of nodes for the end; none.
  uint32_t nextReader(uint32_t value, uint32_t next) const {
    auto begin = index.readers.begin() + index.readersOf[value];
    auto end = index.readers.begin() + index.readersOf[value + 1];
    auto at = std::lower_bound(begin, end, next);
    if (at != end)
      return *at;
    return graph.values[value].leaves ? graph.nodes.size() : ~0u;
  }
  int64_t getBytes(const Set &set) const {
    int64_t bytes = graph.fixedBytes;
    for (uint32_t v = 0; v < graph.values.size(); ++v)
      if (set.has(v))
        bytes += graph.values[v].bytes;
    return bytes;
  }

  const RematIndex &index;
  const RematGraph &graph;
  int64_t budget, limit, maxStates;
  bool gaveUp = false;
  std::vector<Record> records;
  std::unordered_map<State, uint32_t, StateHash> known;
  std::priority_queue<Entry> queue;
  /// Per number of nodes that have run: values that may still be of use.
  std::vector<Set> useful;
  /// Prices summed up to node i, and what is to be paid from node i on if all values
  /// are there: sum of price * need less what dropping in later gaps saves.
  std::vector<double> prices, future;
};

void Search::prepare() {
  uint32_t count = graph.nodes.size();
  for (uint32_t next = 0; next <= count; ++next) {
    Set set;
    std::vector<uint32_t> stack;
    for (uint32_t v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].node < next && nextReader(v, next) != ~0u) {
        set.add(v);
        stack.push_back(v);
      }
    while (!stack.empty()) {
      const RematNode &maker = graph.nodes[graph.values[stack.back()].node];
      stack.pop_back();
      if (!maker.repeats())
        continue;
      for (uint32_t input : maker.inputs)
        if (!set.has(input)) {
          set.add(input);
          stack.push_back(input);
        }
    }
    useful.push_back(set);
  }
  RematBound bound = boundRemat(graph, budget);
  prices.assign(count + 1, 0);
  future.assign(count + 1, 0);
  std::vector<double> price = bound.prices;
  price.resize(count, 0);
  for (uint32_t i = 0; i < count; ++i)
    prices[i + 1] = prices[i] + price[i];
  // Node by node backwards: what is exceeded there with all gaps kept, and the gaps
  // that begin after it.
  std::vector<double> need(count, 0), gapsFrom(count + 2, 0);
  for (uint32_t i = 0; i < count; ++i)
    need[i] = graph.getWorkingSet(i) - budget;
  for (uint32_t v = 0; v < graph.values.size(); ++v) {
    uint32_t last = graph.values[v].node;
    const RematNode &maker = graph.nodes[last];
    double bytes = graph.values[v].bytes;
    for (;;) {
      uint32_t use = nextReader(v, last + 1);
      if (use == ~0u)
        break;
      for (uint32_t i = last + 1; i < use && i < count; ++i)
        need[i] += bytes;
      double paid = bytes * (prices[std::min(use, count)] - prices[last + 1]) -
                    double(maker.cost) / maker.outputs.size();
      if (maker.repeats() && paid > 0)
        gapsFrom[last] += paid;
      if (use >= count)
        break;
      last = use;
    }
  }
  for (uint32_t i = count; i-- > 0;)
    future[i] = future[i + 1] + price[i] * need[i] - gapsFrom[i];
}

int64_t Search::boundFrom(const State &state) const {
  uint32_t count = graph.nodes.size();
  double total = state.next <= count ? future[state.next] : 0;
  double certain = 0;
  Set charged;
  std::vector<uint32_t> stack;
  for (uint32_t v = 0; v < graph.values.size(); ++v) {
    uint32_t maker = graph.values[v].node;
    if (maker >= state.next)
      continue;
    uint32_t use = nextReader(v, state.next);
    if (use == ~0u)
      continue;
    const RematNode &node = graph.nodes[maker];
    double cost = double(node.cost) / node.outputs.size();
    double away = double(graph.values[v].bytes) *
                  (prices[std::min(use, count)] - prices[state.next]);
    if (!state.there.has(v)) {
      if (!node.repeats())
        return std::numeric_limits<int64_t>::max();
      total += cost - away;
      certain += cost;
      charged.add(v);
      stack.push_back(v);
    } else if (node.repeats()) {
      total -= std::max(0.0, away - cost);
    }
  }
  // What those are made of.
  double ancestors = 0;
  while (!stack.empty()) {
    const RematNode &node = graph.nodes[graph.values[stack.back()].node];
    stack.pop_back();
    for (uint32_t input : node.inputs) {
      if (state.there.has(input) || charged.has(input))
        continue;
      const RematNode &maker = graph.nodes[graph.values[input].node];
      if (!maker.repeats())
        return std::numeric_limits<int64_t>::max();
      charged.add(input);
      ancestors += double(maker.cost) / maker.outputs.size();
      stack.push_back(input);
    }
  }
  double bound = std::max(total, certain) + ancestors;
  return int64_t(std::max(0.0, std::ceil(bound * (1 - 1e-9) - 1e-3)));
}

void Search::reach(uint32_t parent, uint32_t node, State state, int64_t cost) {
  state.there = state.there & useful[state.next];
  auto [it, isNew] = known.insert({state, uint32_t(records.size())});
  if (!isNew && records[it->second].cost <= cost)
    return;
  int64_t rest = boundFrom(state);
  if (rest == std::numeric_limits<int64_t>::max() || cost + rest >= limit) {
    if (isNew)
      known.erase(it);
    return;
  }
  it->second = records.size();
  queue.push({cost + rest, state.next, uint32_t(records.size()), cost});
  records.push_back({cost, parent, node, state});
}

void Search::tryNode(uint32_t record, uint32_t id) {
  State state = records[record].state;
  const RematNode &node = graph.nodes[id];
  bool isFirst = id == state.next;
  for (uint32_t input : node.inputs)
    if (!state.there.has(input))
      return;
  std::vector<uint32_t> outputs;
  for (uint32_t output : node.outputs) {
    if (isFirst || !node.prunesOutputs) {
      state.there.remove(output);
      outputs.push_back(output);
    } else if (!state.there.has(output) && useful[state.next].has(output)) {
      outputs.push_back(output);
    }
  }
  // Which outputs: all, or with pruning every choice of them.
  bool prunes = !isFirst && node.prunesOutputs;
  if (outputs.size() > 10 || (outputs.empty() && !isFirst)) {
    gaveUp |= outputs.size() > 10;
    return;
  }
  uint32_t all = (1u << outputs.size()) - 1;
  for (uint32_t choice = all;; choice = (choice - 1) & all) {
    if (prunes && choice == 0)
      break;
    int64_t bytes = getBytes(state.there) + node.workspace - budget;
    for (uint32_t i = 0; i < outputs.size(); ++i)
      if (choice >> i & 1)
        bytes += graph.values[outputs[i]].bytes;
    State after = state;
    after.next += isFirst;
    auto finish = [&](State dropped) {
      for (uint32_t i = 0; i < outputs.size(); ++i)
        if (choice >> i & 1)
          dropped.there.add(outputs[i]);
      reach(record, id, dropped, records[record].cost + (isFirst ? 0 : node.cost));
    };
    if (bytes <= 0) {
      finish(after);
    } else {
      std::vector<uint32_t> victims;
      for (uint32_t v = 0; v < graph.values.size(); ++v)
        if (state.there.has(v) && graph.values[v].bytes > 0 &&
            std::find(node.inputs.begin(), node.inputs.end(), v) == node.inputs.end())
          victims.push_back(v);
      std::sort(victims.begin(), victims.end(), [&](uint32_t a, uint32_t b) {
        return graph.values[a].bytes < graph.values[b].bytes;
      });
      std::vector<int64_t> left(victims.size() + 1, 0);
      for (size_t i = victims.size(); i-- > 0;)
        left[i] = left[i + 1] + graph.values[victims[i]].bytes;
      // Minimal sets: in ascending order of bytes, the first chosen is the least, and
      // no set is minimal that suffices without it.
      struct Choice {
        size_t next;
        int64_t missing, least;
        State state;
      };
      std::vector<Choice> stack = {{0, bytes, 0, after}};
      size_t sets = 0;
      while (!stack.empty()) {
        Choice at = stack.back();
        stack.pop_back();
        if (at.missing <= 0) {
          if (at.missing + at.least <= 0)
            continue;
          if (++sets > maxDropSets) {
            gaveUp = true;
            break;
          }
          finish(at.state);
          continue;
        }
        if (at.next == victims.size() || left[at.next] < at.missing)
          continue;
        Choice without = at;
        ++without.next;
        stack.push_back(without);
        int64_t size = graph.values[victims[at.next]].bytes;
        if (at.least == 0)
          at.least = size;
        at.missing -= size;
        at.state.there.remove(victims[at.next]);
        ++at.next;
        stack.push_back(at);
      }
    }
    if (!prunes)
      break;
  }
}

void Search::expand(uint32_t record) {
  uint32_t next = records[record].state.next;
  if (next < graph.nodes.size())
    tryNode(record, next);
  // Copies: `records` moves while it grows.
  Set there = records[record].state.there;
  for (uint32_t id = 0; id < next; ++id) {
    const RematNode &node = graph.nodes[id];
    if (!node.repeats() || id == records[record].node)
      continue;
    for (uint32_t output : node.outputs)
      if (!there.has(output) && useful[next].has(output)) {
        tryNode(record, id);
        break;
      }
  }
}

std::vector<uint32_t> Search::run(bool &isProved) {
  isProved = false;
  if (graph.values.size() > maxValues)
    return {};
  for (const RematNode &node : graph.nodes)
    if (node.save == RematSave::Never || node.inPlace > 0)
      return {};
  prepare();
  int64_t first = graph.getTotalCost();
  if (limit != std::numeric_limits<int64_t>::max())
    limit -= first;
  reach(~0u, ~0u, {0, Set()}, 0);
  while (!queue.empty() && int64_t(records.size()) < maxStates) {
    Entry entry = queue.top();
    queue.pop();
    State state = records[entry.record].state;
    if (known.find(state)->second != entry.record)
      continue;
    if (state.next == graph.nodes.size()) {
      bool isComplete = true;
      for (uint32_t v = 0; v < graph.values.size(); ++v)
        isComplete &= !graph.values[v].leaves || state.there.has(v);
      if (isComplete) {
        std::vector<uint32_t> order;
        for (uint32_t r = entry.record; records[r].node != ~0u; r = records[r].parent)
          order.push_back(records[r].node);
        std::reverse(order.begin(), order.end());
        isProved = !gaveUp;
        return order;
      }
    }
    expand(entry.record);
  }
  // Nothing is cheaper than what was there.
  isProved = queue.empty() && !gaveUp;
  return {};
}

} // namespace

std::vector<uint32_t> detail::searchOptimal(const RematIndex &index, int64_t budget,
                                            int64_t cheaperThan, int64_t maxStates,
                                            bool &isProved) {
  return Search(index, budget, cheaperThan, maxStates).run(isProved);
}
