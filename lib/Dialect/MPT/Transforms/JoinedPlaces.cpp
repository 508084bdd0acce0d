//===- JoinedPlaces.cpp - Tensors that are made where they are joined -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/JoinedPlaces.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt;

/// The strides of a tensor of shape `to` that is a reshape of one of shape `from` and
/// `strides`; nothing if a dimension of it has none.
static std::optional<SmallVector<int64_t>>
restride(ArrayRef<int64_t> from, ArrayRef<int64_t> strides, ArrayRef<int64_t> to) {
  // Dimensions that lie like one: elements within it, elements up to its end, and the
  // stride of its innermost one.
  struct Run {
    int64_t low, high, stride;
  };
  SmallVector<Run> runs;
  int64_t packed = 1;
  for (size_t dim = from.size(); dim-- > 0;) {
    if (from[dim] == 1)
      continue;
    if (runs.empty() || strides[dim] != runs.back().stride * (packed / runs.back().low))
      runs.push_back({packed, packed, strides[dim]});
    runs.back().high = packed *= from[dim];
  }
  SmallVector<int64_t> result(to.size(), 1);
  packed = 1;
  for (size_t dim = to.size(), run = 0; dim-- > 0;) {
    while (run < runs.size() && runs[run].high <= packed)
      ++run;
    if (run == runs.size())
      // Only sizes of 1 are left, which have any stride.
      result[dim] = runs.empty() ? 1 : runs.back().stride;
    else
      result[dim] = runs[run].stride * (packed / runs[run].low);
    if (to[dim] == 1)
      continue;
    if (run == runs.size() || packed * to[dim] > runs[run].high)
      return std::nullopt;
    packed *= to[dim];
  }
  return result;
}

/// getJoinedPlace of `value` without what code of GPUs wants.
static std::optional<JoinedPlace> locate(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *maker = value.getDefiningOp();
  if (!maker || !type || !type.hasStaticShape() || type.getNumElements() == 0)
    return std::nullopt;
  Value joined = value;
  ConcatOp concat;
  while (!concat) {
    if (!joined.hasOneUse() || (*joined.user_begin())->getBlock() != maker->getBlock())
      return std::nullopt;
    Operation *reader = *joined.user_begin();
    concat = dyn_cast<ConcatOp>(reader);
    if (auto reshape = dyn_cast<ReshapeOp>(reader))
      joined = reshape.getY();
    else if (!concat)
      return std::nullopt;
  }
  auto part = dyn_cast<RankedTensorType>(joined.getType());
  auto whole = dyn_cast<RankedTensorType>(concat.getResult().getType());
  // What leaves the block may lie elsewhere.
  if (!part || !part.hasStaticShape() || !whole || !whole.hasStaticShape() ||
      llvm::any_of(concat->getUsers(), [&](Operation *reader) {
        return reader->getBlock() != maker->getBlock() ||
               reader->hasTrait<OpTrait::IsTerminator>();
      }))
    return std::nullopt;
  JoinedPlace place = getJoinedPlace(concat);
  const auto axis = static_cast<int64_t>(concat.getAxis());
  for (Value before :
       concat.getInputs().take_front(joined.getUses().begin()->getOperandNumber()))
    place.start +=
        cast<RankedTensorType>(before.getType()).getDimSize(axis) * place.strides[axis];
  auto strides = restride(part.getShape(), place.strides, type.getShape());
  if (!strides)
    return std::nullopt;
  place.strides = std::move(*strides);
  return place;
}

JoinedPlace mpt::getJoinedPlace(ConcatOp concat) {
  if (std::optional<JoinedPlace> place = locate(concat.getResult()))
    return *place;
  auto type = cast<RankedTensorType>(concat.getResult().getType());
  return {concat, computeStrides(type.getShape()), 0};
}

std::optional<JoinedPlace> mpt::getJoinedPlace(Value value) {
  std::optional<JoinedPlace> place = locate(value);
  Type element = getElementTypeOrSelf(value.getType());
  if (!place || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return std::nullopt;
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  if (place->start * bytes % 64 != 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> packed = computeStrides(shape);
  for (auto [size, stride, here] : llvm::zip_equal(shape, packed, place->strides))
    if (size != 1 && here != stride && (stride == 1 || here * bytes % 16 != 0))
      return std::nullopt;
  return place;
}
