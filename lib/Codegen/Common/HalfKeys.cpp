//===- HalfKeys.cpp - Half floats in the order of integers ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfKeys.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static int16_t getBits(const llvm::APFloat &number) {
  return static_cast<int16_t>(number.bitcastToAPInt().getZExtValue());
}

/// `number` for each element of `like`.
static Value makeConstant(OpBuilder &b, Value like, int16_t number) {
  TypedAttr attribute = b.getI16IntegerAttr(number);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, like.getLoc(), attribute);
}

/// Flips the lower 15 bits of what is negative, which undoes itself.
static Value flipNegative(OpBuilder &b, Value bits) {
  Location loc = bits.getLoc();
  Value sign = arith::ShRSIOp::create(b, loc, bits, makeConstant(b, bits, 15));
  return arith::XOrIOp::create(
      b, loc, bits, arith::AndIOp::create(b, loc, sign, makeConstant(b, bits, 0x7fff)));
}

HalfKeys::HalfKeys(FloatType type, ReduceKind kind)
    : kind(kind), infinity(getBits(APFloat::getInf(type.getFloatSemantics()))),
      nan(getBits(APFloat::getNaN(type.getFloatSemantics()))) {
  const int nansOfOneSign = 0x7fff - infinity;
  shift = static_cast<int16_t>(kind == ReduceKind::Max ? -nansOfOneSign : nansOfOneSign);
}

Value HalfKeys::encode(OpBuilder &b, Value bits) const {
  return arith::AddIOp::create(b, bits.getLoc(), flipNegative(b, bits),
                               makeConstant(b, bits, shift));
}

Value HalfKeys::decode(OpBuilder &b, Value key) const {
  Location loc = key.getLoc();
  const bool isMax = kind == ReduceKind::Max;
  // The key of the infinity that wins against all numbers; -infinity's bits are flipped.
  const int best = (isMax ? infinity : ~infinity) + shift;
  Value isNaN = arith::CmpIOp::create(
      b, loc, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, key,
      makeConstant(b, key, static_cast<int16_t>(best)));
  Value number =
      flipNegative(b, arith::SubIOp::create(b, loc, key, makeConstant(b, key, shift)));
  return arith::SelectOp::create(b, loc, isNaN, makeConstant(b, key, nan), number);
}
