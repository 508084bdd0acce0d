//===- MasterWeights.cpp - The state that keeps parameters between steps -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-master-weights`: chooses the state that stands for each parameter: f32,
/// or bf16 with stochastic rounding, with Kahan's compensation or with 16 more
/// bits. The optimizer reads and writes f32 in all of them; what the model reads is
/// made once, at the start of the step.
///
//===----------------------------------------------------------------------===//

#include "ParameterGroups.h"
#include "RandomState.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/ResultNames.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Training/Passes.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mpt {
#define GEN_PASS_DEF_MASTERWEIGHTSPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

enum class MasterKind { F32, Stochastic, Kahan, Split, None };

std::optional<MasterKind> parseKind(StringRef text) {
  return llvm::StringSwitch<std::optional<MasterKind>>(text)
      .Case("f32", MasterKind::F32)
      .Case("bf16-stochastic-rounding", MasterKind::Stochastic)
      .Case("bf16-kahan", MasterKind::Kahan)
      .Case("split16", MasterKind::Split)
      .Case("none", MasterKind::None)
      .Default(std::nullopt);
}

StringRef stringify(MasterKind kind) {
  const StringRef names[] = {"f32", "bf16-stochastic-rounding", "bf16-kahan", "split16",
                             "none"};
  return names[static_cast<int>(kind)];
}

/// What updates a parameter.
struct Optimizer {
  /// Where it reads the parameter.
  SmallVector<OpOperand *> reads;
  /// The next value in f32 (of an op, whatever its type was before this pass), and
  /// whether it is taken; null: always.
  Value updated, predicate;
};

/// The operand of the terminator that is the next value of `parameter`, or null.
OpOperand *findUpdate(func::FuncOp function, const StepView &step,
                      BlockArgument parameter) {
  std::optional<unsigned> result = step[parameter].updatedBy;
  Operation *terminator = function.getBody().front().getTerminator();
  return result ? &terminator->getOpOperand(*result) : nullptr;
}

/// What gives `update`, an operand of the terminator, from `parameter`.
Optimizer findOptimizer(const StepView &step, BlockArgument parameter,
                        OpOperand *update) {
  if (!update)
    return {};
  Optimizer found;
  for (Operation *user : parameter.getUsers())
    llvm::TypeSwitch<Operation *>(user).Case<SGDOp, AdamOp, AdamWOp>([&](auto op) {
      if (op.getParam() == parameter && op.getNewParam() == update->get())
        found = {{&op.getParamMutable()}, op.getNewParam(), op.getPredicate()};
    });
  if (found.updated)
    return found;
  // An optimizer that is a function.
  Value value = update->get();
  if (auto select = value.getDefiningOp<SelectStateOp>();
      select && select.getOld() == parameter) {
    found.predicate = select.getPredicate();
    value = select.getUpdated();
  }
  Operation *last = value.getDefiningOp();
  if (value != parameter && (!last || !last->hasAttr(kOptimizerAttr)))
    return {};
  auto cast = dyn_cast_or_null<CastOp>(last);
  found.updated = cast && getElementTypeOrSelf(cast.getX()).isF32() ? cast.getX() : value;
  // Next values of state may be the parameter, such as that of one step before.
  auto isNextState = [&](OpOperand &use) {
    auto select = dyn_cast<SelectStateOp>(use.getOwner());
    return (select && &use == &select.getUpdatedMutable()) ||
           (use.getOwner() == update->getOwner() &&
            step.getResults()[use.getOperandNumber()].updates);
  };
  for (OpOperand &use : parameter.getUses())
    if (use.getOwner()->hasAttr(kOptimizerAttr) || isNextState(use))
      found.reads.push_back(&use);
  return found;
}

/// Adds what one function's parameters need.
class MasterBuilder {
public:
  explicit MasterBuilder(func::FuncOp function)
      : function(function), step(function), editor(function, "mpt-master-weights"),
        builder(function.getContext()) {}

  LogicalResult add(BlockArgument parameter, StringRef name, MasterKind kind);
  LogicalResult finish();

  /// Of the parameters that ranks hold together, those that are rounded stochastically.
  SmallVector<ShardLayout> drawn;

private:
  /// Lets the optimizer read `master`, the parameter as it is kept.
  void readMaster(Optimizer &optimizer, Value parameter, Value master);
  BlockArgument addState(BlockArgument parameter, StringRef name, Type element);
  /// `updated` if the step is taken.
  Value guard(const Optimizer &optimizer, Value updated, Value old);

  func::FuncOp function;
  /// As it was when this was made.
  const StepView step;
  StepEditor editor;
  OpBuilder builder;
  RandomState random;
  bool hasStreams = false;
  /// Attributes to set when the editor is done: number of the argument, name, value.
  SmallVector<std::tuple<unsigned, StringRef, std::string>> attributes;
};

BlockArgument MasterBuilder::addState(BlockArgument parameter, StringRef name,
                                      Type element) {
  auto type = cast<RankedTensorType>(parameter.getType());
  return editor.addArgument(type.clone(element), name, Role::OptimizerState,
                            getZerosInit(builder.getContext()));
}

Value MasterBuilder::guard(const Optimizer &optimizer, Value updated, Value old) {
  if (!optimizer.predicate)
    return updated;
  return SelectStateOp::create(builder, updated.getLoc(), old.getType(),
                               optimizer.predicate, updated, old);
}

LogicalResult MasterBuilder::add(BlockArgument parameter, StringRef name,
                                 MasterKind kind) {
  auto declared = cast<RankedTensorType>(parameter.getType());
  OpOperand *update = findUpdate(function, step, parameter);
  Optimizer optimizer = findOptimizer(step, parameter, update);
  if (!optimizer.updated)
    return mlir::emitError(parameter.getLoc(),
                           "mpt-master-weights: no optimizer updates parameter ")
           << parameter.getArgNumber() << " of type " << declared
           << "; run --mpt-train-step first";
  if (kind == MasterKind::Stochastic &&
      failed(random.find(function, editor, "mpt-master-weights")))
    return failure();
  if (kind == MasterKind::Stochastic && !hasStreams)
    random.keepStreams(drawn, 1);
  hasStreams |= kind == MasterKind::Stochastic;

  Location loc = parameter.getLoc();
  Type f32 = builder.getF32Type(), bf16 = builder.getBF16Type();
  auto wide = declared.clone(f32), narrow = declared.clone(bf16);
  parameter.setType(kind == MasterKind::F32 ? wide : narrow);
  if (optimizer.updated != parameter)
    optimizer.updated.setType(wide);

  // What the optimizer reads and what the model does.
  builder.setInsertionPointToStart(&function.getBody().front());
  Value master = parameter;
  BlockArgument rest;
  if (kind == MasterKind::Kahan) {
    rest = addState(parameter, (name + ".compensation").str(), bf16);
    master = AddCompensationOp::create(builder, loc, wide, parameter, rest);
  } else if (kind == MasterKind::Split) {
    rest = addState(parameter, (name + ".low").str(), builder.getI16Type());
    master = JoinHalvesOp::create(builder, loc, wide, parameter, rest);
    attributes.emplace_back(rest.getArgNumber(), kLowOfAttr, name.str());
  }
  Value read = kind == MasterKind::Split ? master : Value(parameter);
  Value copy = read;
  if (copy.getType() != declared)
    copy = CastOp::create(builder, loc, declared, read, builder.getUnitAttr());
  parameter.replaceUsesWithIf(copy, [&](OpOperand &use) {
    return use.getOwner() != master.getDefiningOp() &&
           use.getOwner() != copy.getDefiningOp() &&
           !llvm::is_contained(optimizer.reads, &use);
  });
  readMaster(optimizer, parameter, master);
  attributes.emplace_back(parameter.getArgNumber(), kMasterAttr, stringify(kind).str());

  // What the next step starts from.
  Value updated = optimizer.updated, newRest, rounded = updated;
  builder.setInsertionPointAfterValue(updated);
  loc = updated.getLoc();
  if (kind == MasterKind::Stochastic) {
    std::optional<ShardedState> shards = getShards(function, parameter.getArgNumber());
    Value bits = shards ? random.drawShard(builder, loc, shards->layout, 0)
                        : random.draw(builder, loc, declared.getShape());
    rounded = StochasticRoundOp::create(builder, loc, narrow, updated, bits);
  } else if (kind == MasterKind::Kahan) {
    rounded = CastOp::create(builder, loc, narrow, updated, UnitAttr());
    newRest = RoundingErrorOp::create(builder, loc, narrow, updated);
  } else if (kind == MasterKind::Split) {
    rounded = HighHalfOp::create(builder, loc, narrow, updated);
    newRest = LowHalfOp::create(builder, loc, rest.getType(), updated);
  }
  // An op that is an optimizer keeps the old value by itself.
  if (rounded == update->get())
    return success();
  update->set(guard(optimizer, rounded, parameter));
  if (!rest)
    return success();
  std::string restName =
      (name + (kind == MasterKind::Split ? ".low" : ".compensation")).str();
  editor.addResult(guard(optimizer, newRest, rest), restName, restName);
  return success();
}

void MasterBuilder::readMaster(Optimizer &optimizer, Value parameter, Value master) {
  Value wide = master;
  auto getWide = [&] {
    auto type = cast<RankedTensorType>(wide.getType());
    if (!type.getElementType().isF32())
      wide = CastOp::create(builder, master.getLoc(), type.clone(builder.getF32Type()),
                            master, UnitAttr());
    return wide;
  };
  if (optimizer.updated == parameter)
    optimizer.updated = getWide();
  for (OpOperand *use : optimizer.reads) {
    auto widening = dyn_cast<CastOp>(use->getOwner());
    if (widening && widening.getType() == master.getType()) {
      // A parameter that the optimizer does not change.
      if (optimizer.updated == widening.getResult())
        optimizer.updated = master;
      widening.replaceAllUsesWith(master);
      widening.erase();
    } else if (widening || isa<SGDOp, AdamOp, AdamWOp>(use->getOwner())) {
      // These take what is stored in 16 bits.
      use->set(master);
    } else {
      use->set(getWide());
    }
  }
}

LogicalResult MasterBuilder::finish() {
  if (failed(editor.finish()))
    return failure();
  for (const auto &[index, name, value] : attributes)
    function.setArgAttr(index, name, builder.getStringAttr(value));
  return success();
}

struct MasterWeightsPass : mpt::impl::MasterWeightsPassBase<MasterWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(kinds.parse(getOperation(), getArgument(), kind, groups, parseKind,
                           "f32, bf16-stochastic-rounding, bf16-kahan, split16 or none")))
      return signalPassFailure();
    foundParameters = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && function.getBody().hasOneBlock() &&
          failed(addMasters(function)))
        return signalPassFailure();
    if (!foundParameters)
      warnOfNothingToDo(getOperation(), getArgument(),
                        "no argument with mpt.role = \"parameter\"");
    kinds.warnOfUnmatched(getOperation(), getArgument(), "parameter");
  }

private:
  LogicalResult addMasters(func::FuncOp function);
  /// What the attribute, the groups or the option say of a parameter called `name`.
  MasterKind getKind(const StepView::Argument &parameter, StringRef name);

  ParameterGroups<MasterKind> kinds;
  bool foundParameters = false;
};

MasterKind MasterWeightsPass::getKind(const StepView::Argument &parameter,
                                      StringRef name) {
  const MasterKind byName = kinds.getKind(name);
  if (!parameter.master)
    return byName;
  return parseKind(parameter.master.getValue()).value_or(byName);
}

/// True if a run of this pass has changed `parameter`, whose next value is `update`,
/// already.
bool isConverted(BlockArgument parameter, OpOperand *update) {
  if (llvm::any_of(parameter.getUsers(), llvm::IsaPred<JoinHalvesOp, AddCompensationOp>))
    return true;
  Value value = update ? update->get() : Value();
  if (auto select = value ? value.getDefiningOp<SelectStateOp>() : SelectStateOp())
    value = select.getUpdated();
  return value && value.getDefiningOp<StochasticRoundOp>();
}

LogicalResult MasterWeightsPass::addMasters(func::FuncOp function) {
  warnOfUnnamedResults(function, getArgument());
  std::optional<MasterBuilder> masters;
  StepView step(function);
  // Their random numbers are those of all tensors in their order.
  SmallVector<ShardLayout> drawn;
  for (BlockArgument argument : function.getArguments())
    if (auto shards = getShards(function, argument.getArgNumber());
        shards && step[argument].role == Role::Parameter &&
        !isConverted(argument, findUpdate(function, step, argument)) &&
        getKind(step[argument], shards->layout.tensors.front().name) ==
            MasterKind::Stochastic)
      drawn.push_back(std::move(shards->layout));
  for (BlockArgument argument : llvm::to_vector(function.getArguments())) {
    unsigned index = argument.getArgNumber();
    StringAttr name = step[argument].name;
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (step[argument].role != Role::Parameter || !type)
      continue;
    foundParameters = true;
    Type element = type.getElementType();
    MasterKind wanted = getKind(step[argument], name ? name.getValue() : "");
    if (auto shards = getShards(function, index)) {
      const std::vector<ShardLayout::Tensor> &tensors = shards->layout.tensors;
      wanted = getKind(step[argument], tensors.front().name);
      for (const ShardLayout::Tensor &tensor : tensors)
        if (getKind(step[argument], tensor.name) != wanted)
          return mlir::emitError(argument.getLoc(), "mpt-master-weights: groups: '")
                 << tensors.front().name << "' and '" << tensor.name
                 << "' are cut together and need one kind; give the same expressions "
                    "as groups to the pass that cuts them, --mpt-shard-optimizer or "
                    "--mpt-shard-parameters";
    }
    bool isNarrow = element.isF16() || element.isBF16();
    // For those who read the step later: it is meant so.
    if (wanted == MasterKind::None && isNarrow)
      function.setArgAttr(index, kMasterAttr, StringAttr::get(&getContext(), "none"));
    if (wanted == MasterKind::None || !(isNarrow || element.isF32()) ||
        (wanted == MasterKind::F32 && !isNarrow) ||
        isConverted(argument, findUpdate(function, step, argument)))
      continue;
    if (!name || (wanted == MasterKind::Stochastic && !type.hasStaticShape()))
      return mlir::emitError(argument.getLoc(), "mpt-master-weights: expected parameter ")
             << index << " to have " << (name ? "a static shape" : "an mpt.name");
    if (!masters) {
      masters.emplace(function);
      masters->drawn = std::move(drawn);
    }
    if (failed(masters->add(argument, name.getValue(), wanted)))
      return failure();
  }
  return masters ? masters->finish() : success();
}

} // namespace
