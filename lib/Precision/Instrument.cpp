//===- Instrument.cpp - Records of magnitudes as further results -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-instrument`: counts the magnitudes of a step's values by ops that are
/// there anyway, so that every engine runs them and the planner fuses them. All
/// figures but the extremes are differences of one list of counts: how many
/// elements reach each threshold.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Precision/Passes.h"
#include "mpt/Precision/PrecisionPolicy.h"
#include "mpt/Precision/RangeProfile.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

namespace mpt {
#define GEN_PASS_DEF_INSTRUMENTPASS
#include "mpt/Precision/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// A row that is counted at once stays in the first-level cache.
static constexpr int64_t longestRow = 4096;
static constexpr int64_t shortestRow = 64;

/// The element count of a row that divides `count`.
static int64_t getRowLength(int64_t count) {
  if (count <= longestRow)
    return count;
  for (int64_t length = longestRow; length >= shortestRow; --length)
    if (count % length == 0)
      return length;
  return count;
}

/// True for what makes no new numbers of interest: its operands are recorded, if
/// anything. The loss scale itself is always f32.
static bool onlyMoves(Operation *op) {
  if (auto cast = dyn_cast<CastOp>(op)) {
    auto from = dyn_cast<FloatType>(cast.getX().getType().getElementType());
    auto to = dyn_cast<FloatType>(cast.getY().getType().getElementType());
    return !from || !to ||
           APFloat::isRepresentableBy(from.getFloatSemantics(), to.getFloatSemantics());
  }
  return isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp, PadOp, GatherOp,
             StopGradientOp, BarrierOp, IotaOp, GradSeedOp, ScaleLossOp>(op);
}

/// True for what only the update of the state needs.
static bool isUpdate(Operation *op) {
  return isa<GradientsOp, UnscaleOp, AllFiniteOp, UpdateLossScaleOp, ClipByGlobalNormOp,
             SelectStateOp, SGDOp, AdamOp, AdamWOp, DequantizeBlockwiseOp>(op);
}

/// What `values=` is matched with, for an argument; as describePlace for an op.
static std::string describeArgument(func::FuncOp function, BlockArgument argument) {
  return getArgumentName(function, argument.getArgNumber()) + " " +
         describeLocation(argument.getLoc()) + " @" + function.getName().str();
}

/// True if planning moves the readers of `value` into the matmul that makes it, where
/// gelu is computed in another way than alone; a record would prevent that.
static bool becomesEpilogue(Value value) {
  for (unsigned step = 0; step < 2 && value.hasOneUse(); ++step) {
    Operation *user = *value.user_begin();
    if (auto gelu = dyn_cast<GeluOp>(user))
      return gelu.getApproximate() == GeluApproximation::Tanh;
    if (!isa<AddOp>(user))
      return false;
    value = user->getResult(0);
  }
  return false;
}

namespace {

struct InstrumentPass : mpt::impl::InstrumentPassBase<InstrumentPass> {
  using Base::Base;
  void runOnOperation() override;
};

/// One run of the pass.
class Instrumenter {
public:
  Instrumenter(ModuleOp module, StringRef function, ArrayRef<std::string> types,
               ArrayRef<std::string> values)
      : module(module), functionName(function), types(types), values(values) {}

  /// The histogram's edges, by the options.
  LogicalResult setEdges(int64_t step, int64_t low, int64_t high);
  LogicalResult run();

private:
  LogicalResult readOptions();
  /// Finds the results to record, in program order.
  LogicalResult choose(func::FuncOp function);
  bool isInput(func::FuncOp function, BlockArgument argument) const;
  void record(Value value);
  /// What formats of blocks hold of `magnitudes`: three counts in f64 for each of them,
  /// of numbers that are not zero, that stay so, and that are normal there. Blocks with
  /// an infinity or NaN are not counted.
  Value countBlocks(OpBuilder &builder, Location loc, Value magnitudes);
  /// The recorded value that `gradient` has the numbers of, or null.
  Value findRecorded(Value gradient);
  /// What each result's `mpt.record` says, but for the figure.
  SmallVector<SmallVector<NamedAttribute>> describe(func::FuncOp step);

  ModuleOp module;
  StringRef functionName;
  ArrayRef<std::string> types, values;
  SmallVector<std::string> formats;
  SmallVector<int64_t> edges;
  SmallVector<float> thresholds;
  SmallVector<llvm::Regex> patterns;
  SmallVector<Value> chosen;
  DenseSet<Value> isChosen;
  struct Figures {
    Value amax, smallest, counts;
    /// Null without formats of blocks.
    Value blocks;
  };
  SmallVector<Figures> figures;
};

} // namespace

LogicalResult Instrumenter::setEdges(int64_t step, int64_t low, int64_t high) {
  if (step < 0 || low < -149 || high > 127 || low > high)
    return mlir::emitError(module.getLoc(),
                           "mpt-instrument: expected histogram-step of at least 0 and "
                           "-149 <= histogram-low <= histogram-high <= 127, found ")
           << step << ", " << low << " and " << high;
  for (int64_t edge = low; step > 0 && edge <= high; edge += step)
    edges.push_back(edge);
  return success();
}

LogicalResult Instrumenter::readOptions() {
  formats.assign(types.begin(), types.end());
  if (formats.empty())
    formats = {"f16"};
  for (StringRef name : formats)
    if (!isRangeFormat(name)) {
      InFlightDiagnostic diagnostic =
          mlir::emitError(module.getLoc(), "mpt-instrument: unknown type '")
          << name << "'; expected ";
      llvm::interleaveComma(
          getFloatFormats(), diagnostic,
          [&](const FloatFormat &format) { diagnostic << format.name; });
      return diagnostic << ", or an 8-bit type in blocks of 2 to 4096, as f8E4M3FN/32";
    }
  RangeThresholds all(formats, edges);
  thresholds.assign(all.thresholds.begin(), all.thresholds.end());
  for (const std::string &text : values) {
    llvm::Regex pattern(text);
    std::string error;
    if (!pattern.isValid(error))
      return mlir::emitError(module.getLoc(), "mpt-instrument: values: '")
             << text << "' is not a regular expression: " << error;
    patterns.push_back(std::move(pattern));
  }
  return success();
}

/// True for data and parameters that the network reads, and not only their update.
bool Instrumenter::isInput(func::FuncOp function, BlockArgument argument) const {
  std::optional<Role> role = StepView::getRole(function, argument.getArgNumber());
  if (role && *role != Role::Parameter && isStateRole(*role))
    return false;
  return llvm::any_of(argument.getUsers(),
                      [](Operation *user) { return !isUpdate(user); });
}

LogicalResult Instrumenter::choose(func::FuncOp function) {
  auto isRecordable = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return false;
    Type element = type.getElementType();
    return element.isF64() || element.isF32() || element.isF16() || element.isBF16() ||
           isa<Float8E4M3FNType, Float8E5M2Type>(element);
  };
  DenseSet<Value> updated;
  bool any = false;
  auto matches = [&](StringRef place) {
    return llvm::any_of(patterns,
                        [&](const llvm::Regex &pattern) { return pattern.match(place); });
  };
  auto choose = [&](Value value) {
    if (cast<RankedTensorType>(value.getType()).getNumElements() == 0)
      return;
    chosen.push_back(value);
    isChosen.insert(value);
  };
  for (BlockArgument argument : function.getArguments()) {
    if (!isRecordable(argument) ||
        !(patterns.empty() ? isInput(function, argument)
                           : matches(describeArgument(function, argument))))
      continue;
    if (!cast<RankedTensorType>(argument.getType()).hasStaticShape())
      return emitError(argument.getLoc(),
                       "mpt-instrument: expected static shapes, found ")
             << argument.getType() << "; run --mpt-specialize first";
    choose(argument);
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    bool updates = isUpdate(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
                     return updated.contains(operand);
                   });
    if (updates)
      updated.insert_range(op.getResults());
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    any |= llvm::any_of(op.getResults(), isRecordable);
    bool wanted = !updates && !onlyMoves(&op);
    if (!patterns.empty())
      wanted = matches(describePlace(&op));
    if (!wanted)
      continue;
    for (OpResult result : op.getResults()) {
      if (!isRecordable(result) || becomesEpilogue(result))
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      if (!type.hasStaticShape())
        return checkStaticShapes(&op, "mpt-instrument");
      choose(result);
    }
  }
  if (!chosen.empty())
    return success();
  if (!any)
    return function.emitError("mpt-instrument: @")
           << function.getName() << " computes no floating-point tensor to record";
  return function.emitError("mpt-instrument: no op with a floating-point result is "
                            "chosen in @")
         << function.getName() << "; choose some with values=REGEX";
}

void Instrumenter::record(Value value) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  auto mark = [&](auto op) -> Value {
    op->setAttr(kRecordAttr, builder.getUnitAttr());
    return op->getResult(0);
  };
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType().isF64() ? Type(builder.getF64Type())
                                               : Type(builder.getF32Type());
  auto typed = [&](ArrayRef<int64_t> shape, Type of) {
    return RankedTensorType::get(shape, of);
  };
  auto reshape = [&](Value from, ArrayRef<int64_t> shape) -> Value {
    auto fromType = cast<RankedTensorType>(from.getType());
    if (fromType.getShape() == shape)
      return from;
    return mark(ReshapeOp::create(builder, loc, fromType.clone(shape), from));
  };
  auto constant = [&](DenseElementsAttr attribute) {
    return mark(ConstantOp::create(builder, loc, attribute));
  };
  auto scalar = [&](double number) {
    return constant(DenseElementsAttr::get(typed({}, element),
                                           builder.getFloatAttr(element, number)));
  };
  auto compare = [&](Value lhs, Value rhs, ComparePredicate predicate,
                     ArrayRef<int64_t> shape) {
    return mark(CompareOp::create(builder, loc, typed(shape, builder.getI1Type()), lhs,
                                  rhs, predicate));
  };
  auto reduce = [&](Value from, ReduceKind kind, ArrayRef<int64_t> axes,
                    ArrayRef<int64_t> shape) {
    return mark(ReduceOp::create(
        builder, loc, cast<RankedTensorType>(from.getType()).clone(shape), from, kind,
        axes, /*keep_dims=*/false, /*acc_type=*/TypeAttr()));
  };
  auto cast = [&](Value from, Type to) {
    return mark(CastOp::create(builder, loc,
                               mlir::cast<RankedTensorType>(from.getType()).clone(to),
                               from, /*autocast=*/false));
  };

  const int64_t count = type.getNumElements(), length = getRowLength(count);
  // A cast reads either type at no cost to autocast, also where it does nothing.
  Value magnitudes =
      mark(AbsOp::create(builder, loc, type.clone(element), cast(value, element)));
  // Autocast leaves records alone if canonicalization took the cast away.
  magnitudes.getDefiningOp()->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
  SmallVector<int64_t> shape(type.getShape());
  if (shape.size() < 2 || shape.back() < 16)
    shape = {count / length, length};
  Value rows = reshape(magnitudes, shape);
  Value infinity = scalar(std::numeric_limits<double>::infinity()), zero = scalar(0);
  Value finite = mark(
      WhereOp::create(builder, loc, typed(shape, element),
                      compare(rows, infinity, ComparePredicate::LT, shape), rows, zero));
  Value nonZero = mark(WhereOp::create(builder, loc, typed(shape, element),
                                       compare(rows, zero, ComparePredicate::GT, shape),
                                       rows, infinity));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  auto toF32 = [&](Value from) {
    return element.isF32() ? from : cast(from, builder.getF32Type());
  };
  Figures made;
  made.amax = toF32(reshape(reduce(finite, ReduceKind::Max, axes, {}), {1}));
  made.smallest = toF32(reshape(reduce(nonZero, ReduceKind::Min, axes, {}), {1}));

  const int64_t bounds = thresholds.size();
  DenseElementsAttr list = DenseElementsAttr::get(
      typed({bounds, 1}, builder.getF32Type()), ArrayRef<float>(thresholds));
  Value limits = constant(list);
  if (element.isF64())
    limits = cast(limits, element);
  Value reached = compare(reshape(magnitudes, {count / length, 1, length}), limits,
                          ComparePredicate::GE, {count / length, bounds, length});
  // Sums of ones are exact in f32 within a row, and in f64 beyond.
  Value sums = reduce(cast(reached, builder.getF32Type()), ReduceKind::Sum, {2},
                      {count / length, bounds});
  made.counts = reduce(cast(sums, builder.getF64Type()), ReduceKind::Sum, {0}, {bounds});
  made.blocks = countBlocks(builder, loc, toF32(magnitudes));
  figures.push_back(made);
}

Value Instrumenter::countBlocks(OpBuilder &builder, Location loc, Value magnitudes) {
  SmallVector<Value> counts;
  auto mark = [&](auto op) -> Value {
    op->setAttr(kRecordAttr, builder.getUnitAttr());
    op->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
    return op->getResult(0);
  };
  Type f32 = builder.getF32Type(), f64 = builder.getF64Type(), i1 = builder.getI1Type();
  auto typed = [](ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  };
  auto scalar = [&](float number) {
    return mark(
        ConstantOp::create(builder, loc, DenseElementsAttr::get(typed({}, f32), number)));
  };
  auto type = cast<RankedTensorType>(magnitudes.getType());
  const int64_t columns = type.getRank() == 0 ? 1 : type.getShape().back();
  const int64_t rows = type.getNumElements() / columns;
  for (const std::string &name : formats) {
    std::optional<BlockFormat> format = findBlockFormat(name);
    if (!format)
      continue;
    const int64_t length = std::min(format->length, columns);
    const int64_t missing = (length - columns % length) % length;
    Value x =
        mark(ReshapeOp::create(builder, loc, typed({rows, columns}, f32), magnitudes));
    if (missing != 0)
      x = mark(PadOp::create(builder, loc, typed({rows, columns + missing}, f32), x,
                             builder.getDenseI64ArrayAttr({0, 0}),
                             builder.getDenseI64ArrayAttr({0, missing}),
                             DenseI64ArrayAttr(), builder.getF64FloatAttr(0.0)));
    const int64_t blocks = rows * (columns + missing) / length;
    const int64_t shape[] = {blocks, length};
    x = mark(ReshapeOp::create(builder, loc, typed(shape, f32), x));
    Value amax = mark(ReduceOp::create(builder, loc, typed({blocks, 1}, f32), x,
                                       ReduceKind::Max, ArrayRef<int64_t>{1},
                                       /*keep_dims=*/true, /*acc_type=*/TypeAttr()));
    Type element = format->element->name == "f8E5M2"
                       ? Type(Float8E5M2Type::get(builder.getContext()))
                       : Type(Float8E4M3FNType::get(builder.getContext()));
    Value scale = mark(BlockScaleOp::create(
        builder, loc, amax.getType(), amax, TypeAttr::get(element),
        ScaleRuleAttr::get(builder.getContext(), ScaleRule::PowerOfTwo)));
    // Zero in blocks that are not finite.
    Value isFinite = mark(IsFiniteOp::create(builder, loc, typed({blocks, 1}, i1), amax));
    x = mark(WhereOp::create(builder, loc, typed(shape, f32), isFinite, x, scalar(0)));
    Value scaled = mark(DivOp::create(builder, loc, typed(shape, f32), x, scale));
    auto count = [&](Value of, Value bound, ComparePredicate predicate) {
      Value is =
          mark(CompareOp::create(builder, loc, typed(shape, i1), of, bound, predicate));
      Value one = mark(CastOp::create(builder, loc, typed(shape, f32), is,
                                      /*autocast=*/false));
      Value sums = mark(ReduceOp::create(builder, loc, typed({blocks, 1}, f32), one,
                                         ReduceKind::Sum, ArrayRef<int64_t>{1},
                                         /*keep_dims=*/true, /*acc_type=*/TypeAttr()));
      sums = mark(CastOp::create(builder, loc, typed({blocks, 1}, f64), sums,
                                 /*autocast=*/false));
      Value total = mark(ReduceOp::create(builder, loc, typed({1}, f64), sums,
                                          ReduceKind::Sum, ArrayRef<int64_t>{0},
                                          /*keep_dims=*/false, /*acc_type=*/TypeAttr()));
      counts.push_back(total);
    };
    count(x, scalar(0), ComparePredicate::GT);
    count(scaled, scalar(format->element->nonZeroFrom), ComparePredicate::GE);
    count(scaled, scalar(format->element->normalFrom), ComparePredicate::GE);
  }
  if (counts.empty())
    return {};
  return mark(ConcatOp::create(builder, loc,
                               typed({static_cast<int64_t>(counts.size())}, f64), counts,
                               builder.getI64IntegerAttr(0)));
}

Value Instrumenter::findRecorded(Value gradient) {
  while (!isChosen.contains(gradient)) {
    Operation *op = gradient.getDefiningOp();
    if (!op || !isa<CastOp, ReshapeOp, TransposeOp, StopGradientOp>(op))
      return {};
    gradient = op->getOperand(0);
  }
  return gradient;
}

SmallVector<SmallVector<NamedAttribute>> Instrumenter::describe(func::FuncOp step) {
  OpNames names(step);
  DenseMap<Value, StringAttr> parameterOf;
  Operation *seed = nullptr;
  for (Operation &op : step.getBody().front()) {
    if (isa<GradSeedOp>(op))
      seed = &op;
    if (auto marker = dyn_cast<GradientsOp>(op))
      for (auto [input, name] : llvm::zip_equal(marker.getInputs(), marker.getNames()))
        if (Value recorded = findRecorded(input))
          parameterOf.try_emplace(recorded, cast<StringAttr>(name));
  }
  Builder builder(module.getContext());
  SmallVector<SmallVector<NamedAttribute>> descriptions;
  for (Value value : chosen) {
    auto text = [&](StringRef key, StringRef content) {
      return builder.getNamedAttr(key, builder.getStringAttr(content));
    };
    auto number = [&](StringRef key, int64_t content) {
      return builder.getNamedAttr(key, builder.getI64IntegerAttr(content));
    };
    auto type = cast<RankedTensorType>(value.getType());
    std::string element;
    llvm::raw_string_ostream(element) << type.getElementType();
    SmallVector<NamedAttribute> attributes = {
        text("location", describeLocation(value.getLoc())), text("type", element),
        number("elements", type.getNumElements())};
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      attributes.append({text("id", getArgumentName(step, argument.getArgNumber())),
                         text("op", "argument"), text("phase", "input"),
                         number("result", 0)});
    } else {
      Operation *op = value.getDefiningOp();
      const bool isBackward = seed && seed->isBeforeInBlock(op);
      attributes.append({text("id", names.lookup(op)),
                         text("op", op->getName().getStringRef()),
                         text("phase", isBackward ? "backward" : "forward"),
                         number("result", cast<OpResult>(value).getResultNumber())});
    }
    if (StringAttr parameter = parameterOf.lookup(value))
      attributes.push_back(builder.getNamedAttr("parameter", parameter));
    descriptions.push_back(std::move(attributes));
  }
  return descriptions;
}

LogicalResult Instrumenter::run() {
  if (failed(readOptions()))
    return failure();
  func::FuncOp step = findStepFunction(module, functionName, "mpt-instrument");
  if (!step)
    return failure();
  if (step->hasAttr(kRecordsAttr))
    return step.emitError("mpt-instrument: @")
           << step.getName() << " holds records already; instrument it once";
  if (failed(choose(step)))
    return failure();
  SmallVector<SmallVector<NamedAttribute>> descriptions = describe(step);
  for (Value value : chosen)
    record(value);

  Builder builder(module.getContext());
  StepEditor editor(step, "mpt-instrument");
  for (auto [index, made] : llvm::enumerate(figures))
    for (auto [figure, result] : {std::pair<StringRef, Value>{"amax", made.amax},
                                  {"smallest", made.smallest},
                                  {"counts", made.counts},
                                  {"blocks", made.blocks}}) {
      if (!result)
        continue;
      SmallVector<NamedAttribute> attributes = descriptions[index];
      attributes.push_back(builder.getNamedAttr("figure", builder.getStringAttr(figure)));
      editor.addResult(
          result, ("record." + Twine(index) + "." + figure).str(), "",
          builder.getNamedAttr(kRecordAttr, builder.getDictionaryAttr(attributes)));
    }
  if (failed(editor.finish()))
    return failure();
  SmallVector<StringRef> formatNames(formats.begin(), formats.end());
  step->setAttr(
      kRecordsAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("types", builder.getStrArrayAttr(formatNames)),
           builder.getNamedAttr("edges", builder.getDenseI64ArrayAttr(edges))}));
  return success();
}

void InstrumentPass::runOnOperation() {
  Instrumenter instrumenter(getOperation(), function, *types, *values);
  if (failed(instrumenter.setEdges(step, low, high)) || failed(instrumenter.run()))
    signalPassFailure();
}
