//===- ExpandBF16.cpp - Rounding to bf16 in integer arithmetic --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-expand-bf16`. Kernels round after every op that is bf16 and go on in f32, so
/// most roundings never need to become 16 bits wide. And most are of sums and products
/// of numbers of bf16, whose NaNs need no care: rounding cannot carry out of zeros.
/// Upstream's expansion chooses between the result and a constant NaN, which LLVM makes
/// a choice of bf16 scalars: on processors without that type a conversion by a library
/// that may not be there. Here integers are chosen.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace mpt {
#define GEN_PASS_DEF_EXPANDBF16PASS
#include "mpt/Codegen/CPU/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

bool hasElement(Value value, function_ref<bool(Type)> is) {
  return is(getElementTypeOrSelf(value.getType()));
}

struct ExpandBF16Pass : mpt::impl::ExpandBF16PassBase<ExpandBF16Pass> {
  using Base::Base;

  void runOnOperation() override {
    plain.clear();
    SmallVector<arith::TruncFOp> roundings;
    getOperation()->walk([&](arith::TruncFOp op) {
      if (hasElement(op.getIn(), [](Type type) { return type.isF32(); }) &&
          hasElement(op, [](Type type) { return type.isBF16(); }))
        roundings.push_back(op);
    });
    for (arith::TruncFOp op : roundings)
      expand(op);
  }

private:
  /// Whether the lower half of `value`, an f32, is zero if it is a NaN: those of bf16 are
  /// like that, and what arithmetic makes of them or by itself.
  bool hasPlainNaNs(Value value) {
    auto [found, isNew] = plain.try_emplace(value, false);
    if (!isNew)
      return found->second;
    Operation *op = value.getDefiningOp();
    bool is = false;
    if (auto extension = dyn_cast_or_null<arith::ExtFOp>(op)) {
      is = hasElement(extension.getIn(), [](Type type) { return type.isBF16(); });
    } else if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        is = !number.getValue().isNaN();
      else if (auto numbers = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
        is = llvm::none_of(numbers, [](const APFloat &each) { return each.isNaN(); });
    } else if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op)) {
      is = true;
    } else if (isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
                               arith::NegFOp, math::FmaOp, math::AbsFOp, math::SqrtOp,
                               arith::SelectOp, vector::BroadcastOp>(op)) {
      is = llvm::all_of(op->getOperands(), [&](Value operand) {
        return !hasElement(operand, [](Type type) { return type.isF32(); }) ||
               hasPlainNaNs(operand);
      });
    }
    return plain[value] = is;
  }

  void expand(arith::TruncFOp op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    const Type wide = op.getIn().getType(), words = withElement(wide, b.getI32Type());
    auto integer = [&](int32_t number) -> Value {
      TypedAttr attribute = b.getI32IntegerAttr(number);
      if (auto vector = dyn_cast<VectorType>(words))
        attribute = DenseElementsAttr::get(vector, Attribute(attribute));
      return arith::ConstantOp::create(b, attribute);
    };
    // To nearest even: half of what the lower half is worth, less one if the upper half
    // is even.
    Value bits = arith::BitcastOp::create(b, words, op.getIn());
    Value half = integer(16);
    Value isOdd =
        arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, half), integer(1));
    Value rounded =
        arith::AddIOp::create(b, bits, arith::AddIOp::create(b, isOdd, integer(0x7fff)));
    if (!hasPlainNaNs(op.getIn())) {
      Value isNaN =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, op.getIn(), op.getIn());
      rounded = arith::SelectOp::create(b, isNaN, integer(0x7fc00000), rounded);
    }
    Value number, narrow;
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto extension = dyn_cast<arith::ExtFOp>(user);
      if (!extension || extension.getType() != wide)
        continue;
      if (!number) {
        number = arith::BitcastOp::create(
            b, wide, arith::AndIOp::create(b, rounded, integer(-65536)));
        plain[number] = true;
      }
      extension.replaceAllUsesWith(number);
      plain.erase(extension);
      extension.erase();
    }
    if (!op->use_empty()) {
      Value upper = arith::TruncIOp::create(b, withElement(wide, b.getI16Type()),
                                            arith::ShRUIOp::create(b, rounded, half));
      narrow = arith::BitcastOp::create(b, op.getType(), upper);
      op.replaceAllUsesWith(narrow);
    }
    op.erase();
  }

  DenseMap<Value, bool> plain;
};

} // namespace
