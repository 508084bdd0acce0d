//===- DataParallel.cpp - A step of many ranks ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-data-parallel`: the exchanges that make the step of one micro-batch that of a
/// rank. Whatever `--mpt-accumulate` does with the values of its micro-batches, the
/// collectives do with those of the ranks.
///
/// What ranks exchange in addition to gradients comes before `mpt.gradients`, where
/// `--mpt-loss-scale` looks for the losses and the state that must be finite.
///
//===----------------------------------------------------------------------===//

#include "StateReplay.h"
#include "SyncBatchNorm.h"
#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Parallel/BucketPlan.h"
#include "mpt/Parallel/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace mpt {
#define GEN_PASS_DEF_DATAPARALLELPASS
#include "mpt/Parallel/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// f32 for narrower floats.
RankedTensorType getWideType(RankedTensorType type) {
  return type.clone(getAccumulatorType(std::nullopt, type.getElementType()));
}

struct Settings {
  StringAttr axis;
  int64_t ranks;
  int64_t bucketBytes;
  CollectiveOrderAttr order;
  /// Null: the gradients' own.
  TypeAttr wire;
  bool synchronizesBatchNorm;
};

/// Rewrites one function.
class Distributor {
public:
  Distributor(func::FuncOp function, const Settings &settings)
      : function(function), block(function.getBody().front()),
        terminator(block.getTerminator()), builder(function.getContext()),
        settings(settings) {}

  LogicalResult run(ArrayRef<std::string> shared);

private:
  LogicalResult check();
  LogicalResult findData(ArrayRef<std::string> shared);
  /// Random numbers of rank r are draw attempt * ranks + r.
  void scaleAttempt();
  /// Collects the values that differ between ranks.
  void findVarying();
  /// Exchanges results and state, before the terminator.
  void exchangeResults(StateReplay &states);
  void exchangeGradients();
  AllReduceOp allReduce(ArrayRef<Value> values, ArrayRef<Type> types, CollectiveKind kind,
                        TypeAttr wire = {});

  func::FuncOp function;
  Block &block;
  Operation *terminator;
  OpBuilder builder;
  const Settings &settings;
  /// One, or one for each of several losses.
  SmallVector<GradientsOp> markers;
  DenseSet<Value> varying;
};

LogicalResult Distributor::check() {
  markers = llvm::to_vector(block.getOps<GradientsOp>());
  if (markers.empty() ||
      (markers.size() > 1 &&
       !llvm::all_of(markers, [](GradientsOp op) { return op->hasAttr(kLossAttr); })))
    return function.emitError("mpt-data-parallel: expected one mpt.gradients op, found ")
           << markers.size() << "; run --mpt-autodiff first";
  for (Operation &op : block) {
    if (isa<SGDOp, AdamOp, AdamWOp, ScaleLossOp, UnscaleOp>(op))
      return op.emitError("mpt-data-parallel: expected gradients that nothing uses yet, "
                          "found '")
             << op.getName() << "'; run --mpt-data-parallel before --mpt-train-step";
    if (failed(checkStaticShapes(&op, "mpt-data-parallel")))
      return failure();
    WalkResult meets = op.walk([](Operation *inner) {
      return isCollective(inner) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (meets.wasInterrupted())
      return op.emitError("mpt-data-parallel: expected a step of one rank, found '")
             << op.getName() << "', which exchanges values between ranks already; run "
             << "--mpt-data-parallel once, on a function without collectives";
  }
  for (GradientsOp marker : markers)
    for (Operation *user : marker->getUsers())
      if (user != terminator)
        return user->emitError("mpt-data-parallel: expected gradients that are only "
                               "returned, found a use; run --mpt-data-parallel before "
                               "--mpt-train-step");
  return success();
}

LogicalResult Distributor::findData(ArrayRef<std::string> shared) {
  llvm::StringSet<> whole;
  for (const std::string &name : shared)
    whole.insert(name);
  StepView step(function);
  for (BlockArgument argument : block.getArguments()) {
    auto [name, role] = std::pair(step[argument].name, step[argument].role);
    const bool isShared = name && whole.erase(name.getValue());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    // A scalar is the same for all micro-batches, as in accumulation.
    if (role && !isStateRole(*role) && !isShared && type && type.getRank() > 0)
      varying.insert(argument);
  }
  if (!whole.empty())
    return function.emitError("mpt-data-parallel: no argument named '")
           << whole.begin()->getKey() << "', which shared names";
  if (varying.empty())
    return function.emitError("mpt-data-parallel: no data that ranks have of their own: "
                              "expected an argument of role input or target with a "
                              "dimension");
  return success();
}

void Distributor::scaleAttempt() {
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  StepView step(function);
  for (BlockArgument argument : block.getArguments()) {
    if (!step[argument].name || step[argument].name.getValue() != "attempt" ||
        argument.getType() != scalar || argument.use_empty() || step[argument].updatedBy)
      continue;
    builder.setInsertionPointToStart(&block);
    const Location loc = argument.getLoc();
    Value ranks = ConstantOp::create(
        builder, loc, scalar,
        DenseElementsAttr::get(scalar, builder.getI64IntegerAttr(settings.ranks)));
    auto first = MulOp::create(builder, loc, scalar, argument, ranks);
    Value rank = RankOp::create(builder, loc, scalar, settings.axis);
    Value draw = AddOp::create(builder, loc, scalar, first, rank);
    argument.replaceAllUsesExcept(draw, first);
    varying.insert(draw);
  }
}

void Distributor::findVarying() {
  for (Operation &op : block.without_terminator()) {
    // What ranks have exchanged is the same on all.
    if (isCollective(&op))
      continue;
    bool depends = false;
    op.walk([&](Operation *inner) {
      depends |= llvm::any_of(inner->getOperands(),
                              [&](Value operand) { return varying.contains(operand); });
    });
    if (depends)
      varying.insert_range(op.getResults());
  }
}

AllReduceOp Distributor::allReduce(ArrayRef<Value> values, ArrayRef<Type> types,
                                   CollectiveKind kind, TypeAttr wire) {
  return AllReduceOp::create(
      builder, values.front().getLoc(), types, values, settings.axis,
      CollectiveKindAttr::get(builder.getContext(), kind), settings.order, wire);
}

void Distributor::exchangeResults(StateReplay &states) {
  builder.setInsertionPoint(terminator);
  // Numbers of results, by what becomes of them.
  SmallVector<unsigned> means, sums, flags, joined;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (states.isState(i) || !varying.contains(value) ||
        value.getDefiningOp<GradientsOp>())
      continue;
    auto type = typeOf(value);
    if (type.getRank() > 0)
      joined.push_back(i);
    else if (isa<FloatType>(type.getElementType()))
      means.push_back(i);
    else
      (type.getElementType().isInteger(1) ? flags : sums).push_back(i);
  }
  for (auto [numbers, kind] :
       {std::pair<ArrayRef<unsigned>, CollectiveKind>{means, CollectiveKind::Mean},
        {sums, CollectiveKind::Sum},
        {flags, CollectiveKind::Any}}) {
    if (numbers.empty())
      continue;
    SmallVector<Value> values;
    SmallVector<Type> types;
    for (unsigned i : numbers) {
      values.push_back(terminator->getOperand(i));
      auto type = typeOf(values.back());
      types.push_back(kind == CollectiveKind::Mean ? getWideType(type) : type);
    }
    auto exchange = allReduce(values, types, kind);
    for (auto [i, value, result] :
         llvm::zip_equal(numbers, values, exchange.getOutputs())) {
      Value back = result;
      if (result.getType() != value.getType())
        back =
            CastOp::create(builder, value.getLoc(), value.getType(), result, UnitAttr());
      terminator->setOperand(i, back);
    }
  }

  auto gather = [&](ArrayRef<Value> values) {
    SmallVector<Type> types;
    for (Value value : values) {
      SmallVector<int64_t> shape(typeOf(value).getShape());
      shape[0] *= settings.ranks;
      types.push_back(typeOf(value).clone(shape));
    }
    return AllGatherOp::create(builder, values.front().getLoc(), types, values,
                               settings.axis);
  };
  // Each by itself, so that each can have a precision of its own.
  for (unsigned i : joined)
    terminator->setOperand(i, gather(terminator->getOperand(i)).getOutputs().front());

  // One exchange for what is added to state, which keeps its precision.
  SmallVector<Value> values;
  for (Value input : states.getInputs()) {
    auto type = typeOf(input);
    values.push_back(type.getRank() > 0 ? input
                                        : ReshapeOp::create(builder, input.getLoc(),
                                                            type.clone({1}), input));
  }
  ValueRange all;
  if (!values.empty()) {
    auto exchange = gather(values);
    exchange->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
    all = exchange.getOutputs();
  }
  states.replay(builder, settings.ranks, [&](unsigned input, int64_t rank) -> Value {
    auto type = typeOf(values[input]);
    SmallVector<int64_t> offsets(type.getRank(), 0), ones(type.getRank(), 1);
    offsets[0] = rank * type.getDimSize(0);
    const Location loc = values[input].getLoc();
    Value part =
        SliceOp::create(builder, loc, type, all[input], offsets, type.getShape(), ones);
    Type own = states.getInputs()[input].getType();
    return part.getType() == own ? part : ReshapeOp::create(builder, loc, own, part);
  });
}

void Distributor::exchangeGradients() {
  DenseMap<Operation *, int64_t> positions;
  for (Operation &op : block)
    positions[&op] = positions.size();
  SmallVector<Value> gradients;
  for (GradientsOp marker : markers)
    llvm::append_range(gradients, marker.getInputs());
  SmallVector<BucketGradient> described;
  for (Value gradient : gradients) {
    Operation *op = gradient.getDefiningOp();
    auto type = typeOf(gradient);
    described.push_back({op ? positions.lookup(op) : -1,
                         type.getNumElements() * type.getElementTypeBitWidth() / 8});
  }
  SmallVector<Value> averages(gradients.size());
  for (ArrayRef<unsigned> bucket : planBuckets(described, settings.bucketBytes)) {
    SmallVector<Value> values;
    SmallVector<Type> types;
    for (unsigned number : bucket) {
      values.push_back(gradients[number]);
      types.push_back(getWideType(typeOf(gradients[number])));
    }
    builder.setInsertionPointToStart(&block);
    // The last gradient that is computed; arguments are there from the start.
    if (Operation *op = values.back().getDefiningOp())
      builder.setInsertionPointAfter(op);
    auto exchange = allReduce(values, types, CollectiveKind::Mean, settings.wire);
    for (auto [number, average] : llvm::zip_equal(bucket, exchange.getOutputs()))
      averages[number] = average;
  }

  builder.setInsertionPoint(terminator);
  ArrayRef<Value> rest = averages;
  for (GradientsOp marker : markers) {
    const unsigned count = marker.getInputs().size();
    auto made = GradientsOp::create(builder, marker.getLoc(), rest.take_front(count),
                                    marker.getNames());
    if (Attribute loss = marker->getAttr(kLossAttr))
      made->setAttr(kLossAttr, loss);
    marker->replaceAllUsesWith(made);
    marker->erase();
    rest = rest.drop_front(count);
  }
}

LogicalResult Distributor::run(ArrayRef<std::string> shared) {
  if (failed(check()) || failed(findData(shared)))
    return failure();
  if (settings.synchronizesBatchNorm &&
      failed(synchronizeBatchNorms(function, settings.axis, settings.ranks)))
    return failure();
  StateReplay states(function);
  scaleAttempt();
  findVarying();
  auto isVarying = [&](Value value) { return varying.contains(value); };
  if (settings.synchronizesBatchNorm)
    states.keepOnly(isVarying);
  if (failed(states.find(isVarying)))
    return failure();
  exchangeResults(states);
  exchangeGradients();
  function.setType(
      builder.getFunctionType(block.getArgumentTypes(), terminator->getOperandTypes()));
  return success();
}

struct DataParallelPass : mpt::impl::DataParallelPassBase<DataParallelPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
  FailureOr<Settings> readOptions();
};

FailureOr<Settings> DataParallelPass::readOptions() {
  ModuleOp module = getOperation();
  Builder builder(&getContext());
  if (size < 1)
    return module.emitError("mpt-data-parallel: expected at least 1 for size, found ")
           << int64_t(size);
  if (bucketBytes < 1)
    return module.emitError(
               "mpt-data-parallel: expected at least 1 for bucket-bytes, found ")
           << int64_t(bucketBytes);
  if (axis.empty())
    return module.emitError("mpt-data-parallel: expected a name for axis, found none");
  std::optional<CollectiveOrder> chosen = symbolizeCollectiveOrder(order);
  if (!chosen)
    return module.emitError("mpt-data-parallel: unknown order '")
           << order << "'; expected rank or library";
  if (batchNorm != "own" && batchNorm != "synchronized")
    return module.emitError("mpt-data-parallel: unknown batch-norm '")
           << batchNorm << "'; expected own or synchronized";
  TypeAttr wireType;
  if (wire == "f32")
    wireType = TypeAttr::get(builder.getF32Type());
  else if (wire == "bf16")
    wireType = TypeAttr::get(builder.getBF16Type());
  else if (wire == "f16")
    wireType = TypeAttr::get(builder.getF16Type());
  else if (!wire.empty())
    return module.emitError("mpt-data-parallel: unknown wire '")
           << wire << "'; expected f32, bf16 or f16";
  return Settings{builder.getStringAttr(axis),
                  size,
                  bucketBytes,
                  CollectiveOrderAttr::get(&getContext(), *chosen),
                  wireType,
                  batchNorm == "synchronized"};
}

LogicalResult DataParallelPass::run() {
  ModuleOp module = getOperation();
  FailureOr<Settings> settings = readOptions();
  func::FuncOp step = findStepFunction(module, function, "mpt-data-parallel");
  if (failed(settings) || !step)
    return failure();
  if (size == 1)
    return success();
  auto mesh = MeshAttr::getChecked(
      [&] { return module.emitError("mpt-data-parallel: "); }, &getContext(),
      ArrayRef(settings->axis), ArrayRef(settings->ranks));
  if (!mesh)
    return failure();
  if (MeshAttr other = getMesh(module); other && other != mesh)
    return module.emitError(
               "mpt-data-parallel: expected a module without a mesh, or with ")
           << mesh << ", found " << other;
  std::vector<std::string> whole(shared.begin(), shared.end());
  if (failed(Distributor(step, *settings).run(whole)))
    return failure();
  module->setAttr(kMeshAttr, mesh);
  return success();
}

} // namespace
