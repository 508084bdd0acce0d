//===- ScalarBuilder.cpp - Elementwise ops on single elements ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/ScalarBuilder.h"

#include "mlir/IR/TypeUtilities.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;

Value mpt::convertFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = type.getIntOrFloatBitWidth();
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(builder, loc, type, value);
  if (fromWidth > toWidth)
    return arith::TruncFOp::create(builder, loc, type, value);
  // f16 and bf16, or the two f8 types: through f32, which holds both.
  value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

ScalarBuilder::ScalarBuilder(OpBuilder &builder, Operation *op)
    : builder(builder), loc(op->getLoc()),
      resultType(getElementTypeOrSelf(op->getResult(0))) {
  auto isF64 = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  bool anyF64 = llvm::any_of(op->getOperandTypes(), isF64) ||
                llvm::any_of(op->getResultTypes(), isF64);
  work = anyF64 ? Type(builder.getF64Type()) : Type(builder.getF32Type());
}

Value ScalarBuilder::number(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(work, value));
}

Value ScalarBuilder::integer(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

SmallVector<Value> ScalarBuilder::widen(ValueRange operands) {
  return llvm::map_to_vector(operands, [&](Value operand) {
    return isa<FloatType>(operand.getType()) ? convert(operand, work) : operand;
  });
}

Value ScalarBuilder::round(Value value) {
  return isa<FloatType>(resultType) ? convert(value, resultType) : value;
}

Value ScalarBuilder::cast(Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return convert(value, to);
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(to)) {
    // Through f64 (f32 for bits), which holds every narrower integer.
    Type middle = fromWidth == 1 || to.isF32() ? Type(builder.getF32Type())
                                               : Type(builder.getF64Type());
    if (fromWidth == 1)
      value = arith::UIToFPOp::create(builder, loc, middle, value);
    else
      value = arith::SIToFPOp::create(builder, loc, middle, value);
    return convert(value, to);
  }
  if (isa<FloatType>(from)) {
    if (toWidth == 1) {
      Value wide = convert(value, work);
      return compare(wide, number(0.0), ComparePredicate::NE);
    }
    // Saturating; NaN gives 0. The bounds are exact in f64.
    work = builder.getF64Type();
    Value wide = convert(value, work);
    double low = -std::ldexp(1.0, toWidth - 1);
    double high = toWidth == 64 ? 9223372036854774784.0 : -low - 1.0;
    Value clamped = min(max(wide, number(low)), number(high));
    Value isNumber = create<arith::CmpFOp>(arith::CmpFPredicate::ORD, wide, wide);
    Value result =
        arith::FPToSIOp::create(builder, loc, to, select(isNumber, clamped, number(0.0)));
    if (toWidth < 64)
      return result;
    // The largest i64 is no f64.
    Value isOver = compare(wide, number(0x1p63), ComparePredicate::GE);
    return select(isOver, integer(to, std::numeric_limits<int64_t>::max()), result);
  }
  if (toWidth < fromWidth) {
    if (toWidth == 1)
      return compare(value, integer(from, 0), ComparePredicate::NE);
    return arith::TruncIOp::create(builder, loc, to, value);
  }
  if (fromWidth == 1)
    return arith::ExtUIOp::create(builder, loc, to, value);
  return arith::ExtSIOp::create(builder, loc, to, value);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value ScalarBuilder::div(Value x, Value y) {
  Type type = x.getType();
  if (isa<FloatType>(type))
    return create<arith::DivFOp>(x, y);
  // By zero: 0. The lowest number over -1 would trap: it wraps.
  Value zero = integer(type, 0), one = integer(type, 1);
  Value byZero = create<arith::CmpIOp>(arith::CmpIPredicate::eq, y, zero);
  Value byMinusOne =
      create<arith::CmpIOp>(arith::CmpIPredicate::eq, y, integer(type, -1));
  Value divisor = select(bitOr(byZero, byMinusOne), one, y);
  Value quotient = create<arith::DivSIOp>(x, divisor);
  Value negated = sub(zero, x);
  return select(byZero, zero, select(byMinusOne, negated, quotient));
}

// With u = 1 + x rounded, log(u) x / (u - 1): the quotient changes slowly near
// u = 1, so u's rounding error hardly matters (Kahan; Goldberg 1991, theorem 4).
Value ScalarBuilder::log1p(Value x) {
  Value u = add(x, number(1.0)), logarithm = log(u);
  Value isOne = compare(u, number(1.0), ComparePredicate::EQ);
  Value isInfinite = compare(logarithm, u, ComparePredicate::EQ);
  Value corrected = mul(x, div(logarithm, sub(u, number(1.0))));
  return select(bitOr(isOne, isInfinite), x, corrected);
}

// tanh(sqrt(2/pi) (x + 0.044715 x^3)), Hendrycks and Gimpel 2016.
static constexpr double geluRoot = 0.7978845608028654;
static constexpr double geluCubic = 0.044715;
static constexpr double rootHalf = 0.7071067811865476;
static constexpr double inverseRootTwoPi = 0.3989422804014327;

Value ScalarBuilder::gelu(Value x, GeluApproximation kind) {
  Value inner;
  if (kind == GeluApproximation::Tanh) {
    Value cube = mul(mul(x, x), x);
    inner = tanh(mul(number(geluRoot), add(x, mul(number(geluCubic), cube))));
  } else {
    inner = erf(mul(x, number(rootHalf)));
  }
  return mul(mul(number(0.5), x), add(number(1.0), inner));
}

Value ScalarBuilder::geluGrad(Value dy, Value x, GeluApproximation kind) {
  if (kind == GeluApproximation::Tanh) {
    Value square = mul(x, x);
    Value t = tanh(
        mul(number(geluRoot), mul(x, add(number(1.0), mul(number(geluCubic), square)))));
    Value left = mul(number(0.5), add(number(1.0), t));
    Value slope =
        mul(number(geluRoot), add(number(1.0), mul(number(3.0 * geluCubic), square)));
    Value right = mul(mul(mul(number(0.5), x), sub(number(1.0), mul(t, t))), slope);
    return mul(dy, add(left, right));
  }
  Value phi = mul(number(0.5), add(number(1.0), erf(mul(x, number(rootHalf)))));
  Value density = mul(number(inverseRootTwoPi), exp(mul(number(-0.5), mul(x, x))));
  return mul(dy, add(phi, mul(x, density)));
}

//===----------------------------------------------------------------------===//
// Bits and choices
//===----------------------------------------------------------------------===//

Value ScalarBuilder::compare(Value x, Value y, ComparePredicate predicate) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  const F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  const I integers[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  const I bools[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto index = static_cast<uint32_t>(predicate);
  if (isa<FloatType>(x.getType()))
    return create<arith::CmpFOp>(floats[index], x, y);
  bool isBool = x.getType().isInteger(1);
  return create<arith::CmpIOp>(isBool ? bools[index] : integers[index], x, y);
}

Value ScalarBuilder::isFinite(Value x) {
  return compare(abs(x), number(std::numeric_limits<double>::infinity()),
                 ComparePredicate::LT);
}

Value ScalarBuilder::blockScale(Value amax, ScaleRule rule, Type format) {
  const llvm::fltSemantics &semantics = mlir::cast<FloatType>(format).getFloatSemantics();
  const double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
  Type i32 = builder.getI32Type();
  // The exponent alone is a power of two. Adding ones in all other places rounds up.
  auto keepExponent = [&](Value bits) -> Value {
    return arith::BitcastOp::create(builder, loc, builder.getF32Type(),
                                    bitAnd(bits, integer(i32, 0x7f800000)));
  };
  Value scale;
  if (rule == ScaleRule::OcpMX) {
    Value floor = keepExponent(bitsOf(amax));
    scale = max(mul(floor, number(std::ldexp(1.0, -std::ilogb(largest)))),
                number(std::ldexp(1.0, -127)));
  } else {
    scale = max(div(amax, number(largest)), number(std::ldexp(1.0, -126)));
    if (rule == ScaleRule::PowerOfTwo)
      scale = keepExponent(add(bitsOf(scale), integer(i32, 0x007fffff)));
  }
  // What the type of the scale holds, which saturates.
  if (isa<Float8E4M3FNType>(resultType))
    scale = min(max(scale, number(std::ldexp(1.0, -9))), number(448.0));
  scale = select(greater(amax, number(0.0)), scale, number(1.0));
  return select(isFinite(amax), scale, number(std::numeric_limits<double>::quiet_NaN()));
}

Value ScalarBuilder::isBitPosition(Value n) {
  Type type = n.getType();
  // Widths are powers of two.
  Value above = bitAnd(n, integer(type, -int64_t(type.getIntOrFloatBitWidth())));
  return compare(above, integer(type, 0), ComparePredicate::EQ);
}

Value ScalarBuilder::toBitPosition(Value n) {
  Type type = n.getType();
  return bitAnd(n, integer(type, type.getIntOrFloatBitWidth() - 1));
}

Value ScalarBuilder::shiftLeft(Value x, Value n) {
  return select(isBitPosition(n), create<arith::ShLIOp>(x, toBitPosition(n)),
                integer(x.getType(), 0));
}

Value ScalarBuilder::shiftRightLogical(Value x, Value n) {
  return select(isBitPosition(n), create<arith::ShRUIOp>(x, toBitPosition(n)),
                integer(x.getType(), 0));
}

Value ScalarBuilder::shiftRightArithmetic(Value x, Value n) {
  Value largest = integer(x.getType(), x.getType().getIntOrFloatBitWidth() - 1);
  return create<arith::ShRSIOp>(x, select(isBitPosition(n), n, largest));
}

Value ScalarBuilder::bitcast(Value x, Type to) {
  return arith::BitcastOp::create(builder, loc, to, x);
}

Value ScalarBuilder::where(Value condition, Value x, Value y) {
  if (x.getType() == resultType && y.getType() == resultType)
    return select(condition, x, y);
  SmallVector<Value> wide = widen({x, y});
  return round(select(condition, wide[0], wide[1]));
}

//===----------------------------------------------------------------------===//
// Parameters stored in 16 bits
//===----------------------------------------------------------------------===//

Value ScalarBuilder::bitsOf(Value x) {
  return arith::BitcastOp::create(builder, loc, builder.getI32Type(), x);
}

Value ScalarBuilder::upperHalf(Value bits) {
  Value shifted = create<arith::ShRUIOp>(bits, integer(bits.getType(), 16));
  Value half = arith::TruncIOp::create(builder, loc, builder.getI16Type(), shifted);
  return arith::BitcastOp::create(builder, loc, builder.getBF16Type(), half);
}

Value ScalarBuilder::joinHalves(Value high, Value low) {
  Type i32 = builder.getI32Type();
  // A bf16 widened to f32 is its bits times 2^16, but for signaling NaNs.
  Value bits = arith::BitcastOp::create(builder, loc, builder.getI16Type(), high);
  Value wide = arith::ExtUIOp::create(builder, loc, i32, bits);
  Value upper = create<arith::ShLIOp>(wide, integer(i32, 16));
  Value lower = arith::ExtSIOp::create(builder, loc, i32, low);
  return arith::BitcastOp::create(builder, loc, builder.getF32Type(), add(upper, lower));
}

Value ScalarBuilder::highHalf(Value x) {
  return upperHalf(add(bitsOf(x), integer(builder.getI32Type(), 0x8000)));
}

Value ScalarBuilder::lowHalf(Value x) {
  return arith::TruncIOp::create(builder, loc, builder.getI16Type(), bitsOf(x));
}

Value ScalarBuilder::roundingError(Value x) {
  Type bf16 = builder.getBF16Type();
  Value rounded = convert(convert(x, bf16), x.getType());
  return convert(sub(x, rounded), bf16);
}

Value ScalarBuilder::addCompensation(Value param, Value compensation) {
  Type f32 = builder.getF32Type();
  return add(convert(param, f32), convert(compensation, f32));
}

Value ScalarBuilder::roundStochastically(Value x, Value random) {
  Value isNumber = isFinite(x);
  Value addend = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), random);
  return select(isNumber, upperHalf(add(bitsOf(x), addend)),
                convert(x, builder.getBF16Type()));
}

//===----------------------------------------------------------------------===//
// State stored in 8 bits
//===----------------------------------------------------------------------===//

// Decade i of the code book holds numbers in (10^(i-7), 10^(i-6)]: the middles of
// `getParts(i)` equal parts, at the places from `getParts(i)` on. Place 0 (1 in a book
// without negative numbers) is zero, and the place after the last decade is 1.
static constexpr int numDecades = 7;
static int getParts(int decade, bool nonnegative) {
  return 1 << (nonnegative ? decade + 1 : decade);
}

Value ScalarBuilder::dynamicValue(Value code, bool nonnegative) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  Value index = arith::ExtUIOp::create(builder, loc, i32, code);
  index = nonnegative ? add(index, integer(i32, 1)) : sub(index, integer(i32, 127));
  Value offset = arith::SIToFPOp::create(builder, loc, f32, index);
  Value place = nonnegative ? offset : abs(offset);
  auto atLeast = [&](int number) {
    return compare(place, this->number(number), ComparePredicate::GE);
  };
  // place = parts + j, where parts is a power of two.
  Value partsBits = bitAnd(bitsOf(place), integer(i32, 0x7f800000));
  Value inverseBits = sub(integer(i32, 0x7f000000), partsBits);
  Value inverse = bitcast(inverseBits, f32);
  Value from = mul(sub(place, bitcast(partsBits, f32)), inverse);
  const float tenth = 0.1f, rest = 1.0f - tenth;
  auto bound = [&](Value at) -> Value {
    Value start = select(less(at, number(0.5)), number(tenth), number(1.0f - rest));
    return create<math::FmaOp>(number(rest), at, start);
  };
  Value sum = add(bound(from), bound(add(from, inverse)));
  // Decades below the last are the lowest bits of the exponent of 1 / parts. Products of
  // these powers of ten, in f32, are the powers of ten in f32.
  if (!nonnegative)
    inverseBits = sub(inverseBits, integer(i32, 1 << 23));
  Value half = number(0.5);
  for (auto [bit, power] : {std::pair(0, 1e-1f), {1, 1e-2f}, {2, 1e-4f}}) {
    Value set = bitAnd(inverseBits, integer(i32, int64_t(1) << (23 + bit)));
    half = select(compare(set, integer(i32, 0), ComparePredicate::NE),
                  mul(half, number(power)), half);
  }
  Value x = mul(sum, half);
  x = select(atLeast(getParts(numDecades, nonnegative)), number(1.0), x);
  x = select(atLeast(getParts(0, nonnegative)), x, number(0.0));
  if (nonnegative)
    return x;
  Value sign = bitAnd(bitsOf(offset), integer(i32, 0x80000000));
  return bitcast(bitOr(bitsOf(x), sign), f32);
}

Value ScalarBuilder::dynamicCode(Value x, Value offset, bool nonnegative) {
  const int lowest = getParts(0, nonnegative), top = getParts(numDecades, nonnegative);
  const double most = getParts(numDecades - 1, nonnegative);
  auto lesser = [&](Value a, Value b) { return select(less(a, b), a, b); };
  auto fma = [&](Value a, Value b, Value c) { return create<math::FmaOp>(a, b, c); };
  Value limited = lesser(nonnegative ? abs(x) : x, number(1.0));
  Value magnitude = nonnegative ? limited : abs(limited);
  // What is of a lower decade is moved to the last, whose parts are 0.9 / parts wide.
  Value moved = magnitude, parts = number(most);
  Value isLater = compare(magnitude, number(1e-6), ComparePredicate::GE);
  auto move = [&](Value condition, double factor, double fraction) {
    moved = select(condition, mul(moved, number(factor)), moved);
    parts = select(condition, mul(parts, number(fraction)), parts);
  };
  move(less(moved, number(1e-4)), 1e4, 1.0 / 16);
  move(less(moved, number(1e-2)), 1e2, 1.0 / 4);
  move(bitAnd(isLater, less(moved, number(1e-1))), 1e1, 1.0 / 2);
  // From 0 to parts, which 1 stays just below.
  const float inverse = 1 / 0.9;
  Value within =
      mul(parts, fma(moved, number(inverse), number(1 - std::ldexp(1.0, -23) - inverse)));
  // The slope of the last number's way to 1.
  const double steepest = 2 * most / 0.9;
  Value place;
  if (!offset) {
    // Where the decade's first number is nearer than the number before, or zero.
    auto first = [&](double at) { return number(-2.5 * at); };
    Value start = select(isLater, first(0.2), first(0.25 - lowest / 18.0));
    place = add(lesser(within, fma(within, number(2.5), start)), parts);
    // There is no -1.
    if (!nonnegative)
      place = lesser(place, number(top - 0.5));
    Value last = fma(limited, number(steepest), number(top + 0.5 - steepest));
    place = select(greater(place, last), place, last);
  } else {
    // The place is the lowest of three lines: through the decade's numbers, from the
    // number before (or zero) to its first, and from its last to the next.
    within = sub(within, number(0.5));
    Value rise = select(isLater, number(1.0 / 0.6),
                        number((1 - std::ldexp(1.0, -20)) / (0.5 + lowest / 9.0)));
    Value after =
        fma(fma(parts, number(2.0), within), number(1.0 / 3.0), number(-2.0 / 3.0));
    place = add(lesser(lesser(within, mul(within, rise)), after), parts);
    if (!nonnegative)
      place = lesser(place, number(top - 1));
    Value last = fma(limited, number(steepest), number(top - steepest));
    place = add(select(greater(place, last), place, last), offset);
    // The sum of the last place and an offset just below 1 may be rounded up.
    if (nonnegative)
      place = lesser(place, number(top));
  }
  // What is above zero stays so.
  if (nonnegative) {
    Value least = select(greater(magnitude, number(0.0)), number(lowest), number(0.0));
    place = select(greater(place, least), place, least);
  }
  Type i32 = builder.getI32Type();
  if (!nonnegative)
    place =
        bitcast(bitOr(bitsOf(place), bitAnd(bitsOf(limited), integer(i32, 0x80000000))),
                builder.getF32Type());
  Value index = arith::FPToSIOp::create(builder, loc, i32, place);
  index = add(index, integer(i32, nonnegative ? -1 : 127));
  return arith::TruncIOp::create(builder, loc, builder.getI8Type(), index);
}
