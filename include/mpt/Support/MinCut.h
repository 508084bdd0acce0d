//===- MinCut.h - A cheapest assignment of two labels -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Minimum s-t cut by Dinic's algorithm (1970), component by component, without
/// recursion. Deterministic: the result depends on the graph alone.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_MINCUT_H
#define MPT_SUPPORT_MINCUT_H

#include <cstdint>
#include <vector>

namespace mpt {

class MinCut {
public:
  /// Never cut.
  static constexpr uint64_t kInfinite = uint64_t(1) << 60;

  uint32_t addNode() {
    source.push_back(0);
    sink.push_back(0);
    return source.size() - 1;
  }
  uint32_t getNumNodes() const { return source.size(); }
  /// `capacity` is paid if `node` is on the sink's side.
  void addSource(uint32_t node, uint64_t capacity) { add(source[node], capacity); }
  /// `capacity` is paid if `node` is on the source's side.
  void addSink(uint32_t node, uint64_t capacity) { add(sink[node], capacity); }
  /// `capacity` is paid if `from` is on the source's side and `to` is on the
  /// sink's. Finite capacities must be below 2^50 each.
  void addEdge(uint32_t from, uint32_t to, uint64_t capacity) {
    edges.push_back({from, to, capacity});
  }

  /// Finds the cut of least cost; of those, the one with the largest source
  /// side, which is unique. Call once.
  void solve();
  bool isSourceSide(uint32_t node) const { return side[node]; }
  /// What flows from the source to the sink: no cut costs less than any flow does
  /// (weak duality), and this one is as large as the cut found.
  uint64_t getFlow() const { return flow; }

private:
  struct Edge {
    uint32_t from, to;
    uint64_t capacity;
  };
  /// A directed arc of the residual graph, and where its reverse is.
  struct Arc {
    uint32_t to, reverse;
    uint64_t residual;
  };
  static void add(uint64_t &sum, uint64_t capacity) {
    sum = sum + capacity < kInfinite ? sum + capacity : kInfinite;
  }
  void buildArcs();
  bool rankComponent(const std::vector<uint32_t> &component);
  void augmentComponent(const std::vector<uint32_t> &component);
  void augmentFrom(uint32_t start);
  void markSinkSide();

  uint64_t flow = 0;
  std::vector<uint64_t> source, sink;
  std::vector<Edge> edges;
  std::vector<Arc> arcs;
  /// The arcs that leave node i are arcs[begin[i]] to arcs[begin[i + 1] - 1].
  std::vector<uint32_t> begin, current, level;
  /// Of rankComponent and augmentFrom; kept, since components are many and small.
  std::vector<uint32_t> queue, path;
  std::vector<bool> side;
};

} // namespace mpt

#endif // MPT_SUPPORT_MINCUT_H
