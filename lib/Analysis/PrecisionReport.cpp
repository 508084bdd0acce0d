//===- PrecisionReport.cpp - What a plan does, and why -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/PrecisionReport.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mpt;

constexpr uint32_t kNone = PrecisionGraph::kNone;

/// The vertex at the end of the chain of reasons that starts at `vertex`.
static uint32_t findRoot(const PrecisionPlan &plan, uint32_t vertex) {
  // Chains of one breadth-first search cannot run in circles.
  while (plan[vertex].reason == PrecisionReason::BehindDenied &&
         plan[vertex].via != kNone)
    vertex = plan[vertex].via;
  return vertex;
}

PrecisionSummary mpt::summarizePrecision(const PrecisionPlan &plan) {
  const PrecisionGraph &graph = plan.getGraph();
  PrecisionSummary summary;
  std::vector<uint64_t> blocked(graph.getVertices().size());
  constexpr size_t reasonCount = size_t(PrecisionReason::FewerCasts) + 1;
  uint64_t reasons[reasonCount] = {};
  // Roots of chains, each looked for once: behind what it was reached from.
  std::vector<uint32_t> rootOf(graph.getVertices().size(), kNone);
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    const bool low = plan.isLow(v);
    ++(low ? summary.lowOps : summary.f32Ops);
    if (vertex.contraction)
      ++(low ? summary.lowContractions : summary.f32Contractions);
    if (low)
      continue;
    ++reasons[size_t(plan[v].reason)];
    SmallVector<uint32_t> chain;
    uint32_t root = v;
    while (rootOf[root] == kNone && plan[root].via != kNone &&
           plan[root].reason == PrecisionReason::BehindDenied) {
      chain.push_back(root);
      root = plan[root].via;
    }
    if (rootOf[root] != kNone)
      root = rootOf[root];
    for (uint32_t each : chain)
      rootOf[each] = root;
    if (root != v)
      ++blocked[root];
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
  for (size_t i = 0; i < reasonCount; ++i)
    if (reasons[i] != 0)
      summary.reasons.push_back({PrecisionReason(i), reasons[i]});
  std::vector<uint32_t> order;
  for (uint32_t v = 0; v < blocked.size(); ++v)
    if (blocked[v] != 0)
      order.push_back(v);
  llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return blocked[a] > blocked[b]; });
  for (uint32_t v : ArrayRef(order).take_front(10))
    summary.blockers.push_back({graph.getVertices()[v].op, blocked[v]});
  for (auto &[name, count] : graph.getUnlisted())
    summary.unlisted.push_back({name.getStringRef(), count});
  return summary;
}

void mpt::printPrecisionSummary(const PrecisionSummary &summary, Type low,
                                llvm::raw_ostream &os) {
  auto megabytes = [](uint64_t bytes) { return llvm::format("%.2f MB", bytes / 1e6); };
  os << "ops in " << low << ": " << summary.lowOps << ", in f32: " << summary.f32Ops
     << "\nproducts in " << low << ": " << summary.lowContractions
     << ", in f32: " << summary.f32Contractions << "\nbytes of results in " << low << ": "
     << megabytes(summary.lowBytes) << ", in f32: " << megabytes(summary.f32Bytes)
     << "\ncasts to " << low << ": " << summary.casts.down
     << ", to f32: " << summary.casts.up << ", bytes read and written: "
     << megabytes(summary.casts.bytes) << "\n";
  for (auto [reason, count] : summary.reasons)
    os << "f32 because " << describePrecisionReason(reason) << ": " << count << "\n";
  for (auto [op, count] : summary.blockers)
    os << "blocker: " << op->getName() << " at " << op->getLoc() << " keeps " << count
       << " in f32\n";
  for (auto [name, count] : summary.unlisted)
    os << "on no list: " << name << ", " << count << "\n";
}

unsigned mpt::explainPrecision(const PrecisionPlan &plan, const llvm::Regex &pattern) {
  const PrecisionGraph &graph = plan.getGraph();
  unsigned matched = 0;
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    if (!pattern.match(describePlace(vertex.op)))
      continue;
    ++matched;
    InFlightDiagnostic remark = vertex.op->emitRemark();
    remark << "'" << vertex.op->getName() << "' "
           << (plan.isLow(v) ? "runs low: " : "stays f32: ")
           << describePrecisionReason(plan[v].reason) << " ("
           << stringifyPrecisionClass(vertex.precisionClass) << " by "
           << stringifyRuleSource(vertex.source) << ")";
    unsigned steps = 0;
    for (uint32_t at = plan[v].via; at != kNone && steps < 8; ++steps) {
      Operation *op = graph.getVertices()[at].op;
      remark.attachNote(op->getLoc())
          << "because of '" << op->getName() << "', "
          << describePrecisionReason(plan[at].reason);
      at = plan[at].via;
    }
    if (plan[v].reason == PrecisionReason::BehindDenied) {
      Operation *root = graph.getVertices()[findRoot(plan, v)].op;
      remark.attachNote(root->getLoc())
          << "moving '" << root->getName()
          << "' off the deny list would let it follow its neighbours";
    }
  }
  return matched;
}
