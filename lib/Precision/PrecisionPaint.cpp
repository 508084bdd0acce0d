//===- PrecisionPaint.cpp - TensorFlow's paint -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionStrategies.h"

using namespace mlir;
using namespace mpt;

void mpt::planPaint(const PrecisionGraph &graph, PrecisionRules &rules,
                    PrecisionPlan &plan) {
  const uint32_t count = graph.getVertices().size();
  auto getLow = [&] {
    std::vector<uint32_t> low;
    for (uint32_t v = 0; v < count; ++v)
      if (plan.isLow(v))
        low.push_back(v);
    return low;
  };
  auto paint = [&](uint32_t v, PrecisionReason reason,
                   uint32_t via = PrecisionGraph::kNone) {
    plan[v] = {true, reason, via};
  };

  for (uint32_t v = 0; v < count; ++v)
    if (graph.getVertices()[v].pinned)
      paint(v, PrecisionReason::AlreadyLow);
    else if (rules.is(v, PrecisionClass::Allow) && !rules.isBarred(v))
      paint(v, PrecisionReason::Allowed);
  std::vector<uint32_t> low = getLow();
  if (low.empty())
    return;

  rules.spreadDeny();
  rules.denyClusters();
  rules.allowClusters();

  std::vector<uint32_t> from(count, PrecisionGraph::kNone);
  std::vector<bool> down = rules.reach(low, false, true, [&](uint32_t v, uint32_t) {
    return !plan.isLow(v) && !rules.isDenied(v) && !rules.isBarred(v) &&
           rules.isClearOrInfer(v);
  });
  std::vector<bool> between =
      rules.reach(low, true, false, [&](uint32_t v, uint32_t reader) {
        from[v] = reader;
        return down[v];
      });
  for (uint32_t v = 0; v < count; ++v)
    if (between[v] && !plan.isLow(v))
      paint(v, PrecisionReason::Between, from[v]);

  for (uint32_t v = 0; v < count; ++v) {
    if (!rules.isInfer(v) || plan.isLow(v) || rules.isDenied(v) || rules.isBarred(v))
      continue;
    uint32_t lowInput = PrecisionGraph::kNone;
    bool anyDenied = false;
    for (uint32_t input : graph.getInputs(v)) {
      if (plan.isLow(input) && lowInput == PrecisionGraph::kNone)
        lowInput = input;
      anyDenied |= rules.isDenied(input);
    }
    if (lowInput != PrecisionGraph::kNone && !anyDenied)
      paint(v, PrecisionReason::Follows, lowInput);
  }

  std::vector<bool> touched =
      rules.reach(getLow(), true, true, [&](uint32_t v, uint32_t neighbour) {
        if (plan.isLow(v) || rules.isDenied(v) || rules.isBarred(v) ||
            !rules.is(v, PrecisionClass::Clear) || graph.getVertices()[v].readsVariable)
          return false;
        from[v] = neighbour;
        return true;
      });
  for (uint32_t v = 0; v < count; ++v) {
    if (plan.isLow(v))
      continue;
    if (touched[v])
      paint(v, PrecisionReason::Neighbour, from[v]);
    else if (rules.is(v, PrecisionClass::Clear) &&
             plan[v].reason == PrecisionReason::NotBetween)
      plan[v].reason = PrecisionReason::NoLowNeighbour;
  }
  rules.denyClusters();
  rules.allowClusters();
  rules.matchRecurrent();
}
