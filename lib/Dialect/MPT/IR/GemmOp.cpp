//===- GemmOp.cpp - Matmuls of GPU libraries -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/Gemm.h"

#include "llvm/Support/MathExtras.h"

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
  bool isActivated = getEpilogue() != Epilogue::None;
  if (isActivated != (getAux() || getSaved()) || (getAux() && getSaved()) ||
      (!isActivated && !getBiasGrad() && !getAddend()))
    return emitOpError("either saves what its activation needs, or reads it, or has no "
                       "activation and sums rhs or has an addend");
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
