//===- ShardOptimizer.cpp - Optimizer state cut between ranks ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-shard-optimizer`: makes parameters of what a rank holds of several. The model
/// reads what all ranks hold, joined; the gradients of all are added and cut. Whatever
/// later passes add for a parameter (moments, masters, averages) is a shard by itself.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"
#include "mpt/Dialect/MPT/Transforms/StepFunction.h"
#include "mpt/Parallel/Passes.h"
#include "mpt/Parallel/ShardPlan.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/Regex.h"

namespace mpt {
#define GEN_PASS_DEF_SHARDOPTIMIZERPASS
#include "mpt/Parallel/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static_assert(kShardBlock == kGradientBlock, "norms are sums over blocks");

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether a matmul or convolution alone reads `value`, so that autocast may let it be
/// read in half precision.
bool isReadByMatmulsAlone(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<ReshapeOp, TransposeOp>(user))
      return isReadByMatmulsAlone(user->getResult(0));
    return isa<MatmulOp, LinearOp, Conv2DOp, Conv2DInputGradOp>(user);
  });
}

/// Rewrites one function.
class Sharder {
public:
  Sharder(func::FuncOp function, int64_t stage, ArrayRef<std::string> expressions)
      : function(function), block(function.getBody().front()),
        terminator(block.getTerminator()), builder(function.getContext()), stage(stage) {
    for (StringRef text : expressions)
      this->expressions.emplace_back(text);
  }

  LogicalResult run();

private:
  struct Parameter {
    BlockArgument argument;
    StringAttr name;
    AllReduceOp exchange;
    /// Its operand.
    Value gradient;
    /// `mpt.init` and `mpt.master`; null if it has none.
    InitAttr init;
    StringAttr master;
  };
  /// Parameters that are cut together.
  struct Group {
    SmallVector<unsigned> members;
    ShardLayout layout;
    BlockArgument shard;
    /// This rank's part of the averaged gradient.
    Value gradient;
  };
  /// What all members of a group have in common.
  using Key = std::tuple<AllReduceOp, Type, Type, bool, Attribute, Attribute, bool,
                         std::string, int64_t>;

  LogicalResult findParameters();
  Key getKey(unsigned number, int64_t row);
  LogicalResult makeGroups();
  LogicalResult addArgument(Group &group, unsigned number, unsigned index);
  /// What the model reads instead of parameters.
  void buildReads(Group &group);
  /// The gradient of all members, in the order in which shards have them, one shard after
  /// the other.
  Value joinGradients(const Group &group);
  void buildExchange(ArrayRef<Group *> members);
  void replaceMarker();
  /// As f32, whatever autocast does: the model and the optimizer cast what they read.
  template <typename Op>
  Value keep(Op op) {
    op->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
    return op->getResult(0);
  }

  func::FuncOp function;
  Block &block;
  Operation *terminator;
  OpBuilder builder;
  int64_t stage;
  SmallVector<llvm::Regex> expressions;
  GradientsOp marker;
  SmallVector<Parameter> parameters;
  SmallVector<Group> groups;
};

LogicalResult Sharder::findParameters() {
  auto markers = llvm::to_vector(block.getOps<GradientsOp>());
  if (markers.size() != 1)
    return function.emitError(
               "mpt-shard-optimizer: expected one mpt.gradients op, found ")
           << markers.size()
           << (markers.empty() ? "; run --mpt-autodiff first"
                               : "; the optimizer of several losses cannot be cut, add "
                                 "the losses first");
  marker = markers.front();
  for (Operation *user : marker->getUsers())
    if (user != terminator)
      return user->emitError("mpt-shard-optimizer: expected gradients that are only "
                             "returned, found a use; run --mpt-shard-optimizer before "
                             "--mpt-train-step");
  StepView step(function);
  for (auto [name, average] : llvm::zip_equal(marker.getNames(), marker.getInputs())) {
    Parameter parameter;
    parameter.name = cast<StringAttr>(name);
    parameter.exchange = average.getDefiningOp<AllReduceOp>();
    if (!parameter.exchange || parameter.exchange.getKind() != CollectiveKind::Mean)
      return marker.emitError("mpt-shard-optimizer: expected the gradient of ")
             << name << " to be averaged over ranks; run --mpt-data-parallel first";
    const unsigned place = cast<OpResult>(average).getResultNumber();
    parameter.gradient = parameter.exchange.getInputs()[place];
    std::optional<unsigned> index = step.findArgument(parameter.name.getValue());
    if (!index)
      return function.emitError("mpt-shard-optimizer: no argument named ")
             << name << ", which mpt.gradients names";
    parameter.argument = function.getArgument(*index);
    parameter.init = step.getArguments()[*index].init;
    parameter.master = step.getArguments()[*index].master;
    auto type = dyn_cast<RankedTensorType>(parameter.argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()) || !type.hasStaticShape())
      return mlir::emitError(parameter.argument.getLoc(),
                             "mpt-shard-optimizer: expected the parameter ")
             << name << " to be a tensor of floats of static shape, found "
             << parameter.argument.getType();
    if (step.getArguments()[*index].updatedBy)
      return mlir::emitError(parameter.argument.getLoc(),
                             "mpt-shard-optimizer: expected the parameter ")
             << name << " to be read alone, found a result that updates it";
    parameters.push_back(parameter);
  }
  for (Parameter &parameter : parameters)
    for (Operation *user : parameter.exchange->getUsers())
      if (user != marker)
        return user->emitError("mpt-shard-optimizer: expected mpt.gradients to be all "
                               "that reads averaged gradients, found '")
               << user->getName() << "'";
  return success();
}

Sharder::Key Sharder::getKey(unsigned number, int64_t row) {
  const Parameter &parameter = parameters[number];
  const unsigned index = parameter.argument.getArgNumber();
  auto type = typeOf(parameter.argument);
  std::string matched;
  for (llvm::Regex &expression : expressions)
    matched += expression.match(parameter.name.getValue()) ? '1' : '0';
  return {parameter.exchange,
          type.getElementType(),
          typeOf(parameter.gradient).getElementType(),
          type.getRank() >= 2,
          function.getArgAttr(index, kDecayAttr),
          parameter.master,
          isReadByMatmulsAlone(parameter.argument),
          matched,
          row};
}

LogicalResult Sharder::makeGroups() {
  SmallVector<Key> keys;
  auto add = [&](unsigned number, const Key &key, bool anyRow) {
    auto isSame = [&](const Key &other) {
      Key wanted = key;
      if (anyRow)
        std::get<int64_t>(wanted) = std::get<int64_t>(other);
      return other == wanted;
    };
    auto *found = llvm::find_if(keys, isSame);
    if (found == keys.end()) {
      keys.push_back(key);
      groups.emplace_back();
      found = std::prev(keys.end());
    }
    groups[found - keys.begin()].members.push_back(number);
  };
  // Whole blocks of a group are summed in rows of one length.
  auto getCount = [&](unsigned number) {
    return typeOf(parameters[number].argument).getNumElements();
  };
  for (bool isSmall : {false, true})
    for (unsigned number = 0; number < parameters.size(); ++number)
      if (const int64_t count = getCount(number);
          (count <= kGradientBlock) == isSmall && count > 0)
        add(number, getKey(number, isSmall ? 0 : getGradientRow(count)), isSmall);
  for (auto [i, group] : llvm::enumerate(groups)) {
    llvm::sort(group.members);
    SmallVector<int64_t> counts;
    for (unsigned member : group.members)
      counts.push_back(getCount(member));
    AllReduceOp exchange = parameters[group.members.front()].exchange;
    group.layout =
        planShards(counts, getNumRanks(exchange, exchange.getAxis()).value_or(1));
    group.layout.axis = exchange.getAxis().str();
    for (unsigned member : group.members) {
      const Parameter &parameter = parameters[member];
      group.layout.tensors.push_back({parameter.name.getValue().str(),
                                      typeOf(parameter.argument).getShape().vec(),
                                      int64_t(member), std::nullopt});
    }
  }
  return success();
}

LogicalResult Sharder::addArgument(Group &group, unsigned number, unsigned index) {
  const Parameter &first = parameters[group.members.front()];
  const std::string name = "shards." + std::to_string(number);
  if (StepView(function).findArgument(name))
    return function.emitError("mpt-shard-optimizer: an argument is called '")
           << name << "', as one that this pass adds; rename it";
  SmallVector<Attribute> inits;
  SmallVector<Location> locations;
  for (unsigned member : group.members) {
    inits.push_back(parameters[member].init);
    locations.push_back(parameters[member].argument.getLoc());
  }
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
      builder.getNamedAttr(kRoleAttr, builder.getStringAttr("parameter")),
      builder.getNamedAttr(kShardsAttr,
                           getShardsAttr(builder.getContext(), group.layout, inits))};
  for (StringRef kept : {kDecayAttr, kMasterAttr})
    if (Attribute value = function.getArgAttr(first.argument.getArgNumber(), kept))
      attributes.push_back(builder.getNamedAttr(kept, value));
  auto type =
      RankedTensorType::get({group.layout.size}, typeOf(first.argument).getElementType());
  if (failed(function.insertArgument(index, type, builder.getDictionaryAttr(attributes),
                                     FusedLoc::get(builder.getContext(), locations))))
    return failure();
  group.shard = function.getArgument(index);
  return success();
}

void Sharder::buildReads(Group &group) {
  Operation *first = terminator;
  for (unsigned member : group.members)
    for (Operation *user : parameters[member].argument.getUsers())
      if (Operation *op = block.findAncestorOpInBlock(*user);
          op && op->isBeforeInBlock(first))
        first = op;
  builder.setInsertionPoint(first);
  const Location loc = group.shard.getLoc();
  const ShardLayout &layout = group.layout;
  auto type = typeOf(group.shard);
  Value all = keep(AllGatherOp::create(
      builder, loc, TypeRange{type.clone({layout.ranks * layout.size})},
      ValueRange{group.shard}, builder.getStringAttr(layout.axis)));
  ArrayRef<ShardLayout::Piece> pieces = layout.pieces;
  for (auto [place, member] : llvm::enumerate(group.members)) {
    BlockArgument argument = parameters[member].argument;
    SmallVector<Value> parts;
    for (; !pieces.empty() && pieces.front().tensor == int64_t(place);
         pieces = pieces.drop_front()) {
      const ShardLayout::Piece &piece = pieces.front();
      parts.push_back(keep(SliceOp::create(
          builder, argument.getLoc(), type.clone({piece.getNumElements()}), all,
          ArrayRef<int64_t>{piece.rank * layout.size + piece.offset},
          ArrayRef<int64_t>{piece.getNumElements()}, ArrayRef<int64_t>{1})));
    }
    Value whole = parts.front();
    if (parts.size() > 1)
      whole = keep(ConcatOp::create(builder, argument.getLoc(),
                                    type.clone({typeOf(argument).getNumElements()}),
                                    parts, builder.getI64IntegerAttr(0)));
    if (whole.getType() != argument.getType())
      whole =
          keep(ReshapeOp::create(builder, argument.getLoc(), argument.getType(), whole));
    argument.replaceAllUsesWith(whole);
  }
}

Value Sharder::joinGradients(const Group &group) {
  const ShardLayout &layout = group.layout;
  const Location loc = group.shard.getLoc();
  SmallVector<Value> flat;
  for (unsigned member : group.members) {
    Value gradient = parameters[member].gradient;
    auto type = typeOf(gradient);
    flat.push_back(
        type.getRank() == 1
            ? gradient
            : keep(ReshapeOp::create(builder, gradient.getLoc(),
                                     type.clone({type.getNumElements()}), gradient)));
  }
  auto type = typeOf(flat.front());
  std::vector<ShardLayout::Piece> pieces = layout.pieces;
  llvm::sort(pieces, [](const auto &a, const auto &b) {
    return std::pair(a.rank, a.offset) < std::pair(b.rank, b.offset);
  });
  SmallVector<Value> parts;
  int64_t at = 0;
  auto fillTo = [&](int64_t end) {
    if (at < end) {
      auto gap = type.clone({end - at});
      parts.push_back(ConstantOp::create(
          builder, loc, gap,
          DenseElementsAttr::get(gap, builder.getFloatAttr(gap.getElementType(), 0.0))));
    }
    at = end;
  };
  for (const ShardLayout::Piece &piece : pieces) {
    fillTo(piece.rank * layout.size + piece.offset);
    Value part = flat[piece.tensor];
    const int64_t count = piece.getNumElements();
    if (count != typeOf(part).getNumElements())
      part = keep(SliceOp::create(builder, part.getLoc(), type.clone({count}), part,
                                  ArrayRef<int64_t>{piece.begin},
                                  ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1}));
    parts.push_back(part);
    at += count;
  }
  fillTo(layout.ranks * layout.size);
  if (parts.size() == 1)
    return parts.front();
  return keep(ConcatOp::create(builder, loc, type.clone({at}), parts,
                               builder.getI64IntegerAttr(0)));
}

void Sharder::buildExchange(ArrayRef<Group *> members) {
  AllReduceOp exchange = parameters[members.front()->members.front()].exchange;
  builder.setInsertionPoint(stage == 1 ? marker.getOperation() : exchange.getOperation());
  SmallVector<Value> joined;
  SmallVector<Type> types;
  for (Group *group : members) {
    joined.push_back(joinGradients(*group));
    auto type = typeOf(joined.back());
    types.push_back(RankedTensorType::get(
        {group->layout.size}, getAccumulatorType(std::nullopt, type.getElementType())));
  }
  auto made = ReduceScatterOp::create(builder, exchange.getLoc(), types, joined,
                                      exchange.getAxisAttr(), exchange.getKindAttr(),
                                      exchange.getOrderAttr(), exchange.getWireAttr());
  for (auto [group, part] : llvm::zip_equal(members, made.getOutputs()))
    group->gradient = part;
}

void Sharder::replaceMarker() {
  SmallVector<Value> gradients;
  SmallVector<Attribute> names;
  for (Group &group : groups) {
    gradients.push_back(group.gradient);
    names.push_back(StepView::get(group.shard).name);
  }
  builder.setInsertionPoint(marker);
  auto made = GradientsOp::create(builder, marker.getLoc(), gradients,
                                  builder.getArrayAttr(names));
  // Results that were gradients of parameters are those of shards.
  llvm::BitVector erased(function.getNumResults());
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (value.getDefiningOp() == marker)
      erased.set(i);
  terminator->eraseOperands(erased);
  (void)function.eraseResults(erased);
  for (auto [name, gradient] : llvm::zip_equal(names, made.getOutputs())) {
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(
        kNameAttr,
        builder.getStringAttr("grad." + cast<StringAttr>(name).getValue().str())));
    (void)function.insertResult(function.getNumResults(), gradient.getType(), attributes);
    terminator->insertOperands(terminator->getNumOperands(), gradient);
  }
  marker.erase();
}

LogicalResult Sharder::run() {
  if (failed(findParameters()) || failed(makeGroups()))
    return failure();
  unsigned index = function.getNumArguments();
  for (const Parameter &parameter : parameters)
    index = std::min(index, parameter.argument.getArgNumber());
  for (auto [i, group] : llvm::enumerate(groups))
    if (failed(addArgument(group, i, index + i)))
      return failure();
  for (Group &group : groups)
    buildReads(group);
  llvm::SmallVector<AllReduceOp> exchanges;
  for (const Parameter &parameter : parameters)
    if (!llvm::is_contained(exchanges, parameter.exchange))
      exchanges.push_back(parameter.exchange);
  llvm::sort(exchanges,
             [](AllReduceOp a, AllReduceOp b) { return a->isBeforeInBlock(b); });
  for (AllReduceOp exchange : exchanges) {
    SmallVector<Group *> members;
    for (Group &group : groups)
      if (parameters[group.members.front()].exchange == exchange)
        members.push_back(&group);
    if (!members.empty())
      buildExchange(members);
  }
  replaceMarker();
  for (AllReduceOp exchange : exchanges)
    exchange.erase();
  llvm::BitVector erased(function.getNumArguments());
  for (const Parameter &parameter : parameters)
    if (typeOf(parameter.argument).getNumElements() > 0)
      erased.set(parameter.argument.getArgNumber());
  return function.eraseArguments(erased);
}

struct ShardOptimizerPass : mpt::impl::ShardOptimizerPassBase<ShardOptimizerPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (stage != 1 && stage != 2) {
      module.emitError("mpt-shard-optimizer: expected stage 1 or 2, found ")
          << int64_t(stage);
      return signalPassFailure();
    }
    std::vector<std::string> expressions(groups.begin(), groups.end());
    for (const std::string &expression : expressions)
      if (std::string why; !llvm::Regex(expression).isValid(why)) {
        module.emitError("mpt-shard-optimizer: groups: '")
            << expression << "' is not a regular expression: " << why;
        return signalPassFailure();
      }
    func::FuncOp step = findStepFunction(module, function, "mpt-shard-optimizer");
    if (!step || failed(Sharder(step, stage, expressions).run()))
      return signalPassFailure();
  }
};

} // namespace
