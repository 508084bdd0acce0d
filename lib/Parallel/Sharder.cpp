//===- Sharder.cpp - Parameters cut between ranks ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes parameters of what a rank holds of several. The model reads what all ranks hold,
/// joined; the gradients of all are added and cut. Whatever later passes add for a
/// parameter (moments, masters, averages) is a shard by itself.
///
//===----------------------------------------------------------------------===//

#include "Sharder.h"

#include "mpt/Dialect/MPT/IR/Collectives.h"
#include "mpt/Dialect/MPT/IR/Shards.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Dialect/MPT/Transforms/ElementwiseUpdate.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"
#include "mpt/Parallel/GatherPlan.h"
#include "mpt/Parallel/ShardPlan.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

#include <map>

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
  Sharder(func::FuncOp function, const ShardOptions &options)
      : function(function), block(function.getBody().front()),
        terminator(block.getTerminator()), builder(function.getContext()),
        options(options) {
    for (StringRef text : options.groups)
      expressions.emplace_back(text);
  }

  LogicalResult run();

private:
  struct Parameter {
    BlockArgument argument;
    StringAttr name;
    /// What averages its gradient, and the place of that among what it averages.
    AllReduceOp exchange;
    unsigned place = 0;
    /// `mpt.init` and `mpt.master`; null if it has none.
    InitAttr init;
    StringAttr master;
    /// The ones that it is joined with, if that happens more than once.
    unsigned unit = 0;
    /// It is cut by itself.
    bool isAlone = false;
    /// How the optimizer updates it, if that is a function (ElementwiseUpdate.h).
    unsigned update = 0;

    /// The rank's own. It may be a parameter, which changes while this pass runs.
    Value getGradient() const {
      AllReduceOp op = exchange;
      return op.getInputs()[place];
    }
  };
  /// Parameters that are cut together.
  struct Group {
    SmallVector<unsigned> members;
    unsigned unit = 0;
    /// Groups with one number are joined together, where parameters are joined once.
    unsigned joint = 0;
    ShardLayout layout;
    BlockArgument shard;
    /// This rank's part of the averaged gradient.
    Value gradient;
  };
  /// What all members of a group have in common.
  using Key =
      std::tuple<const void *, const void *, const void *, bool, const void *,
                 const void *, bool, std::string, unsigned, unsigned, unsigned, int>;
  /// An op in the block of the function that reads a parameter.
  struct Read {
    OpOperand *operand;
    unsigned group, place;
  };

  InFlightDiagnostic emitError(Location loc) {
    return mlir::emitError(loc) << options.pass << ": ";
  }
  LogicalResult findParameters();
  void findUpdates();
  void numberOps();
  void findUnits();
  Key getKey(unsigned number);
  /// The same but for how the optimizer updates it.
  Key getReadKey(unsigned number) {
    Key key = getKey(number);
    std::get<8>(key) = 0;
    return key;
  }
  void makeGroups();
  /// An argument for each group, before that of the first parameter.
  LogicalResult addArguments();
  /// What the model reads instead of the parameters of `members`: joined once, by one
  /// exchange, before the first reader.
  void buildReads(ArrayRef<Group *> members);
  /// The same, joined whenever they are needed.
  void buildVisits();
  /// The op of the block that holds `operand`'s owner.
  Operation *getReader(OpOperand &operand) {
    return block.findAncestorOpInBlock(*operand.getOwner());
  }
  /// The parameter at `place` of a group, of which `all` is what ranks hold, joined.
  Value joinParts(const Group &group, unsigned place, Value all);
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
  const ShardOptions &options;
  SmallVector<llvm::Regex> expressions;
  GradientsOp marker;
  SmallVector<Parameter> parameters;
  SmallVector<Group> groups;
  /// The ops of the block, and their places in it, before any is added.
  SmallVector<Operation *> ops;
  DenseMap<Operation *, int64_t> positions;
};

LogicalResult Sharder::findParameters() {
  auto markers = llvm::to_vector(block.getOps<GradientsOp>());
  if (markers.size() != 1)
    return emitError(function.getLoc())
           << "expected one mpt.gradients op, found " << markers.size()
           << (markers.empty() ? "; run --mpt-autodiff first"
                               : "; the optimizer of several losses cannot be cut, add "
                                 "the losses first");
  marker = markers.front();
  for (Operation *user : marker->getUsers())
    if (user != terminator)
      return emitError(user->getLoc())
             << "expected gradients that are only returned, found a use; run --"
             << options.pass << " before --mpt-train-step";
  StepView step(function);
  llvm::StringMap<unsigned> indices;
  for (auto [index, argument] : llvm::enumerate(step.getArguments()))
    if (argument.name)
      indices.try_emplace(argument.name.getValue(), index);
  for (auto [name, average] : llvm::zip_equal(marker.getNames(), marker.getInputs())) {
    Parameter parameter;
    parameter.name = cast<StringAttr>(name);
    parameter.exchange = average.getDefiningOp<AllReduceOp>();
    if (average.getDefiningOp<ReduceScatterOp>())
      return emitError(marker.getLoc())
             << "expected whole parameters, found " << name
             << ", which is cut between ranks already; run one of --mpt-shard-optimizer "
                "and --mpt-shard-parameters, once";
    if (!parameter.exchange || parameter.exchange.getKind() != CollectiveKind::Mean)
      return emitError(marker.getLoc())
             << "expected the gradient of " << name
             << " to be averaged over ranks; run --mpt-data-parallel with a size of at "
                "least 2 first";
    parameter.place = cast<OpResult>(average).getResultNumber();
    auto index = indices.find(parameter.name.getValue());
    if (index == indices.end())
      return emitError(function.getLoc())
             << "no argument named " << name << ", which mpt.gradients names";
    parameter.argument = function.getArgument(index->second);
    const StepView::Argument &described = step[parameter.argument];
    parameter.init = described.init;
    parameter.master = described.master;
    auto type = dyn_cast<RankedTensorType>(parameter.argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()) || !type.hasStaticShape())
      return emitError(parameter.argument.getLoc())
             << "expected the parameter " << name
             << " to be a tensor of floats of static shape, found "
             << parameter.argument.getType();
    if (described.updatedBy)
      return emitError(parameter.argument.getLoc())
             << "expected the parameter " << name
             << " to be read alone, found a result that updates it";
    parameters.push_back(parameter);
  }
  // A unit is one exchange.
  if (options.joinsAgain)
    for (Parameter &parameter : parameters) {
      Parameter &first = parameters.front();
      auto describe = [](AllReduceOp op) {
        return std::tuple(op.getAxisAttr(), op.getOrderAttr(), op.getWireAttr());
      };
      if (describe(parameter.exchange) != describe(first.exchange))
        return emitError(parameter.exchange.getLoc())
               << "expected all gradients to be averaged alike, found that of "
               << parameter.name << " with another axis, order or wire than that of "
               << first.name << "; use --mpt-shard-optimizer";
    }
  for (Parameter &parameter : parameters)
    for (Operation *user : parameter.exchange->getUsers())
      if (user != marker)
        return emitError(user->getLoc()) << "expected mpt.gradients to be all that reads "
                                            "averaged gradients, found '"
                                         << user->getName() << "'";
  return success();
}

Sharder::Key Sharder::getKey(unsigned number) {
  const Parameter &parameter = parameters[number];
  const unsigned index = parameter.argument.getArgNumber();
  auto type = typeOf(parameter.argument);
  std::string matched;
  for (llvm::Regex &expression : expressions)
    matched += expression.match(parameter.name.getValue()) ? '1' : '0';
  AllReduceOp exchange = options.joinsAgain ? AllReduceOp() : parameter.exchange;
  return {exchange.getAsOpaquePointer(), type.getElementType().getAsOpaquePointer(),
          typeOf(parameter.getGradient()).getElementType().getAsOpaquePointer(),
          type.getRank() >= 2,
          function.getArgAttr(index, kDecayAttr).getAsOpaquePointer(),
          parameter.master.getAsOpaquePointer(), isReadByMatmulsAlone(parameter.argument),
          std::move(matched), parameter.update, parameter.unit,
          parameter.isAlone ? number + 1 : 0,
          // Short blocks would lie between long parameters, and short parameters have
          // no 8-bit state.
          hasWholeBlocks(type.getNumElements())     ? 2
          : type.getNumElements() >= kGradientBlock ? 1
                                                    : 0};
}

void Sharder::findUpdates() {
  if (options.optimizer.empty())
    return;
  auto update = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      function, builder.getStringAttr(StringRef(options.optimizer).drop_front()));
  SmallVector<StringRef> names;
  for (const Parameter &parameter : parameters)
    names.push_back(parameter.name);
  const ElementwiseUpdates updates(update, names);
  for (Parameter &parameter : parameters)
    if (const ElementwiseUpdate *own = updates.find(parameter.name))
      parameter.update = own->kind;
}

void Sharder::numberOps() {
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
}

void Sharder::findUnits() {
  // In the order in which they are first read.
  SmallVector<std::pair<int64_t, unsigned>> order;
  int64_t total = 0;
  auto getBytes = [&](unsigned number) {
    auto type = typeOf(parameters[number].argument);
    return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  };
  for (auto [number, parameter] : llvm::enumerate(parameters)) {
    int64_t first = ops.size();
    for (OpOperand &use : parameter.argument.getUses())
      first = std::min(first, positions.lookup(getReader(use)));
    order.push_back({first, number});
    total += getBytes(number);
  }
  llvm::sort(order);
  SmallVector<UnitParameter> described;
  for (auto [position, number] : order)
    described.push_back({position, getBytes(number)});
  const int64_t unitBytes =
      options.unitBytes > 0 ? options.unitBytes : getDefaultUnitBytes(total);
  for (auto [entry, unit] : llvm::zip_equal(order, planUnits(described, unitBytes)))
    parameters[entry.second].unit = unit;
  // Such a parameter lies in the shards, joined, as it is.
  for (Parameter &parameter : parameters) {
    AllReduceOp exchange = parameter.exchange;
    const int64_t ranks = getNumRanks(exchange, exchange.getAxis()).value_or(1);
    parameter.isAlone =
        typeOf(parameter.argument).getNumElements() % (ranks * kShardBlock) == 0;
  }
}

void Sharder::makeGroups() {
  // By key, the first group; by key and the length of rows, the group.
  std::map<Key, unsigned> first;
  std::map<std::pair<Key, int64_t>, unsigned> exact;
  std::map<Key, unsigned> joints;
  auto add = [&](unsigned number, std::optional<int64_t> row) {
    Key key = getKey(number);
    auto [any, isNew] = first.try_emplace(key, groups.size());
    unsigned found = any->second;
    if (row)
      found = exact.try_emplace({std::move(key), *row}, groups.size()).first->second;
    if (found == groups.size())
      groups.emplace_back();
    groups[found].members.push_back(number);
  };
  // Whole blocks of a group are summed in rows of one length.
  auto getCount = [&](unsigned number) {
    return typeOf(parameters[number].argument).getNumElements();
  };
  for (unsigned number = 0; number < parameters.size(); ++number)
    if (const int64_t count = getCount(number); count > kGradientBlock)
      add(number, getGradientRow(count));
  // Those of one block go with any.
  for (unsigned number = 0; number < parameters.size(); ++number)
    if (const int64_t count = getCount(number); count > 0 && count <= kGradientBlock)
      add(number, std::nullopt);
  for (Group &group : groups) {
    llvm::sort(group.members);
    SmallVector<int64_t> counts;
    for (unsigned member : group.members)
      counts.push_back(getCount(member));
    AllReduceOp exchange = parameters[group.members.front()].exchange;
    group.layout =
        planShards(counts, getNumRanks(exchange, exchange.getAxis()).value_or(1));
    group.layout.axis = exchange.getAxis().str();
    group.unit = parameters[group.members.front()].unit;
    group.joint = joints.try_emplace(getReadKey(group.members.front()), joints.size())
                      .first->second;
    for (unsigned member : group.members) {
      const Parameter &parameter = parameters[member];
      group.layout.tensors.push_back({parameter.name.getValue().str(),
                                      typeOf(parameter.argument).getShape().vec(),
                                      int64_t(member), std::nullopt});
    }
  }
}

LogicalResult Sharder::addArguments() {
  llvm::StringSet<> taken;
  const StepView step(function);
  for (const StepView::Argument &argument : step.getArguments())
    if (argument.name)
      taken.insert(argument.name.getValue());
  unsigned index = function.getNumArguments();
  for (const Parameter &parameter : parameters)
    index = std::min(index, parameter.argument.getArgNumber());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> dictionaries;
  SmallVector<Location> locations;
  for (auto [number, group] : llvm::enumerate(groups)) {
    const Parameter &first = parameters[group.members.front()];
    const std::string name = "shards." + std::to_string(number);
    if (taken.contains(name))
      return emitError(function.getLoc()) << "an argument is called '" << name
                                          << "', as one that this pass adds; rename it";
    SmallVector<Attribute> inits;
    SmallVector<Location> fused;
    for (unsigned member : group.members) {
      inits.push_back(parameters[member].init);
      fused.push_back(parameters[member].argument.getLoc());
    }
    SmallVector<NamedAttribute> attributes = {
        builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
        builder.getNamedAttr(kRoleAttr, builder.getStringAttr("parameter")),
        builder.getNamedAttr(kShardsAttr,
                             getShardsAttr(builder.getContext(), group.layout, inits))};
    for (StringRef kept : {kDecayAttr, kMasterAttr})
      if (Attribute value = function.getArgAttr(first.argument.getArgNumber(), kept))
        attributes.push_back(builder.getNamedAttr(kept, value));
    types.push_back(RankedTensorType::get({group.layout.size},
                                          typeOf(first.argument).getElementType()));
    dictionaries.push_back(builder.getDictionaryAttr(attributes));
    locations.push_back(FusedLoc::get(builder.getContext(), fused));
  }
  const SmallVector<unsigned> places(groups.size(), index);
  if (failed(function.insertArguments(places, types, dictionaries, locations)))
    return failure();
  for (auto [number, group] : llvm::enumerate(groups))
    group.shard = function.getArgument(index + number);
  return success();
}

Value Sharder::joinParts(const Group &group, unsigned place, Value all) {
  const ShardLayout &layout = group.layout;
  BlockArgument argument = parameters[group.members[place]].argument;
  const Location loc = argument.getLoc();
  auto type = typeOf(all);
  // Ranges of `all`.
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (const ShardLayout::Piece &piece : layout.pieces) {
    if (piece.tensor != int64_t(place))
      continue;
    const int64_t begin = piece.rank * layout.size + piece.offset;
    if (!ranges.empty() && ranges.back().second == begin)
      ranges.back().second += piece.getNumElements();
    else
      ranges.push_back({begin, begin + piece.getNumElements()});
  }
  SmallVector<Value> parts;
  for (auto [begin, end] : ranges)
    parts.push_back(end - begin == type.getNumElements()
                        ? all
                        : keep(SliceOp::create(builder, loc, type.clone({end - begin}),
                                               all, ArrayRef<int64_t>{begin},
                                               ArrayRef<int64_t>{end - begin},
                                               ArrayRef<int64_t>{1})));
  Value whole = parts.front();
  if (parts.size() > 1)
    whole = keep(ConcatOp::create(builder, loc,
                                  type.clone({typeOf(argument).getNumElements()}), parts,
                                  builder.getI64IntegerAttr(0)));
  if (whole.getType() != argument.getType())
    whole = keep(ReshapeOp::create(builder, loc, argument.getType(), whole));
  return whole;
}

void Sharder::buildReads(ArrayRef<Group *> members) {
  Operation *first = terminator;
  SmallVector<Value> shards;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (Group *group : members) {
    for (unsigned member : group->members)
      for (OpOperand &use : parameters[member].argument.getUses())
        if (Operation *op = getReader(use); op->isBeforeInBlock(first))
          first = op;
    const ShardLayout &layout = group->layout;
    shards.push_back(group->shard);
    types.push_back(typeOf(group->shard).clone({layout.ranks * layout.size}));
    locations.push_back(group->shard.getLoc());
  }
  builder.setInsertionPoint(first);
  auto gather =
      AllGatherOp::create(builder, FusedLoc::get(builder.getContext(), locations), types,
                          shards, builder.getStringAttr(members.front()->layout.axis));
  gather->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
  for (auto [group, all] : llvm::zip_equal(members, gather.getOutputs()))
    for (auto [place, member] : llvm::enumerate(group->members))
      parameters[member].argument.replaceAllUsesWith(joinParts(*group, place, all));
}

/// What each op of `block` depends on.
static DenseMap<Operation *, PassKind> findPasses(Block &block) {
  DenseSet<Value> fromData, fromLoss;
  for (BlockArgument argument : block.getArguments())
    if (auto role = StepView::get(argument).role; role && !isStateRole(*role))
      fromData.insert(argument);
  DenseMap<Operation *, PassKind> passes;
  for (Operation &op : block) {
    bool readsData = false, readsLoss = isa<GradSeedOp>(op);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        readsData |= fromData.contains(operand);
        readsLoss |= fromLoss.contains(operand);
      }
    });
    if (readsData)
      fromData.insert_range(op.getResults());
    if (readsLoss)
      fromLoss.insert_range(op.getResults());
    passes[&op] = readsLoss   ? PassKind::Backward
                  : readsData ? PassKind::Forward
                              : PassKind::Any;
  }
  return passes;
}

void Sharder::buildVisits() {
  DenseMap<Operation *, PassKind> passes = findPasses(block);
  SmallVector<Read> reads;
  SmallVector<UnitRead> described;
  SmallVector<int64_t> bytes;
  for (auto [number, group] : llvm::enumerate(groups)) {
    bytes.resize(std::max<size_t>(bytes.size(), group.unit + 1), 0);
    bytes[group.unit] +=
        group.layout.ranks * group.layout.size *
        llvm::divideCeil(typeOf(group.shard).getElementTypeBitWidth(), 8);
    for (auto [place, member] : llvm::enumerate(group.members))
      for (OpOperand &use : parameters[member].argument.getUses()) {
        Operation *reader = getReader(use);
        reads.push_back({&use, unsigned(number), unsigned(place)});
        described.push_back(
            {group.unit, positions.lookup(reader), passes.lookup(reader)});
      }
  }
  SmallVector<UnitVisit> visits =
      planGathers(described, bytes, options.prefetch, options.keptBytes);

  // By visit that joins: its groups, and what it has joined.
  struct Joined {
    std::map<unsigned, Value> groups;
    std::map<std::pair<unsigned, unsigned>, Value> parameters;
  };
  SmallVector<Joined> joined(visits.size());
  auto getRoot = [&](unsigned i) { return visits[i].kept < 0 ? i : visits[i].kept; };
  for (auto [i, visit] : llvm::enumerate(visits))
    for (unsigned read : visit.reads)
      joined[getRoot(i)].groups[reads[read].group] = Value();
  for (auto [i, visit] : llvm::enumerate(visits)) {
    Joined &root = joined[getRoot(i)];
    if (visit.kept < 0) {
      builder.setInsertionPoint(ops[visit.gather]);
      SmallVector<Value> shards;
      SmallVector<Type> types;
      SmallVector<Location> locations;
      for (auto &[number, all] : root.groups) {
        const Group &group = groups[number];
        shards.push_back(group.shard);
        types.push_back(
            typeOf(group.shard).clone({group.layout.ranks * group.layout.size}));
        locations.push_back(group.shard.getLoc());
      }
      auto gather = AllGatherOp::create(
          builder, FusedLoc::get(builder.getContext(), locations), types, shards,
          builder.getStringAttr(groups.front().layout.axis));
      gather->setAttr(kPrecisionAttr, builder.getStringAttr("f32"));
      for (auto [entry, all] : llvm::zip_equal(root.groups, gather.getOutputs()))
        entry.second = all;
    }
    builder.setInsertionPoint(ops[visit.begin]);
    for (unsigned number : visit.reads) {
      const Read &read = reads[number];
      Value &whole = root.parameters[{read.group, read.place}];
      if (!whole)
        whole = joinParts(groups[read.group], read.place, root.groups[read.group]);
      read.operand->set(whole);
    }
  }
}

Value Sharder::joinGradients(const Group &group) {
  const ShardLayout &layout = group.layout;
  const Location loc = group.shard.getLoc();
  SmallVector<Value> flat;
  for (unsigned member : group.members) {
    Value gradient = parameters[member].getGradient();
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
  // Those that follow each other, in the gradient and in the shards, are one.
  size_t last = 0;
  auto getPlace = [&](const ShardLayout::Piece &piece) {
    return piece.rank * layout.size + piece.offset;
  };
  for (size_t i = 1; i < pieces.size(); ++i) {
    ShardLayout::Piece &before = pieces[last];
    if (before.tensor == pieces[i].tensor && before.end == pieces[i].begin &&
        getPlace(before) + before.getNumElements() == getPlace(pieces[i]))
      before.end = pieces[i].end;
    else
      pieces[++last] = pieces[i];
  }
  pieces.resize(std::min(pieces.size(), last + 1));
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
    fillTo(getPlace(piece));
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
  if (options.cutsAtEnd) {
    builder.setInsertionPoint(marker);
  } else if (options.joinsAgain) {
    // The last gradient that is computed; arguments are there from the start.
    builder.setInsertionPointToStart(&block);
    Operation *last = nullptr;
    for (Group *group : members)
      for (unsigned member : group->members)
        if (Operation *op = parameters[member].getGradient().getDefiningOp();
            op && (!last || last->isBeforeInBlock(op)))
          last = op;
    if (last)
      builder.setInsertionPointAfter(last);
  } else {
    builder.setInsertionPoint(exchange);
  }
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
  SmallVector<DictionaryAttr> dictionaries;
  for (Attribute name : names)
    dictionaries.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        kNameAttr,
        builder.getStringAttr("grad." + cast<StringAttr>(name).getValue().str()))));
  const SmallVector<unsigned> places(groups.size(), function.getNumResults());
  (void)function.insertResults(places, made.getOutputs().getTypes(), dictionaries);
  terminator->insertOperands(terminator->getNumOperands(), made.getOutputs());
  marker.erase();
}

LogicalResult Sharder::run() {
  if (failed(findParameters()))
    return failure();
  findUpdates();
  numberOps();
  if (options.joinsAgain)
    findUnits();
  makeGroups();
  if (failed(addArguments()))
    return failure();
  if (options.joinsAgain) {
    buildVisits();
  } else {
    std::map<unsigned, SmallVector<Group *>> joints;
    for (Group &group : groups)
      joints[group.joint].push_back(&group);
    for (auto &[number, members] : joints)
      buildReads(members);
  }

  // Groups that are exchanged together: those of a unit, or those that were averaged
  // together.
  std::map<int64_t, SmallVector<Group *>> together;
  for (Group &group : groups)
    together[options.joinsAgain
                 ? group.unit
                 : positions.lookup(parameters[group.members.front()].exchange)]
        .push_back(&group);
  for (auto &[place, members] : together)
    buildExchange(members);
  replaceMarker();
  llvm::SmallSetVector<Operation *, 4> exchanges;
  for (const Parameter &parameter : parameters)
    exchanges.insert(parameter.exchange);
  for (Operation *exchange : exchanges)
    exchange->erase();
  llvm::BitVector erased(function.getNumArguments());
  for (const Parameter &parameter : parameters)
    if (typeOf(parameter.argument).getNumElements() > 0)
      erased.set(parameter.argument.getArgNumber());
  return function.eraseArguments(erased);
}

} // namespace

LogicalResult mpt::detail::checkShardOptions(ModuleOp module,
                                             const ShardOptions &options) {
  if (StringRef name = options.optimizer; !name.empty()) {
    auto update = name.consume_front("@") ? module.lookupSymbol<func::FuncOp>(name)
                                          : func::FuncOp();
    if (!update || update.isDeclaration() || !update.getBody().hasOneBlock())
      return module.emitError()
             << options.pass << ": unknown optimizer '" << options.optimizer
             << "'; expected @NAME, a function of the module with one "
                "block; leave it out for other optimizers";
  }
  for (const std::string &expression : options.groups)
    if (std::string why; !llvm::Regex(expression).isValid(why))
      return module.emitError() << options.pass << ": groups: '" << expression
                                << "' is not a regular expression: " << why;
  return success();
}

LogicalResult mpt::detail::shardParameters(func::FuncOp function,
                                           const ShardOptions &options) {
  return Sharder(function, options).run();
}
