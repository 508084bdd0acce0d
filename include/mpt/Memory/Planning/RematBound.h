//===- RematBound.h - Lower bounds of rematerialization ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A lower bound on the cost of every plan that meets a budget and keeps the
/// graph's order of first executions.
///
/// A gap is the time between two consecutive reads of a value by first executions
/// (its making counts as a read, and so does the end for what leaves). While a node
/// in the gap first runs, the value is there or it is not; if it is not, its node
/// runs again before the gap ends. With x = 1 for gaps in which the value is away
/// at some time, m its bytes, c its node's cost and k the number of the node's
/// outputs:
///
///   minimize  sum c/k x   such that for each node t
///   sum over gaps around t of m (1 - x)  +  working set of t  <=  budget
///
/// The gaps of one value are disjoint in time, so each x = 1 stands for an
/// execution of its own, but for the k outputs of one node, which share it: the
/// minimum over 0 <= x <= 1 is a lower bound. Its dual prices, one per node, give a
/// bound however they were found:
///
///   sum_t price_t need_t  -  sum_gaps max(0, m sum_{t in gap} price_t - c/k)
///
/// c counts with v what is read by v's node alone: let that node make nothing else and
/// read w, which no other node reads, does not leave and is not smaller than v. Where a
/// plan keeps w after v was made, to make v again from it, it could as well keep v, in
/// no more bytes at any time. So there is a best plan in which every repetition of v has
/// a repetition of w of its own, whose cost is charged with it; likewise for each such
/// input, and for theirs.
///
/// In the formula need_t is how far the budget is exceeded at t if nothing is
/// dropped. The prices are those of a minimum-cost flow on a line (the matrix has
/// consecutive ones), with nodes taken together where there are many gaps. What is
/// reported is the formula's value at them, less a margin for rounding.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_REMATBOUND_H
#define MPT_MEMORY_PLANNING_REMATBOUND_H

#include "mpt/Memory/Planning/RematGraph.h"
#include <optional>

namespace mpt {

struct RematBound {
  /// No plan within the budget costs less, first executions included; the total
  /// cost at least.
  int64_t cost = 0;
  /// A node that cannot run within the budget, whatever is dropped; the bytes that
  /// must be there when it does.
  struct Witness {
    uint32_t node;
    int64_t bytes;
  };
  std::optional<Witness> infeasible;
  /// What a byte costs at each node; empty if the budget is met without
  /// rematerialization.
  std::vector<double> prices;
};

/// The bound for plans of at most `budget` bytes.
RematBound boundRemat(const RematGraph &graph, int64_t budget);

/// The least budget that is not infeasible by its working sets alone, and the node
/// that says so.
RematBound::Witness getLeastBudget(const RematGraph &graph);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_REMATBOUND_H
