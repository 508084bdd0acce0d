//===- RematWholeSegments.h - Plans for other compilers ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rematerialization for a compiler that fuses and schedules by itself. Such a compiler
/// does not keep the order of single ops, so a plan that holds must be coarse: the
/// forward pass is cut into segments where few bytes cross (Chen et al., 2016), and what
/// the backward pass needs of a segment is made again at one place, before its first
/// reader. Pure and deterministic.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_REMATWHOLESEGMENTS_H
#define MPT_MEMORY_PLANNING_REMATWHOLESEGMENTS_H

#include "mpt/Memory/Planning/RematPlan.h"

namespace mpt {

/// What a compiler that fuses loops does with a node.
struct FusedNode {
  /// Computes its operands while it reads them.
  bool fusesOperands = false;
  /// Its result is computed in each reader, if all of these fuse their operands; with
  /// `once`, if there is only one.
  bool fusesResult = false, once = false;
  /// Only renames memory: the result takes no bytes, and is stored if its operand is.
  bool renames = false;
  /// Writes its results where its operands are: one that nothing reads takes no bytes
  /// (what a loop passes on).
  bool updates = false;
};

/// `graph` as that compiler runs it: values that it computes in their readers take no
/// bytes, and the readers read what these are made of. `nodes` has one entry for each
/// node. Backward begins where most bytes are alive then.
RematGraph fuseRematGraph(const RematGraph &graph, const std::vector<FusedNode> &nodes);

/// Plans none of which is beaten in both bytes and cost: more bytes, less cost; the last
/// is the graph's own order. With `keepsDear` no matmul runs again, nor any other node
/// that is not free.
std::vector<RematPlan> planWholeSegments(const RematGraph &graph, bool keepsDear);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_REMATWHOLESEGMENTS_H
