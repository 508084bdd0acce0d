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

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

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
  /// Its place among what `gather` joins.
  unsigned place;
  unsigned result;
};

std::optional<Joined> findJoined(BlockArgument shard, const ShardLayout &layout,
                                 const StepView &step, Operation *terminator) {
  const std::optional<unsigned> result = step[shard].updatedBy;
  if (!result || terminator->getOperand(*result) == shard)
    return std::nullopt;
  Joined found = {shard, layout, {}, 0, *result};
  for (OpOperand &use : shard.getUses()) {
    auto gather = dyn_cast<AllGatherOp>(use.getOwner());
    if (!gather)
      continue;
    // Twice where parameters are dropped and joined again.
    if (found.gather)
      return std::nullopt;
    // All of it, and nothing of other ranks'.
    auto whole =
        dyn_cast<RankedTensorType>(gather.getOutputs()[use.getOperandNumber()].getType());
    if (gather.getAxis() != layout.axis || !whole ||
        whole.getShape() != ArrayRef<int64_t>(layout.ranks * layout.size))
      return std::nullopt;
    found.gather = gather;
    found.place = use.getOperandNumber();
  }
  return found.gather ? std::optional(found) : std::nullopt;
}

/// Lets the step read `joined`, whole, and what updates it this rank's part of it.
void readWhole(const Joined &joined, Operation *terminator) {
  auto [shard, layout, gather, place, result] = joined;
  OpBuilder builder(terminator->getContext());
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
  Value whole = gather.getOutputs()[place];
  shard.setType(whole.getType());
  whole.replaceAllUsesWith(shard);
  builder.setInsertionPoint(first);
  if (!uses.empty()) {
    Value part = takePart(builder, gather.getLoc(), shard, layout.ranks, layout.axis);
    for (OpOperand *use : uses)
      use->set(part);
  }
}

/// Keeps what one exchange joins joined between steps; `shards` are of one gather.
void keepJoined(ArrayRef<Joined> shards, Operation *terminator) {
  auto function = cast<func::FuncOp>(terminator->getParentOp());
  AllGatherOp gather = shards.front().gather;
  OpBuilder builder(gather);
  for (const Joined &joined : shards)
    readWhole(joined, terminator);

  // The new values are joined as soon as they are there.
  SmallVector<Value> updated;
  SmallVector<Type> wholes;
  Operation *last = nullptr;
  for (const Joined &joined : shards) {
    updated.push_back(terminator->getOperand(joined.result));
    wholes.push_back(joined.shard.getType());
    Operation *op = updated.back().getDefiningOp();
    if (op && (!last || last->isBeforeInBlock(op)))
      last = op;
  }
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPoint(terminator);
  auto made = AllGatherOp::create(builder, gather.getLoc(), wholes, updated,
                                  gather.getAxisAttr());
  SmallVector<Type> results(function.getResultTypes());
  for (auto [joined, next] : llvm::zip_equal(shards, made.getOutputs())) {
    terminator->setOperand(joined.result, next);
    results[joined.result] = next.getType();
    const unsigned index = joined.shard.getArgNumber();
    function.setArgAttr(index, kShardsAttr,
                        getJoinedShardsAttr(cast<DictionaryAttr>(
                            function.getArgAttr(index, kShardsAttr))));
  }
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(), results));

  // What else it joins.
  llvm::BitVector kept(gather->getNumOperands());
  for (const Joined &joined : shards)
    kept.set(joined.place);
  SmallVector<Value> others;
  SmallVector<OpResult> old;
  for (OpResult output : gather->getResults())
    if (!kept.test(output.getResultNumber())) {
      others.push_back(gather.getInputs()[output.getResultNumber()]);
      old.push_back(output);
    }
  if (!others.empty()) {
    builder.setInsertionPoint(gather);
    auto rest = AllGatherOp::create(
        builder, gather.getLoc(),
        llvm::map_to_vector(old, [](OpResult output) { return output.getType(); }),
        others, gather.getAxisAttr());
    rest->setDiscardableAttrs(gather->getDiscardableAttrDictionary());
    for (auto [output, other] : llvm::zip_equal(old, rest.getOutputs()))
      output.replaceAllUsesWith(other);
  }
  gather.erase();
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
  llvm::MapVector<AllGatherOp, SmallVector<Joined>> joined;
  for (BlockArgument shard : shards) {
    FailureOr<ShardLayout> layout =
        readShards(function.getArgAttr(shard.getArgNumber(), kShardsAttr),
                   shard.getType(), [&] { return mlir::emitError(shard.getLoc()); });
    if (failed(layout))
      return failure();
    if (std::optional<Joined> found = findJoined(shard, *layout, step, terminator))
      joined[found->gather].push_back(*found);
  }
  for (auto &[gather, members] : joined)
    keepJoined(members, terminator);
  return success();
}

} // namespace
