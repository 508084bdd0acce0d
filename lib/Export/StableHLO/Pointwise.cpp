//===- Pointwise.cpp - Elementwise ops in StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An elementwise op says how one element is computed, in ops of arith and math
/// (`ElementwiseOpInterface`). Each of these is an op of StableHLO on whole tensors, so
/// that all elementwise ops compute and round as they say, whatever they are.
///
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::tostablehlo;

/// The op of StableHLO with the operands of a scalar op and the type of its result.
static StringRef getName(Operation *scalar) {
  return llvm::StringSwitch<StringRef>(scalar->getName().getStringRef())
      .Cases({"arith.addf", "arith.addi"}, "add")
      .Cases({"arith.subf", "arith.subi"}, "subtract")
      .Cases({"arith.mulf", "arith.muli"}, "multiply")
      .Cases({"arith.divf", "arith.divsi"}, "divide")
      .Cases({"arith.maximumf", "arith.maxsi"}, "maximum")
      .Cases({"arith.minimumf", "arith.minsi"}, "minimum")
      .Case("arith.negf", "negate")
      .Case("arith.andi", "and")
      .Case("arith.ori", "or")
      .Case("arith.xori", "xor")
      .Case("arith.shli", "shift_left")
      .Case("arith.shrsi", "shift_right_arithmetic")
      .Case("arith.shrui", "shift_right_logical")
      .Case("arith.select", "select")
      .Case("arith.bitcast", "bitcast_convert")
      .Cases({"arith.extsi", "arith.fptosi", "arith.sitofp", "arith.truncf"}, "convert")
      .Cases({"arith.trunci", "arith.uitofp"}, "convert")
      .Case("math.absf", "abs")
      .Case("math.cos", "cosine")
      .Case("math.ctlz", "count_leading_zeros")
      .Case("math.ctpop", "popcnt")
      .Case("math.erf", "chlo.erf")
      .Case("math.exp", "exponential")
      .Case("math.floor", "floor")
      .Case("math.log", "log")
      .Case("math.powf", "power")
      .Case("math.rsqrt", "rsqrt")
      .Case("math.sin", "sine")
      .Case("math.sqrt", "sqrt")
      .Case("math.tanh", "tanh")
      .Default("");
}

/// The direction of a comparison; "" for those that no op of mpt makes.
static StringRef getDirection(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return "EQ";
  case P::UNE:
    return "NE";
  case P::OLT:
    return "LT";
  case P::OLE:
    return "LE";
  case P::OGT:
    return "GT";
  case P::OGE:
    return "GE";
  default:
    return "";
  }
}

/// As above; the operands' type says whether the order is signed.
static StringRef getDirection(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "EQ";
  case P::ne:
    return "NE";
  case P::slt:
  case P::ult:
    return "LT";
  case P::sle:
  case P::ule:
    return "LE";
  case P::sgt:
  case P::ugt:
    return "GT";
  case P::sge:
  case P::uge:
    return "GE";
  }
  return "";
}

/// A wider float. What was rounded by the same op must stay so, where compilers may drop
/// a pair of conversions.
static Value extend(arith::ExtFOp ext, Emitter &e, Value x, Type element) {
  auto rounding = ext.getIn().getDefiningOp<arith::TruncFOp>();
  auto narrow = dyn_cast<FloatType>(ext.getIn().getType());
  if (!rounding || !narrow || rounding.getIn().getType() != element)
    return e.convert(x, element);
  unsigned mantissa = narrow.getFPMantissaWidth() - 1;
  Value wide = x.getDefiningOp()->getOperand(0);
  return e.make(
      "reduce_precision", wide.getType(), wide,
      {e.builder.getNamedAttr("exponent_bits", e.builder.getI32IntegerAttr(
                                                   narrow.getWidth() - 1 - mantissa)),
       e.builder.getNamedAttr("mantissa_bits", e.builder.getI32IntegerAttr(mantissa))});
}

/// One scalar op on tensors of `shape`; null if StableHLO has none.
static Value convertScalar(Operation *scalar, Emitter &e, ArrayRef<Value> operands,
                           ArrayRef<int64_t> shape) {
  Type element = scalar->getResult(0).getType();
  auto type = RankedTensorType::get(shape, element);
  if (auto constant = dyn_cast<arith::ConstantOp>(scalar))
    return e.constant(DenseElementsAttr::get(type, constant.getValue()));
  if (auto ext = dyn_cast<arith::ExtFOp>(scalar))
    return extend(ext, e, operands[0], element);
  if (auto ext = dyn_cast<arith::ExtUIOp>(scalar)) {
    unsigned width = ext.getIn().getType().getIntOrFloatBitWidth();
    Value wide = e.convert(operands[0], element);
    if (width == 1)
      return wide;
    int64_t mask = static_cast<int64_t>((uint64_t(1) << width) - 1);
    return e.binary("and", wide, e.splatInteger(element, shape, mask));
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(scalar)) {
    if (compare.getPredicate() == arith::CmpFPredicate::ORD) {
      if (compare.getLhs() == compare.getRhs())
        return e.compare("EQ", operands[0], operands[0]);
      return e.binary("and", e.compare("EQ", operands[0], operands[0]),
                      e.compare("EQ", operands[1], operands[1]));
    }
    StringRef direction = getDirection(compare.getPredicate());
    return direction.empty() ? Value() : e.compare(direction, operands[0], operands[1]);
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(scalar))
    return e.compare(getDirection(compare.getPredicate()), operands[0], operands[1]);
  // The product is exact in f64. The sum is rounded there, then to f32, which differs
  // from fma in rare halves.
  if (isa<math::FmaOp>(scalar) && element.isF32()) {
    auto wide = [&](Value x) { return e.convert(x, e.builder.getF64Type()); };
    return e.convert(e.binary("add",
                              e.binary("multiply", wide(operands[0]), wide(operands[1])),
                              wide(operands[2])),
                     element);
  }
  StringRef name = getName(scalar);
  return name.empty() ? Value() : e.make(name, type, operands);
}

void mpt::tostablehlo::convertElementwise(Emitter &e) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(e.op);
  if (!elementwise)
    return e.refuse("");
  ArrayRef<int64_t> shape = e.resultType().getShape();
  Block block;
  IRMapping tensors;
  for (Value operand : e.op->getOperands())
    tensors.map(block.addArgument(getElement(operand), e.op->getLoc()),
                e.broadcast(e.get(operand), shape));
  OpBuilder scalars(e.op->getContext());
  scalars.setInsertionPointToStart(&block);
  Value result = elementwise.buildScalar(scalars, block.getArguments());
  for (Operation &scalar : block) {
    SmallVector<Value> operands;
    for (Value operand : scalar.getOperands())
      operands.push_back(tensors.lookup(operand));
    Value value = convertScalar(&scalar, e, operands, shape);
    if (!value)
      return e.refuse("its element is computed with " + scalar.getName().getStringRef());
    tensors.map(scalar.getResult(0), value);
  }
  e.set(tensors.lookup(result));
}

/// The op that shifts by any amount, as the scalar ones do not.
template <typename Op>
static void convertShift(Op op, Emitter &e) {
  ArrayRef<int64_t> shape = e.resultType().getShape();
  StringRef name = op->getName().stripDialect();
  e.set(e.binary(name, e.broadcast(e.get(op.getLhs()), shape),
                 e.broadcast(e.get(op.getRhs()), shape)));
}

/// The scalar ops' formula of log(1 + x) has (1 + x) - 1, which compilers of StableHLO
/// may take for x. These have an op for it.
static void convertLog1p(Log1pOp op, Emitter &e) {
  e.set(e.unary("log_plus_one", e.widen(e.get(op.getX()))));
}

/// max(x, 0) + log(1 + exp(-|x|)).
static void convertSoftplus(SoftplusOp op, Emitter &e) {
  Value x = e.widen(e.get(op.getX()));
  Value zero = e.splat(getElement(x), e.resultType().getShape(), 0.0);
  Value small = e.unary("exponential", e.unary("negate", e.unary("abs", x)));
  e.set(e.binary("add", e.binary("maximum", x, zero), e.unary("log_plus_one", small)));
}

void mpt::tostablehlo::populatePointwise(Table &table) {
  table.add(convertLog1p);
  table.add(convertSoftplus);
  table.add(convertShift<ShiftLeftOp>);
  table.add(convertShift<ShiftRightLogicalOp>);
  table.add(convertShift<ShiftRightArithmeticOp>);
}
