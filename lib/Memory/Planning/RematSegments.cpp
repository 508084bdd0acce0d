//===- RematSegments.cpp - Plans that say what is kept -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematStrategies.h"
#include "mpt/Memory/Planning/RematPlan.h"
#include "mpt/Support/MinCut.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace mpt;
using namespace mpt::detail;

namespace {

/// How many numbers of segments are tried.
constexpr unsigned maxSegmentCounts = 24;

/// The forward nodes' segments: at most `count` of about equal bytes (or equally
/// many nodes).
std::vector<uint32_t> cutForward(const RematGraph &graph, uint32_t count, bool byBytes) {
  uint32_t forward = std::min<size_t>(graph.backward, graph.nodes.size());
  std::vector<double> sums(forward + 1, 0);
  for (uint32_t i = 0; i < forward; ++i) {
    double size = 1;
    if (byBytes) {
      size = 0;
      for (uint32_t value : graph.nodes[i].outputs)
        size += graph.values[value].bytes;
    }
    sums[i + 1] = sums[i] + size;
  }
  std::vector<uint32_t> segments(forward);
  for (uint32_t i = 0; i < forward; ++i)
    segments[i] =
        std::min<double>(count - 1, std::floor(sums[i] * count / (sums[forward] + 1e-9)));
  return segments;
}

} // namespace

void RematExecution::runWithOperands(uint32_t id) {
  stack.assign(1, id);
  while (!stack.empty()) {
    uint32_t top = stack.back(), missing = ~0u;
    for (uint32_t input : graph.nodes[top].inputs)
      if (!present[input]) {
        missing = graph.values[input].node;
        break;
      }
    if (missing != ~0u) {
      stack.push_back(missing);
      continue;
    }
    stack.pop_back();
    run(top);
  }
}

std::vector<uint32_t> detail::runWithSaved(const RematIndex &index,
                                           const std::vector<bool> &saved) {
  const RematGraph &graph = index.graph;
  uint32_t backward = std::min<size_t>(graph.backward, graph.nodes.size());
  RematExecution execution(graph);
  for (uint32_t id = 0; id < backward; ++id)
    execution.run(id);
  for (uint32_t value = 0; value < graph.values.size(); ++value) {
    const RematNode &node = graph.nodes[graph.values[value].node];
    // One output made again makes all of them again, as far as is asked for.
    bool keeps = !node.repeats() || graph.values[value].leaves ||
                 (saved[value] && node.save != RematSave::Never);
    execution.present[value] = execution.present[value] && keeps;
  }
  // What kernels compute for themselves is made again for those behind the next matmul:
  // else it would be stored for them.
  std::vector<bool> fades(graph.values.size());
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    fades[value] = graph.values[value].node < backward && !execution.present[value] &&
                   graph.nodes[graph.values[value].node].isAbsorbed;
  size_t sinceSplit = execution.order.size();
  for (uint32_t id = backward; id < graph.nodes.size(); ++id) {
    execution.runWithOperands(id);
    if (!graph.nodes[id].splitsKernels)
      continue;
    for (; sinceSplit < execution.order.size(); ++sinceSplit)
      for (uint32_t value : graph.nodes[execution.order[sinceSplit]].outputs)
        if (fades[value])
          execution.present[value] = false;
  }
  return std::move(execution.order);
}

std::vector<std::vector<uint32_t>> detail::planSegments(const RematIndex &index) {
  const RematGraph &graph = index.graph;
  uint32_t forward = std::min<size_t>(graph.backward, graph.nodes.size());
  double root = std::sqrt(double(forward));
  std::set<uint32_t> counts;
  for (unsigned i = 0; i < maxSegmentCounts; ++i)
    counts.insert(uint32_t(std::llround(
        std::exp(std::log(std::max(2 * root, 2.0)) * i / (maxSegmentCounts - 1)))));
  counts.insert(uint32_t(std::llround(root)));
  std::vector<std::vector<uint32_t>> orders;
  for (uint32_t count : counts)
    for (bool byBytes : {false, true}) {
      if (count == 0)
        continue;
      std::vector<uint32_t> segments = cutForward(graph, count, byBytes);
      std::vector<bool> saved(graph.values.size(), false);
      for (uint32_t id = 0; id < forward; ++id)
        for (uint32_t value : graph.nodes[id].inputs)
          if (segments[graph.values[value].node] != segments[id])
            saved[value] = true;
      // The last segment's values are still there when the backward pass begins.
      for (uint32_t value = 0; value < graph.values.size(); ++value)
        if (graph.values[value].node < forward &&
            segments[graph.values[value].node] == segments.back())
          saved[value] = true;
      orders.push_back(runWithSaved(index, saved));
    }
  return orders;
}

std::vector<uint32_t> detail::planMinCut(const RematIndex &index, double price) {
  const RematGraph &graph = index.graph;
  uint32_t forward = std::min<size_t>(graph.backward, graph.nodes.size());
  // Per forward value two nodes: on the sink's side are those whose value the
  // backward pass needs, the first if the value is made again.
  MinCut cut;
  for (size_t i = 0; i < 2 * graph.values.size(); ++i)
    cut.addNode();
  for (uint32_t value = 0; value < graph.values.size(); ++value) {
    uint32_t maker = graph.values[value].node;
    if (maker >= forward)
      continue;
    const RematNode &node = graph.nodes[maker];
    uint32_t made = 2 * value, there = made + 1;
    cut.addEdge(made, there, std::max<int64_t>(graph.values[value].bytes, 1));
    if (!node.repeats() || (!node.isFree && node.save != RematSave::Never) ||
        graph.values[value].leaves)
      cut.addSource(made, MinCut::kInfinite);
    else if (price > 0 && node.outputs.front() == value)
      cut.addSource(made, int64_t(price * double(node.repeatCost)));
    for (uint32_t input : node.inputs)
      cut.addEdge(2 * input + 1, made, MinCut::kInfinite);
    for (uint32_t r = index.readersOf[value]; r < index.readersOf[value + 1]; ++r)
      if (index.readers[r] >= forward) {
        cut.addSink(there, MinCut::kInfinite);
        break;
      }
  }
  cut.solve();
  std::vector<bool> saved(graph.values.size(), true);
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].node < forward)
      saved[value] = cut.isSourceSide(2 * value);
  return runWithSaved(index, saved);
}

std::vector<uint32_t> detail::runByPrices(const RematIndex &index,
                                          const std::vector<double> &prices) {
  const RematGraph &graph = index.graph;
  uint32_t count = graph.nodes.size();
  std::vector<double> sums(count + 1, 0);
  for (uint32_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + (i < prices.size() ? prices[i] : 0);
  std::vector<std::vector<uint32_t>> repeated(count + 1);
  for (uint32_t value = 0; value < graph.values.size(); ++value) {
    const RematValue &v = graph.values[value];
    if (!graph.nodes[v.node].repeats())
      continue;
    uint32_t last = v.node;
    auto close = [&](uint32_t use) {
      if (use > last + 1 && double(v.bytes) * (sums[use] - sums[last + 1]) >
                                double(graph.nodes[v.node].cost))
        repeated[use].push_back(v.node);
      last = use;
    };
    for (uint32_t r = index.readersOf[value]; r < index.readersOf[value + 1]; ++r)
      close(index.readers[r]);
    if (v.leaves)
      close(count);
  }
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i <= count; ++i) {
    std::sort(repeated[i].begin(), repeated[i].end());
    repeated[i].erase(std::unique(repeated[i].begin(), repeated[i].end()),
                      repeated[i].end());
    order.insert(order.end(), repeated[i].begin(), repeated[i].end());
    if (i < count)
      order.push_back(i);
  }
  return order;
}

std::vector<uint32_t> mpt::keepNarrowSides(const RematGraph &graph,
                                           const std::vector<uint32_t> &order) {
  std::vector<bool> ran(graph.nodes.size(), false), isOld(graph.nodes.size(), false);
  std::vector<uint32_t> result, stack;
  bool isBackward = false;
  // A widening whose latest run was in the forward pass runs again, and what it widens
  // before it.
  auto addOld = [&](uint32_t reader) {
    for (uint32_t value : graph.nodes[reader].inputs)
      if (isOld[graph.values[value].node])
        stack.push_back(graph.values[value].node);
  };
  for (uint32_t id : order) {
    if (id == graph.backward && !ran[id]) {
      isBackward = true;
      for (uint32_t before = 0; before < graph.nodes.size(); ++before) {
        const RematNode &node = graph.nodes[before];
        isOld[before] = ran[before] && node.widens && node.repeats() &&
                        node.inputs.size() <= 1 && node.outputs.size() == 1 &&
                        !graph.values[node.outputs.front()].leaves;
      }
    }
    ran[id] = true;
    if (isBackward) {
      addOld(id);
      while (!stack.empty()) {
        uint32_t top = stack.back();
        size_t size = stack.size();
        addOld(top);
        if (stack.size() > size)
          continue;
        stack.pop_back();
        if (isOld[top])
          result.push_back(top);
        isOld[top] = false;
      }
      isOld[id] = false;
    }
    result.push_back(id);
  }
  return result;
}

std::vector<uint32_t> mpt::planFreeRemat(const RematGraph &graph, bool onlyMarked,
                                         double price) {
  RematIndex index(graph);
  return onlyMarked ? runWithSaved(index, std::vector<bool>(graph.values.size(), true))
                    : planMinCut(index, price);
}
