//===- ShardedGradients.cpp - Gradients that ranks hold together -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A rank adds the squares of each block that it has. Ranks exchange these sums, and the
/// elements of the last blocks of tensors, which lie at other places on each rank.
///
//===----------------------------------------------------------------------===//

#include "ShardedGradients.h"
#include "GradientClipping.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// The argument that `value`, what an optimizer updates, is made of.
static Value getStored(Value value) {
  if (auto join = value.getDefiningOp<JoinHalvesOp>())
    return join.getHigh();
  if (auto sum = value.getDefiningOp<AddCompensationOp>())
    return sum.getParam();
  return value;
}

FailureOr<std::vector<ShardLayout>>
mpt::detail::getShardLayouts(func::FuncOp function, ArrayRef<Value> parameters) {
  std::vector<ShardLayout> layouts;
  Value whole;
  for (Value parameter : parameters) {
    auto argument = dyn_cast<BlockArgument>(getStored(parameter));
    std::optional<ShardedState> shards;
    if (argument && argument.getOwner() == &function.getBody().front())
      shards = getShards(function, argument.getArgNumber());
    if (shards)
      layouts.push_back(std::move(shards->layout));
    else
      whole = parameter;
  }
  if (whole && !layouts.empty())
    return mlir::emitError(whole.getLoc(),
                           "expected all parameters to be cut between "
                           "ranks, or none, found one that is whole; run "
                           "--mpt-shard-optimizer on a function that only "
                           "--mpt-data-parallel has changed");
  return layouts;
}

std::optional<ShardLayout> mpt::detail::findShardLayout(func::FuncOp function) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, kShardsAttr))
      if (std::optional<ShardedState> shards = getShards(function, i))
        return std::move(shards->layout);
  return std::nullopt;
}

static Value slice(DecomposeBuilder &b, Value x, int64_t begin, int64_t count) {
  auto type = DecomposeBuilder::typeOf(x);
  if (count == type.getNumElements())
    return x;
  return SliceOp::create(b.builder, b.loc, type.clone({count}), x,
                         ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{count},
                         ArrayRef<int64_t>{1});
}

namespace {
/// The sums of a shard's blocks, and its short blocks, of all ranks.
struct Gathered {
  Value sums, rest;
};
} // namespace

/// The sum of squares of tensor `number` of `layout`.
static Value sumSquares(DecomposeBuilder &b, const ShardLayout &layout, size_t number,
                        const Gathered &all) {
  const int64_t count = layout.tensors[number].getNumElements();
  const int64_t front = layout.blocks * kGradientBlock;
  SmallVector<Value> sums;
  for (const ShardLayout::Piece &piece : layout.pieces) {
    if (piece.tensor != static_cast<int64_t>(number))
      continue;
    if (piece.offset < front) {
      sums.push_back(slice(b, all.sums,
                           piece.rank * layout.blocks + piece.offset / kGradientBlock,
                           llvm::divideCeil(piece.getNumElements(), kGradientBlock)));
      continue;
    }
    const int64_t size = layout.size - front;
    Value last = slice(b, all.rest, piece.rank * size + piece.offset - front,
                       piece.getNumElements());
    sums.push_back(sumSquaresOfBlocks(b, last, getGradientRow(count)));
  }
  if (sums.size() == 1)
    return addBlocks(b, sums.front());
  int64_t blocks = 0;
  for (Value sum : sums)
    blocks += DecomposeBuilder::typeOf(sum).getNumElements();
  return addBlocks(b, ConcatOp::create(b.builder, b.loc,
                                       RankedTensorType::get({blocks}, b.element), sums,
                                       b.builder.getI64IntegerAttr(0)));
}

Value mpt::detail::getShardedNorm(OpBuilder &builder, Location loc,
                                  ArrayRef<Value> gradients,
                                  ArrayRef<ShardLayout> layouts) {
  KeepsPrecision keeps(builder);
  Type element = builder.getF32Type();
  for (Value gradient : gradients)
    if (DecomposeBuilder::typeOf(gradient).getElementType().isF64())
      element = builder.getF64Type();
  DecomposeBuilder b(builder, loc, element);

  // What ranks exchange.
  SmallVector<Value> sent;
  SmallVector<Type> types;
  auto send = [&](Value value, int64_t ranks) {
    auto type = DecomposeBuilder::typeOf(value);
    sent.push_back(value);
    types.push_back(type.clone({ranks * type.getDimSize(0)}));
  };
  for (auto [gradient, layout] : llvm::zip_equal(gradients, layouts)) {
    const int64_t front = layout.blocks * kGradientBlock;
    if (front > 0) {
      int64_t row = kGradientBlock;
      for (const ShardLayout::Tensor &tensor : layout.tensors)
        if (const int64_t count = tensor.getNumElements(); count > kGradientBlock)
          row = getGradientRow(count);
      send(sumSquaresOfBlocks(b, slice(b, gradient, 0, front), row), layout.ranks);
    }
    if (layout.size > front)
      send(slice(b, gradient, front, layout.size - front), layout.ranks);
  }
  auto exchange = AllGatherOp::create(builder, loc, types, sent,
                                      builder.getStringAttr(layouts.front().axis));

  // Tensors in the order that they have in the step.
  struct Place {
    int64_t order;
    size_t layout, tensor;
  };
  SmallVector<Place> places;
  SmallVector<Gathered> gathered;
  unsigned next = 0;
  for (auto [i, layout] : llvm::enumerate(layouts)) {
    Gathered &all = gathered.emplace_back();
    if (layout.blocks > 0)
      all.sums = exchange.getOutputs()[next++];
    if (layout.size > layout.blocks * kGradientBlock)
      all.rest = exchange.getOutputs()[next++];
    for (auto [number, tensor] : llvm::enumerate(layout.tensors))
      places.push_back({tensor.order, i, number});
  }
  llvm::sort(places, [](const Place &a, const Place &b) { return a.order < b.order; });
  Value total;
  for (const Place &place : places) {
    Value sum =
        sumSquares(b, layouts[place.layout], place.tensor, gathered[place.layout]);
    total = total ? b.add(total, sum) : sum;
  }
  return b.sqrt(total);
}

static Value allReduce(OpBuilder &builder, Location loc, const ShardLayout &layout,
                       Value value, CollectiveKind kind) {
  MLIRContext *context = builder.getContext();
  return AllReduceOp::create(
             builder, loc, value.getType(), value, builder.getStringAttr(layout.axis),
             CollectiveKindAttr::get(context, kind),
             CollectiveOrderAttr::get(context, CollectiveOrder::Rank), TypeAttr())
      .getOutputs()
      .front();
}

Value mpt::detail::isTrueOnAllRanks(OpBuilder &builder, Location loc,
                                    const ShardLayout &layout, Value flag) {
  Value isFalse = NotOp::create(builder, loc, flag);
  return NotOp::create(builder, loc,
                       allReduce(builder, loc, layout, isFalse, CollectiveKind::Any));
}

Value mpt::detail::getLargestOfRanks(OpBuilder &builder, Location loc,
                                     const ShardLayout &layout, Value value) {
  return allReduce(builder, loc, layout, value, CollectiveKind::Max);
}
