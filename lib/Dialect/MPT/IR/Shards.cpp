//===- Shards.cpp - State that ranks hold together --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/IR/Shards.h"

#include "mpt/Dialect/MPT/IR/StepView.h"
#include "mpt/Support/ElementCount.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;

DictionaryAttr mpt::getShardsAttr(MLIRContext *context, const ShardLayout &layout,
                                  ArrayRef<Attribute> inits) {
  Builder builder(context);
  SmallVector<Attribute> tensors;
  for (auto [tensor, init] : llvm::zip_equal(layout.tensors, inits)) {
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("name", builder.getStringAttr(tensor.name)),
        builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(tensor.shape)),
        builder.getNamedAttr("order", builder.getI64IntegerAttr(tensor.order))};
    if (init)
      entries.push_back(builder.getNamedAttr("init", init));
    tensors.push_back(builder.getDictionaryAttr(entries));
  }
  SmallVector<int64_t> pieces;
  for (const ShardLayout::Piece &piece : layout.pieces)
    pieces.append({piece.tensor, piece.rank, piece.begin, piece.end, piece.offset});
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("axis", builder.getStringAttr(layout.axis)),
       builder.getNamedAttr("ranks", builder.getI64IntegerAttr(layout.ranks)),
       builder.getNamedAttr("blocks", builder.getI64IntegerAttr(layout.blocks)),
       builder.getNamedAttr("tensors", builder.getArrayAttr(tensors)),
       builder.getNamedAttr("pieces", builder.getDenseI64ArrayAttr(pieces))});
}

DictionaryAttr mpt::getJoinedShardsAttr(DictionaryAttr shards) {
  NamedAttrList entries(shards);
  entries.set("joined", UnitAttr::get(shards.getContext()));
  return entries.getDictionary(shards.getContext());
}

/// Whether the pieces of `layout` fit into the shards and cover each tensor.
static LogicalResult checkPieces(const ShardLayout &layout,
                                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  std::vector<ShardLayout::Piece> byPlace = layout.pieces;
  llvm::sort(byPlace, [](const auto &a, const auto &b) {
    return std::pair(a.rank, a.offset) < std::pair(b.rank, b.offset);
  });
  for (auto [i, piece] : llvm::enumerate(byPlace)) {
    const bool isInside =
        piece.tensor >= 0 && piece.tensor < int64_t(layout.tensors.size()) &&
        piece.rank >= 0 && piece.rank < layout.ranks && piece.begin >= 0 &&
        piece.begin < piece.end && piece.getNumElements() <= layout.size &&
        piece.offset >= 0 && piece.offset <= layout.size - piece.getNumElements();
    if (!isInside)
      return emitError() << "expected each piece of 'mpt.shards' to be a tensor, a rank, "
                            "a range and its offset in the shard, found "
                         << piece.tensor << ", " << piece.rank << ", " << piece.begin
                         << ", " << piece.end << ", " << piece.offset;
    if (i > 0 && byPlace[i - 1].rank == piece.rank &&
        byPlace[i - 1].offset + byPlace[i - 1].getNumElements() > piece.offset)
      return emitError() << "expected pieces of 'mpt.shards' that do not overlap, found "
                            "two at offset "
                         << piece.offset << " of rank " << piece.rank;
  }
  // In the order in which they stand.
  size_t at = 0;
  for (auto [number, tensor] : llvm::enumerate(layout.tensors)) {
    int64_t end = 0;
    for (; at < layout.pieces.size() &&
           layout.pieces[at].tensor == static_cast<int64_t>(number) &&
           layout.pieces[at].begin == end;
         ++at)
      end = layout.pieces[at].end;
    if (end != tensor.getNumElements())
      return emitError() << "expected the pieces of 'mpt.shards' to cover '"
                         << tensor.name << "' in order, found an end at element " << end
                         << " of " << tensor.getNumElements();
  }
  if (at != layout.pieces.size())
    return emitError() << "expected the pieces of 'mpt.shards' in the order of its "
                          "tensors, found one of tensor "
                       << layout.pieces[at].tensor << " at place " << at;
  return success();
}

FailureOr<ShardLayout>
mpt::readShards(Attribute attribute, Type type,
                llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(attribute);
  auto shard = dyn_cast_or_null<RankedTensorType>(type);
  auto getNumber = [](DictionaryAttr from, StringRef name) -> std::optional<int64_t> {
    auto number = from.getAs<IntegerAttr>(name);
    if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0)
      return std::nullopt;
    return number.getInt();
  };
  auto axis = dictionary ? dictionary.getAs<StringAttr>("axis") : StringAttr();
  auto tensors = dictionary ? dictionary.getAs<ArrayAttr>("tensors") : ArrayAttr();
  auto pieces =
      dictionary ? dictionary.getAs<DenseI64ArrayAttr>("pieces") : DenseI64ArrayAttr();
  auto ranks = dictionary ? getNumber(dictionary, "ranks") : std::nullopt;
  auto blocks = dictionary ? getNumber(dictionary, "blocks") : std::nullopt;
  if (!axis || !tensors || !pieces || pieces.size() % 5 != 0 || !ranks || *ranks < 1 ||
      !blocks)
    return emitError() << "expected 'mpt.shards' to have axis, a string; ranks and "
                          "blocks, i64; tensors, an array; and pieces, five i64 each; "
                          "found "
                       << attribute;
  if (!shard || shard.getRank() != 1 || !shard.hasStaticShape())
    return emitError() << "expected 'mpt.shards' on an argument of one dimension, found "
                       << type;
  ShardLayout layout;
  layout.axis = axis.getValue().str();
  layout.ranks = *ranks;
  layout.blocks = *blocks;
  layout.size = shard.getDimSize(0);
  layout.isJoined = dictionary.contains("joined");
  if (layout.isJoined && layout.size % layout.ranks != 0)
    return emitError() << "expected 'mpt.shards' with 'joined' on an argument of as many "
                          "elements for each of "
                       << layout.ranks << " ranks, found " << type;
  if (layout.isJoined)
    layout.size /= layout.ranks;
  for (Attribute each : tensors) {
    auto entry = dyn_cast<DictionaryAttr>(each);
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    auto shape = entry ? entry.getAs<DenseI64ArrayAttr>("shape") : DenseI64ArrayAttr();
    auto order = entry ? getNumber(entry, "order") : std::nullopt;
    if (!name || name.empty() || !shape || !order || !countElements(shape.asArrayRef()))
      return emitError() << "expected a tensor of 'mpt.shards' to have name, a string; "
                            "shape, array<i64>; and order, i64; found "
                         << each;
    ShardLayout::Tensor tensor{name.getValue().str(), shape.asArrayRef().vec(), *order,
                               std::nullopt};
    if (Attribute init = entry.get("init")) {
      FailureOr<InitAttr> read = readInit(init, emitError);
      if (failed(read))
        return failure();
      tensor.init = read->getSpec();
    }
    layout.tensors.push_back(std::move(tensor));
  }
  ArrayRef<int64_t> numbers = pieces.asArrayRef();
  for (; !numbers.empty(); numbers = numbers.drop_front(5))
    layout.pieces.push_back({numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]});
  if (failed(checkPieces(layout, emitError)))
    return failure();
  return layout;
}

/// How state of `size` elements is cut that has one for each block of those of `layout`,
/// or nullopt if no size of blocks of 8-bit state fits.
static std::optional<ShardLayout> getBlockLayout(const ShardLayout &layout,
                                                 int64_t size) {
  for (int64_t block : {256, 512, 1024, 2048}) {
    if (llvm::divideCeil(layout.size, block) != uint64_t(size) ||
        llvm::any_of(layout.pieces, [&](const ShardLayout::Piece &piece) {
          return piece.begin % block != 0 || piece.offset % block != 0;
        }))
      continue;
    ShardLayout blocks = layout;
    blocks.size = size;
    blocks.blocks = 0;
    for (ShardLayout::Tensor &tensor : blocks.tensors)
      tensor.shape = {int64_t(llvm::divideCeil(tensor.getNumElements(), block))};
    for (ShardLayout::Piece &piece : blocks.pieces) {
      piece.begin /= block;
      piece.end = llvm::divideCeil(piece.end, block);
      piece.offset /= block;
    }
    return blocks;
  }
  return std::nullopt;
}

std::optional<ShardedState> mpt::getShards(FunctionOpInterface function, unsigned index) {
  auto read = [&](unsigned at, StringRef suffix) -> std::optional<ShardedState> {
    // The dialect's verifier has checked it.
    FailureOr<ShardLayout> layout =
        readShards(function.getArgAttr(at, kShardsAttr), function.getArgumentTypes()[at],
                   [] { return InFlightDiagnostic(); });
    if (failed(layout))
      return std::nullopt;
    return ShardedState{std::move(*layout), suffix.str()};
  };
  if (function.getArgAttr(index, kShardsAttr))
    return read(index, "");
  StringAttr name = StepView::getName(function, index);
  auto type = dyn_cast<ShapedType>(function.getArgumentTypes()[index]);
  if (!name || !type || StepView::getRole(function, index) != Role::OptimizerState)
    return std::nullopt;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    if (!function.getArgAttr(i, kShardsAttr))
      continue;
    StringAttr parameter = StepView::getName(function, i);
    StringRef suffix = name.getValue();
    if (!parameter || !suffix.consume_front(parameter.getValue()) ||
        !suffix.starts_with("."))
      continue;
    std::optional<ShardedState> shards = read(i, suffix);
    if (!shards || type.getRank() != 1)
      continue;
    // It is the rank's own, even if the parameter is those of all.
    shards->layout.isJoined = false;
    if (type.getDimSize(0) == shards->layout.size)
      return shards;
    if (!suffix.ends_with(".absmax"))
      continue;
    if (auto blocks = getBlockLayout(shards->layout, type.getDimSize(0)))
      return ShardedState{std::move(*blocks), suffix.str()};
  }
  return std::nullopt;
}
