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
            path + ": expected checkpoint format 1, found 99");
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
  EXPECT_EQ(restore(state), "c: found 'x', which is no state of the step function");
}

} // namespace
