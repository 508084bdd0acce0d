//===- ElementRegions.cpp - Widening and rounding in a region -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementRegions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

Value mpt::convertFloat(OpBuilder &builder, Location loc, FloatType type, Value value) {
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return arith::ConstantOp::create(builder, loc,
                                     FloatAttr::get(type, number.getValueAsDouble()));
  if (type.getWidth() > value.getType().getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

void mpt::convertElementBlock(Block &block, TypeRange arguments, TypeRange results) {
  OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPointToStart(&block);
  for (auto [argument, type] : llvm::zip(block.getArguments(), arguments)) {
    auto had = dyn_cast<FloatType>(argument.getType());
    if (!had || !isa<FloatType>(type) || had == type)
      continue;
    argument.setType(type);
    if (argument.use_empty())
      continue;
    Value converted = convertFloat(builder, argument.getLoc(), had, argument);
    argument.replaceAllUsesExcept(converted, converted.getDefiningOp());
  }
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  for (auto [operand, result] : llvm::zip(terminator->getOpOperands(), results)) {
    auto wanted = dyn_cast<FloatType>(result);
    Value value = operand.get();
    if (!wanted || !isa<FloatType>(value.getType()) || value.getType() == wanted)
      continue;
    // What is yielded as it was read needs no way there and back.
    if (auto widened = value.getDefiningOp<arith::ExtFOp>();
        widened && widened.getIn().getType() == wanted) {
      operand.set(widened.getIn());
      if (widened->use_empty())
        widened->erase();
      continue;
    }
    operand.set(convertFloat(builder, terminator->getLoc(), wanted, value));
  }
}
