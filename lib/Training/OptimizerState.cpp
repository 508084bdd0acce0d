//===- OptimizerState.cpp - The types of what optimizers keep -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-optimizer-state`: stores the moments of optimizers in bf16, or in 8-bit codes
/// with one scale for each block. The optimizer reads and gives f32 in all of them.
///
//===----------------------------------------------------------------------===//

#include "ParameterGroups.h"
#include "RandomState.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Training/Passes.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mpt {
#define GEN_PASS_DEF_OPTIMIZERSTATEPASS
#include "mpt/Training/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

namespace {

enum class StateKind { F32, BF16, Block8 };

std::optional<StateKind> parseKind(StringRef text) {
  return llvm::StringSwitch<std::optional<StateKind>>(text)
      .Case("f32", StateKind::F32)
      .Case("bf16", StateKind::BF16)
      .Case("block8", StateKind::Block8)
      .Default(std::nullopt);
}

/// A tensor that an optimizer keeps.
struct Moment {
  OpOperand *before;
  Value after;
  bool isNonnegative = false;
};

/// What an optimizer keeps; empty for all other ops.
struct Optimizer {
  Value param, predicate;
  SmallVector<Moment, 2> moments;
};

Optimizer getOptimizer(Operation *op) {
  return llvm::TypeSwitch<Operation *, Optimizer>(op)
      .Case<AdamOp, AdamWOp>([](auto op) {
        return Optimizer{op.getParam(),
                         op.getPredicate(),
                         {{&op.getExpAvgMutable(), op.getNewExpAvg()},
                          {&op.getExpAvgSqMutable(), op.getNewExpAvgSq(), true}}};
      })
      .Case([](SGDOp op) {
        Optimizer optimizer{op.getParam(), op.getPredicate(), {}};
        if (op.getMomentumBuffer())
          optimizer.moments.push_back(
              {&op.getMomentumBufferMutable()[0], op.getNewMomentumBuffer()});
        return optimizer;
      })
      .Default(Optimizer());
}

/// The argument that holds `param`, which may be one half of it.
BlockArgument getParameter(Value param) {
  while (Operation *op = param.getDefiningOp()) {
    if (!isa<JoinHalvesOp, AddCompensationOp, CastOp>(op))
      return {};
    param = op->getOperand(0);
  }
  return cast<BlockArgument>(param);
}

struct OptimizerStatePass : mpt::impl::OptimizerStatePassBase<OptimizerStatePass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(parseOptions()))
      return signalPassFailure();
    bool foundState = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && function.getBody().hasOneBlock() &&
          failed(convert(function, foundState)))
        return signalPassFailure();
    if (!foundState)
      warnOfNoMoments();
    else
      kinds.warnOfUnmatched(getOperation(), getArgument(), "parameter with moments");
  }

private:
  LogicalResult parseOptions();
  void warnOfNoMoments();
  LogicalResult convert(func::FuncOp function, bool &foundState);
  /// The kind of parameters that are cut together; fails if they need several.
  FailureOr<StateKind> getKind(const ShardLayout &layout, Location loc);
  bool isStochastic(StateKind kind) const {
    return rounding == "auto" ? kind == StateKind::BF16 : rounding == "stochastic";
  }

  ParameterGroups<StateKind> kinds;
};

LogicalResult OptimizerStatePass::parseOptions() {
  auto emitError = [&] { return getOperation().emitError("mpt-optimizer-state: "); };
  if (failed(kinds.parse(getOperation(), getArgument(), kind, groups, parseKind,
                         "f32, bf16 or block8")))
    return failure();
  if (!llvm::is_contained({"auto", "nearest", "stochastic"}, StringRef(rounding)))
    return emitError() << "unknown rounding '" << rounding
                       << "'; expected auto, nearest or stochastic";
  if (!llvm::is_contained({256, 512, 1024, 2048}, blockSize))
    return emitError() << "expected a block-size of 256, 512, 1024 or 2048, found "
                       << int64_t(blockSize);
  if (minElements < 0)
    return emitError() << "expected min-elements of at least 0, found "
                       << int64_t(minElements);
  // Options that no kind reads. By the value, not by whether it was given: a printed
  // pipeline gives all options.
  const bool hasBlocks = kinds.isUsed(StateKind::Block8);
  if (blockSize != 256 && !hasBlocks)
    return emitError() << "block-size has no effect without block8; give kind=block8, "
                          "or remove block-size";
  for (auto [name, isGiven] : {std::pair<StringRef, bool>{"rounding", rounding != "auto"},
                               {"min-elements", minElements != 4096}})
    if (isGiven && !hasBlocks && !kinds.isUsed(StateKind::BF16))
      return emitError() << name
                         << " has no effect with f32; give kind=bf16 or "
                            "kind=block8, or remove "
                         << name;
  return success();
}

void OptimizerStatePass::warnOfNoMoments() {
  SGDOp first;
  getOperation().walk([&](SGDOp op) {
    first = op;
    return WalkResult::interrupt();
  });
  if (!first)
    return warnOfNothingToDo(
        getOperation(), getArgument(),
        "no optimizer that keeps moments; run --mpt-train-step first");
  if (kinds.isUsed(StateKind::BF16) || kinds.isUsed(StateKind::Block8))
    first.emitWarning("mpt-optimizer-state: found nothing to do: SGD without momentum "
                      "keeps no state; use momentum, adam or adamw, or keep the state "
                      "f32");
}

FailureOr<StateKind> OptimizerStatePass::getKind(const ShardLayout &layout,
                                                 Location loc) {
  std::optional<StateKind> kind;
  const ShardLayout::Tensor *first = nullptr;
  for (const ShardLayout::Tensor &tensor : layout.tensors) {
    // Expressions that match small parameters match.
    StateKind own = kinds.getKind(tensor.name);
    if (tensor.getNumElements() < minElements)
      own = StateKind::F32;
    if (!kind) {
      kind = own;
      first = &tensor;
    } else if (*kind != own) {
      return mlir::emitError(loc, "mpt-optimizer-state: '")
             << first->name << "' and '" << tensor.name
             << "' are cut together and need one kind; give the same expressions as "
                "groups to the pass that cuts them, --mpt-shard-optimizer or "
                "--mpt-shard-parameters, and min-elements=0 or 4096";
    }
  }
  if (kind == StateKind::Block8)
    for (const ShardLayout::Piece &piece : layout.pieces)
      if (piece.offset % blockSize != 0)
        return mlir::emitError(loc, "mpt-optimizer-state: blocks of ")
               << int64_t(blockSize) << " elements would have some of '"
               << layout.tensors[piece.tensor].name
               << "' and of what is cut together with it; use block-size=256 and "
                  "min-elements of at least 4096";
  return kind.value_or(StateKind::F32);
}

LogicalResult OptimizerStatePass::convert(func::FuncOp function, bool &foundState) {
  SmallVector<std::pair<Operation *, Optimizer>> optimizers;
  for (Operation &op : function.getBody().front())
    if (Optimizer optimizer = getOptimizer(&op); !optimizer.moments.empty())
      optimizers.emplace_back(&op, optimizer);
  if (optimizers.empty())
    return success();
  foundState = true;

  const StepView step(function);
  StepEditor editor(function, "mpt-optimizer-state");
  RandomState random;
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(function.getContext());
  Type f32 = builder.getF32Type(), bf16 = builder.getBF16Type();
  // Kinds first: random numbers of shards are those of all tensors in their order.
  SmallVector<StateKind> wantedKinds;
  SmallVector<std::optional<ShardedState>> cut;
  SmallVector<ShardLayout> drawn;
  for (auto &[op, optimizer] : optimizers) {
    BlockArgument parameter = getParameter(optimizer.param);
    StringAttr name = parameter ? step[parameter].name : StringAttr();
    std::optional<ShardedState> &shards = cut.emplace_back();
    if (parameter)
      shards = getShards(function, parameter.getArgNumber());
    const FailureOr<StateKind> found =
        shards ? getKind(shards->layout, parameter.getLoc())
               : FailureOr<StateKind>(kinds.getKind(name ? name.getValue() : ""));
    if (failed(found))
      return failure();
    wantedKinds.push_back(*found);
    if (shards && *found != StateKind::F32 && isStochastic(*found))
      drawn.push_back(shards->layout);
  }
  if (!drawn.empty()) {
    if (failed(random.find(function, editor, "mpt-optimizer-state")))
      return failure();
    random.keepStreams(drawn, optimizers.front().second.moments.size());
  }
  for (auto [number, entry] : llvm::enumerate(optimizers)) {
    auto &[op, optimizer] = entry;
    const StateKind wanted = wantedKinds[number];
    const std::optional<ShardedState> &shards = cut[number];
    if (wanted == StateKind::F32)
      continue;
    int64_t draw = 0;
    for (Moment &moment : optimizer.moments) {
      auto type = cast<RankedTensorType>(moment.after.getType());
      auto state = dyn_cast<BlockArgument>(moment.before->get());
      // What a run of this pass has changed, and f64.
      if (!state || state.getType() != type || !type.getElementType().isF32())
        continue;
      if (!type.hasStaticShape())
        return mlir::emitError(state.getLoc(), "mpt-optimizer-state: expected moments of "
                                               "static shapes, found ")
               << type << "; run --mpt-specialize first";
      if (type.getNumElements() == 0 || (!shards && type.getNumElements() < minElements))
        continue;
      StringAttr stateName = step[state].name;
      std::optional<unsigned> result = step[state].updatedBy;
      if (!stateName || !result || terminator->getOperand(*result) != moment.after)
        return mlir::emitError(state.getLoc(),
                               "mpt-optimizer-state: expected the optimizer at ")
               << op->getLoc() << " to give the next value of its own moment, argument "
               << state.getArgNumber() << "; run this pass after --mpt-train-step";
      const bool drawsBits = isStochastic(wanted);
      if (drawsBits && failed(random.find(function, editor, "mpt-optimizer-state")))
        return failure();

      Location loc = op->getLoc();
      auto guard = [&, predicate = optimizer.predicate](Value updated,
                                                        Value old) -> Value {
        if (!predicate)
          return updated;
        return SelectStateOp::create(builder, loc, old.getType(), predicate, updated,
                                     old);
      };
      builder.setInsertionPointAfter(op);
      Value bits;
      if (drawsBits)
        bits = shards ? random.drawShard(builder, loc, shards->layout, draw++)
                      : random.draw(builder, loc, type.getShape());
      if (wanted == StateKind::BF16) {
        state.setType(type.clone(bf16));
        if (!drawsBits) {
          moment.after.setType(state.getType());
          continue;
        }
        Value rounded =
            StochasticRoundOp::create(builder, loc, state.getType(), moment.after, bits);
        terminator->setOperand(*result, guard(rounded, state));
        continue;
      }
      const int64_t blocks = llvm::divideCeil(type.getNumElements(), int64_t(blockSize));
      auto scalesType = RankedTensorType::get({blocks}, f32);
      const std::string scalesName = (stateName.getValue() + ".absmax").str();
      state.setType(type.clone(builder.getI8Type()));
      BlockArgument scales =
          editor.addArgument(scalesType, scalesName, Role::OptimizerState,
                             getZerosInit(builder.getContext()));
      auto store = QuantizeBlockwiseOp::create(
          builder, loc, TypeRange{state.getType(), scalesType}, moment.after, bits,
          builder.getI64IntegerAttr(blockSize),
          moment.isNonnegative ? builder.getUnitAttr() : UnitAttr());
      terminator->setOperand(*result, guard(store.getCodes(), state));
      editor.addResult(guard(store.getAbsmax(), scales), scalesName, scalesName);
      builder.setInsertionPoint(op);
      moment.before->set(DequantizeBlockwiseOp::create(
          builder, loc, type, state, scales, builder.getI64IntegerAttr(blockSize),
          moment.isNonnegative ? builder.getUnitAttr() : UnitAttr()));
    }
  }
  return editor.finish();
}

} // namespace
