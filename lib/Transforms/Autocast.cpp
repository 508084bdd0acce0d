//===- Autocast.cpp - Automatic mixed precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-autocast`: sets the element types that planPrecision chose and puts in
/// the casts, one a value and direction. `--mpt-annotate-precision` only says
/// what each op is.
///
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/PrecisionPlan.h"
#include "mpt/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace mpt {
#define GEN_PASS_DEF_ANNOTATEPRECISIONPASS
#define GEN_PASS_DEF_AUTOCASTPASS
#include "mpt/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {

/// The low-precision type of `name`, or null after an error.
Type parseLowType(ModuleOp module, StringRef pass, StringRef name) {
  if (name == "f16")
    return Float16Type::get(module.getContext());
  if (name == "bf16")
    return BFloat16Type::get(module.getContext());
  module.emitError(pass) << ": unknown type '" << name << "'; expected f16 or bf16";
  return {};
}

/// Rewrites one block as a plan says.
class Caster {
public:
  Caster(Block &block, const PrecisionPlan &plan, Type low, bool mixedResults)
      : block(block), plan(plan), low(low), mixedResults(mixedResults) {}

  void run();

private:
  /// True if every reader of `result` wants it in f32.
  bool isReadInF32(OpResult result) {
    return llvm::all_of(result.getUses(), [&](OpOperand &use) {
      return !plan.isLow(use.getOwner()) ||
             !isFreeOperand(use.getOwner(), use.getOperandNumber());
    });
  }
  bool keepsF32Result(Operation *op, OpResult result) {
    // A product sums in f32: returning that is free.
    return mixedResults &&
           isa<MatmulOp, LinearOp, Conv2DOp, Conv2DInputGradOp,
               Conv2DFilterGradOp>(op) &&
           isReadInF32(result);
  }
  /// `value` in `element` for `reader`.
  Value castTo(Value value, Type element, Operation *reader);

  Block &block;
  const PrecisionPlan &plan;
  Type low;
  bool mixedResults;
  DenseMap<std::pair<Value, Type>, Value> casts;
};

/// The constant `value` converted to `element`, or null if `value` is none or
/// would become infinite.
DenseElementsAttr convertConstant(Value value, Type element) {
  DenseFPElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)))
    return {};
  bool overflows = false;
  auto convert = [&](const llvm::APFloat &number) {
    llvm::APFloat converted = number;
    bool losesInfo;
    converted.convert(mlir::cast<FloatType>(element).getFloatSemantics(),
                      llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    overflows |= number.isFinite() && !converted.isFinite();
    return converted.bitcastToAPInt();
  };
  auto converted = elements.mapValues(element, convert);
  return overflows ? DenseElementsAttr() : converted;
}

Value Caster::castTo(Value value, Type element, Operation *reader) {
  Value &cast = casts[{value, element}];
  if (cast)
    return cast;
  auto type = mlir::cast<RankedTensorType>(value.getType()).clone(element);
  OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPointAfterValue(value);
  if (matchPattern(value, m_Constant())) {
    // Converted here and now. One that would become infinite stays f32, since
    // what is computed from it need not: ops may read mixed types, unless they
    // only rename.
    if (DenseElementsAttr converted = convertConstant(value, element))
      return cast = ConstantOp::create(builder, value.getLoc(), type, converted);
    if (!isa<ReshapeOp, BroadcastOp>(reader))
      return value;
  }
  return cast = CastOp::create(builder, value.getLoc(), type, value,
                               builder.getUnitAttr());
}

void Caster::run() {
  // Decide on all results before any type changes.
  SmallVector<Value> lowered;
  for (auto &[op, reason] : plan.low)
    for (OpResult result : op->getResults()) {
      bool isCast = reason == PaintReason::Cast;
      if ((isCast || isFreeResult(op, result.getResultNumber())) &&
          !keepsF32Result(op, result))
        lowered.push_back(result);
    }
  DenseSet<Value> isLowered(lowered.begin(), lowered.end());
  SmallVector<OpOperand *> down, up;
  for (Operation &op : block)
    for (OpOperand &operand : op.getOpOperands()) {
      bool wantsLow =
          plan.isLow(&op) && isFreeOperand(&op, operand.getOperandNumber());
      if (wantsLow && !isLowered.contains(operand.get()))
        down.push_back(&operand);
      else if (!wantsLow && isLowered.contains(operand.get()))
        up.push_back(&operand);
    }
  for (Value value : lowered)
    value.setType(mlir::cast<RankedTensorType>(value.getType()).clone(low));
  Type f32 = Float32Type::get(low.getContext());
  for (OpOperand *operand : down)
    operand->set(castTo(operand->get(), low, operand->getOwner()));
  for (OpOperand *operand : up)
    operand->set(castTo(operand->get(), f32, operand->getOwner()));
}

struct AutocastPass : mpt::impl::AutocastPassBase<AutocastPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Type low = parseLowType(module, "mpt-autocast", type);
    PrecisionPolicy policy;
    auto add = [&](PrecisionClass precisionClass, ArrayRef<std::string> names) {
      return policy.add(module.getLoc(), precisionClass, names);
    };
    if (!low || failed(add(PrecisionClass::Allow, *allow)) ||
        failed(add(PrecisionClass::Deny, *deny)) ||
        failed(add(PrecisionClass::Infer, *infer)) ||
        failed(add(PrecisionClass::Clear, *clear)) ||
        failed(add(PrecisionClass::Stable, *stable)))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      for (Block &block : function.getBody()) {
        PrecisionPlan plan = planPrecision(block, policy, low);
        for (auto &[op, reason] : plan.low)
          remark::passed(op->getLoc(), remark::RemarkOpts::name("LowPrecision")
                                           .category("mpt-autocast"))
              << remark::reason("{0}", stringifyPaintReason(reason));
        Caster(block, plan, low, mixedResults).run();
      }
  }
};

struct AnnotatePrecisionPass
    : mpt::impl::AnnotatePrecisionPassBase<AnnotatePrecisionPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Type low = parseLowType(module, "mpt-annotate-precision", type);
    if (!low)
      return signalPassFailure();
    PrecisionPolicy policy;
    Builder builder(&getContext());
    module.walk([&](Operation *op) {
      std::optional<PrecisionRecord> record = policy.lookup(op, low);
      if (!record)
        return;
      op->setAttr("mpt.precision_class",
                  builder.getStringAttr(
                      stringifyPrecisionClass(record->precisionClass)));
      op->setAttr("mpt.precision_source", builder.getStringAttr(record->source));
    });
  }
};

} // namespace
