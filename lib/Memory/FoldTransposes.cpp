//===- FoldTransposes.cpp - Matmuls of transposed matrices ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Memory/Passes.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mpt {
#define GEN_PASS_DEF_FOLDTRANSPOSESPASS
#include "mpt/Memory/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Whether `op` transposes each of the matrices that x consists of.
bool turnsMatrices(TransposeOp op) {
  SmallVector<int64_t> expected =
      llvm::to_vector(llvm::seq<int64_t>(0, op.getPermutation().size()));
  if (expected.size() < 2)
    return false;
  std::swap(expected.back(), expected[expected.size() - 2]);
  return op.getPermutation() == ArrayRef<int64_t>(expected);
}

/// Whether a matmul can transpose what it reads by `use`. With a right side for the whole
/// batch, left sides are rows of one matrix, which they are not if they are transposed.
bool canTurn(OpOperand &use) {
  const unsigned number = use.getOperandNumber();
  if (auto matmul = dyn_cast<MatmulOp>(use.getOwner())) {
    auto lhs = cast<RankedTensorType>(matmul.getLhs().getType()),
         rhs = cast<RankedTensorType>(matmul.getRhs().getType());
    return number == 1 || lhs.getRank() == rhs.getRank();
  }
  return isa<LinearOp>(use.getOwner()) && number == 1;
}

void turn(OpOperand &use, Value x) {
  llvm::TypeSwitch<Operation *>(use.getOwner())
      .Case([&](MatmulOp matmul) {
        if (use.getOperandNumber() == 0)
          matmul.setTransposeLhs(!matmul.getTransposeLhs());
        else
          matmul.setTransposeRhs(!matmul.getTransposeRhs());
      })
      .Case([](LinearOp linear) {
        linear.setTransposeWeight(!linear.getTransposeWeight());
      });
  use.set(x);
}

LogicalResult foldTranspose(TransposeOp op, PatternRewriter &rewriter) {
  if (op.use_empty() || !turnsMatrices(op) || !llvm::all_of(op->getUses(), canTurn))
    return failure();
  for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
    rewriter.modifyOpInPlace(use.getOwner(), [&] { turn(use, op.getX()); });
  rewriter.eraseOp(op);
  return success();
}

/// A reduction that alone reads a transpose reduces other dimensions of what that reads,
/// if those that are left keep their order.
LogicalResult foldIntoReduction(TransposeOp transpose, PatternRewriter &rewriter) {
  if (!transpose->hasOneUse())
    return failure();
  auto reduce = dyn_cast<ReduceOp>(*transpose->user_begin());
  if (!reduce)
    return failure();
  SmallVector<int64_t> axes, kept;
  for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
    (llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(to)) ? axes : kept)
        .push_back(from);
  if (axes.empty() || !llvm::is_sorted(kept))
    return failure();
  llvm::sort(axes);
  auto x = cast<RankedTensorType>(transpose.getX().getType());
  auto type = cast<RankedTensorType>(reduce.getY().getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : kept)
    shape.push_back(x.getDimSize(dim));
  const bool keepsDims = reduce.getKeepDims();
  rewriter.modifyOpInPlace(reduce, [&] {
    reduce.getXMutable().assign(transpose.getX());
    reduce.setAxes(axes);
    reduce.setKeepDims(false);
    reduce.getY().setType(type.clone(shape));
  });
  if (keepsDims) {
    rewriter.setInsertionPointAfter(reduce);
    auto reshape = ReshapeOp::create(rewriter, reduce.getLoc(), type, reduce.getY());
    rewriter.replaceAllUsesExcept(reduce.getY(), reshape.getY(), reshape);
  }
  rewriter.eraseOp(transpose);
  return success();
}

struct FoldTransposesPass : mpt::impl::FoldTransposesPassBase<FoldTransposesPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(foldTranspose);
    patterns.add(foldIntoReduction);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
