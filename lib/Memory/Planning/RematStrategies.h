//===- RematStrategies.h - Strategies of rematerialization ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One run of the lookahead planner, and the improvement of an order. Private to
/// the planner.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_PLANNING_REMATSTRATEGIES_H
#define MPT_LIB_MEMORY_PLANNING_REMATSTRATEGIES_H

#include "mpt/Memory/Planning/RematPlan.h"

namespace mpt::detail {

/// A graph with the reads of each value in order.
struct RematIndex {
  explicit RematIndex(const RematGraph &graph);

  const RematGraph &graph;
  /// Nodes that read value v: readers[readersOf[v]] to readers[readersOf[v + 1] - 1].
  std::vector<uint32_t> readers, readersOf;
  /// Cost of all nodes before node i.
  std::vector<double> prefix;
};

/// An order under construction: nodes run one after the other, and what they make is in
/// memory until it is dropped.
class RematExecution {
public:
  explicit RematExecution(const RematGraph &graph)
      : present(graph.values.size(), false), graph(graph) {}

  /// Runs node `id`, whose operands must be present.
  void run(uint32_t id) {
    order.push_back(id);
    for (uint32_t value : graph.nodes[id].outputs)
      present[value] = true;
  }
  /// Runs what makes the operands of node `id` that are missing, and then `id`.
  void runWithOperands(uint32_t id);

  std::vector<uint32_t> order;
  /// Whether each value is in memory.
  std::vector<bool> present;

private:
  const RematGraph &graph;
  std::vector<uint32_t> stack;
};

/// How the value to be dropped is chosen: the one for which
/// log(cost) - bytes * log(bytes) - distance * log(distance) is least.
struct LookaheadParameters {
  double bytes = 1, distance = 1;
};

/// Simulates the graph within `budget` bytes. Empty if it gets stuck.
std::vector<uint32_t> runLookahead(const RematIndex &index, int64_t budget,
                                   const LookaheadParameters &parameters);

/// Leaves out repeated executions where keeping what they make does not exceed
/// `budget`, dearest first, and what nobody reads then. `order` must be valid and
/// within the budget.
std::vector<uint32_t> dropRepetitions(const RematIndex &index,
                                      const std::vector<uint32_t> &order, int64_t budget);

/// Runs the graph such that `saved` values stay until their last use; other values
/// that the backward pass reads are dropped before it, made again when first needed,
/// and kept from there to their last use.
std::vector<uint32_t> runWithSaved(const RematIndex &index,
                                   const std::vector<bool> &saved);

struct AnnealParameters {
  /// Steps of lists that may be walked.
  int64_t work = 0;
  /// Temperature at first, in mean costs of a node that may be repeated.
  double hot = 0.2;
  uint64_t seed = 1;
};

/// The cheapest order within `budget` that simulated annealing meets on its way from
/// `start`, which need not be within it; empty if none is.
std::vector<uint32_t> annealOrder(const RematIndex &index,
                                  const std::vector<uint32_t> &start, int64_t budget,
                                  const AnnealParameters &parameters);

/// Runs the graph such that each value is made again for every read before which its
/// bytes, at RematBound's prices, are worth more than that.
std::vector<uint32_t> runByPrices(const RematIndex &index,
                                  const std::vector<double> &prices);

/// The orders of `segments` and of `mincut`.
std::vector<std::vector<uint32_t>> planSegments(const RematIndex &index);
std::vector<uint32_t> planMinCut(const RematIndex &index, double price = 0);

/// The least cost within `budget`, and an order for it, if there is one cheaper than
/// `cheaperThan` and the search ends. `isProved` tells that it ended.
std::vector<uint32_t> searchOptimal(const RematIndex &index, int64_t budget,
                                    int64_t cheaperThan, int64_t maxStates,
                                    bool &isProved);

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_PLANNING_REMATSTRATEGIES_H
