//===- CheckpointWriter.cpp - Checkpoints beside training -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/CheckpointWriter.h"
#include "llvm/ADT/STLExtras.h"
#include <csignal>
#include <pthread.h>

using namespace mpt;

static llvm::Error readAll(Checkpoint &checkpoint, StateSnapshot &snapshot,
                           const std::vector<std::string> &names) {
  for (const std::string &name : names) {
    auto value = snapshot.readState(name);
    if (!value)
      return value.takeError();
    checkpoint.state[name] = std::move(*value);
  }
  auto pieces = snapshot.readPieces();
  if (!pieces)
    return pieces.takeError();
  checkpoint.pieces = std::move(*pieces);
  return llvm::Error::success();
}

llvm::Expected<bool> CheckpointWriter::begin(llvm::StringRef to, Checkpoint made,
                                             const StepEngine &engine, RankGroup *ranks) {
  auto taken = engine.takeSnapshot();
  std::unique_ptr<StateSnapshot> snapshot;
  if (taken)
    snapshot = std::move(*taken);
  else
    llvm::consumeError(taken.takeError());
  if (ranks) {
    std::vector<uint64_t> have(static_cast<size_t>(ranks->getNumRanks()));
    if (llvm::Error error = ranks->gatherNumber(snapshot != nullptr, have.data()))
      return std::move(error);
    if (llvm::is_contained(have, 0U))
      return false;
    auto begun = SharedSave::begin(to, made.attempt, *ranks);
    if (!begun)
      return begun.takeError();
    shared = std::move(*begun);
  }
  if (!snapshot)
    return false;
  path = to.str();
  checkpoint = std::move(made);
  std::vector<std::string> names;
  // Of what is the same on all ranks, rank 0 writes its own.
  const bool writesState = !ranks || ranks->getRank() == 0;
  for (const TensorInfo &argument : engine.getArguments())
    if (writesState && isStateRole(argument.role) && !argument.isShared)
      names.push_back(argument.name);
  std::promise<void> hasRead, hasWritten;
  read = hasRead.get_future();
  written = hasWritten.get_future();
  // Signals are for the thread that trains.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this, snapshot = std::move(snapshot), names = std::move(names),
                        hasRead = std::move(hasRead),
                        hasWritten = std::move(hasWritten)]() mutable {
    llvm::Error error = readAll(checkpoint, *snapshot, names);
    snapshot.reset();
    hasRead.set_value();
    if (!error && shared) {
      shared->write(checkpoint.pieces);
      checkpoint.pieces = {};
    } else if (!error) {
      error = saveCheckpoint(path, checkpoint);
      // Nothing reads it any more, and it has a copy of all state.
      checkpoint = {};
    }
    if (error)
      failure = llvm::toString(std::move(error));
    hasWritten.set_value();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

void CheckpointWriter::waitUntilRead() {
  if (isBusy())
    read.wait();
}

bool CheckpointWriter::isWritten() const {
  return !isBusy() ||
         written.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

llvm::Error CheckpointWriter::finish() {
  if (!isBusy())
    return llvm::Error::success();
  thread.join();
  const Checkpoint made = std::exchange(checkpoint, {});
  std::optional<std::string> text = std::exchange(failure, std::nullopt);
  if (std::optional<SharedSave> saving = std::exchange(shared, std::nullopt)) {
    if (text)
      saving->fail(*text);
    return saving->finish(made);
  }
  return text ? llvm::createStringError(*text) : llvm::Error::success();
}

void CheckpointWriter::stop() {
  if (isBusy())
    thread.join();
  shared.reset();
  failure.reset();
  checkpoint = {};
}
