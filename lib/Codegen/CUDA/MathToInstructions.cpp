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
/// ex2.approx, and erf and tanh a polynomial near zero and ex2.approx beyond.
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

/// `value` lane by lane through an intrinsic of f32 that has no vectors.
static Value callByLanes(PatternRewriter &rewriter, Location loc, StringRef intrinsic,
                         Value value) {
  auto call = [&](Value lane) -> Value {
    return LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getF32Type(),
                                         rewriter.getStringAttr(intrinsic), lane)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return call(value);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
    lanes.push_back(call(vector::ExtractOp::create(rewriter, loc, value, lane)));
  return vector::FromElementsOp::create(rewriter, loc, vector, lanes);
}

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
    rewriter.replaceOp(op,
                       callByLanes(rewriter, loc, "llvm.nvvm.ex2.approx.ftz.f32", power));
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

/// tanh, as x + x^3 p(x^2) where |x| <= 0.55, with a minimax polynomial p (found by
/// reweighted least squares; 0.62 2^-24 of tanh), and 1 - 2 / (1 + e^(2 |x|)) with the
/// sign of x beyond. There the exponential's relative error, at most 2^-22 + 2 |x| 2^-23,
/// changes the result by 1 / (2 cosh(x)^2) of that, and rcp.approx, which is off by one
/// unit in the last place, by 2^-23 / (1 + e^1.1) of 2: less than 2.2 x 2^-22 of the
/// result, with the roundings.
struct UseTanh : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op,
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
    auto multiply = [&](Value a, Value b) -> Value {
      return arith::MulFOp::create(rewriter, loc, a, b);
    };
    Value magnitude = math::AbsFOp::create(rewriter, loc, x);
    Value square = multiply(x, x);
    Value near = number(0.016437573358416557F);
    for (float next : {-0.05267180874943733F, 0.13320724666118622F, -0.3333294689655304F})
      near = fma(near, square, number(next));
    near = fma(multiply(near, square), x, x);
    // e^(2 |x|) = 2^(2 |x| log2(e)); infinity gives 1.
    Value power = multiply(magnitude, number(2.88539008177792681472F));
    power = callByLanes(rewriter, loc, "llvm.nvvm.ex2.approx.ftz.f32", power);
    Value far = arith::AddFOp::create(rewriter, loc, power, number(1));
    far = callByLanes(rewriter, loc, "llvm.nvvm.rcp.approx.ftz.f", far);
    far = fma(number(-2), far, number(1));
    Value isFar = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGT,
                                        magnitude, number(0.55F));
    Value result = arith::SelectOp::create(rewriter, loc, isFar, far, near);
    // Also that of zero, which the sum loses.
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, result, x);
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
      patterns.add<Contract<arith::AddFOp>, Contract<arith::SubFOp>, UseErf, UseTanh,
                   UseExp2>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
