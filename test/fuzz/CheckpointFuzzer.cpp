//===- CheckpointFuzzer.cpp - Damaged checkpoints -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SafetensorsMutator.h"
#include "mpt/Host/Checkpoint.h"

using namespace mpt;
using namespace mpt::fuzz;

static const llvm::StringRef words[] = {"F64",
                                        "F32",
                                        "I64",
                                        "BOOL",
                                        "dtype",
                                        "shape",
                                        "data_offsets",
                                        "__metadata__",
                                        "mpt.checkpoint",
                                        "mpt.version",
                                        "mpt.attempt",
                                        "mpt.skipped",
                                        "mpt.seed",
                                        "mpt.batch",
                                        "mpt.rows",
                                        "mpt.epoch",
                                        "mpt.index",
                                        "mpt.program",
                                        "w",
                                        "1",
                                        "0",
                                        "-1",
                                        "10",
                                        "18446744073709551615",
                                        "9223372036854775807"};

/// A checkpoint that was loaded is saved and loaded again: the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file(data, size);
  llvm::Expected<Checkpoint> loaded = loadCheckpoint(file.getPath());
  if (!loaded) {
    recordMessage(llvm::toString(loaded.takeError()));
    return 0;
  }
  recordFeature("loaded " + std::to_string(loaded->state.size()));
  TemporaryFile copy;
  if (llvm::Error error = saveCheckpoint(copy.getPath(), *loaded))
    reportFinding("cannot save what was loaded: " + llvm::toString(std::move(error)));
  llvm::Expected<Checkpoint> again = loadCheckpoint(copy.getPath());
  if (!again)
    reportFinding("cannot load what was saved: " + llvm::toString(again.takeError()));
  auto getNumbers = [](const Checkpoint &c) {
    return std::tie(c.attempt, c.skipped, c.seed, c.batch, c.rows, c.position.epoch,
                    c.position.index, c.program);
  };
  if (getNumbers(*again) != getNumbers(*loaded) ||
      again->state.size() != loaded->state.size())
    reportFinding("what was saved loads as another checkpoint");
  for (const auto &[name, tensor] : loaded->state)
    if (again->state[name].getBytes() != tensor.getBytes())
      reportFinding("what was saved loads with another '" + name + "'");
  checkPlantedBug(loaded->skipped > loaded->attempt);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 6) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  llvm::StringRef file(reinterpret_cast<char *>(data), size);
  return replaceInput(mutateSafetensors(file, words, random), data, size, maxSize);
}
