//===- RandomState.cpp - Random bits of a step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomState.h"
#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

LogicalResult RandomState::find(func::FuncOp step, StepEditor &editor, StringRef pass) {
  if (attempt)
    return success();
  MLIRContext *context = step.getContext();
  auto scalar = RankedTensorType::get({}, IntegerType::get(context, 64));
  for (StringRef name : {"attempt", "seed"}) {
    BlockArgument found = editor.getArgument(name);
    if (!found && name == "seed")
      found = editor.addArgument(scalar, "seed", Role::Rng, getZerosInit(context));
    if (!found || found.getType() != scalar)
      return mlir::emitError(found ? found.getLoc() : step.getLoc())
             << pass << ": stochastic rounding needs an argument named '" << name
             << "' of type " << scalar << ", found "
             << (found ? "another type" : "none; run --mpt-train-step first");
    (name == "seed" ? seed : attempt) = found;
  }
  step.walk([&](Operation *op) {
    if (auto stream = op->getAttrOfType<IntegerAttr>("stream"))
      nextStream = std::max(nextStream, stream.getInt() + 1);
  });
  return success();
}

Value RandomState::draw(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape) {
  return RandomBitsOp::create(
      builder, loc, RankedTensorType::get(shape, builder.getI16Type()), seed, attempt,
      builder.getI64IntegerAttr(nextStream++), builder.getDenseI64ArrayAttr(shape));
}

void RandomState::keepStreams(ArrayRef<ShardLayout> layouts, int64_t each) {
  SmallVector<int64_t> orders;
  for (const ShardLayout &layout : layouts)
    for (const ShardLayout::Tensor &tensor : layout.tensors)
      orders.push_back(tensor.order);
  llvm::sort(orders);
  for (int64_t order : orders) {
    kept[order] = nextStream;
    nextStream += each;
  }
}

Value RandomState::drawShard(OpBuilder &builder, Location loc, const ShardLayout &layout,
                             int64_t number) {
  auto getType = [&](int64_t count) {
    return RankedTensorType::get({count}, builder.getI16Type());
  };
  SmallVector<Value> bits;
  for (const ShardLayout::Tensor &tensor : layout.tensors) {
    const int64_t count = tensor.getNumElements();
    bits.push_back(RandomBitsOp::create(
        builder, loc, getType(count), seed, attempt,
        builder.getI64IntegerAttr(kept.lookup(tensor.order) + number),
        builder.getDenseI64ArrayAttr({count})));
  }
  // All shards, one after the other; what no tensor has needs none.
  std::vector<ShardLayout::Piece> pieces = layout.pieces;
  llvm::sort(pieces, [](const auto &a, const auto &b) {
    return std::pair(a.rank, a.offset) < std::pair(b.rank, b.offset);
  });
  SmallVector<Value> parts;
  int64_t at = 0;
  auto fillTo = [&](int64_t end) {
    if (at < end)
      parts.push_back(
          ConstantOp::create(builder, loc, getType(end - at),
                             DenseElementsAttr::get(getType(end - at), int16_t(0))));
    at = end;
  };
  for (const ShardLayout::Piece &piece : pieces) {
    fillTo(piece.rank * layout.size + piece.offset);
    const int64_t count = piece.getNumElements();
    parts.push_back(SliceOp::create(builder, loc, getType(count), bits[piece.tensor],
                                    ArrayRef<int64_t>{piece.begin},
                                    ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1}));
    at += count;
  }
  fillTo(layout.ranks * layout.size);
  Value all =
      ConcatOp::create(builder, loc, getType(at), parts, builder.getI64IntegerAttr(0));
  return takePart(builder, loc, all, layout.ranks, layout.axis);
}
