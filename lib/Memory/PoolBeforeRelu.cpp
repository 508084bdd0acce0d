//===- PoolBeforeRelu.cpp - Max poolings before ReLUs -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Memory/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_POOLBEFORERELUPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

/// The op that alone reads `value`, perhaps by other shapes.
Operation *getOnlyReader(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.getUsers().begin();
    auto reshape = dyn_cast<ReshapeOp>(reader);
    if (!reshape)
      return reader;
    value = reshape.getY();
  }
  return nullptr;
}

/// Collects what reads `value`, by other shapes, too.
void addReaders(Value value, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers())
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      addReaders(reshape.getY(), readers);
    else
      readers.push_back(user);
}

Value reshapeTo(PatternRewriter &rewriter, Location loc, Value value, Type type) {
  return value.getType() == type ? value : ReshapeOp::create(rewriter, loc, type, value);
}

LogicalResult poolBeforeRelu(MaxPoolGradOp grad, PatternRewriter &rewriter) {
  auto relu = skipReshapes(grad.getX()).getDefiningOp<ReluOp>();
  auto reluGrad = dyn_cast_or_null<ReluGradOp>(getOnlyReader(grad.getResult()));
  if (!relu || !reluGrad || skipReshapes(reluGrad.getY()) != relu.getY() ||
      skipReshapes(reluGrad.getDy()) != grad.getResult() ||
      relu.getX().getType() != relu.getY().getType())
    return failure();
  SmallVector<Operation *> readers;
  addReaders(relu.getY(), readers);
  MaxPoolOp pool;
  for (Operation *reader : readers)
    if (auto found = dyn_cast<MaxPoolOp>(reader))
      pool = found;
  auto isSame = [&] {
    return pool.getX().getType() == grad.getX().getType() &&
           pool.getY().getType() == grad.getDy().getType() &&
           pool.getWindow() == grad.getWindow() &&
           pool.getStrides() == grad.getStrides() &&
           pool.getPadding() == grad.getPadding() &&
           grad.getX().getType() == grad.getResult().getType() &&
           getElementTypeOrSelf(pool.getX()) == getElementTypeOrSelf(pool.getY()) &&
           reluGrad.getDy().getType() == reluGrad.getResult().getType();
  };
  Operation *ops[] = {relu, pool, grad, reluGrad};
  if (readers.size() != 3 || !pool || !isSame() || llvm::any_of(ops, [&](Operation *op) {
        return op->hasAttr(kSaveAttr) || op->getBlock() != grad->getBlock();
      }))
    return failure();
  rewriter.setInsertionPoint(pool);
  const Location loc = pool.getLoc();
  Value x = reshapeTo(rewriter, relu.getLoc(), relu.getX(), pool.getX().getType());
  auto pooled = cast<MaxPoolOp>(rewriter.clone(*pool));
  rewriter.modifyOpInPlace(pooled, [&] { pooled.getXMutable().assign(x); });
  Value y = ReluOp::create(rewriter, loc, pooled.getY().getType(), pooled.getY());
  rewriter.setInsertionPoint(reluGrad);
  Value dy =
      ReluGradOp::create(rewriter, reluGrad.getLoc(), y.getType(), grad.getDy(), y);
  auto unpooled = cast<MaxPoolGradOp>(rewriter.clone(*grad));
  rewriter.modifyOpInPlace(unpooled, [&] {
    unpooled.getDyMutable().assign(dy);
    unpooled.getXMutable().assign(x);
  });
  rewriter.replaceOp(reluGrad, reshapeTo(rewriter, grad.getLoc(), unpooled.getResult(),
                                         reluGrad.getResult().getType()));
  rewriter.replaceOp(pool, y);
  return success();
}

struct PoolBeforeReluPass : mpt::impl::PoolBeforeReluPassBase<PoolBeforeReluPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(poolBeforeRelu);
    // One pooling after the other, as those of three dimensions are.
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
