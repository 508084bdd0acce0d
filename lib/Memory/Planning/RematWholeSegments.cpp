//===- RematWholeSegments.cpp - Plans for other compilers -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematWholeSegments.h"

#include "RematStrategies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace mpt;

/// Values that a value may be computed from without being stored. Fused loops of more
/// inputs are split, and sums of many parts would make the graph quadratic.
static constexpr size_t mostSources = 32;

/// Numbers of segments that are tried at most.
static constexpr uint32_t mostSegments = 24;

RematGraph mpt::fuseRematGraph(const RematGraph &graph,
                               const std::vector<FusedNode> &nodes) {
  RematGraph fused = graph;
  const size_t count = graph.values.size();
  std::vector<uint32_t> reads(count, 0);
  // Whether something asks for the value in memory.
  std::vector<bool> asked(count, false);
  for (uint32_t value = 0; value < count; ++value)
    asked[value] = graph.values[value].leaves;
  for (uint32_t id = graph.nodes.size(); id-- > 0;) {
    const RematNode &node = graph.nodes[id];
    for (uint32_t value : node.outputs)
      asked[value] =
          asked[value] || (nodes[id].fusesResult && nodes[id].once && reads[value] > 1);
    bool passes = nodes[id].renames &&
                  llvm::any_of(node.outputs, [&](uint32_t v) { return asked[v]; });
    for (uint32_t value : node.inputs) {
      // A renaming counts as its readers do.
      reads[value] +=
          nodes[id].renames && node.outputs.size() == 1 ? reads[node.outputs.front()] : 1;
      if (passes || (!nodes[id].fusesOperands && !nodes[id].renames))
        asked[value] = true;
    }
  }
  std::vector<llvm::SmallVector<uint32_t, 4>> sources(count);
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    RematNode &node = fused.nodes[id];
    llvm::SmallVector<uint32_t, 8> inputs, made;
    for (uint32_t value : graph.nodes[id].inputs) {
      inputs.push_back(value);
      made.append(sources[value]);
    }
    llvm::sort(made);
    made.erase(llvm::unique(made), made.end());
    int64_t read = 0;
    for (uint32_t value : made) {
      read += graph.values[value].bytes;
      if (!llvm::is_contained(inputs, value))
        inputs.push_back(value);
    }
    node.inputs.assign(inputs.begin(), inputs.end());
    bool isStored = false;
    int64_t size = 0;
    for (uint32_t value : graph.nodes[id].outputs) {
      size += graph.values[value].bytes;
      // What several ops read, and takes fewer bytes than what it is made of, is not
      // worth computing in each of them: the sum of a residual connection.
      const bool gathers = reads[value] > 1 && read > graph.values[value].bytes;
      bool stored = !nodes[id].renames && (!nodes[id].fusesResult || asked[value] ||
                                           gathers || made.size() > mostSources);
      isStored |= stored;
      if (stored) {
        sources[value].assign(1, value);
      } else {
        sources[value].assign(made.begin(), made.end());
        fused.values[value].bytes = 0;
      }
    }
    if (nodes[id].updates)
      for (uint32_t value : node.outputs)
        if (reads[value] == 0 && !graph.values[value].leaves)
          fused.values[value].bytes = 0;
    if (nodes[id].renames)
      node.cost = 0;
    else if (!isStored)
      // It is computed, and not moved.
      node.cost = size / 8;
    else if (nodes[id].fusesOperands)
      node.cost = std::min(node.cost, read + size + size / 8);
  }
  guessBackward(fused);
  return fused;
}

namespace {

class SegmentPlanner {
public:
  SegmentPlanner(const RematGraph &graph, bool keepsDear)
      : graph(graph), keepsDear(keepsDear),
        forward(std::min<size_t>(graph.backward, graph.nodes.size())) {
    describe();
  }

  std::vector<RematPlan> plan();

private:
  void describe();
  /// The first node of each segment but the first.
  std::vector<uint32_t> cut(uint32_t segments) const;
  std::vector<uint32_t> run(const std::vector<uint32_t> &cuts) const;

  const RematGraph &graph;
  const bool keepsDear;
  const uint32_t forward;
  /// The last forward node that reads a value.
  std::vector<uint32_t> lastForward;
  std::vector<bool> readBackward;
  /// Values that take no bytes and are made of none that do: there is nothing to drop.
  std::vector<bool> isEmpty;
  /// Bytes that a cut before node i keeps.
  std::vector<int64_t> crossing;
  /// Bytes that the backward pass reads of what nodes before i make.
  std::vector<double> residual;
};

void SegmentPlanner::describe() {
  const size_t count = graph.values.size();
  lastForward.assign(count, 0);
  readBackward.assign(count, false);
  isEmpty.assign(count, false);
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    bool empty = true;
    for (uint32_t value : graph.nodes[id].inputs) {
      empty = empty && isEmpty[value];
      if (id < forward)
        lastForward[value] = id;
      else
        readBackward[value] = true;
    }
    for (uint32_t value : graph.nodes[id].outputs)
      isEmpty[value] = empty && graph.values[value].bytes == 0;
  }
  std::vector<int64_t> change(forward + 2, 0);
  residual.assign(forward + 1, 0);
  for (uint32_t id = 0; id < forward; ++id) {
    residual[id + 1] = residual[id];
    for (uint32_t value : graph.nodes[id].outputs) {
      const int64_t bytes = graph.values[value].bytes;
      // What stays in any case costs a cut nothing.
      if (!graph.nodes[id].repeats() || graph.values[value].leaves)
        continue;
      if (lastForward[value] > id) {
        change[id + 1] += bytes;
        change[lastForward[value] + 1] -= bytes;
      }
      if (readBackward[value])
        residual[id + 1] += double(bytes);
    }
  }
  crossing.assign(forward + 1, 0);
  int64_t live = 0;
  for (uint32_t id = 0; id <= forward; ++id)
    crossing[id] = live += change[id];
}

std::vector<uint32_t> SegmentPlanner::cut(uint32_t segments) const {
  std::vector<uint32_t> cuts;
  const double total = residual[forward];
  auto find = [&](double part) {
    return uint32_t(std::lower_bound(residual.begin(), residual.end(), total * part) -
                    residual.begin());
  };
  for (uint32_t i = 1; i < segments; ++i) {
    // The cheapest cut around that part of the bytes; of equals the nearest to it.
    uint32_t first = std::max<uint32_t>(find((i - 0.5) / segments), 1);
    uint32_t last = std::min(find((i + 0.5) / segments), forward - 1);
    uint32_t middle = find(double(i) / segments), best = std::min(middle, last);
    auto distance = [&](uint32_t at) { return at > middle ? at - middle : middle - at; };
    for (uint32_t at = first; at <= last; ++at)
      if (crossing[at] < crossing[best] ||
          (crossing[at] == crossing[best] && distance(at) < distance(best)))
        best = at;
    if (best > (cuts.empty() ? 0 : cuts.back()))
      cuts.push_back(best);
  }
  return cuts;
}

std::vector<uint32_t> SegmentPlanner::run(const std::vector<uint32_t> &cuts) const {
  std::vector<uint32_t> segmentOf(forward, 0);
  for (uint32_t id = 0, at = 0; id < forward; ++id) {
    at += at < cuts.size() && cuts[at] == id;
    segmentOf[id] = at;
  }
  detail::RematExecution execution(graph);
  std::vector<bool> &present = execution.present;
  for (uint32_t id = 0; id < forward; ++id) {
    execution.run(id);
    const RematNode &node = graph.nodes[id];
    for (uint32_t value : node.outputs) {
      // The backward pass begins with the last segment, so that stays.
      const bool crosses =
          segmentOf[id] == cuts.size() || segmentOf[lastForward[value]] > segmentOf[id];
      const bool isStored = graph.values[value].bytes > 0;
      present[value] = !node.repeats() || graph.values[value].leaves || isEmpty[value] ||
                       segmentOf[id] == cuts.size() ||
                       (isStored && (crosses || (keepsDear && !node.isFree)));
      if (node.save == RematSave::Never && node.mayRepeat)
        present[value] = false;
    }
  }
  // What the backward pass needs, from its readers back.
  std::vector<bool> needed(forward, false);
  auto need = [&](uint32_t id) {
    for (uint32_t value : graph.nodes[id].inputs)
      if (graph.values[value].node < forward && !present[value])
        needed[graph.values[value].node] = true;
  };
  for (uint32_t id = forward; id < graph.nodes.size(); ++id)
    need(id);
  for (uint32_t id = forward; id-- > 0;)
    if (needed[id])
      need(id);
  std::vector<std::vector<uint32_t>> groups(cuts.size() + 1);
  for (uint32_t id = 0; id < forward; ++id)
    if (needed[id])
      groups[segmentOf[id]].push_back(id);
  for (uint32_t id = forward; id < graph.nodes.size(); ++id) {
    for (uint32_t input : graph.nodes[id].inputs)
      if (!present[input] && graph.values[input].node < forward)
        for (uint32_t again : groups[segmentOf[graph.values[input].node]])
          if (llvm::any_of(graph.nodes[again].outputs,
                           [&](uint32_t value) { return !present[value]; }))
            execution.runWithOperands(again);
    execution.run(id);
  }
  return std::move(execution.order);
}

std::vector<RematPlan> SegmentPlanner::plan() {
  std::vector<RematPlan> plans;
  auto add = [&](std::vector<uint32_t> order) {
    RematProfile profile = measureRemat(graph, order);
    if (profile.isValid)
      plans.push_back({std::move(order), profile.peak, profile.cost});
  };
  add(getPlainOrder(graph));
  std::set<std::vector<uint32_t>> tried;
  if (forward > 1)
    for (uint32_t segments = keepsDear ? 1 : 2; segments <= mostSegments; ++segments) {
      std::vector<uint32_t> cuts = cut(segments);
      // With one segment in front of an empty last one.
      if (segments == 1)
        cuts.push_back(forward - 1);
      if (!cuts.empty() && tried.insert(cuts).second)
        add(run(cuts));
    }
  return plans;
}

} // namespace

std::vector<RematPlan> mpt::planWholeSegments(const RematGraph &graph, bool keepsDear) {
  std::vector<RematPlan> plans = SegmentPlanner(graph, true).plan();
  if (!keepsDear)
    for (RematPlan &plan : SegmentPlanner(graph, false).plan())
      plans.push_back(std::move(plan));
  // Fewest bytes first; a dearer plan must take fewer bytes than all that cost less.
  llvm::stable_sort(plans, [](const RematPlan &a, const RematPlan &b) {
    return std::pair(a.cost, a.peak) < std::pair(b.cost, b.peak);
  });
  std::vector<RematPlan> frontier;
  for (RematPlan &plan : plans)
    if (frontier.empty() || plan.peak < frontier.back().peak)
      frontier.push_back(std::move(plan));
  std::reverse(frontier.begin(), frontier.end());
  return frontier;
}
