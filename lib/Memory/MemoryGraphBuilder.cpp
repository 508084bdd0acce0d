//===- MemoryGraphBuilder.cpp - The memory of a function, op by op -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/MemoryGraphBuilder.h"
#include "mpt/Memory/RematFunction.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Precision/ElementTypes.h"
#include "mpt/Support/ElementCount.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

namespace {

/// What becomes of the values that a block returns.
enum class Returned {
  /// They are alive to the end.
  Kept,
  /// They are written to memory of whoever runs the block.
  Elsewhere,
};

class MemoryGraphBuilder {
public:
  MemoryGraphBuilder(const RuleTable &rules, int64_t alignment)
      : rules(rules), alignment(alignment) {}

  FailureOr<MemoryGraph> run(func::FuncOp function) {
    if (failed(measureCallees(function)))
      return failure();
    return build(function, Returned::Kept);
  }

private:
  FailureOr<MemoryGraph> build(func::FuncOp function, Returned returned);
  /// Fills `nested` for all ops in `region` and below.
  LogicalResult measureRegions(Operation *op);
  FailureOr<MemoryGraph> buildBlock(Block &block, Returned returned);
  LogicalResult measureCallees(func::FuncOp function);

  FailureOr<int64_t> getBytes(Value value);
  /// The buffer of `value`, or nullopt for what takes no memory.
  FailureOr<std::optional<unsigned>> getBuffer(MemoryGraph &graph, Value value);
  ResultMemory getResultMemory(Operation *op);
  bool isConstant(Operation *op);
  void addInPlace(MemoryGraph &graph, MemoryOp &node);
  void linkUpdates(MemoryGraph &graph, func::FuncOp function);

  Value getOwner(Value value) const {
    auto it = owners.find(value);
    return it == owners.end() ? value : it->second;
  }

  const RuleTable &rules;
  int64_t alignment;
  ElementTypes types;
  DenseMap<Value, Value> owners;
  DenseMap<Value, unsigned> buffers;
  /// The most bytes that the regions of an op, and the functions, keep at once.
  DenseMap<Operation *, int64_t> nested;
};

FailureOr<int64_t> MemoryGraphBuilder::getBytes(Value value) {
  int64_t bits = 0;
  SmallVector<int64_t> shape;
  if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
    shape.assign(type.getShape().begin(), type.getShape().end());
    Type element = type.getElementType();
    if (auto complex = dyn_cast<ComplexType>(element))
      bits = complex.getElementType().isIntOrFloat()
                 ? 2 * complex.getElementType().getIntOrFloatBitWidth()
                 : 0;
    else if (element.isIntOrFloat())
      bits = element.getIntOrFloatBitWidth();
    else if (element.isIndex())
      bits = 64;
  } else if (FloatType element = types.getFloat(value.getType())) {
    // A tensor of a dialect's own.
    std::optional<SmallVector<int64_t>> sizes = ElementTypes::getShape(value.getType());
    if (!sizes)
      return 0;
    shape = std::move(*sizes);
    bits = element.getWidth();
  }
  if (bits == 0)
    return 0;
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return emitError(value.getLoc(), "planning memory needs static shapes, but "
                                     "this value is ")
           << value.getType()
           << "; give dynamic dimensions a size first (--mpt-specialize)";
  std::optional<int64_t> bytes = countBytes(shape, bits);
  if (!bytes)
    return emitError(value.getLoc(), "a value of more than 2^50 elements or 2^53 bytes "
                                     "cannot be planned: ")
           << value.getType();
  return llvm::alignTo(*bytes, alignment);
}

bool MemoryGraphBuilder::isConstant(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  const DialectSpelling *spelling =
      rules.getSpelling(op->getName().getDialectNamespace());
  return spelling && spelling->constantOp == op->getName().getStringRef();
}

FailureOr<std::optional<unsigned>> MemoryGraphBuilder::getBuffer(MemoryGraph &graph,
                                                                 Value value) {
  value = getOwner(value);
  if (auto it = buffers.find(value); it != buffers.end())
    return std::optional<unsigned>(it->second);
  FailureOr<int64_t> bytes = getBytes(value);
  if (failed(bytes))
    return failure();
  if (*bytes == 0)
    return std::optional<unsigned>();
  MemoryBuffer buffer;
  buffer.value = value;
  buffer.bytes = *bytes;
  if (Operation *op = value.getDefiningOp())
    buffer.kind = isConstant(op) ? MemoryKind::Constant : MemoryKind::Temporary;
  else
    buffer.kind = MemoryKind::Argument;
  buffers[value] = graph.buffers.size();
  graph.buffers.push_back(std::move(buffer));
  return std::optional<unsigned>(graph.buffers.size() - 1);
}

ResultMemory MemoryGraphBuilder::getResultMemory(Operation *op) {
  if (const MemoryRow *row = rules.lookupMemory(op))
    return row->result;
  if (isa<ViewLikeOpInterface>(op) || isJoinedPart(op))
    return ResultMemory::View;
  if (op->hasTrait<OpTrait::Elementwise>() || op->hasTrait<InPlaceTrait>())
    return ResultMemory::Elementwise;
  return ResultMemory::Own;
}

void MemoryGraphBuilder::addInPlace(MemoryGraph &graph, MemoryOp &node) {
  Operation *op = node.op;
  auto add = [&](Value result, Value operand) {
    auto output = buffers.find(getOwner(result));
    auto input = buffers.find(getOwner(operand));
    if (output == buffers.end() || input == buffers.end() ||
        graph.buffers[output->second].bytes != graph.buffers[input->second].bytes)
      return;
    std::pair<unsigned, unsigned> pair(output->second, input->second);
    if (!llvm::is_contained(node.inPlace, pair))
      node.inPlace.push_back(pair);
  };
  auto shapeAndWidth = [&](Value value) {
    std::optional<SmallVector<int64_t>> shape = ElementTypes::getShape(value.getType());
    unsigned width = 0;
    if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
      if (type.getElementType().isIntOrFloat())
        width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    } else if (FloatType element = types.getFloat(value.getType())) {
      width = element.getWidth() / 8;
    }
    return std::pair(shape, width);
  };
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    if (std::optional<ResultRange> results = loop.getLoopResults())
      for (auto [result, init] : llvm::zip(*results, loop.getInits()))
        add(result, init);
    return;
  }
  switch (getResultMemory(op)) {
  case ResultMemory::View:
    return;
  case ResultMemory::Own:
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      for (OpResult result : op->getResults())
        add(result, destination.getTiedOpOperand(result)->get());
    return;
  case ResultMemory::Update:
    for (auto [result, operand] : llvm::zip(op->getResults(), op->getOperands()))
      if (result.getType() == operand.getType())
        add(result, operand);
    return;
  case ResultMemory::Elementwise:
    for (Value result : op->getResults()) {
      auto wanted = shapeAndWidth(result);
      for (Value operand : op->getOperands()) {
        // An operand that is seen with another shape is read elsewhere.
        if (wanted.second == 0 || shapeAndWidth(operand) != wanted ||
            shapeAndWidth(getOwner(operand)).second != wanted.second)
          continue;
        // The same memory must not be read with another shape as well.
        bool once = llvm::all_of(op->getOperands(), [&](Value other) {
          return getOwner(other) != getOwner(operand) || shapeAndWidth(other) == wanted;
        });
        if (once)
          add(result, operand);
      }
    }
    return;
  }
}

FailureOr<MemoryGraph> MemoryGraphBuilder::buildBlock(Block &block, Returned returned) {
  MemoryGraph graph;
  graph.alignment = alignment;
  // Buffers of other blocks are counted there.
  buffers.clear();
  auto use = [&](SmallVectorImpl<unsigned> &ids, Value value) -> LogicalResult {
    // What comes from outside is an input of the op around the block.
    if (getOwner(value).getParentBlock() != &block)
      return success();
    FailureOr<std::optional<unsigned>> id = getBuffer(graph, value);
    if (failed(id))
      return failure();
    if (*id && !llvm::is_contained(ids, **id))
      ids.push_back(**id);
    return success();
  };
  for (BlockArgument argument : block.getArguments())
    if (failed(getBuffer(graph, argument)))
      return failure();
  Operation *terminator = block.mightHaveTerminator() ? block.getTerminator() : nullptr;
  for (Operation &op : block) {
    if (&op == terminator)
      break;
    if (getResultMemory(&op) == ResultMemory::View && op.getNumOperands() > 0) {
      for (auto [i, result] : llvm::enumerate(op.getResults()))
        owners[result] = getOwner(op.getOperand(i < op.getNumOperands() ? i : 0));
    }
    MemoryOp node;
    node.op = &op;
    node.repeatable = isRepeatable(&op, rules);
    node.workspace = nested.lookup(&op);
    for (Value operand : op.getOperands())
      if (failed(use(node.inputs, operand)))
        return failure();
    if (op.getNumRegions() > 0) {
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op.getRegions(), captured);
      for (Value value : captured)
        if (failed(use(node.inputs, value)))
          return failure();
    }
    if (auto call = dyn_cast<CallOpInterface>(op))
      if (Operation *callee = call.resolveCallable())
        node.workspace += nested.lookup(callee);
    for (Value result : op.getResults())
      if (getOwner(result) == result && failed(use(node.outputs, result)))
        return failure();
    // Constants are there from the start.
    if (llvm::any_of(node.outputs, [&](unsigned id) {
          return graph.buffers[id].kind == MemoryKind::Constant;
        }))
      node.outputs.clear();
    addInPlace(graph, node);
    graph.ops.push_back(std::move(node));
  }
  connectBuffers(graph);
  if (terminator)
    for (Value value : terminator->getOperands()) {
      if (getOwner(value).getParentBlock() != &block)
        continue;
      FailureOr<std::optional<unsigned>> id = getBuffer(graph, value);
      if (failed(id))
        return failure();
      if (!*id)
        continue;
      MemoryBuffer &buffer = graph.buffers[**id];
      buffer.returned = true;
      if (returned == Returned::Elsewhere && buffer.kind == MemoryKind::Temporary)
        buffer.kind = MemoryKind::Output;
    }
  return graph;
}

LogicalResult MemoryGraphBuilder::measureRegions(Operation *root) {
  WalkResult result = root->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (op == root)
      return WalkResult::advance();
    // Scalar code on elements takes nothing.
    const OpRule *rule = rules.lookup(op);
    if (isa<kernel::KernelOp>(op) || (rule && rule->region == RegionPolicy::Combiner))
      return WalkResult::advance();
    // A loop's next values are there together with the present ones.
    const bool isLoop =
        isa<LoopLikeOpInterface>(op) || (rule && rule->region == RegionPolicy::Carry);
    int64_t most = 0;
    for (Region &region : op->getRegions()) {
      if (region.empty())
        continue;
      if (!region.hasOneBlock()) {
        op->emitError("memory cannot be planned through control flow between blocks");
        return WalkResult::interrupt();
      }
      FailureOr<MemoryGraph> graph =
          buildBlock(region.front(), isLoop ? Returned::Kept : Returned::Elsewhere);
      if (failed(graph))
        return WalkResult::interrupt();
      most = std::max(most, profileMemory(*graph).peak);
    }
    if (most > 0)
      nested[op] = most;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult MemoryGraphBuilder::measureCallees(func::FuncOp function) {
  // Callees before callers; in a recursion, whoever is met first counts nothing for
  // its calls to itself.
  auto getCallees = [](func::FuncOp caller) {
    SmallVector<func::FuncOp> callees;
    caller.walk([&](CallOpInterface call) {
      if (auto callee = dyn_cast_or_null<func::FuncOp>(call.resolveCallable()))
        if (!callee.isExternal())
          callees.push_back(callee);
    });
    return callees;
  };
  SmallVector<std::pair<func::FuncOp, SmallVector<func::FuncOp>>> stack;
  llvm::DenseSet<Operation *> seen{function};
  stack.push_back({function, getCallees(function)});
  while (!stack.empty()) {
    if (!stack.back().second.empty()) {
      func::FuncOp next = stack.back().second.pop_back_val();
      if (seen.insert(next).second)
        stack.push_back({next, getCallees(next)});
      continue;
    }
    func::FuncOp done = stack.pop_back_val().first;
    if (done == function)
      break;
    FailureOr<MemoryGraph> graph = build(done, Returned::Elsewhere);
    if (failed(graph))
      return failure();
    nested[done] = profileMemory(*graph).peak;
  }
  return success();
}

/// The results of `function` that are the next value of an argument: (argument,
/// operand of the terminator).
SmallVector<std::pair<BlockArgument, unsigned>> findUpdates(func::FuncOp function) {
  SmallVector<std::pair<BlockArgument, unsigned>> updates;
  for (BlockArgument argument : function.getArguments())
    if (auto alias = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                            "tf.aliasing_output"))
      if (alias.getInt() >= 0 && alias.getInt() < int64_t(function.getNumResults()))
        updates.push_back({argument, unsigned(alias.getInt())});
  StepView step(function);
  for (auto [i, result] : llvm::enumerate(step.getResults()))
    if (result.updates)
      updates.push_back({function.getArgument(*result.updates), unsigned(i)});
  return updates;
}

void MemoryGraphBuilder::linkUpdates(MemoryGraph &graph, func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (BlockArgument argument : function.getArguments()) {
    auto it = buffers.find(argument);
    if (it == buffers.end())
      continue;
    unsigned i = argument.getArgNumber();
    std::optional<Role> role = StepView::getRole(function, i);
    if (role && isStateRole(*role))
      graph.buffers[it->second].kind = MemoryKind::State;
    else if (function.getArgAttr(i, "jax.buffer_donor"))
      graph.buffers[it->second].kind = MemoryKind::Donated;
  }
  for (auto [argument, result] : findUpdates(function)) {
    if (result >= terminator->getNumOperands())
      continue;
    auto oldId = buffers.find(argument);
    auto newId = buffers.find(getOwner(terminator->getOperand(result)));
    if (oldId == buffers.end() || newId == buffers.end())
      continue;
    MemoryBuffer &old = graph.buffers[oldId->second];
    MemoryBuffer &next = graph.buffers[newId->second];
    old.kind = MemoryKind::State;
    const int64_t producer = next.producer;
    if (producer < 0 || next.updates >= 0 || next.bytes != old.bytes || old.returned)
      continue;
    MemoryOp &op = graph.ops[producer];
    const bool readByProducer =
        !old.users.empty() && old.users.back() == unsigned(producer);
    if (!old.users.empty() &&
        (old.users.back() > unsigned(producer) ||
         (readByProducer &&
          !llvm::is_contained(op.inPlace, std::pair(newId->second, oldId->second)))))
      continue;
    next.kind = MemoryKind::State;
    next.updates = oldId->second;
    for (unsigned user : old.users)
      if (user != unsigned(producer))
        op.after.push_back(user);
  }
}

FailureOr<MemoryGraph> MemoryGraphBuilder::build(func::FuncOp function,
                                                 Returned returned) {
  if (!function.getBody().hasOneBlock()) {
    function.emitError("memory cannot be planned through control flow between blocks");
    return failure();
  }
  if (failed(measureRegions(function)))
    return failure();
  FailureOr<MemoryGraph> graph = buildBlock(function.getBody().front(), returned);
  if (succeeded(graph) && returned == Returned::Kept)
    linkUpdates(*graph, function);
  return graph;
}

} // namespace

FailureOr<MemoryGraph> mpt::buildMemoryGraph(func::FuncOp function,
                                             const RuleTable &rules, int64_t alignment) {
  return MemoryGraphBuilder(rules, alignment).run(function);
}
