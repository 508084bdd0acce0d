//===- SpecialFunctions.cpp - Functions that mpt has no op for -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/SpecialFunctions.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// The gamma function
//===----------------------------------------------------------------------===//

/// log |gamma(x)|, or its derivative, in f64: terms of the size of x log x cancel near
/// the zeros at 1 and 2. By Lanczos's sum as Godfrey (2001) fitted it, with 9 terms and
/// g = 7, which is exact to 1e-15; below 1/2 by reflection.
static Value gammaFunction(ImportBuilder &l, Value x, bool derivative) {
  constexpr double coefficients[] = {676.5203681218851,     -1259.1392167224028,
                                     771.32342877765313,    -176.61502916214059,
                                     12.507343278686905,    -0.13857109526572012,
                                     9.9843695780195716e-6, 1.5056327351493116e-7};
  Type element = getElement(x);
  x = l.cast(x, l.builder.getF64Type());
  Value low = l.compare(ComparePredicate::LT, x, 0.5);
  Value z = l.where(low, l.sub(l.number(x, 1), x), x);
  Value sum = l.number(z, 0.99999999999980993), slope = l.number(z, 0);
  for (auto [i, coefficient] : llvm::enumerate(coefficients)) {
    Value place = l.add(z, static_cast<double>(i));
    Value term = l.div(l.number(z, coefficient), place);
    sum = l.add(sum, term);
    slope = l.sub(slope, l.div(term, place));
  }
  Value t = l.add(z, 6.5), y = l.unary<LogOp>(t);
  if (derivative)
    y = l.add(y, l.sub(l.div(slope, sum), l.div(l.number(t, 7), t)));
  else
    y = l.add(l.add(l.sub(l.mul(l.add(z, -0.5), y), t), 0.5 * std::log(2 * M_PI)),
              l.unary<LogOp>(sum));
  // Of the distance to the nearest integer; 1/2, where nothing is infinite, for the rest.
  Value nearest = l.unary<StopGradientOp>(l.unary<FloorOp>(l.add(x, 0.5)));
  Value angle = l.mul(l.where(low, l.sub(x, nearest), l.number(x, 0.5)), M_PI);
  Value sine = l.unary<SinOp>(angle);
  if (derivative) {
    y = l.sub(
        y, l.where(low, l.mul(l.div(l.unary<CosOp>(angle), sine), M_PI), l.number(x, 0)));
    Value pole = l.binary<AndOp>(l.compare(ComparePredicate::EQ, angle, 0.0),
                                 l.compare(ComparePredicate::LT, x, 0));
    y = l.where(pole, l.number(x, std::numeric_limits<double>::quiet_NaN()), y);
  } else {
    Value reflected = l.sub(l.neg(l.unary<LogOp>(l.mul(l.abs(sine), 1 / M_PI))), y);
    y = l.where(low, reflected, y);
    y = l.where(l.compare(ComparePredicate::EQ, l.abs(x), infinity),
                l.number(x, infinity), y);
  }
  return l.cast(y, element);
}

Value mpt::importer::logGamma(ImportBuilder &l, Value x) {
  return gammaFunction(l, x, /*derivative=*/false);
}

Value mpt::importer::digamma(ImportBuilder &l, Value x) {
  return gammaFunction(l, x, /*derivative=*/true);
}

//===----------------------------------------------------------------------===//
// Inverse functions. Their values are computed by parts, their derivatives by formula.
//===----------------------------------------------------------------------===//

/// `value` with the given derivative (slope) for each operand x: value + sum of
/// (x - stop_gradient(x)) slope. The gradient reaches only the first x.
static Value withSlopes(ImportBuilder &l, Value value,
                        ArrayRef<std::pair<Value, Value>> operandsAndSlopes) {
  Value y = l.unary<StopGradientOp>(value);
  for (auto [x, slope] : operandsAndSlopes) {
    // An infinity minus itself is NaN.
    Value finite = l.compare(ComparePredicate::LT, l.abs(x), infinity);
    Value zero = l.where(finite, l.sub(x, l.unary<StopGradientOp>(x)), l.number(x, 0));
    // So is 0 times an infinite slope: the root of 0 has that slope instead.
    slope = l.unary<StopGradientOp>(slope);
    Value steep = l.compare(ComparePredicate::EQ, l.abs(slope), infinity);
    y = l.add(y, l.mul(zero, l.where(steep, l.number(x, 0), slope)));
    Value root = l.unary<SqrtOp>(l.where(steep, zero, l.number(x, 1)));
    y = l.add(y, l.where(steep, l.mul(root, l.unary<SignOp>(slope)), l.number(x, 0)));
  }
  return y;
}

/// atan without a gradient. atan(x) / x is a polynomial of x^2 up to tan(pi/8), fitted at
/// Chebyshev's nodes, which is exact to 5e-16; above it, pi/4 + atan((x - 1) / (x + 1))
/// and pi/2 - atan(1 / x).
static Value atanOf(ImportBuilder &l, Value x) {
  constexpr double coefficients[] = {0.9999999999999993,  -0.3333333333322204,
                                     0.19999999978483285, -0.1428571266612118,
                                     0.11111048943436252, -0.0908953064377515,
                                     0.07673533835796433, -0.06505925564863319,
                                     0.05024435818131727, -0.025310367711995532};
  Value a = l.abs(x);
  Value high = l.compare(ComparePredicate::GT, a, 2.414213562373095),
        low = l.compare(ComparePredicate::LT, a, 0.41421356237309503);
  Value middle = l.div(l.add(a, -1.0), l.add(a, 1.0));
  Value t = l.where(high, l.neg(l.unary<ReciprocalOp>(a)), l.where(low, a, middle));
  Value u = l.square(t), sum = l.number(x, coefficients[9]);
  for (int i = 9; i-- > 0;)
    sum = l.add(l.mul(sum, u), coefficients[i]);
  Value begin = l.where(high, l.number(x, M_PI / 2),
                        l.where(low, l.number(x, 0), l.number(x, M_PI / 4)));
  return l.mul(l.add(begin, l.mul(t, sum)), l.unary<SignOp>(x));
}

Value mpt::importer::atan(ImportBuilder &l, Value x) {
  Value slope = l.unary<ReciprocalOp>(l.add(l.square(x), 1.0));
  return withSlopes(l, atanOf(l, x), {{x, slope}});
}

/// (1 - x) (1 + x)
static Value oneMinusSquare(ImportBuilder &l, Value x) {
  return l.mul(l.sub(l.number(x, 1), x), l.add(x, 1.0));
}

Value mpt::importer::asin(ImportBuilder &l, Value x) {
  Value slope = l.unary<RsqrtOp>(oneMinusSquare(l, x));
  return withSlopes(l, atanOf(l, l.mul(x, slope)), {{x, slope}});
}

Value mpt::importer::acos(ImportBuilder &l, Value x) {
  // Half of the angle, which has no difference of near numbers.
  Value ratio = l.div(l.sub(l.number(x, 1), x), l.add(x, 1.0));
  Value value = l.mul(atanOf(l, l.unary<SqrtOp>(ratio)), 2.0);
  return withSlopes(l, value, {{x, l.neg(l.unary<RsqrtOp>(oneMinusSquare(l, x)))}});
}

/// x < 0, or -0.
static Value hasSign(ImportBuilder &l, Value x) {
  return l.binary<OrOp>(l.compare(ComparePredicate::LT, x, 0),
                        l.compare(ComparePredicate::LT,
                                  l.unary<ReciprocalOp>(l.unary<StopGradientOp>(x)), 0));
}

Value mpt::importer::atan2(ImportBuilder &l, Value y, Value x) {
  RankedTensorType type = l.broadcastType({y, x}, getElement(y));
  y = l.broadcast(y, type.getShape());
  x = l.broadcast(x, type.getShape());
  Value a = l.abs(y), b = l.abs(x);
  Value large = l.binary<MaximumOp>(a, b), small = l.binary<MinimumOp>(a, b);
  Value zero = l.compare(ComparePredicate::EQ, large, 0.0);
  Value both = l.compare(ComparePredicate::EQ, small, infinity);
  Value ratio = l.div(small, l.where(zero, l.number(large, 1), large));
  Value angle = atanOf(l, l.where(both, l.number(ratio, 1), ratio));
  angle = l.where(l.compare(ComparePredicate::GT, a, b),
                  l.sub(l.number(angle, M_PI / 2), angle), angle);
  angle = l.where(hasSign(l, x), l.sub(l.number(angle, M_PI), angle), angle);
  angle = l.where(hasSign(l, y), l.neg(angle), angle);
  Value square = l.add(l.square(x), l.square(y));
  square = l.where(zero, l.number(square, 1), square);
  return withSlopes(l, angle, {{y, l.div(x, square)}, {x, l.neg(l.div(y, square))}});
}

Value mpt::importer::asinh(ImportBuilder &l, Value x) {
  Value a = l.abs(x), large = l.compare(ComparePredicate::GT, a, 1e4);
  Value s = l.where(large, l.number(a, 0), a), square = l.square(s);
  Value root = l.unary<SqrtOp>(l.add(square, 1.0));
  Value value = l.unary<Log1pOp>(l.add(s, l.div(square, l.add(root, 1.0))));
  Value far = l.add(l.unary<LogOp>(l.where(large, a, l.number(a, 1))), M_LN2);
  value = l.mul(l.where(large, far, value), l.unary<SignOp>(x));
  return withSlopes(l, value, {{x, l.unary<RsqrtOp>(l.add(l.square(x), 1.0))}});
}

Value mpt::importer::acosh(ImportBuilder &l, Value x) {
  Value t = l.add(x, -1.0), product = l.mul(t, l.add(x, 1.0));
  Value value = l.unary<Log1pOp>(l.add(t, l.unary<SqrtOp>(product)));
  return withSlopes(l, value, {{x, l.unary<RsqrtOp>(product)}});
}

Value mpt::importer::atanh(ImportBuilder &l, Value x) {
  Value a = l.abs(x);
  Value value =
      l.mul(l.unary<Log1pOp>(l.div(l.mul(a, 2.0), l.sub(l.number(a, 1), a))), 0.5);
  return withSlopes(l, l.mul(value, l.unary<SignOp>(x)),
                    {{x, l.unary<ReciprocalOp>(oneMinusSquare(l, x))}});
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

Value mpt::importer::sinh(ImportBuilder &l, Value x) {
  // Of |x|, with e = e^|x| - 1: (e + e / (e + 1)) / 2.
  Value negative = l.compare(ComparePredicate::LT, x, 0.0);
  Value e = l.expm1(l.where(negative, l.neg(x), x));
  Value y = l.mul(l.add(e, l.div(e, l.add(e, 1.0))), 0.5);
  return l.where(negative, l.neg(y), y);
}

Value mpt::importer::cosh(ImportBuilder &l, Value x) {
  Value e = l.unary<ExpOp>(l.abs(x));
  return l.mul(l.add(e, l.unary<ReciprocalOp>(e)), 0.5);
}
