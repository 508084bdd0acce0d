//===- ScalarBuilder.h - Elementwise ops on single elements -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds what an elementwise op computes of one element, in ops of `arith` and
/// `math`. The `scalar` bodies of the ops' records are written with it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_SCALARBUILDER_H
#define MPT_DIALECT_MPT_IR_SCALARBUILDER_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mpt {

/// `value` (a float scalar) converted to float type `type` with one rounding.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::Type type);

/// Short spellings of ops on scalars, at the place of one elementwise op. Floats
/// that are given to arithmetic have the type of the op's arithmetic: f32, or f64
/// if an operand or the result is f64. Arithmetic on integers wraps.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &builder, mlir::Operation *op);

  /// Constants: of the arithmetic's type, and of integer type `type`.
  mlir::Value number(double value);
  mlir::Value integer(mlir::Type type, int64_t value);

  //===--------------------------------------------------------------------===//
  // Types
  //===--------------------------------------------------------------------===//

  /// The operands, floats in the arithmetic's type.
  llvm::SmallVector<mlir::Value> widen(mlir::ValueRange operands);
  /// `value` as an element of the op's result: a float is rounded to its type.
  mlir::Value round(mlir::Value value);
  /// `value` as mpt.cast converts it to element type `to`.
  mlir::Value cast(mlir::Value value, mlir::Type to);

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  mlir::Value neg(mlir::Value x) { return create<mlir::arith::NegFOp>(x); }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return byType<mlir::arith::AddFOp, mlir::arith::AddIOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return byType<mlir::arith::SubFOp, mlir::arith::SubIOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return byType<mlir::arith::MulFOp, mlir::arith::MulIOp>(x, y);
  }
  /// Integers truncate; by zero gives zero, and what overflows wraps.
  mlir::Value div(mlir::Value x, mlir::Value y);
  /// NaN if either is.
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return byType<mlir::arith::MaximumFOp, mlir::arith::MaxSIOp>(x, y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return byType<mlir::arith::MinimumFOp, mlir::arith::MinSIOp>(x, y);
  }
  mlir::Value pow(mlir::Value x, mlir::Value y) {
    return create<mlir::math::PowFOp>(x, y);
  }
  mlir::Value abs(mlir::Value x) { return create<mlir::math::AbsFOp>(x); }
  mlir::Value floor(mlir::Value x) { return create<mlir::math::FloorOp>(x); }
  mlir::Value sqrt(mlir::Value x) { return create<mlir::math::SqrtOp>(x); }
  mlir::Value exp(mlir::Value x) { return create<mlir::math::ExpOp>(x); }
  mlir::Value log(mlir::Value x) { return create<mlir::math::LogOp>(x); }
  /// log(1 + x), accurate near 0.
  mlir::Value log1p(mlir::Value x);
  mlir::Value sin(mlir::Value x) { return create<mlir::math::SinOp>(x); }
  mlir::Value cos(mlir::Value x) { return create<mlir::math::CosOp>(x); }
  mlir::Value tanh(mlir::Value x) { return create<mlir::math::TanhOp>(x); }
  mlir::Value erf(mlir::Value x) { return create<mlir::math::ErfOp>(x); }
  mlir::Value sigmoid(mlir::Value x) {
    return div(number(1.0), add(number(1.0), exp(neg(x))));
  }
  mlir::Value gelu(mlir::Value x, GeluApproximation kind);
  /// `dy` times the derivative of `gelu` at `x`.
  mlir::Value geluGrad(mlir::Value dy, mlir::Value x, GeluApproximation kind);

  //===--------------------------------------------------------------------===//
  // Bits and choices
  //===--------------------------------------------------------------------===//

  mlir::Value bitAnd(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::AndIOp>(x, y);
  }
  mlir::Value bitOr(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::OrIOp>(x, y);
  }
  mlir::Value bitXor(mlir::Value x, mlir::Value y) {
    return create<mlir::arith::XOrIOp>(x, y);
  }
  /// By an unsigned number `n`: from the width on, all bits are 0, or copies of the sign.
  mlir::Value shiftLeft(mlir::Value x, mlir::Value n);
  mlir::Value shiftRightLogical(mlir::Value x, mlir::Value n);
  mlir::Value shiftRightArithmetic(mlir::Value x, mlir::Value n);
  mlir::Value populationCount(mlir::Value x) { return create<mlir::math::CtPopOp>(x); }
  /// The width for 0.
  mlir::Value countLeadingZeros(mlir::Value x) {
    return create<mlir::math::CountLeadingZerosOp>(x);
  }
  /// The bits of `x` in type `to` of the same width.
  mlir::Value bitcast(mlir::Value x, mlir::Type to);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return create<mlir::arith::SelectOp>(condition, x, y);
  }
  /// Floats compare as `mpt.compare` says, integers as signed, i1 as unsigned.
  mlir::Value compare(mlir::Value x, mlir::Value y, ComparePredicate predicate);
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return compare(x, y, ComparePredicate::LT);
  }
  mlir::Value greater(mlir::Value x, mlir::Value y) {
    return compare(x, y, ComparePredicate::GT);
  }
  mlir::Value isFinite(mlir::Value x);
  /// The scale of a block of `format` whose largest magnitude is the f32 `amax`, as
  /// mpt.block_scale says, in f32.
  mlir::Value blockScale(mlir::Value amax, ScaleRule rule, mlir::Type format);
  /// `x` or `y` as an element of the op's result. What has its type already keeps
  /// its bits, payloads of NaN among them.
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y);

  //===--------------------------------------------------------------------===//
  // Parameters stored in 16 bits: operands and results as they are stored
  //===--------------------------------------------------------------------===//

  mlir::Value joinHalves(mlir::Value high, mlir::Value low);
  mlir::Value highHalf(mlir::Value x);
  mlir::Value lowHalf(mlir::Value x);
  mlir::Value roundingError(mlir::Value x);
  mlir::Value addCompensation(mlir::Value param, mlir::Value compensation);
  mlir::Value roundStochastically(mlir::Value x, mlir::Value random);

  //===--------------------------------------------------------------------===//
  // State stored in 8 bits
  //===--------------------------------------------------------------------===//

  /// The i8 of mpt.dynamic_code, to the nearest if `offset` is null, and the f32 of
  /// mpt.dynamic_value.
  mlir::Value dynamicCode(mlir::Value x, mlir::Value offset, bool nonnegative);
  mlir::Value dynamicValue(mlir::Value code, bool nonnegative);

private:
  template <typename Op, typename... Args>
  mlir::Value create(Args... args) {
    return Op::create(builder, loc, args...);
  }
  template <typename FloatOp, typename IntegerOp>
  mlir::Value byType(mlir::Value x, mlir::Value y) {
    return llvm::isa<mlir::FloatType>(x.getType()) ? create<FloatOp>(x, y)
                                                   : create<IntegerOp>(x, y);
  }
  mlir::Value convert(mlir::Value value, mlir::Type type) {
    return convertFloat(builder, loc, value, type);
  }
  /// Whether `n` is a position of a bit of its type; `n` modulo the number of bits.
  mlir::Value isBitPosition(mlir::Value n);
  mlir::Value toBitPosition(mlir::Value n);
  /// The bits of an f32, and the bf16 that is the upper half of such bits.
  mlir::Value bitsOf(mlir::Value x);
  mlir::Value upperHalf(mlir::Value bits);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// The element type of the op's result.
  mlir::Type resultType;
  /// The type of the arithmetic.
  mlir::Type work;
};

} // namespace mpt

#endif // MPT_DIALECT_MPT_IR_SCALARBUILDER_H
