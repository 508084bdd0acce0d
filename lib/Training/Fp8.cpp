//===- Fp8.cpp - Matmuls of 8-bit floats with scales -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-fp8`: matmuls read f8E4M3FN and f8E5M2, each tensor with a scale that
/// follows its largest magnitude. Fp8Plan.h says which matmuls. The rule of the
/// scales is that of NVIDIA's Transformer Engine (DelayedScaling and
/// Float8CurrentScaling). Everything is made of ops that are there anyway. Recipes with
/// scales for blocks are made of mpt.quantize and mpt.scaled_matmul (Fp8Blocks.h).
///
//===----------------------------------------------------------------------===//

#include "Fp8Blocks.h"
#include "mlir/IR/IRMapping.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Precision/OpLists.h"
#include "mpt/Support/Remarks.h"
#include "mpt/Training/Fp8Plan.h"
#include "mpt/Training/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <cfloat>
#include <cmath>

namespace mpt {
#define GEN_PASS_DEF_FP8PASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

/// The rule that makes scales.
struct StateRule {
  bool delayed;
  /// Steps that the history holds, the present one included.
  int64_t history;
  /// The scale is chosen for the largest amax of the history, or for the last one.
  bool useMax;
  /// Powers of two left free below the format's largest number.
  int64_t margin;
};

/// Which sums may have fewer bits than f32.
enum class FastAccumulation { None, Forward, All };

bool isFast(const Fp8Matmul &matmul, FastAccumulation fast) {
  return fast == FastAccumulation::All ||
         (fast == FastAccumulation::Forward && matmul.isForward);
}

/// Rewrites one function after a plan.
class Fp8Rewriter {
public:
  Fp8Rewriter(func::FuncOp function, const Fp8Plan &plan, const StateRule &rule,
              FastAccumulation fast)
      : function(function), plan(plan), rule(rule), fast(fast),
        editor(function, "mpt-fp8"), f32(Float32Type::get(function.getContext())) {}

  LogicalResult run();

private:
  struct Quantized {
    /// f8, in the shape of the source.
    Value value;
    Value scale, inverse, amax;
  };

  RankedTensorType typed(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, f32);
  }
  Value makeConstant(OpBuilder &builder, Location loc, ArrayRef<float> numbers,
                     ArrayRef<int64_t> shape) {
    return ConstantOp::create(builder, loc,
                              DenseElementsAttr::get(typed(shape), numbers));
  }
  /// Of `like`'s shape, all elements `number`.
  Value makeSplat(OpBuilder &builder, Location loc, Value like, float number) {
    return ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(cast<RankedTensorType>(like.getType()), number));
  }
  Value isFinite(OpBuilder &builder, Location loc, Value x);
  Value widen(OpBuilder &builder, Location loc, Value x);
  Value chooseScale(OpBuilder &builder, Location loc, Value amax, Value largest,
                    Value old);
  Quantized quantize(unsigned number);
  Value getOperand(Value operand, const Quantized &tensor, OpBuilder &builder);
  void rewrite(const Fp8Matmul &planned);
  void updateState();

  func::FuncOp function;
  const Fp8Plan &plan;
  const StateRule &rule;
  FastAccumulation fast;
  StepEditor editor;
  Type f32;
  SmallVector<Quantized> tensors;
  /// Delayed: [tensors, history] and [tensors].
  BlockArgument history, scales;
};

Value Fp8Rewriter::isFinite(OpBuilder &builder, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType()).clone(builder.getI1Type());
  return IsFiniteOp::create(builder, loc, type, x);
}

Value Fp8Rewriter::widen(OpBuilder &builder, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getElementType() == f32)
    return x;
  return CastOp::create(builder, loc, type.clone(f32), x, /*autocast=*/false);
}

/// largest / amax / 2^margin; `old` where amax is zero or not finite, the largest f32
/// where the quotient is none.
Value Fp8Rewriter::chooseScale(OpBuilder &builder, Location loc, Value amax,
                               Value largest, Value old) {
  auto type = cast<RankedTensorType>(amax.getType());
  auto where = [&](Value condition, Value yes, Value no) {
    return WhereOp::create(builder, loc, type, condition, yes, no);
  };
  Value quotient = DivOp::create(builder, loc, type, largest, amax);
  if (rule.margin != 0)
    quotient = MulOp::create(
        builder, loc, type, quotient,
        makeSplat(builder, loc, amax, std::ldexp(1.0f, -static_cast<int>(rule.margin))));
  quotient = where(isFinite(builder, loc, quotient), quotient,
                   makeSplat(builder, loc, amax, FLT_MAX));
  Value positive =
      CompareOp::create(builder, loc, type.clone(builder.getI1Type()), amax,
                        makeSplat(builder, loc, amax, 0.0f), ComparePredicate::GT);
  quotient = where(positive, quotient, old);
  return where(isFinite(builder, loc, amax), quotient, old);
}

Fp8Rewriter::Quantized Fp8Rewriter::quantize(unsigned number) {
  const Fp8Tensor &tensor = plan.tensors[number];
  Location loc = tensor.source.getLoc();
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(tensor.source);
  const float largest = getLargest(tensor.format);
  auto sourceType = cast<RankedTensorType>(tensor.source.getType());
  auto wideType = sourceType.clone(f32);
  Value wide = widen(builder, loc, tensor.source);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, sourceType.getRank()));
  Value magnitudes = AbsOp::create(builder, loc, wideType, wide);
  Value amax = magnitudes;
  if (!axes.empty())
    amax = ReduceOp::create(builder, loc, typed({}), magnitudes, ReduceKind::Max, axes,
                            /*keep_dims=*/false, /*acc_type=*/TypeAttr());
  Quantized made;
  if (rule.delayed) {
    Value one =
        SliceOp::create(builder, loc, typed({1}), scales, ArrayRef<int64_t>{number},
                        ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1});
    made.scale = ReshapeOp::create(builder, loc, typed({}), one);
  } else {
    made.scale =
        chooseScale(builder, loc, amax, makeConstant(builder, loc, {largest}, {}),
                    makeConstant(builder, loc, {1.0f}, {}));
  }
  made.inverse = DivOp::create(builder, loc, typed({}),
                               makeConstant(builder, loc, {1.0f}, {}), made.scale);
  made.amax = amax;
  // Numbers that are too large saturate. NaN and infinity stay, so that a check after the
  // matmul finds them.
  Value scaled = MulOp::create(builder, loc, wideType, wide, made.scale);
  scaled = MinimumOp::create(builder, loc, wideType, scaled,
                             makeConstant(builder, loc, {largest}, {}));
  scaled = MaximumOp::create(builder, loc, wideType, scaled,
                             makeConstant(builder, loc, {-largest}, {}));
  scaled =
      WhereOp::create(builder, loc, wideType, isFinite(builder, loc, wide), scaled, wide);
  Type narrow = tensor.format == Fp8Format::E4M3
                    ? Type(Float8E4M3FNType::get(builder.getContext()))
                    : Type(Float8E5M2Type::get(builder.getContext()));
  made.value = CastOp::create(builder, loc, sourceType.clone(narrow), scaled,
                              /*autocast=*/false);
  return made;
}

/// The quantized tensor, moved as `operand` moves its source.
Value Fp8Rewriter::getOperand(Value operand, const Quantized &tensor,
                              OpBuilder &builder) {
  SmallVector<Operation *> moves;
  while (Operation *op = operand.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp>(op))
      break;
    moves.push_back(op);
    operand = op->getOperand(0);
  }
  Value moved = tensor.value;
  Type narrow = cast<RankedTensorType>(moved.getType()).getElementType();
  for (Operation *move : llvm::reverse(moves)) {
    auto type = cast<RankedTensorType>(move->getResult(0).getType()).clone(narrow);
    IRMapping mapping;
    mapping.map(move->getOperand(0), moved);
    Operation *copy = builder.clone(*move, mapping);
    copy->getResult(0).setType(type);
    moved = copy->getResult(0);
  }
  return moved;
}

void Fp8Rewriter::rewrite(const Fp8Matmul &planned) {
  Operation *op = planned.op;
  Location loc = op->getLoc();
  OpBuilder builder(op);
  const Quantized &left = tensors[planned.lhs], &right = tensors[planned.rhs];
  Value lhs = getOperand(op->getOperand(0), left, builder);
  Value rhs = getOperand(op->getOperand(1), right, builder);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto wide = type.clone(f32);
  Value result, bias;
  const bool isFast = ::isFast(planned, fast);
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    result = MatmulOp::create(builder, loc, wide, lhs, rhs, matmul.getTransposeLhsAttr(),
                              matmul.getTransposeRhsAttr(), /*acc_type=*/TypeAttr(),
                              isFast ? builder.getUnitAttr() : UnitAttr());
  } else {
    auto linear = cast<LinearOp>(op);
    bias = linear.getBias();
    result =
        LinearOp::create(builder, loc, wide, lhs, rhs, /*bias=*/Value(), Epilogue::None,
                         /*acc_type=*/TypeAttr(), linear.getTransposeWeight(), isFast);
  }
  Value inverse = MulOp::create(builder, loc, typed({}), left.inverse, right.inverse);
  result = MulOp::create(builder, loc, wide, result, inverse);
  if (bias)
    result = AddOp::create(builder, loc, wide, result, widen(builder, loc, bias));
  if (type != wide)
    result = CastOp::create(builder, loc, type, result, /*autocast=*/false);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void Fp8Rewriter::updateState() {
  OpBuilder builder(function.getBody().front().getTerminator());
  Location loc = function.getLoc();
  const int64_t count = tensors.size();
  SmallVector<Value> newest;
  SmallVector<float> largest;
  for (auto [made, tensor] : llvm::zip_equal(tensors, plan.tensors)) {
    newest.push_back(ReshapeOp::create(builder, loc, typed({1, 1}), made.amax));
    largest.push_back(getLargest(tensor.format));
  }
  Value last = ConcatOp::create(builder, loc, typed({count, 1}), newest,
                                builder.getI64IntegerAttr(0));
  // Ranks have data of their own, and one state.
  for (auto exchange : function.getBody().front().getOps<AllReduceOp>()) {
    last = AllReduceOp::create(
               builder, loc, last.getType(), last, exchange.getAxisAttr(),
               CollectiveKindAttr::get(builder.getContext(), CollectiveKind::Max),
               exchange.getOrderAttr(), TypeAttr())
               .getOutputs()
               .front();
    break;
  }
  // One that is not finite says nothing of the next step.
  last = WhereOp::create(builder, loc, typed({count, 1}), isFinite(builder, loc, last),
                         last, makeSplat(builder, loc, last, 0.0f));
  Value moved = last, amax;
  if (rule.history > 1) {
    Value kept = SliceOp::create(
        builder, loc, typed({count, rule.history - 1}), history, ArrayRef<int64_t>{0, 0},
        ArrayRef<int64_t>{count, rule.history - 1}, ArrayRef<int64_t>{1, 1});
    moved = ConcatOp::create(builder, loc, typed({count, rule.history}),
                             ValueRange{last, kept}, builder.getI64IntegerAttr(1));
  }
  if (rule.useMax)
    amax = ReduceOp::create(builder, loc, typed({count}), moved, ReduceKind::Max,
                            ArrayRef<int64_t>{1}, /*keep_dims=*/false,
                            /*acc_type=*/TypeAttr());
  else
    amax = ReshapeOp::create(builder, loc, typed({count}), last);
  Value next = chooseScale(builder, loc, amax,
                           makeConstant(builder, loc, largest, {count}), scales);
  editor.addResult(moved, kFp8HistoryState, kFp8HistoryState);
  editor.addResult(next, kFp8ScaleState, kFp8ScaleState);
}

LogicalResult Fp8Rewriter::run() {
  MLIRContext *context = function.getContext();
  const int64_t count = plan.tensors.size();
  if (rule.delayed) {
    history = editor.addArgument(typed({count, rule.history}), kFp8HistoryState,
                                 Role::RunningStat, getZerosInit(context));
    scales = editor.addArgument(typed({count}), kFp8ScaleState, Role::RunningStat,
                                getConstantInit(context, 1.0));
  }
  for (unsigned number = 0; number < plan.tensors.size(); ++number)
    tensors.push_back(quantize(number));
  for (const Fp8Matmul &planned : plan.matmuls)
    rewrite(planned);
  if (rule.delayed)
    updateState();
  return editor.finish();
}

struct Fp8Pass : mpt::impl::Fp8PassBase<Fp8Pass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<llvm::Regex> patterns;
    if (failed(readOptions(module, patterns)))
      return signalPassFailure();
    func::FuncOp step = findStepFunction(module, function, "mpt-fp8");
    if (!step)
      return signalPassFailure();
    if (StepView(step).findArgument(kFp8ScaleState) ||
        !step.getBody().front().getOps<ScaledMatmulOp>().empty()) {
      step.emitError("mpt-fp8: @")
          << step.getName() << " has scales of 8-bit floats already; run this pass once";
      return signalPassFailure();
    }
    auto isKept = [&](Operation *op) {
      if (patterns.empty())
        return false;
      std::string place = describePlace(op);
      return llvm::any_of(
          patterns, [&](const llvm::Regex &pattern) { return pattern.match(place); });
    };
    warnOfUnmatched(step, patterns);
    if (hasBlocks())
      return runOnBlocks(step, isKept);
    if (!step.getBody().front().getOps<UnscaleOp>().empty()) {
      step.emitError("mpt-fp8: the loss of @")
          << step.getName() << " is scaled already, so a step that is skipped would not "
          << "keep the scales of 8-bit floats; run --mpt-loss-scale after this pass";
      return signalPassFailure();
    }
    Fp8Plan plan = planFp8(step, {format == "hybrid", alignment}, isKept);
    for (auto &[op, reason] : plan.kept)
      emitRemark(RemarkId::Fp8Kept, op->getLoc(), "") << remark::reason("{0}", reason);
    const FastAccumulation fast = fastAccumulation == "all" ? FastAccumulation::All
                                  : fastAccumulation == "forward"
                                      ? FastAccumulation::Forward
                                      : FastAccumulation::None;
    for (const Fp8Matmul &planned : plan.matmuls)
      emitRemark(RemarkId::Fp8Matmul, planned.op->getLoc(), "")
          << remark::reason("{0} by {1}{2}", getName(plan.tensors[planned.lhs].format),
                            getName(plan.tensors[planned.rhs].format),
                            isFast(planned, fast) ? ", with fast accumulation" : "");
    if (plan.matmuls.empty())
      return warnOfNoMatmul(step, plan.kept);
    StateRule rule{recipe == "delayed", history, amax == "max", margin};
    if (failed(Fp8Rewriter(step, plan, rule, fast).run()))
      signalPassFailure();
  }

private:
  static StringRef getName(Fp8Format format) {
    return format == Fp8Format::E4M3 ? "f8E4M3FN" : "f8E5M2";
  }

  bool hasBlocks() const { return recipe == "deepseek" || recipe == "mxfp8"; }

  /// Warns of each pattern of `keep`, compiled in `patterns`, that matches no matmul.
  void warnOfUnmatched(func::FuncOp step, ArrayRef<llvm::Regex> patterns) {
    SmallVector<std::string> places;
    if (!patterns.empty())
      step.walk([&](Operation *op) {
        if (isa<MatmulOp, LinearOp>(op))
          places.push_back(describePlace(op));
      });
    for (auto [text, pattern] : llvm::zip(keep, patterns))
      if (llvm::none_of(places, [&, &regex = pattern](const std::string &place) {
            return regex.match(place);
          }))
        mlir::emitWarning(step.getLoc(), "mpt-fp8: keep: '")
            << text << "' matches no matmul of @" << step.getName()
            << "; it is matched with an op's name, location (file:line, name) and "
               "function (@name)";
  }

  /// `kept` are the matmuls that keep their types, and why.
  void warnOfNoMatmul(func::FuncOp step,
                      ArrayRef<std::pair<Operation *, std::string>> kept) {
    std::string why;
    if (!kept.empty())
      why = " (the first keeps its types: " + kept.front().second +
            "; remarks mpt.fp8.kept name all)";
    warnOfNothingToDo(getOperation(), getArgument(),
                      "no matmul that can take 8-bit floats in @" + step.getName() + why);
  }

  void runOnBlocks(func::FuncOp step, llvm::function_ref<bool(Operation *)> isKept) {
    Fp8BlockRecipe blocks;
    Fp8BlockScales blockScales;
    blocks.quantizeHead = quantizeHead;
    blocks.quantizeRouter = quantizeRouter;
    blockScales.accumulatorBits = accumulatorBits;
    if (recipe == "deepseek") {
      blocks.fromSaved = saved == "quantized";
      blockScales.rule = scales == "f32" ? ScaleRule::Largest : ScaleRule::PowerOfTwo;
      blockScales.promotion = promotion;
    } else {
      blocks.length = 32;
      blocks.squareParameters = blocks.fromSaved = false;
      blockScales.areE8M0 = true;
      blockScales.promotion = 0;
    }
    Fp8BlockPlan plan = planFp8Blocks(step, blocks, alignment, isKept);
    for (auto &[op, reason] : plan.kept)
      emitRemark(RemarkId::Fp8Kept, op->getLoc(), "") << remark::reason("{0}", reason);
    auto describe = [&](unsigned number) {
      const Fp8BlockTensor &tensor = plan.tensors[number];
      const bool differs = blockScales.getRule(tensor) != blockScales.rule;
      return llvm::formatv("f8E4M3FN in blocks of {0}x{1}{2}{3}", tensor.block[0],
                           tensor.block[1], differs ? ", scaled by powers of two" : "",
                           tensor.from ? ", made from the 8-bit copy" : "")
          .str();
    };
    for (const Fp8BlockMatmul &planned : plan.matmuls)
      emitRemark(RemarkId::Fp8Matmul, planned.op->getLoc(), "")
          << remark::reason("{0} by {1}", describe(planned.lhs), describe(planned.rhs));
    if (plan.matmuls.empty())
      return warnOfNoMatmul(step, plan.kept);
    rewriteFp8Blocks(step, plan, blockScales);
    markRecomputed(step);
  }

  /// Marks what the backward pass computes again, with the 8-bit copies made of it.
  void markRecomputed(func::FuncOp step) {
    const bool norms = llvm::is_contained(recompute, "norms");
    const bool swiglu = llvm::is_contained(recompute, "swiglu");
    auto never = StringAttr::get(&getContext(), "never");
    auto isGate = [](Value value) { return value.getDefiningOp<SiluOp>() != nullptr; };
    for (Operation &op : step.getBody().front()) {
      // All further ops are of the backward pass.
      if (isa<GradSeedOp>(op))
        return;
      const bool isProduct = isa<MulOp>(op) && llvm::any_of(op.getOperands(), isGate);
      if (!(norms && isa<LayerNormOp, RMSNormOp>(op)) && !(swiglu && isProduct))
        continue;
      SmallVector<Operation *> marked = {&op};
      if (isProduct)
        for (Value operand : op.getOperands())
          if (isGate(operand))
            marked.push_back(operand.getDefiningOp());
      for (size_t i = 0; i < marked.size(); ++i) {
        marked[i]->setAttr(kSaveAttr, never);
        for (Operation *user : marked[i]->getUsers())
          if (isa<ReshapeOp, CastOp, QuantizeOp>(user) &&
              !llvm::is_contained(marked, user))
            marked.push_back(user);
      }
    }
  }

  /// An option that `recipe` does not read must not have a value.
  LogicalResult checkUnused(bool isRead, StringRef option, bool isDefault,
                            StringRef recipes) {
    if (isRead || isDefault)
      return success();
    return mlir::emitError(getOperation().getLoc(), "mpt-fp8: ")
           << option << " is an option of " << recipes << ", and the recipe is "
           << std::string(recipe) << "; leave it out";
  }

  LogicalResult checkFastAccumulation() {
    if (fastAccumulation == "none" || fastAccumulation == "forward" ||
        fastAccumulation == "all")
      return success();
    return mlir::emitError(getOperation().getLoc(),
                           "mpt-fp8: unknown fast-accumulation '")
           << std::string(fastAccumulation) << "'; expected none, forward or all";
  }

  LogicalResult readOptions(ModuleOp module, SmallVector<llvm::Regex> &patterns) {
    auto expectOne = [&](StringRef option, StringRef value, StringRef one,
                         StringRef other) -> LogicalResult {
      if (value == one || value == other)
        return success();
      return mlir::emitError(module.getLoc(), "mpt-fp8: unknown ")
             << option << " '" << value << "'; expected " << one << " or " << other;
    };
    if (!hasBlocks() && recipe != "delayed" && recipe != "current")
      return mlir::emitError(module.getLoc(), "mpt-fp8: unknown recipe '")
             << std::string(recipe) << "'; expected delayed, current, deepseek or mxfp8";
    if (failed(expectOne("format", format, "hybrid", "e4m3")) ||
        failed(expectOne("amax", amax, "max", "most_recent")) ||
        failed(checkFastAccumulation()) ||
        failed(expectOne("scales", scales, "power_of_two", "f32")) ||
        failed(expectOne("saved", saved, "quantized", "original")))
      return failure();
    const StringRef perTensor = "recipe=delayed and recipe=current";
    const StringRef perBlock = "recipe=deepseek and recipe=mxfp8";
    const bool isDeepSeek = recipe == "deepseek", isDelayed = recipe == "delayed";
    if (failed(checkUnused(!hasBlocks(), "format", format == "hybrid", perTensor)) ||
        failed(checkUnused(!hasBlocks(), "margin", margin == 0, perTensor)) ||
        failed(checkUnused(!hasBlocks(), "fast-accumulation", fastAccumulation == "none",
                           perTensor)) ||
        failed(checkUnused(isDelayed, "history", history == 1024, "recipe=delayed")) ||
        failed(checkUnused(isDelayed, "amax", amax == "max", "recipe=delayed")) ||
        failed(checkUnused(isDeepSeek, "scales", scales == "power_of_two",
                           "recipe=deepseek")) ||
        failed(
            checkUnused(isDeepSeek, "promotion", promotion == 128, "recipe=deepseek")) ||
        failed(
            checkUnused(isDeepSeek, "saved", saved == "quantized", "recipe=deepseek")) ||
        failed(checkUnused(hasBlocks(), "accumulator-bits", accumulatorBits == 0,
                           perBlock)) ||
        failed(checkUnused(hasBlocks(), "recompute", recompute.empty(), perBlock)) ||
        failed(checkUnused(hasBlocks(), "quantize-head", !quantizeHead, perBlock)) ||
        failed(checkUnused(hasBlocks(), "quantize-router", !quantizeRouter, perBlock)))
      return failure();
    for (StringRef part : recompute)
      if (failed(expectOne("recompute", part, "norms", "swiglu")))
        return failure();
    if (accumulatorBits != 0 && (accumulatorBits < 8 || accumulatorBits > 18))
      return mlir::emitError(module.getLoc(), "mpt-fp8: expected accumulator-bits from 8 "
                                              "to 18, or 0 for f32, found ")
             << int64_t(accumulatorBits);
    if (promotion < 0 || promotion % 128 != 0)
      return mlir::emitError(module.getLoc(), "mpt-fp8: expected a promotion that is a "
                                              "multiple of 128, or 0, found ")
             << int64_t(promotion);
    if (history < 1 || history > 65536 || margin < 0 || margin > 30 || alignment < 1)
      return mlir::emitError(module.getLoc(),
                             "mpt-fp8: expected a history of 1 to 65536 steps, a margin "
                             "of 0 to 30 and an alignment of at least 1, found ")
             << int64_t(history) << ", " << int64_t(margin) << " and "
             << int64_t(alignment);
    for (const std::string &text : keep) {
      llvm::Regex pattern(text);
      std::string error;
      if (!pattern.isValid(error))
        return mlir::emitError(module.getLoc(), "mpt-fp8: keep: '")
               << text << "' is not a regular expression: " << error;
      patterns.push_back(std::move(pattern));
    }
    return success();
  }
};

} // namespace
