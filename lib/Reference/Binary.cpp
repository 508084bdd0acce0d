//===- Binary.cpp - Elementwise ops with broadcasting -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace mpt;
using namespace mpt::reference;

/// Integers wrap: done without overflow, in unsigned arithmetic.
static int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

static double maximum(double a, double b) { return std::isnan(a) || a > b ? a : b; }
static double minimum(double a, double b) { return std::isnan(a) || a < b ? a : b; }

static int64_t divide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? wrapped(-static_cast<uint64_t>(a)) : a / b;
}

/// The operands repeated to the result's shape.
static std::pair<Tensor, Tensor> spread(Operation *op, Value lhs, Value rhs,
                                        Frame &frame) {
  SmallVector<int64_t, 4> shape = frame.getShape(op->getResult(0));
  auto repeat = [&](Value value) {
    const Tensor &tensor = frame.get(value);
    return pick(tensor, broadcastIndices(tensor.shape, shape));
  };
  return {repeat(lhs), repeat(rhs)};
}

template <typename OpTy>
static void addBinaryOp(OpTable &table, double (*onFloats)(double, double),
                        int64_t (*onInts)(int64_t, int64_t)) {
  table.add<OpTy>([=](OpTy op, Frame &frame) -> LogicalResult {
    auto [lhs, rhs] = spread(op, op.getLhs(), op.getRhs(), frame);
    if (lhs.isFloat() != rhs.isFloat() || (!lhs.isFloat() && !onInts))
      return op.emitOpError("cannot be interpreted on ")
             << op.getLhs().getType() << " and " << op.getRhs().getType()
             << "; convert the operands with mpt.cast";
    for (size_t i = 0; i < lhs.floats.size(); ++i)
      lhs.floats[i] = onFloats(lhs.floats[i], rhs.floats[i]);
    for (size_t i = 0; i < lhs.ints.size(); ++i)
      lhs.ints[i] = onInts(lhs.ints[i], rhs.ints[i]);
    frame.set(op.getResult(), std::move(lhs));
    return success();
  });
}

template <typename Number>
static int64_t compare(Number a, Number b, ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return a == b;
  case ComparePredicate::NE:
    return a != b;
  case ComparePredicate::LT:
    return a < b;
  case ComparePredicate::LE:
    return a <= b;
  case ComparePredicate::GT:
    return a > b;
  case ComparePredicate::GE:
    return a >= b;
  }
  return 0;
}

static LogicalResult evaluateCompare(CompareOp op, Frame &frame) {
  auto [lhs, rhs] = spread(op, op.getLhs(), op.getRhs(), frame);
  if (lhs.isFloat() != rhs.isFloat())
    return op.emitOpError("cannot be interpreted on ")
           << op.getLhs().getType() << " and " << op.getRhs().getType()
           << "; convert the operands with mpt.cast";
  std::vector<int64_t> result;
  for (size_t i = 0; i < lhs.floats.size(); ++i)
    result.push_back(compare(lhs.floats[i], rhs.floats[i], op.getPredicate()));
  for (size_t i = 0; i < lhs.ints.size(); ++i)
    result.push_back(compare(lhs.ints[i], rhs.ints[i], op.getPredicate()));
  frame.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateWhere(WhereOp op, Frame &frame) {
  auto [yes, no] = spread(op, op.getOnTrue(), op.getOnFalse(), frame);
  const Tensor &condition = frame.get(op.getCondition());
  std::vector<int64_t> indices =
      broadcastIndices(condition.shape, frame.getShape(op.getResult()));
  for (size_t i = 0; i < indices.size(); ++i) {
    if (condition.ints[indices[i]])
      continue;
    if (yes.isFloat())
      yes.floats[i] = no.floats[i];
    else
      yes.ints[i] = no.ints[i];
  }
  frame.set(op.getResult(), std::move(yes));
  return success();
}

template <typename OpTy>
static void addLogical(OpTable &table, int64_t (*f)(int64_t, int64_t)) {
  addBinaryOp<OpTy>(table, nullptr, f);
}

/// By an unsigned number.
template <typename OpTy>
static void addShift(OpTable &table,
                     llvm::APInt (*f)(const llvm::APInt &, const llvm::APInt &)) {
  table.add<OpTy>([f](OpTy op, Frame &frame) {
    auto [lhs, rhs] = spread(op, op.getLhs(), op.getRhs(), frame);
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    auto bits = [&](int64_t value) {
      return llvm::APInt(width, value, /*isSigned=*/true, /*implicitTrunc=*/true);
    };
    for (auto [a, n] : llvm::zip_equal(lhs.ints, rhs.ints))
      a = f(bits(a), bits(n)).getSExtValue();
    frame.set(op.getResult(), std::move(lhs));
    return success();
  });
}

void mpt::reference::addBinary(OpTable &table) {
  addBinaryOp<AddOp>(
      table, [](double a, double b) { return a + b; },
      [](int64_t a, int64_t b) { return wrapped(uint64_t(a) + uint64_t(b)); });
  addBinaryOp<SubOp>(
      table, [](double a, double b) { return a - b; },
      [](int64_t a, int64_t b) { return wrapped(uint64_t(a) - uint64_t(b)); });
  addBinaryOp<MulOp>(
      table, [](double a, double b) { return a * b; },
      [](int64_t a, int64_t b) { return wrapped(uint64_t(a) * uint64_t(b)); });
  addBinaryOp<DivOp>(table, [](double a, double b) { return a / b; }, divide);
  addBinaryOp<MaximumOp>(table, maximum,
                         [](int64_t a, int64_t b) { return std::max(a, b); });
  addBinaryOp<MinimumOp>(table, minimum,
                         [](int64_t a, int64_t b) { return std::min(a, b); });
  addBinaryOp<PowOp>(table, [](double a, double b) { return std::pow(a, b); }, nullptr);
  addLogical<AndOp>(table, [](int64_t a, int64_t b) { return a & b; });
  addLogical<OrOp>(table, [](int64_t a, int64_t b) { return a | b; });
  addLogical<XorOp>(table, [](int64_t a, int64_t b) { return a ^ b; });
  using llvm::APInt;
  addShift<ShiftLeftOp>(table, [](const APInt &a, const APInt &n) { return a.shl(n); });
  addShift<ShiftRightLogicalOp>(table,
                                [](const APInt &a, const APInt &n) { return a.lshr(n); });
  addShift<ShiftRightArithmeticOp>(
      table, [](const APInt &a, const APInt &n) { return a.ashr(n); });
  table.add<CompareOp>(evaluateCompare);
  table.add<WhereOp>(evaluateWhere);
}
