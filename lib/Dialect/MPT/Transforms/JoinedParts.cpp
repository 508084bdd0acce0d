//===- JoinedParts.cpp - Slices that are read where they lie ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/JoinedParts.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/Transforms/GradientBlocks.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpt;

/// Whether exchanges leave values one after the other in the memory of `value`.
static bool isJoined(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  if (value.getDefiningOp<AllGatherOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp())
               : FunctionOpInterface();
  return function && argument.getOwner()->isEntryBlock() &&
         function.getArgAttr(argument.getArgNumber(), kShardsAttr);
}

/// Whether `slice` is all whole blocks of a value that the step computes, whose last
/// block is shorter: what the norm of a gradient reads without copying it.
static bool hasWholeBlocks(SliceOp slice) {
  const int64_t size = cast<RankedTensorType>(slice.getResult().getType()).getDimSize(0),
                all = cast<RankedTensorType>(slice.getX().getType()).getDimSize(0);
  if (slice.getOffsets().front() != 0 || size % mpt::detail::kGradientBlock != 0 ||
      all - size >= mpt::detail::kGradientBlock)
    return false;
  Value value = slice.getX();
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value.getDefiningOp() && !value.getDefiningOp<ConstantOp>();
}

/// Whether ops of `block` alone read `value`, which may be renamed.
static bool isReadIn(Value value, Block *block) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user->getBlock() != block || isa<ScanOp>(user) ||
        user->hasTrait<OpTrait::IsTerminator>())
      return false;
    return !isa<ReshapeOp, BarrierOp>(user) ||
           llvm::all_of(user->getResults(),
                        [&](Value result) { return isReadIn(result, block); });
  });
}

/// How many elements of its operand lie before those of `slice`, if these follow each
/// other there.
static std::optional<int64_t> findOffset(SliceOp slice) {
  auto from = cast<RankedTensorType>(slice.getX().getType());
  auto to = cast<RankedTensorType>(slice.getResult().getType());
  if (!from.hasStaticShape())
    return std::nullopt;
  int64_t offset = 0, stride = 1;
  bool isWhole = true;
  for (int64_t dim = from.getRank() - 1; dim >= 0; --dim) {
    const int64_t size = to.getDimSize(dim);
    if (size != 1 && (!isWhole || slice.getStrides()[dim] != 1))
      return std::nullopt;
    isWhole &= size == from.getDimSize(dim);
    offset += slice.getOffsets()[dim] * stride;
    stride *= from.getDimSize(dim);
  }
  return offset;
}

/// Whether `value`, which may be renamed, is read by convolutions alone.
static bool isReadByConvolutions(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (auto reshape = dyn_cast<ReshapeOp>(user))
      return isReadByConvolutions(reshape.getY());
    return isa<Conv2DOp, Conv2DInputGradOp, Conv2DFilterGradOp>(user);
  });
}

/// Whether `slice` is at least half of what the step computes and reads in this block,
/// which so is not kept much longer, and is read by convolutions alone: kernels load what
/// they read of it in any case.
static bool isHalfOfImages(SliceOp slice) {
  Value value = slice.getX();
  if (cast<RankedTensorType>(slice.getResult().getType()).getNumElements() * 2 <
      cast<RankedTensorType>(value.getType()).getNumElements())
    return false;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  Operation *maker = value.getDefiningOp();
  // A cast may be left to the readers, which then find another type there.
  return maker && !isa<ConstantOp, CastOp>(maker) &&
         maker->getBlock() == slice->getBlock() && isReadIn(value, slice->getBlock()) &&
         isReadByConvolutions(slice.getResult());
}

bool mpt::isJoinedPart(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return false;
  auto type = cast<RankedTensorType>(slice.getResult().getType());
  std::optional<int64_t> offset = findOffset(slice);
  if (!offset || !type.getElementType().isIntOrFloat() || type.getNumElements() == 0)
    return false;
  const int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (*offset * bytes % 64 != 0 || !isReadIn(slice.getResult(), op->getBlock()))
    return false;
  const bool isLine =
      type.getRank() == 1 && type.getNumElements() >= detail::kGradientBlock;
  return (isLine && (hasWholeBlocks(slice) || isJoined(slice.getX()))) ||
         isHalfOfImages(slice);
}

int64_t mpt::getPartOffset(SliceOp part) { return findOffset(part).value_or(0); }

Value mpt::takePart(OpBuilder &builder, Location loc, Value all, int64_t ranks,
                    StringRef axis) {
  auto type = cast<RankedTensorType>(all.getType());
  const int64_t size = type.getDimSize(0) / ranks;
  Type index = builder.getI64Type();
  Value rank = RankOp::create(builder, loc, RankedTensorType::get({}, index),
                              builder.getStringAttr(axis));
  rank = ReshapeOp::create(builder, loc, RankedTensorType::get({1}, index), rank);
  Value rows = ReshapeOp::create(builder, loc, type.clone({ranks, size}), all);
  Value part = GatherOp::create(builder, loc, type.clone({1, size}), rows, rank);
  return ReshapeOp::create(builder, loc, type.clone({size}), part);
}
