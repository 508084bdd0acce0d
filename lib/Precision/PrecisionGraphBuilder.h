//===- PrecisionGraphBuilder.h - Makes a PrecisionGraph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The state of the one walk that makes a graph.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_PRECISIONGRAPHBUILDER_H
#define MPT_LIB_PRECISION_PRECISIONGRAPHBUILDER_H

#include "mlir/IR/Visitors.h"
#include "mpt/Precision/PrecisionGraph.h"
#include "mpt/Precision/RangeProfile.h"
#include "llvm/ADT/DenseSet.h"

namespace mpt {

class PrecisionGraphBuilder {
public:
  PrecisionGraphBuilder(PrecisionGraph &graph, PrecisionPolicy &policy,
                        PrecisionGraph::Options options)
      : graph(graph), policy(policy), low(policy.getLowType()),
        f32(mlir::Float32Type::get(low.getContext())), options(options),
        likeGrappler(options.likeGrappler) {}

  void build(mlir::Operation *root);

private:
  using Vertex = PrecisionGraph::Vertex;
  using ValueNode = PrecisionGraph::ValueNode;
  using Producer = PrecisionGraph::Producer;
  static constexpr uint32_t kNone = PrecisionGraph::kNone;

  /// True for a tensor of f32 or of the low type.
  bool isCandidate(mlir::Type type) { return isF32OrLow(types.getFloat(type)); }
  bool isF32OrLow(mlir::Type element) const { return element == f32 || element == low; }
  bool isLow(mlir::Type type) { return types.getFloat(type) == low; }
  /// As of types, but also of a list whose type does not say what it holds.
  mlir::FloatType getElement(mlir::Value value) {
    mlir::FloatType element = types.getFloat(value.getType());
    return element || !types.isUntypedList(value.getType()) ? element : getListed(value);
  }
  bool isCandidate(mlir::Value value) { return isF32OrLow(getElement(value)); }
  bool isLow(mlir::Value value) { return getElement(value) == low; }

  /// Of a cast: true if it is between f32 and the low type and bears MPT's mark.
  bool isOwn(mlir::Operation *op) {
    if (!isOwnCast(op) || op->getNumOperands() == 0 || op->getNumResults() == 0)
      return false;
    mlir::Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    return isCandidate(from) && isCandidate(to) && isLow(from) != isLow(to);
  }
  /// Of a cast: true if it is from f32 to f32. What reads it might as well read what it
  /// reads, in either type. What `--mpt-instrument` reads with must not count as a
  /// reader.
  bool isEmptyCast(mlir::Operation *op) {
    return !likeGrappler && op->getNumOperands() != 0 && op->getNumResults() == 1 &&
           !op->hasAttr(kRecordAttr) &&
           op->getOperand(0).getType() == op->getResult(0).getType() &&
           types.getFloat(op->getResult(0).getType()) == f32;
  }
  uint32_t indexOf(mlir::Value value);
  /// The same for the results of an op that is not a cast of MPT's.
  uint32_t indexOfMade(mlir::OpResult value, mlir::Operation *op) {
    auto [entry, isNew] = valueIndex.try_emplace(value, kNone);
    if (entry->second == kNone)
      entry->second = addValue(value, op->getBlock());
    return entry->second;
  }
  uint32_t addValue(mlir::Value value, mlir::Block *block);
  mlir::FloatType getListed(mlir::Value list);
  bool isListKnown(mlir::Operation *op);
  uint8_t getLoopDepth(mlir::Block *block) {
    // Neighbours are of one block.
    if (block != lastBlock) {
      lastBlock = block;
      lastDepth = getLoopDepth(block->getParent());
    }
    return lastDepth;
  }
  uint8_t getLoopDepth(mlir::Region *region);
  mlir::WalkResult visit(mlir::Operation *op);
  void visitConstant(mlir::Operation *op, mlir::ElementsAttr value);
  void visitCast(mlir::Operation *op, const OpRecord &record);
  bool isOfAnotherType(mlir::Type type);
  /// How an operand or result of an op takes part.
  struct PortFacts {
    Port port;
    bool isCandidate, isLow;
  };
  PortFacts getFacts(mlir::Value value, Port port);
  void visitUniform(mlir::Operation *op, const OpRecord &record);
  void visitPositional(mlir::Operation *op, const OpRecord &record);
  bool visitClonable(mlir::Operation *op, const OpRecord &record);
  void visitBarrier(mlir::Operation *op);
  bool isConvertible(mlir::Operation *op);
  bool isReturned(mlir::Operation *op);
  /// All operands of `op` that no join has keep their type.
  void fixUses(mlir::Operation *op);

  /// The operand flows into `value`: both are of one variable.
  void join(mlir::OpOperand &operand, mlir::Value value);
  void joinRegions(mlir::Operation *op, const OpRecord &record);
  void joinBranches(mlir::Operation *terminator);
  void joinCalls(mlir::Operation *root);
  void finishJoins();
  void index();
  void findSums();

  void addUse(mlir::OpOperand &operand, uint32_t vertex, bool loose = false) {
    uses.push_back({{&operand, vertex, loose, /*summed=*/false}, indexOf(operand.get())});
  }
  uint32_t addVertex(const Vertex &vertex) {
    graph.vertices.push_back(vertex);
    return graph.vertices.size() - 1;
  }
  void setProducer(mlir::OpResult value, mlir::Operation *op, uint32_t vertex, bool wide,
                   bool alwaysF32) {
    ValueNode &node = graph.values[indexOfMade(value, op)];
    node.producer = Producer::Vertex;
    node.vertex = vertex;
    node.wide = wide && !node.isLow;
    node.alwaysF32 = alwaysF32 && !node.isLow;
  }

  PrecisionGraph &graph;
  PrecisionPolicy &policy;
  mlir::Type low, f32;
  PrecisionGraph::Options options;
  bool likeGrappler;
  ElementTypes types;
  llvm::DenseMap<mlir::Value, uint32_t> valueIndex;
  llvm::DenseMap<mlir::Region *, uint8_t> loopDepth;
  mlir::Block *lastBlock = nullptr;
  uint8_t lastDepth = 0;
  llvm::DenseMap<mlir::Value, mlir::FloatType> listed;
  /// The uses found so far, each with its value.
  struct FoundUse {
    PrecisionGraph::Use use;
    uint32_t value;
  };
  std::vector<FoundUse> uses;
  /// The values joined so far, and the uses that flow into them.
  struct JoinedUse {
    mlir::OpOperand *operand;
    uint32_t into;
  };
  std::vector<JoinedUse> joinedUses;
  llvm::DenseSet<mlir::OpOperand *> isJoined;
};

} // namespace mpt

#endif // MPT_LIB_PRECISION_PRECISIONGRAPHBUILDER_H
