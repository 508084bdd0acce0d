//===- ApproximateMath.cpp - Math functions as polynomials -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-approximate-math`. Upstream's approximations serve for log, tanh and erf. Its
/// exp takes twice the instructions of the one here. Those of sin and cos lose all
/// relative accuracy near zero and have a coarse range reduction, so these two are done
/// here, in f64. erf of f64 becomes calls.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/Common/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>

namespace mpt {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "mpt/Codegen/Common/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Builds ops on scalars or vectors of one shape, that of a value.
struct MathBuilder : ImplicitLocOpBuilder {
  MathBuilder(Operation *op, OpBuilder &builder)
      : ImplicitLocOpBuilder(op->getLoc(), builder), like(op->getResult(0).getType()) {}

  Type typeOf(Type element) {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }
  Value constant(TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(typeOf(value.getType())))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(*this, value);
  }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(*this, x, y, z); }

  Type like;
};

/// exp of f32 within a unit of the last place; 0 where the result is below 2^-126. With n
/// the integer nearest to x / log(2) and r = x - n log(2), the result is 2^n e^r. log(2)
/// is taken as the sum of two f32 numbers (Cody and Waite), of which n times the first is
/// exact. e^r is a polynomial that is off by at most 3.1e-9 of it for |r| <= log(2) / 2
/// (found by iterated weighted least squares). n is added to its exponent.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32())
      return failure();
    MathBuilder b(op, rewriter);
    auto number = [&](float value) { return b.constant(b.getF32FloatAttr(value)); };
    auto compare = [&](arith::CmpFPredicate predicate, float bound) -> Value {
      return arith::CmpFOp::create(b, predicate, x, number(bound));
    };
    // Near 1.5 * 2^23 the last place of a number is 1, so adding that rounds to an
    // integer. The sum's last bits are the integer's.
    constexpr float anchor = 12582912.0f;
    Value shifted = b.fma(x, number(0x1.715476p+0f), number(anchor));
    Value n = arith::SubFOp::create(b, shifted, number(anchor));
    Value r = b.fma(n, number(-0.693359375f), x);
    r = b.fma(n, number(2.12194440e-4f), r);
    Value power = number(1.38145406e-3f);
    for (float coefficient :
         {8.36874545e-3f, 4.16683890e-2f, 1.66665211e-1f, 4.99999940e-1f, 1.0f, 1.0f})
      power = b.fma(power, r, number(coefficient));
    Type i32 = b.typeOf(b.getI32Type());
    Value exponent = arith::ShLIOp::create(b, arith::BitcastOp::create(b, i32, shifted),
                                           b.constant(b.getI32IntegerAttr(23)));
    Value bits =
        arith::AddIOp::create(b, arith::BitcastOp::create(b, i32, power), exponent);
    Value result = arith::BitcastOp::create(b, x.getType(), bits);
    // From 128 log(2) on infinity; a NaN is one.
    Value large =
        arith::MulFOp::create(b, x, number(std::numeric_limits<float>::infinity()));
    result = arith::SelectOp::create(
        b, compare(arith::CmpFPredicate::UGT, 0x1.62e42ep+6f), large, result);
    result = arith::SelectOp::create(
        b, compare(arith::CmpFPredicate::OLT, -0x1.5d589ep+6f), number(0.0f), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// sin or cos of f32 through f64. With q the integer nearest to 2x/pi and
/// r = x - q pi/2 in [-pi/4, pi/4], the result is +-sin r or +-cos r by q mod 4.
/// pi/2 is taken as the sum of two f64 numbers (Cody and Waite, "Software Manual
/// for the Elementary Functions", 1980), good for arguments up to 2^48; beyond,
/// they are clamped. The polynomials are Taylor's: on that interval the first
/// terms left out are below 7e-12 of sin and 2e-10 of cos, far under half a unit
/// of f32's last place (3e-8).
template <typename Op>
struct ExpandSinCos : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Value operand = op.getOperand();
    if (!getElementTypeOrSelf(operand.getType()).isF32())
      return failure();
    MathBuilder b(op, rewriter);
    auto number = [&](double value) { return b.constant(b.getF64FloatAttr(value)); };
    auto integer = [&](int64_t value) { return b.constant(b.getI64IntegerAttr(value)); };
    Type f64 = b.typeOf(b.getF64Type()), i64 = b.typeOf(b.getI64Type());

    Value wide = arith::ExtFOp::create(b, f64, operand);
    constexpr double largest = 281474976710656.0; // 2^48
    Value x = arith::MinimumFOp::create(b, wide, number(largest));
    x = arith::MaximumFOp::create(b, x, number(-largest));

    // Near 1.5 * 2^52 the last place of a number is 1, so adding that rounds to an
    // integer. The sum's last bits are the integer's.
    constexpr double anchor = 6755399441055744.0;
    Value shifted = b.fma(x, number(0.63661977236758134308), number(anchor));
    Value quadrant = arith::BitcastOp::create(b, i64, shifted);
    Value q = arith::SubFOp::create(b, shifted, number(anchor));
    // pi/2 = 0x1.921fb54442d18p+0 + 0x1.1a62633145c07p-54.
    Value negative = arith::NegFOp::create(b, q);
    Value r = b.fma(negative, number(0x1.921fb54442d18p+0), x);
    r = b.fma(negative, number(0x1.1a62633145c07p-54), r);

    Value square = arith::MulFOp::create(b, r, r);
    auto polynomial = [&](std::initializer_list<double> factorials) {
      Value sum;
      for (double factorial : factorials) {
        Value coefficient = number(1.0 / factorial);
        sum = sum ? b.fma(sum, square, coefficient) : coefficient;
      }
      return sum;
    };
    // r + r^3 (-1/3! + r^2/5! - ...) and 1 - r^2/2! + ...
    Value sine = polynomial({-39916800.0, 362880.0, -5040.0, 120.0, -6.0});
    sine = b.fma(arith::MulFOp::create(b, square, r), sine, r);
    Value cosine = polynomial({-3628800.0, 40320.0, -720.0, 24.0, -2.0, 1.0});

    if (std::is_same_v<Op, math::CosOp>)
      quadrant = arith::AddIOp::create(b, quadrant, integer(1));
    auto hasBit = [&](int64_t bit) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                   arith::AndIOp::create(b, quadrant, integer(bit)),
                                   integer(0));
    };
    Value result = arith::SelectOp::create(b, hasBit(1), cosine, sine);
    result =
        arith::SelectOp::create(b, hasBit(2), arith::NegFOp::create(b, result), result);
    // Infinity less itself is NaN.
    Value special = arith::SubFOp::create(b, wide, wide);
    Value isSpecial =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, special, number(0.0));
    result = arith::SelectOp::create(b, isSpecial, special, result);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, operand.getType(), result);
    return success();
  }
};

/// erf of f64 lane by lane through libm: the one function of the kernels that is
/// no LLVM intrinsic, which LLVM itself would take apart.
struct CallErf : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ErfOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    auto module = op->getParentOfType<ModuleOp>();
    if (!element.isF64() || !module)
      return failure();
    auto callee = module.lookupSymbol<func::FuncOp>("erf");
    if (!callee) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      callee = func::FuncOp::create(rewriter, op.getLoc(), "erf",
                                    rewriter.getFunctionType(element, element));
      callee.setPrivate();
    }
    auto call = [&](Value value) {
      return func::CallOp::create(rewriter, op.getLoc(), callee, value).getResult(0);
    };
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!vector) {
      rewriter.replaceOp(op, call(op.getOperand()));
      return success();
    }
    Value result = op.getOperand();
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      Value value =
          vector::ExtractOp::create(rewriter, op.getLoc(), op.getOperand(), lane);
      result = vector::InsertOp::create(rewriter, op.getLoc(), call(value), result, lane);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ApproximateMathPass : mpt::impl::ApproximateMathPassBase<ApproximateMathPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp, ExpandSinCos<math::SinOp>, ExpandSinCos<math::CosOp>>(
        &getContext());
    if (isa<ModuleOp>(getOperation()))
      patterns.add<CallErf>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == "math.log" || name == "math.tanh" || name == "math.erf";
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
