//===- MathToInstructions.cpp - A GPU's own arithmetic -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-math-to-instructions`: maxima and minima of f32 become one instruction each.
/// With `fast` sums of products become FMAs, and exponentials ex2.approx.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mpt {
#define GEN_PASS_DEF_MATHTOINSTRUCTIONSPASS
#include "mpt/Codegen/CUDA/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

static bool isF32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }

static Value makeConstant(OpBuilder &b, Location loc, Type type, float number) {
  TypedAttr value = b.getF32FloatAttr(number);
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(b, loc, value);
}

namespace {

/// To LLVM's intrinsic of the same meaning, which is an instruction from sm_80 on.
template <typename Op, typename Intrinsic>
struct UseInstruction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isF32(op.getResult()))
      return failure();
    rewriter.replaceOpWithNewOp<Intrinsic>(op, op.getType(), op.getLhs(), op.getRhs());
    return success();
  }
};

/// x * y + z, x * y - z and z - x * y where nothing else reads the product.
template <typename Op>
struct Contract : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isF32(op.getResult()))
      return failure();
    constexpr bool isDifference = std::is_same_v<Op, arith::SubFOp>;
    auto negated = [&](Value value) -> Value {
      return arith::NegFOp::create(rewriter, op.getLoc(), value);
    };
    for (bool isLeft : {true, false}) {
      Value operand = isLeft ? op.getLhs() : op.getRhs();
      Value addend = isLeft ? op.getRhs() : op.getLhs();
      auto product = operand.getDefiningOp<arith::MulFOp>();
      if (!product || !operand.hasOneUse())
        continue;
      Value factor = product.getLhs();
      if (isDifference && isLeft)
        addend = negated(addend);
      if (isDifference && !isLeft)
        factor = negated(factor);
      rewriter.replaceOpWithNewOp<math::FmaOp>(op, factor, product.getRhs(), addend);
      return success();
    }
    return failure();
  }
};

/// exp(x) = 2^(x log2(e)). The product's rounding and the constant's change the result by
/// at most |x| 2^-23 of itself, ex2.approx by 2^-22; results below 2^-126 are 0.
struct UseExp2 : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getResult()))
      return failure();
    Location loc = op.getLoc();
    Type type = op.getType();
    Value power =
        arith::MulFOp::create(rewriter, loc, op.getOperand(),
                              makeConstant(rewriter, loc, type, 1.44269504088896340736F));
    auto exp2 = [&](Value value) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 rewriter, loc, rewriter.getF32Type(),
                 rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), value)
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      rewriter.replaceOp(op, exp2(power));
      return success();
    }
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
      lanes.push_back(exp2(vector::ExtractOp::create(rewriter, loc, power, lane)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, lanes);
    return success();
  }
};

struct MathToInstructionsPass
    : mpt::impl::MathToInstructionsPassBase<MathToInstructionsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (math != "exact" && math != "fast") {
      getOperation().emitError("unknown math '") << math << "'; choose exact or fast";
      return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<UseInstruction<arith::MaximumFOp, LLVM::MaximumOp>,
                 UseInstruction<arith::MinimumFOp, LLVM::MinimumOp>,
                 UseInstruction<arith::MaxNumFOp, LLVM::MaxNumOp>,
                 UseInstruction<arith::MinNumFOp, LLVM::MinNumOp>>(&getContext());
    if (math == "fast")
      patterns.add<Contract<arith::AddFOp>, Contract<arith::SubFOp>, UseExp2>(
          &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
