//===- MemorySchedule.cpp - The order of a step that needs the least arena -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/MemorySchedule.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Memory/Planning/LateUpdates.h"

using namespace mlir;
using namespace mpt;

FailureOr<std::optional<OrderHeuristic>>
mpt::getWantedOrder(func::FuncOp function, StringRef option, StringRef pass) {
  if (auto own = function->getAttrOfType<StringAttr>(kMemoryOrderAttr))
    option = own.getValue();
  std::optional<OrderHeuristic> order = symbolizeOrderHeuristic(option);
  if (!order && option != "best")
    return function.emitError()
           << pass
           << ": order must be best, keep, early-update, least-peak or "
              "depth-first, got '"
           << option << "'";
  return order;
}

/// The instructions of `schedule` with its ops in `order`.
static std::vector<StepInstruction> reorder(const InstructionList &schedule,
                                            ArrayRef<unsigned> order) {
  // The first instruction of each op.
  SmallVector<size_t> begins;
  for (auto [i, instruction] : llvm::enumerate(schedule.instructions))
    if (i == 0 || !schedule.instructions[i - 1].isPlannedWith(instruction))
      begins.push_back(i);
  begins.push_back(schedule.instructions.size());
  std::vector<StepInstruction> instructions;
  for (unsigned op : order)
    for (size_t i = begins[op]; i < begins[op + 1]; ++i)
      instructions.push_back(schedule.instructions[i]);
  return instructions;
}

/// The smallest arena of `kept`, the program's own order without a search for offsets,
/// and of `orders`; of equal ones the first.
static MemorySchedule chooseOrder(func::FuncOp function, InstructionList &schedule,
                                  MemorySchedule kept, ArrayRef<OrderHeuristic> orders,
                                  const ArenaOptions &options) {
  ArenaOptions unsearched = options;
  unsearched.searchSteps = 0;
  SmallVector<BufferAssignment, 4> plans;
  SmallVector<InstructionList, 4> lists;
  plans.push_back(std::move(kept.plan));
  lists.push_back(std::move(schedule));
  const MemoryGraph graph = plans.front().graph;
  for (OrderHeuristic order : orders) {
    InstructionList other = lists.front();
    other.instructions = reorder(lists.front(), orderOps(graph, order));
    plans.push_back(assignBuffers(function, other, unsearched));
    lists.push_back(std::move(other));
    kept.trials.push_back({order, 0, 0});
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const BufferAssignment &plan : plans)
    least = std::min(least, plan.arenaBytes);
  size_t chosen = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    // What a search finds is not below the bound, nor is it taken unless it is smaller.
    ArenaOptions smaller = options;
    smaller.mostBytes = std::min(options.mostBytes, least);
    if (i > 0)
      smaller.mostBytes = std::min(smaller.mostBytes, plans[chosen].arenaBytes - 1);
    if (plans[i].arenaLowerBound <= smaller.mostBytes &&
        plans[i].arenaLowerBound < plans[i].arenaBytes)
      plans[i] = assignBuffers(function, lists[i], smaller);
    least = std::min(least, plans[i].arenaBytes);
    kept.trials[i].peak = plans[i].profile.peak;
    kept.trials[i].arenaBytes = plans[i].arenaBytes;
    if (plans[i].arenaBytes < plans[chosen].arenaBytes)
      chosen = i;
  }
  if (chosen > 0)
    kept.order = orders[chosen - 1];
  kept.plan = std::move(plans[chosen]);
  schedule = std::move(lists[chosen]);
  return kept;
}

MemorySchedule mpt::scheduleForMemory(func::FuncOp function, InstructionList &schedule,
                                      std::optional<OrderHeuristic> wanted,
                                      ArenaOptions options, bool needsBest) {
  // Where all orders are compared, offsets are looked for in those alone that can be the
  // smallest.
  const bool comparesAll = !wanted && needsBest && options.searchSteps > 0;
  ArenaOptions first = options;
  if (comparesAll || (wanted && *wanted != OrderHeuristic::Keep))
    first.searchSteps = 0;
  MemorySchedule best;
  best.plan = assignBuffers(function, schedule, first);
  best.trials.push_back(
      {OrderHeuristic::Keep, best.plan.profile.peak, best.plan.arenaBytes});
  auto isEnough = [&] {
    return !needsBest && !wanted && best.plan.arenaBytes <= options.mostBytes;
  };
  if (wanted == OrderHeuristic::Keep || isEnough())
    return best;
  // Orders are made from the program's own.
  const MemoryGraph graph = best.plan.graph;
  const InstructionList kept = schedule;
  // One op after the other for each result leaves nothing to do beside an exchange.
  const bool hasExchanges =
      llvm::any_of(graph.ops, [](const MemoryOp &op) { return op.until >= 0; });
  SmallVector<OrderHeuristic> orders;
  for (OrderHeuristic order : allOrderHeuristics)
    if (order != OrderHeuristic::Keep && (!wanted || order == *wanted) &&
        (wanted || !hasExchanges || order != OrderHeuristic::DepthFirst))
      orders.push_back(order);
  if (comparesAll)
    return chooseOrder(function, schedule, std::move(best), orders, options);
  if (wanted)
    best.trials.clear();
  for (OrderHeuristic order : orders) {
    // Only a smaller one is taken.
    ArenaOptions smaller = options;
    if (!wanted)
      smaller.mostBytes = std::min(smaller.mostBytes, best.plan.arenaBytes - 1);
    InstructionList other = kept;
    other.instructions = reorder(kept, orderOps(graph, order));
    BufferAssignment plan = assignBuffers(function, other, smaller);
    best.trials.push_back({order, plan.profile.peak, plan.arenaBytes});
    if (!wanted && plan.arenaBytes >= best.plan.arenaBytes)
      continue;
    best.plan = std::move(plan);
    best.order = order;
    schedule = std::move(other);
    if (isEnough())
      break;
  }
  return best;
}

/// Bytes that a GPU of 2.9 TB/s reads in the 1.5 us that a launch takes.
static constexpr int64_t kBytesOfLaunch = 4 << 20;
/// By how much the arena may grow.
static constexpr int64_t kMostGrowth = 16 << 20, kGrowthShare = 64;

void mpt::delayUpdates(func::FuncOp function, InstructionList &schedule,
                       MemorySchedule &planned) {
  if (function->hasAttr(kBudgetAttr))
    return;
  const MemoryGraph &graph = planned.plan.graph;
  auto mayWait = llvm::map_to_vector(graph.ops, [](const MemoryOp &op) {
    auto kernel = dyn_cast<kernel::KernelOp>(op.op);
    return kernel && kernel.getKind() == kernel::KernelKind::Pointwise;
  });
  ArenaOptions options;
  options.mostBytes = planned.plan.arenaBytes +
                      std::max(kMostGrowth, planned.plan.arenaBytes / kGrowthShare);
  for (bool byLevel : {true, false}) {
    const LateUpdates updates = orderLateUpdates(graph, mayWait, kBytesOfLaunch, byLevel);
    if (llvm::is_sorted(updates.order))
      return;
    options.keptFrom = byLevel ? updates.begin : ArenaOptions().keptFrom;
    InstructionList late = schedule;
    late.instructions = reorder(schedule, updates.order);
    BufferAssignment plan = assignBuffers(function, late, options);
    if (plan.arenaBytes > options.mostBytes)
      continue;
    planned.plan = std::move(plan);
    schedule = std::move(late);
    return;
  }
}

/// The largest arena whose values do not share memory.
static constexpr int64_t kMostSeparate = 8 << 20;

void mpt::separateValues(func::FuncOp function, const InstructionList &schedule,
                         MemorySchedule &planned) {
  if (function->hasAttr(kBudgetAttr) || planned.plan.arenaBytes > kMostSeparate)
    return;
  ArenaOptions options;
  options.mostBytes = kMostSeparate;
  options.keptFrom = 0;
  BufferAssignment plan = assignBuffers(function, schedule, options);
  if (plan.arenaBytes <= kMostSeparate)
    planned.plan = std::move(plan);
}
