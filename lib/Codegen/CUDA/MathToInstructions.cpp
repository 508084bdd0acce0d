//===- MathToInstructions.cpp - A GPU's own arithmetic -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-math-to-instructions`: maxima and minima of f32, and of pairs of f16 or bf16,
/// become one instruction each. With `fast` sums of products become FMAs, exponentials
/// ex2.approx, and erf two polynomials.
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

/// Pairs of f16 or bf16.
static bool isPairs(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector &&
         (vector.getElementType().isF16() || vector.getElementType().isBF16()) &&
         vector.getNumElements() % 2 == 0;
}

/// To LLVM's intrinsic of the same meaning, which is an instruction from sm_80 on.
template <typename Op, typename Intrinsic>
struct UseInstruction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isF32(op.getResult()) && !isPairs(op.getResult()))
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

/// Whether LLVM may compute what reads `value`, which is widened, in bf16: a sum,
/// difference or product of widened numbers that is rounded again.
static bool isRoundedAgain(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(user) &&
           llvm::all_of(user->getOperands(),
                        [](Value x) { return x.getDefiningOp<arith::ExtFOp>(); }) &&
           llvm::any_of(user->getUsers(), llvm::IsaPred<arith::TruncFOp>);
  });
}

/// Pairs of bf16 to f32: their bits are the high ones of a word. LLVM takes two
/// instructions for the second of a pair.
struct WidenPairs : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || from.getRank() != 1 || !from.getElementType().isBF16() ||
        !isF32(op.getOut()) || !isPairs(op.getIn()) || isRoundedAgain(op.getOut()))
      return failure();
    Location loc = op.getLoc();
    const int64_t pairs = from.getNumElements() / 2;
    auto words = VectorType::get({pairs}, rewriter.getI32Type());
    Value bits = vector::BitCastOp::create(rewriter, loc, words, op.getIn());
    auto number = [&](int32_t value) {
      return arith::ConstantOp::create(rewriter, loc,
                                       DenseElementsAttr::get(words, value));
    };
    Value low = arith::ShLIOp::create(rewriter, loc, bits, number(16));
    Value high = arith::AndIOp::create(rewriter, loc, bits,
                                       number(static_cast<int32_t>(0xffff0000)));
    Value both = vector::InterleaveOp::create(rewriter, loc, low, high);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getOut().getType(), both);
    return success();
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

/// erf, off by at most 1.2 units in the last place with an exact exp: with ex2.approx by
/// 2^-22 more where |x| > 0.93. Minimax polynomials of N. Juffa (2019), of x^2 near zero
/// and of the logarithm of 1 - erf |x| beyond.
struct UseErf : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ErfOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getResult()))
      return failure();
    const Location loc = op.getLoc();
    const Type type = op.getType();
    Value x = op.getOperand();
    auto number = [&](float value) { return makeConstant(rewriter, loc, type, value); };
    auto fma = [&](Value a, Value b, Value c) -> Value {
      return math::FmaOp::create(rewriter, loc, a, b, c);
    };
    Value magnitude = math::AbsFOp::create(rewriter, loc, x);
    Value square = arith::MulFOp::create(rewriter, loc, x, x);
    Value near = number(-5.96761703e-4F);
    for (float next : {4.99119423e-3F, -2.67681349e-2F, 1.12819925e-1F, -3.76125336e-1F,
                       1.28379166e-1F})
      near = fma(near, square, number(next));
    near = fma(near, x, x);
    Value far = fma(number(-1.72853470e-5F), magnitude, number(3.83197126e-4F));
    far =
        fma(far, square, fma(number(-3.88396438e-3F), magnitude, number(2.42546219e-2F)));
    for (float next : {-1.06777877e-1F, -6.34846687e-1F, -1.28717512e-1F})
      far = fma(far, magnitude, number(next));
    far = fma(far, magnitude, arith::NegFOp::create(rewriter, loc, magnitude));
    far = arith::SubFOp::create(rewriter, loc, number(1),
                                math::ExpOp::create(rewriter, loc, far));
    far = math::CopySignOp::create(rewriter, loc, far, x);
    Value isFar = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGT,
                                        magnitude, number(0.927734375F));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isFar, far, near);
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
    patterns.add<WidenPairs>(&getContext());
    if (math == "fast")
      patterns.add<Contract<arith::AddFOp>, Contract<arith::SubFOp>, UseErf, UseExp2>(
          &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
