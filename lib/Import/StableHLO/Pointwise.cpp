//===- Pointwise.cpp - Elementwise ops of StableHLO and CHLO ---- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mpt/Dialect/MPT/Transforms/Patterns.h"
#include "mpt/Import/Common/SpecialFunctions.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::stablehlo;

using Lower = std::function<void(Lowering &)>;

/// The result of an elementwise op, which may lack leading dimensions or be narrower
/// because its operands do.
static void setElementwise(Lowering &l, Value value) {
  if (l.refusal.empty())
    l.set(l.broadcast(value, l.resultShape()));
}

/// Operands as the op of mpt takes them: broadcasts are left to it where another operand
/// has the result's shape.
static SmallVector<Value> getOperands(Lowering &l) {
  SmallVector<Value> wide = l.getAll(), narrow;
  for (unsigned index : llvm::seq(0u, l.size()))
    narrow.push_back(l.getNarrow(index));
  bool full = llvm::any_of(
      narrow, [&](Value value) { return getShape(value) == l.resultShape(); });
  return full ? narrow : wide;
}

static Lower map(Value (*function)(Lowering &, Value)) {
  return [=](Lowering &l) { setElementwise(l, function(l, l.get(0))); };
}
static Lower map(Value (*function)(importer::ImportBuilder &, Value)) {
  return [=](Lowering &l) {
    Value x = l.get(0);
    if (l.require(isa<FloatType>(getElement(x)), "elements that are not floats"))
      setElementwise(l, function(l, x));
  };
}
static Lower combine(Value (*function)(Lowering &, Value, Value)) {
  return [=](Lowering &l) {
    if (l.size() != 2)
      return l.refuse("expected 2 operands");
    SmallVector<Value> operands = getOperands(l);
    setElementwise(l, function(l, operands[0], operands[1]));
  };
}
template <typename Op>
static Value apply(Lowering &l, Value x) {
  if (!l.require(isa<FloatType>(getElement(x)), "elements that are not floats"))
    return x;
  return l.unary<Op>(x);
}

static bool isTruth(Value x) { return getElement(x).isInteger(1); }
static bool isFloat(Value x) { return isa<FloatType>(getElement(x)); }
static Value select(Lowering &l, Value condition, Value a, Value b) {
  if (!isTruth(a))
    return l.where(condition, a, b);
  return l.binary<OrOp>(l.binary<AndOp>(condition, a),
                        l.binary<AndOp>(l.logicalNot(condition), b));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Value addition(Lowering &l, Value a, Value b) { return l.combine("add", a, b); }
static Value product(Lowering &l, Value a, Value b) {
  return l.combine("multiply", a, b);
}
static Value difference(Lowering &l, Value a, Value b) {
  if (!l.require(!isTruth(a), "a difference of truth values"))
    return a;
  return l.sub(a, b);
}

/// `op` is in the body of `jax.nn.relu` or `relu6`: of a function that JAX calls so, or
/// inlined from one, which its location tells.
static bool isInRelu(Operation *op) {
  if (op->hasAttr(kReluAttr))
    return true;
  bool found = false;
  op->getLoc()->walk([&](Location loc) {
    auto name = dyn_cast<NameLoc>(loc);
    if (!name || !name.getName().getValue().contains("jit("))
      return WalkResult::advance();
    StringRef path = name.getName().getValue(); // jit(loss)/jvp(jit(relu))/max
    path.consume_back("/max");
    StringRef last = path.rsplit('/').second;
    found = last.contains("jit(relu)") || last.contains("jit(relu6)");
    return WalkResult::interrupt();
  });
  return found;
}

static bool isZero(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isOp(op, "constant")) {
      auto elements = dyn_cast_or_null<DenseFPElementsAttr>(getAttribute(op, "value"));
      return elements && elements.isSplat() && elements.getSplatValue<APFloat>().isZero();
    }
    if (!isOp(op, "broadcast_in_dim") && !isOp(op, "reshape"))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// `x` without a sign, a difference from 0 and converts.
static Value getUnsignedPart(Value x) {
  while (Operation *op = x.getDefiningOp()) {
    bool isSame = isOp(op, "negate") || isOp(op, "convert");
    if (!isSame && !(isOp(op, "subtract") && isZero(op->getOperand(1))))
      break;
    x = op->getOperand(0);
  }
  return x;
}

/// Is a logarithm that is computed from |x| among the terms of `value`?
static bool hasLogOfAbs(Value value, Value x) {
  constexpr unsigned maxOps = 64;
  SmallVector<std::pair<Value, bool>> left{{value, /*inLog=*/false}};
  for (unsigned i = 0; i < maxOps && !left.empty(); ++i) {
    auto [next, inLog] = left.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op)
      continue;
    bool isLog = isOp(op, "log_plus_one") || isOp(op, "log");
    if (inLog && isOp(op, "abs") && getUnsignedPart(op->getOperand(0)) == x)
      return true;
    if (isLog || isOp(op, "add") || isOp(op, "subtract") || isOp(op, "negate") ||
        isOp(op, "convert") || isOp(op, "select") || (inLog && isOp(op, "exponential")))
      for (Value operand : op->getOperands())
        left.push_back({operand, inLog || isLog});
  }
  return false;
}

/// max(x, 0) + log(1 + exp(-|x|)), also with other terms between: the function is smooth
/// if the gradient of the maximum at 0 is 1/2.
static bool isInSoftplus(Operation *max, Value x) {
  constexpr unsigned maxOps = 64;
  x = getUnsignedPart(x);
  SmallVector<Value> left{max->getResult(0)};
  for (unsigned i = 0; i < maxOps && !left.empty(); ++i) {
    Value value = left.pop_back_val();
    for (Operation *user : value.getUsers()) {
      bool isSum = isOp(user, "add") || isOp(user, "subtract");
      if (isSum && llvm::any_of(user->getOperands(), [&](Value operand) {
            return operand != value && hasLogOfAbs(operand, x);
          }))
        return true;
      if (isSum || isOp(user, "negate") || isOp(user, "convert") || isOp(user, "select"))
        left.push_back(user->getResult(0));
    }
  }
  return false;
}

/// A maximum with 0 is relu, whose gradient at 0 is 0, where JAX's relu made it, and in
/// modules that are not JAX's, where any relu did. Others halve the gradient of a tie, as
/// `jax.numpy.maximum` does.
static bool isRelu(Lowering &l, Value x) {
  return isInRelu(l.op) || (!l.graph.isJAX && !isInSoftplus(l.op, x));
}

static Value larger(Lowering &l, Value a, Value b) {
  if (isFloat(a) && (l.getConstant(0) == 0.0 || l.getConstant(1) == 0.0)) {
    unsigned index = l.getConstant(0) == 0.0 ? 1 : 0;
    Value x = index ? b : a;
    if (getShape(x) == l.resultShape() && isRelu(l, l.op->getOperand(index)))
      return l.unary<ReluOp>(x);
  }
  if (l.isUnsigned(0))
    return select(l, l.compareUnsigned(ComparePredicate::GT, a, b), a, b);
  return l.combine("maximum", a, b);
}
static Value smaller(Lowering &l, Value a, Value b) {
  if (l.isUnsigned(0))
    return select(l, l.compareUnsigned(ComparePredicate::LT, a, b), a, b);
  return l.combine("minimum", a, b);
}

/// The quotient of i64 as unsigned numbers: twice that of half of `a` is right or 1 too
/// small. A divisor from 2^63 on goes at most once. By zero it is 0.
static Value divideWide(Lowering &l, Value a, Value b) {
  Value twice = l.shiftLeft(l.div(l.shiftRight(a, 1), b), 1);
  Value rest = l.sub(a, l.mul(twice, b));
  Value more = l.cast(l.compareUnsigned(ComparePredicate::GE, rest, b), getElement(a));
  Value once = l.cast(l.compareUnsigned(ComparePredicate::GE, a, b), getElement(a));
  Value quotient =
      l.where(l.compare(ComparePredicate::LT, b, 0.0), once, l.add(twice, more));
  return l.where(l.compare(ComparePredicate::EQ, b, 0.0), l.number(a, 0), quotient);
}

static Value divideUnsigned(Lowering &l, Value a, Value b) {
  Type element = getElement(a);
  if (element.isInteger(64))
    return divideWide(l, a, b);
  return l.cast(l.div(l.zeroExtend(a), l.zeroExtend(b)), element);
}

static Value quotient(Lowering &l, Value a, Value b) {
  if (!l.require(!isTruth(a), "a quotient of truth values"))
    return a;
  return l.isUnsigned(0) ? divideUnsigned(l, a, b) : l.div(a, b);
}

static Value truncate(Lowering &l, Value x) {
  Value down = l.unary<FloorOp>(l.abs(x));
  return l.where(l.compare(ComparePredicate::LT, x, 0.0), l.neg(down), down);
}

static Value remainder(Lowering &l, Value a, Value b) {
  if (!l.require(!isTruth(a), "a remainder of truth values"))
    return a;
  if (isFloat(a))
    return l.sub(a, l.mul(truncate(l, l.div(a, b)), b));
  return l.sub(a, l.mul(quotient(l, a, b), b));
}

/// By squares, one for each bit of the exponent. A negative exponent leaves 1 and -1 as
/// they are; of other integers 0 is left, as in XLA.
static Value integerPower(Lowering &l, Value a, Value b) {
  if (!l.require(!isTruth(a), "a power of truth values"))
    return a;
  Value result = l.number(a, 1), square = a;
  unsigned bits = getElement(a).getIntOrFloatBitWidth();
  std::optional<double> exponent = l.getConstant(1);
  if (exponent && *exponent >= 0)
    bits = std::min<unsigned>(bits, llvm::bit_width(static_cast<uint64_t>(*exponent)));
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value taken = l.compare(ComparePredicate::NE, l.bitAnd(b, int64_t(1) << bit), 0.0);
    result = l.where(taken, l.mul(result, square), result);
    if (bit + 1 < bits)
      square = l.square(square);
  }
  if (l.isUnsigned(0) || (exponent && *exponent >= 0))
    return result;
  Value negative = l.compare(ComparePredicate::LT, b, 0.0);
  Value odd = l.compare(ComparePredicate::NE, l.bitAnd(b, 1), 0.0);
  Value one = l.number(a, 1), none = l.number(a, 0);
  Value inverse = l.where(l.compare(ComparePredicate::EQ, a, -1.0),
                          l.where(odd, l.number(a, -1), one), none);
  inverse = l.where(l.compare(ComparePredicate::EQ, a, 1.0), one, inverse);
  return l.where(negative, inverse, result);
}

static Value power(Lowering &l, Value a, Value b) {
  if (!isFloat(a))
    return integerPower(l, a, b);
  std::optional<double> exponent = l.getConstant(1);
  if (exponent == 1.0)
    return a;
  if (exponent == 2.0)
    return l.square(a);
  if (exponent == 3.0)
    return l.mul(l.square(a), a);
  if (exponent == 0.5)
    return l.unary<SqrtOp>(a);
  if (exponent == -0.5)
    return l.unary<RsqrtOp>(a);
  if (exponent == -1.0)
    return l.unary<ReciprocalOp>(a);
  return l.binary<PowOp>(a, b);
}

static Value negate(Lowering &l, Value x) {
  if (!l.require(!isTruth(x), "a negative truth value"))
    return x;
  return l.neg(x);
}
static Value absolute(Lowering &l, Value x) {
  return l.isUnsigned(0) || isTruth(x) ? x : l.abs(x);
}
static Value sign(Lowering &l, Value x) {
  if (isFloat(x))
    return l.unary<SignOp>(x);
  if (!l.require(!isTruth(x), "the sign of truth values"))
    return x;
  Value one = l.number(x, 1), zero = l.number(x, 0);
  if (l.isUnsigned(0))
    return l.where(l.compare(ComparePredicate::NE, x, zero), one, zero);
  Value positive = l.compare(ComparePredicate::GT, x, zero);
  Value negative = l.compare(ComparePredicate::LT, x, zero);
  return l.where(positive, one, l.where(negative, l.number(x, -1), zero));
}

//===----------------------------------------------------------------------===//
// Functions of floats
//===----------------------------------------------------------------------===//

static Value ceil(Lowering &l, Value x) { return l.neg(l.unary<FloorOp>(l.neg(x))); }

/// To the nearest integer; halves go to the even one, or away from zero.
static Value round(Lowering &l, Value x, bool toEven) {
  Value down = l.unary<FloorOp>(l.abs(x));
  Value rest = l.sub(l.abs(x), down);
  Value up = l.compare(ComparePredicate::GT, rest, 0.5);
  Value half = l.compare(ComparePredicate::EQ, rest, 0.5);
  if (toEven) {
    Value pairs = l.mul(l.unary<FloorOp>(l.mul(down, 0.5)), 2.0);
    half = l.binary<AndOp>(half, l.compare(ComparePredicate::NE, pairs, down));
  }
  Value size = l.add(down, l.cast(l.binary<OrOp>(up, half), getElement(x)));
  return l.where(l.compare(ComparePredicate::LT, x, 0.0), l.neg(size), size);
}
static Value roundEven(Lowering &l, Value x) { return round(l, x, true); }
static Value roundAway(Lowering &l, Value x) { return round(l, x, false); }

static Value cubeRoot(Lowering &l, Value x) {
  return l.mul(l.unary<SignOp>(x), l.binary<PowOp>(l.abs(x), l.number(x, 1.0 / 3.0)));
}
static Value tangent(Lowering &l, Value x) {
  return l.div(l.unary<SinOp>(x), l.unary<CosOp>(x));
}

/// erfc x = 1 - erf x; for x above 0.5 by the continued fraction's fit of Numerical
/// Recipes (erfccheb's shorter form, relative error 1.2e-7), so that small values keep
/// their digits. `--mpt-raise-activations` knows this form.
static Value erfc(Lowering &l, Value x) {
  Value size = l.abs(x);
  Value t = l.unary<ReciprocalOp>(l.add(l.mul(size, 0.5), 1.0));
  Value sum = l.number(x, erfcCoefficients[0]);
  for (double next : ArrayRef(erfcCoefficients).drop_front())
    sum = l.add(l.mul(sum, t), next);
  Value tail = l.mul(t, l.unary<ExpOp>(l.sub(sum, l.square(size))));
  Value one = l.number(x, 1);
  Value near = l.sub(one, l.unary<ErfOp>(x));
  // The other branch's gradient must not see what overflows here.
  return l.where(l.compare(ComparePredicate::GT, x, 0.5), tail, near);
}

/// Giles, Approximating the erfinv function (2010), single precision, as XLA.
static Value erfInv(Lowering &l, Value x) {
  Value w = l.neg(l.unary<LogOp>(l.mul(l.sub(l.number(x, 1), x), l.add(x, 1.0))));
  auto polynomial = [&](Value v, ArrayRef<double> coefficients) {
    Value sum = l.number(x, coefficients[0]);
    for (double next : coefficients.drop_front())
      sum = l.add(l.mul(sum, v), next);
    return sum;
  };
  Value small = l.compare(ComparePredicate::LT, w, 5.0);
  Value near = polynomial(l.add(w, -2.5), {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                                           -4.39150654e-06, 0.00021858087, -0.00125372503,
                                           -0.00417768164, 0.246640727, 1.50140941});
  Value far =
      polynomial(l.add(l.unary<SqrtOp>(l.where(small, l.number(x, 5), w)), -3.0),
                 {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                  0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  Value y = l.mul(l.where(small, near, far), x);
  // At -1 and 1 it is infinite. A constant there: a product with infinity would make the
  // gradients of all other elements NaN.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value edge = l.compare(ComparePredicate::EQ, l.abs(x), 1.0);
  Value limit = l.where(l.compare(ComparePredicate::LT, x, 0.0), l.number(x, -infinity),
                        l.number(x, infinity));
  return l.where(edge, limit, y);
}

/// The next float after `x` toward `y`: the next integer, as bits, away from or toward 0.
static Value nextAfter(Lowering &l, Value x, Value y) {
  unsigned width = getElement(x).getIntOrFloatBitWidth();
  if (!l.require(isFloat(x) && width > 8, "the next of numbers of 8 bits"))
    return x;
  Type integer = l.builder.getIntegerType(width), element = getElement(x);
  Value bits = l.bitcast(x, integer), one = l.number(bits, 1);
  Value zero = l.compare(ComparePredicate::EQ, x, 0.0);
  Value up = l.compare(ComparePredicate::LT, x, y);
  Value toward = l.binary<XorOp>(up, l.compare(ComparePredicate::GT, x, 0.0));
  Value moved = l.where(toward, l.sub(bits, one), l.add(bits, one));
  // From 0: the smallest number of the sign of y.
  Value sign = l.shiftLeft(one, width - 1);
  Value first = l.where(up, one, l.binary<OrOp>(sign, one));
  Value next = l.bitcast(l.where(zero, first, moved), element);
  next = l.where(l.compare(ComparePredicate::EQ, x, y), y, next);
  auto isNaN = [&](Value a) { return l.compare(ComparePredicate::NE, a, a); };
  return l.where(l.binary<OrOp>(isNaN(x), isNaN(y)), l.add(x, y), next);
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static Value conjunction(Lowering &l, Value a, Value b) { return l.combine("and", a, b); }
static Value disjunction(Lowering &l, Value a, Value b) { return l.combine("or", a, b); }
static Value exclusiveOr(Lowering &l, Value a, Value b) { return l.combine("xor", a, b); }

static bool requireBits(Lowering &l, Value x) {
  return l.require(isa<IntegerType>(getElement(x)) && !isTruth(x),
                   "elements that are not integers of at least 8 bits");
}
static Value complement(Lowering &l, Value x) {
  if (!l.require(isa<IntegerType>(getElement(x)), "the bits of floats"))
    return x;
  return l.unary<NotOp>(x);
}
template <typename Op>
static Value shift(Lowering &l, Value x, Value n) {
  return requireBits(l, x) ? l.binary<Op>(x, n) : x;
}
template <typename Op>
static Value countBits(Lowering &l, Value x) {
  return requireBits(l, x) ? l.unary<Op>(x) : x;
}

/// Bits as another type. Elements of a narrower type are the last dimension of the
/// result, or of the operand; the lowest bits are the first.
static void bitcastConvert(Lowering &l) {
  Value x = l.get(0);
  RankedTensorType type = l.resultType();
  unsigned from = getElement(x).getIntOrFloatBitWidth(),
           to = type.getElementType().getIntOrFloatBitWidth();
  if (from == to && getElement(x) == type.getElementType())
    return l.set(x);
  auto isNarrowFloat = [](Type element) {
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  };
  if (!l.require(from > 1 && to > 1, "the bits of truth values") ||
      !l.require(!isNarrowFloat(getElement(x)) && !isNarrowFloat(type.getElementType()),
                 "the bits of floats of 8 bits"))
    return;
  x = l.bitcast(x, l.builder.getIntegerType(from));
  Type whole = l.builder.getIntegerType(to);
  if (from > to) {
    Shape column(getShape(x));
    column.push_back(1);
    SmallVector<Value> parts;
    for (unsigned bit = 0; bit < from; bit += to)
      parts.push_back(l.reshape(l.cast(l.shiftRight(x, bit), whole), column));
    x = l.concat(parts, column.size() - 1);
  } else if (from < to) {
    int64_t last = getRank(x) - 1, count = to / from;
    if (!l.require(last >= 0 && getShape(x)[last] == count,
                   "a last dimension that does not make up one element"))
      return;
    Shape shape(getShape(x).drop_back());
    Value sum;
    for (int64_t i : llvm::seq(count)) {
      Value part = l.zeroExtend(l.reshape(l.slice(x, last, i, 1), shape), whole);
      part = l.shiftLeft(part, i * from);
      sum = sum ? l.binary<OrOp>(sum, part) : part;
    }
    x = sum;
  }
  l.set(l.bitcast(x, type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Choice, types
//===----------------------------------------------------------------------===//

static void comparison(Lowering &l) {
  if (l.size() != 2)
    return l.refuse("expected 2 operands");
  auto word = [&](StringRef name) {
    return getText(l.attribute(name)).rsplit(' ').second;
  };
  StringRef direction = word("comparison_direction");
  std::optional<ComparePredicate> predicate =
      llvm::StringSwitch<std::optional<ComparePredicate>>(direction)
          .Case("EQ", ComparePredicate::EQ)
          .Case("NE", ComparePredicate::NE)
          .Case("LT", ComparePredicate::LT)
          .Case("LE", ComparePredicate::LE)
          .Case("GT", ComparePredicate::GT)
          .Case("GE", ComparePredicate::GE)
          .Default(std::nullopt);
  if (!predicate)
    return l.refuse("attribute comparison_direction: expected EQ, NE, LT, LE, GT or GE");
  SmallVector<Value> operands = getOperands(l);
  // -NaN < -infinity < -0 < 0 < infinity < NaN: bits, whose order is the other way below
  // 0.
  if (word("compare_type") == "TOTALORDER" && isFloat(operands[0]))
    for (Value &operand : operands) {
      unsigned width = getElement(operand).getIntOrFloatBitWidth();
      if (!l.require(width > 8, "the total order of floats of 8 bits"))
        return;
      Value bits = l.bitcast(operand, l.builder.getIntegerType(width));
      Value flipped = l.binary<XorOp>(
          bits,
          l.constants({static_cast<int64_t>(llvm::maskTrailingOnes<uint64_t>(width - 1))},
                      getElement(bits), {}));
      operand = l.where(l.compare(ComparePredicate::LT, bits, 0.0), flipped, bits);
    }
  if (l.isUnsigned(0) && *predicate != ComparePredicate::EQ &&
      *predicate != ComparePredicate::NE)
    for (Value &operand : operands)
      operand = l.flipSign(operand);
  setElementwise(l, l.compare(*predicate, operands[0], operands[1]));
}

static void choice(Lowering &l) {
  if (l.size() != 3)
    return l.refuse("expected 3 operands");
  SmallVector<Value> operands = getOperands(l);
  setElementwise(l, select(l, operands[0], operands[1], operands[2]));
}

/// Operands: lower bound, x, upper bound.
static void clamp(Lowering &l) {
  if (l.size() != 3)
    return l.refuse("expected 3 operands");
  auto toOrder = [&](Value x) { return l.isUnsigned(1) ? l.flipSign(x) : x; };
  Value low = l.combine("maximum", toOrder(l.get(1)), toOrder(l.getNarrow(0)));
  setElementwise(l, toOrder(l.combine("minimum", low, toOrder(l.getNarrow(2)))));
}

static void convert(Lowering &l) {
  Value x = l.get(0);
  Type element = l.resultElement();
  if (!l.refusal.empty())
    return;
  unsigned from = getElement(x).getIntOrFloatBitWidth();
  if (l.isUnsigned(0) && from > 1 && element != getElement(x) &&
      (isa<FloatType>(element) || element.getIntOrFloatBitWidth() > from)) {
    if (from < 64) {
      x = l.zeroExtend(x);
    } else {
      // Half of a number from 2^63 on, whose lowest bit stands for both that it has.
      Value half = l.binary<OrOp>(l.shiftRight(x, 1), l.bitAnd(x, 1));
      Value negative = l.compare(ComparePredicate::LT, x, 0.0);
      return l.set(
          l.where(negative, l.mul(l.cast(half, element), 2.0), l.cast(x, element)));
    }
  }
  auto type = dyn_cast<RankedTensorType>(l.op->getResult(0).getType());
  bool toUnsigned = type && type.getElementType().isUnsignedInteger();
  if (toUnsigned && isFloat(x)) {
    Type i64 = l.builder.getI64Type();
    Value number = l.cast(x, i64);
    // As XLA does, what is out of range becomes the nearest number that is not.
    unsigned width = element.getIntOrFloatBitWidth();
    if (width < 64) {
      number = l.clampIndex(number, (int64_t(1) << width) - 1);
    } else {
      number = l.binary<MaximumOp>(number, l.number(number, 0));
      // f16 has no 2^63.
      Value wide =
          isa<Float64Type>(getElement(x)) ? x : l.cast(x, l.builder.getF32Type());
      Value above = l.cast(l.add(wide, -0x1p63), i64);
      number = l.where(l.compare(ComparePredicate::GE, wide, 0x1p63), l.flipSign(above),
                       number);
    }
    x = number;
  }
  l.set(l.cast(x, element));
}

/// Rounds to numbers of another format, as XLA does: to the nearest, halves to even; what
/// is too large is infinite, and what is below the smallest normal number is 0. The
/// gradient is that of `x`.
static void reducePrecision(Lowering &l) {
  Value x = l.get(0);
  auto type = dyn_cast<FloatType>(getElement(x));
  int64_t exponent = l.integer("exponent_bits", 0),
          mantissa = l.integer("mantissa_bits", -1);
  if (!l.require(type && type.getWidth() > 8, "elements that are not floats of at least "
                                              "16 bits") ||
      !l.require(exponent >= 1 && mantissa >= 0,
                 "expected at least 1 bit of the exponent and 0 of the mantissa"))
    return;
  // bf16 has the exponents of f32.
  if (type.isF32() && exponent == 8 && mantissa == 7)
    return l.set(l.cast(l.cast(x, l.builder.getBF16Type()), type));
  unsigned width = type.getWidth(), digits = type.getFPMantissaWidth() - 1;
  unsigned exponents = width - 1 - digits;
  if (exponent >= exponents && mantissa >= digits)
    return l.set(x);
  Type integer = l.builder.getIntegerType(width);
  auto number = [&](uint64_t value) {
    return l.constants({static_cast<int64_t>(value)}, integer, {});
  };
  Value whole = l.unary<StopGradientOp>(x);
  Value bits = l.bitcast(whole, integer);
  const uint64_t signMask = uint64_t(1) << (width - 1);
  Value sign = l.binary<AndOp>(bits, number(signMask));
  Value size = l.binary<AndOp>(bits, number(signMask - 1));
  if (mantissa < digits) {
    unsigned cut = digits - mantissa;
    Value last = l.bitAnd(l.shiftRight(size, cut), 1);
    size = l.add(size, l.add(last, number((uint64_t(1) << (cut - 1)) - 1)));
    size = l.binary<AndOp>(size, number(~((uint64_t(1) << cut) - 1)));
  }
  if (exponent < exponents) {
    const uint64_t bias = (uint64_t(1) << (exponents - 1)) - 1,
                   reach = (uint64_t(1) << (exponent - 1)) - 1;
    const uint64_t infinite = llvm::maskTrailingOnes<uint64_t>(exponents) << digits;
    // Biased exponents above bias + reach are too large, up to bias - reach too small.
    Value large =
        l.compare(ComparePredicate::GE, size, number((bias + reach + 1) << digits));
    Value small =
        l.compare(ComparePredicate::LT, size, number((bias - reach + 1) << digits));
    size = l.where(large, number(infinite), l.where(small, number(0), size));
  }
  Value rounded = l.bitcast(l.binary<OrOp>(sign, size), type);
  // Infinite and equal numbers have no difference; NaN stays what it is.
  Value same = l.compare(ComparePredicate::EQ, rounded, whole);
  Value isNaN = l.compare(ComparePredicate::NE, whole, whole);
  Value keeps = l.binary<OrOp>(same, isNaN);
  l.set(l.add(x, l.where(keeps, l.number(x, 0), l.sub(rounded, whole))));
}

/// A function of scalars for each element.
static void mapBody(Lowering &l) {
  if (!l.require(l.op->getNumRegions() == 1 && l.op->getRegion(0).hasOneBlock() &&
                     l.op->getNumResults() == 1 && l.size() >= 1 &&
                     l.op->getRegion(0).getNumArguments() == l.size(),
                 "expected a body of one argument for each operand"))
    return;
  SmallVector<Value> results = l.applyBody(l.op->getRegion(0).front(), l.getAll());
  if (l.require(results.size() == 1, "a body with other than elementwise ops"))
    l.set(results[0]);
}

void mpt::stablehlo::populatePointwise(Table &t) {
  t.add({"stablehlo.add"}, combine(addition));
  t.add({"stablehlo.subtract"}, combine(difference));
  t.add({"stablehlo.multiply"}, combine(product));
  t.add({"stablehlo.divide"}, combine(quotient));
  t.add({"stablehlo.remainder"}, combine(remainder));
  t.add({"stablehlo.maximum"}, combine(larger));
  t.add({"stablehlo.minimum"}, combine(smaller));
  t.add({"stablehlo.power"}, combine(power));
  t.add({"stablehlo.negate"}, map(negate));
  t.add({"stablehlo.abs"}, map(absolute));
  t.add({"stablehlo.sign"}, map(sign));

  t.add({"stablehlo.exponential"}, map(apply<ExpOp>));
  t.add({"stablehlo.exponential_minus_one"},
        map([](Lowering &l, Value x) { return l.expm1(x); }));
  t.add({"stablehlo.log"}, map(apply<LogOp>));
  t.add({"stablehlo.log_plus_one"}, map(apply<Log1pOp>));
  t.add({"stablehlo.logistic"}, map(apply<SigmoidOp>));
  t.add({"stablehlo.tanh"}, map(apply<TanhOp>));
  t.add({"stablehlo.sine"}, map(apply<SinOp>));
  t.add({"stablehlo.cosine"}, map(apply<CosOp>));
  t.add({"stablehlo.tan", "chlo.tan"}, map(tangent));
  t.add({"stablehlo.sqrt"}, map(apply<SqrtOp>));
  t.add({"stablehlo.rsqrt"}, map(apply<RsqrtOp>));
  t.add({"stablehlo.cbrt"}, map(cubeRoot));
  t.add({"stablehlo.floor"}, map(apply<FloorOp>));
  t.add({"stablehlo.ceil"}, map(ceil));
  t.add({"stablehlo.round_nearest_even"}, map(roundEven));
  t.add({"stablehlo.round_nearest_afz"}, map(roundAway));
  t.add({"stablehlo.is_finite"}, [](Lowering &l) {
    Value x = l.get(0);
    if (l.require(isFloat(x), "elements that are not floats"))
      l.set(IsFiniteOp::create(l.builder, l.loc, l.resultType(), x));
  });
  t.add({"chlo.erf"}, map(apply<ErfOp>));
  t.add({"chlo.erfc"}, map(erfc));
  t.add({"chlo.erf_inv"}, map(erfInv));
  t.add({"stablehlo.atan2"}, combine([](Lowering &l, Value y, Value x) {
          return l.require(isFloat(x), "elements that are not floats")
                     ? importer::atan2(l, y, x)
                     : x;
        }));
  t.add({"chlo.atan"}, map(importer::atan));
  t.add({"chlo.asin"}, map(importer::asin));
  t.add({"chlo.acos"}, map(importer::acos));
  t.add({"chlo.asinh"}, map(importer::asinh));
  t.add({"chlo.acosh"}, map(importer::acosh));
  t.add({"chlo.atanh"}, map(importer::atanh));
  t.add({"chlo.sinh"}, map(importer::sinh));
  t.add({"chlo.cosh"}, map(importer::cosh));
  t.add({"chlo.lgamma"}, map(importer::logGamma));
  t.add({"chlo.digamma"}, map(importer::digamma));
  t.add({"chlo.next_after"}, combine(nextAfter));
  t.add({"chlo.square"}, map([](Lowering &l, Value x) { return l.square(x); }));

  t.add({"stablehlo.and"}, combine(conjunction));
  t.add({"stablehlo.or"}, combine(disjunction));
  t.add({"stablehlo.xor"}, combine(exclusiveOr));
  t.add({"stablehlo.not"}, map(complement));
  t.add({"stablehlo.shift_left"}, combine(shift<ShiftLeftOp>));
  t.add({"stablehlo.shift_right_logical"}, combine(shift<ShiftRightLogicalOp>));
  t.add({"stablehlo.shift_right_arithmetic"}, combine(shift<ShiftRightArithmeticOp>));
  t.add({"stablehlo.popcnt"}, map(countBits<PopulationCountOp>));
  t.add({"stablehlo.count_leading_zeros"}, map(countBits<CountLeadingZerosOp>));
  t.add({"stablehlo.bitcast_convert"}, bitcastConvert);
  t.add({"stablehlo.compare"}, comparison);
  t.add({"stablehlo.select"}, choice);
  t.add({"stablehlo.clamp"}, clamp);
  t.add({"stablehlo.convert"}, convert);
  t.add({"stablehlo.reduce_precision"}, reducePrecision);
  t.add({"stablehlo.map"}, mapBody);
  t.add({"stablehlo.composite"}, [](Lowering &l) {
    // Others are replaced by what they compute.
    for (auto [index, x] : llvm::enumerate(l.getAll()))
      l.set(isFloat(x) ? l.unary<StopGradientOp>(x) : x, index);
  });
}
