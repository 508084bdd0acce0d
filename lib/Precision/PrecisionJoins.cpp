//===- PrecisionJoins.cpp - Values that are one variable -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What loops carry, what conditionals and branches pass on, and what calls pass to
/// functions whose types may change: operands that flow into a value have its
/// precision.
///
//===----------------------------------------------------------------------===//

#include "PrecisionGraphBuilder.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mpt;

void PrecisionGraphBuilder::join(OpOperand &operand, Value value) {
  // Shapes may be less known on one side.
  Type from = operand.get().getType(), to = value.getType();
  if (!isCandidate(value) || getElement(operand.get()) != getElement(value) ||
      types.isList(from) != types.isList(to) ||
      types.isUntypedList(from) != types.isUntypedList(to))
    return;
  uint32_t into = indexOf(value);
  isJoined.insert(&operand);
  joinedUses.push_back({&operand, into});
}

void PrecisionGraphBuilder::joinRegions(Operation *op, const OpRecord &record) {
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    auto joinOperands = [&](Operation *from) {
      for (OpOperand &operand : from->getOpOperands()) {
        auto found = mapping.find(&operand);
        if (found == mapping.end())
          continue;
        for (Value value : found->second)
          join(operand, value);
      }
    };
    joinOperands(op);
    for (Region &each : op->getRegions())
      for (Block &block : each)
        if (!block.empty())
          joinOperands(&block.back());
    return;
  }
  const bool carries = record.getRegionPolicy() == RegionPolicy::Carry;
  // Where what belongs to result 0 begins: in operands, arguments, and yields.
  unsigned first[3] = {0, 0, 0};
  llvm::copy(record.rule->firstCarried.take_front(3), first);
  int64_t carried = int64_t(op->getNumOperands()) - first[0];
  if (StringRef name = record.rule->scanInputs; !name.empty()) {
    auto scanned = op->getAttrOfType<IntegerAttr>(name);
    if (!scanned || scanned.getValue().getSignificantBits() > 32)
      return;
    carried -= scanned.getValue().getSExtValue();
  }
  if (carries && (carried < 0 || carried > op->getNumOperands()))
    return;
  MutableArrayRef<OpOperand> operands;
  if (first[0] <= op->getNumOperands())
    operands = op->getOpOperands().drop_front(first[0]);
  auto joinArguments = [&](MutableArrayRef<OpOperand> from, Block &block) {
    if (first[1] <= block.getNumArguments())
      for (auto [operand, argument] :
           llvm::zip(from, block.getArguments().drop_front(first[1])))
        join(operand, argument);
  };
  for (Region &each : op->getRegions())
    for (Block &block : each) {
      if (carries && block.isEntryBlock())
        joinArguments(operands, block);
      if (block.empty())
        continue;
      Operation &last = block.back();
      if (last.getNumOperands() != op->getNumResults() + first[2])
        continue;
      MutableArrayRef<OpOperand> yielded = last.getOpOperands().drop_front(first[2]);
      for (auto [operand, result] : llvm::zip(yielded, op->getResults()))
        join(operand, result);
      if (carries)
        joinArguments(yielded.take_front(carried), each.front());
    }
  if (carries)
    for (auto [operand, result] :
         llvm::zip(operands.take_front(carried), op->getResults()))
      join(operand, result);
}

void PrecisionGraphBuilder::joinBranches(Operation *terminator) {
  auto branch = dyn_cast<BranchOpInterface>(terminator);
  if (!branch)
    return;
  for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i) {
    SuccessorOperands operands = branch.getSuccessorOperands(i);
    Block *block = terminator->getSuccessor(i);
    unsigned made = operands.getProducedOperandCount();
    for (unsigned j = made; j < operands.size(); ++j)
      join(terminator->getOpOperand(operands.getOperandIndex(j)), block->getArgument(j));
  }
}

/// Joins calls with the private functions that they name.
void PrecisionGraphBuilder::joinCalls(Operation *root) {
  struct Callee {
    std::vector<Operation *> calls;
    unsigned references = 0;
  };
  llvm::MapVector<Operation *, Callee> callees;
  SymbolTableCollection tables;
  root->walk([&](Operation *op) {
    auto add = [&](SymbolRefAttr symbol) {
      Operation *callee = tables.lookupNearestSymbolFrom(op, symbol);
      if (auto function = dyn_cast_or_null<FunctionOpInterface>(callee);
          function && !function.isExternal() && function.isPrivate() &&
          function.getNumArguments() == op->getNumOperands() &&
          (callees[callee].calls.empty() || callees[callee].calls.back() != op))
        callees[callee].calls.push_back(op);
    };
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      if (auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
        add(symbol);
    } else if (OpRecord record = policy.lookup(op); record.rule) {
      for (StringRef name : record.rule->callees)
        if (auto symbol = op->getAttrOfType<SymbolRefAttr>(name))
          add(symbol);
    }
  });
  if (callees.empty())
    return;
  // Every mention of a function must be one of those calls. By name, since MLIR
  // finds no use, and no function, from inside an op that may be a symbol table of
  // its own: one with one region, of a dialect that it does not know.
  DenseMap<StringAttr, SmallVector<Operation *, 1>> byName;
  DenseSet<std::pair<Operation *, Operation *>> known;
  for (auto &[op, callee] : callees) {
    byName[SymbolTable::getSymbolName(op)].push_back(op);
    for (Operation *call : callee.calls)
      known.insert({call, op});
  }
  root->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
      auto named = byName.find(symbol.getLeafReference());
      if (named == byName.end())
        return;
      for (Operation *callee : named->second)
        if (!known.contains({op, callee}))
          ++callees[callee].references;
    });
  });
  // All functions of one call change together, or none.
  auto getCallees = [&](Operation *call) {
    SmallVector<Operation *> found;
    if (isa<CallOpInterface>(call))
      return found;
    for (StringRef name : policy.lookup(call).rule->callees)
      if (auto symbol = call->getAttrOfType<SymbolRefAttr>(name))
        found.push_back(tables.lookupNearestSymbolFrom(call, symbol));
    return found;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, callee] : callees) {
      if (callee.references != 0)
        continue;
      for (Operation *call : callee.calls)
        for (Operation *other : getCallees(call)) {
          auto found = callees.find(other);
          if (found == callees.end() || found->second.references != 0)
            ++callee.references;
        }
      changed |= callee.references != 0;
    }
  }
  for (auto &[op, callee] : callees) {
    if (callee.references != 0)
      continue;
    graph.specializedCalls.insert(graph.specializedCalls.end(), callee.calls.begin(),
                                  callee.calls.end());
    graph.specialized.push_back(op);
    auto function = cast<FunctionOpInterface>(op);
    for (Operation *call : callee.calls) {
      for (auto [operand, argument] :
           llvm::zip(call->getOpOperands(), function.getArguments()))
        join(operand, argument);
      for (Block &block : function.getFunctionBody()) {
        Operation *last = block.empty() ? nullptr : &block.back();
        if (!last || !last->hasTrait<OpTrait::ReturnLike>())
          continue;
        if (last->getNumOperands() == call->getNumResults())
          for (auto [operand, result] :
               llvm::zip(last->getOpOperands(), call->getResults()))
            join(operand, result);
        // A loop passes on what its body returns.
        OpRecord record = policy.lookup(call);
        if (record.getRegionPolicy() == RegionPolicy::Carry &&
            last->getNumOperands() == function.getNumArguments()) {
          for (auto [operand, argument] :
               llvm::zip(last->getOpOperands(), function.getArguments()))
            join(operand, argument);
          for (auto [operand, result] :
               llvm::zip(call->getOpOperands(), call->getResults()))
            join(operand, result);
        }
      }
    }
  }
}

void PrecisionGraphBuilder::finishJoins() {
  llvm::EquivalenceClasses<uint32_t> classes;
  // A use joins the values it flows into: the same operand may appear twice.
  DenseMap<OpOperand *, uint32_t> first;
  for (const JoinedUse &use : joinedUses) {
    classes.insert(use.into);
    auto [entry, isNew] = first.try_emplace(use.operand, use.into);
    if (!isNew)
      classes.unionSets(entry->second, use.into);
  }
  DenseMap<uint32_t, uint32_t> vertexOfClass;
  DenseSet<OpOperand *> added;
  for (const JoinedUse &use : joinedUses) {
    uint32_t leader = classes.getLeaderValue(use.into);
    auto [entry, isNew] = vertexOfClass.try_emplace(leader, kNone);
    if (isNew) {
      Vertex vertex;
      vertex.op = use.operand->getOwner();
      vertex.precisionClass = PrecisionClass::Clear;
      vertex.source = RuleSource::Table;
      vertex.isJoin = true;
      entry->second = addVertex(vertex);
    }
    uint32_t vertex = entry->second;
    ValueNode &node = graph.values[use.into];
    graph.vertices[vertex].pinned |= node.isLow;
    node.producer = Producer::Vertex;
    node.vertex = vertex;
    if (added.insert(use.operand).second)
      addUse(*use.operand, vertex);
  }
}
