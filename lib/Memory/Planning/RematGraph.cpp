//===- RematGraph.cpp - The input of rematerialization planners -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/RematGraph.h"

#include <algorithm>
#include <numeric>

using namespace mpt;

int64_t RematGraph::getWorkingSet(uint32_t node) const {
  int64_t bytes = fixedBytes + nodes[node].workspace - nodes[node].inPlace;
  for (uint32_t value : nodes[node].inputs)
    bytes += values[value].bytes;
  for (uint32_t value : nodes[node].outputs)
    bytes += values[value].bytes;
  return bytes;
}

std::vector<uint32_t> mpt::getPlainOrder(const RematGraph &graph) {
  std::vector<uint32_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

RematProfile mpt::measureRemat(const RematGraph &graph,
                               const std::vector<uint32_t> &order) {
  RematProfile profile;
  constexpr uint32_t none = ~uint32_t(0);
  // Where the latest instance of each value was made, and read last.
  std::vector<uint32_t> made(graph.values.size(), none), read(graph.values.size());
  std::vector<int64_t> change(order.size() + 1, 0);
  std::vector<bool> ran(graph.nodes.size(), false);
  uint32_t next = 0;
  auto endInstance = [&](uint32_t value, bool isFirst) {
    const RematNode &node = graph.nodes[graph.values[value].node];
    if (made[value] == read[value] && !isFirst && node.prunesOutputs)
      return;
    change[made[value]] += graph.values[value].bytes;
    change[read[value] + 1] -= graph.values[value].bytes;
  };
  std::vector<bool> repeated(graph.values.size(), false);
  for (uint32_t position = 0; position < order.size(); ++position) {
    uint32_t id = order[position];
    if (id >= graph.nodes.size())
      return profile;
    const RematNode &node = graph.nodes[id];
    if (ran[id] ? !node.repeats() : id != next++)
      return profile;
    for (uint32_t value : node.inputs) {
      if (made[value] == none)
        return profile;
      read[value] = position;
    }
    for (uint32_t value : node.outputs) {
      if (made[value] != none)
        endInstance(value, !repeated[value]);
      repeated[value] = ran[id];
      made[value] = read[value] = position;
    }
    change[position] += node.workspace;
    change[position + 1] -= node.workspace;
    ran[id] = true;
    profile.cost += node.cost;
  }
  if (next != graph.nodes.size())
    return profile;
  for (uint32_t value = 0; value < graph.values.size(); ++value) {
    if (graph.values[value].leaves)
      read[value] = order.size() - 1;
    endInstance(value, !repeated[value]);
  }
  int64_t live = profile.peak = graph.fixedBytes;
  for (uint32_t position = 0; position < order.size(); ++position) {
    live += change[position];
    if (live > profile.peak) {
      profile.peak = live;
      profile.peakPosition = position;
    }
  }
  profile.isValid = true;
  return profile;
}

void mpt::guessBackward(RematGraph &graph) {
  graph.backward = measureRemat(graph, getPlainOrder(graph)).peakPosition;
}
