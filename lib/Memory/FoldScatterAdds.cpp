//===- FoldScatterAdds.cpp - Rows are added in place ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Memory/Passes.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_FOLDSCATTERADDSPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// The op that makes `value` for `sum` alone, perhaps in another shape; null if there is
/// none, or if it is marked.
Operation *getMaker(Value value, AddOp sum) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    if (!value.hasOneUse())
      return nullptr;
    value = reshape.getX();
  }
  Operation *op = value.getDefiningOp();
  return op && value.hasOneUse() && op->getBlock() == sum->getBlock() &&
                 !op->hasAttr(kSaveAttr)
             ? op
             : nullptr;
}

/// Whether the rows of `scatter` take less memory than its table, as far as is known.
bool hasFewRows(ScatterAddOp scatter) {
  auto table = cast<RankedTensorType>(scatter.getTable().getType()),
       updates = cast<RankedTensorType>(scatter.getUpdates().getType());
  return table.hasStaticShape() && updates.hasStaticShape() &&
         updates.getNumElements() * updates.getElementTypeBitWidth() <
             table.getNumElements() * table.getElementTypeBitWidth();
}

LogicalResult foldAdd(AddOp sum, PatternRewriter &rewriter) {
  ScatterAddOp chosen;
  Value init;
  for (auto [mine, other] : {std::pair<Value, Value>{sum.getLhs(), sum.getRhs()},
                             std::pair<Value, Value>{sum.getRhs(), sum.getLhs()}}) {
    auto scatter = mine.getDefiningOp<ScatterAddOp>();
    Operation *maker = getMaker(other, sum);
    if (!scatter || getMaker(mine, sum) != scatter || scatter.getInit() || !maker ||
        !isa<ScatterAddOp, MatmulOp, Conv2DFilterGradOp>(maker) ||
        mine.getType() != sum.getType() || other.getType() != sum.getType())
      continue;
    // Of two tables the one that is made later.
    const bool isLast = maker->isBeforeInBlock(scatter);
    if (!isLast && (isa<ScatterAddOp>(maker) || !hasFewRows(scatter)))
      continue;
    chosen = scatter;
    init = other;
  }
  if (!chosen)
    return failure();
  rewriter.setInsertionPoint(sum);
  rewriter.replaceOpWithNewOp<ScatterAddOp>(sum, sum.getType(), chosen.getIndices(),
                                            chosen.getUpdates(), init);
  rewriter.eraseOp(chosen);
  return success();
}

struct FoldScatterAddsPass : mpt::impl::FoldScatterAddsPassBase<FoldScatterAddsPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(foldAdd);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
