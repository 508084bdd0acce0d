//===- RematPlan.h - What to compute again to save memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans of rematerialization: given a graph of costs and bytes (RematGraph),
/// orders in which nodes run again so that fewer bytes are alive. Pure and
/// deterministic.
///
/// The planner works out the whole frontier of memory against cost first, without
/// knowing the budget, and a budget then chooses from it. So more bytes never cost
/// more time, and what is met by a budget is met by every larger one.
///
/// Strategies:
///   segments  the forward pass in k runs of nodes, only what crosses their borders
///             is kept (Chen et al. 2016), for every k up to twice the root;
///   mincut    the fewest bytes kept between forward and backward pass such that
///             only free nodes run again (PyTorch's default partitioner);
///   lookahead simulation that, where the memory does not suffice, drops the value
///             with the least cost per byte and distance of next use (DTR's measure
///             with the future known), swept over its exponents and a ladder of
///             budgets;
///   anneal    from what RematBound's prices say, and from the best plan known, simulated
///             annealing over which nodes run again where (RematAnneal.cpp);
///   auto      all of these;
///   optimal   auto, then a best-first search over (next node, values present) that
///             proves the optimum, where it ends within its limit.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_REMATPLAN_H
#define MPT_MEMORY_PLANNING_REMATPLAN_H

#include "mpt/Memory/Planning/RematBound.h"
#include "mpt/Support/MemoryBudget.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <limits>

namespace mpt {

enum class RematStrategy : uint8_t { None, Segments, MinCut, Optimal, Auto };

/// The strategy called `name`, or nullopt.
std::optional<RematStrategy> parseRematStrategy(llvm::StringRef name);

struct RematOptions {
  RematStrategy strategy = RematStrategy::Auto;
  /// How much work the planner may do, in about simulated executions of nodes: a count
  /// of steps, not a time. At least the ladder is run. Doubling it does not always find a
  /// better plan.
  int64_t effort = 4'000'000;
  uint64_t seed = 1;
  /// Plans of more bytes need not be looked for. Those of fewer are the same.
  int64_t maxBytes = std::numeric_limits<int64_t>::max();
  /// States that `optimal` may visit before it gives up.
  int64_t maxStates = 100'000;
};

/// One way to run the graph.
struct RematPlan {
  std::vector<uint32_t> order;
  int64_t peak = 0, cost = 0;
};

/// Plans none of which is beaten by another in both bytes and cost: more bytes, less
/// cost. The last is the graph's own order, or one no worse, with what
/// RematSave::Never asks for. Of exact widenings each keeps the narrow side alone, unless
/// it takes more bytes to do so. Empty if the graph's own order is not valid.
std::vector<RematPlan> planRematFrontier(const RematGraph &graph,
                                         const RematOptions &options = {});

/// The order of `mincut` by itself: what only free nodes make is made again where the
/// backward pass needs it, such that the fewest bytes are kept for that. With
/// `onlyMarked`, only what RematSave::Never asks for. With a `price`, of bytes for a unit
/// of time, bytes kept and RematNode::repeatCost of what is repeated are least together.
std::vector<uint32_t> planFreeRemat(const RematGraph &graph, bool onlyMarked,
                                    double price = 0);

/// `order`, with exact widenings (RematNode::widens) repeated: if the backward pass reads
/// one that the forward pass made, it runs again there, so that only its narrow side is
/// kept from one pass to the other.
std::vector<uint32_t> keepNarrowSides(const RematGraph &graph,
                                      const std::vector<uint32_t> &order);

/// What came of a request.
struct RematResult {
  enum Status : uint8_t {
    /// `plan` is within the budget.
    Met,
    /// No plan in this order of first executions is: see `witness`.
    Infeasible,
    /// Nothing found; `plan` is the smallest there is.
    NotFound,
  } status = Met;
  RematPlan plan;
  /// The budget in bytes; with `min`, the plan's.
  int64_t budget = 0;
  /// Bytes and cost without rematerialization.
  int64_t plainPeak = 0, plainCost = 0;
  /// No plan within the budget costs less.
  int64_t costBound = 0;
  /// No plan takes fewer bytes.
  RematBound::Witness leastBudget{0, 0};
  RematBound::Witness witness{0, 0};
  /// `optimal`: the cost is proved to be the least.
  bool isOptimal = false;

  double getOverhead() const {
    return double(plan.cost) / std::max<int64_t>(plainCost, 1);
  }
  double getBound() const { return double(costBound) / std::max<int64_t>(plainCost, 1); }
  /// How far above the bound the plan may be, in percent of the bound.
  double getGap() const {
    return 100.0 * (double(plan.cost) / std::max<int64_t>(costBound, 1) - 1.0);
  }
};

/// Bytes of `budget` for something that takes `plain` bytes without
/// rematerialization; nullopt for `min`.
std::optional<int64_t> resolveRematBudget(const RematBudget &budget, int64_t plain);

/// Chooses from the frontier.
RematResult planRemat(const RematGraph &graph, const RematBudget &budget,
                      const RematOptions &options = {});

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_REMATPLAN_H
