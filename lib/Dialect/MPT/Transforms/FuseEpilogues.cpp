//===- FuseEpilogues.cpp - Bias and activation into matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-fuse-epilogues`. `mpt.linear` and `mpt.conv2d` round once, after bias
/// and activation, so what follows them may move in only where the value in
/// between was not rounded, or where rounding commutes with what follows (relu).
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// True if `contraction` (a linear, conv2d or matmul) returns its accumulator as it
/// is.
template <typename Contraction>
bool isUnrounded(Contraction contraction) {
  Type operand = getElementTypeOrSelf(contraction->getOperand(0));
  return getElementTypeOrSelf(contraction.getResult()) ==
         getAccumulatorType(contraction.getAccType(), operand);
}

/// Moves the activation `op` of a matmul into the matmul.
template <typename Contraction, typename Activation>
LogicalResult fuseActivation(Activation op, Epilogue epilogue, bool commutes,
                             PatternRewriter &rewriter) {
  auto contraction = op.getX().template getDefiningOp<Contraction>();
  if (!contraction || !contraction->hasOneUse() ||
      contraction.getEpilogue() != Epilogue::None)
    return failure();
  bool sameType = contraction.getResult().getType() == op.getType();
  if (!isUnrounded(contraction) && !(commutes && sameType))
    return failure();
  rewriter.modifyOpInPlace(contraction, [&] {
    mpt::detail::joinMarks(contraction, op, contraction);
    contraction.setEpilogue(epilogue);
    contraction.getResult().setType(cast<RankedTensorType>(op.getType()));
    contraction->setLoc(rewriter.getFusedLoc({contraction.getLoc(), op.getLoc()}));
  });
  rewriter.replaceOp(op, contraction.getResult());
  return success();
}

LogicalResult fuseRelu(ReluOp op, PatternRewriter &rewriter) {
  if (succeeded(fuseActivation<LinearOp>(op, Epilogue::Relu, true, rewriter)))
    return success();
  return fuseActivation<Conv2DOp>(op, Epilogue::Relu, true, rewriter);
}

LogicalResult fuseGelu(GeluOp op, PatternRewriter &rewriter) {
  if (op.getApproximate() != GeluApproximation::Tanh)
    return failure();
  if (succeeded(fuseActivation<LinearOp>(op, Epilogue::Gelu, false, rewriter)))
    return success();
  return fuseActivation<Conv2DOp>(op, Epilogue::Gelu, false, rewriter);
}

/// matmul + bias, with one number of the bias per column of the result.
LogicalResult fuseBias(AddOp op, Value sum, Value bias, PatternRewriter &rewriter) {
  Operation *contraction = sum.getDefiningOp();
  if (!contraction || !sum.hasOneUse() || sum == bias)
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  auto sumType = cast<RankedTensorType>(sum.getType());
  auto biasType = cast<RankedTensorType>(bias.getType());
  if (type.getShape() != sumType.getShape() || type.getRank() == 0 ||
      biasType.getRank() != 1 || biasType.getDimSize(0) != type.getShape().back() ||
      biasType.getElementTypeBitWidth() > sumType.getElementTypeBitWidth() ||
      type.getElementTypeBitWidth() > sumType.getElementTypeBitWidth())
    return failure();
  Location loc = rewriter.getFusedLoc({contraction->getLoc(), op.getLoc()});
  if (auto matmul = dyn_cast<MatmulOp>(contraction)) {
    auto weight = cast<RankedTensorType>(matmul.getRhs().getType());
    if (matmul.getTransposeLhs() || weight.getRank() != 2 || !isUnrounded(matmul))
      return failure();
    auto linear = LinearOp::create(
        rewriter, loc, type, matmul.getLhs(), matmul.getRhs(), bias, Epilogue::None,
        matmul.getAccTypeAttr(), matmul.getTransposeRhs(), matmul.getFastAccumulation());
    mpt::detail::joinMarks(matmul, op, linear);
    rewriter.replaceOp(op, linear.getResult());
    return success();
  }
  auto addTo = [&](auto target) -> LogicalResult {
    if (target.getBias() || target.getEpilogue() != Epilogue::None ||
        !isUnrounded(target))
      return failure();
    // The bias may be defined after the matmul.
    rewriter.setInsertionPoint(op);
    auto clone = cast<decltype(target)>(rewriter.clone(*target));
    clone.getBiasMutable().assign(bias);
    clone.getResult().setType(type);
    clone->setLoc(loc);
    mpt::detail::joinMarks(target, op, clone);
    rewriter.replaceOp(op, clone.getResult());
    return success();
  };
  if (auto linear = dyn_cast<LinearOp>(contraction))
    return addTo(linear);
  if (auto conv = dyn_cast<Conv2DOp>(contraction))
    return addTo(conv);
  return failure();
}

LogicalResult fuseEitherBias(AddOp op, PatternRewriter &rewriter) {
  for (auto [sum, bias] : {std::pair<Value, Value>{op.getLhs(), op.getRhs()},
                           std::pair<Value, Value>{op.getRhs(), op.getLhs()}})
    if (succeeded(fuseBias(op, sum, bias, rewriter)))
      return success();
  return failure();
}

struct FuseEpiloguesPass : mpt::impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateFuseEpiloguesPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    if (!mpt::detail::hasOpsOfMPT(getOperation()))
      return mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                            "no op of the mpt dialect");
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};

} // namespace

void mpt::populateFuseEpiloguesPatterns(RewritePatternSet &patterns) {
  addPatterns(patterns, fuseRelu, fuseGelu, fuseEitherBias);
}
