//===- PrecisionState.cpp - What a step updates stays f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PrecisionExceptions.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mpt;

namespace {

constexpr uint32_t kNone = PrecisionGraph::kNone;

class StateFinder {
public:
  StateFinder(const PrecisionGraph &graph, PrecisionExceptions &kept)
      : graph(graph), kept(kept), fromArgument(graph.getValues().size()),
        toResult(graph.getValues().size()), isState(graph.getVertices().size()) {}

  void run() {
    findEnds();
    spread();
    for (uint32_t v = 0; v < isState.size(); ++v)
      if (updates(v)) {
        isState[v] = true;
        queue.push_back(v);
      }
    addWhatOnlyFeedsState();
    for (uint32_t v = 0; v < isState.size(); ++v)
      if (isState[v] && !passes[v])
        kept.push_back({v, PrecisionReason::State});
  }

private:
  /// True if `function` looks like a step: it returns a number (the loss) or says
  /// which argument a result replaces.
  bool isStep(FunctionOpInterface function, Operation *returning) {
    auto [entry, isNew] = steps.try_emplace(function, false);
    if (!isNew)
      return entry->second;
    bool found = llvm::any_of(returning->getOperandTypes(), [](Type type) {
      auto shaped = dyn_cast<ShapedType>(type);
      return shaped && shaped.hasRank() && shaped.getRank() == 0 &&
             isa<FloatType>(shaped.getElementType());
    });
    for (unsigned i = 0; i < function.getNumArguments() && !found; ++i)
      found = function.getArgAttr(i, "tf.aliasing_output") != nullptr;
    return steps[function] = found;
  }

  void findEnds() {
    for (uint32_t value = 0; value < graph.getValues().size(); ++value) {
      const PrecisionGraph::ValueNode &node = graph.getValues()[value];
      for (const PrecisionGraph::Use &use : graph.getUses(value)) {
        if (use.vertex != kNone)
          continue;
        Operation *owner = use.operand->getOwner();
        if (!owner->hasTrait<OpTrait::ReturnLike>())
          continue;
        auto function = dyn_cast_or_null<FunctionOpInterface>(owner->getParentOp());
        if (function && isStep(function, owner) && !toResult[value]) {
          toResult[value] = true;
          results.push_back(value);
        }
      }
      // What an op makes is no argument; the others are few.
      if (node.producer == PrecisionGraph::Producer::Vertex &&
          !graph.getVertices()[node.vertex].isJoin)
        continue;
      auto argument = dyn_cast<BlockArgument>(node.value);
      if (argument && argument.getOwner()->isEntryBlock() &&
          isa_and_nonnull<FunctionOpInterface>(argument.getOwner()->getParentOp())) {
        fromArgument[value] = true;
        arguments.push_back(value);
      }
    }
  }

  Type typeOf(uint32_t value) const { return graph.getValues()[value].value.getType(); }
  bool isProduct(uint32_t vertex) const {
    return graph.getVertices()[vertex].contraction ||
           graph.getVertices()[vertex].precisionClass == PrecisionClass::Allow;
  }

  /// Steps of one type, through no product.
  void spread() {
    for (size_t head = 0; head < arguments.size(); ++head)
      for (const PrecisionGraph::Use &use : graph.getUses(arguments[head])) {
        if (use.vertex == kNone || isProduct(use.vertex))
          continue;
        for (uint32_t made : graph.getProduced(use.vertex))
          if (!fromArgument[made] && typeOf(made) == typeOf(arguments[head])) {
            fromArgument[made] = true;
            arguments.push_back(made);
          }
      }
    for (size_t head = 0; head < results.size(); ++head) {
      const PrecisionGraph::ValueNode &node = graph.getValues()[results[head]];
      if (node.producer != PrecisionGraph::Producer::Vertex || isProduct(node.vertex))
        continue;
      for (uint32_t read : graph.getConsumed(node.vertex))
        if (!toResult[read] && typeOf(read) == typeOf(results[head])) {
          toResult[read] = true;
          results.push_back(read);
        }
    }
  }

  /// True if the vertex is on a way from an argument to a result.
  bool updates(uint32_t vertex) const {
    if (isProduct(vertex))
      return false;
    for (uint32_t made : graph.getProduced(vertex))
      if (toResult[made])
        for (uint32_t read : graph.getConsumed(vertex))
          if (fromArgument[read] && typeOf(read) == typeOf(made))
            return true;
    return false;
  }

  /// Gradients times a rate, decayed, clipped: what only such an op reads and what is
  /// no larger than its result.
  void addWhatOnlyFeedsState() {
    passes.resize(isState.size());
    for (size_t head = 0; head < queue.size(); ++head)
      for (uint32_t read : graph.getConsumed(queue[head])) {
        const PrecisionGraph::ValueNode &node = graph.getValues()[read];
        if (node.producer != PrecisionGraph::Producer::Vertex || isState[node.vertex] ||
            isProduct(node.vertex) || !feedsStateAlone(node.vertex))
          continue;
        isState[node.vertex] = true;
        const PrecisionClass itsClass = graph.getVertices()[node.vertex].precisionClass;
        // What only moves may be low as well as not.
        passes[node.vertex] = itsClass == PrecisionClass::Clear;
        queue.push_back(node.vertex);
      }
  }

  bool feedsStateAlone(uint32_t vertex) const {
    uint64_t largest = 0;
    for (uint32_t made : graph.getProduced(vertex)) {
      largest = std::max(largest, graph.getValues()[made].elements);
      for (const PrecisionGraph::Use &use : graph.getUses(made))
        if (use.vertex == kNone || !isState[use.vertex])
          return false;
    }
    return llvm::all_of(graph.getConsumed(vertex), [&](uint32_t read) {
      return graph.getValues()[read].elements <= largest;
    });
  }

  const PrecisionGraph &graph;
  PrecisionExceptions &kept;
  std::vector<bool> fromArgument, toResult, isState, passes;
  std::vector<uint32_t> arguments, results, queue;
  DenseMap<Operation *, bool> steps;
};

} // namespace

void mpt::keepState(const PrecisionGraph &graph, PrecisionExceptions &kept) {
  StateFinder(graph, kept).run();
}
