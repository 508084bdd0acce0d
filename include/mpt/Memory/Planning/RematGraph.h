//===- RematGraph.h - The input of rematerialization planners ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A step as numbers: nodes in the order in which they first run, the values they
/// make and read, bytes and costs. Pure; knows nothing of IR.
///
/// A plan is an order of nodes in which each occurs at least once, first
/// occurrences in the graph's order. A node reads the latest instance of each
/// input. An instance of a value is alive from the node that makes it to the last
/// node that reads that instance (to the end, if it is the last instance of a value
/// that leaves the step), both included. The memory at a node is the bytes of all
/// instances alive there, its workspace, and the fixed bytes.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_REMATGRAPH_H
#define MPT_MEMORY_PLANNING_REMATGRAPH_H

#include <cstdint>
#include <vector>

namespace mpt {

/// What the user says of keeping a node's values for the backward pass.
enum class RematSave : uint8_t {
  /// The planner decides.
  Any,
  /// Never dropped while something will read it: the node runs once.
  Must,
  /// Dropped where the backward pass begins, and made again there.
  Never,
};

struct RematNode {
  /// Values read, each at most once.
  std::vector<uint32_t> inputs;
  /// Values made.
  std::vector<uint32_t> outputs;
  /// Time, in any unit; at least 0.
  int64_t cost = 0;
  /// Time that running it once more in the backward pass takes, in the same unit: less
  /// than `cost` for what becomes part of the kernels that read it.
  int64_t repeatCost = 0;
  /// Bytes needed while it runs, in addition to inputs and outputs.
  int64_t workspace = 0;
  /// Bytes of outputs that may take the place of inputs that die here: bounds count
  /// on it, plans do not.
  int64_t inPlace = 0;
  /// Running it again gives the same bits and has no other effect.
  bool mayRepeat = true;
  /// So cheap for what it saves that it is always recomputed (the `mincut` strategy).
  /// Matmuls, and ops that read much more than they make, are not.
  bool isFree = false;
  /// The kernels that read its values in the backward pass can compute them themselves.
  bool isAbsorbed = false;
  /// No kernel computes what ops on both sides of it read, but for what is stored.
  bool splitsKernels = false;
  /// A repeated run can leave out the outputs that nobody reads.
  bool prunesOutputs = false;
  /// Turns its one input into an exact copy of more bytes. Of the two the backward pass
  /// keeps the input: plans run the node again there.
  bool widens = false;
  RematSave save = RematSave::Any;

  bool repeats() const { return mayRepeat && save != RematSave::Must; }
};

struct RematValue {
  int64_t bytes = 0;
  /// Is there when the step ends (a result).
  bool leaves = false;
  /// The node that makes it; set by RematGraph::addValue.
  uint32_t node = 0;
};

struct RematGraph {
  std::vector<RematNode> nodes;
  std::vector<RematValue> values;
  /// Bytes alive throughout: arguments, constants, state.
  int64_t fixedBytes = 0;
  /// The first node of the backward pass (the number of nodes if there is none).
  /// Only `segments`, `mincut` and RematSave::Never depend on it.
  uint32_t backward = 0;

  uint32_t addNode(RematNode node) {
    nodes.push_back(std::move(node));
    return nodes.size() - 1;
  }
  /// A further output of `node`.
  uint32_t addValue(uint32_t node, int64_t bytes, bool leaves = false) {
    values.push_back({bytes, leaves, node});
    nodes[node].outputs.push_back(values.size() - 1);
    return values.size() - 1;
  }

  int64_t getTotalCost() const {
    int64_t total = 0;
    for (const RematNode &node : nodes)
      total += node.cost;
    return total;
  }
  /// Bytes of fixed values, inputs, outputs and workspace of `node`, less what may be
  /// in place: it cannot run in less.
  int64_t getWorkingSet(uint32_t node) const;
};

/// What an order needs.
struct RematProfile {
  bool isValid = false;
  int64_t peak = 0, cost = 0;
  /// Position in the order at which the peak is reached first.
  uint32_t peakPosition = 0;
};

/// Measures `order`; not valid where a node reads what no earlier one made, a node
/// is missing, first occurrences are out of order, or a node runs again that may
/// not.
RematProfile measureRemat(const RematGraph &graph, const std::vector<uint32_t> &order);

/// The graph's own order.
std::vector<uint32_t> getPlainOrder(const RematGraph &graph);

/// Sets `backward` to the node at which most bytes are alive: where a training step
/// turns round, for graphs that do not say it.
void guessBackward(RematGraph &graph);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_REMATGRAPH_H
