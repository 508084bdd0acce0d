//===- JoinAfterUpdate.cpp - Parameters that every rank keeps whole -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-join-after-update`. Where a step reads joined parameters in the type in which
/// it updates them, a rank's shard is a copy of a part of what it has anyway. So the
/// joined ones become the state.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Parallel/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_JOINAFTERUPDATEPASS
#include "mpt/Parallel/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// A shard that is joined once, as it is, and updated.
struct Joined {
  BlockArgument shard;
  ShardLayout layout;
  AllGatherOp gather;
  unsigned result;
};

std::optional<Joined> findJoined(BlockArgument shard, const ShardLayout &layout,
                                 const StepView &step, Operation *terminator) {
  const std::optional<unsigned> result = step[shard].updatedBy;
  if (!result || terminator->getOperand(*result) == shard)
    return std::nullopt;
  Joined found = {shard, layout, {}, *result};
  for (OpOperand &use : shard.getUses()) {
    auto gather = dyn_cast<AllGatherOp>(use.getOwner());
    if (!gather)
      continue;
    // Twice where parameters are dropped and joined again.
    if (found.gather || gather->getNumOperands() != 1)
      return std::nullopt;
    // All of it, and nothing of other ranks'.
    auto whole = dyn_cast<RankedTensorType>(gather.getOutputs().front().getType());
    if (gather.getAxis() != layout.axis || !whole ||
        whole.getShape() != ArrayRef<int64_t>(layout.ranks * layout.size))
      return std::nullopt;
    found.gather = gather;
  }
  return found.gather ? std::optional(found) : std::nullopt;
}

void keepJoined(const Joined &joined, Operation *terminator) {
  auto [shard, layout, gather, result] = joined;
  auto function = cast<func::FuncOp>(terminator->getParentOp());
  const unsigned index = shard.getArgNumber();
  auto whole = cast<RankedTensorType>(gather.getOutputs().front().getType());
  const StringAttr axis = gather.getAxisAttr();
  const Location loc = gather.getLoc();
  OpBuilder builder(function.getContext());

  // What updates it reads this rank's part.
  SmallVector<OpOperand *> uses;
  Operation *first = terminator;
  for (OpOperand &use : shard.getUses()) {
    if (use.getOwner() == gather)
      continue;
    uses.push_back(&use);
    Operation *reader = terminator->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (reader->isBeforeInBlock(first))
      first = reader;
  }
  gather.getOutputs().front().replaceAllUsesWith(shard);
  gather.erase();
  shard.setType(whole);
  builder.setInsertionPoint(first);
  if (!uses.empty()) {
    Value part = takePart(builder, loc, shard, layout.ranks, axis.getValue());
    for (OpOperand *use : uses)
      use->set(part);
  }

  // Its new value is joined as soon as it is there.
  Value updated = terminator->getOperand(result);
  builder.setInsertionPointAfterValue(updated);
  auto made =
      AllGatherOp::create(builder, loc, TypeRange{whole}, ValueRange{updated}, axis);
  terminator->setOperand(result, made.getOutputs().front());
  function.setArgAttr(
      index, kShardsAttr,
      getJoinedShardsAttr(cast<DictionaryAttr>(function.getArgAttr(index, kShardsAttr))));
  SmallVector<Type> results(function.getResultTypes());
  results[result] = whole;
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(), results));
}

struct JoinAfterUpdatePass : mpt::impl::JoinAfterUpdatePassBase<JoinAfterUpdatePass> {
  using Base::Base;

  void runOnOperation() override {
    bool foundShards = false;
    for (auto step : getOperation().getOps<func::FuncOp>())
      if (!step.isDeclaration() && step.getBody().hasOneBlock() &&
          failed(run(step, foundShards)))
        return signalPassFailure();
    if (!foundShards)
      mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                     "no parameter that is cut between ranks "
                                     "(--mpt-shard-optimizer)");
  }

private:
  LogicalResult run(func::FuncOp function, bool &foundShards);
};

LogicalResult JoinAfterUpdatePass::run(func::FuncOp function, bool &foundShards) {
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  const StepView step(function);
  SmallVector<BlockArgument> shards;
  for (BlockArgument argument : block.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kShardsAttr))
      shards.push_back(argument);
  if (shards.empty())
    return success();
  foundShards = true;
  // What is read in half precision alone is joined in it, and stays cut.
  if (failed(narrowGathers(block)))
    return failure();
  for (BlockArgument shard : shards) {
    FailureOr<ShardLayout> layout =
        readShards(function.getArgAttr(shard.getArgNumber(), kShardsAttr),
                   shard.getType(), [&] { return mlir::emitError(shard.getLoc()); });
    if (failed(layout))
      return failure();
    if (std::optional<Joined> joined = findJoined(shard, *layout, step, terminator))
      keepJoined(*joined, terminator);
  }
  return success();
}

} // namespace
