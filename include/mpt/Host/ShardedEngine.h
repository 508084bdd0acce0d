//===- ShardedEngine.h - An engine whose state ranks hold together -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_SHARDEDENGINE_H
#define MPT_HOST_SHARDEDENGINE_H

#include "mpt/Host/RankGroup.h"
#include "mpt/Host/StepEngine.h"

namespace mpt {

/// An engine whose state arguments are the tensors that the ranks' shards hold
/// (`--mpt-shard-optimizer`) instead of the shards. So names, shapes and values of state
/// are those of one process. Of such a tensor, `writeState` writes what this rank holds,
/// and `readState` joins what all hold: all ranks read the same tensors in one order.
class ShardedEngine : public StepEngine {
public:
  /// `engine` itself if no state of it is cut, else a ShardedEngine. `ranks` outlives it.
  static std::unique_ptr<StepEngine> wrap(std::unique_ptr<StepEngine> engine,
                                          RankGroup &ranks);

  llvm::ArrayRef<TensorInfo> getArguments() const override { return arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override;
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override;
  llvm::Expected<bool> initialize(uint64_t seed) override {
    return engine->initialize(seed);
  }
  llvm::Error checkHasValue(llvm::StringRef name) const override;
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) override {
    return engine->run(inputs);
  }
  llvm::Error watch(std::vector<std::string> names) override {
    return engine->watch(std::move(names));
  }
  int64_t getDepth() const override { return engine->getDepth(); }
  llvm::Error begin(const llvm::StringMap<const HostTensor *> &inputs) override {
    return engine->begin(inputs);
  }
  llvm::Expected<StepResults> finish() override { return engine->finish(); }
  size_t arenaBytes() const override { return engine->arenaBytes(); }
  size_t stateBytes() const override { return engine->stateBytes(); }
  StepProfile profile() const override { return engine->profile(); }
  std::string notes() const override { return engine->notes(); }
  int64_t getNumRanks() const override { return engine->getNumRanks(); }
  int64_t getNumThreads() const override { return engine->getNumThreads(); }
  llvm::Expected<std::vector<StatePiece>> readPieces() const override;
  llvm::Expected<std::unique_ptr<StateSnapshot>> takeSnapshot() const override;

private:
  /// A tensor of a shard.
  struct Place {
    /// The shard's number among the engine's arguments, and the tensor's in it.
    size_t argument, tensor;
  };
  ShardedEngine(std::unique_ptr<StepEngine> engine, RankGroup &ranks);
  const TensorInfo &getShard(const Place &place) const {
    return engine->getArguments()[place.argument];
  }
  /// The pieces of a tensor that `rank` has.
  std::vector<ShardLayout::Piece> getPieces(const Place &place, int64_t rank) const;
  /// A tensor that every rank has all of.
  llvm::Expected<HostTensor> readJoined(const Place &place) const;

  std::unique_ptr<StepEngine> engine;
  RankGroup &ranks;
  /// Shards that have been written, by the engine's arguments.
  std::vector<bool> hasValue;
  std::vector<TensorInfo> arguments;
  std::vector<ResultInfo> results;
  llvm::StringMap<Place> places;
};

} // namespace mpt

#endif // MPT_HOST_SHARDEDENGINE_H
