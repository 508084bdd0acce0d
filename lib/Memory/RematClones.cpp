//===- RematClones.cpp - Plans of rematerialization into IR -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RematClones.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

class Cloner {
public:
  Cloner(func::FuncOp function, const RematFunction &described, StringRef barrier)
      : block(function.getBody().front()), described(described), barrier(barrier),
        builder(function.getContext()) {
    block.walk([&](Operation *op) {
      if (auto id = op->getAttrOfType<IntegerAttr>(kRematAttr))
        nextId = std::max(nextId, id.getInt() + 1);
    });
  }

  SmallVector<RematGroup> run(ArrayRef<uint32_t> order);

private:
  /// What stands for `value` (an original) at the insertion point.
  Value getLatest(Value value);
  /// Gives `op` and what is in its regions the latest operands.
  void update(Operation *op);
  void insertBarrier(Operation *next);

  Block &block;
  const RematFunction &described;
  StringRef barrier;
  OpBuilder builder;
  int64_t nextId = 0;
  /// The latest instance of originals that were made again.
  DenseMap<Value, Value> latest;
  /// Renamings of them: (renamed original, instance of its owner).
  DenseMap<std::pair<Value, Value>, Value> renamed;
  /// What each new value stands for.
  DenseMap<Value, Value> origins;
  /// The clones since the last op that is not a clone.
  SmallVector<Operation *> group;
};

Value Cloner::getLatest(Value value) {
  if (Value original = origins.lookup(value))
    value = original;
  Value owner = described.getOwner(value);
  Value instance = latest.lookup(owner);
  if (!instance)
    return value;
  // The renamings between the owner and the value, from the value on.
  SmallVector<Value> chain;
  for (Value at = value; at != owner;) {
    chain.push_back(at);
    auto result = cast<OpResult>(at);
    at = result.getOwner()->getOperand(result.getResultNumber());
  }
  Value at = instance;
  for (Value next : llvm::reverse(chain)) {
    Value &known = renamed[{next, instance}];
    if (!known) {
      auto result = cast<OpResult>(next);
      IRMapping mapping;
      // Other operands of a barrier stay what they were.
      mapping.map(result.getOwner()->getOperand(result.getResultNumber()), at);
      Operation *clone = builder.clone(*result.getOwner(), mapping);
      known = clone->getResult(result.getResultNumber());
      origins[known] = next;
    }
    at = known;
  }
  return at;
}

void Cloner::update(Operation *op) {
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      // A function's argument has no op that makes it.
      Operation *maker = operand.get().getDefiningOp();
      if (operand.get().getParentBlock() == &block &&
          (inner == op || !maker || !op->isAncestor(maker)))
        operand.set(getLatest(operand.get()));
    }
  });
}

void Cloner::insertBarrier(Operation *next) {
  if (barrier.empty() || group.empty())
    return;
  DenseSet<Operation *> members(group.begin(), group.end());
  llvm::SetVector<Value> passed;
  auto isPassed = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return isa<RankedTensorType>(value.getType()) &&
           !(maker && members.contains(maker)) &&
           !(maker && maker->getNumOperands() == 0);
  };
  for (Operation *clone : group)
    for (Value operand : clone->getOperands())
      if (isPassed(operand))
        passed.insert(operand);
  for (Value operand : next->getOperands())
    if (isPassed(operand))
      passed.insert(operand);
  if (passed.empty())
    return;
  OperationState state(next->getLoc(), barrier);
  state.addOperands(passed.getArrayRef());
  for (Value value : passed)
    state.addTypes(value.getType());
  builder.setInsertionPoint(group.front());
  Operation *op = builder.create(state);
  for (auto [from, to] : llvm::zip_equal(passed, op->getResults()))
    origins[to] = origins.count(from) ? origins.lookup(from) : from;
  auto redirect = [&](Operation *user) {
    for (OpOperand &operand : user->getOpOperands()) {
      auto it = llvm::find(passed, operand.get());
      if (it != passed.end())
        operand.set(op->getResult(it - passed.begin()));
    }
  };
  for (Operation *clone : group)
    redirect(clone);
  redirect(next);
}

SmallVector<RematGroup> Cloner::run(ArrayRef<uint32_t> order) {
  SmallVector<RematGroup> groups;
  // For each position, the next op after it that runs for the first time.
  SmallVector<bool> ran(described.ops.size(), false), repeats;
  for (uint32_t node : order) {
    repeats.push_back(ran[node]);
    ran[node] = true;
  }
  Operation *next = block.getTerminator();
  SmallVector<Operation *> following(order.size());
  for (size_t i = order.size(); i-- > 0;) {
    following[i] = next;
    if (!repeats[i])
      next = described.ops[order[i]];
  }
  for (size_t i = 0; i < order.size(); ++i) {
    Operation *op = described.ops[order[i]];
    if (!repeats[i]) {
      builder.setInsertionPoint(op);
      update(op);
      insertBarrier(op);
      if (!group.empty())
        groups.push_back(group);
      group.clear();
      continue;
    }
    builder.setInsertionPoint(following[i]);
    Operation *clone = builder.clone(*op);
    builder.setInsertionPoint(clone);
    update(clone);
    clone->setAttr(kRematAttr, builder.getI64IntegerAttr(nextId++));
    for (auto [from, to] : llvm::zip_equal(op->getResults(), clone->getResults())) {
      latest[from] = to;
      origins[to] = from;
    }
    group.push_back(clone);
  }
  builder.setInsertionPoint(block.getTerminator());
  update(block.getTerminator());
  return groups;
}

/// `kernel` without the results that nobody reads.
void pruneResults(kernel::KernelOp kernel) {
  SmallVector<unsigned> kept;
  for (OpResult result : kernel->getResults())
    if (!result.use_empty())
      kept.push_back(result.getResultNumber());
  if (kept.empty() || kept.size() == kernel->getNumResults())
    return;
  OpBuilder builder(kernel);
  auto yield = cast<kernel::YieldOp>(kernel.getBody().front().getTerminator());
  SmallVector<Type> types;
  SmallVector<Attribute> maps;
  SmallVector<Value> yielded;
  for (unsigned i : kept) {
    types.push_back(kernel->getResult(i).getType());
    maps.push_back(kernel.getResultMaps()[i]);
    yielded.push_back(yield->getOperand(i));
  }
  auto pruned = kernel::KernelOp::create(
      builder, kernel.getLoc(), types, kernel.getInputs(), kernel.getKind(),
      kernel.getDomain(), kernel.getChunkRows(), kernel.getOperandMaps(),
      builder.getArrayAttr(maps));
  for (NamedAttribute attribute : kernel->getDiscardableAttrs())
    pruned->setAttr(attribute.getName(), attribute.getValue());
  pruned.getBody().takeBody(kernel.getBody());
  yield->setOperands(yielded);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(pruned.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  // Without its column reductions it needs one stage, and no partial sums.
  Block &body = pruned.getBody().front();
  if (body.getOps<kernel::ColumnReduceOp>().empty())
    pruned.setKind(body.getOps<kernel::RowReduceOp>().empty()
                       ? kernel::KernelKind::Pointwise
                       : kernel::KernelKind::Row);
  for (auto [i, from] : llvm::enumerate(kept))
    kernel->getResult(from).replaceAllUsesWith(pruned->getResult(i));
  kernel->erase();
}

} // namespace

SmallVector<RematGroup> mpt::detail::cloneForRemat(func::FuncOp function,
                                                   const RematFunction &described,
                                                   ArrayRef<uint32_t> order,
                                                   StringRef barrier) {
  SmallVector<RematGroup> groups = Cloner(function, described, barrier).run(order);
  Block &block = function.getBody().front();
  // Renamings whose readers now read others.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && (isa<ReshapeOp, BarrierOp>(op) || isJoinedPart(&op)))
      op.erase();
  // Widenings that only the backward pass reads.
  SmallVector<bool> repeats(described.ops.size(), false),
      ran(described.ops.size(), false);
  for (uint32_t node : order) {
    repeats[node] = ran[node];
    ran[node] = true;
  }
  for (size_t id = described.ops.size(); id-- > 0;)
    if (repeats[id] && described.graph.nodes[id].widens && described.ops[id]->use_empty())
      described.ops[id]->erase();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto kernel = dyn_cast<kernel::KernelOp>(op))
      pruneResults(kernel);
  return groups;
}
