//===- StepEngine.h - The interface of engines ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What mpt-run needs of whatever executes a function of the step ABI (see the
/// mpt dialect's documentation): the compiled CPU engine and the reference
/// interpreter implement it. An engine owns the function's state; the host
/// reads and writes it by name and binds inputs at every run.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_STEPENGINE_H
#define MPT_HOST_STEPENGINE_H

#include "mpt/Host/HostTensor.h"
#include "mpt/Host/Initializers.h"
#include "mpt/Host/StepProfile.h"
#include "mpt/Support/ShardLayout.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpt {

/// One argument of the function.
struct TensorInfo {
  /// `mpt.name`, unique among the arguments.
  std::string name;
  Role role = Role::Input;
  ElementType type = ElementType::F32;
  /// Static.
  std::vector<int64_t> shape;
  /// `mpt.init`, where present.
  std::optional<InitSpec> init;
  /// Whether the step keeps this parameter in another form than the model
  /// (`mpt.master`).
  bool hasMaster = false;
  /// The parameter whose lower 16 bits this is (`mpt.low_of`), else empty.
  std::string lowOf;
  /// What it holds of which tensors (`mpt.shards`), or null: their names are those of
  /// `shards` and `shardSuffix`. A ShardedEngine has those tensors instead.
  std::shared_ptr<const ShardLayout> shards;
  std::string shardSuffix;
  /// Ranks hold it together: all of them read it at the same time.
  bool isShared = false;
};

/// Elements [begin, end) of state that ranks hold together.
struct StatePiece {
  /// Of the whole tensor.
  std::string name;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;
  /// [end - begin].
  HostTensor values;
};

/// One result of the function.
struct ResultInfo {
  /// `mpt.name`, unique among the results.
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  /// The argument whose next value this is (`mpt.updates`), else empty: a
  /// metric or another output.
  std::string updates;
};

/// What one run made.
struct StepResults {
  /// Results without `updates`, by name.
  llvm::StringMap<HostTensor> outputs;
  /// The state that was named to `watch`, as the run left it.
  llvm::StringMap<HostTensor> state;
};

/// State as it was between two runs.
class StateSnapshot {
public:
  virtual ~StateSnapshot();
  /// As StepEngine::readState, once for each name; on any thread, one at a time, also
  /// while the engine runs.
  virtual llvm::Expected<HostTensor> readState(llvm::StringRef name) = 0;
  /// As StepEngine::readPieces, once.
  virtual llvm::Expected<std::vector<StatePiece>> readPieces() {
    return std::vector<StatePiece>();
  }
};

/// Why a run fails that reads an index outside its table.
class BadIndexError : public llvm::ErrorInfo<BadIndexError> {
public:
  static char ID;
  BadIndexError(std::string message, int64_t index, int64_t position)
      : text(std::move(message)), index(index), position(position) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  int64_t getIndex() const { return index; }
  /// Among the indices that it was given with, in row-major order.
  int64_t getPosition() const { return position; }

private:
  std::string text;
  int64_t index, position;
};

/// Runs one function. Not thread-safe.
class StepEngine {
public:
  virtual ~StepEngine();

  virtual llvm::ArrayRef<TensorInfo> getArguments() const = 0;
  virtual llvm::ArrayRef<ResultInfo> getResults() const = 0;

  /// The present value of state argument `name`, in its own type. Fails if
  /// there is no such state.
  virtual llvm::Expected<HostTensor> readState(llvm::StringRef name) const = 0;
  /// Sets state argument `name`. Fails if there is no such state or if type
  /// or shape differ from the argument's; then nothing has changed.
  virtual llvm::Error writeState(llvm::StringRef name, const HostTensor &value) = 0;

  /// Gives state the first values that the engine has for it, with random numbers by
  /// `seed`. False if the engine has none of its own: the host then computes them from
  /// `TensorInfo::init`. What the host writes after this takes their place.
  virtual llvm::Expected<bool> initialize(uint64_t seed) {
    (void)seed;
    return false;
  }
  /// Whether state is as it was when the engine was made: what begins as zeros is zeros,
  /// in memory that nothing has written.
  virtual bool isUntouched() const { return false; }
  /// Fails if state argument `name` has no value yet, neither by `initialize` nor written
  /// by the host. For engines with first values of their own.
  virtual llvm::Error checkHasValue(llvm::StringRef name) const {
    (void)name;
    return llvm::Error::success();
  }

  /// Runs the function once. `inputs` holds a tensor for each input and target
  /// by name and stays alive only for the call. On success all updates are in
  /// the state, and the results without `updates` are returned by name. Fails with a
  /// BadIndexError if an index is outside its table.
  virtual llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) = 0;

  // Runs whose results are read later, so that the next one can begin before.

  /// `finish` gives the values of these state arguments, too. While no run is under way.
  /// Fails if there is no such state.
  virtual llvm::Error watch(std::vector<std::string> names);
  /// How many runs may be under way at a time.
  virtual int64_t getDepth() const { return 1; }
  /// Begins a run as `run` does, which must not be called before all that have begun are
  /// finished. An error may be that of a run that began before.
  virtual llvm::Error begin(const llvm::StringMap<const HostTensor *> &inputs);
  /// Waits for the run that began first among those not finished. An error is its own, or
  /// of one before it.
  virtual llvm::Expected<StepResults> finish();

  /// All state as the runs that have begun leave it: what each rank holds whole, and this
  /// rank's pieces.
  virtual llvm::Expected<std::unique_ptr<StateSnapshot>> takeSnapshot() const;

  /// Bytes of the block that holds a run's temporaries; 0 if the engine plans
  /// none (the reference interpreter).
  virtual size_t arenaBytes() const = 0;
  /// Bytes of the state.
  virtual size_t stateBytes() const = 0;

  /// Where the last run spent its time, in order of execution; empty if the
  /// engine does not measure.
  virtual StepProfile profile() const { return {}; }
  /// What was decided when the function first ran, a line each: what a GPU's libraries
  /// refused, say.
  virtual std::string notes() const { return ""; }
  /// The number of processes that the function was compiled for.
  virtual int64_t getNumRanks() const { return 1; }
  /// How many threads a run has.
  virtual int64_t getNumThreads() const { return 1; }
  /// What this rank holds of the state that ranks hold together, in the order of the
  /// arguments.
  virtual llvm::Expected<std::vector<StatePiece>> readPieces() const {
    return std::vector<StatePiece>();
  }

protected:
  /// The names that were given to `watch`.
  std::vector<std::string> watched;

private:
  /// What the one run under way made.
  std::optional<llvm::StringMap<HostTensor>> begun;
};

} // namespace mpt

#endif // MPT_HOST_STEPENGINE_H
