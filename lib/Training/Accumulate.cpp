//===- Accumulate.cpp - Several micro-batches in one step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-accumulate`: repeats what depends on the data for each part of the batch
/// and adds the gradients in f32. What depends on parameters alone (a low copy, the
/// gradient's seed) is there once.
///
/// Each sum is placed after the gradient that it adds, so that one set of
/// gradients and one of sums is live, whatever the number of micro-batches.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Training/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

namespace mpt {
#define GEN_PASS_DEF_ACCUMULATEPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Rewrites one function.
class Accumulator {
public:
  Accumulator(func::FuncOp function, int64_t steps)
      : function(function), block(function.getBody().front()),
        terminator(block.getTerminator()), builder(function.getContext()), steps(steps) {}

  LogicalResult run(ArrayRef<std::string> shared);

private:
  LogicalResult check();
  LogicalResult cutData(ArrayRef<std::string> shared);
  /// Random numbers of micro-batch i are draw attempt * steps + i.
  void scaleAttempt();
  /// Collects the ops whose results differ between micro-batches.
  void findVarying();
  /// Maps what micro-batch `part` reads instead of what the first one reads.
  void mapInputs(int64_t part, IRMapping &mapping);
  void repeat(int64_t part, IRMapping &mapping);
  /// (sum + value) / (steps, if this is the last part).
  Value addTo(Value sum, Value value, int64_t part);
  void addResults(int64_t part, const IRMapping &mapping);
  /// After the definition of `value`, at the latest before the terminator.
  void setInsertionPointAfter(Value value);
  Value inWide(Value value);

  func::FuncOp function;
  Block &block;
  Operation *terminator;
  OpBuilder builder;
  int64_t steps;
  /// One, or one for each of several losses; their gradients, marker by
  /// marker.
  SmallVector<GradientsOp> markers;
  SmallVector<Value> gradients;
  struct Cut {
    BlockArgument data;
    Value first;
    int64_t rows;
  };
  SmallVector<Cut> cuts;
  /// attempt * steps, or null.
  Value draw;
  /// State that one micro-batch hands to the next: argument and result.
  SmallVector<std::pair<BlockArgument, unsigned>> threaded;
  /// What each operand of the terminator was of the first micro-batch.
  SmallVector<Value> firstResults;
  DenseSet<Value> varying;
  SmallVector<Operation *> repeated;
  SmallVector<Value> sums;
  /// Of results: what is there so far.
  SmallVector<Value> totals;
  SmallVector<SmallVector<Value>> pieces;
};

LogicalResult Accumulator::check() {
  markers = llvm::to_vector(block.getOps<GradientsOp>());
  if (markers.empty() ||
      (markers.size() > 1 &&
       !llvm::all_of(markers, [](GradientsOp op) { return op->hasAttr(kLossAttr); })))
    return function.emitError("mpt-accumulate: expected one mpt.gradients op, found ")
           << markers.size() << "; run --mpt-autodiff first";
  for (GradientsOp marker : markers)
    llvm::append_range(gradients, marker.getInputs());
  for (Operation &op : block) {
    if (isa<SGDOp, AdamOp, AdamWOp, ScaleLossOp, UnscaleOp>(op))
      return op.emitError("mpt-accumulate: expected gradients that nothing uses yet, "
                          "found '")
             << op.getName() << "'; run --mpt-accumulate right after --mpt-autodiff";
    if (isa<AccumulateOp>(op))
      return op.emitError("mpt-accumulate: the gradients are accumulated already; give "
                          "all micro-batches in steps");
    if (isCollective(&op))
      return op.emitError("mpt-accumulate: expected a step of one rank, found '")
             << op.getName() << "', which each micro-batch would repeat; run "
             << "--mpt-accumulate before --mpt-data-parallel";
    if (failed(checkStaticShapes(&op, "mpt-accumulate")))
      return failure();
  }
  // Each micro-batch has ops of its own. Four million take about 2 GB.
  const int64_t ops = llvm::range_size(block), most = int64_t(1) << 22;
  if (steps > most / ops)
    return function.emitError("mpt-accumulate: ")
           << steps << " micro-batches of " << ops << " ops each are more than " << most
           << " ops; use fewer micro-batches";
  for (GradientsOp marker : markers)
    for (Operation *user : marker->getUsers())
      if (user != terminator)
        return user->emitError("mpt-accumulate: expected gradients that are only "
                               "returned, found a use; run --mpt-accumulate right after "
                               "--mpt-autodiff");
  return success();
}

LogicalResult Accumulator::cutData(ArrayRef<std::string> shared) {
  llvm::StringSet<> whole;
  for (const std::string &name : shared)
    whole.insert(name);
  builder.setInsertionPointToStart(&block);
  StepView step(function);
  for (BlockArgument argument : block.getArguments()) {
    auto [name, role] = std::pair(step[argument].name, step[argument].role);
    bool isShared = name && whole.erase(name.getValue());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isData = role && !isStateRole(*role);
    if (!isData || isShared || !type || type.getRank() == 0)
      continue;
    if (!type.hasStaticShape())
      return mlir::emitError(argument.getLoc(),
                             "mpt-accumulate: expected static shapes, found ")
             << type << "; run --mpt-specialize first";
    SmallVector<int64_t> shape(type.getShape()), zeros(type.getRank(), 0),
        ones(type.getRank(), 1);
    int64_t rows = shape[0];
    shape[0] = rows * steps;
    argument.setType(type.clone(shape));
    auto first = SliceOp::create(builder, argument.getLoc(), type, argument, zeros,
                                 type.getShape(), ones);
    argument.replaceAllUsesExcept(first, first);
    cuts.push_back({argument, first, rows});
  }
  if (!whole.empty())
    return function.emitError("mpt-accumulate: no argument named '")
           << whole.begin()->getKey() << "', which shared names";
  if (cuts.empty())
    return function.emitError("mpt-accumulate: no data to cut: expected an argument of "
                              "role input or target with a dimension");
  return success();
}

void Accumulator::scaleAttempt() {
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringAttr name = StepView::getName(function, index);
    if (!name || name.getValue() != "attempt" || argument.getType() != scalar ||
        argument.use_empty() ||
        llvm::any_of(threaded, [&](auto &each) { return each.first == argument; }))
      continue;
    Value factor = ConstantOp::create(
        builder, argument.getLoc(), scalar,
        DenseElementsAttr::get(scalar, builder.getI64IntegerAttr(steps)));
    auto scaled = MulOp::create(builder, argument.getLoc(), scalar, argument, factor);
    argument.replaceAllUsesExcept(scaled, scaled);
    draw = scaled;
  }
}

void Accumulator::findVarying() {
  for (const Cut &cut : cuts)
    varying.insert(cut.first);
  if (draw)
    varying.insert(draw);
  for (auto [argument, result] : threaded)
    varying.insert(argument);
  for (Operation &op : block.without_terminator()) {
    bool depends = false;
    op.walk([&](Operation *inner) {
      depends |= llvm::any_of(inner->getOperands(),
                              [&](Value operand) { return varying.contains(operand); });
    });
    if (!depends || isa<GradientsOp>(op))
      continue;
    varying.insert_range(op.getResults());
    repeated.push_back(&op);
  }
}

void Accumulator::mapInputs(int64_t part, IRMapping &mapping) {
  builder.setInsertionPoint(terminator);
  for (const Cut &cut : cuts) {
    auto type = typeOf(cut.first);
    SmallVector<int64_t> offsets(type.getRank(), 0), ones(type.getRank(), 1);
    offsets[0] = part * cut.rows;
    mapping.map(cut.first, SliceOp::create(builder, cut.data.getLoc(), type, cut.data,
                                           offsets, type.getShape(), ones));
  }
  if (draw) {
    auto type = typeOf(draw);
    Value number =
        ConstantOp::create(builder, draw.getLoc(), type,
                           DenseElementsAttr::get(type, builder.getI64IntegerAttr(part)));
    mapping.map(draw, AddOp::create(builder, draw.getLoc(), type, draw, number));
  }
}

void Accumulator::setInsertionPointAfter(Value value) {
  if (Operation *op = value.getDefiningOp())
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPoint(terminator);
}

Value Accumulator::inWide(Value value) {
  auto type = typeOf(value);
  if (type.getElementType().getIntOrFloatBitWidth() >= 32)
    return value;
  return CastOp::create(builder, value.getLoc(), type.clone(builder.getF32Type()), value,
                        UnitAttr());
}

Value Accumulator::addTo(Value sum, Value value, int64_t part) {
  int64_t divisor = part + 1 == steps ? steps : 1;
  return AccumulateOp::create(builder, value.getLoc(), sum.getType(), sum, value,
                              builder.getI64IntegerAttr(divisor));
}

void Accumulator::repeat(int64_t part, IRMapping &mapping) {
  builder.setInsertionPoint(terminator);
  for (Operation *op : repeated)
    builder.clone(*op, mapping);
  for (auto [sum, gradient] : llvm::zip_equal(sums, gradients)) {
    Value mine = mapping.lookupOrDefault(gradient);
    // A gradient that no data reaches is the same in every part.
    if (mine == gradient)
      builder.setInsertionPoint(terminator);
    else
      setInsertionPointAfter(mine);
    sum = addTo(sum, mine, part);
  }
}

void Accumulator::addResults(int64_t part, const IRMapping &mapping) {
  builder.setInsertionPoint(terminator);
  for (auto [i, total] : llvm::enumerate(totals)) {
    Value first = firstResults[i];
    if (!total || !varying.contains(first))
      continue;
    Value mine = mapping.lookupOrDefault(first);
    auto type = typeOf(mine);
    if (type.getRank() > 0)
      pieces[i].push_back(mine);
    else if (isa<FloatType>(type.getElementType()))
      total = addTo(inWide(total), mine, part);
    else if (type.getElementType().isInteger(1))
      total = OrOp::create(builder, mine.getLoc(), type, total, mine);
    else
      total = AddOp::create(builder, mine.getLoc(), type, total, mine);
  }
}

LogicalResult Accumulator::run(ArrayRef<std::string> shared) {
  if (failed(check()) || failed(cutData(shared)))
    return failure();
  StepView step(function);
  firstResults.assign(terminator->operand_begin(), terminator->operand_end());
  totals.resize(firstResults.size());
  pieces.resize(firstResults.size());
  for (auto [i, value] : llvm::enumerate(firstResults)) {
    if (std::optional<unsigned> updates = step.getResults()[i].updates)
      threaded.push_back({block.getArgument(*updates), i});
    else if (!value.getDefiningOp<GradientsOp>())
      totals[i] = value;
  }
  scaleAttempt();
  findVarying();
  for (auto [i, total] : llvm::enumerate(totals))
    if (total && typeOf(total).getRank() > 0)
      pieces[i].push_back(total);

  for (Value gradient : gradients) {
    setInsertionPointAfter(gradient);
    sums.push_back(inWide(gradient));
  }
  IRMapping previous;
  for (int64_t part = 1; part < steps; ++part) {
    IRMapping mapping;
    mapInputs(part, mapping);
    for (auto [argument, result] : threaded)
      mapping.map(argument, previous.lookupOrDefault(firstResults[result]));
    repeat(part, mapping);
    addResults(part, mapping);
    previous = mapping;
  }

  builder.setInsertionPoint(terminator);
  llvm::SmallDenseMap<Operation *, GradientsOp> newMarkers;
  ArrayRef<Value> rest = sums;
  for (GradientsOp marker : markers) {
    unsigned count = marker.getInputs().size();
    auto made = GradientsOp::create(builder, marker.getLoc(), rest.take_front(count),
                                    marker.getNames());
    if (Attribute loss = marker->getAttr(kLossAttr))
      made->setAttr(kLossAttr, loss);
    newMarkers[marker] = made;
    rest = rest.drop_front(count);
  }
  for (auto [i, first] : llvm::enumerate(firstResults)) {
    Value result = first;
    if (GradientsOp made = newMarkers.lookup(first.getDefiningOp())) {
      result = made.getResult(cast<OpResult>(first).getResultNumber());
    } else if (!totals[i]) {
      result = previous.lookupOrDefault(first);
    } else if (pieces[i].size() > 1) {
      SmallVector<int64_t> shape(typeOf(first).getShape());
      shape[0] *= steps;
      result = ConcatOp::create(builder, first.getLoc(), typeOf(first).clone(shape),
                                pieces[i], builder.getI64IntegerAttr(0));
    } else if (totals[i].getType() != first.getType()) {
      result =
          CastOp::create(builder, first.getLoc(), first.getType(), totals[i], UnitAttr());
    } else {
      result = totals[i];
    }
    terminator->setOperand(i, result);
  }
  for (GradientsOp marker : markers)
    marker->erase();
  function.setType(
      builder.getFunctionType(block.getArgumentTypes(), terminator->getOperandTypes()));
  return success();
}

struct AccumulatePass : mpt::impl::AccumulatePassBase<AccumulatePass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp step = findStepFunction(getOperation(), function, "mpt-accumulate");
    if (!step)
      return signalPassFailure();
    if (steps < 1) {
      step.emitError("mpt-accumulate: expected at least 1 for steps, found ")
          << steps.getValue();
      return signalPassFailure();
    }
    std::vector<std::string> whole(shared.begin(), shared.end());
    if (steps > 1 && failed(Accumulator(step, steps).run(whole)))
      return signalPassFailure();
  }
};

} // namespace
