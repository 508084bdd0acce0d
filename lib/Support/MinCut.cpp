//===- MinCut.cpp - A cheapest assignment of two labels -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/MinCut.h"

#include <algorithm>

using namespace mpt;

void MinCut::buildArcs() {
  const uint32_t nodes = getNumNodes();
  begin.assign(nodes + 1, 0);
  for (const Edge &edge : edges) {
    ++begin[edge.from + 1];
    ++begin[edge.to + 1];
  }
  for (uint32_t i = 0; i < nodes; ++i)
    begin[i + 1] += begin[i];
  arcs.resize(edges.size() * 2);
  current.assign(begin.begin(), begin.end() - 1);
  for (const Edge &edge : edges) {
    const uint32_t forward = current[edge.from]++, back = current[edge.to]++;
    arcs[forward] = {edge.to, back, edge.capacity};
    arcs[back] = {edge.from, forward, 0};
  }
  level.assign(nodes, 0);
}

/// Levels by distance from the source, in this component; false if the sink
/// cannot be reached.
bool MinCut::rankComponent(const std::vector<uint32_t> &component) {
  queue.clear();
  for (uint32_t node : component) {
    level[node] = 0;
    if (source[node] != 0) {
      level[node] = 1;
      queue.push_back(node);
    }
    current[node] = begin[node];
  }
  bool reached = false;
  for (size_t head = 0; head < queue.size(); ++head) {
    uint32_t node = queue[head];
    reached |= sink[node] != 0;
    for (uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
      const Arc &arc = arcs[i];
      if (arc.residual != 0 && level[arc.to] == 0) {
        level[arc.to] = level[node] + 1;
        queue.push_back(arc.to);
      }
    }
  }
  return reached;
}

/// Pushes what can be pushed along paths of rising level from `start`.
void MinCut::augmentFrom(uint32_t start) {
  path.clear(); // of arcs
  uint32_t node = start;
  while (source[start] != 0) {
    if (sink[node] != 0) {
      uint64_t amount = std::min(source[start], sink[node]);
      for (uint32_t arc : path)
        amount = std::min(amount, arcs[arc].residual);
      flow += amount;
      source[start] -= amount;
      sink[node] -= amount;
      // Go back to before the first arc that is full now.
      size_t keep = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        Arc &arc = arcs[path[i]];
        arc.residual -= amount;
        arcs[arc.reverse].residual += amount;
        if (arc.residual == 0)
          keep = i;
      }
      path.resize(keep);
      node = path.empty() ? start : arcs[path.back()].to;
      continue;
    }
    bool advanced = false;
    for (uint32_t &i = current[node]; i < begin[node + 1]; ++i) {
      if (arcs[i].residual != 0 && level[arcs[i].to] == level[node] + 1) {
        path.push_back(i);
        node = arcs[i].to;
        advanced = true;
        break;
      }
    }
    if (advanced)
      continue;
    if (path.empty())
      return;
    level[node] = 0; // a dead end
    path.pop_back();
    node = path.empty() ? start : arcs[path.back()].to;
  }
}

void MinCut::augmentComponent(const std::vector<uint32_t> &component) {
  while (rankComponent(component))
    for (uint32_t node : component)
      if (source[node] != 0 && level[node] == 1)
        augmentFrom(node);
}

/// What can still reach the sink is on its side.
void MinCut::markSinkSide() {
  side.assign(getNumNodes(), true);
  std::vector<uint32_t> stack;
  for (uint32_t node = 0; node < getNumNodes(); ++node)
    if (sink[node] != 0) {
      side[node] = false;
      stack.push_back(node);
    }
  while (!stack.empty()) {
    uint32_t node = stack.back();
    stack.pop_back();
    for (uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
      const uint32_t from = arcs[i].to;
      if (arcs[arcs[i].reverse].residual != 0 && side[from]) {
        side[from] = false;
        stack.push_back(from);
      }
    }
  }
}

void MinCut::solve() {
  buildArcs();
  for (uint32_t node = 0; node < getNumNodes(); ++node) {
    uint64_t direct = std::min(source[node], sink[node]);
    flow += direct;
    source[node] -= direct;
    sink[node] -= direct;
  }
  std::vector<bool> seen(getNumNodes());
  std::vector<uint32_t> component;
  for (uint32_t root = 0; root < getNumNodes(); ++root) {
    if (seen[root])
      continue;
    component.assign(1, root);
    seen[root] = true;
    for (size_t head = 0; head < component.size(); ++head)
      for (uint32_t i = begin[component[head]]; i < begin[component[head] + 1]; ++i) {
        uint32_t next = arcs[i].to;
        if (!seen[next]) {
          seen[next] = true;
          component.push_back(next);
        }
      }
    augmentComponent(component);
  }
  markSinkSide();
}
