//===- CheckpointTest.cpp - Checkpoints -------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Checkpoint.h"
#include "FakeEngine.h"
#include "TestHelpers.h"
#include "mpt/Host/SafetensorsIO.h"
#include "mpt/Support/Version.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

using namespace mpt;
using test::message;

namespace {

class CheckpointTest : public ::testing::Test {
protected:
  Checkpoint make() {
    Checkpoint checkpoint;
    checkpoint.attempt = 12;
    checkpoint.skipped = 2;
    checkpoint.seed = ~uint64_t(0);
    checkpoint.batch = 4;
    checkpoint.rows = 30;
    checkpoint.position = {3, 8};
    checkpoint.program = "0123abcd";
    checkpoint.wholeProgram = "4567";
    checkpoint.state = llvm::cantFail(captureState(engine));
    return checkpoint;
  }
  test::FakeEngine engine{4};
  test::TemporaryDirectory directory;
  std::string path = directory.path("c.safetensors");
};

TEST_F(CheckpointTest, RoundTrips) {
  llvm::cantFail(engine.writeState("w", HostTensor::scalar(ElementType::F32, 0.1)));
  Checkpoint saved = make();
  llvm::cantFail(saveCheckpoint(path, saved));
  Checkpoint loaded = llvm::cantFail(loadCheckpoint(path));
  EXPECT_EQ(loaded.attempt, saved.attempt);
  EXPECT_EQ(loaded.skipped, saved.skipped);
  EXPECT_EQ(loaded.seed, saved.seed);
  EXPECT_EQ(loaded.batch, saved.batch);
  EXPECT_EQ(loaded.rows, saved.rows);
  EXPECT_EQ(loaded.position, saved.position);
  EXPECT_EQ(loaded.program, saved.program);
  EXPECT_EQ(loaded.wholeProgram, saved.wholeProgram);
  EXPECT_EQ(loaded.state, saved.state);

  test::FakeEngine other(4);
  llvm::cantFail(restoreState(other, path, loaded.state));
  EXPECT_EQ(llvm::cantFail(other.readState("w")),
            HostTensor::scalar(ElementType::F32, 0.1));
}

TEST_F(CheckpointTest, RefusesOtherFiles) {
  llvm::cantFail(writeSafetensors(path, make().state));
  EXPECT_EQ(message(loadCheckpoint(path)),
            path + ": expected a checkpoint of mpt-run, found a .safetensors "
                   "file of another origin");
  llvm::cantFail(writeSafetensors(path, make().state, {{"mpt.checkpoint", "99"}}));
  EXPECT_EQ(message(loadCheckpoint(path)),
            path + ": expected checkpoint format 1 or 2, found 99");
  llvm::cantFail(writeSafetensors(path, make().state,
                                  {{"mpt.checkpoint", "1"}, {"mpt.version", "0.0.1"}}));
  EXPECT_EQ(message(loadCheckpoint(path)),
            path + ": expected a checkpoint of MPT " + kVersion +
                ", found one of 0.0.1; its parameters can be read with --init");
  llvm::cantFail(writeSafetensors(path, make().state,
                                  {{"mpt.checkpoint", "1"}, {"mpt.version", kVersion}}));
  EXPECT_EQ(message(loadCheckpoint(path)),
            path + ": expected a number for mpt.attempt in the metadata, found "
                   "nothing");
  llvm::cantFail(writeSafetensors(
      path, make().state,
      {{"mpt.checkpoint", "1"}, {"mpt.version", kVersion}, {"mpt.attempt", "-1"}}));
  EXPECT_EQ(message(loadCheckpoint(path)),
            path + ": expected a number for mpt.attempt in the metadata, found "
                   "'-1'");
}

TEST_F(CheckpointTest, FindsAFlippedBitInEveryByte) {
  Checkpoint saved = make();
  saved.evaluationDue = true;
  llvm::cantFail(saveCheckpoint(path, saved));
  const std::string bytes = test::readBytes(path);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] ^= 1 << at % 8;
    test::writeBytes(path, damaged);
    EXPECT_NE(message(loadCheckpoint(path)), "success") << "byte " << at;
    // What is left alone by --init need not be right, but the rest must be.
    auto values = readFirstValues(path, engine);
    if (!values) {
      llvm::consumeError(values.takeError());
      continue;
    }
    for (const auto &[name, value] : *values)
      EXPECT_EQ(value, saved.state[name]) << name << ", byte " << at;
  }
}

TEST_F(CheckpointTest, NamesWhatIsDamaged) {
  llvm::cantFail(saveCheckpoint(path, make()));
  const std::string bytes = test::readBytes(path);
  std::string damaged = bytes;
  // The widest tensors come first, then by name: 'attempt' is there.
  damaged[8 + llvm::support::endian::read64le(bytes.data())] ^= 1;
  test::writeBytes(path, damaged);
  auto has = [&](llvm::StringRef part) {
    return llvm::StringRef(message(loadCheckpoint(path))).contains(part);
  };
  EXPECT_TRUE(has("c.safetensors: damaged: expected the checksum of 'attempt' to be "));
  EXPECT_TRUE(has("; take another copy of the file"));
  damaged = bytes;
  damaged[damaged.find("\"mpt.attempt\":\"12") + 15] = '3';
  test::writeBytes(path, damaged);
  EXPECT_TRUE(has("damaged: expected the checksum of its header to be "));
}

TEST_F(CheckpointTest, ReadsFilesWithoutChecksums) {
  Checkpoint saved = make();
  llvm::cantFail(writeSafetensors(path, saved.state,
                                  {{"mpt.checkpoint", "1"},
                                   {"mpt.version", kVersion},
                                   {"mpt.attempt", "12"},
                                   {"mpt.skipped", "2"},
                                   {"mpt.seed", "7"},
                                   {"mpt.batch", "4"},
                                   {"mpt.rows", "30"},
                                   {"mpt.epoch", "3"},
                                   {"mpt.index", "8"}}));
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(path)).state, saved.state);
  // With checksums they must all be there.
  llvm::cantFail(writeSafetensors(path, saved.state, {{"mpt.checkpoint", "2"}}));
  EXPECT_TRUE(llvm::StringRef(message(loadCheckpoint(path)))
                  .contains("damaged: expected the checksum of its header to be in the "
                            "metadata, found "));
}

TEST_F(CheckpointTest, RefusesOtherStateAndChangesNothing) {
  HostTensor before = llvm::cantFail(engine.readState("w"));
  auto restore = [&](std::map<std::string, HostTensor> state) {
    std::string text = message(restoreState(engine, "c", state));
    EXPECT_EQ(llvm::cantFail(engine.readState("w")), before);
    return text;
  };
  auto state = make().state;
  state["w"] = HostTensor::scalar(ElementType::F32, 5);
  state.erase("attempt");
  EXPECT_EQ(restore(state), "c: expected 'attempt' (i64[]), found no such tensor");
  state["attempt"] = HostTensor::scalar(ElementType::I32, 5);
  EXPECT_EQ(restore(state), "c: expected 'attempt' to be i64[], found i32[]");
  state["attempt"] = HostTensor::scalarI64(1);
  state["x"] = HostTensor::scalarI64(1);
  EXPECT_EQ(restore(state), "c: found 'x', which is not state of the step function");
}

} // namespace
