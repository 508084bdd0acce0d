//===- KernelScalar.cpp - Elementwise ops on scalars -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelScalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

Type elementOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Operation *op) : b(builder), loc(op->getLoc()) {
    work = b.getF32Type();
    auto look = [&](Value value) {
      if (elementOf(value).isF64())
        work = b.getF64Type();
    };
    llvm::for_each(op->getOperands(), look);
    llvm::for_each(op->getResults(), look);
  }

  Value build(Operation *op, ValueRange operands);

private:
  Value number(double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(work, value));
  }
  Value integer(Type type, int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  Value exp(Value x) { return math::ExpOp::create(b, loc, x); }
  Value tanh(Value x) { return math::TanhOp::create(b, loc, x); }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value sigmoid(Value x) { return div(number(1.0), add(number(1.0), exp(neg(x)))); }
  Value gelu(Value x, GeluApproximation kind);
  Value geluGrad(Value dy, Value x, GeluApproximation kind);
  Value buildFloat(Operation *op, ArrayRef<Value> x);
  Value buildInteger(Operation *op, ArrayRef<Value> x, Type type);
  Value buildCompare(CompareOp op, Value lhs, Value rhs);
  Value buildCast(Value value, Type from, Type to);
  /// Ops on the bits of f32 numbers; null for any other op.
  Value buildHalves(Operation *op, ValueRange x);

  OpBuilder &b;
  Location loc;
  /// The type of the arithmetic.
  Type work;
};

// tanh(sqrt(2/pi) (x + 0.044715 x^3)), Hendrycks and Gimpel 2016.
constexpr double geluRoot = 0.7978845608028654;
constexpr double geluCubic = 0.044715;
constexpr double rootHalf = 0.7071067811865476;
constexpr double inverseRootTwoPi = 0.3989422804014327;

Value ScalarBuilder::gelu(Value x, GeluApproximation kind) {
  Value inner;
  if (kind == GeluApproximation::Tanh) {
    Value cube = mul(mul(x, x), x);
    inner = tanh(mul(number(geluRoot), add(x, mul(number(geluCubic), cube))));
  } else {
    inner = math::ErfOp::create(b, loc, mul(x, number(rootHalf)));
  }
  return mul(mul(number(0.5), x), add(number(1.0), inner));
}

Value ScalarBuilder::geluGrad(Value dy, Value x, GeluApproximation kind) {
  if (kind == GeluApproximation::Tanh) {
    Value square = mul(x, x);
    Value t = tanh(
        mul(number(geluRoot), mul(x, add(number(1.0), mul(number(geluCubic), square)))));
    Value left = mul(number(0.5), add(number(1.0), t));
    Value slope = mul(number(geluRoot),
                      add(number(1.0), mul(number(3.0 * geluCubic), square)));
    Value right = mul(mul(mul(number(0.5), x), sub(number(1.0), mul(t, t))), slope);
    return mul(dy, add(left, right));
  }
  Value phi = mul(number(0.5),
                  add(number(1.0),
                      math::ErfOp::create(b, loc, mul(x, number(rootHalf)))));
  Value density =
      mul(number(inverseRootTwoPi), exp(mul(number(-0.5), mul(x, x))));
  return mul(dy, add(phi, mul(x, density)));
}

Value ScalarBuilder::buildFloat(Operation *op, ArrayRef<Value> x) {
  auto zero = [&] { return number(0.0); };
  auto one = [&] { return number(1.0); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<NegOp>([&](auto) { return neg(x[0]); })
      .Case<AbsOp>([&](auto) { return math::AbsFOp::create(b, loc, x[0]); })
      .Case<ExpOp>([&](auto) { return exp(x[0]); })
      .Case<LogOp>([&](auto) { return math::LogOp::create(b, loc, x[0]); })
      .Case<SqrtOp>([&](auto) { return math::SqrtOp::create(b, loc, x[0]); })
      .Case<RsqrtOp>(
          [&](auto) { return div(one(), math::SqrtOp::create(b, loc, x[0])); })
      .Case<ReciprocalOp>([&](auto) { return div(one(), x[0]); })
      .Case<TanhOp>([&](auto) { return tanh(x[0]); })
      .Case<SigmoidOp>([&](auto) { return sigmoid(x[0]); })
      .Case<ErfOp>([&](auto) { return math::ErfOp::create(b, loc, x[0]); })
      .Case<SinOp>([&](auto) { return math::SinOp::create(b, loc, x[0]); })
      .Case<CosOp>([&](auto) { return math::CosOp::create(b, loc, x[0]); })
      .Case<ReluOp>(
          [&](auto) { return arith::MaximumFOp::create(b, loc, x[0], zero()); })
      .Case<SiluOp>([&](auto) { return mul(x[0], sigmoid(x[0])); })
      .Case<SignOp>([&](auto) {
        Value negative = select(compare(arith::CmpFPredicate::OLT, x[0], zero()),
                                number(-1.0), x[0]);
        return select(compare(arith::CmpFPredicate::OGT, x[0], zero()), one(), negative);
      })
      .Case<FloorOp>([&](auto) { return math::FloorOp::create(b, loc, x[0]); })
      .Case<GeluOp>([&](GeluOp g) { return gelu(x[0], g.getApproximate()); })
      .Case<IsFiniteOp>([&](auto) {
        return compare(arith::CmpFPredicate::OLT, math::AbsFOp::create(b, loc, x[0]),
                       number(std::numeric_limits<double>::infinity()));
      })
      .Case<ReluGradOp>([&](auto) {
        return select(compare(arith::CmpFPredicate::OGT, x[1], zero()), x[0], zero());
      })
      .Case<TanhGradOp>(
          [&](auto) { return mul(x[0], sub(one(), mul(x[1], x[1]))); })
      .Case<SigmoidGradOp>(
          [&](auto) { return mul(mul(x[0], x[1]), sub(one(), x[1])); })
      .Case<SiluGradOp>([&](auto) {
        Value s = sigmoid(x[1]);
        return mul(mul(x[0], s), add(one(), mul(x[1], sub(one(), s))));
      })
      .Case<GeluGradOp>(
          [&](GeluGradOp g) { return geluGrad(x[0], x[1], g.getApproximate()); })
      .Case<AddOp>([&](auto) { return add(x[0], x[1]); })
      .Case<SubOp>([&](auto) { return sub(x[0], x[1]); })
      .Case<MulOp>([&](auto) { return mul(x[0], x[1]); })
      .Case<DivOp>([&](auto) { return div(x[0], x[1]); })
      .Case<MaximumOp>(
          [&](auto) { return arith::MaximumFOp::create(b, loc, x[0], x[1]); })
      .Case<MinimumOp>(
          [&](auto) { return arith::MinimumFOp::create(b, loc, x[0], x[1]); })
      .Case<PowOp>([&](auto) { return math::PowFOp::create(b, loc, x[0], x[1]); })
      .Default([](auto) { return Value(); });
}

Value ScalarBuilder::buildInteger(Operation *op, ArrayRef<Value> x, Type type) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return arith::AddIOp::create(b, loc, x[0], x[1]); })
      .Case<SubOp>([&](auto) { return arith::SubIOp::create(b, loc, x[0], x[1]); })
      .Case<MulOp>([&](auto) { return arith::MulIOp::create(b, loc, x[0], x[1]); })
      .Case<DivOp>([&](auto) -> Value {
        // By zero: 0. The lowest number over -1 would trap: it wraps.
        Value zero = integer(type, 0), one = integer(type, 1);
        Value byZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                             x[1], zero);
        Value byMinusOne = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::eq, x[1], integer(type, -1));
        Value divisor = select(arith::OrIOp::create(b, loc, byZero, byMinusOne),
                               one, x[1]);
        Value quotient = arith::DivSIOp::create(b, loc, x[0], divisor);
        Value negated = arith::SubIOp::create(b, loc, zero, x[0]);
        return select(byZero, zero, select(byMinusOne, negated, quotient));
      })
      .Case<MaximumOp>(
          [&](auto) { return arith::MaxSIOp::create(b, loc, x[0], x[1]); })
      .Case<MinimumOp>(
          [&](auto) { return arith::MinSIOp::create(b, loc, x[0], x[1]); })
      .Case<AndOp>([&](auto) { return arith::AndIOp::create(b, loc, x[0], x[1]); })
      .Case<OrOp>([&](auto) { return arith::OrIOp::create(b, loc, x[0], x[1]); })
      .Case<NotOp>([&](auto) {
        return arith::XOrIOp::create(b, loc, x[0], integer(type, 1));
      })
      .Default([](auto) { return Value(); });
}

Value ScalarBuilder::buildCompare(CompareOp op, Value lhs, Value rhs) {
  bool isFloat = isa<FloatType>(lhs.getType());
  bool isBool = lhs.getType().isInteger(1);
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  I integers[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  I bools[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto index = static_cast<uint32_t>(op.getPredicate());
  if (isFloat)
    return compare(floats[index], lhs, rhs);
  return arith::CmpIOp::create(b, loc, isBool ? bools[index] : integers[index],
                               lhs, rhs);
}

Value ScalarBuilder::buildCast(Value value, Type from, Type to) {
  if (from == to)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return convertFloat(b, loc, value, to);
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(to)) {
    // Through f64 (f32 for bits), which holds every narrower integer.
    Type middle = fromWidth == 1 || to.isF32() ? Type(b.getF32Type())
                                               : Type(b.getF64Type());
    if (fromWidth == 1) {
      value = arith::UIToFPOp::create(b, loc, middle, value);
      return convertFloat(b, loc, value, to);
    }
    value = arith::SIToFPOp::create(b, loc, middle, value);
    return convertFloat(b, loc, value, to);
  }
  if (isa<FloatType>(from)) {
    if (toWidth == 1) {
      Value wide = convertFloat(b, loc, value, work);
      return compare(arith::CmpFPredicate::UNE, wide, number(0.0));
    }
    // Saturating; NaN gives 0. The bounds are exact in f64.
    work = b.getF64Type();
    Value wide = convertFloat(b, loc, value, work);
    double low = -std::ldexp(1.0, toWidth - 1);
    double high = toWidth == 64 ? 9223372036854774784.0 : -low - 1.0;
    Value clamped = arith::MinimumFOp::create(
        b, loc, arith::MaximumFOp::create(b, loc, wide, number(low)), number(high));
    Value isNumber = compare(arith::CmpFPredicate::ORD, wide, wide);
    Value result = arith::FPToSIOp::create(b, loc, to,
                                           select(isNumber, clamped, number(0.0)));
    if (toWidth < 64)
      return result;
    // The largest i64 is no f64.
    Value isOver = compare(arith::CmpFPredicate::OGE, wide, number(0x1p63));
    return select(isOver, integer(to, std::numeric_limits<int64_t>::max()), result);
  }
  if (toWidth < fromWidth)
    return toWidth == 1 ? arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                                value, integer(from, 0))
                              .getResult()
                        : arith::TruncIOp::create(b, loc, to, value).getResult();
  if (fromWidth == 1)
    return arith::ExtUIOp::create(b, loc, to, value);
  return arith::ExtSIOp::create(b, loc, to, value);
}

Value ScalarBuilder::buildHalves(Operation *op, ValueRange x) {
  Type i32 = b.getI32Type(), i16 = b.getI16Type(), f32 = b.getF32Type(),
       bf16 = b.getBF16Type();
  auto bitsOf = [&](Value value) -> Value {
    return arith::BitcastOp::create(b, loc, i32, value);
  };
  auto plus = [&](Value value, Value addend) -> Value {
    return arith::AddIOp::create(b, loc, value, addend);
  };
  auto upperHalf = [&](Value bits) -> Value {
    Value shifted = arith::ShRUIOp::create(b, loc, bits, integer(i32, 16));
    Value half = arith::TruncIOp::create(b, loc, i16, shifted);
    return arith::BitcastOp::create(b, loc, bf16, half);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<JoinHalvesOp>([&](auto) -> Value {
        // A bf16 widened to f32 is its bits times 2^16, but for signaling NaNs.
        Value high = arith::ExtUIOp::create(
            b, loc, i32, arith::BitcastOp::create(b, loc, i16, x[0]));
        Value upper = arith::ShLIOp::create(b, loc, high, integer(i32, 16));
        Value low = arith::ExtSIOp::create(b, loc, i32, x[1]);
        return arith::BitcastOp::create(b, loc, f32, plus(upper, low));
      })
      .Case<HighHalfOp>([&](auto) {
        return upperHalf(plus(bitsOf(x[0]), integer(i32, 0x8000)));
      })
      .Case<LowHalfOp>([&](auto) -> Value {
        return arith::TruncIOp::create(b, loc, i16, bitsOf(x[0]));
      })
      .Case<RoundingErrorOp>([&](auto) {
        Value rounded = convertFloat(b, loc, convertFloat(b, loc, x[0], bf16), f32);
        return convertFloat(b, loc, sub(x[0], rounded), bf16);
      })
      .Case<AddCompensationOp>([&](auto) {
        return add(convertFloat(b, loc, x[0], f32), convertFloat(b, loc, x[1], f32));
      })
      .Case<StochasticRoundOp>([&](auto) {
        Value isNumber = compare(
            arith::CmpFPredicate::OLT, math::AbsFOp::create(b, loc, x[0]),
            number(std::numeric_limits<double>::infinity()));
        Value random = arith::ExtUIOp::create(b, loc, i32, x[1]);
        return select(isNumber, upperHalf(plus(bitsOf(x[0]), random)),
                      convertFloat(b, loc, x[0], bf16));
      })
      .Case<AccumulateOp>([&](AccumulateOp accumulate) {
        Type type = elementOf(accumulate.getResult());
        Value sum = add(convertFloat(b, loc, x[0], work), convertFloat(b, loc, x[1], work));
        if (accumulate.getDivisor() > 1)
          sum = div(sum, number(static_cast<double>(accumulate.getDivisor())));
        return convertFloat(b, loc, sum, type);
      })
      .Default([](auto) { return Value(); });
}

Value ScalarBuilder::build(Operation *op, ValueRange operands) {
  Type type = elementOf(op->getResult(0));
  if (Value halves = buildHalves(op, operands))
    return halves;
  if (auto cast = dyn_cast<CastOp>(op))
    return buildCast(operands[0], elementOf(cast.getX()), type);
  if (isa<BroadcastOp, TransposeOp, SliceOp>(op))
    return isa<FloatType>(type) ? convertFloat(b, loc, operands[0], type)
                                : operands[0];
  SmallVector<Value> x;
  bool anyFloat = false;
  for (Value operand : operands) {
    bool isFloat = isa<FloatType>(operand.getType());
    anyFloat |= isFloat;
    x.push_back(isFloat ? convertFloat(b, loc, operand, work) : operand);
  }
  if (auto compareOp = dyn_cast<CompareOp>(op))
    return buildCompare(compareOp, x[0], x[1]);
  if (isa<WhereOp>(op)) {
    // Where nothing is computed nothing is widened, so payloads stay.
    if (operands[1].getType() == type && operands[2].getType() == type)
      return select(operands[0], operands[1], operands[2]);
    Value chosen = select(x[0], x[1], x[2]);
    return isa<FloatType>(type) ? convertFloat(b, loc, chosen, type) : chosen;
  }
  Value result = anyFloat ? buildFloat(op, x) : buildInteger(op, x, type);
  if (result && isa<FloatType>(type))
    result = convertFloat(b, loc, result, type);
  return result;
}

} // namespace

Value mpt::detail::convertFloat(OpBuilder &builder, Location loc, Value value,
                                Type type) {
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

Value mpt::detail::buildScalarOp(OpBuilder &builder, Operation *op,
                                 ValueRange operands) {
  return ScalarBuilder(builder, op).build(op, operands);
}
