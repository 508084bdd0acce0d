//===- PrecisionMinCut.cpp - The fewest bytes of casts -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionStrategies.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mpt/Support/MinCut.h"

using namespace mlir;
using namespace mpt;

namespace {

constexpr uint32_t kNone = PrecisionGraph::kNone;

/// The vertices that may be low, and those that are.
class MinCutPlanner {
public:
  MinCutPlanner(const PrecisionGraph &graph, PrecisionRules &rules,
                const PrecisionPlanOptions &options, PrecisionPlan &plan)
      : graph(graph), rules(rules),
        cost(plan.getPaintedOverhead() ? CastCost::getFlat(*plan.getPaintedOverhead())
                                       : options.cost),
        gains(options.gains), plan(plan), count(graph.getVertices().size()),
        node(count, kNone) {}

  void run();

private:
  /// What a label is known of: a node of the cut, or settled.
  struct Label {
    uint32_t node = kNone;
    bool low = false;
    bool isFree() const { return node != kNone; }
  };

  std::vector<uint32_t> findLow();
  void findOwn();
  void freeContractions();
  void findFree(ArrayRef<uint32_t> low);
  std::vector<bool> findFollowing(ArrayRef<uint32_t> low,
                                  const std::vector<bool> &between);
  std::vector<bool> findLeadingOn();
  void weighFollowing();
  void freeClusters(std::vector<bool> &free);
  void addValue(uint32_t value);
  /// `to` must be low where `from` is.
  void require(Label from, Label to) { pay(from, to, MinCut::kInfinite); }
  /// `bytes` are paid if `from` is low and `to` is not.
  void pay(Label from, Label to, uint64_t bytes);
  /// `bytes` are paid once if `from` is low and any of `to` is not; and the
  /// other way round.
  void payOnce(Label from, ArrayRef<Label> to, uint64_t bytes);
  void payOnce(ArrayRef<Label> from, Label to, uint64_t bytes);
  Label getLabel(uint32_t vertex) const {
    return {node[vertex], node[vertex] == kNone && plan.isLow(vertex)};
  }
  /// On no side yet, and nothing keeps it f32.
  bool mayBeLow(uint32_t vertex) const;
  Label addNode() { return {cut.addNode(), false}; }

  const PrecisionGraph &graph;
  PrecisionRules &rules;
  const CastCost cost;
  ArrayRef<uint64_t> gains;
  PrecisionPlan &plan;
  uint32_t count;
  /// What is paid whatever is chosen.
  uint64_t settledCost = 0;
  /// Bytes count 2^byteShift, see weighFollowing.
  unsigned byteShift = 0;
  /// See findOwn.
  std::vector<bool> own;
  /// The node of each free vertex.
  std::vector<uint32_t> node;
  std::vector<PrecisionDecision> ifLow;
  /// Of addValue; kept, since it is called often.
  std::vector<Label> readers, strict, moving;
  MinCut cut;
};

/// Of the vertices that are low already, those that an earlier run may have made so:
/// they depend on nothing that was low before it. They are no reason for others to be
/// low; what is between them and a reason lies between two reasons.
void MinCutPlanner::findOwn() {
  std::vector<uint32_t> users;
  for (uint32_t v = 0; v < count; ++v)
    if (graph.getVertices()[v].pinned &&
        llvm::any_of(graph.getConsumed(v), [&](uint32_t value) {
          const PrecisionGraph::ValueNode &read = graph.getValues()[value];
          return read.isLow && !read.maybeOurs &&
                 read.producer != PrecisionGraph::Producer::Vertex;
        }))
      users.push_back(v);
  std::vector<bool> isUsers = rules.reach(users, false, true, [&](uint32_t v, uint32_t) {
    return graph.getVertices()[v].pinned;
  });
  own.resize(count);
  for (uint32_t v = 0; v < count; ++v)
    own[v] = graph.getVertices()[v].pinned && !isUsers[v] &&
             !rules.is(v, PrecisionClass::Allow);
}

/// The vertices that are low in any case. Returns those that are a reason for others.
std::vector<uint32_t> MinCutPlanner::findLow() {
  std::vector<uint32_t> low;
  for (uint32_t v = 0; v < count; ++v) {
    if (graph.getVertices()[v].pinned)
      plan[v] = {true, PrecisionReason::AlreadyLow, kNone};
    else if (rules.is(v, PrecisionClass::Allow) && !rules.isBarred(v))
      plan[v] = {true, PrecisionReason::Allowed, kNone};
    if (plan.isLow(v) && !own[v])
      low.push_back(v);
  }
  return low;
}

/// Contractions whose casts may cost more than they gain become a choice as well. What
/// lies between them may be low all the same.
void MinCutPlanner::freeContractions() {
  if (gains.empty())
    return;
  for (uint32_t v = 0; v < count; ++v) {
    if (plan[v].reason != PrecisionReason::Allowed || !plan.isLow(v) ||
        !graph.getVertices()[v].contraction)
      continue;
    ifLow[v] = plan[v];
    plan[v].low = false;
    node[v] = cut.addNode();
    pay({kNone, true}, getLabel(v), gains[v]);
  }
}

bool MinCutPlanner::mayBeLow(uint32_t v) const {
  return !plan.isLow(v) && !rules.isDenied(v) && !rules.isBarred(v) &&
         rules.isClearOrInfer(v) && !(cost.sumsWiden && graph.getVertices()[v].feedsSums);
}

/// What leads to a contraction, nowhere, or out of the function by more than one number:
/// the rest makes the loss alone.
std::vector<bool> MinCutPlanner::findLeadingOn() {
  std::vector<uint32_t> roots;
  for (uint32_t v = 0; v < count; ++v) {
    bool leaves = graph.getVertices()[v].contraction;
    for (uint32_t made : graph.getProduced(v)) {
      leaves |= graph.getUses(made).empty();
      for (const PrecisionGraph::Use &use : graph.getUses(made))
        leaves |= use.vertex == kNone &&
                  (graph.getValues()[made].elements > 1 ||
                   !use.operand->getOwner()->hasTrait<OpTrait::ReturnLike>());
    }
    if (leaves)
      roots.push_back(v);
  }
  return rules.reach(roots, true, false, [](uint32_t, uint32_t) { return true; });
}

/// The infer ops that paint makes low because they follow a low op or lie between low
/// ops.
std::vector<bool> MinCutPlanner::findFollowing(ArrayRef<uint32_t> low,
                                               const std::vector<bool> &between) {
  std::vector<uint32_t> roots(low.begin(), low.end());
  for (uint32_t v = 0; v < count; ++v)
    if (between[v])
      roots.push_back(v);
  auto readsDenied = [&](uint32_t v) {
    return llvm::any_of(graph.getInputs(v),
                        [&](uint32_t input) { return rules.isDenied(input); });
  };
  std::vector<bool> leadsOn = findLeadingOn();
  return rules.reach(roots, false, true, [&](uint32_t v, uint32_t source) {
    if (!leadsOn[v] || (!own[v] && !mayBeLow(v)) || !rules.isInfer(v) || readsDenied(v))
      return false;
    ifLow[v] = {true, PrecisionReason::Follows, source};
    return true;
  });
}

/// What only follows (an update, a loss) stays f32 where that costs no byte more: each
/// counts one, and a byte more than all of them.
void MinCutPlanner::weighFollowing() {
  uint64_t total = 1;
  for (uint32_t value = 0; value < graph.getValues().size(); ++value)
    total += plan.getCastBytes(value) + cost.overhead;
  // Each is paid twice at most, which leaves all below what stands for infinite.
  byteShift = std::min(llvm::Log2_64_Ceil(count + 1),
                       57 - std::min(57u, llvm::Log2_64_Ceil(total)));
  for (uint32_t v = 0; v < count; ++v)
    if (node[v] != kNone && ifLow[v].reason == PrecisionReason::Follows)
      pay(getLabel(v), Label(), 1);
}

/// Gives a node to each vertex that may be low or f32.
void MinCutPlanner::findFree(ArrayRef<uint32_t> low) {
  ifLow.resize(count);
  std::vector<bool> free(count), follows(count);
  std::vector<bool> down = rules.reach(
      low, false, true, [&](uint32_t v, uint32_t) { return own[v] || mayBeLow(v); });
  std::vector<bool> between =
      rules.reach(low, true, false, [&](uint32_t v, uint32_t reader) {
        ifLow[v] = {true, PrecisionReason::Between, reader};
        return down[v];
      });
  if (plan.getPaintedOverhead())
    follows = findFollowing(low, between);
  std::vector<uint32_t> roots;
  for (uint32_t v = 0; v < count; ++v) {
    free[v] = (between[v] || follows[v]) && !plan.isLow(v);
    // What computes in f32 inside loses nothing by reading what is low.
    if (!free[v] && down[v] && rules.is(v, PrecisionClass::Stable)) {
      free[v] = true;
      ifLow[v] = {true, PrecisionReason::Follows, kNone};
    }
    if (free[v] || plan.isLow(v))
      roots.push_back(v);
  }
  std::vector<bool> touched =
      rules.reach(roots, true, true, [&](uint32_t v, uint32_t neighbour) {
        if (free[v] || !mayBeLow(v) || !rules.is(v, PrecisionClass::Clear) ||
            graph.getVertices()[v].readsVariable)
          return false;
        ifLow[v] = {true, PrecisionReason::Neighbour, neighbour};
        return true;
      });
  for (uint32_t v = 0; v < count; ++v)
    free[v] = !plan.isLow(v) && (free[v] || touched[v]);
  freeClusters(free);
  for (uint32_t v = 0; v < count; ++v) {
    if (plan.isLow(v))
      continue;
    if (free[v])
      node[v] = cut.addNode();
    else if (rules.is(v, PrecisionClass::Clear) &&
             plan[v].reason == PrecisionReason::NotBetween)
      plan[v].reason = PrecisionReason::NoLowNeighbour;
  }
}

/// All members of a cluster are free or low, or none is free.
void MinCutPlanner::freeClusters(std::vector<bool> &free) {
  for (const PrecisionGraph::Cluster &cluster : graph.getClusters()) {
    auto mayBeLow = [&](uint32_t v) { return free[v] || plan.isLow(v); };
    // What makes a list is on no list of its own; it follows.
    const bool can =
        cluster.isList ? llvm::any_of(cluster.members, mayBeLow) &&
                             llvm::none_of(cluster.members,
                                           [&](uint32_t v) { return rules.isBarred(v); })
                       : !cluster.escapes && llvm::all_of(cluster.members, mayBeLow);
    for (uint32_t v : cluster.members) {
      if (can && !mayBeLow(v))
        ifLow[v] = {true, PrecisionReason::ListInLow, kNone};
      if (!can && free[v])
        plan[v].reason = PrecisionReason::LoopInF32;
      free[v] = can && !plan.isLow(v);
    }
  }
}

void MinCutPlanner::pay(Label from, Label to, uint64_t bytes) {
  if (bytes == 0)
    return;
  if (from.isFree() && to.isFree())
    cut.addEdge(from.node, to.node, bytes);
  else if (from.isFree() && !to.low)
    cut.addSink(from.node, bytes);
  else if (to.isFree() && from.low)
    cut.addSource(to.node, bytes);
  else if (!to.isFree() && from.low && !to.low && bytes != MinCut::kInfinite)
    settledCost += bytes;
}

void MinCutPlanner::payOnce(Label from, ArrayRef<Label> to, uint64_t bytes) {
  unsigned free = 0;
  Label first;
  for (Label each : to) {
    if (!each.isFree() && !each.low)
      return pay(from, each, bytes);
    if (each.isFree() && free++ == 0)
      first = each;
  }
  if (free == 1)
    return pay(from, first, bytes);
  if (free == 0 || (!from.isFree() && !from.low))
    return;
  Label all = addNode();
  pay(from, all, bytes);
  for (Label each : to)
    if (each.isFree())
      require(all, each);
}

void MinCutPlanner::payOnce(ArrayRef<Label> from, Label to, uint64_t bytes) {
  unsigned free = 0;
  Label first;
  for (Label each : from) {
    if (!each.isFree() && each.low)
      return pay(each, to, bytes);
    if (each.isFree() && free++ == 0)
      first = each;
  }
  if (free == 1)
    return pay(first, to, bytes);
  if (free == 0 || (!to.isFree() && to.low))
    return;
  Label any = addNode();
  pay(any, to, bytes);
  for (Label each : from)
    if (each.isFree())
      require(each, any);
}

void MinCutPlanner::addValue(uint32_t value) {
  using Producer = PrecisionGraph::Producer;
  const PrecisionGraph::ValueNode &made = graph.getValues()[value];
  if (made.producer == Producer::Constant)
    return;
  ArrayRef<PrecisionGraph::Use> uses = graph.getUses(value);
  if (uses.empty())
    return;
  readers.clear();
  strict.clear();
  moving.clear();
  bool anyFree = false;
  for (const PrecisionGraph::Use &use : uses) {
    Label reader = use.vertex == kNone ? Label() : getLabel(use.vertex);
    anyFree |= reader.isFree();
    readers.push_back(reader);
    if (!use.loose)
      strict.push_back(reader);
    if (!(use.summed && cost.sumsWiden) && (!use.loose || cost.loosePays))
      moving.push_back(reader);
  }
  Label maker;
  if (made.producer == Producer::Vertex && !made.alwaysF32)
    maker = getLabel(made.vertex);
  else if (made.producer == Producer::Fixed)
    maker.low = made.isLow;
  const bool chooses =
      made.producer == Producer::Cast || (made.wide && (maker.isFree() || maker.low));
  // A cast in a loop runs each time round.
  const unsigned shift = cost.loopShift * made.loopDepth + byteShift;
  const uint64_t moved = plan.getCastBytes(value) << shift,
                 started = cost.overhead << shift, bytes = moved + started;
  ArrayRef<Label> losing = cost.loosePays ? readers : strict;
  if (!anyFree && !maker.isFree() && !chooses) {
    auto isLow = [](Label label) { return label.low; };
    const bool differs = maker.low ? !made.isLow && !llvm::all_of(losing, isLow)
                                   : !made.lowSource && llvm::any_of(strict, isLow);
    if (differs)
      settledCost += maker.low && llvm::all_of(moving, isLow) ? started : bytes;
    return;
  }
  if (chooses) {
    // Low or f32 at no cost, if the vertex is low; low only for low readers.
    Label form = addNode();
    if (made.producer == Producer::Vertex)
      require(form, maker);
    for (Label reader : readers)
      require(form, reader);
    if (made.readAny && made.producer == Producer::Cast)
      require(form, Label());
    maker = form;
  }
  if (!made.lowSource)
    payOnce(strict, maker, bytes);
  if (!made.isLow || made.producer == Producer::Vertex) {
    // Sums widen what they add: no bytes are moved for them.
    if (moving.size() == losing.size())
      return payOnce(maker, losing, bytes);
    payOnce(maker, losing, started);
    payOnce(maker, moving, moved);
  }
}

void MinCutPlanner::run() {
  findOwn();
  std::vector<uint32_t> low = findLow();
  if (low.empty()) {
    plan.setProvedMinimum(0);
    return;
  }
  rules.spreadDeny();
  rules.denyClusters();
  findFree(low);
  freeContractions();
  if (plan.getPaintedOverhead())
    weighFollowing();
  for (uint32_t value = 0; value < graph.getValues().size(); ++value)
    addValue(value);
  for (const PrecisionGraph::Cluster &cluster : graph.getClusters())
    for (size_t i = 1; i < cluster.members.size(); ++i) {
      Label one = getLabel(cluster.members[i - 1]), other = getLabel(cluster.members[i]);
      require(one, other);
      require(other, one);
    }
  cut.solve();
  uint64_t forgone = 0;
  plan.setProvedMinimum((cut.getFlow() + settledCost) >> byteShift);
  for (uint32_t v = 0; v < count; ++v) {
    if (node[v] == kNone)
      continue;
    if (cut.isSourceSide(node[v])) {
      plan[v] = ifLow[v];
    } else if (ifLow[v].reason == PrecisionReason::Allowed) {
      plan[v].reason = PrecisionReason::CostGate;
      forgone += gains[v];
    } else {
      plan[v].reason = PrecisionReason::FewerCasts;
    }
  }
  plan.setForgone(forgone);
}

} // namespace

void mpt::planMinCut(const PrecisionGraph &graph, PrecisionRules &rules,
                     const PrecisionPlanOptions &options, PrecisionPlan &plan) {
  MinCutPlanner(graph, rules, options, plan).run();
}
