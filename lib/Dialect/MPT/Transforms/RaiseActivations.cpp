//===- RaiseActivations.cpp - Activations from their formulas ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-raise-activations`. Factors of a product come in any order and grouping, and
/// the argument of tanh or erf is compared as a polynomial in x, so that all spellings of
/// a formula are found.
///
//===----------------------------------------------------------------------===//

#include "Formulas/Formulas.h"

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <array>
#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_RAISEACTIVATIONSPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// Formulas have at most so many factors, and polynomials so many levels.
constexpr size_t maxFactors = 8;
constexpr unsigned maxDepth = 12;

/// The number that all elements of `value` are.
std::optional<double> getNumber(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// True if `number` is `wanted` as a constant of `type` spells it.
bool isNear(double number, double wanted, Type type) {
  double unit = type.isBF16() ? 0x1p-8 : type.isF16() ? 0x1p-11 : 0x1p-20;
  return std::abs(number - wanted) <= unit * std::abs(wanted);
}

/// A product of a number and of values that are none.
struct Product {
  double number = 1.0;
  SmallVector<Value> factors;
};

/// `value` as a product, of which `x` is a factor even if it is a product itself.
/// `nodes`, if given, gets everything that may be such an x.
std::optional<Product> getProduct(Value value, Value x,
                                  SmallVectorImpl<Value> *nodes = nullptr) {
  Product product;
  SmallVector<Value> left = {value};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (nodes && next != value)
      nodes->push_back(next);
    if (next == x) {
      product.factors.push_back(next);
    } else if (std::optional<double> number = getNumber(next)) {
      product.number *= *number;
    } else if (auto mul = next.getDefiningOp<MulOp>()) {
      left.push_back(mul.getLhs());
      left.push_back(mul.getRhs());
    } else if (auto div = next.getDefiningOp<DivOp>(); div && getNumber(div.getRhs())) {
      product.number /= *getNumber(div.getRhs());
      left.push_back(div.getLhs());
    } else {
      product.factors.push_back(next);
    }
    if (product.factors.size() + left.size() > maxFactors)
      return std::nullopt;
  }
  return product;
}

/// Coefficients of 1, x, x^2 and x^3.
using Polynomial = std::array<double, 4>;

/// `value` as a polynomial in `x`; nullopt if it is none, or of a higher degree.
std::optional<Polynomial> getPolynomial(Value value, Value x, unsigned depth = 0) {
  if (value == x)
    return Polynomial{0, 1, 0, 0};
  if (std::optional<double> number = getNumber(value))
    return Polynomial{*number, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (auto neg = dyn_cast_or_null<NegOp>(op); neg && depth < maxDepth) {
    std::optional<Polynomial> result = getPolynomial(neg.getX(), x, depth + 1);
    if (result)
      for (double &coefficient : *result)
        coefficient = -coefficient;
    return result;
  }
  if (!op || depth == maxDepth || !isa<AddOp, SubOp, MulOp, DivOp, PowOp>(op))
    return std::nullopt;
  auto left = getPolynomial(op->getOperand(0), x, depth + 1);
  auto right = getPolynomial(op->getOperand(1), x, depth + 1);
  if (!left || !right)
    return std::nullopt;
  auto isNumber = [](const Polynomial &p) { return p[1] == 0 && p[2] == 0 && p[3] == 0; };
  auto multiply = [](const Polynomial &a,
                     const Polynomial &b) -> std::optional<Polynomial> {
    Polynomial result{};
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 4; ++j) {
        if (a[i] == 0 || b[j] == 0)
          continue;
        if (i + j > 3)
          return std::nullopt;
        result[i + j] += a[i] * b[j];
      }
    return result;
  };
  if (isa<MulOp>(op))
    return multiply(*left, *right);
  if (isa<PowOp>(op)) {
    if (!isNumber(*right) || ((*right)[0] != 2 && (*right)[0] != 3))
      return std::nullopt;
    std::optional<Polynomial> square = multiply(*left, *left);
    return square && (*right)[0] == 3 ? multiply(*square, *left) : square;
  }
  if (isa<DivOp>(op)) {
    if (!isNumber(*right) || (*right)[0] == 0)
      return std::nullopt;
    for (double &coefficient : *left)
      coefficient /= (*right)[0];
    return left;
  }
  for (size_t i = 0; i < 4; ++i)
    (*left)[i] += isa<SubOp>(op) ? -(*right)[i] : (*right)[i];
  return left;
}

bool isPolynomial(Value value, Value x, const Polynomial &wanted, Type type) {
  std::optional<Polynomial> found = getPolynomial(value, x);
  if (!found)
    return false;
  for (size_t i = 0; i < 4; ++i)
    if (wanted[i] == 0 ? (*found)[i] != 0 : !isNear((*found)[i], wanted[i], type))
      return false;
  return true;
}

/// `value` = 1 + f, where f is what this returns.
Value getAddendOfOne(Value value) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return Value();
  if (getNumber(add.getLhs()) == 1.0)
    return add.getRhs();
  return getNumber(add.getRhs()) == 1.0 ? add.getLhs() : Value();
}

/// z if `value` is erfc z as the import of StableHLO spells it: 1 - erf z, and for z
/// above 0.5 the form of `erfcCoefficients`.
Value getErfcArgument(Value value) {
  auto where = value.getDefiningOp<WhereOp>();
  auto compare = where ? where.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || compare.getPredicate() != ComparePredicate::GT ||
      getNumber(compare.getRhs()) != 0.5)
    return Value();
  Value z = compare.getLhs();
  auto isSize = [&](Value size) {
    auto abs = size.getDefiningOp<AbsOp>();
    return abs && abs.getX() == z;
  };
  auto near = where.getOnFalse().getDefiningOp<SubOp>();
  auto erf = near ? near.getRhs().getDefiningOp<ErfOp>() : ErfOp();
  auto tail = where.getOnTrue().getDefiningOp<MulOp>();
  auto exp = tail ? tail.getRhs().getDefiningOp<ExpOp>() : ExpOp();
  auto exponent = exp ? exp.getX().getDefiningOp<SubOp>() : SubOp();
  auto square = exponent ? exponent.getRhs().getDefiningOp<MulOp>() : MulOp();
  if (!erf || erf.getX() != z || getNumber(near.getLhs()) != 1.0 || !square ||
      !isSize(square.getLhs()) || !isSize(square.getRhs()))
    return Value();
  Value t = tail.getLhs(), sum = exponent.getLhs();
  auto reciprocal = t.getDefiningOp<ReciprocalOp>();
  auto addend = reciprocal ? getAddendOfOne(reciprocal.getX()) : Value();
  auto half = addend ? addend.getDefiningOp<MulOp>() : MulOp();
  if (!half || !isSize(half.getLhs()) || getNumber(half.getRhs()) != 0.5)
    return Value();
  Type type = getElementTypeOrSelf(value);
  auto isCoefficient = [&](Value found, double wanted) {
    std::optional<double> number = getNumber(found);
    return number && isNear(*number, wanted, type);
  };
  for (double wanted : llvm::reverse(ArrayRef(erfcCoefficients).drop_front())) {
    auto add = sum.getDefiningOp<AddOp>();
    auto mul = add ? add.getLhs().getDefiningOp<MulOp>() : MulOp();
    if (!mul || mul.getRhs() != t || !isCoefficient(add.getRhs(), wanted))
      return Value();
    sum = mul.getLhs();
  }
  return isCoefficient(sum, erfcCoefficients[0]) ? z : Value();
}

/// 1 / (1 + e^-x).
LogicalResult raiseSigmoid(DivOp op, PatternRewriter &rewriter) {
  Value exponential = getAddendOfOne(op.getRhs());
  auto exp = exponential ? exponential.getDefiningOp<ExpOp>() : ExpOp();
  auto neg = exp ? exp.getX().getDefiningOp<NegOp>() : NegOp();
  if (!neg || getNumber(op.getLhs()) != 1.0 || neg.getX().getType() != op.getType())
    return rewriter.notifyMatchFailure(op, "not the formula of sigmoid");
  rewriter.replaceOpWithNewOp<SigmoidOp>(op, op.getType(), neg.getX());
  return success();
}

/// y = x 1/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), y = x 1/2 (1 + erf(x /
/// sqrt(2))) and y = x sigmoid(x).
template <typename Root>
struct RaiseActivation : OpRewritePattern<Root> {
  using OpRewritePattern<Root>::OpRewritePattern;
  LogicalResult matchAndRewrite(Root op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "not of floats");
    SmallVector<Value> nodes;
    if (!getProduct(op.getResult(), Value(), &nodes))
      return rewriter.notifyMatchFailure(op, "a product of many factors");
    for (Value x : nodes) {
      std::optional<Product> product = getProduct(op.getResult(), x);
      if (!product || product->factors.size() != 2)
        continue;
      Value other = product->factors[product->factors[0] == x ? 1 : 0];
      if (x.getType() != type || other.getType() != type)
        continue;
      if (auto sigmoid = other.template getDefiningOp<SigmoidOp>();
          sigmoid && sigmoid.getX() == x && product->number == 1.0) {
        rewriter.replaceOpWithNewOp<SiluOp>(op, type, x);
        return success();
      }
      const double inverse = std::sqrt(0.5);
      if (Value z = getErfcArgument(other);
          z && product->number == 0.5 &&
          isPolynomial(z, x, {0, -inverse, 0, 0}, type.getElementType())) {
        rewriter.replaceOpWithNewOp<GeluOp>(op, type, x, GeluApproximation::Erf);
        return success();
      }
      Value function = getAddendOfOne(other);
      if (!function || function.getType() != type || product->number != 0.5)
        continue;
      std::optional<GeluApproximation> form;
      const double root = std::sqrt(2.0 / M_PI);
      if (auto tanh = function.template getDefiningOp<TanhOp>();
          tanh && isPolynomial(tanh.getX(), x, {0, root, 0, 0.044715 * root},
                               type.getElementType()))
        form = GeluApproximation::Tanh;
      else if (auto erf = function.template getDefiningOp<ErfOp>();
               erf &&
               isPolynomial(erf.getX(), x, {0, inverse, 0, 0}, type.getElementType()))
        form = GeluApproximation::Erf;
      if (!form)
        continue;
      rewriter.replaceOpWithNewOp<GeluOp>(op, type, x, *form);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not the formula of an activation");
  }
};

} // namespace

formulas::NearMiss formulas::explainActivation(Operation *root) {
  auto isProduct = [](Operation *op) { return isa<MulOp, DivOp>(op); };
  if (!isProduct(root) || !isa<RankedTensorType>(root->getResult(0).getType()))
    return {};
  // The product with all its numbers says it, not its parts.
  Value y = root->getResult(0);
  if (llvm::any_of(root->getUsers(), [&](Operation *user) {
        return isProduct(user) &&
               (getNumber(user->getOperand(0)) || getNumber(user->getOperand(1)));
      }))
    return {};
  SmallVector<Value> nodes;
  if (!getProduct(y, Value(), &nodes))
    return {};
  for (Value x : nodes) {
    std::optional<Product> product = getProduct(y, x);
    if (!product || product->factors.size() != 2 || x.getType() != y.getType())
      continue;
    Value other = product->factors[product->factors[0] == x ? 1 : 0];
    auto isOfX = [&](Value argument, unsigned degree) {
      std::optional<Polynomial> p = getPolynomial(argument, x);
      return p && (*p)[degree] != 0;
    };
    if (auto sigmoid = other.getDefiningOp<SigmoidOp>();
        sigmoid && isOfX(sigmoid.getX(), 1))
      return {"mpt.silu", "expected x sigmoid(x), with no other number"};
    Value function = getAddendOfOne(other);
    Operation *op = function ? function.getDefiningOp() : nullptr;
    unsigned degree = isa_and_present<TanhOp>(op) ? 3 : 1;
    if (!isa_and_present<TanhOp, ErfOp>(op) || !isOfX(op->getOperand(0), degree))
      continue;
    return {"mpt.gelu",
            degree == 3 ? "expected x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), "
                          "with no other number"
                        : "expected x / 2 (1 + erf(x / sqrt(2))), with no other number"};
  }
  return {};
}

namespace {

struct RaiseActivationsPass : mpt::impl::RaiseActivationsPassBase<RaiseActivationsPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateRaiseActivationsPatterns(set);
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

void mpt::populateRaiseActivationsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseActivation<MulOp>, RaiseActivation<DivOp>>(patterns.getContext());
  addPatterns(patterns, raiseSigmoid);
}
