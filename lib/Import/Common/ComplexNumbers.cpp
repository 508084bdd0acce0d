//===- ComplexNumbers.cpp - Complex tensors as pairs of real ones -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/ComplexNumbers.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Import/Common/SpecialFunctions.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

Value mpt::importer::getImaginary(ImportBuilder &l, Complex z) {
  return z.imaginary ? z.imaginary : l.constant(0, getElement(z.real), getShape(z.real));
}

Complex mpt::importer::fromPairs(ImportBuilder &l, Value pairs) {
  int64_t rank = getRank(pairs);
  if (!l.require(rank >= 1 && getShape(pairs).back() == 2,
                 "a last dimension of another size than 2"))
    return {pairs, pairs};
  Shape shape(getShape(pairs).drop_back());
  auto part = [&](int64_t index) {
    return l.reshape(l.slice(pairs, rank - 1, index, 1), shape);
  };
  return {part(0), part(1)};
}

Value mpt::importer::toPairs(ImportBuilder &l, Complex z) {
  Shape shape(getShape(z.real));
  shape.push_back(1);
  return l.concat({l.reshape(z.real, shape), l.reshape(getImaginary(l, z), shape)},
                  shape.size() - 1);
}

/// `part`, of one of two operands, in the shape to which they broadcast.
static Value broadcastWith(ImportBuilder &l, Value part, Value other) {
  return l.broadcast(part, l.broadcastType({part, other}, getElement(part)).getShape());
}

Complex mpt::importer::add(ImportBuilder &l, Complex a, Complex b) {
  Complex sum{l.add(a.real, b.real), {}};
  if (a.imaginary && b.imaginary)
    sum.imaginary = l.add(a.imaginary, b.imaginary);
  else if (a.imaginary)
    sum.imaginary = broadcastWith(l, a.imaginary, b.real);
  else if (b.imaginary)
    sum.imaginary = broadcastWith(l, b.imaginary, a.real);
  return sum;
}

Complex mpt::importer::subtract(ImportBuilder &l, Complex a, Complex b) {
  Complex difference{l.sub(a.real, b.real), {}};
  if (a.imaginary && b.imaginary)
    difference.imaginary = l.sub(a.imaginary, b.imaginary);
  else if (a.imaginary)
    difference.imaginary = broadcastWith(l, a.imaginary, b.real);
  else if (b.imaginary)
    difference.imaginary = broadcastWith(l, l.neg(b.imaginary), a.real);
  return difference;
}

Complex mpt::importer::multiplyBy(ImportBuilder &l, Complex a, Complex b,
                                  function_ref<Value(Value, Value)> apply) {
  Complex product{apply(a.real, b.real), {}};
  if (a.imaginary && b.imaginary)
    product.real = l.sub(product.real, apply(a.imaginary, b.imaginary));
  if (b.imaginary)
    product.imaginary = apply(a.real, b.imaginary);
  if (a.imaginary) {
    Value other = apply(a.imaginary, b.real);
    product.imaginary = product.imaginary ? l.add(product.imaginary, other) : other;
  }
  return product;
}

Complex mpt::importer::multiply(ImportBuilder &l, Complex a, Complex b) {
  return multiplyBy(l, a, b, [&](Value x, Value y) { return l.mul(x, y); });
}

Complex mpt::importer::divide(ImportBuilder &l, Complex a, Complex b) {
  if (!b.imaginary)
    return {l.div(a.real, b.real), a.imaginary ? l.div(a.imaginary, b.real) : Value()};
  // The quotient does not depend on the scale, which needs no gradient therefore.
  Value largest =
      l.unary<StopGradientOp>(l.binary<MaximumOp>(l.abs(b.real), l.abs(b.imaginary)));
  Value zero = l.compare(ComparePredicate::EQ, largest, 0.0);
  Value factor = l.where(zero, l.number(largest, 1), largest);
  Value real = l.div(b.real, factor), imaginary = l.div(b.imaginary, factor);
  Value square = l.mul(l.add(l.square(real), l.square(imaginary)), factor);
  Complex product = multiply(l, a, {real, l.neg(imaginary)});
  return {l.div(product.real, square), l.div(product.imaginary, square)};
}

Complex mpt::importer::negate(ImportBuilder &l, Complex z) {
  return {l.neg(z.real), z.imaginary ? l.neg(z.imaginary) : Value()};
}

Complex mpt::importer::conjugate(ImportBuilder &l, Complex z) {
  return {z.real, z.imaginary ? l.neg(z.imaginary) : Value()};
}

Complex mpt::importer::scale(ImportBuilder &l, Complex z, double factor) {
  return {l.mul(z.real, factor), z.imaginary ? l.mul(z.imaginary, factor) : Value()};
}

Complex mpt::importer::polar(ImportBuilder &l, Value magnitude, Value angle) {
  return {l.mul(magnitude, l.unary<CosOp>(angle)),
          l.mul(magnitude, l.unary<SinOp>(angle))};
}

Complex mpt::importer::exp(ImportBuilder &l, Complex z) {
  Value magnitude = l.unary<ExpOp>(z.real);
  return z.imaginary ? polar(l, magnitude, z.imaginary) : Complex{magnitude, {}};
}

Complex mpt::importer::log(ImportBuilder &l, Complex z) {
  return {l.unary<LogOp>(abs(l, z)), angle(l, z)};
}

/// Where both parts are 0.
static Value isZero(ImportBuilder &l, Complex z) {
  Value real = l.compare(ComparePredicate::EQ, z.real, 0.0);
  return z.imaginary
             ? l.binary<AndOp>(real, l.compare(ComparePredicate::EQ, z.imaginary, 0.0))
             : real;
}

Complex mpt::importer::sqrt(ImportBuilder &l, Complex z) {
  Value zero = isZero(l, z);
  Complex safe{l.where(zero, l.number(z.real, 1), z.real), getImaginary(l, z)};
  Complex root = polar(l, l.unary<SqrtOp>(abs(l, safe)), l.mul(angle(l, safe), 0.5));
  Value nothing = l.number(z.real, 0);
  return {l.where(zero, nothing, root.real), l.where(zero, nothing, root.imaginary)};
}

Complex mpt::importer::power(ImportBuilder &l, Complex z, Complex w) {
  Value zero = isZero(l, z);
  Complex safe{l.where(zero, l.number(z.real, 1), z.real), getImaginary(l, z)};
  Complex y = exp(l, multiply(l, w, log(l, safe)));
  Value one = l.cast(isZero(l, w), getElement(y.real));
  return {l.where(zero, one, y.real),
          l.where(zero, l.number(y.imaginary, 0), y.imaginary)};
}

Value mpt::importer::abs(ImportBuilder &l, Complex z) {
  if (!z.imaginary)
    return l.abs(z.real);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // |z| = s |z / s| for any s, which needs no gradient therefore.
  Value largest =
      l.unary<StopGradientOp>(l.binary<MaximumOp>(l.abs(z.real), l.abs(z.imaginary)));
  Value zero = l.compare(ComparePredicate::EQ, largest, 0.0);
  Value unscaled =
      l.binary<OrOp>(zero, l.compare(ComparePredicate::EQ, largest, infinity));
  Value factor = l.where(unscaled, l.number(largest, 1), largest);
  Value square =
      l.add(l.square(l.div(z.real, factor)), l.square(l.div(z.imaginary, factor)));
  Value root = l.unary<SqrtOp>(l.where(zero, l.number(square, 1), square));
  return l.where(zero, l.number(root, 0), l.mul(root, factor));
}

Value mpt::importer::angle(ImportBuilder &l, Complex z) {
  if (!z.imaginary) {
    Value negative = l.compare(ComparePredicate::LT, z.real, 0.0);
    Value turned = l.where(negative, l.number(z.real, M_PI), l.number(z.real, 0));
    // NaN stays.
    Value number = l.compare(ComparePredicate::EQ, z.real, z.real);
    return l.where(number, turned, l.unary<StopGradientOp>(z.real));
  }
  return atan2(l, z.imaginary, l.where(isZero(l, z), l.number(z.real, 1), z.real));
}

void mpt::importer::keepArithmeticInF32(ImportBuilder &l, Operation *last) {
  Block *block = l.builder.getInsertionBlock();
  StringAttr f32 = l.builder.getStringAttr("f32");
  auto begin = last ? std::next(last->getIterator()) : block->begin();
  for (Operation &made : llvm::make_range(begin, l.builder.getInsertionPoint()))
    if (!isa<BroadcastOp, ConcatOp, ConstantOp, GatherOp, IotaOp, PadOp, ReshapeOp,
             SliceOp, TransposeOp, StopGradientOp>(made) &&
        llvm::all_of(made.getResultTypes(), [](Type type) {
          return isa<FloatType>(getElementTypeOrSelf(type));
        }))
      made.setAttr(kPrecisionAttr, f32);
}
