//===- RematLookahead.cpp - Strategies of rematerialization -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematStrategies.h"

#include <algorithm>
#include <cmath>
#include <queue>

using namespace mpt;
using namespace mpt::detail;

namespace {

/// How many dropped ancestors a cost counts, and how many dropped descendants are
/// asked for the next use: beyond, the difference no longer changes decisions.
constexpr unsigned maxAncestors = 400, maxDescendants = 60;
/// A plan that runs everything more often than this is useless.
constexpr size_t maxRepetitions = 20;
constexpr uint32_t none = ~uint32_t(0);

class Lookahead {
public:
  Lookahead(const RematIndex &index, int64_t budget,
            const LookaheadParameters &parameters)
      : index(index), graph(index.graph), budget(budget), parameters(parameters),
        present(graph.values.size(), false), pins(graph.values.size(), 0),
        version(graph.values.size(), 0), cursor(graph.values.size()),
        visited(std::max(graph.values.size(), graph.nodes.size()), 0) {
    for (size_t v = 0; v < cursor.size(); ++v)
      cursor[v] = index.readersOf[v];
    used = graph.fixedBytes;
  }

  bool run();
  std::vector<uint32_t> order;

private:
  /// A node that waits for its inputs.
  struct Frame {
    uint32_t node, nextInput;
  };
  struct Entry {
    double score;
    uint32_t value, version;
    bool operator<(const Entry &other) const {
      return score != other.score ? score > other.score : value > other.value;
    }
  };

  bool runNode(uint32_t node);
  bool execute(uint32_t node);
  bool makeRoom(int64_t bytes);
  void drop(uint32_t value);
  /// Whether more nodes have run, or been visited, than in any useful plan: the operands
  /// of one node alone may take exponentially many repetitions.
  bool isTooLong() const {
    size_t most = 64 + maxRepetitions * graph.nodes.size();
    return order.size() > most || asked > most * maxAncestors;
  }
  void push(uint32_t value) {
    if (present[value] && graph.nodes[graph.values[value].node].repeats())
      heap.push({score(value), value, ++version[value]});
  }
  double score(uint32_t value);
  /// Cost of making `value` again with what is present; negative if that cannot be
  /// done.
  double costOf(uint32_t value);
  /// First node from `now` on that reads the value or something dropped that is made
  /// of it; the number of nodes for the end of the step; `none` if there is none.
  uint32_t nextUse(uint32_t value);
  uint32_t nextReader(uint32_t value) {
    uint32_t &at = cursor[value];
    while (at < index.readersOf[value + 1] && index.readers[at] < now)
      ++at;
    if (at < index.readersOf[value + 1])
      return index.readers[at];
    return graph.values[value].leaves ? graph.nodes.size() : none;
  }

  const RematIndex &index;
  const RematGraph &graph;
  int64_t budget, used;
  LookaheadParameters parameters;
  /// The first node that has not run for the first time; while it runs, reads by it
  /// are still to come.
  uint32_t now = 0;
  std::vector<bool> present;
  std::vector<uint16_t> pins;
  std::vector<uint32_t> version, cursor;
  std::vector<uint32_t> visited;
  uint32_t visit = 0;
  size_t asked = 0;
  std::vector<uint32_t> scratch;
  std::priority_queue<Entry> heap;
  std::vector<Frame> stack;
};

double Lookahead::costOf(uint32_t value) {
  ++visit;
  scratch.assign(1, graph.values[value].node);
  visited[scratch[0]] = visit;
  double cost = 0;
  for (size_t i = 0; i < scratch.size() && i < maxAncestors; ++i) {
    const RematNode &node = graph.nodes[scratch[i]];
    if (!node.repeats())
      return -1;
    cost += node.cost;
    for (uint32_t input : node.inputs) {
      uint32_t maker = graph.values[input].node;
      if (!present[input] && visited[maker] != visit) {
        visited[maker] = visit;
        scratch.push_back(maker);
      }
    }
  }
  asked += scratch.size();
  // Too far to look: do not risk that something cannot be made again.
  return scratch.size() > maxAncestors ? -1 : cost;
}

uint32_t Lookahead::nextUse(uint32_t value) {
  uint32_t best = nextReader(value);
  if (best == now)
    return best;
  ++visit;
  scratch.assign(1, value);
  visited[value] = visit;
  // What cannot be made again must not be lost by looking too briefly.
  size_t limit =
      graph.nodes[graph.values[value].node].repeats() ? maxDescendants : ~size_t(0);
  for (size_t i = 0; i < scratch.size() && i < limit; ++i) {
    uint32_t at = scratch[i];
    for (uint32_t r = index.readersOf[at]; r < cursor[at]; ++r) {
      for (uint32_t made : graph.nodes[index.readers[r]].outputs) {
        if (present[made] || visited[made] == visit)
          continue;
        visited[made] = visit;
        uint32_t use = nextReader(made);
        best = std::min(best, use);
        if (best == now)
          return best;
        scratch.push_back(made);
      }
    }
  }
  asked += scratch.size();
  return best;
}

double Lookahead::score(uint32_t value) {
  double cost = costOf(value);
  if (cost < 0)
    return INFINITY;
  uint32_t use = nextUse(value);
  if (use == none)
    return -INFINITY;
  double distance = index.prefix[use] - index.prefix[now] + 1;
  return std::log(cost + 1) -
         parameters.bytes * std::log(double(graph.values[value].bytes) + 1) -
         parameters.distance * std::log(distance);
}

void Lookahead::drop(uint32_t value) {
  present[value] = false;
  used -= graph.values[value].bytes;
}

bool Lookahead::makeRoom(int64_t bytes) {
  std::vector<uint32_t> pinned;
  bool enough = true;
  while (used + bytes > budget) {
    if (heap.empty()) {
      enough = false;
      break;
    }
    Entry entry = heap.top();
    heap.pop();
    uint32_t value = entry.value;
    if (entry.version != version[value] || !present[value])
      continue;
    if (pins[value]) {
      pinned.push_back(value);
      continue;
    }
    if (graph.values[value].bytes == 0)
      continue;
    double current = score(value);
    // Others may have become cheaper than this one was when it was entered.
    if (!heap.empty() && current > heap.top().score && current > entry.score) {
      heap.push({current, value, ++version[value]});
      continue;
    }
    if (current == INFINITY) {
      pinned.push_back(value);
      continue;
    }
    drop(value);
    // Its operands have a new use, and its results a higher cost; the
    // latter is seen when they are popped.
    unsigned touched = 0;
    for (uint32_t input : graph.nodes[graph.values[value].node].inputs)
      if (touched++ < 8)
        push(input);
  }
  for (uint32_t value : pinned)
    push(value);
  return enough;
}

bool Lookahead::execute(uint32_t id) {
  const RematNode &node = graph.nodes[id];
  bool isFirst = id == now;
  int64_t bytes = node.workspace;
  // Outputs that a repetition makes though they are there or nobody wants them.
  std::vector<uint32_t> made;
  int64_t unwanted = 0;
  for (uint32_t output : node.outputs) {
    if (isFirst || (!present[output] && (pins[output] || nextUse(output) != none))) {
      made.push_back(output);
      bytes += graph.values[output].bytes;
    } else if (!node.prunesOutputs) {
      unwanted += graph.values[output].bytes;
    }
  }
  if (!makeRoom(bytes + unwanted))
    return false;
  used += bytes - node.workspace;
  for (uint32_t output : made)
    present[output] = true;
  order.push_back(id);
  for (uint32_t input : node.inputs)
    --pins[input];
  if (isFirst)
    ++now;
  for (uint32_t output : made) {
    if (isFirst)
      cursor[output] = index.readersOf[output];
    if (!pins[output] && nextUse(output) == none)
      drop(output);
  }
  for (uint32_t input : node.inputs) {
    if (!present[input] || pins[input])
      continue;
    if (nextUse(input) == none)
      drop(input);
    else
      push(input);
  }
  for (uint32_t output : made)
    push(output);
  // Making these again has become cheaper.
  if (!isFirst) {
    unsigned touched = 0;
    for (uint32_t output : made)
      for (uint32_t r = index.readersOf[output]; r < cursor[output] && touched < 8; ++r)
        for (uint32_t child : graph.nodes[index.readers[r]].outputs)
          if (touched++ < 8)
            push(child);
  }
  return true;
}

bool Lookahead::runNode(uint32_t id) {
  auto enter = [&](uint32_t node) {
    for (uint32_t input : graph.nodes[node].inputs)
      ++pins[input];
    stack.push_back({node, 0});
  };
  enter(id);
  while (!stack.empty()) {
    Frame &frame = stack.back();
    const RematNode &node = graph.nodes[frame.node];
    while (frame.nextInput < node.inputs.size() && present[node.inputs[frame.nextInput]])
      ++frame.nextInput;
    if (frame.nextInput < node.inputs.size()) {
      uint32_t maker = graph.values[node.inputs[frame.nextInput]].node;
      if (!graph.nodes[maker].repeats() || stack.size() > graph.nodes.size())
        return false;
      enter(maker);
      continue;
    }
    uint32_t ready = frame.node;
    stack.pop_back();
    if (!execute(ready) || isTooLong())
      return false;
  }
  return true;
}

bool Lookahead::run() {
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    if (id == graph.backward)
      for (uint32_t value = 0; value < graph.values.size(); ++value)
        if (present[value] &&
            graph.nodes[graph.values[value].node].save == RematSave::Never &&
            nextUse(value) > now && !graph.values[value].leaves && costOf(value) >= 0)
          drop(value);
    if (!runNode(id))
      return false;
  }
  // What leaves must be there.
  now = graph.nodes.size();
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].leaves)
      ++pins[value];
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].leaves && !present[value] &&
        !runNode(graph.values[value].node))
      return false;
  return true;
}

} // namespace

RematIndex::RematIndex(const RematGraph &graph) : graph(graph) {
  readersOf.assign(graph.values.size() + 1, 0);
  for (const RematNode &node : graph.nodes)
    for (uint32_t input : node.inputs)
      ++readersOf[input + 1];
  for (size_t v = 0; v < graph.values.size(); ++v)
    readersOf[v + 1] += readersOf[v];
  readers.resize(readersOf.back());
  std::vector<uint32_t> at(readersOf.begin(), readersOf.end() - 1);
  prefix.assign(graph.nodes.size() + 1, 0);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (uint32_t input : graph.nodes[i].inputs)
      readers[at[input]++] = i;
    prefix[i + 1] = prefix[i] + graph.nodes[i].cost;
  }
}

std::vector<uint32_t> detail::runLookahead(const RematIndex &index, int64_t budget,
                                           const LookaheadParameters &parameters) {
  Lookahead lookahead(index, budget, parameters);
  if (!lookahead.run())
    return {};
  return std::move(lookahead.order);
}
