//===- OrderHeuristic.h - Orders of ops that need less memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Heuristics that put the ops of a MemoryGraph into another order. None is best on
/// all graphs: plan each and take the smallest (scheduleForMemory).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_ORDERHEURISTIC_H
#define MPT_MEMORY_PLANNING_ORDERHEURISTIC_H

#include "mpt/Memory/Planning/MemoryGraph.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <optional>

namespace mpt {

enum class OrderHeuristic : uint8_t {
  /// The program's.
  Keep,
  /// The program's, but an op runs as soon as it can once it frees more than it
  /// makes: the optimizer's update of a parameter right after its gradient. So do all
  /// readers of a buffer that free more than they make together, such as the update and
  /// the sum of squares for the norm. Ops that take and make single numbers run at once,
  /// too: updates may wait for them.
  EarlyUpdate,
  /// Least peak memory first, as PyTorch's Inductor does it
  /// (torch/_inductor/memory.py, topological_sort_lpmf): of the ops that can run
  /// without a new peak the one that leaves the least alive, else the one that
  /// raises the peak least.
  LeastPeak,
  /// One result after the other, each with all that it needs, greatest operand
  /// first.
  DepthFirst,
};

inline constexpr std::array<OrderHeuristic, 4> allOrderHeuristics = {
    OrderHeuristic::Keep, OrderHeuristic::EarlyUpdate, OrderHeuristic::LeastPeak,
    OrderHeuristic::DepthFirst};

/// "keep", "early-update", "least-peak", "depth-first".
llvm::StringRef stringifyOrderHeuristic(OrderHeuristic order);
std::optional<OrderHeuristic> symbolizeOrderHeuristic(llvm::StringRef text);

/// The numbers of `graph`'s ops in that order, which respects getPredecessors.
/// The same graph gives the same order. Near-linear in the graph's size.
llvm::SmallVector<unsigned> orderOps(const MemoryGraph &graph, OrderHeuristic order);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_ORDERHEURISTIC_H
