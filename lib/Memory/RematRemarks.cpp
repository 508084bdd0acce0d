//===- RematRemarks.cpp - What rematerialization did and why -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rematerializer.h"
#include "mpt/Support/Remarks.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Remarks on kept values, the largest first.
static constexpr size_t maxKeptRemarks = 20;

void Rematerializer::report(const RematBound &bound) {
  const RematGraph &graph = described.graph;
  double total = std::max<int64_t>(referenceCost, 1);
  SmallVector<uint32_t> runs(graph.nodes.size(), 0);
  for (uint32_t node : outcome.plan.order)
    ++runs[node];
  for (auto [id, count] : llvm::enumerate(runs)) {
    if (count < 2)
      continue;
    int64_t bytes = 0;
    for (uint32_t value : graph.nodes[id].outputs)
      bytes += graph.values[value].bytes;
    emitRemark(RemarkId::Recomputed, described.ops[id]->getLoc(), function.getName())
        << remark::reason(
               "{0} runs {1} times: {2} bytes are not kept in between, for {3:P2} "
               "of the step each time",
               described.ops[id]->getName().getStringRef(), count, bytes,
               graph.nodes[id].cost / total);
  }
  reportKept(bound, runs, total);
  double cost = outcome.plan.cost / total, least = bound.cost / total;
  emitRemark(RemarkId::RematSummary, function.getLoc(), function.getName())
      << remark::reason(
             "'{0}': {1} bytes of {2} ({3}), budget {4}; predicted time {5:F4}, "
             "at least {6:F4} in this order of ops, gap {7:F2} %{8}",
             function.getName(), outcome.bytes, outcome.plainBytes,
             isFused ? "arena" : "alive", outcome.budget, cost, least,
             100 * (cost / least - 1), outcome.isOptimal ? ", optimal" : "");
}

/// What is kept all the same where most bytes are alive.
void Rematerializer::reportKept(const RematBound &bound, ArrayRef<uint32_t> runs,
                                double total) {
  const RematGraph &graph = described.graph;
  std::vector<double> worth(graph.nodes.size() + 1, 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    worth[i + 1] = worth[i] + (i < bound.prices.size() ? bound.prices[i] : 0);
  std::vector<uint32_t> last(graph.values.size(), 0);
  for (uint32_t id = 0; id < graph.nodes.size(); ++id)
    for (uint32_t value : graph.nodes[id].inputs)
      last[value] = id;
  uint32_t peak = measureRemat(graph, getPlainOrder(graph)).peakPosition;
  SmallVector<uint32_t> kept;
  for (uint32_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].node < peak && last[value] > peak &&
        graph.values[value].bytes > 0 && runs[graph.values[value].node] == 1)
      kept.push_back(value);
  llvm::stable_sort(kept, [&](uint32_t a, uint32_t b) {
    return graph.values[a].bytes > graph.values[b].bytes;
  });
  if (kept.size() > maxKeptRemarks)
    kept.resize(maxKeptRemarks);
  for (uint32_t value : kept) {
    const RematNode &node = graph.nodes[graph.values[value].node];
    Operation *op = described.ops[graph.values[value].node];
    if (!node.repeats()) {
      emitRemark(RemarkId::KeptAlways, op->getLoc(), function.getName())
          << remark::reason("{0} keeps {1} bytes: it {2}", op->getName().getStringRef(),
                            graph.values[value].bytes,
                            node.mayRepeat ? "has mpt.save = \"must\""
                                           : "has effects, or none are known");
      continue;
    }
    double price = graph.values[value].bytes *
                   (worth[last[value]] - worth[graph.values[value].node + 1]);
    emitRemark(RemarkId::KeptForPrice, op->getLoc(), function.getName())
        << remark::reason(
               "{0} keeps {1} bytes: again it would take {2:P2} of the step; the "
               "bytes are worth {3:P2}",
               op->getName().getStringRef(), graph.values[value].bytes, node.cost / total,
               price / total);
  }
}
