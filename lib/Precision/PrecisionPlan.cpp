//===- PrecisionPlan.cpp - Which ops run in low precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionPlan.h"

#include "PrecisionStrategies.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mpt;

std::optional<PrecisionStrategy> mpt::symbolizePrecisionStrategy(StringRef text) {
  if (text == "paint")
    return PrecisionStrategy::Paint;
  if (text == "mincut")
    return PrecisionStrategy::MinCut;
  if (text == "promote")
    return PrecisionStrategy::Promote;
  if (text == "none")
    return PrecisionStrategy::None;
  return std::nullopt;
}

bool PrecisionPlan::isValueLow(uint32_t value) const {
  using Producer = PrecisionGraph::Producer;
  const PrecisionGraph::ValueNode &node = graph->getValues()[value];
  auto allWantLow = [&] {
    ArrayRef<PrecisionGraph::Use> uses = graph->getUses(value);
    return !uses.empty() && llvm::all_of(uses, [&](const PrecisionGraph::Use &use) {
      return wantsLow(use);
    });
  };
  switch (node.producer) {
  case Producer::Fixed:
    return node.isLow;
  case Producer::Constant:
    return false;
  case Producer::Cast:
    return !node.readAny && allWantLow();
  case Producer::Vertex:
    if (node.alwaysF32 || !isLow(node.vertex))
      return false;
    return !node.wide || allWantLow();
  }
  return false;
}

void PrecisionPlan::forEachCast(llvm::function_ref<void(const Cast &)> visit) const {
  for (uint32_t value = 0; value < graph->getValues().size(); ++value) {
    const PrecisionGraph::ValueNode &node = graph->getValues()[value];
    if (node.producer == PrecisionGraph::Producer::Constant)
      continue;
    const bool low = isValueLow(value);
    const PrecisionGraph::Use *down = nullptr, *up = nullptr;
    for (const PrecisionGraph::Use &use : graph->getUses(value)) {
      if (use.loose)
        continue;
      if (!down && !low && wantsLow(use) && !node.lowSource)
        down = &use;
      if (!up && low && !wantsLow(use) && !node.isLow)
        up = &use;
    }
    if (down)
      visit({value, true, down});
    if (up)
      visit({value, false, up});
  }
}

PrecisionPlan::Casts PrecisionPlan::countCasts() const {
  Casts casts;
  forEachCast([&](const Cast &cast) {
    ++(cast.toLow ? casts.down : casts.up);
    casts.bytes += getCastBytes(cast.value);
  });
  return casts;
}

uint64_t PrecisionPlan::getCost(const CastCost &cost) const {
  uint64_t sum = forgone;
  for (uint32_t value = 0; value < graph->getValues().size(); ++value) {
    const PrecisionGraph::ValueNode &node = graph->getValues()[value];
    if (node.producer == PrecisionGraph::Producer::Constant)
      continue;
    const bool low = isValueLow(value);
    bool differs = false, moves = false;
    for (const PrecisionGraph::Use &use : graph->getUses(value)) {
      const bool pays =
          low ? !wantsLow(use) && !node.isLow && (!use.loose || cost.loosePays)
              : wantsLow(use) && !node.lowSource && !use.loose;
      differs |= pays;
      moves |= pays && !(low && use.summed && cost.sumsWiden);
    }
    if (differs)
      sum += ((moves ? getCastBytes(value) : 0) + cost.overhead)
             << (cost.loopShift * node.loopDepth);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Rules that the strategies share
//===----------------------------------------------------------------------===//

PrecisionRules::PrecisionRules(const PrecisionGraph &graph, PrecisionPlan &plan,
                               const PrecisionPlanOptions &options)
    : graph(graph), plan(plan), denied(graph.getVertices().size()),
      barred(graph.getVertices().size()) {
  const uint32_t count = graph.getVertices().size();
  for (uint32_t v = 0; v < count; ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    if (vertex.kept)
      bar(v, PrecisionReason::Kept);
    else if (is(v, PrecisionClass::Deny))
      bar(v, PrecisionReason::Denied);
    else if (options.checkConstants && !vertex.pinned && readsUnfit(v))
      bar(v, PrecisionReason::ConstantRange);
  }
  if (options.checkConstants)
    barAfterOverflow();
  for (auto [vertex, reason] : options.exceptions)
    if (!barred[vertex] && !graph.getVertices()[vertex].pinned)
      bar(vertex, reason);
  if (options.ranges)
    barOutOfRange(options.ranges->values);
}

void PrecisionRules::barOutOfRange(const llvm::DenseMap<Value, bool> &recorded) {
  std::vector<uint32_t> queue;
  std::vector<bool> seen(graph.getValues().size());
  auto add = [&](uint32_t value) {
    if (!seen[value])
      queue.push_back(value);
    seen[value] = true;
  };
  auto barOne = [&](uint32_t vertex) {
    if (!barred[vertex] && !graph.getVertices()[vertex].pinned)
      bar(vertex, PrecisionReason::ProfileRange);
  };
  for (uint32_t value = 0; value < seen.size(); ++value)
    if (recorded.lookup(graph.getValues()[value].value))
      add(value);
  for (size_t head = 0; head < queue.size(); ++head) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[queue[head]];
    // What can return f32 from low operands does, as nobody reads it low.
    if (node.producer == PrecisionGraph::Producer::Vertex && !node.wide)
      barOne(node.vertex);
    for (const PrecisionGraph::Use &use : graph.getUses(queue[head])) {
      if (use.vertex == PrecisionGraph::kNone)
        continue;
      barOne(use.vertex);
      // What was not recorded and rounds nothing has the same magnitudes.
      if (is(use.vertex, PrecisionClass::Clear))
        for (uint32_t made : graph.getProduced(use.vertex))
          if (!recorded.contains(graph.getValues()[made].value))
            add(made);
    }
  }
}

/// What reads a number that would be infinite may pass it on (a mask that is added or
/// chosen, or made by a multiplication of scalars and then added): whoever reads its
/// result stays f32 as well, through clear ops and one infer op. Matmuls cannot be
/// helped.
void PrecisionRules::barAfterOverflow() {
  // With whether an infer op may follow.
  std::vector<std::pair<uint32_t, bool>> queue;
  for (uint32_t v = 0; v < barred.size(); ++v)
    if (barred[v] && plan[v].reason == PrecisionReason::ConstantRange &&
        (graph.getVertices()[v].infiniteScalar ||
         llvm::any_of(graph.getConsumed(v), [&](uint32_t value) {
           return graph.getValues()[value].overflows;
         })))
      queue.push_back({v, true});
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t from = queue[head].first;
    const bool mayInfer = queue[head].second;
    for (uint32_t reader : graph.getOutputs(from)) {
      if (barred[reader] || graph.getVertices()[reader].pinned ||
          is(reader, PrecisionClass::Allow))
        continue;
      bar(reader, PrecisionReason::ConstantRange);
      plan[reader].via = from;
      if (is(reader, PrecisionClass::Clear))
        queue.push_back({reader, mayInfer});
      else if (mayInfer && is(reader, PrecisionClass::Infer))
        queue.push_back({reader, false});
    }
  }
}

bool PrecisionRules::readsUnfit(uint32_t vertex) const {
  if (graph.getVertices()[vertex].unfitScalar)
    return true;
  // One of a million weights is so small that f16 has no number for it.
  const bool sums = graph.getVertices()[vertex].contraction;
  return llvm::any_of(graph.getConsumed(vertex), [&](uint32_t value) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    return !node.fitsLow && !(sums && node.losesLittle);
  });
}

void PrecisionRules::spreadDeny() {
  if (std::exchange(hasSpread, true))
    return;
  std::vector<uint32_t> deny, ends;
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    if (is(v, PrecisionClass::Deny))
      deny.push_back(v);
    if (is(v, PrecisionClass::Deny) || isInfer(v))
      ends.push_back(v);
  }
  std::vector<bool> up = reach(ends, true, false, [&](uint32_t v, uint32_t) {
    return is(v, PrecisionClass::Clear);
  });
  denied = reach(deny, false, true, [&](uint32_t v, uint32_t from) {
    if (!up[v] || graph.getVertices()[v].pinned)
      return false;
    if (!barred[v]) {
      plan[v].reason = PrecisionReason::BehindDenied;
      plan[v].via = from;
    }
    return true;
  });
}

/// Only what is low already.
static void planNone(const PrecisionGraph &graph, PrecisionPlan &plan) {
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
    if (graph.getVertices()[v].pinned)
      plan[v] = {true, PrecisionReason::AlreadyLow, PrecisionGraph::kNone};
}

/// The bytes of paint's casts, if they are for the same contractions. Paint keeps no
/// state and no sums in loops.
static std::optional<uint64_t> getPaintedBytes(const PrecisionPlan &plan,
                                               const PrecisionRules &rules,
                                               PrecisionPlanOptions options) {
  const PrecisionGraph &graph = plan.getGraph();
  PrecisionPlan painted(graph);
  const size_t exceptions = options.exceptions.size();
  llvm::erase_if(options.exceptions, [](auto each) {
    return each.second == PrecisionReason::State ||
           each.second == PrecisionReason::Recurrence;
  });
  PrecisionRules paintRules = options.exceptions.size() == exceptions
                                  ? PrecisionRules(rules, painted)
                                  : PrecisionRules(graph, painted, options);
  planPaint(graph, paintRules, painted);
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
    if (graph.getVertices()[v].contraction && plan.isLow(v) && !painted.isLow(v))
      return std::nullopt;
  return painted.countCasts().bytes;
}

/// The distinct values that contractions read and make: the number of casts if only
/// contractions were low.
static uint64_t countContractionValues(const PrecisionGraph &graph) {
  llvm::BitVector seen(graph.getValues().size());
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
    if (graph.getVertices()[v].contraction) {
      for (uint32_t value : graph.getConsumed(v))
        seen.set(value);
      for (uint32_t value : graph.getProduced(v))
        seen.set(value);
    }
  return seen.count();
}

/// See planPrecision.
static void planNoWorseThanPaint(const PrecisionGraph &graph, PrecisionRules &rules,
                                 const PrecisionPlanOptions &options,
                                 PrecisionPlan &plan) {
  auto planWithinPaint = [&](uint64_t overhead) {
    plan = PrecisionPlan(graph);
    plan.setPaintedOverhead(overhead);
    PrecisionRules fresh(graph, plan, options);
    planMinCut(graph, fresh, options, plan);
  };
  if (options.paintedOverhead)
    return planWithinPaint(*options.paintedOverhead);
  if (std::optional<uint64_t> overhead = graph.getPaintedOverhead())
    return planWithinPaint(*overhead);
  planMinCut(graph, rules, options, plan);
  const PrecisionPlan::Casts casts = plan.countCasts();
  // Ops that an earlier run made low are not a plan of paint's to compare with.
  if (casts.bytes == 0 || !options.gains.empty() || !graph.getOwnCasts().empty())
    return;
  std::optional<uint64_t> painted = getPaintedBytes(plan, rules, options);
  if (!painted || *painted >= casts.bytes) {
    // Where bytes alone count, the number of casts does not.
    if (options.cost.overhead == 0 ||
        casts.down + casts.up < countContractionValues(graph))
      return;
    PrecisionPlan first = plan;
    planWithinPaint(options.cost.overhead);
    const PrecisionPlan::Casts other = plan.countCasts();
    if (other.down + other.up >= casts.down + casts.up || other.bytes > casts.bytes)
      plan = std::move(first);
    return;
  }
  for (uint64_t overhead = options.cost.overhead;; overhead /= 4) {
    planWithinPaint(overhead);
    if (overhead == 0 || plan.countCasts().bytes <= *painted)
      return;
  }
}

PrecisionPlan mpt::planPrecision(const PrecisionGraph &graph,
                                 const PrecisionPlanOptions &options) {
  PrecisionPlan plan(graph);
  PrecisionRules rules(graph, plan, options);
  switch (options.strategy) {
  case PrecisionStrategy::Paint:
    planPaint(graph, rules, plan);
    break;
  case PrecisionStrategy::MinCut:
    planNoWorseThanPaint(graph, rules, options, plan);
    break;
  case PrecisionStrategy::Promote:
    planPromote(graph, rules, plan, options.castArguments);
    break;
  case PrecisionStrategy::None:
    planNone(graph, plan);
    break;
  }
  return plan;
}
