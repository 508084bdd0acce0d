//===- CheckpointWriter.h - Checkpoints beside training ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes checkpoints on a thread of its own while training goes on.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_CHECKPOINTWRITER_H
#define MPT_HOST_CHECKPOINTWRITER_H

#include "mpt/Host/Checkpoint.h"
#include <future>
#include <memory>
#include <optional>
#include <thread>

namespace mpt {

/// One checkpoint at a time. A process that ends before one is written leaves the file
/// that was there.
class CheckpointWriter {
public:
  CheckpointWriter() = default;
  /// As `stop`.
  ~CheckpointWriter() { stop(); }
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Whether one was begun and not finished.
  bool isBusy() const { return thread.joinable(); }
  /// Begins to write `checkpoint` with the state of `engine` as it is, as saveCheckpoint
  /// does; with `ranks`, which hold state together, all of them call this, and `finish`.
  /// False if there is no memory for a copy of the state on some rank: then nothing was
  /// begun. None may be under way. An error is of the ranks.
  llvm::Expected<bool> begin(llvm::StringRef path, Checkpoint checkpoint,
                             const StepEngine &engine, RankGroup *ranks = nullptr);
  /// Waits until the snapshot of the one under way, if there is one, has been read and
  /// its memory given back.
  void waitUntilRead();
  /// Whether the thread is done, and `finish` need not wait for it.
  bool isWritten() const;
  /// Waits until the one under way is written, if there is one. Returns how that went.
  llvm::Error finish();
  /// Waits for the thread. What ranks write together stays unfinished: the file at its
  /// path is the one before. Another one is written, or how that failed is forgotten.
  void stop();

private:
  std::thread thread;
  std::future<void> read, written;
  std::string path;
  Checkpoint checkpoint;
  /// Of one that ranks write together.
  std::optional<SharedSave> shared;
  /// Of the thread, why it failed.
  std::optional<std::string> failure;
};

} // namespace mpt

#endif // MPT_HOST_CHECKPOINTWRITER_H
