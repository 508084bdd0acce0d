//===- ExpandBF16.cpp - Rounding to bf16 ------------------------*- C++ -*-===//
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
/// What is stored is rounded by VCVTNEPS2BF16 where the processor has it. That takes
/// subnormal numbers for zero, so lanes that have one are rounded by integer arithmetic
/// in a branch. The other lanes never are, so that a lane's bits do not depend on its
/// neighbours.
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// Lanes that one VCVTNEPS2BF16 rounds.
constexpr int64_t mostNativeLanes = 16;

/// Whether VCVTNEPS2BF16 rounds so many lanes. Four would need a mask.
bool isNativeLength(int64_t lanes) {
  return lanes == 8 || (lanes > 0 && lanes % mostNativeLanes == 0);
}

int64_t getLanes(arith::TruncFOp op) {
  return cast<VectorType>(op.getType()).getNumElements();
}

/// Roundings of a block whose subnormal lanes are looked for at once, before `reader`,
/// the first op that reads one of them.
struct RoundingGroup {
  SmallVector<arith::TruncFOp> roundings;
  Operation *reader = nullptr;
};

struct ExpandBF16Pass : mpt::impl::ExpandBF16PassBase<ExpandBF16Pass> {
  using Base::Base;

  void runOnOperation() override {
    plain.clear();
    SmallVector<arith::TruncFOp> roundings;
    SmallVector<RoundingGroup> groups;
    getOperation()->walk([&](Block *block) {
      RoundingGroup group;
      DenseSet<Operation *> readers;
      auto close = [&](Operation *reader) {
        if (group.roundings.empty())
          return;
        group.reader = reader;
        groups.push_back(std::exchange(group, {}));
        readers.clear();
      };
      for (Operation &op : *block) {
        if (readers.contains(&op) || op.hasTrait<OpTrait::IsTerminator>())
          close(&op);
        auto rounding = dyn_cast<arith::TruncFOp>(op);
        if (!rounding || !roundsToBF16(rounding))
          continue;
        if (!avx512BF16 || !isNative(rounding)) {
          roundings.push_back(rounding);
          continue;
        }
        // One mask has all of a group.
        if (!group.roundings.empty() &&
            getLanes(group.roundings.front()) != getLanes(rounding))
          close(&op);
        group.roundings.push_back(rounding);
        for (Operation *user : op.getUsers())
          if (Operation *inBlock = block->findAncestorOpInBlock(*user))
            readers.insert(inBlock);
      }
    });
    for (RoundingGroup &group : groups)
      expandNatively(group);
    for (arith::TruncFOp op : roundings)
      expand(op);
  }

private:
  static bool roundsToBF16(arith::TruncFOp op) {
    return hasElement(op.getIn(), [](Type type) { return type.isF32(); }) &&
           hasElement(op, [](Type type) { return type.isBF16(); });
  }

  /// Whether an instruction rounds `op`'s vector and something reads the 16 bits. What is
  /// only widened again takes fewer instructions if it never becomes narrow.
  static bool isNative(arith::TruncFOp op) {
    auto vector = dyn_cast<VectorType>(op.getType());
    return vector && vector.getRank() == 1 && !vector.isScalable() &&
           isNativeLength(vector.getNumElements()) &&
           llvm::any_of(op->getUsers(),
                        [](Operation *user) { return !isa<arith::ExtFOp>(user); });
  }

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

  /// An i32 for each f32 of `like`.
  static Value makeInteger(ImplicitLocOpBuilder &b, Value like, int32_t number) {
    TypedAttr attribute = b.getI32IntegerAttr(number);
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      attribute =
          DenseElementsAttr::get(vector.clone(b.getI32Type()), Attribute(attribute));
    return arith::ConstantOp::create(b, attribute);
  }

  /// `value`, which has no NaNs, in the upper half of each i32. To nearest even: half of
  /// what the lower half is worth is added, less one if the upper half is even.
  static Value roundNumbers(ImplicitLocOpBuilder &b, Value value) {
    Value bits =
        arith::BitcastOp::create(b, withElement(value.getType(), b.getI32Type()), value);
    Value isOdd = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, bits, makeInteger(b, value, 16)),
        makeInteger(b, value, 1));
    return arith::AddIOp::create(
        b, bits, arith::AddIOp::create(b, isOdd, makeInteger(b, value, 0x7fff)));
  }

  static Value takeUpperHalves(ImplicitLocOpBuilder &b, Value rounded) {
    Value shift = arith::ConstantOp::create(
        b, isa<VectorType>(rounded.getType())
               ? TypedAttr(DenseElementsAttr::get(cast<VectorType>(rounded.getType()),
                                                  int32_t(16)))
               : TypedAttr(b.getI32IntegerAttr(16)));
    return arith::TruncIOp::create(b, withElement(rounded.getType(), b.getI16Type()),
                                   arith::ShRUIOp::create(b, rounded, shift));
  }

  /// The processor's instruction for each `mostNativeLanes`, and the other arithmetic for
  /// lanes that have a subnormal number, if there is any.
  void expandNatively(RoundingGroup &group) {
    const Location loc = group.roundings.front().getLoc();
    const int64_t lanes = getLanes(group.roundings.front()),
                  length = std::min(lanes, mostNativeLanes);
    const std::string suffix = std::to_string(32 * length);
    SmallVector<Value> wide, narrow, isSubnormal;
    SmallVector<Type> types;
    Value any;
    for (arith::TruncFOp op : group.roundings) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      auto call = [&](StringRef name, Type result, ValueRange arguments) {
        return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name + suffix),
                                             arguments)
            .getResults();
      };
      auto vectorOf = [&](Type element) { return VectorType::get({length}, element); };
      const Type halves = vectorOf(getElementTypeOrSelf(op.getType())),
                 words = vectorOf(b.getI16Type()), flags = vectorOf(b.getI1Type());
      for (int64_t first = 0; first < lanes; first += length) {
        wide.push_back(lanes == length ? op.getIn()
                                       : vector::ExtractStridedSliceOp::create(
                                             b, op.getIn(), first, length, int64_t(1)));
        narrow.push_back(arith::BitcastOp::create(
            b, words, call("llvm.x86.avx512bf16.cvtneps2bf16.", halves, wide.back())));
        types.push_back(words);
        constexpr int32_t subnormal = 0x20; // among the classes of VFPCLASSPS
        Value classes = LLVM::ConstantOp::create(b, b.getI32IntegerAttr(subnormal));
        isSubnormal.push_back(
            call("llvm.x86.avx512.fpclass.ps.", flags, {wide.back(), classes}));
        any = any ? arith::OrIOp::create(b, any, isSubnormal.back()) : isSubnormal.back();
      }
    }
    ImplicitLocOpBuilder b(loc, group.reader);
    Type mask = b.getIntegerType(length);
    Value zero = LLVM::ConstantOp::create(b, b.getIntegerAttr(mask, 0));
    Value isAny = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne,
                                       LLVM::BitcastOp::create(b, mask, any), zero);
    isAny = LLVM::ExpectOp::create(b, isAny,
                                   LLVM::ConstantOp::create(b, b.getBoolAttr(false)));
    auto branch = scf::IfOp::create(b, types, isAny, /*withElseRegion=*/true);
    ImplicitLocOpBuilder inner(loc, branch.getThenBodyBuilder());
    SmallVector<Value> mended;
    for (auto [number, rounded, flags] : llvm::zip_equal(wide, narrow, isSubnormal))
      mended.push_back(arith::SelectOp::create(
          inner, flags, takeUpperHalves(inner, roundNumbers(inner, number)), rounded));
    scf::YieldOp::create(inner, mended);
    inner = ImplicitLocOpBuilder(loc, branch.getElseBodyBuilder());
    scf::YieldOp::create(inner, narrow);
    ResultRange results = branch.getResults();
    for (arith::TruncFOp op : group.roundings) {
      Value joined = results.front();
      if (lanes != length) {
        auto type = VectorType::get({lanes}, b.getI16Type());
        joined = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
        for (int64_t first = 0; first < lanes; first += length)
          joined = vector::InsertStridedSliceOp::create(b, results[first / length],
                                                        joined, first, int64_t(1));
      }
      results = results.drop_front(lanes / length);
      op.replaceAllUsesWith(
          arith::BitcastOp::create(b, op.getType(), joined).getResult());
      op.erase();
    }
  }

  void expand(arith::TruncFOp op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    const Type wide = op.getIn().getType();
    Value rounded = roundNumbers(b, op.getIn());
    if (!hasPlainNaNs(op.getIn())) {
      Value isNaN =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, op.getIn(), op.getIn());
      // Quiet, as the processor's instruction leaves them.
      Value quiet = arith::OrIOp::create(
          b, arith::BitcastOp::create(b, rounded.getType(), op.getIn()),
          makeInteger(b, op.getIn(), 0x400000));
      rounded = arith::SelectOp::create(b, isNaN, quiet, rounded);
    }
    Value number;
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto extension = dyn_cast<arith::ExtFOp>(user);
      if (!extension || extension.getType() != wide)
        continue;
      if (!number) {
        number = arith::BitcastOp::create(
            b, wide,
            arith::AndIOp::create(b, rounded, makeInteger(b, op.getIn(), -65536)));
        plain[number] = true;
      }
      extension.replaceAllUsesWith(number);
      plain.erase(extension);
      extension.erase();
    }
    if (!op->use_empty())
      op.replaceAllUsesWith(
          arith::BitcastOp::create(b, op.getType(), takeUpperHalves(b, rounded))
              .getResult());
    op.erase();
  }

  DenseMap<Value, bool> plain;
};

} // namespace
