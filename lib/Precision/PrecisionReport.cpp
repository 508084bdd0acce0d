//===- PrecisionReport.cpp - What a plan does, and why -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionReport.h"

#include "mpt/Precision/OpFlops.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mpt;

PrecisionSummary mpt::summarizePrecision(const PrecisionPlan &plan,
                                         const PrecisionPlanner &planner) {
  const PrecisionGraph &graph = plan.getGraph();
  PrecisionSummary summary;
  constexpr size_t reasonCount = getMaxEnumValForRemarkId() + 1;
  uint64_t reasons[reasonCount] = {};
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    const bool low = plan.isLow(v);
    ++(low ? summary.lowOps : summary.f32Ops);
    std::optional<OpFlops> flops;
    if (!vertex.isJoin)
      flops = countFlops(vertex.op, planner.policy->getRules(), vertex.contraction);
    if (vertex.contraction || flops)
      ++(low ? summary.lowContractions : summary.f32Contractions);
    if (flops) {
      (low ? summary.lowFlops : summary.f32Flops) += flops->flops;
      summary.estimatedOps += flops->isEstimate;
    }
    if (low)
      continue;
    ++reasons[size_t(plan[v].reason)];
  }
  for (uint32_t value = 0; value < graph.getValues().size(); ++value) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    if (node.producer != PrecisionGraph::Producer::Vertex)
      continue;
    if (plan.isValueLow(value))
      summary.lowBytes += node.elements * 2;
    else
      summary.f32Bytes += node.elements * 4;
  }
  summary.casts = plan.countCasts();
  PrecisionPlanOptions options = planner.planOptions;
  CastCost measure = options.cost;
  // The others do not choose among assignments.
  if (options.strategy == PrecisionStrategy::MinCut ||
      options.strategy == PrecisionStrategy::Paint) {
    if (options.strategy == PrecisionStrategy::Paint) {
      options.strategy = PrecisionStrategy::MinCut;
      // With what mincut alone keeps.
      planner.adapt(graph, options);
    }
    summary.ofMinCut = plan.getProvedMinimum().has_value();
    const PrecisionPlan least = summary.ofMinCut ? plan : planPrecision(graph, options);
    summary.leastCost = least.getProvedMinimum();
    if (least.getPaintedOverhead())
      measure = CastCost::getFlat(*least.getPaintedOverhead());
    options.cost = CastCost::getFlat(0);
    if (least.getPaintedOverhead())
      options.paintedOverhead = 0;
    // Where contractions may stay f32 as well there is a plan without casts.
    if (options.gains.empty())
      summary.leastBytes = planPrecision(graph, options).getProvedMinimum();
  }
  summary.cost = plan.getCost(measure);
  for (size_t i = 0; i < reasonCount; ++i)
    if (reasons[i] != 0)
      summary.reasons.push_back({PrecisionReason(i), reasons[i]});
  for (auto [vertex, count] : findBlockers(plan))
    if (count != 0)
      summary.blockers.push_back({graph.getVertices()[vertex].op, count});
  for (auto &[name, entry] : graph.getUnlisted())
    summary.unlisted.push_back({name.getStringRef(), entry.count});
  return summary;
}

void mpt::printPrecisionSummary(const PrecisionSummary &summary, Type low,
                                llvm::raw_ostream &os) {
  auto megabytes = [](uint64_t bytes) { return llvm::format("%.2f MB", bytes / 1e6); };
  os << "ops in " << low << ": " << summary.lowOps << ", in f32: " << summary.f32Ops
     << "\ncontractions in " << low << ": " << summary.lowContractions
     << ", in f32: " << summary.f32Contractions << "\nFLOPs of contractions in " << low
     << ": " << summary.lowFlops << ", in f32: " << summary.f32Flops;
  if (summary.estimatedOps != 0)
    os << " (estimated for " << summary.estimatedOps << ")";
  os << "\nbytes of results in " << low << ": " << megabytes(summary.lowBytes)
     << ", in f32: " << megabytes(summary.f32Bytes) << "\ncasts to " << low << ": "
     << summary.casts.down << ", to f32: " << summary.casts.up
     << ", bytes read and written: " << megabytes(summary.casts.bytes);
  if (summary.leastBytes)
    os << (summary.ofMinCut ? ", proved minimum: "
                            : ", proved minimum by mincut's rules: ")
       << megabytes(*summary.leastBytes);
  os << "\ncost of casts: " << summary.cost;
  if (summary.leastCost)
    os << (summary.ofMinCut ? ", proved minimum: "
                            : ", proved minimum by mincut's rules: ")
       << *summary.leastCost;
  os << "\n";
  for (auto [reason, count] : summary.reasons)
    os << "f32 because " << getRemarkInfo(reason).text << ": " << count << "\n";
  for (auto [op, count] : summary.blockers)
    os << "blocker: " << op->getName() << " at " << op->getLoc() << " keeps " << count
       << " in f32\n";
  for (auto [name, count] : summary.unlisted)
    os << "on no list: " << name << ", " << count << "\n";
}
