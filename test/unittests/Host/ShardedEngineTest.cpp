//===- ShardedEngineTest.cpp - State that ranks hold together ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/ShardedEngine.h"
#include "../Support/ResidentMemory.h"
#include "TestHelpers.h"
#include "mpt/Host/Checkpoint.h"
#include "mpt/Host/CheckpointWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace mpt;
using test::message;

namespace {

/// Where ranks that are threads meet.
class Meeting {
public:
  explicit Meeting(int64_t ranks) : texts(ranks) {}

  std::vector<std::string> gather(int64_t rank, llvm::StringRef text) {
    std::unique_lock<std::mutex> lock(mutex);
    const int64_t round = rounds;
    texts[rank] = text.str();
    if (++there == static_cast<int64_t>(texts.size())) {
      given = texts;
      there = 0;
      ++rounds;
      all.notify_all();
    } else {
      all.wait(lock, [&] { return rounds != round; });
    }
    return given;
  }

private:
  std::mutex mutex;
  std::condition_variable all;
  std::vector<std::string> texts, given;
  int64_t there = 0, rounds = 0;
};

class ThreadGroup : public RankGroup {
public:
  ThreadGroup(Meeting &meeting, int64_t rank, int64_t ranks)
      : meeting(meeting), rank(rank), ranks(ranks) {}

  int64_t getRank() const override { return rank; }
  int64_t getNumRanks() const override { return ranks; }
  std::string getHost(int64_t) const override { return "a"; }
  void setDeadline(double) override {}
  llvm::Expected<std::vector<std::string>> gather(llvm::StringRef text) override {
    return meeting.gather(rank, text);
  }
  llvm::Error gatherNumber(uint64_t number, uint64_t *numbers) override {
    for (const std::string &text : meeting.gather(rank, std::to_string(number)))
      *numbers++ = std::stoull(text);
    return llvm::Error::success();
  }
  bool hasFailed() const override { return false; }
  void abort(int status) override { std::_Exit(status); }
  mpt_rt_communicator *getCommunicator() const override { return nullptr; }

private:
  Meeting &meeting;
  int64_t rank, ranks;
};

/// Holds state and runs nothing.
class Store : public StepEngine {
public:
  explicit Store(std::vector<TensorInfo> given) : arguments(std::move(given)) {
    for (const TensorInfo &info : arguments)
      state[info.name] = llvm::cantFail(HostTensor::create(info.type, info.shape));
  }
  llvm::ArrayRef<TensorInfo> getArguments() const override { return arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return {}; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override {
    return state.at(name.str());
  }
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override {
    state[name.str()] = value;
    return llvm::Error::success();
  }
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &) override {
    return llvm::StringMap<HostTensor>();
  }
  size_t arenaBytes() const override { return 0; }
  size_t stateBytes() const override { return 0; }

private:
  std::vector<TensorInfo> arguments;
  std::map<std::string, HostTensor> state;
};

/// Has no memory for copies.
class Forgetful : public Store {
public:
  using Store::Store;
  llvm::Expected<std::unique_ptr<StateSnapshot>> takeSnapshot() const override {
    return llvm::createStringError("no memory for a copy");
  }
};

/// A matrix of 6 numbers and a vector of 2: element i of the matrix is on rank i modulo
/// the number of ranks, the vector on the last one.
std::shared_ptr<const ShardLayout> makeLayout(int64_t ranks, bool isJoined) {
  ShardLayout layout;
  layout.isJoined = isJoined;
  layout.ranks = ranks;
  layout.size = 8;
  layout.tensors = {{"w", {2, 3}, 0, InitSpec{InitKind::Ones, {}}}, {"b", {2}, 1, {}}};
  for (int64_t i = 0; i < 6; ++i)
    layout.pieces.push_back({0, i % ranks, i, i + 1, i / ranks});
  layout.pieces.push_back({1, ranks - 1, 0, 2, 6});
  return std::make_shared<const ShardLayout>(layout);
}

HostTensor makeTensor(std::vector<int64_t> shape, double first) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(ElementType::F32, shape));
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.setElement(i, first + i);
  return tensor;
}

class ShardedEngineTest : public ::testing::Test {
protected:
  /// Calls `body` with the engine and the group of each of `ranks` threads.
  template <typename Body>
  void forEachRank(int64_t ranks, Body body, bool isJoined = false) {
    Meeting meeting(ranks);
    auto layout = makeLayout(ranks, false), parameters = makeLayout(ranks, isJoined);
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadGroup group(meeting, rank, ranks);
        TensorInfo shard{
            "shards.0", Role::Parameter, ElementType::F32, {8}, std::nullopt};
        TensorInfo moment = shard;
        moment.shards = layout;
        shard.shards = parameters;
        if (isJoined)
          shard.shape = {8 * ranks};
        moment.name = "shards.0.m";
        moment.role = Role::OptimizerState;
        moment.shardSuffix = ".m";
        TensorInfo step{"step", Role::OptimizerState, ElementType::I64, {}, std::nullopt};
        auto engine = ShardedEngine::wrap(
            std::make_unique<Store>(std::vector<TensorInfo>{shard, moment, step}), group);
        body(*engine, group);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  static void fill(StepEngine &engine) {
    llvm::cantFail(engine.writeState("w", makeTensor({2, 3}, 1)));
    llvm::cantFail(engine.writeState("b", makeTensor({2}, 10)));
    llvm::cantFail(engine.writeState("w.m", makeTensor({2, 3}, 20)));
    llvm::cantFail(engine.writeState("b.m", makeTensor({2}, 30)));
    llvm::cantFail(engine.writeState("step", HostTensor::scalarI64(5)));
  }
  /// What `fill` has written.
  static void expectFilled(const StepEngine &engine) {
    EXPECT_EQ(llvm::cantFail(engine.readState("w")), makeTensor({2, 3}, 1));
    EXPECT_EQ(llvm::cantFail(engine.readState("b")), makeTensor({2}, 10));
    EXPECT_EQ(llvm::cantFail(engine.readState("w.m")), makeTensor({2, 3}, 20));
    EXPECT_EQ(llvm::cantFail(engine.readState("b.m")), makeTensor({2}, 30));
    EXPECT_EQ(llvm::cantFail(engine.readState("step")), HostTensor::scalarI64(5));
  }
  static llvm::Error save(StepEngine &engine, RankGroup &group, const std::string &path,
                          int64_t attempt) {
    Checkpoint checkpoint;
    checkpoint.attempt = attempt;
    checkpoint.state = llvm::cantFail(captureState(engine));
    checkpoint.pieces = llvm::cantFail(engine.readPieces());
    return saveCheckpoint(path, checkpoint, group);
  }
  size_t countFiles() const {
    std::error_code code;
    size_t count = 0;
    for (llvm::sys::fs::directory_iterator at(directory.path(""), code), end;
         at != end && !code; at.increment(code))
      ++count;
    return count;
  }

  test::TemporaryDirectory directory;
  std::string path = directory.path("c.safetensors");
};

TEST_F(ShardedEngineTest, HasWholeTensors) {
  forEachRank(3, [&](StepEngine &engine, RankGroup &) {
    std::vector<std::string> names;
    for (const TensorInfo &info : engine.getArguments())
      names.push_back(info.name);
    EXPECT_EQ(names, (std::vector<std::string>{"w", "b", "w.m", "b.m", "step"}));
    EXPECT_TRUE(engine.getArguments()[0].init.has_value());
    EXPECT_FALSE(engine.getArguments()[4].isShared);
    fill(engine);
    expectFilled(engine);
    EXPECT_EQ(message(engine.writeState("w", makeTensor({3, 2}, 0))),
              "expected 'w' to be f32[2, 3], found f32[3, 2]");
  });
}

TEST_F(ShardedEngineTest, ReadingOtherStateIsAnError) {
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    auto read = engine.readState(group.getRank() == 0 ? "w" : "b");
    EXPECT_EQ(message(read.takeError()),
              group.getRank() == 0
                  ? "'w' is cut between ranks: expected all of them to read it, found "
                    "rank 1 (on a) at something else; read state on every rank, in the "
                    "same order"
                  : "'b' is cut between ranks: expected all of them to read it, found "
                    "rank 0 (on a) at something else; read state on every rank, in the "
                    "same order");
  });
}

TEST_F(ShardedEngineTest, AnyNumberOfRanksLoadsACheckpoint) {
  forEachRank(3, [&](StepEngine &engine, RankGroup &group) {
    fill(engine);
    EXPECT_EQ(message(save(engine, group, path, 4)), "success");
  });
  EXPECT_EQ(countFiles(), 4u);
  Checkpoint loaded = llvm::cantFail(loadCheckpoint(path));
  EXPECT_EQ(loaded.attempt, 4);
  EXPECT_EQ(loaded.state.size(), 5u);
  EXPECT_EQ(loaded.state.at("w"), makeTensor({2, 3}, 1));
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    llvm::cantFail(restoreState(engine, path, loaded.state));
    expectFilled(engine);
    // Twice at one step: the files of the first are named until the second is there.
    EXPECT_EQ(message(save(engine, group, path, 4)), "success");
    EXPECT_EQ(message(save(engine, group, path, 4)), "success");
  });
  EXPECT_EQ(countFiles(), 3u);
  // One process writes all into one file.
  loaded = llvm::cantFail(loadCheckpoint(path));
  EXPECT_EQ(loaded.state.at("w.m"), makeTensor({2, 3}, 20));
  llvm::cantFail(saveCheckpoint(path, loaded));
  EXPECT_EQ(countFiles(), 1u);
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(path)).state, loaded.state);
}

/// Each rank has the parameters of all and writes its own part; others resume.
TEST_F(ShardedEngineTest, ParametersOfAllRanks) {
  auto save3 = [&](bool isJoined) {
    forEachRank(
        3,
        [&](StepEngine &engine, RankGroup &group) {
          fill(engine);
          expectFilled(engine);
          // Nobody waits for the others.
          if (isJoined && group.getRank() == 1)
            EXPECT_EQ(llvm::cantFail(engine.readState("b")), makeTensor({2}, 10));
          EXPECT_EQ(message(save(engine, group, path, 4)), "success");
        },
        isJoined);
    return llvm::cantFail(loadCheckpoint(path)).state;
  };
  auto joined = save3(true);
  EXPECT_EQ(joined, save3(false));
  EXPECT_EQ(joined.at("w"), makeTensor({2, 3}, 1));
  for (bool isJoined : {true, false})
    forEachRank(
        2,
        [&](StepEngine &engine, RankGroup &) {
          llvm::cantFail(restoreState(engine, path, joined));
          expectFilled(engine);
        },
        isJoined);
}

TEST_F(ShardedEngineTest, StaleShardsAreThoseThatNothingNames) {
  auto write = [](const std::string &file, llvm::StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream(file, code) << text;
    ASSERT_FALSE(code);
  };
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    fill(engine);
    EXPECT_EQ(message(save(engine, group, path, 4)), "success");
  });
  write(path + ".step5.rank0-of-2", "left by a killed rank");
  EXPECT_EQ(countFiles(), 4u);
  removeStaleShards(path);
  EXPECT_EQ(countFiles(), 3u);

  // Another name of the checkpoint, which a run goes on from.
  const std::string other = directory.path("kept.safetensors");
  ASSERT_FALSE(llvm::sys::fs::rename(path, other));
  removeStaleShards(path, other);
  EXPECT_EQ(countFiles(), 3u);
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(other)).attempt, 4);

  // A damaged file may name any of them.
  write(path, "damaged");
  removeStaleShards(path);
  EXPECT_EQ(countFiles(), 4u);
  ASSERT_FALSE(llvm::sys::fs::remove(path));
  removeStaleShards(path);
  EXPECT_EQ(countFiles(), 1u);
}

/// What ranks write beside training is the state when it was begun, and counts once all
/// have finished it.
TEST_F(ShardedEngineTest, WritesInTheBackground) {
  for (bool isJoined : {false, true}) {
    auto train = [&](StepEngine &engine, RankGroup &group) {
      fill(engine);
      CheckpointWriter writer;
      Checkpoint checkpoint;
      checkpoint.attempt = 7;
      EXPECT_TRUE(llvm::cantFail(writer.begin(path, checkpoint, engine, &group)));
      // Steps go on.
      llvm::cantFail(engine.writeState("w", makeTensor({2, 3}, 90)));
      llvm::cantFail(engine.writeState("w.m", makeTensor({2, 3}, 95)));
      llvm::cantFail(engine.writeState("step", HostTensor::scalarI64(6)));
      while (!writer.isWritten())
        std::this_thread::yield();
      EXPECT_FALSE(llvm::sys::fs::exists(path));
      group.isAnywhere(true);
      EXPECT_EQ(message(writer.finish()), "success");
      EXPECT_TRUE(llvm::sys::fs::exists(path));
      EXPECT_EQ(message(writer.finish()), "success");
    };
    forEachRank(3, train, isJoined);
    EXPECT_EQ(countFiles(), 4u);
    forEachRank(
        1,
        [&](StepEngine &engine, RankGroup &) {
          Checkpoint loaded = llvm::cantFail(loadCheckpoint(path));
          EXPECT_EQ(loaded.attempt, 7);
          EXPECT_EQ(message(restoreState(engine, path, loaded.state)), "success");
          expectFilled(engine);
        },
        isJoined);
    ASSERT_FALSE(llvm::sys::fs::remove(path));
    removeStaleShards(path);
  }
}

/// Once it is written, no copy of the state is kept until the next one.
TEST_F(ShardedEngineTest, KeepsNoCopyOfWhatIsWritten) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "what is freed stays in memory";
#endif
  // So large that its memory goes back to the system when it is freed.
  constexpr int64_t kNumbers = 9 << 20, kBytes = 4 * kNumbers;
  Store engine({{"w", Role::Parameter, ElementType::F32, {kNumbers}, std::nullopt}});
  HostTensor value = llvm::cantFail(HostTensor::create(ElementType::F32, {kNumbers}));
  llvm::fill(value.getBytes(), uint8_t(63));
  llvm::cantFail(engine.writeState("w", value));
  const int64_t before = getResidentBytes();
  CheckpointWriter writer;
  EXPECT_TRUE(llvm::cantFail(writer.begin(path, Checkpoint(), engine)));
  while (!writer.isWritten())
    std::this_thread::yield();
  EXPECT_LT(getResidentBytes(), before + kBytes / 2);
  EXPECT_EQ(message(writer.finish()), "success");
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(path)).state.at("w"), value);
}

/// State that is the same on all ranks is copied by the one that writes it alone.
TEST_F(ShardedEngineTest, OthersReadNoStateThatTheyDoNotWrite) {
  class Unreadable : public Store {
  public:
    using Store::Store;
    llvm::Expected<std::unique_ptr<StateSnapshot>> takeSnapshot() const override {
      struct Snapshot : StateSnapshot {
        llvm::Expected<HostTensor> readState(llvm::StringRef) override {
          return llvm::createStringError("read");
        }
      };
      return std::make_unique<Snapshot>();
    }
  };
  for (int64_t unreadable : {1, 0})
    forEachRank(2, [&](StepEngine &, RankGroup &group) {
      const std::vector<TensorInfo> arguments = {
          {"step", Role::OptimizerState, ElementType::I64, {}, std::nullopt}};
      Store readable(arguments);
      Unreadable other(arguments);
      const StepEngine &engine = group.getRank() == unreadable ? other : readable;
      CheckpointWriter writer;
      EXPECT_TRUE(llvm::cantFail(writer.begin(path, Checkpoint(), engine, &group)));
      EXPECT_EQ(message(writer.finish()) == "success", unreadable == 1);
    });
}

/// Where one rank has no memory for a copy, none writes in the background; one that
/// cannot write its part is an error on all.
TEST_F(ShardedEngineTest, FailuresInTheBackground) {
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    fill(engine);
    EXPECT_EQ(message(save(engine, group, path, 4)), "success");
    CheckpointWriter writer;
    Checkpoint checkpoint;
    checkpoint.attempt = 5;
    Forgetful forgetful(std::vector<TensorInfo>{});
    const StepEngine &second = group.getRank() == 1 ? forgetful : engine;
    EXPECT_FALSE(llvm::cantFail(writer.begin(path, checkpoint, second, &group)));
    EXPECT_FALSE(writer.isBusy());
  });
  ASSERT_FALSE(llvm::sys::fs::create_directory(path + ".step5.rank1-of-2"));
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    fill(engine);
    CheckpointWriter writer;
    Checkpoint checkpoint;
    checkpoint.attempt = 5;
    EXPECT_TRUE(llvm::cantFail(writer.begin(path, checkpoint, engine, &group)));
    EXPECT_NE(message(writer.finish()).find("rank1-of-2"), std::string::npos);
    EXPECT_FALSE(writer.isBusy());
    // One that is not finished changes nothing.
    EXPECT_TRUE(llvm::cantFail(writer.begin(path, checkpoint, engine, &group)));
    writer.stop();
    EXPECT_EQ(message(writer.finish()), "success");
  });
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(path)).attempt, 4);
}

TEST_F(ShardedEngineTest, AFailureOfOneRankChangesNothing) {
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    fill(engine);
    EXPECT_EQ(message(save(engine, group, path, 4)), "success");
  });
  ASSERT_FALSE(llvm::sys::fs::create_directory(path + ".step5.rank1-of-2"));
  forEachRank(2, [&](StepEngine &engine, RankGroup &group) {
    EXPECT_NE(message(save(engine, group, path, 5)).find("rank1-of-2"),
              std::string::npos);
  });
  EXPECT_FALSE(llvm::sys::fs::exists(path + ".step5.rank0-of-2"));
  Checkpoint loaded = llvm::cantFail(loadCheckpoint(path));
  EXPECT_EQ(loaded.attempt, 4);
  EXPECT_EQ(loaded.state.at("b"), makeTensor({2}, 10));
}

} // namespace
