//===- PrecisionPromote.cpp - PyTorch's autocast over a graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionStrategies.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpt;

namespace {

class PromotePlanner {
public:
  PromotePlanner(const PrecisionGraph &graph, PrecisionRules &rules, PrecisionPlan &plan,
                 bool castArguments)
      : graph(graph), rules(rules), plan(plan), castArguments(castArguments),
        count(graph.getVertices().size()) {}

  void run();

private:
  using Producer = PrecisionGraph::Producer;

  bool isArgument(const PrecisionGraph::ValueNode &node) const {
    auto argument = dyn_cast<BlockArgument>(node.value);
    return node.producer == Producer::Fixed && argument &&
           isa_and_nonnull<FunctionOpInterface>(argument.getOwner()->getParentOp());
  }
  /// Makes what reads it f32.
  bool promotes(uint32_t value, uint32_t reader) const;
  /// Works on a list that an allowed op reads.
  bool listIsAllowed(uint32_t vertex) const {
    return clusterOf[vertex] != PrecisionGraph::kNone && allowedLists[clusterOf[vertex]];
  }
  void demote(uint32_t vertex, uint32_t via);

  const PrecisionGraph &graph;
  PrecisionRules &rules;
  PrecisionPlan &plan;
  bool castArguments;
  uint32_t count;
  /// A contraction that is allowed comes after it.
  std::vector<bool> leadsToAllowed;
  std::vector<uint32_t> queue, clusterOf;
  std::vector<bool> allowedLists;
};

} // namespace

bool PromotePlanner::promotes(uint32_t value, uint32_t reader) const {
  const PrecisionGraph::ValueNode &node = graph.getValues()[value];
  switch (node.producer) {
  case Producer::Vertex:
    return node.alwaysF32 || !plan.isLow(node.vertex);
  case Producer::Constant: {
    // A number of the program's text; a table is a tensor.
    DenseElementsAttr elements;
    return matchPattern(node.value, m_Constant(&elements)) && !elements.isSplat();
  }
  case Producer::Cast:
    return true;
  case Producer::Fixed:
    return !node.isLow && !(castArguments && leadsToAllowed[reader] && isArgument(node));
  }
  return true;
}

void PromotePlanner::demote(uint32_t vertex, uint32_t via) {
  if (!plan.isLow(vertex) || graph.getVertices()[vertex].pinned ||
      rules.is(vertex, PrecisionClass::Allow) || listIsAllowed(vertex))
    return;
  plan[vertex] = {false, PrecisionReason::Promoted, via};
  queue.push_back(vertex);
}

void PromotePlanner::run() {
  rules.denyClusters();
  std::vector<uint32_t> roots;
  for (uint32_t v = 0; v < count; ++v) {
    if (graph.getVertices()[v].pinned)
      plan[v] = {true, PrecisionReason::AlreadyLow, PrecisionGraph::kNone};
    else if (rules.isBarred(v))
      continue;
    else if (rules.is(v, PrecisionClass::Allow))
      plan[v] = {true, PrecisionReason::Allowed, PrecisionGraph::kNone};
    else if (rules.isClearOrInfer(v))
      plan[v].low = true;
    if (graph.getVertices()[v].pinned ||
        (plan.isLow(v) && rules.is(v, PrecisionClass::Allow)))
      roots.push_back(v);
  }
  auto isLow = [&](uint32_t v, uint32_t) { return plan.isLow(v); };
  leadsToAllowed = rules.reach(roots, true, false, isLow);

  clusterOf.assign(count, PrecisionGraph::kNone);
  for (auto [index, cluster] : llvm::enumerate(graph.getClusters())) {
    for (uint32_t v : cluster.members)
      clusterOf[v] = index;
    // PyTorch casts each tensor of the list before such an op.
    allowedLists.push_back(cluster.isList &&
                           llvm::any_of(cluster.members, [&](uint32_t v) {
                             return plan.isLow(v) && rules.is(v, PrecisionClass::Allow);
                           }));
  }

  // Down from "all that is not denied is low" to what type promotion leaves.
  for (uint32_t v = 0; v < count; ++v)
    for (uint32_t value : graph.getConsumed(v))
      if (promotes(value, v)) {
        const PrecisionGraph::ValueNode &node = graph.getValues()[value];
        demote(v,
               node.producer == Producer::Vertex ? node.vertex : PrecisionGraph::kNone);
        break;
      }
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t from = queue[head];
    for (uint32_t reader : graph.getOutputs(from))
      demote(reader, from);
    if (clusterOf[from] != PrecisionGraph::kNone)
      for (uint32_t v : graph.getClusters()[clusterOf[from]].members)
        demote(v, from);
  }

  // What no low value flows into has no reason to be low.
  if (castArguments)
    for (uint32_t v = 0; v < count; ++v)
      if (plan.isLow(v) && leadsToAllowed[v] &&
          llvm::any_of(graph.getConsumed(v), [&](uint32_t value) {
            return isArgument(graph.getValues()[value]);
          }))
        roots.push_back(v);
  std::vector<uint32_t> from(count, PrecisionGraph::kNone);
  std::vector<bool> grounded =
      rules.reach(roots, false, true, [&](uint32_t v, uint32_t via) {
        if (plan.isLow(v))
          from[v] = via;
        return plan.isLow(v);
      });
  for (uint32_t v = 0; v < count; ++v) {
    if (!plan.isLow(v) || graph.getVertices()[v].pinned ||
        rules.is(v, PrecisionClass::Allow))
      continue;
    if (grounded[v])
      plan[v] = {true, PrecisionReason::Follows, from[v]};
    else if (listIsAllowed(v))
      plan[v] = {true, PrecisionReason::ListInLow, PrecisionGraph::kNone};
    else
      plan[v] = {false, PrecisionReason::NoLowNeighbour, PrecisionGraph::kNone};
  }
}

void mpt::planPromote(const PrecisionGraph &graph, PrecisionRules &rules,
                      PrecisionPlan &plan, bool castArguments) {
  PromotePlanner(graph, rules, plan, castArguments).run();
}
