//===- GemmOp.cpp - Matmuls of GPU libraries -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/Gemm.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

using namespace mlir;
using namespace mpt;

RankedTensorType mpt::getSavedType(Epilogue activation, RankedTensorType type) {
  if (activation != Epilogue::Relu || type.getRank() == 0 ||
      ShapedType::isDynamic(type.getShape().back()))
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = llvm::alignTo(shape.back(), 128) / 8;
  return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 8));
}

static bool isEightBit(Value value) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(value.getType()));
}

/// Whether `value` holds two numbers of f4E2M1FN in a byte.
static bool isByte(Value value) {
  return getElementTypeOrSelf(value.getType()).isInteger(8);
}

/// Whether `scales` has one dimension, of a known size, of what `scaling` stores. How
/// many there must be is the library's affair (mpt/ProgramABI/GemmScales.h).
static bool areScales(Value scales, GemmScaling scaling) {
  auto type = cast<RankedTensorType>(scales.getType());
  Type element = type.getElementType();
  const bool fits = scaling == GemmScaling::Vec32UE8M0 ? isa<Float8E8M0FNUType>(element)
                    : scaling == GemmScaling::Vec16UE4M3
                        ? isa<Float8E4M3FNType>(element)
                        : scaling != GemmScaling::None && element.isF32();
  return type.hasStaticShape() && type.getRank() == 1 && fits;
}

/// Checks a matmul whose operands have scales.
static LogicalResult verifyScales(GemmOp op) {
  if (!op.getLhsScales() || !op.getRhsScales())
    return op.emitOpError("needs scales of both operands or of none");
  const std::tuple<Value, Value, GemmScaling, StringRef> operands[] = {
      {op.getLhs(), op.getLhsScales(), op.getLhsScaling(), "lhs"},
      {op.getRhs(), op.getRhsScales(), op.getRhsScaling(), "rhs"}};
  for (auto [operand, scales, scaling, name] : operands) {
    const bool isPacked = scaling == GemmScaling::Vec16UE4M3;
    if (isPacked != isByte(operand) || (!isPacked && !isEightBit(operand)))
      return op.emitOpError("needs operands of 8 bits with scales, found ")
             << operand.getType();
    if (!areScales(scales, scaling))
      return op.emitOpError("has scales of ")
             << name << " that do not fit " << name
             << "_scaling = " << stringifyGemmScaling(scaling) << ", found "
             << scales.getType();
  }
  if (op.getTransposeLhs() || !op.getTransposeRhs())
    return op.emitOpError("needs K as the last dimension of operands with scales: "
                          "transpose_rhs alone");
  if (op.getEpilogue() != Epilogue::None || op.getBias() || op.getBiasGrad())
    return op.emitOpError("has neither an activation nor a bias if its operands have "
                          "scales");
  return success();
}

LogicalResult GemmOp::verify() {
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  for (Value value : {getLhs(), getRhs(), getResult()})
    if (!cast<RankedTensorType>(value.getType()).hasStaticShape() ||
        shapeOf(value).size() != 2)
      return emitOpError("needs matrices of static shape, found ") << value.getType();
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  int64_t rows = lhs[getTransposeLhs()], columns = rhs[!getTransposeRhs()];
  if (lhs[!getTransposeLhs()] != rhs[getTransposeRhs()] ||
      shapeOf(getResult()) != ArrayRef<int64_t>{rows, columns})
    return emitOpError("has operands that do not fit together");
  auto result = cast<RankedTensorType>(getResult().getType());
  for (Value value : {getBias(), getBiasGrad()})
    if (value && shapeOf(value) != ArrayRef<int64_t>{columns})
      return emitOpError("needs one number for each of ")
             << columns << " columns, found " << value.getType();
  if (getLhsScales() || getRhsScales()) {
    if (failed(verifyScales(*this)))
      return failure();
  } else if (getLhsScaling() != GemmScaling::None ||
             getRhsScaling() != GemmScaling::None) {
    return emitOpError("says how scales are that it does not have");
  } else if (isByte(getLhs()) || isByte(getRhs())) {
    return emitOpError("needs scales of operands of i8");
  }
  bool isActivated = getEpilogue() != Epilogue::None;
  if (isActivated != (getAux() || getSaved()) || (getAux() && getSaved()) ||
      (!isActivated && !getBiasGrad() && !getAddend() && !getLhsScales()))
    return emitOpError("either saves what its activation needs, or reads it, or has no "
                       "activation and sums rhs or has an addend or scales");
  if ((getBias() && !getSaved()) || (getBiasGrad() && getSaved()))
    return emitOpError("has a bias forward, and its gradient backward");
  if (Value addend = getAddend())
    if (isActivated || getBias() || addend.getType() != result)
      return emitOpError("takes an addend of the result's type, ")
             << result << ", and then neither a bias nor an activation, found "
             << addend.getType();
  for (Value value : {getAux(), getSaved()})
    if (value && value.getType() != getSavedType(getEpilogue(), result))
      return emitOpError("needs ") << getSavedType(getEpilogue(), result)
                                   << " for its activation, found " << value.getType();
  return success();
}

LogicalResult GemmQuantizeOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType());
  if (!x.hasStaticShape() || x.getRank() != 2)
    return emitOpError("needs a matrix of static shape, found ") << x;
  const bool isTensor = getScaling() == GemmScaling::None;
  const bool isPacked = getScaling() == GemmScaling::Vec16UE4M3;
  const int64_t multiple = isPacked ? 32 : 16;
  for (int64_t size : x.getShape())
    if (size == 0 || size % multiple != 0)
      return emitOpError("needs sizes that are multiples of ")
             << multiple << ", found " << x;
  const int64_t outer = getBlock().size() == 2 ? getBlock()[0] : -1;
  const int64_t length = getBlock().size() == 2 ? getBlock()[1] : -1;
  const bool isRow = outer == 1, isSquare = outer == 128 && length == 128;
  bool fits = false;
  switch (getScaling()) {
  case GemmScaling::None:
    fits = outer == 0 && length == 0;
    break;
  case GemmScaling::Vec16UE4M3:
    fits = isRow && length == 16;
    break;
  case GemmScaling::Vec32UE8M0:
    fits = isSquare || (isRow && (length == 32 || length == 128));
    break;
  case GemmScaling::Vec128F32:
    fits = isRow && length == 128;
    break;
  case GemmScaling::Block128F32:
    fits = isSquare;
    break;
  }
  if (!fits)
    return emitOpError("needs blocks that fit scaling = ")
           << stringifyGemmScaling(getScaling()) << ", found [" << getBlock() << "]";
  if (getScaling() == GemmScaling::Vec32UE8M0 && getRule() == ScaleRule::Largest)
    return emitOpError("needs the rule 'power_of_two' or 'ocp_mx' for scales of "
                       "f8E8M0FNU, found 'largest'");
  if (isPacked && getRule() != ScaleRule::Largest)
    return emitOpError("needs the rule 'largest' for scales of f8E4M3FN, found '")
           << stringifyScaleRule(getRule()) << "'";
  if (isPacked && isEightBit(getX()))
    return emitOpError("makes f4E2M1FN of f32, f16 or bf16, found ") << x;
  if ((getScales() != nullptr) != (isEightBit(getX()) && !isTensor) ||
      (getScales() && !areScales(getScales(), getScaling())))
    return emitOpError("needs scales that fit x if x is 8 bits wide, and none otherwise");
  if (Value factor = getFactor();
      factor &&
      (isEightBit(getX()) || cast<RankedTensorType>(factor.getType()).getRank() != 0))
    return emitOpError("needs a factor of tensor<f32>, and x wider than 8 bits, found ")
           << factor.getType() << " and " << x;
  if (std::optional<Type> via = getVia();
      via && (!x.getElementType().isF32() || !(via->isF16() || via->isBF16())))
    return emitOpError("rounds f32 by way of f16 or bf16, found ")
           << x << " and " << *via;
  const std::tuple<Value, Value, SmallVector<int64_t>> results[] = {
      {getRow(), getRowScales(), {x.getDimSize(0), x.getDimSize(1)}},
      {getColumn(), getColumnScales(), {x.getDimSize(1), x.getDimSize(0)}}};
  if (!getRow() && !getColumn())
    return emitOpError("needs a result");
  for (auto [q, scales, shape] : results) {
    if (!q && !scales)
      continue;
    if (isPacked)
      shape[1] /= 2;
    if (!q || isTensor != (scales == nullptr) ||
        cast<RankedTensorType>(q.getType()).getShape() != ArrayRef<int64_t>(shape) ||
        (scales && !areScales(scales, getScaling())))
      return emitOpError("needs results of x's shape and of its transpose's, with their "
                         "scales");
    if (isByte(q) != isPacked ||
        (isTensor && isEightBit(getX()) &&
         getElementTypeOrSelf(q.getType()) != x.getElementType()))
      return emitOpError(
                 "makes i8 for scales of vec16_ue4m3 alone, and turns 8-bit floats "
                 "without scales as they are, found ")
             << q.getType();
  }
  auto tiles = [](int64_t size) { return llvm::divideCeil(size, 128); };
  if (Value amax = getAmax();
      amax && cast<RankedTensorType>(amax.getType()).getShape() !=
                  ArrayRef<int64_t>{static_cast<int64_t>(tiles(x.getDimSize(0))),
                                    static_cast<int64_t>(tiles(x.getDimSize(1)))})
    return emitOpError("needs one amax for each 128 x 128 elements, found ")
           << amax.getType();
  return success();
}
