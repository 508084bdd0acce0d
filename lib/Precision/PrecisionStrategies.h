//===- PrecisionStrategies.h - Rules that the strategies share -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_PRECISIONSTRATEGIES_H
#define MPT_LIB_PRECISION_PRECISIONSTRATEGIES_H

#include "mpt/Precision/PrecisionPlan.h"

namespace mpt {

/// What all strategies know of a graph: classes, who must stay f32, how deny
/// spreads. Writes reasons into the plan as it goes.
class PrecisionRules {
public:
  PrecisionRules(const PrecisionGraph &graph, PrecisionPlan &plan,
                 const PrecisionPlanOptions &options);

  /// The same for another plan of the graph: what is barred and denied is known.
  PrecisionRules(const PrecisionRules &other, PrecisionPlan &plan)
      : graph(other.graph), plan(plan), denied(other.denied), barred(other.barred),
        hasSpread(other.hasSpread) {}

  /// True if the vertex is of that class; a stable one counts as infer too.
  bool is(uint32_t vertex, PrecisionClass wanted) const {
    return graph.getVertices()[vertex].precisionClass == wanted;
  }
  bool isInfer(uint32_t vertex) const {
    return is(vertex, PrecisionClass::Infer) || is(vertex, PrecisionClass::Stable);
  }
  bool isClearOrInfer(uint32_t vertex) const {
    return is(vertex, PrecisionClass::Clear) || isInfer(vertex);
  }
  /// Stays f32 whatever surrounds it.
  bool isBarred(uint32_t vertex) const { return barred[vertex]; }
  bool isDenied(uint32_t vertex) const { return denied[vertex]; }

  /// Everything reached from `roots` (which are included) against and along the
  /// flow of values, through vertices that `enter(next, from)` accepts. Breadth first.
  template <typename Enter>
  std::vector<bool> reach(llvm::ArrayRef<uint32_t> roots, bool inputs, bool outputs,
                          Enter &&enter);
  /// Rule 2: finds what deny reaches; once.
  void spreadDeny();
  /// Clusters of lists: if a member is denied or the list is worked on elsewhere,
  /// all members are; else, if one is low, all are.
  void denyClusters();
  void allowClusters();
  /// What goes round a loop is low if all that reads it is, else nothing of it.
  void matchRecurrent();

private:
  void bar(uint32_t vertex, PrecisionReason reason) {
    barred[vertex] = true;
    plan[vertex].reason = reason;
  }
  bool readsUnfit(uint32_t vertex) const;
  void barAfterOverflow();
  void barOutOfRange(const llvm::DenseMap<mlir::Value, bool> &recorded);

  const PrecisionGraph &graph;
  PrecisionPlan &plan;
  std::vector<bool> denied, barred;
  /// Of reach; kept, since it is called often.
  std::vector<uint32_t> queue;
  bool hasSpread = false;
};

template <typename Enter>
std::vector<bool> PrecisionRules::reach(llvm::ArrayRef<uint32_t> roots, bool inputs,
                                        bool outputs, Enter &&enter) {
  std::vector<bool> seen(graph.getVertices().size());
  queue.assign(roots.begin(), roots.end());
  for (uint32_t root : roots)
    seen[root] = true;
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t from = queue[head];
    auto visit = [&](llvm::ArrayRef<uint32_t> neighbours) {
      for (uint32_t next : neighbours)
        if (!seen[next] && enter(next, from)) {
          seen[next] = true;
          queue.push_back(next);
        }
    };
    if (inputs)
      visit(graph.getInputs(from));
    if (outputs)
      visit(graph.getOutputs(from));
  }
  return seen;
}

void planPaint(const PrecisionGraph &graph, PrecisionRules &rules, PrecisionPlan &plan);
void planMinCut(const PrecisionGraph &graph, PrecisionRules &rules,
                const PrecisionPlanOptions &options, PrecisionPlan &plan);
void planPromote(const PrecisionGraph &graph, PrecisionRules &rules, PrecisionPlan &plan,
                 bool castArguments);

} // namespace mpt

#endif // MPT_LIB_PRECISION_PRECISIONSTRATEGIES_H
