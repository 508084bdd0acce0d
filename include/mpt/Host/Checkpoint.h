//===- Checkpoint.h - A run's whole state in one file -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A .safetensors file with every state tensor (parameters, optimizer state,
/// loss scale, counters) under its name, and the host's part as metadata. A run
/// that goes on from it computes the bits of one that never stopped.
///
/// Metadata `mpt.xxh3.NAME` holds the XXH3 (64 bits, as 16 hexadecimal digits) of the
/// bytes of tensor NAME, and `mpt.xxh3` that of everything else. Files of format 1, which
/// have none, are read without these checks.
///
/// State that ranks hold together lies in files beside the checkpoint, one of each rank,
/// NAME.stepN.rankR-of-M (ShardFiles.h). The checkpoint names them, and holds the shapes
/// of the whole tensors and the checksums of the files' headers. It is written after all
/// of them, so that it names whole files alone. Whoever reads it gets whole tensors.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_CHECKPOINT_H
#define MPT_HOST_CHECKPOINT_H

#include "mpt/Host/DataLoader.h"
#include "mpt/Host/HostTensor.h"
#include "mpt/Host/RankGroup.h"
#include "mpt/Host/StepEngine.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace mpt {

struct Checkpoint {
  /// Runs of the step function so far, taken or skipped.
  int64_t attempt = 0;
  /// Those that were skipped for an infinite or NaN gradient.
  int64_t skipped = 0;
  uint64_t seed = 0;
  /// Rows per batch and in the data set; the order of the rows follows from
  /// them, the seed and `position`.
  int64_t batch = 0;
  int64_t rows = 0;
  DataPosition position;
  /// The evaluation that was due at this attempt has not been done: a signal came.
  bool evaluationDue = false;
  /// A digest of the step function, which a run must share to go on.
  std::string program;
  /// That of the step that takes each batch as a whole, where `program` cuts it for
  /// ranks or to accumulate; else "". A run that shares this may go on as well: it cuts
  /// batches in another way.
  std::string wholeProgram;
  std::map<std::string, HostTensor> state;
  /// What this rank holds of state that ranks hold together; not in `state`. Empty after
  /// a checkpoint is loaded.
  std::vector<StatePiece> pieces;
};

/// Writes atomically (see `writeFileAtomically`).
llvm::Error saveCheckpoint(llvm::StringRef path, const Checkpoint &checkpoint);
/// The same for all ranks, each of which calls it: every rank writes its pieces, and then
/// rank 0 the checkpoint. Fails on all ranks if one fails, with the file at `path`
/// as it was.
llvm::Error saveCheckpoint(llvm::StringRef path, const Checkpoint &checkpoint,
                           RankGroup &ranks);
/// This rank's file of a checkpoint that ranks write together.
struct ShardFile {
  /// Without its directory, and with it.
  std::string name, path;
  /// Why it cannot be written, or "".
  std::string problem;
};

/// That saveCheckpoint in parts, of which `write` takes long and is for any thread, since
/// no rank waits for another. All ranks call `begin`, and then `finish`, in the same
/// order.
class SharedSave {
public:
  /// Of a checkpoint at `path` after `attempt` runs.
  static llvm::Expected<SharedSave> begin(llvm::StringRef path, int64_t attempt,
                                          RankGroup &ranks);
  /// Writes this rank's pieces. `finish` tells how that went.
  void write(llvm::ArrayRef<StatePiece> pieces);
  /// The same where there are none to be written: tells the others why.
  void fail(std::string why) { failure = std::move(why); }
  /// Makes what all have written a checkpoint. `checkpoint.pieces` is not read.
  llvm::Error finish(const Checkpoint &checkpoint);

private:
  SharedSave(std::string path, ShardFile file, RankGroup &ranks)
      : path(std::move(path)), file(std::move(file)), ranks(&ranks) {}

  std::string path;
  ShardFile file;
  RankGroup *ranks;
  std::string report, failure;
};

/// Removes files that were shards of the checkpoint `path`, or would have become some, as
/// ranks leave them that are killed, and that neither it nor the checkpoint `resumed`
/// names. Nothing else may write it meanwhile. What cannot be removed stays. So does all
/// if there is a file at `path` that cannot be read: nobody knows what it names.
void removeStaleShards(llvm::StringRef path, llvm::StringRef resumed = {});

/// Errors start with the path and say what was expected and found, also if a checksum
/// shows that the file has changed since it was written.
llvm::Expected<Checkpoint> loadCheckpoint(llvm::StringRef path);

/// Every state argument of `engine` that each rank holds whole.
llvm::Expected<std::map<std::string, HostTensor>> captureState(const StepEngine &engine);

/// Writes `state` into `engine`. Fails, with `path` in the message and nothing
/// changed, unless the names, types and shapes are the engine's.
llvm::Error restoreState(StepEngine &engine, llvm::StringRef path,
                         const std::map<std::string, HostTensor> &state);

/// Fails, with `path` in the message, if `checkpoint` is not of the step whose digest is
/// `step`, or of one that takes the same batches whole: that of `wholeStep` unless it is
/// "".
llvm::Error checkStep(const Checkpoint &checkpoint, llvm::StringRef path,
                      llvm::StringRef step, llvm::StringRef wholeStep = "");

/// Writes what the .safetensors file `path` holds into `engine`: all state of a
/// checkpoint, which must be of the step whose digest is `step`, or of another file the
/// tensors that there are, by the rules of `initializeState`.
llvm::Error readStateFile(llvm::StringRef path, llvm::StringRef step, StepEngine &engine);

/// First values for `engine` from the .safetensors file `path`: all tensors, but of a
/// checkpoint what training has learned and no more (parameters and running statistics).
llvm::Expected<std::map<std::string, HostTensor>>
readFirstValues(llvm::StringRef path, const StepEngine &engine);

} // namespace mpt

#endif // MPT_HOST_CHECKPOINT_H
