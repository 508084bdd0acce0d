//===- PrecisionClusters.cpp - Where no cast can stand -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A handle to a list of tensors cannot be cast: every op that writes or reads the
/// list, and every one that passes the handle on, has the precision of the rest.
/// If the handle reaches a function's boundary or an op that no rule knows, the
/// list stays f32, since others may work on it. The same holds for what goes round
/// a loop made of single ops: between TensorFlow's NextIteration and Merge no op
/// may stand. What TensorFlow does for both:
/// tensorflow/core/grappler/optimizers/auto_mixed_precision.cc,
/// FindFloat32TensorListOpClustersAndDenylistUnsafe and
/// ForceColorMatchOnRecurrentEdges.
///
//===----------------------------------------------------------------------===//

#include "PrecisionClusters.h"

#include "PrecisionStrategies.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace mpt;

using Cluster = PrecisionGraph::Cluster;
constexpr uint32_t kNone = PrecisionGraph::kNone;

std::vector<Cluster> mpt::findClusters(const PrecisionGraph &graph) {
  ArrayRef<PrecisionGraph::Vertex> vertices = graph.getVertices();
  ArrayRef<PrecisionGraph::ValueNode> values = graph.getValues();
  auto isRecurrent = [&](const PrecisionGraph::ValueNode &node) {
    return node.producer == PrecisionGraph::Producer::Vertex &&
           vertices[node.vertex].recurrent;
  };
  auto isTied = [&](const PrecisionGraph::ValueNode &node) {
    return !node.isLow && (node.isList || isRecurrent(node));
  };
  if (llvm::none_of(values, isTied))
    return {};

  llvm::IntEqClasses classes(vertices.size());
  std::vector<bool> inList(vertices.size()), inAny(vertices.size()),
      escapes(vertices.size());
  for (uint32_t value = 0; value < values.size(); ++value) {
    const PrecisionGraph::ValueNode &node = values[value];
    if (!isTied(node))
      continue;
    uint32_t first = kNone;
    bool leaves = false;
    auto add = [&](uint32_t vertex) {
      if (vertex == kNone) {
        leaves = true;
        return;
      }
      inAny[vertex] = true;
      inList[vertex] = inList[vertex] || node.isList;
      if (first == kNone)
        first = vertex;
      else
        classes.join(first, vertex);
    };
    add(node.producer == PrecisionGraph::Producer::Vertex ? node.vertex : kNone);
    for (const PrecisionGraph::Use &use : graph.getUses(value))
      add(use.vertex);
    if (leaves && first != kNone)
      escapes[first] = true;
  }
  classes.compress();

  std::vector<Cluster> clusters;
  std::vector<uint32_t> clusterOf(classes.getNumClasses(), kNone);
  for (uint32_t v = 0; v < vertices.size(); ++v) {
    if (!inAny[v])
      continue;
    uint32_t &index = clusterOf[classes[v]];
    if (index == kNone) {
      index = clusters.size();
      clusters.emplace_back();
    }
    clusters[index].members.push_back(v);
    clusters[index].isList = clusters[index].isList || inList[v];
    clusters[index].escapes = clusters[index].escapes || escapes[v];
  }
  return clusters;
}

void PrecisionRules::denyClusters() {
  for (const Cluster &cluster : graph.getClusters()) {
    if (!cluster.isList)
      continue;
    const bool deny = cluster.escapes || llvm::any_of(cluster.members, [&](uint32_t v) {
                        return isDenied(v) || isBarred(v);
                      });
    if (!deny)
      continue;
    for (uint32_t v : cluster.members) {
      if (!isBarred(v) && !isDenied(v))
        plan[v] = {false, PrecisionReason::ListInF32, kNone};
      plan[v].low = false;
      denied[v] = barred[v] = true;
    }
  }
}

void PrecisionRules::allowClusters() {
  for (const Cluster &cluster : graph.getClusters()) {
    auto low = llvm::find_if(cluster.members, [&](uint32_t v) { return plan.isLow(v); });
    if (!cluster.isList || low == cluster.members.end())
      continue;
    for (uint32_t v : cluster.members)
      if (!plan.isLow(v))
        plan[v] = {true, PrecisionReason::ListInLow, *low};
  }
}

void PrecisionRules::matchRecurrent() {
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    if (!graph.getVertices()[v].recurrent || graph.getVertices()[v].pinned)
      continue;
    SmallVector<uint32_t> readers;
    bool allLow = true;
    for (uint32_t value : graph.getProduced(v))
      for (const PrecisionGraph::Use &use : graph.getUses(value)) {
        allLow &= use.vertex != kNone && plan.isLow(use.vertex);
        if (use.vertex != kNone)
          readers.push_back(use.vertex);
      }
    if (allLow && !isBarred(v)) {
      if (!plan.isLow(v) && !readers.empty())
        plan[v] = {true, PrecisionReason::LoopInLow, readers.front()};
      continue;
    }
    readers.push_back(v);
    for (uint32_t each : readers)
      if (plan.isLow(each) && !graph.getVertices()[each].pinned)
        plan[each] = {false, PrecisionReason::LoopInF32, v};
  }
}
