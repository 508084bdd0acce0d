//===- Scalars.cpp - arith and math -----------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops that kernels are made of, elementwise: a scalar in a kernel's body is
/// one value per point of its domain. In Storage mode each op rounds to its own
/// type, which is what the op says.
///
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

static unsigned getWidth(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return type ? type.getWidth() : 64;
}

static int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

/// An element as its type's two's complement says: i1 is 0 or -1.
static int64_t asSigned(int64_t value, Value of) {
  return getWidth(of) == 1 ? -value : value;
}
static uint64_t asUnsigned(int64_t value, Value of) {
  unsigned width = getWidth(of);
  uint64_t bits = static_cast<uint64_t>(value);
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

/// result = f(operands), floats.
template <typename OpTy>
static void addFloat1(OpTable &table, double (*f)(double)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    std::vector<double> y = frame.floats(op->getOperand(0));
    for (double &value : y)
      value = f(value);
    frame.set(op->getResult(0), std::move(y));
    return success();
  });
}
template <typename OpTy>
static void addFloat2(OpTable &table, double (*f)(double, double)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    std::vector<double> y = frame.floats(op->getOperand(0));
    for (auto [a, b] : llvm::zip_equal(y, frame.floats(op->getOperand(1))))
      a = f(a, b);
    frame.set(op->getResult(0), std::move(y));
    return success();
  });
}

/// result = f(lhs, rhs), signed integers.
template <typename OpTy>
static void addInt2(OpTable &table, int64_t (*f)(int64_t, int64_t)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    std::vector<int64_t> y = frame.ints(lhs);
    for (auto [a, b] : llvm::zip_equal(y, frame.ints(rhs)))
      a = f(asSigned(a, lhs), asSigned(b, rhs));
    frame.set(op->getResult(0), std::move(y));
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Constants, comparisons, choices
//===----------------------------------------------------------------------===//

static LogicalResult evaluateConstant(arith::ConstantOp op, Frame &frame) {
  int64_t size = frame.getSize(op.getResult());
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    frame.set(op.getResult(), std::vector<double>(size, number.getValueAsDouble()));
    return success();
  }
  if (auto number = dyn_cast<IntegerAttr>(op.getValue())) {
    frame.set(op.getResult(),
              std::vector<int64_t>(size, number.getValue().getSExtValue()));
    return success();
  }
  Tensor tensor;
  if (auto numbers = dyn_cast<DenseFPElementsAttr>(op.getValue())) {
    for (llvm::APFloat number : numbers)
      tensor.floats.push_back(number.convertToDouble());
  } else if (auto numbers = dyn_cast<DenseIntElementsAttr>(op.getValue())) {
    for (llvm::APInt number : numbers)
      tensor.ints.push_back(number.getSExtValue());
  } else {
    return op.emitOpError("cannot be interpreted: expected a number or dense "
                          "elements, found ")
           << op.getValue();
  }
  frame.set(op.getResult(), std::move(tensor));
  return success();
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  }
  return false;
}

static LogicalResult evaluateCmpF(arith::CmpFOp op, Frame &frame) {
  std::vector<int64_t> y;
  for (auto [a, b] :
       llvm::zip_equal(frame.floats(op.getLhs()), frame.floats(op.getRhs())))
    y.push_back(compare(op.getPredicate(), a, b));
  frame.set(op.getResult(), std::move(y));
  return success();
}

template <typename Number>
static bool compareOrder(arith::CmpIPredicate predicate, Number a, Number b) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
  case P::ult:
    return a < b;
  case P::sle:
  case P::ule:
    return a <= b;
  case P::sgt:
  case P::ugt:
    return a > b;
  case P::sge:
  case P::uge:
    return a >= b;
  }
  return false;
}

static LogicalResult evaluateCmpI(arith::CmpIOp op, Frame &frame) {
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  bool isUnsigned = predicate == P::ult || predicate == P::ule || predicate == P::ugt ||
                    predicate == P::uge;
  Value of = op.getLhs();
  std::vector<int64_t> y;
  for (auto [a, b] : llvm::zip_equal(frame.ints(op.getLhs()), frame.ints(op.getRhs())))
    y.push_back(isUnsigned ? compareOrder(predicate, asUnsigned(a, of), asUnsigned(b, of))
                           : compareOrder(predicate, asSigned(a, of), asSigned(b, of)));
  frame.set(op.getResult(), std::move(y));
  return success();
}

static LogicalResult evaluateSelect(arith::SelectOp op, Frame &frame) {
  Tensor y = frame.get(op.getTrueValue());
  const Tensor &no = frame.get(op.getFalseValue());
  // One condition may stand for a whole tensor.
  const std::vector<int64_t> &condition = frame.ints(op.getCondition());
  bool isShared = condition.size() == 1;
  for (size_t i = 0, e = y.size(); i < e; ++i) {
    if (condition[isShared ? 0 : i])
      continue;
    if (y.isFloat())
      y.floats[i] = no.floats[i];
    else
      y.ints[i] = no.ints[i];
  }
  frame.set(op.getResult(), std::move(y));
  return success();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename OpTy>
static void addIntToFloat(OpTable &table, bool isSigned) {
  table.add<OpTy>([isSigned](OpTy op, Frame &frame) {
    std::vector<double> y;
    auto type = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    for (int64_t value : frame.ints(op.getIn())) {
      uint64_t bits = isSigned ? static_cast<uint64_t>(asSigned(value, op.getIn()))
                               : asUnsigned(value, op.getIn());
      llvm::APFloat number(frame.getMode() == Mode::Float64 ? llvm::APFloat::IEEEdouble()
                                                            : type.getFloatSemantics());
      number.convertFromAPInt(llvm::APInt(64, bits), isSigned,
                              llvm::APFloat::rmNearestTiesToEven);
      y.push_back(number.convertToDouble());
    }
    frame.set(op.getResult(), std::move(y));
    return success();
  });
}

static LogicalResult evaluateFPToSI(arith::FPToSIOp op, Frame &frame) {
  std::vector<int64_t> y;
  // Out of range the op says nothing; saturating is one such nothing.
  for (double value : frame.floats(op.getIn()))
    y.push_back(truncateToInt(value, getWidth(op.getResult())));
  frame.set(op.getResult(), std::move(y));
  return success();
}

template <typename OpTy>
static void addIntToInt(OpTable &table, bool isSigned) {
  table.add<OpTy>([isSigned](OpTy op, Frame &frame) {
    std::vector<int64_t> y;
    for (int64_t value : frame.ints(op.getIn()))
      y.push_back(isSigned ? asSigned(value, op.getIn())
                           : static_cast<int64_t>(asUnsigned(value, op.getIn())));
    frame.set(op.getResult(), std::move(y));
    return success();
  });
}

/// Between floats and integers of one width. A float that its type does not hold
/// (nothing is rounded in Float64 mode) is rounded first.
static LogicalResult evaluateBitcast(Operation *op, Frame &frame) {
  Value x = op->getOperand(0), result = op->getResult(0);
  Type from = getElementTypeOrSelf(x.getType());
  Type to = getElementTypeOrSelf(result.getType());
  unsigned width = from.getIntOrFloatBitWidth();
  std::vector<llvm::APInt> bits;
  if (auto type = dyn_cast<FloatType>(from)) {
    for (double value : frame.floats(x)) {
      llvm::APFloat number(value);
      bool losesInfo;
      number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                     &losesInfo);
      bits.push_back(number.bitcastToAPInt());
    }
  } else {
    for (int64_t value : frame.ints(x))
      bits.push_back(llvm::APInt(width, asUnsigned(value, x)));
  }
  if (auto type = dyn_cast<FloatType>(to)) {
    std::vector<double> y;
    for (const llvm::APInt &each : bits)
      y.push_back(llvm::APFloat(type.getFloatSemantics(), each).convertToDouble());
    frame.set(result, std::move(y));
  } else {
    std::vector<int64_t> y;
    for (const llvm::APInt &each : bits)
      y.push_back(each.getSExtValue());
    frame.set(result, std::move(y));
  }
  return success();
}

/// result = f(lhs as unsigned, rhs), 0 where rhs is not a position of a bit.
template <typename OpTy>
static void addShift(OpTable &table, uint64_t (*f)(uint64_t, uint64_t)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    Value lhs = op->getOperand(0);
    std::vector<int64_t> y = frame.ints(lhs);
    for (auto [a, b] : llvm::zip_equal(y, frame.ints(op->getOperand(1)))) {
      uint64_t by = asUnsigned(b, op->getOperand(1));
      a = by < getWidth(lhs) ? wrapped(f(asUnsigned(a, lhs), by)) : 0;
    }
    frame.set(op->getResult(0), std::move(y));
    return success();
  });
}

/// result = f(bits of the operand).
template <typename OpTy>
static void addBits(OpTable &table, unsigned (*f)(const llvm::APInt &)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    Value x = op->getOperand(0);
    std::vector<int64_t> y = frame.ints(x);
    for (int64_t &value : y)
      value = f(llvm::APInt(getWidth(x), asUnsigned(value, x)));
    frame.set(op->getResult(0), std::move(y));
    return success();
  });
}

static double keep(double x) { return x; }

void mpt::reference::addScalars(OpTable &table) {
  table.add<arith::ConstantOp>(evaluateConstant);
  addFloat2<arith::AddFOp>(table, [](double a, double b) { return a + b; });
  addFloat2<arith::SubFOp>(table, [](double a, double b) { return a - b; });
  addFloat2<arith::MulFOp>(table, [](double a, double b) { return a * b; });
  addFloat2<arith::DivFOp>(table, [](double a, double b) { return a / b; });
  addFloat2<arith::MaximumFOp>(
      table, [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
  addFloat2<arith::MinimumFOp>(
      table, [](double a, double b) { return std::isnan(a) || a < b ? a : b; });
  addFloat1<arith::NegFOp>(table, [](double a) { return -a; });
  // The rounding is in the result's type.
  addFloat1<arith::ExtFOp>(table, keep);
  addFloat1<arith::TruncFOp>(table, keep);
  addFloat1<math::AbsFOp>(table, [](double a) { return std::abs(a); });
  addFloat1<math::CosOp>(table, [](double a) { return std::cos(a); });
  addFloat1<math::ErfOp>(table, [](double a) { return std::erf(a); });
  addFloat1<math::ExpOp>(table, [](double a) { return std::exp(a); });
  addFloat1<math::FloorOp>(table, [](double a) { return std::floor(a); });
  addFloat1<math::LogOp>(table, [](double a) { return std::log(a); });
  addFloat1<math::RsqrtOp>(table, [](double a) { return 1.0 / std::sqrt(a); });
  addFloat1<math::SinOp>(table, [](double a) { return std::sin(a); });
  addFloat1<math::SqrtOp>(table, [](double a) { return std::sqrt(a); });
  addFloat1<math::TanhOp>(table, [](double a) { return std::tanh(a); });
  addFloat2<math::PowFOp>(table, [](double a, double b) { return std::pow(a, b); });
  table.add<math::FmaOp>([](math::FmaOp op, Frame &frame) {
    std::vector<double> y = frame.floats(op.getA());
    for (auto [a, b, c] :
         llvm::zip_equal(y, frame.floats(op.getB()), frame.floats(op.getC())))
      a = std::fma(a, b, c);
    frame.set(op.getResult(), std::move(y));
    return success();
  });

  addInt2<arith::AddIOp>(
      table, [](int64_t a, int64_t b) { return wrapped(uint64_t(a) + uint64_t(b)); });
  addInt2<arith::SubIOp>(
      table, [](int64_t a, int64_t b) { return wrapped(uint64_t(a) - uint64_t(b)); });
  addInt2<arith::MulIOp>(
      table, [](int64_t a, int64_t b) { return wrapped(uint64_t(a) * uint64_t(b)); });
  // By zero the op says nothing; the result may not be used then.
  addInt2<arith::DivSIOp>(table, [](int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? wrapped(-uint64_t(a)) : a / b;
  });
  addInt2<arith::MaxSIOp>(table, [](int64_t a, int64_t b) { return std::max(a, b); });
  addInt2<arith::MinSIOp>(table, [](int64_t a, int64_t b) { return std::min(a, b); });
  addInt2<arith::AndIOp>(table, [](int64_t a, int64_t b) { return a & b; });
  addInt2<arith::OrIOp>(table, [](int64_t a, int64_t b) { return a | b; });
  addInt2<arith::XOrIOp>(table, [](int64_t a, int64_t b) { return a ^ b; });

  addShift<arith::ShLIOp>(table, [](uint64_t a, uint64_t b) { return a << b; });
  addShift<arith::ShRUIOp>(table, [](uint64_t a, uint64_t b) { return a >> b; });
  addInt2<arith::ShRSIOp>(
      table, [](int64_t a, int64_t b) { return a >> std::clamp<int64_t>(b, 0, 63); });
  auto countOnes = [](const llvm::APInt &x) { return x.popcount(); };
  auto countZeros = [](const llvm::APInt &x) { return x.countl_zero(); };
  addBits<math::CtPopOp>(table, countOnes);
  addBits<math::CountLeadingZerosOp>(table, countZeros);
  // The same on tensors.
  table.add<arith::BitcastOp>(evaluateBitcast);
  table.add<BitcastOp>(evaluateBitcast);
  addBits<PopulationCountOp>(table, countOnes);
  addBits<CountLeadingZerosOp>(table, countZeros);

  table.add<arith::CmpFOp>(evaluateCmpF);
  table.add<arith::CmpIOp>(evaluateCmpI);
  table.add<arith::SelectOp>(evaluateSelect);
  addIntToFloat<arith::SIToFPOp>(table, /*isSigned=*/true);
  addIntToFloat<arith::UIToFPOp>(table, /*isSigned=*/false);
  table.add<arith::FPToSIOp>(evaluateFPToSI);
  addIntToInt<arith::ExtSIOp>(table, /*isSigned=*/true);
  addIntToInt<arith::ExtUIOp>(table, /*isSigned=*/false);
  addIntToInt<arith::TruncIOp>(table, /*isSigned=*/true);
  addIntToInt<arith::IndexCastOp>(table, /*isSigned=*/true);
}
