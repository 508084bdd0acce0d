//===- ShardedEngine.cpp - An engine whose state ranks hold together -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/ShardedEngine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mpt;

std::unique_ptr<StepEngine> ShardedEngine::wrap(std::unique_ptr<StepEngine> engine,
                                                RankGroup &ranks) {
  if (llvm::none_of(engine->getArguments(), [](const TensorInfo &argument) {
        return argument.shards != nullptr;
      }))
    return engine;
  return std::unique_ptr<StepEngine>(new ShardedEngine(std::move(engine), ranks));
}

ShardedEngine::ShardedEngine(std::unique_ptr<StepEngine> wrapped, RankGroup &ranks)
    : engine(std::move(wrapped)), ranks(ranks), hasValue(engine->getArguments().size()) {
  llvm::StringMap<const TensorInfo *> shards;
  for (auto [number, argument] : llvm::enumerate(engine->getArguments())) {
    if (!argument.shards) {
      arguments.push_back(argument);
      continue;
    }
    shards[argument.name] = &argument;
    for (auto [i, tensor] : llvm::enumerate(argument.shards->tensors)) {
      TensorInfo whole = argument;
      whole.name = tensor.name + argument.shardSuffix;
      whole.shape = tensor.shape;
      if (argument.shardSuffix.empty())
        whole.init = tensor.init;
      if (!argument.lowOf.empty())
        whole.lowOf = tensor.name;
      whole.shards = nullptr;
      whole.shardSuffix.clear();
      whole.isShared = true;
      places[whole.name] = {number, i};
      arguments.push_back(std::move(whole));
    }
  }
  for (const ResultInfo &result : engine->getResults()) {
    auto shard = shards.find(result.updates);
    if (shard == shards.end()) {
      results.push_back(result);
      continue;
    }
    for (const ShardLayout::Tensor &tensor : shard->second->shards->tensors) {
      const std::string name = tensor.name + shard->second->shardSuffix;
      results.push_back({name, result.type, tensor.shape, name});
    }
  }
}

std::vector<ShardLayout::Piece> ShardedEngine::getPieces(const Place &place,
                                                         int64_t rank) const {
  std::vector<ShardLayout::Piece> pieces;
  for (const ShardLayout::Piece &piece : getShard(place).shards->pieces)
    if (piece.tensor == static_cast<int64_t>(place.tensor) &&
        getShard(place).shards->has(rank, piece))
      pieces.push_back(piece);
  return pieces;
}

llvm::Expected<HostTensor> ShardedEngine::readState(llvm::StringRef name) const {
  auto place = places.find(name);
  if (place == places.end())
    return engine->readState(name);
  const TensorInfo &shard = getShard(place->second);
  if (shard.shards->isJoined)
    return readJoined(place->second);
  // A rank that does something else must not take these bytes for its own message.
  std::vector<uint64_t> names(ranks.getNumRanks());
  const uint64_t wanted = llvm::xxh3_64bits(("state " + name).str());
  if (llvm::Error error = ranks.gatherNumber(wanted, names.data()))
    return std::move(error);
  for (auto [rank, found] : llvm::enumerate(names))
    if (found != wanted)
      return llvm::createStringError(
          "'" + name + "' is cut between ranks: expected all of them to read it, found " +
          ranks.describe(rank) +
          " at something else; read state on every rank, in the "
          "same order");
  auto own = engine->readState(shard.name);
  if (!own)
    return own;
  const size_t size = getElementSize(shard.type);
  std::string bytes;
  for (const ShardLayout::Piece &piece : getPieces(place->second, ranks.getRank()))
    bytes.append(static_cast<const char *>(own->getData()) + piece.offset * size,
                 piece.getNumElements() * size);
  auto all = ranks.gather(bytes);
  if (!all)
    return all.takeError();
  auto whole =
      HostTensor::create(shard.type, shard.shards->tensors[place->second.tensor].shape);
  if (!whole)
    return whole;
  for (auto [rank, part] : llvm::enumerate(*all)) {
    llvm::StringRef rest = part;
    for (const ShardLayout::Piece &piece : getPieces(place->second, rank)) {
      const size_t count = piece.getNumElements() * size;
      if (rest.size() < count)
        return llvm::createStringError("expected " + llvm::Twine(count) + " bytes of '" +
                                       name + "' from " + ranks.describe(rank) +
                                       ", found " + llvm::Twine(rest.size()));
      std::copy_n(rest.data(), count,
                  static_cast<char *>(whole->getData()) + piece.begin * size);
      rest = rest.drop_front(count);
    }
  }
  return whole;
}

llvm::Expected<HostTensor> ShardedEngine::readJoined(const Place &place) const {
  const TensorInfo &shard = getShard(place);
  auto all = engine->readState(shard.name);
  if (!all)
    return all;
  auto whole = HostTensor::create(shard.type, shard.shards->tensors[place.tensor].shape);
  if (!whole)
    return whole;
  const size_t size = getElementSize(shard.type);
  for (const ShardLayout::Piece &piece : getPieces(place, ranks.getRank()))
    std::copy_n(static_cast<const char *>(all->getData()) +
                    shard.shards->getPlace(piece) * size,
                piece.getNumElements() * size,
                static_cast<char *>(whole->getData()) + piece.begin * size);
  return whole;
}

llvm::Error ShardedEngine::writeState(llvm::StringRef name, const HostTensor &value) {
  auto place = places.find(name);
  if (place == places.end())
    return engine->writeState(name, value);
  const TensorInfo &shard = getShard(place->second);
  llvm::ArrayRef<int64_t> shape = shard.shards->tensors[place->second.tensor].shape;
  if (value.getElementType() != shard.type || value.getShape() != shape)
    return llvm::createStringError("expected '" + name + "' to be " +
                                   describeTensorType(shard.type, shape) + ", found " +
                                   value.describe());
  // What no piece fills is zero from the first write on, even if this rank has none.
  auto own = hasValue[place->second.argument]
                 ? engine->readState(shard.name)
                 : HostTensor::create(shard.type, shard.shape);
  if (!own)
    return own.takeError();
  const size_t size = getElementSize(shard.type);
  for (const ShardLayout::Piece &piece : getPieces(place->second, ranks.getRank()))
    std::copy_n(static_cast<const char *>(value.getData()) + piece.begin * size,
                piece.getNumElements() * size,
                static_cast<char *>(own->getData()) +
                    shard.shards->getPlace(piece) * size);
  hasValue[place->second.argument] = true;
  return engine->writeState(shard.name, *own);
}

llvm::Error ShardedEngine::checkHasValue(llvm::StringRef name) const {
  auto place = places.find(name);
  return engine->checkHasValue(place == places.end() ? name
                                                     : getShard(place->second).name);
}

/// The pieces of rank `rank` in what `read` says of the shards among `arguments`.
static llvm::Expected<std::vector<StatePiece>>
readPiecesOf(llvm::ArrayRef<TensorInfo> arguments, int64_t rank,
             llvm::function_ref<llvm::Expected<HostTensor>(llvm::StringRef name)> read) {
  std::vector<StatePiece> result;
  for (const TensorInfo &argument : arguments) {
    if (!argument.shards)
      continue;
    auto shard = read(argument.name);
    if (!shard)
      return shard.takeError();
    const size_t size = getElementSize(argument.type);
    for (const ShardLayout::Piece &piece : argument.shards->pieces) {
      if (piece.rank != rank)
        continue;
      const ShardLayout::Tensor &tensor = argument.shards->tensors[piece.tensor];
      auto values = HostTensor::create(argument.type, {piece.getNumElements()});
      if (!values)
        return values.takeError();
      std::copy_n(static_cast<const char *>(shard->getData()) +
                      argument.shards->getPlace(piece) * size,
                  piece.getNumElements() * size, static_cast<char *>(values->getData()));
      result.push_back({tensor.name + argument.shardSuffix, tensor.shape, piece.begin,
                        piece.end, std::move(*values)});
    }
  }
  return std::move(result);
}

llvm::Expected<std::vector<StatePiece>> ShardedEngine::readPieces() const {
  return readPiecesOf(engine->getArguments(), ranks.getRank(),
                      [&](llvm::StringRef name) { return engine->readState(name); });
}

namespace {
/// A snapshot of the engine that holds the shards.
class ShardedSnapshot : public StateSnapshot {
public:
  ShardedSnapshot(std::unique_ptr<StateSnapshot> snapshot,
                  llvm::ArrayRef<TensorInfo> arguments, int64_t rank)
      : snapshot(std::move(snapshot)), arguments(arguments), rank(rank) {}
  llvm::Expected<HostTensor> readState(llvm::StringRef name) override {
    return snapshot->readState(name);
  }
  llvm::Expected<std::vector<StatePiece>> readPieces() override {
    return readPiecesOf(arguments, rank,
                        [&](llvm::StringRef name) { return snapshot->readState(name); });
  }

private:
  std::unique_ptr<StateSnapshot> snapshot;
  std::vector<TensorInfo> arguments;
  int64_t rank;
};
} // namespace

llvm::Expected<std::unique_ptr<StateSnapshot>> ShardedEngine::takeSnapshot() const {
  auto taken = engine->takeSnapshot();
  if (!taken)
    return taken;
  return std::make_unique<ShardedSnapshot>(std::move(*taken), engine->getArguments(),
                                           ranks.getRank());
}
