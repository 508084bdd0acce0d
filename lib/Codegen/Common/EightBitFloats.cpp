//===- EightBitFloats.cpp - f8 in integer arithmetic -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EightBitFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt::detail;

namespace {

/// Emits arithmetic on values shaped like one value.
struct Shaped {
  OpBuilder &b;
  Location loc;
  Type like;

  Type typeOf(Type element) const {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  Value constant(TypedAttr value) const {
    Type type = typeOf(value.getType());
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  }
  Value bits(uint32_t value) const {
    return constant(b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value number(double value) const { return constant(b.getF32FloatAttr(value)); }
  Value asFloat(Value value) const {
    return arith::BitcastOp::create(b, loc, typeOf(b.getF32Type()), value);
  }
  Value asBits(Value value) const {
    return arith::BitcastOp::create(b, loc, typeOf(b.getI32Type()), value);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, uint32_t y) const {
    return arith::CmpIOp::create(b, loc, predicate, x, bits(y));
  }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
};

/// What the formats differ in.
struct Format {
  int mantissaBits;
  int bias;
  /// The place of the sign's bit.
  int sign = 7;
  /// Bits of the largest finite number without sign.
  uint32_t largest;
  /// Bits of infinity, or of what stands for it if there is none, and of NaN.
  uint32_t overflow, nan;
  /// Bits of the smallest f32 that rounds beyond the largest number.
  uint32_t tooLarge;

  explicit Format(Type type) {
    if (isa<Float4E2M1FNType>(type)) {
      // 6 is the largest; there is neither infinity nor NaN. NaN becomes 6, as in PTX.
      mantissaBits = 1, bias = 1, sign = 3, largest = overflow = nan = 0x7;
      tooLarge = 0x40e00000;
    } else if (isa<Float8E5M2Type>(type)) {
      // 57344 is the largest; 61440 lies halfway to 65536 and rounds to even,
      // which is infinity.
      mantissaBits = 2, bias = 15, largest = 0x7b, overflow = 0x7c, nan = 0x7e;
      tooLarge = 0x47700000;
    } else {
      // 448 is the largest; 464 lies halfway to 480 and rounds to even, 448.
      mantissaBits = 3, bias = 7, largest = 0x7e, overflow = 0x7f, nan = 0x7f;
      tooLarge = 0x43e80001;
    }
  }
};

/// f8E8M0FNU is f32's exponent. Its first number, 2^-127, is a subnormal f32, and its
/// last is NaN.
Value extendExponent(OpBuilder &b, Location loc, Value value) {
  Shaped s{b, loc, value.getType()};
  Value code = arith::ExtUIOp::create(b, loc, s.typeOf(b.getI32Type()), value);
  Value bits = arith::ShLIOp::create(b, loc, code, s.bits(23));
  bits = s.select(s.compare(arith::CmpIPredicate::eq, code, 0), s.bits(0x00400000), bits);
  bits =
      s.select(s.compare(arith::CmpIPredicate::eq, code, 0xff), s.bits(0x7fc00000), bits);
  return s.asFloat(bits);
}

/// The magnitude's nearest power of two, the larger one of two; what is too large, and
/// infinity, is NaN.
Value truncateToExponent(OpBuilder &b, Location loc, Value value) {
  Shaped s{b, loc, value.getType()};
  Value magnitude = arith::AndIOp::create(b, loc, s.asBits(value), s.bits(0x7fffffff));
  Value code = arith::ShRUIOp::create(
      b, loc, arith::AddIOp::create(b, loc, magnitude, s.bits(0x00400000)), s.bits(23));
  // Halfway between 2^-127 and 2^-126.
  code = s.select(s.compare(arith::CmpIPredicate::ult, magnitude, 0x00600000), s.bits(0),
                  code);
  code = s.select(s.compare(arith::CmpIPredicate::ugt, magnitude, 0x7f800000),
                  s.bits(0xff), code);
  return arith::TruncIOp::create(b, loc, s.typeOf(b.getI8Type()), code);
}

} // namespace

bool mpt::detail::isEightBitFloat(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType, Float4E2M1FNType>(type);
}

Value mpt::detail::extendEightBitFloat(OpBuilder &b, Location loc, Value value,
                                       Type type) {
  if (isa<Float8E8M0FNUType>(type))
    return extendExponent(b, loc, value);
  Format format(type);
  Shaped s{b, loc, value.getType()};
  Value bits = arith::ExtUIOp::create(b, loc, s.typeOf(b.getI32Type()), value);
  const uint32_t signBit = 1u << format.sign;
  Value magnitude = arith::AndIOp::create(b, loc, bits, s.bits(signBit - 1));
  Value sign =
      arith::ShLIOp::create(b, loc, arith::AndIOp::create(b, loc, bits, s.bits(signBit)),
                            s.bits(31 - format.sign));
  // The fields in f32's places are the number times 2^(bias - 127), subnormals
  // too.
  Value small = s.asFloat(
      arith::ShLIOp::create(b, loc, magnitude, s.bits(23 - format.mantissaBits)));
  Value finite = s.asBits(
      arith::MulFOp::create(b, loc, small, s.number(std::ldexp(1.0, 127 - format.bias))));
  Value special = s.bits(0x7fc00000);
  if (format.overflow != format.nan)
    special = s.select(s.compare(arith::CmpIPredicate::eq, magnitude, format.overflow),
                       s.bits(0x7f800000), special);
  Value result = s.select(s.compare(arith::CmpIPredicate::ugt, magnitude, format.largest),
                          special, finite);
  return s.asFloat(arith::OrIOp::create(b, loc, result, sign));
}

Value mpt::detail::truncateToEightBitFloat(OpBuilder &b, Location loc, Value value,
                                           Type type) {
  if (isa<Float8E8M0FNUType>(type))
    return truncateToExponent(b, loc, value);
  Format format(type);
  Shaped s{b, loc, value.getType()};
  int dropped = 23 - format.mantissaBits;
  Value all = s.asBits(value);
  Value magnitude = arith::AndIOp::create(b, loc, all, s.bits(0x7fffffff));
  Value sign = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, all, s.bits(31 - format.sign)),
      s.bits(1u << format.sign));

  // Normal numbers: add just under half of what is dropped, and the last kept
  // bit; drop; change the bias.
  Value odd = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, magnitude, s.bits(dropped)), s.bits(1));
  Value rounded =
      arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, magnitude, odd),
                            s.bits((1u << (dropped - 1)) - 1));
  Value normal = arith::SubIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, rounded, s.bits(dropped)),
      s.bits(static_cast<uint32_t>(127 - format.bias) << format.mantissaBits));

  // Subnormals: adding a number with the same last place makes the adder round them.
  double anchor = std::ldexp(1.0, 23 + 1 - format.bias - format.mantissaBits);
  Value shifted = arith::AddFOp::create(b, loc, s.asFloat(magnitude), s.number(anchor));
  Value subnormal =
      arith::SubIOp::create(b, loc, s.asBits(shifted), s.asBits(s.number(anchor)));

  uint32_t smallestNormal = static_cast<uint32_t>(127 + 1 - format.bias) << 23;
  Value result = s.select(s.compare(arith::CmpIPredicate::ult, magnitude, smallestNormal),
                          subnormal, normal);
  result = s.select(s.compare(arith::CmpIPredicate::uge, magnitude, format.tooLarge),
                    s.bits(format.overflow), result);
  result = s.select(s.compare(arith::CmpIPredicate::ugt, magnitude, 0x7f800000),
                    s.bits(format.nan), result);
  if (isa<Float4E2M1FNType>(type))
    sign = s.select(s.compare(arith::CmpIPredicate::ugt, magnitude, 0x7f800000),
                    s.bits(0), sign);
  result = arith::OrIOp::create(b, loc, result, sign);
  return arith::TruncIOp::create(b, loc, s.typeOf(b.getI8Type()), result);
}

Value mpt::detail::roundToOddF32(OpBuilder &builder, Location loc, Value value) {
  Shaped s{builder, loc, value.getType()};
  Value nearest =
      arith::TruncFOp::create(builder, loc, s.typeOf(builder.getF32Type()), value);
  Value back = arith::ExtFOp::create(builder, loc, value.getType(), nearest);
  Value bits = s.asBits(nearest);
  // Inexact (never for NaN) and even: the odd neighbour lies on value's side.
  Value isInexact =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ONE, back, value);
  Value isEven = s.compare(arith::CmpIPredicate::eq,
                           arith::AndIOp::create(builder, loc, bits, s.bits(1)), 0);
  Value isTooSmall = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                                           math::AbsFOp::create(builder, loc, back),
                                           math::AbsFOp::create(builder, loc, value));
  Value step = s.select(isTooSmall, s.bits(1), s.bits(0xffffffffu));
  Value odd = arith::AddIOp::create(builder, loc, bits, step);
  Value moves = arith::AndIOp::create(builder, loc, isInexact, isEven);
  return s.asFloat(s.select(moves, odd, bits));
}
