//===- NarrowGathers.cpp - Values that ranks join in half precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ranks join and only read in a narrower type, they join in that type: half of the
/// bytes travel, and half of the memory holds the result. Rounding each part gives the
/// bits of rounding the whole.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mpt;

namespace {

/// Collects what only moves elements of `value`, and the casts that read it. Fails if
/// something else does, or casts to other types than `element`, which the first one sets.
LogicalResult collect(Value value, SmallVector<Operation *> &moves,
                      SmallVector<CastOp> &casts, Type &element) {
  for (Operation *user : value.getUsers()) {
    if (isa<SliceOp, ReshapeOp, ConcatOp>(user)) {
      if (getElementTypeOrSelf(user->getResult(0)) != getElementTypeOrSelf(value))
        return failure();
      if (llvm::is_contained(moves, user))
        continue;
      moves.push_back(user);
      if (failed(collect(user->getResult(0), moves, casts, element)))
        return failure();
      continue;
    }
    auto cast = dyn_cast<CastOp>(user);
    Type to = cast ? getElementTypeOrSelf(cast.getY()) : Type();
    if (!cast || (element && to != element) || !isa<FloatType>(to))
      return failure();
    element = to;
    casts.push_back(cast);
  }
  return success();
}

LogicalResult narrowGather(AllGatherOp op, PatternRewriter &rewriter) {
  for (OpResult output : op.getResults()) {
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(output));
    SmallVector<Operation *> moves;
    SmallVector<CastOp> casts;
    Type to;
    if (!from || failed(collect(output, moves, casts, to)) || casts.empty() ||
        to.getIntOrFloatBitWidth() >= from.getWidth())
      continue;
    // What is joined comes from this exchange alone.
    SmallPtrSet<Operation *, 8> known(moves.begin(), moves.end());
    if (llvm::any_of(moves, [&](Operation *move) {
          return llvm::any_of(move->getOperands(), [&](Value operand) {
            return operand != output && !known.contains(operand.getDefiningOp());
          });
        }))
      continue;
    auto narrow = [&](Value value) {
      value.setType(mlir::cast<RankedTensorType>(value.getType()).clone(to));
    };
    const unsigned i = output.getResultNumber();
    Value input = op.getInputs()[i];
    Value rounded =
        CastOp::create(rewriter, op.getLoc(),
                       mlir::cast<RankedTensorType>(input.getType()).clone(to), input);
    rewriter.modifyOpInPlace(op, [&] {
      op->setOperand(i, rounded);
      op->removeAttr(kPrecisionAttr);
      narrow(output);
    });
    for (Operation *move : moves)
      rewriter.modifyOpInPlace(move, [&] {
        move->removeAttr(kPrecisionAttr);
        narrow(move->getResult(0));
      });
    for (CastOp cast : casts)
      rewriter.replaceOp(cast, cast.getX());
    return success();
  }
  return failure();
}

} // namespace

void mpt::populateNarrowGathersPatterns(RewritePatternSet &patterns) {
  patterns.add(narrowGather);
}

LogicalResult mpt::narrowGathers(Block &block) {
  auto gathers = llvm::map_to_vector(block.getOps<AllGatherOp>(),
                                     [](AllGatherOp op) { return op.getOperation(); });
  RewritePatternSet patterns(block.getParentOp()->getContext());
  populateNarrowGathersPatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  return applyOpPatternsGreedily(gathers, std::move(patterns), config);
}
