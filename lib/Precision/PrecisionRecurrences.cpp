//===- PrecisionRecurrences.cpp - Sums round a loop stay f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionExceptions.h"

using namespace mlir;
using namespace mpt;

namespace {

constexpr uint32_t kNone = PrecisionGraph::kNone;

/// The strongly connected components of the graph of vertices (Tarjan, 1972), without
/// recursion. Calls `visit` with the members of each component with an edge inside.
class Cycles {
public:
  explicit Cycles(const PrecisionGraph &graph)
      : graph(graph), index(graph.getVertices().size(), kNone), lowest(index.size()),
        onStack(index.size()) {}

  void forEach(llvm::function_ref<void(ArrayRef<uint32_t>)> visit) {
    for (uint32_t root = 0; root < index.size(); ++root) {
      if (index[root] != kNone)
        continue;
      enter(root);
      while (!path.empty())
        step(visit);
    }
  }

private:
  /// A vertex and which of its successors comes next.
  struct Frame {
    uint32_t vertex, next;
  };

  void enter(uint32_t vertex) {
    index[vertex] = lowest[vertex] = counter++;
    onStack[vertex] = true;
    stack.push_back(vertex);
    path.push_back({vertex, 0});
  }

  void step(llvm::function_ref<void(ArrayRef<uint32_t>)> visit) {
    Frame &frame = path.back();
    const uint32_t vertex = frame.vertex;
    ArrayRef<uint32_t> successors = graph.getOutputs(vertex);
    if (frame.next != successors.size()) {
      const uint32_t to = successors[frame.next++];
      if (index[to] == kNone)
        enter(to);
      else if (onStack[to])
        lowest[vertex] = std::min(lowest[vertex], index[to]);
      return;
    }
    path.pop_back();
    if (!path.empty())
      lowest[path.back().vertex] = std::min(lowest[path.back().vertex], lowest[vertex]);
    if (lowest[vertex] != index[vertex])
      return;
    size_t first = stack.size();
    do
      onStack[stack[--first]] = false;
    while (stack[first] != vertex);
    if (stack.size() - first > 1)
      visit(ArrayRef(stack).drop_front(first));
    stack.resize(first);
  }

  const PrecisionGraph &graph;
  std::vector<uint32_t> index, lowest;
  std::vector<bool> onStack;
  std::vector<uint32_t> stack;
  std::vector<Frame> path;
  uint32_t counter = 0;
};

} // namespace

void mpt::keepRecurrences(const PrecisionGraph &graph, PrecisionExceptions &kept) {
  ArrayRef<PrecisionGraph::Vertex> vertices = graph.getVertices();
  // Only what a loop carries, or passes on, closes a cycle.
  if (llvm::none_of(vertices, [](const PrecisionGraph::Vertex &vertex) {
        return vertex.isJoin || vertex.recurrent;
      }))
    return;
  Cycles(graph).forEach([&](ArrayRef<uint32_t> cycle) {
    bool computes = false;
    for (uint32_t v : cycle) {
      if (vertices[v].contraction || vertices[v].precisionClass == PrecisionClass::Allow)
        return;
      computes |= vertices[v].precisionClass != PrecisionClass::Clear;
    }
    if (computes)
      for (uint32_t v : cycle)
        kept.push_back({v, PrecisionReason::Recurrence});
  });
}
