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
  /// Waits for the checkpoint that is being written.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Whether one was begun and not finished.
  bool isBusy() const { return thread.joinable(); }
  /// Begins to write `checkpoint` with the state `names` of `snapshot`, as saveCheckpoint
  /// does. None may be under way.
  void begin(std::string path, Checkpoint checkpoint,
             std::unique_ptr<StateSnapshot> snapshot, std::vector<std::string> names);
  /// Waits until the snapshot of the one under way, if there is one, has been read and
  /// its memory given back.
  void waitUntilRead();
  /// Waits until the one under way is written. Returns how that went.
  llvm::Error finish();

private:
  std::thread thread;
  std::future<void> read;
  /// Of the thread, why it failed.
  std::optional<std::string> failure;
};

} // namespace mpt

#endif // MPT_HOST_CHECKPOINTWRITER_H
