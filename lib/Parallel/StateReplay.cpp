//===- StateReplay.cpp - State that micro-batches hand on -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateReplay.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Calls `visit` for each value that `op`, or an op in its regions, reads from outside.
static void forEachOperand(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner == op || !op->isAncestor(operand.getParentBlock()->getParentOp()))
        visit(operand);
  });
}

/// Makes `next`, a new running statistic of `op`, the sum of (1 - momentum) `running` and
/// of what `op` gives with statistics of zero. These are the two terms and the sum that
/// mpt.batch_norm itself is decomposed into, so no bit changes. (-0 + x is x, 0 too.)
static void splitStatistic(BatchNormOp op, OpOperand &running, OpResult next) {
  OpBuilder builder(op->getContext());
  const Location loc = op.getLoc();
  Value old = running.get();
  auto type = cast<RankedTensorType>(old.getType());
  auto nextType = cast<RankedTensorType>(next.getType());
  auto wide = nextType.clone(getAccumulatorType(std::nullopt, nextType.getElementType()));
  auto splat = [&](RankedTensorType type, double value) -> Value {
    return ConstantOp::create(
        builder, loc, type,
        DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), value)));
  };
  builder.setInsertionPoint(op);
  running.set(splat(type, -0.0));
  next.setType(wide);
  builder.setInsertionPointAfter(op);
  Value weight = splat(RankedTensorType::get({}, wide.getElementType()),
                       1.0 - op.getMomentum().convertToDouble());
  Value kept = MulOp::create(builder, loc, wide, old, weight);
  auto sum = AddOp::create(builder, loc, nextType, kept, next);
  next.replaceAllUsesExcept(sum, sum);
}

StateReplay::StateReplay(func::FuncOp function) : function(function), step(function) {
  Block &block = function.getBody().front();
  // What stays as it is, such as a seed, every rank may read.
  ValueRange results = block.getTerminator()->getOperands();
  for (auto [i, result] : llvm::enumerate(step.getResults()))
    if (result.updates && results[i] != block.getArgument(*result.updates))
      states.insert({i, block.getArgument(*result.updates)});
  // Statistics that another batch_norm has updated are state, too, and so on: after the
  // first is split, the next reads a sum.
  llvm::SmallPtrSet<Operation *, 16> sums;
  auto isRunning = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      return sums.contains(op);
    return llvm::any_of(states, [&](auto &state) { return state.second == value; });
  };
  for (BatchNormOp op : llvm::make_early_inc_range(block.getOps<BatchNormOp>()))
    for (auto [running, next] :
         {std::pair<OpOperand *, Value>{&op.getRunningMeanMutable(), op.getNewMean()},
          {&op.getRunningVarMutable(), op.getNewVar()}})
      if (isRunning(running->get())) {
        splitStatistic(op, *running, cast<OpResult>(next));
        for (Operation *user : next.getUsers())
          sums.insert(user);
      }
}

void StateReplay::keepOnly(llvm::function_ref<bool(Value)> isVarying) {
  ValueRange results = function.getBody().front().getTerminator()->getOperands();
  states.remove_if([&](auto &state) { return !isVarying(results[state.first]); });
}

LogicalResult StateReplay::find(llvm::function_ref<bool(Value)> isVarying) {
  Block &block = function.getBody().front();
  for (auto &[index, state] : states)
    dependent.insert(state);
  for (Operation &op : block.without_terminator()) {
    bool depends = false;
    forEachOperand(&op, [&](Value operand) { depends |= dependent.contains(operand); });
    if (!depends)
      continue;
    update.push_back(&op);
    dependent.insert_range(op.getResults());
    if (isa<GradientsOp>(op))
      return op.emitError("mpt-data-parallel: a gradient depends on state that each "
                          "micro-batch hands to the next, and ranks run micro-batches at "
                          "the same time; use --mpt-accumulate on one rank, or do not "
                          "update that state in the step");
  }
  Operation *terminator = block.getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (!dependent.contains(value) || states.contains(i))
      continue;
    return function.emitError("mpt-data-parallel: the result ")
           << (step.getResults()[i].name ? step.getResults()[i].name
                                         : StringAttr::get(function.getContext(), ""))
           << " depends on state that each micro-batch hands to the next, and ranks run "
              "micro-batches at the same time; use --mpt-accumulate on one rank, or do "
              "not return it";
  }
  auto addInput = [&](Value value) {
    if (!dependent.contains(value) && isVarying(value))
      inputs.insert(value);
  };
  for (Operation *op : update)
    forEachOperand(op, addInput);
  for (auto &[index, state] : states)
    addInput(terminator->getOperand(index));
  return success();
}

void StateReplay::replay(OpBuilder &builder, int64_t ranks,
                         llvm::function_ref<Value(unsigned, int64_t)> getPart) {
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Value> values;
  for (auto &[index, state] : states)
    values.push_back(state);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    IRMapping mapping;
    for (auto [i, input] : llvm::enumerate(inputs))
      mapping.map(input, getPart(i, rank));
    for (auto [state, value] : llvm::zip_equal(states, values))
      mapping.map(state.second, value);
    for (Operation *op : update)
      builder.clone(*op, mapping);
    for (auto [state, value] : llvm::zip_equal(states, values))
      value = mapping.lookupOrDefault(terminator->getOperand(state.first));
  }
  for (auto [state, value] : llvm::zip_equal(states, values))
    terminator->setOperand(state.first, value);
  for (Operation *op : llvm::reverse(update))
    if (op->use_empty() && isMemoryEffectFree(op))
      op->erase();
  update.clear();
}
