//===- CheckpointWriter.cpp - Checkpoints beside training -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/CheckpointWriter.h"
#include <csignal>
#include <pthread.h>

using namespace mpt;

CheckpointWriter::~CheckpointWriter() { llvm::consumeError(finish()); }

static llvm::Error readAll(Checkpoint &checkpoint, StateSnapshot &snapshot,
                           const std::vector<std::string> &names) {
  for (const std::string &name : names) {
    auto value = snapshot.readState(name);
    if (!value)
      return value.takeError();
    checkpoint.state[name] = std::move(*value);
  }
  return llvm::Error::success();
}

void CheckpointWriter::begin(std::string path, Checkpoint checkpoint,
                             std::unique_ptr<StateSnapshot> snapshot,
                             std::vector<std::string> names) {
  std::promise<void> hasRead;
  read = hasRead.get_future();
  // Signals are for the thread that trains.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this, path = std::move(path), checkpoint = std::move(checkpoint),
                        snapshot = std::move(snapshot), names = std::move(names),
                        hasRead = std::move(hasRead)]() mutable {
    llvm::Error error = readAll(checkpoint, *snapshot, names);
    snapshot.reset();
    hasRead.set_value();
    if (!error)
      error = saveCheckpoint(path, checkpoint);
    if (error)
      failure = llvm::toString(std::move(error));
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void CheckpointWriter::waitUntilRead() {
  if (isBusy())
    read.wait();
}

llvm::Error CheckpointWriter::finish() {
  if (isBusy())
    thread.join();
  std::optional<std::string> text = std::exchange(failure, std::nullopt);
  return text ? llvm::createStringError(*text) : llvm::Error::success();
}
