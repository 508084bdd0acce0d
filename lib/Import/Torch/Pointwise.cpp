//===- Pointwise.cpp - Torch's elementwise ops -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mpt/Import/Common/SpecialFunctions.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// f(x), where x has the result's element type.
static std::function<void(Lowering &)> map(Value (*f)(Lowering &, Value)) {
  return [f](Lowering &l) { l.set(f(l, l.get(0, l.resultElement()))); };
}

static std::function<void(Lowering &)> map(Value (*f)(importer::ImportBuilder &, Value)) {
  return [f](Lowering &l) { l.set(f(l, l.get(0, l.resultElement()))); };
}

/// f(a, b) in the result's element type.
static std::function<void(Lowering &)> combine(Value (*f)(Lowering &, Value, Value)) {
  return [f](Lowering &l) {
    Type element = l.resultElement();
    l.set(f(l, l.get(0, element), l.get(1, element)));
  };
}

template <typename Op>
static Value apply(Lowering &l, Value x) {
  return l.unary<Op>(x);
}
template <typename Op>
static Value apply(Lowering &l, Value a, Value b) {
  return l.binary<Op>(a, b);
}

static std::function<void(Lowering &)> compare(ComparePredicate predicate) {
  return [predicate](Lowering &l) {
    Type element = l.promote({0, 1});
    l.set(l.compare(predicate, l.get(0, element), l.get(1, element)));
  };
}

static Value isNan(Lowering &l, Value x) { return l.compare(ComparePredicate::NE, x, x); }
static Value less(Lowering &l, Value x, double y) {
  return l.compare(ComparePredicate::LT, x, y);
}
static Value greater(Lowering &l, Value x, double y) {
  return l.compare(ComparePredicate::GT, x, y);
}

/// min(max(x, lo), hi) of numbers, with the gradient 1 also at the bounds.
static Value clamp(Lowering &l, Value x, double lo, double hi) {
  Value lower = l.number(x, lo), upper = l.number(x, hi);
  x = l.where(l.compare(ComparePredicate::LT, x, lower), lower, x);
  return l.where(l.compare(ComparePredicate::GT, x, upper), upper, x);
}

/// As `clamp`, with the gradient 0 at the bounds.
static Value hardTanh(Lowering &l, Value x, double lo, double hi) {
  Value lower = l.number(x, lo), upper = l.number(x, hi);
  x = l.where(l.compare(ComparePredicate::GE, x, upper), upper, x);
  return l.where(l.compare(ComparePredicate::LE, x, lower), lower, x);
}

static Value floorOf(Lowering &l, Value x) {
  return isa<FloatType>(getElement(x)) ? l.unary<FloorOp>(x) : x;
}
static Value truncate(Lowering &l, Value x) {
  if (!isa<FloatType>(getElement(x)))
    return x;
  return l.mul(l.unary<SignOp>(x), l.unary<FloorOp>(l.unary<AbsOp>(x)));
}
/// To the nearest, ties to even.
static Value roundEven(Lowering &l, Value x) {
  if (!isa<FloatType>(getElement(x)))
    return x;
  Value below = l.unary<FloorOp>(x), rest = l.sub(x, below);
  Value half = l.unary<FloorOp>(l.mul(below, 0.5));
  Value odd = greater(l, l.sub(below, l.mul(half, 2.0)), 0.5);
  Value up =
      l.where(odd, l.compare(ComparePredicate::GE, rest, 0.5), greater(l, rest, 0.5));
  return l.where(up, l.add(below, 1.0), below);
}

/// The inverse of erf: the polynomials of Giles (2012), "Approximating the erfinv
/// function", for f32. The gradient is sqrt(pi) / 2 e^(y^2), not that of the polynomials,
/// and where that is infinite the largest f32.
static Value inverseErf(Lowering &l, Value input) {
  Type element = getElement(input);
  if (!l.require(!element.isF64(), "this op in f64"))
    return input;
  Value given = l.cast(input, l.builder.getF32Type());
  Value x = l.unary<StopGradientOp>(given);
  auto polynomial = [&](ArrayRef<double> coefficients, Value at) {
    Value sum = l.number(at, coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = l.add(l.mul(sum, at), l.number(at, coefficient));
    return sum;
  };
  Value w = l.neg(l.unary<Log1pOp>(l.neg(l.square(x))));
  Value middle =
      polynomial({2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                  0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941},
                 l.add(w, -2.5));
  Value tail =
      polynomial({-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                  0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682},
                 l.add(l.unary<SqrtOp>(w), -3.0));
  Value y = l.mul(x, l.where(l.compare(ComparePredicate::LT, w, 5.0), middle, tail));
  y = l.where(l.compare(ComparePredicate::EQ, l.abs(x), 1.0), l.mul(x, infinity), y);
  // x - x is 0 and has the gradient of x; infinity times it is no number.
  Value slope = l.mul(l.unary<ExpOp>(l.square(y)), std::sqrt(M_PI) / 2);
  constexpr double largest = std::numeric_limits<float>::max();
  slope = l.where(l.compare(ComparePredicate::GT, slope, largest),
                  l.number(slope, largest), slope);
  return l.cast(l.add(y, l.mul(slope, l.sub(given, x))), element);
}

/// a / b rounded to minus infinity, integers too.
static Value floorDivide(Lowering &l, Value a, Value b) {
  if (isa<FloatType>(getElement(a)))
    return l.unary<FloorOp>(l.div(a, b));
  Value quotient = l.div(a, b), rest = l.sub(a, l.mul(quotient, b));
  Value inexact = l.compare(ComparePredicate::NE, rest, 0.0);
  Value differ = l.compare(ComparePredicate::NE, less(l, rest, 0), less(l, b, 0));
  Value below = l.binary<AndOp>(inexact, differ);
  return l.where(below, l.add(quotient, -1.0), quotient);
}
static Value remainder(Lowering &l, Value a, Value b) {
  return l.sub(a, l.mul(floorDivide(l, a, b), b));
}
static Value fmod(Lowering &l, Value a, Value b) {
  return l.sub(a, l.mul(truncate(l, l.div(a, b)), b));
}

static Value elu(Lowering &l, Value x, double alpha, double scale, double inputScale) {
  Value positive = greater(l, x, 0);
  // What is not chosen must not overflow: its gradient would be 0 times infinity.
  Value negative = l.where(positive, l.number(x, 0), x);
  Value curve = l.mul(l.expm1(l.mul(negative, inputScale)), alpha * scale);
  return l.where(positive, l.mul(x, scale), curve);
}

static Value softplus(Lowering &l, Value x, double beta, double threshold) {
  Value scaled = l.mul(x, beta);
  Value y = l.mul(l.unary<SoftplusOp>(scaled), 1 / beta);
  return l.where(greater(l, scaled, threshold), x, y);
}

static Value powerOf(Lowering &l, Value x, double exponent) {
  bool isFloat = isa<FloatType>(getElement(x));
  if (exponent == 0)
    return l.constant(1, getElement(x), getShape(x));
  if (isFloat && std::abs(exponent) == 0.5)
    return exponent > 0 ? l.unary<SqrtOp>(x) : l.unary<RsqrtOp>(x);
  if (std::floor(exponent) == exponent && std::abs(exponent) <= 4 &&
      (isFloat || exponent > 0)) {
    Value y = x;
    for (int i = 1; i < std::abs(exponent); ++i)
      y = l.mul(y, x);
    return exponent > 0 ? y : l.unary<ReciprocalOp>(y);
  }
  if (!l.require(isFloat, "an integer to this power"))
    return x;
  return l.binary<PowOp>(x, l.number(x, exponent));
}

static Value power(Lowering &l, Value a, Value b) {
  if (l.require(isa<FloatType>(getElement(a)), "powers of integers by tensors"))
    return l.binary<PowOp>(a, b);
  return a;
}

static Value hypot(Lowering &l, Value a, Value b) {
  // Squares of quotients do not overflow; infinity goes before NaN.
  Value x = l.abs(a), y = l.abs(b);
  Value infinite = l.binary<OrOp>(l.compare(ComparePredicate::EQ, x, infinity),
                                  l.compare(ComparePredicate::EQ, y, infinity));
  Value large = l.binary<MaximumOp>(x, y), small = l.binary<MinimumOp>(x, y);
  Value zero = l.compare(ComparePredicate::EQ, large, 0.0);
  Value ratio = l.div(small, l.where(zero, l.number(large, 1), large));
  Value root = l.mul(large, l.unary<SqrtOp>(l.add(l.square(ratio), 1.0)));
  Value result = l.unary<StopGradientOp>(l.where(infinite, l.number(x, infinity), root));
  // The derivatives are a / result and b / result, NaN where these are quotients of zeros
  // or infinities, as in PyTorch.
  Value sum = l.add(l.mul(a, l.unary<StopGradientOp>(l.div(a, result))),
                    l.mul(b, l.unary<StopGradientOp>(l.div(b, result))));
  Value difference = l.sub(sum, l.unary<StopGradientOp>(sum));
  return l.where(l.binary<OrOp>(infinite, zero), result, l.add(result, difference));
}

/// Truth values and, or, xor; of other types their being unequal to zero.
static Value toBool(Lowering &l, Value x) { return l.cast(x, l.builder.getI1Type()); }

static std::function<void(Lowering &)> logical(Value (*f)(Lowering &, Value, Value)) {
  return [f](Lowering &l) {
    l.set(f(l, toBool(l, l.get(0, l.promote({0}))), toBool(l, l.get(1, l.promote({1})))));
  };
}
static std::function<void(Lowering &)> bitwise(Value (*f)(Lowering &, Value, Value)) {
  return [f](Lowering &l) {
    Type element = l.promote({0, 1});
    if (l.require(isa<IntegerType>(element), "bits of floats"))
      l.set(f(l, l.get(0, element), l.get(1, element)));
  };
}
/// Amounts that are negative or at least the width shift all bits out.
static std::function<void(Lowering &)> shift(Value (*f)(Lowering &, Value, Value)) {
  return [f](Lowering &l) {
    Type element = l.promote({0, 1});
    if (l.require(isa<IntegerType>(element) && !element.isInteger(1),
                  "shifts of what is not integers"))
      l.set(f(l, l.get(0, element), l.get(1, element)));
  };
}

/// self + alpha other, or other - alpha self and so on.
static std::function<void(Lowering &)> sum(bool subtract, bool reversed) {
  return [=](Lowering &l) {
    Type element = l.resultElement();
    Value a = l.get(0, element), b = l.get(1, element);
    if (reversed)
      std::swap(a, b);
    double alpha = l.number(2, 1);
    if (element.isInteger(1)) {
      if (l.require(!subtract && alpha == 1, "differences of truth values"))
        l.set(l.binary<OrOp>(a, b));
      return;
    }
    b = l.mul(b, alpha);
    l.set(subtract ? l.sub(a, b) : l.add(a, b));
  };
}

static void product(Lowering &l) {
  Type element = l.resultElement();
  Value a = l.get(0, element), b = l.get(1, element);
  l.set(element.isInteger(1) ? l.binary<AndOp>(a, b) : l.mul(a, b));
}

static void divideRounded(Lowering &l) {
  Type element = l.resultElement();
  Value a = l.get(0, element), b = l.get(1, element);
  StringRef mode = l.text(2);
  if (mode == "floor")
    l.set(floorDivide(l, a, b));
  else if (l.require(mode.empty() || mode == "trunc", "an unknown rounding mode"))
    l.set(mode.empty() ? l.div(a, b) : truncate(l, l.div(a, b)));
}

/// min(max(x, lo), hi) of the operands at these places, 0 for one that there is not. As
/// in torch, numbers take all of the gradient where x equals them, and tensors half of
/// it.
static std::function<void(Lowering &)> clampBy(unsigned lo, unsigned hi) {
  return [=](Lowering &l) {
    Type element = l.resultElement();
    Value x = l.get(0, element);
    const bool areTensors = l.op->getName().getStringRef().ends_with(".Tensor");
    if (lo && !l.isNone(lo)) {
      Value bound = l.get(lo, element);
      x = areTensors ? l.binary<MaximumOp>(x, bound)
                     : l.where(l.compare(ComparePredicate::LE, x, bound), bound, x);
    }
    if (hi && !l.isNone(hi)) {
      Value bound = l.get(hi, element);
      x = areTensors ? l.binary<MinimumOp>(x, bound)
                     : l.where(l.compare(ComparePredicate::GE, x, bound), bound, x);
    }
    l.set(x);
  };
}

static void chooseWhere(Lowering &l) {
  Type element = l.resultElement();
  l.set(l.where(l.get(0, l.builder.getI1Type()), l.get(1, element), l.get(2, element)));
}

static void maskedFill(Lowering &l) {
  Type element = l.resultElement();
  l.set(l.where(l.get(1, l.builder.getI1Type()), l.get(2, element), l.get(0, element)));
}

static void lerp(Lowering &l) {
  Type element = l.resultElement();
  Value a = l.get(0, element), b = l.get(1, element), w = l.get(2, element);
  Value difference = l.sub(b, a);
  // From the nearer end, as torch.
  Value far = l.sub(b, l.mul(difference, l.sub(l.number(w, 1), w)));
  l.set(l.where(less(l, l.abs(w), 0.5), l.add(a, l.mul(w, difference)), far));
}

static void addProduct(Lowering &l, bool quotient) {
  Type element = l.resultElement();
  Value a = l.get(1, element), b = l.get(2, element);
  Value value = quotient ? l.div(a, b) : l.mul(a, b);
  l.set(l.add(l.get(0, element), l.mul(value, l.number(3, 1))));
}

static void nanToNum(Lowering &l) {
  Value x = l.get(0);
  auto type = dyn_cast<FloatType>(getElement(x));
  if (!type)
    return l.set(x);
  double largest = APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  Value y = l.where(isNan(l, x), l.number(x, l.number(1, 0)), x);
  y = l.where(l.compare(ComparePredicate::EQ, x, infinity),
              l.number(x, l.number(2, largest)), y);
  l.set(l.where(l.compare(ComparePredicate::EQ, x, -infinity),
                l.number(x, l.number(3, -largest)), y));
}

static void prelu(Lowering &l) {
  Value x = l.get(0), w = l.get(1);
  if (getRank(w) == 1 && getRank(x) > 2 && getShape(w)[0] != 1) {
    Shape shape(getRank(x) - 1, 1);
    shape[0] = getShape(w)[0];
    w = l.reshape(w, shape);
  }
  l.set(l.where(greater(l, x, 0), x, l.mul(x, w)));
}

//===----------------------------------------------------------------------===//
// Other functions
//===----------------------------------------------------------------------===//

/// sin(pi x) / (pi x), and 1 at 0.
static Value sinc(Lowering &l, Value x) {
  Value zero = l.compare(ComparePredicate::EQ, x, 0.0);
  Value angle = l.mul(l.where(zero, l.number(x, 1), x), M_PI);
  return l.where(zero, l.number(x, 1), l.div(l.unary<SinOp>(angle), angle));
}

/// True for negative numbers and -0.
static Value signBit(Lowering &l, Value x) {
  if (!isa<FloatType>(getElement(x)))
    return less(l, x, 0);
  Value zero = l.compare(ComparePredicate::EQ, x, 0.0);
  Value inverse = l.unary<ReciprocalOp>(l.where(zero, x, l.number(x, 1)));
  return l.binary<OrOp>(less(l, x, 0), less(l, inverse, 0));
}

void mpt::torch::populatePointwise(Table &t) {
  t.elementwise({"exp"}, map(apply<ExpOp>));
  t.elementwise({"exp2"}, map([](Lowering &l, Value x) {
                  return l.unary<ExpOp>(l.mul(x, 0.693147180559945309));
                }));
  t.elementwise({"expm1", "special_expm1"},
                map([](Lowering &l, Value x) { return l.expm1(x); }));
  t.elementwise({"log"}, map(apply<LogOp>));
  t.elementwise({"log2"}, map([](Lowering &l, Value x) {
                  return l.mul(l.unary<LogOp>(x), 1.44269504088896341);
                }));
  t.elementwise({"log10"}, map([](Lowering &l, Value x) {
                  return l.mul(l.unary<LogOp>(x), 0.434294481903251828);
                }));
  t.elementwise({"log1p", "special_log1p"}, map(apply<Log1pOp>));
  t.elementwise({"sqrt"}, map(apply<SqrtOp>));
  t.elementwise({"rsqrt"}, map(apply<RsqrtOp>));
  t.elementwise({"reciprocal"}, map(apply<ReciprocalOp>));
  t.elementwise({"square"}, map([](Lowering &l, Value x) { return l.square(x); }));
  t.elementwise({"tanh"}, map(apply<TanhOp>));
  t.elementwise({"sigmoid", "special_expit"}, map(apply<SigmoidOp>));
  t.elementwise({"log_sigmoid", "log_sigmoid_forward"}, map([](Lowering &l, Value x) {
                  return l.neg(l.unary<SoftplusOp>(l.neg(x)));
                }));
  t.elementwise({"logit", "special_logit"}, [](Lowering &l) {
    Value x = l.get(0, l.resultElement());
    if (!l.isNone(1))
      x = clamp(l, x, l.number(1), 1 - l.number(1));
    l.set(l.sub(l.unary<LogOp>(x), l.unary<Log1pOp>(l.neg(x))));
  });
  t.elementwise({"erf", "special_erf"}, map(apply<ErfOp>));
  t.elementwise({"erfinv", "special_erfinv"}, map(inverseErf));
  t.elementwise({"sin"}, map(apply<SinOp>));
  t.elementwise({"cos"}, map(apply<CosOp>));
  t.elementwise({"tan"}, map([](Lowering &l, Value x) {
                  return l.div(l.unary<SinOp>(x), l.unary<CosOp>(x));
                }));
  t.elementwise({"sinh"}, map(importer::sinh));
  t.elementwise({"cosh"}, map(importer::cosh));
  t.elementwise({"abs", "absolute"}, map([](Lowering &l, Value x) { return l.abs(x); }));
  t.elementwise({"neg", "negative"}, map([](Lowering &l, Value x) { return l.neg(x); }));
  t.elementwise({"positive"}, map([](Lowering &, Value x) { return x; }));
  t.elementwise({"sign", "sgn"}, map([](Lowering &l, Value x) {
                  if (isa<FloatType>(getElement(x)))
                    return l.unary<SignOp>(x);
                  if (getElement(x).isInteger(1))
                    return x;
                  return l.where(greater(l, x, 0), l.number(x, 1),
                                 l.where(less(l, x, 0), l.number(x, -1), l.number(x, 0)));
                }));
  t.elementwise({"floor"}, map(floorOf));
  t.elementwise({"ceil"}, map([](Lowering &l, Value x) {
                  return isa<FloatType>(getElement(x)) ? l.neg(l.unary<FloorOp>(l.neg(x)))
                                                       : x;
                }));
  t.elementwise({"trunc", "fix"}, map(truncate));
  t.elementwise({"round"}, map(roundEven));
  t.elementwise({"round.decimals"}, [](Lowering &l) {
    Value x = l.get(0);
    const int64_t decimals = l.integer(1);
    if (!isa<FloatType>(getElement(x)) || decimals == 0)
      return l.set(roundEven(l, x));
    Value power = l.number(x, std::pow(10.0, std::abs(static_cast<double>(decimals))));
    l.set(decimals > 0 ? l.div(roundEven(l, l.mul(x, power)), power)
                       : l.mul(roundEven(l, l.div(x, power)), power));
  });
  t.elementwise({"frac"},
                map([](Lowering &l, Value x) { return l.sub(x, truncate(l, x)); }));
  t.elementwise({"deg2rad"},
                map([](Lowering &l, Value x) { return l.mul(x, M_PI / 180); }));
  t.elementwise({"rad2deg"},
                map([](Lowering &l, Value x) { return l.mul(x, 180 / M_PI); }));
  t.elementwise({"nan_to_num"}, nanToNum);

  // Activations.
  t.elementwise({"relu"}, map([](Lowering &l, Value x) {
                  if (isa<FloatType>(getElement(x)))
                    return l.unary<ReluOp>(x);
                  return l.binary<MaximumOp>(x, l.number(x, 0));
                }));
  t.elementwise({"relu6"},
                map([](Lowering &l, Value x) { return hardTanh(l, x, 0, 6); }));
  t.elementwise({"hardtanh"}, [](Lowering &l) {
    l.set(hardTanh(l, l.get(0), l.number(1, -1), l.number(2, 1)));
  });
  t.elementwise({"hardsigmoid"}, map([](Lowering &l, Value x) {
                  return l.mul(hardTanh(l, l.add(x, 3.0), 0, 6), 1.0 / 6);
                }));
  t.elementwise({"hardswish"}, map([](Lowering &l, Value x) {
                  return l.mul(l.mul(x, hardTanh(l, l.add(x, 3.0), 0, 6)), 1.0 / 6);
                }));
  t.elementwise({"atan", "arctan"}, map(importer::atan));
  t.elementwise({"asin", "arcsin"}, map(importer::asin));
  t.elementwise({"acos", "arccos"}, map(importer::acos));
  t.elementwise({"asinh", "arcsinh"}, map(importer::asinh));
  t.elementwise({"acosh", "arccosh"}, map(importer::acosh));
  t.elementwise({"atanh", "arctanh"}, map(importer::atanh));
  t.elementwise({"sinc", "special_sinc"}, map(sinc));
  t.elementwise({"lgamma", "special_gammaln"}, map(importer::logGamma));
  t.elementwise({"digamma", "special_digamma", "special_psi"}, map(importer::digamma));
  t.elementwise({"leaky_relu"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(l.where(greater(l, x, 0), x, l.mul(x, l.number(1, 0.01))));
  });
  t.elementwise({"rrelu"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(!l.flag(3), "random slopes; set training=False"))
      l.set(l.where(greater(l, x, -0.0), x, l.mul(x, (l.number(1) + l.number(2)) / 2)));
  });
  t.add({"prelu", "_prelu_kernel"}, prelu);
  t.elementwise({"elu"}, [](Lowering &l) {
    l.set(elu(l, l.get(0), l.number(1, 1), l.number(2, 1), l.number(3, 1)));
  });
  t.elementwise({"celu"}, [](Lowering &l) {
    double alpha = l.number(1, 1);
    l.set(elu(l, l.get(0), alpha, 1, 1 / alpha));
  });
  t.elementwise({"selu"}, map([](Lowering &l, Value x) {
                  return elu(l, x, 1.6732632423543772848, 1.0507009873554804934, 1);
                }));
  t.elementwise({"gelu"}, [](Lowering &l) {
    StringRef mode = l.text(1);
    if (!l.require(mode.empty() || mode == "none" || mode == "tanh",
                   "an unknown form of gelu"))
      return;
    Value x = l.get(0);
    l.set(GeluOp::create(l.builder, l.loc, x.getType(), x,
                         mode == "tanh" ? GeluApproximation::Tanh
                                        : GeluApproximation::Erf));
  });
  t.elementwise({"silu"}, map(apply<SiluOp>));
  t.elementwise({"mish"}, map([](Lowering &l, Value x) {
                  return l.mul(x, l.unary<TanhOp>(l.unary<SoftplusOp>(x)));
                }));
  t.elementwise({"softplus"}, [](Lowering &l) {
    l.set(softplus(l, l.get(0), l.number(1, 1), l.number(2, 20)));
  });
  t.elementwise({"hardshrink"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(l.where(greater(l, l.abs(x), l.number(1, 0.5)), x, l.number(x, 0)));
  });
  t.elementwise({"softshrink"}, [](Lowering &l) {
    Value x = l.get(0);
    double lambda = l.number(1, 0.5);
    l.set(l.where(greater(l, x, lambda), l.add(x, -lambda),
                  l.where(less(l, x, -lambda), l.add(x, lambda), l.number(x, 0))));
  });
  t.elementwise({"threshold"}, [](Lowering &l) {
    Value x = l.get(0);
    l.set(l.where(greater(l, x, l.number(1)), x, l.number(x, l.number(2))));
  });
  t.add({"glu"}, [](Lowering &l) {
    Value x = l.get(0);
    int64_t dim = l.dimension(1, getRank(x)), size = getShape(x)[dim];
    if (l.require(size % 2 == 0, "half of an odd number"))
      l.set(l.mul(l.slice(x, dim, 0, size / 2),
                  l.unary<SigmoidOp>(l.slice(x, dim, size / 2, size / 2))));
  });

  // Binary.
  t.elementwise({"add.Tensor", "add.Scalar"}, sum(false, false));
  t.elementwise({"sub.Tensor", "sub.Scalar", "subtract.Tensor"}, sum(true, false));
  t.elementwise({"rsub.Tensor", "rsub.Scalar"}, sum(true, true));
  t.elementwise({"mul.Tensor", "mul.Scalar", "multiply.Tensor"}, product);
  t.elementwise({"div.Tensor", "div.Scalar", "divide.Tensor", "true_divide.Tensor"},
                combine(apply<DivOp>));
  t.elementwise({"div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode"},
                divideRounded);
  t.elementwise({"floor_divide", "floor_divide.Scalar"}, combine(floorDivide));
  t.elementwise({"remainder.Tensor", "remainder.Scalar"}, combine(remainder));
  t.elementwise({"fmod.Tensor", "fmod.Scalar"}, combine(fmod));
  t.elementwise({"maximum", "max.other"}, combine(apply<MaximumOp>));
  t.elementwise({"minimum", "min.other"}, combine(apply<MinimumOp>));
  t.elementwise({"fmax"}, combine([](Lowering &l, Value a, Value b) {
                  Value larger = l.where(isNan(l, a), b, l.binary<MaximumOp>(a, b));
                  return l.where(isNan(l, b), a, larger);
                }));
  t.elementwise({"fmin"}, combine([](Lowering &l, Value a, Value b) {
                  Value smaller = l.where(isNan(l, a), b, l.binary<MinimumOp>(a, b));
                  return l.where(isNan(l, b), a, smaller);
                }));
  t.elementwise({"pow.Tensor_Scalar"}, [](Lowering &l) {
    l.set(powerOf(l, l.get(0, l.resultElement()), l.number(1)));
  });
  t.elementwise({"pow.Tensor_Tensor", "pow.Scalar"}, combine(power));
  t.elementwise({"xlogy.Tensor"}, combine([](Lowering &l, Value a, Value b) {
                  Value zero = l.compare(ComparePredicate::EQ, a, 0.0);
                  Value y = l.unary<LogOp>(l.where(zero, l.number(b, 1), b));
                  return l.mul(a, y);
                }));
  t.elementwise({"hypot"}, combine(hypot));
  t.elementwise({"logaddexp"}, combine([](Lowering &l, Value a, Value b) {
                  Value larger = l.binary<MaximumOp>(a, b);
                  // Infinities that are equal differ by 0.
                  Value equal = l.compare(ComparePredicate::EQ, a, b);
                  Value difference = l.where(equal, l.number(a, 0), l.sub(a, b));
                  return l.add(
                      larger, l.unary<Log1pOp>(l.unary<ExpOp>(l.neg(l.abs(difference)))));
                }));
  t.elementwise({"logaddexp2"}, combine([](Lowering &l, Value a, Value b) {
                  Value larger = l.binary<MaximumOp>(a, b);
                  Value equal = l.compare(ComparePredicate::EQ, a, b);
                  Value difference = l.where(equal, l.number(a, 0), l.sub(a, b));
                  Value power = l.unary<ExpOp>(l.mul(l.neg(l.abs(difference)), M_LN2));
                  return l.add(larger, l.mul(l.unary<Log1pOp>(power), 1 / M_LN2));
                }));
  t.elementwise({"atan2", "arctan2"}, combine([](Lowering &l, Value y, Value x) {
                  return importer::atan2(l, y, x);
                }));
  t.elementwise({"copysign.Tensor", "copysign.Scalar"},
                combine([](Lowering &l, Value a, Value b) {
                  Value magnitude = l.abs(a);
                  return l.where(signBit(l, b), l.neg(magnitude), magnitude);
                }));
  t.elementwise({"heaviside"}, combine([](Lowering &l, Value x, Value atZero) {
                  Value positive = l.cast(greater(l, x, 0), getElement(x));
                  return l.where(l.compare(ComparePredicate::EQ, x, 0.0), atZero,
                                 positive);
                }));
  t.elementwise({"float_power.Tensor_Tensor", "float_power.Scalar"}, combine(power));
  t.elementwise({"float_power.Tensor_Scalar"}, [](Lowering &l) {
    l.set(powerOf(l, l.get(0, l.resultElement()), l.number(1)));
  });
  t.elementwise({"ldexp.Tensor"}, combine([](Lowering &l, Value x, Value exponent) {
                  return l.mul(x, l.unary<ExpOp>(l.mul(exponent, M_LN2)));
                }));
  t.elementwise({"lerp.Scalar", "lerp.Tensor"}, lerp);
  t.elementwise({"addcmul"}, [](Lowering &l) { addProduct(l, false); });
  t.elementwise({"addcdiv"}, [](Lowering &l) { addProduct(l, true); });
  t.elementwise({"clamp", "clip", "clamp.Tensor", "clip.Tensor"}, clampBy(1, 2));
  t.elementwise({"clamp_min", "clamp_min.Tensor"}, clampBy(1, 0));
  t.elementwise({"clamp_max", "clamp_max.Tensor"}, clampBy(0, 1));

  // Truth values.
  for (auto [name, predicate] :
       {std::pair<const char *, ComparePredicate>{"eq", ComparePredicate::EQ},
        {"ne", ComparePredicate::NE},
        {"lt", ComparePredicate::LT},
        {"le", ComparePredicate::LE},
        {"gt", ComparePredicate::GT},
        {"ge", ComparePredicate::GE}})
    t.elementwise({std::string(name) + ".Tensor", std::string(name) + ".Scalar"},
                  compare(predicate));
  t.elementwise({"logical_and"}, logical(apply<AndOp>));
  t.elementwise({"logical_or"}, logical(apply<OrOp>));
  t.elementwise({"logical_xor"}, logical(apply<XorOp>));
  t.elementwise(
      {"bitwise_and.Tensor", "bitwise_and.Scalar", "__and__.Tensor", "__and__.Scalar"},
      bitwise(apply<AndOp>));
  t.elementwise(
      {"bitwise_or.Tensor", "bitwise_or.Scalar", "__or__.Tensor", "__or__.Scalar"},
      bitwise(apply<OrOp>));
  t.elementwise(
      {"bitwise_xor.Tensor", "bitwise_xor.Scalar", "__xor__.Tensor", "__xor__.Scalar"},
      bitwise(apply<XorOp>));
  t.elementwise({"bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar",
                 "__lshift__.Tensor", "__lshift__.Scalar"},
                shift(apply<ShiftLeftOp>));
  t.elementwise({"bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar",
                 "__rshift__.Tensor", "__rshift__.Scalar"},
                shift(apply<ShiftRightArithmeticOp>));
  t.elementwise({"logical_not"},
                [](Lowering &l) { l.set(l.unary<NotOp>(toBool(l, l.get(0)))); });
  t.elementwise({"bitwise_not"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(isa<IntegerType>(getElement(x)), "bits of floats"))
      l.set(l.unary<NotOp>(x));
  });
  t.elementwise({"isnan"}, [](Lowering &l) { l.set(isNan(l, l.get(0))); });
  t.elementwise({"isinf"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(isa<FloatType>(getElement(x)), "infinities of integers"))
      l.set(l.compare(ComparePredicate::EQ, l.abs(x), infinity));
  });
  t.elementwise({"isfinite"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(isa<FloatType>(getElement(x)), "infinities of integers"))
      l.set(IsFiniteOp::create(l.builder, l.loc,
                               l.broadcastType({x}, l.builder.getI1Type()), x));
  });
  t.elementwise({"isposinf"}, [](Lowering &l) {
    l.set(l.compare(ComparePredicate::EQ, l.get(0), infinity));
  });
  t.elementwise({"isneginf"}, [](Lowering &l) {
    l.set(l.compare(ComparePredicate::EQ, l.get(0), -infinity));
  });
  t.elementwise({"signbit"}, [](Lowering &l) { l.set(signBit(l, l.get(0))); });
  t.elementwise({"isclose"}, [](Lowering &l) {
    Type element = l.promote({0, 1});
    Value a = l.get(0, element), b = l.get(1, element);
    if (!l.require(isa<FloatType>(element) && !l.flag(4), "integers, or equal NaN"))
      return;
    Value bound = l.add(l.mul(l.abs(b), l.number(2, 1e-5)), l.number(3, 1e-8));
    Value distance = l.abs(l.sub(a, b));
    Value near = l.binary<AndOp>(l.compare(ComparePredicate::LE, distance, bound),
                                 less(l, distance, infinity));
    l.set(l.binary<OrOp>(l.compare(ComparePredicate::EQ, a, b), near));
  });
  t.elementwise({"where.self", "where.Scalar", "where.ScalarSelf", "where.ScalarOther"},
                chooseWhere);
  t.elementwise({"masked_fill.Scalar", "masked_fill.Tensor"}, maskedFill);
}
