//===- PrecisionExceptions.cpp - Single ops that stay f32 -*- C++ -*-===//
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
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpt;

namespace {

constexpr uint32_t kNone = PrecisionGraph::kNone;
/// More moves than there are between a parameter and the matmul that reads it, and more
/// elementwise ops than between a softmax and the next matmul.
constexpr unsigned kMostMoves = 16, kMostSteps = 64;

bool isParameter(const PrecisionGraph &graph, uint32_t value) {
  auto argument = dyn_cast<BlockArgument>(graph.getValues()[value].value);
  return argument &&
         isa_and_nonnull<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

bool isInLoop(const PrecisionGraph &graph, uint32_t vertex) {
  return llvm::any_of(graph.getProduced(vertex), [&](uint32_t value) {
    return graph.getValues()[value].loopDepth != 0;
  });
}

/// What `value` is a moved copy of; itself if it is computed.
uint32_t getRoot(const PrecisionGraph &graph, uint32_t value) {
  for (unsigned moves = 0; moves < kMostMoves; ++moves) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    if (node.producer != PrecisionGraph::Producer::Vertex)
      return value;
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[node.vertex];
    if (vertex.precisionClass != PrecisionClass::Clear)
      return value;
    // A value that a loop passes on unchanged reads its first value and itself.
    uint32_t only = kNone;
    for (uint32_t read : graph.getConsumed(node.vertex)) {
      if (vertex.isJoin && llvm::is_contained(graph.getProduced(node.vertex), read))
        continue;
      if (only != kNone && only != read)
        return value;
      only = read;
    }
    if (only == kNone)
      return value;
    value = only;
  }
  return value;
}

/// All vertices that values of `roots` flow into (or from), not the roots themselves
/// unless another one leads there.
std::vector<bool> reachFrom(const PrecisionGraph &graph, ArrayRef<uint32_t> roots,
                            bool forward) {
  std::vector<bool> seen(graph.getVertices().size());
  std::vector<uint32_t> queue(roots.begin(), roots.end());
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t from = queue[head];
    for (uint32_t next : forward ? graph.getOutputs(from) : graph.getInputs(from))
      if (!seen[next] && next != from) {
        seen[next] = true;
        queue.push_back(next);
      }
  }
  return seen;
}

} // namespace

void mpt::keepFirstAndLastLayers(const PrecisionGraph &graph, PrecisionExceptions &kept) {
  const uint32_t count = graph.getVertices().size();
  std::vector<uint32_t> contractions, layers;
  llvm::DenseSet<uint32_t> taken;
  // In the program's order, so that the forward matmul is the first reader.
  for (uint32_t v = 0; v < count; ++v) {
    if (!graph.getVertices()[v].contraction || isInLoop(graph, v))
      continue;
    contractions.push_back(v);
    bool isLayer = false;
    for (uint32_t value : graph.getConsumed(v)) {
      const uint32_t root = getRoot(graph, value);
      isLayer |= isParameter(graph, root) && taken.insert(root).second;
    }
    if (isLayer)
      layers.push_back(v);
  }
  // Inputs of the network are arguments too: the gradient of a weight reads nothing
  // that is new.
  std::vector<bool> isLayer(count);
  for (uint32_t v : layers)
    isLayer[v] = true;
  std::vector<bool> after = reachFrom(graph, layers, true),
                    before = reachFrom(graph, layers, false);
  llvm::DenseSet<uint32_t> operands;
  for (uint32_t v : layers)
    if (!after[v] || !before[v]) {
      kept.push_back({v, PrecisionReason::FirstOrLast});
      for (uint32_t value : graph.getConsumed(v))
        operands.insert(getRoot(graph, value));
    }
  for (uint32_t v : contractions)
    if (!isLayer[v] && after[v] &&
        llvm::any_of(graph.getConsumed(v), [&](uint32_t value) {
          return operands.contains(getRoot(graph, value));
        }))
      kept.push_back({v, PrecisionReason::FirstOrLast});
}

namespace {

/// What a walk from a value back through elementwise ops does at a vertex.
enum class Step { On, Stop, Fail };

/// Visits what `values` are made of; false after a step that failed, or too many.
bool walkBack(const PrecisionGraph &graph, ArrayRef<uint32_t> values,
              llvm::function_ref<Step(uint32_t)> visit) {
  SmallVector<uint32_t, 16> queue;
  llvm::SmallDenseSet<uint32_t, 16> seen;
  auto add = [&](uint32_t value) {
    const PrecisionGraph::ValueNode &node = graph.getValues()[value];
    if (node.producer == PrecisionGraph::Producer::Vertex &&
        seen.insert(node.vertex).second)
      queue.push_back(node.vertex);
  };
  llvm::for_each(values, add);
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t vertex = queue[head];
    const Step step = head == kMostSteps ? Step::Fail : visit(vertex);
    if (step == Step::Fail)
      return false;
    if (step == Step::On)
      llvm::for_each(graph.getConsumed(vertex), add);
  }
  return true;
}

/// True if what `vertex` reads comes from a matmul of two computed values: scores of
/// attention. A classifier's logits come from one with a parameter.
bool readsScores(const PrecisionGraph &graph, uint32_t vertex) {
  bool found = false;
  walkBack(graph, graph.getConsumed(vertex), [&](uint32_t source) {
    if (!graph.getVertices()[source].contraction)
      return Step::On;
    found |= llvm::none_of(graph.getConsumed(source), [&](uint32_t value) {
      return isParameter(graph, getRoot(graph, value));
    });
    return Step::Stop;
  });
  return found;
}

} // namespace

void mpt::keepAttentionValues(const PrecisionGraph &graph,
                              const llvm::StringSet<> &probabilities,
                              const llvm::StringSet<> &attention,
                              PrecisionExceptions &kept) {
  auto isNamed = [&](uint32_t vertex, const llvm::StringSet<> &names) {
    Operation *op = graph.getVertices()[vertex].op;
    return !graph.getVertices()[vertex].isJoin &&
           names.contains(op->getName().getStringRef());
  };
  std::vector<bool> isSource(graph.getVertices().size());
  for (uint32_t v = 0; v < isSource.size(); ++v)
    isSource[v] = isNamed(v, probabilities) && readsScores(graph, v);
  auto isProbability = [&](uint32_t value) {
    bool found = false;
    return walkBack(graph, value,
                    [&](uint32_t source) {
                      if (isSource[source]) {
                        found = true;
                        return Step::Stop;
                      }
                      return graph.getVertices()[source].contraction ? Step::Fail
                                                                     : Step::On;
                    }) &&
           found;
  };
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v)
    if (isNamed(v, attention) || (graph.getVertices()[v].contraction &&
                                  llvm::any_of(graph.getConsumed(v), isProbability)))
      kept.push_back({v, PrecisionReason::AttentionValues});
}

void mpt::keepLongReductions(const PrecisionGraph &graph, uint64_t limit,
                             PrecisionExceptions &kept) {
  for (uint32_t v = 0; v < graph.getVertices().size(); ++v) {
    const PrecisionGraph::Vertex &vertex = graph.getVertices()[v];
    if (vertex.isJoin || vertex.contraction ||
        (vertex.precisionClass != PrecisionClass::Infer &&
         vertex.precisionClass != PrecisionClass::Stable))
      continue;
    uint64_t read = 0, made = 0;
    for (uint32_t value : graph.getConsumed(v))
      read = std::max(read, graph.getValues()[value].elements);
    for (uint32_t value : graph.getProduced(v))
      made = std::max(made, graph.getValues()[value].elements);
    if (made != 0 && read / made > limit)
      kept.push_back({v, PrecisionReason::LongReduction});
  }
}

//===----------------------------------------------------------------------===//
// State of a training step
//===----------------------------------------------------------------------===//

namespace {

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
      // What an op makes is not an argument; the others are few.
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
  bool isContraction(uint32_t vertex) const {
    return graph.getVertices()[vertex].contraction ||
           graph.getVertices()[vertex].precisionClass == PrecisionClass::Allow;
  }

  /// Steps of one type, without a contraction in between.
  void spread() {
    for (size_t head = 0; head < arguments.size(); ++head)
      for (const PrecisionGraph::Use &use : graph.getUses(arguments[head])) {
        if (use.vertex == kNone || isContraction(use.vertex))
          continue;
        for (uint32_t made : graph.getProduced(use.vertex))
          if (!fromArgument[made] && typeOf(made) == typeOf(arguments[head])) {
            fromArgument[made] = true;
            arguments.push_back(made);
          }
      }
    for (size_t head = 0; head < results.size(); ++head) {
      const PrecisionGraph::ValueNode &node = graph.getValues()[results[head]];
      if (node.producer != PrecisionGraph::Producer::Vertex || isContraction(node.vertex))
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
    if (isContraction(vertex))
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
            isContraction(node.vertex) || !feedsStateAlone(node.vertex))
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

//===----------------------------------------------------------------------===//
// Accumulators of loops
//===----------------------------------------------------------------------===//

namespace {

/// The strongly connected components of the graph of vertices (Tarjan, 1972), without
/// recursion. Calls `visit` with the members of each component with an edge inside.
class Cycles {
public:
  explicit Cycles(const PrecisionGraph &graph)
      : graph(graph), index(graph.getVertices().size(), kNone), lowest(index.size()),
        onStack(index.size()) {}

  void forEach(llvm::function_ref<void(ArrayRef<uint32_t>)> visit) {
    for (uint32_t root = 0; root < index.size(); ++root) {
      if (index[root] != kNone)
        continue;
      enter(root);
      while (!path.empty())
        step(visit);
    }
  }

private:
  /// A vertex and which of its successors comes next.
  struct Frame {
    uint32_t vertex, next;
  };

  void enter(uint32_t vertex) {
    index[vertex] = lowest[vertex] = counter++;
    onStack[vertex] = true;
    stack.push_back(vertex);
    path.push_back({vertex, 0});
  }

  void step(llvm::function_ref<void(ArrayRef<uint32_t>)> visit) {
    Frame &frame = path.back();
    const uint32_t vertex = frame.vertex;
    ArrayRef<uint32_t> successors = graph.getOutputs(vertex);
    if (frame.next != successors.size()) {
      const uint32_t to = successors[frame.next++];
      if (index[to] == kNone)
        enter(to);
      else if (onStack[to])
        lowest[vertex] = std::min(lowest[vertex], index[to]);
      return;
    }
    path.pop_back();
    if (!path.empty())
      lowest[path.back().vertex] = std::min(lowest[path.back().vertex], lowest[vertex]);
    if (lowest[vertex] != index[vertex])
      return;
    size_t first = stack.size();
    do
      onStack[stack[--first]] = false;
    while (stack[first] != vertex);
    if (stack.size() - first > 1)
      visit(ArrayRef(stack).drop_front(first));
    stack.resize(first);
  }

  const PrecisionGraph &graph;
  std::vector<uint32_t> index, lowest;
  std::vector<bool> onStack;
  std::vector<uint32_t> stack;
  std::vector<Frame> path;
  uint32_t counter = 0;
};

} // namespace

void mpt::keepRecurrences(const PrecisionGraph &graph, PrecisionExceptions &kept) {
  ArrayRef<PrecisionGraph::Vertex> vertices = graph.getVertices();
  // Only what a loop carries, or passes on, closes a cycle.
  if (llvm::none_of(vertices, [](const PrecisionGraph::Vertex &vertex) {
        return vertex.isJoin || vertex.recurrent;
      }))
    return;
  Cycles(graph).forEach([&](ArrayRef<uint32_t> cycle) {
    bool computes = false;
    for (uint32_t v : cycle) {
      if (vertices[v].contraction || vertices[v].precisionClass == PrecisionClass::Allow)
        return;
      computes |= vertices[v].precisionClass != PrecisionClass::Clear;
    }
    if (computes)
      for (uint32_t v : cycle)
        kept.push_back({v, PrecisionReason::Recurrence});
  });
}
