//===- TrainerTest.cpp - The loop around a step -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Trainer.h"
#include "FakeEngine.h"
#include "TestHelpers.h"
#include "gtest/gtest.h"
#include <csignal>
#include <deque>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpt;
using test::message;

namespace {

/// y = 3 x on `rows` points.
DataLoader makeData(int64_t rows = 23, int64_t batch = 4, uint64_t seed = 5) {
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {rows, 1}));
  HostTensor y = x;
  for (int64_t i = 0; i < rows; ++i) {
    x.setElement(i, 0.1 * (i - rows / 2));
    y.setElement(i, 3 * x.getElement(i));
  }
  return llvm::cantFail(DataLoader::create({{"x", x}, {"y", y}}, batch, seed));
}

TrainerOptions makeOptions(int64_t steps) {
  TrainerOptions options;
  options.steps = steps;
  options.seed = 5;
  options.program = "abc";
  return options;
}

/// Lines of a metrics file without the times.
std::string readMetrics(llvm::StringRef path) {
  std::string text = test::readBytes(path), result;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines)
    result += line.take_front(line.find(", \"ms\"")).str() + "\n";
  return result;
}

/// As FakeEngine, but a run may begin before the one before it is finished, as on a GPU:
/// state is that of all that have begun, and results are those of their runs.
class LateEngine : public test::FakeEngine {
public:
  using FakeEngine::FakeEngine;
  llvm::Error watch(std::vector<std::string> names) override {
    watched = std::move(names);
    return llvm::Error::success();
  }
  int64_t getDepth() const override { return 2; }
  llvm::Error begin(const llvm::StringMap<const HostTensor *> &inputs) override {
    EXPECT_LT(underWay.size(), 2u);
    if (badIndex && numBegun == badAt + !isSeenLate)
      return llvm::make_error<BadIndexError>("bad", *badIndex, 0);
    StepResults results;
    results.outputs = llvm::cantFail(run(inputs));
    for (const std::string &name : watched)
      results.state[name] = llvm::cantFail(readState(name));
    underWay.push_back(std::move(results));
    ++numBegun;
    most = std::max(most, underWay.size());
    return llvm::Error::success();
  }
  llvm::Expected<StepResults> finish() override {
    if (underWay.empty())
      return llvm::createStringError("no run is under way");
    if (badIndex && ++numFinished == badAt)
      return llvm::make_error<BadIndexError>("bad", *badIndex, 0);
    StepResults results = std::move(underWay.front());
    underWay.pop_front();
    return std::move(results);
  }

  std::deque<StepResults> underWay;
  size_t most = 0;
  /// The run `badAt` meets it, and it shows when that is finished, or (`isSeenLate`) when
  /// the run after it begins.
  std::optional<int64_t> badIndex;
  int64_t badAt = 0, numBegun = 0, numFinished = 0;
  bool isSeenLate = false;
};

class TrainerTest : public ::testing::Test {
protected:
  test::TemporaryDirectory directory;
  std::string checkpoint = directory.path("c.safetensors");
  std::string metrics = directory.path("m.jsonl");

  /// Trains as mpt-run does, from the checkpoint if `resume` and it exists.
  template <typename Engine = test::FakeEngine>
  void runTraining(int64_t steps, int64_t every, bool resume,
                   std::function<bool()> stop = nullptr) {
    Engine engine(4);
    llvm::cantFail(initializeState(engine, 5, {}, ""));
    DataLoader data = makeData();
    std::optional<Checkpoint> from;
    if (resume && llvm::sys::fs::exists(checkpoint))
      from = llvm::cantFail(loadCheckpoint(checkpoint));
    MetricsLog log =
        llvm::cantFail(MetricsLog::open(metrics, bool(from), from ? from->attempt : 0));
    TrainerOptions options = makeOptions(steps);
    options.checkpointPath = checkpoint;
    options.checkpointEvery = every;
    options.metrics = &log;
    options.shouldStop = stop;
    llvm::cantFail(train(engine, data, options, from, checkpoint));
  }
};

TEST_F(TrainerTest, Learns) {
  test::FakeEngine engine(4);
  DataLoader data = makeData();
  TrainingSummary summary =
      llvm::cantFail(train(engine, data, makeOptions(200), std::nullopt, ""));
  EXPECT_NEAR(llvm::cantFail(engine.readState("w")).getElement(0), 3, 1e-3);
  EXPECT_EQ(summary.attempt, 200);
  EXPECT_EQ(summary.curve.points.size(), 200u);
  EXPECT_EQ(summary.curve.points.back().second, summary.finalLoss);
  EXPECT_GT(summary.millisecondsPerStep, 0);
}

TEST_F(TrainerTest, StoppedAndResumedEqualsUninterrupted) {
  runTraining(60, 0, false);
  std::string wholeState = test::readBytes(checkpoint);
  std::string wholeMetrics = readMetrics(metrics);
  for (int64_t stopAt : {1, 5, 6, 31, 59}) {
    int64_t asked = 0;
    runTraining(60, 0, false, [&] { return ++asked == stopAt; });
    EXPECT_NE(test::readBytes(checkpoint), wholeState);
    runTraining(60, 0, true);
    EXPECT_EQ(test::readBytes(checkpoint), wholeState) << stopAt;
    EXPECT_EQ(readMetrics(metrics), wholeMetrics) << stopAt;
  }
}

/// Steps whose results are read when the next one has begun give the same metrics and
/// checkpoints, wherever they are stopped.
TEST_F(TrainerTest, LateResultsAreTheSame) {
  runTraining(60, 0, false);
  std::string wholeState = test::readBytes(checkpoint);
  std::string wholeMetrics = readMetrics(metrics);
  for (int64_t every : {0, 1, 2, 7, 60}) {
    runTraining<LateEngine>(60, every, false);
    EXPECT_EQ(test::readBytes(checkpoint), wholeState) << every;
    EXPECT_EQ(readMetrics(metrics), wholeMetrics) << every;
  }
  for (int64_t stopAt : {1, 5, 6, 31, 58, 59}) {
    int64_t asked = 0;
    runTraining<LateEngine>(60, 5, false, [&] { return ++asked == stopAt; });
    const int64_t attempt = llvm::cantFail(loadCheckpoint(checkpoint)).attempt;
    // The step that was under way counts, unless a checkpoint was due before it.
    EXPECT_EQ(attempt, stopAt + (stopAt % 5 != 0 && stopAt < 60)) << stopAt;
    runTraining(60, 0, true);
    EXPECT_EQ(test::readBytes(checkpoint), wholeState) << stopAt;
    EXPECT_EQ(readMetrics(metrics), wholeMetrics) << stopAt;
  }
}

/// Two are under way at a time but where something needs the state between them.
TEST_F(TrainerTest, StepsOverlap) {
  LateEngine engine(4);
  DataLoader data = makeData();
  TrainerOptions options = makeOptions(9);
  options.checkpointPath = checkpoint;
  options.checkpointEvery = 4;
  options.observe = [&](const llvm::StringMap<HostTensor> &, int64_t attempt, bool) {
    EXPECT_EQ(engine.underWay.size(), attempt % 4 != 0 && attempt < 9 ? 1u : 0u)
        << attempt;
    return llvm::Error::success();
  };
  llvm::cantFail(train(engine, data, options, std::nullopt, ""));
  EXPECT_EQ(engine.most, 2u);
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, 9);
}

/// What fails on the way costs no step that has begun.
TEST_F(TrainerTest, LateStepsAreSaved) {
  LateEngine engine(4);
  DataLoader data = makeData();
  MetricsLog log = llvm::cantFail(MetricsLog::open("/dev/full", false, 0));
  TrainerOptions options = makeOptions(9);
  options.metrics = &log;
  options.checkpointPath = checkpoint;
  EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")),
            "/dev/full: cannot write: No space left on device; the state after step 2 "
            "is in " +
                checkpoint);
  Checkpoint saved = llvm::cantFail(loadCheckpoint(checkpoint));
  EXPECT_EQ(saved.attempt, 2);
  EXPECT_EQ(saved.state["attempt"].getElement(0), 2);
  EXPECT_EQ(saved.position.index, 8);
}

/// An index outside its table is looked for in the batch of the step that met it,
/// whenever it shows.
TEST_F(TrainerTest, LateBadIndex) {
  const int64_t rows = 12;
  HostTensor ids = llvm::cantFail(HostTensor::create(ElementType::I64, {rows, 1}));
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(ids.getBytes().data() + 8 * i, &i, 8);
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {rows, 1}));
  for (int64_t step : {1, 2, 3})
    for (bool isSeenLate : {false, true}) {
      SCOPED_TRACE(std::to_string(step) + (isSeenLate ? " late" : ""));
      DataLoader data = llvm::cantFail(
          DataLoader::create({{"x", x}, {"y", x}, {"ids", ids, false, "ids.npy"}}, 4, 5));
      // What the batch of that step begins with.
      const int64_t bad = shuffledOrder(rows, 5, 0)[4 * (step - 1)];
      LateEngine engine(4);
      engine.badIndex = bad;
      engine.badAt = step;
      engine.isSeenLate = isSeenLate;
      TrainerOptions options = makeOptions(9);
      options.checkpointPath = checkpoint;
      EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")),
                "bad; in the data: 'ids' of ids.npy, row " + std::to_string(bad));
      EXPECT_FALSE(llvm::sys::fs::exists(checkpoint));
    }
}

// kill -9 between two checkpoints, several times in a row.
TEST_F(TrainerTest, KilledAndResumedEqualsUninterrupted) {
  runTraining(40, 0, false);
  std::string wholeState = test::readBytes(checkpoint);
  std::string wholeMetrics = readMetrics(metrics);
  llvm::sys::fs::remove(checkpoint);
  llvm::sys::fs::remove(metrics);
  for (int killed = 0; killed < 3; ++killed) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int steps = 0;
      runTraining(40, 4, true, [&] {
        if (++steps == 11)
          raise(SIGKILL);
        return false;
      });
      _exit(0);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  runTraining(40, 4, true);
  EXPECT_EQ(test::readBytes(checkpoint), wholeState);
  EXPECT_EQ(readMetrics(metrics), wholeMetrics);
}

TEST_F(TrainerTest, RefusesAnotherRunsCheckpoint) {
  runTraining(4, 0, false);
  auto resume = [&](DataLoader data, TrainerOptions options) {
    test::FakeEngine engine(4);
    return message(
        train(engine, data, options, llvm::cantFail(loadCheckpoint(checkpoint)), "c"));
  };
  TrainerOptions other = makeOptions(9);
  EXPECT_EQ(resume(makeData(), other), "success");
  EXPECT_EQ(resume(makeData(24), other),
            "c: expected a checkpoint with a data set of 24, found 23");
  EXPECT_EQ(resume(makeData(23, 2), other),
            "c: expected a checkpoint with batch 2, found 4");
  other.seed = 6;
  EXPECT_EQ(resume(makeData(), other), "c: expected a checkpoint with seed 6, found 5");
  other.program = "xyz";
  EXPECT_EQ(resume(makeData(), other),
            "c: expected a checkpoint of this step function (xyz), found one "
            "of abc: the model, the optimizer, the precision or the version of "
            "MPT differ");
  // What cuts the same batches in another way goes on.
  other = makeOptions(9);
  other.program = "xyz";
  other.wholeProgram = "abc";
  EXPECT_EQ(resume(makeData(), other), "success");
}

TEST_F(TrainerTest, AFailedCheckpointIsAnError) {
  test::FakeEngine engine(4);
  DataLoader data = makeData();
  TrainerOptions options = makeOptions(3);
  options.checkpointPath = "/dev/full";
  EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")),
            "/dev/full: cannot write: No space left on device");
}

TEST_F(TrainerTest, InitialState) {
  test::FakeEngine engine(4);
  auto first = [&](uint64_t seed, const std::map<std::string, HostTensor> &values = {}) {
    llvm::cantFail(initializeState(engine, seed, values, "f"));
    return llvm::cantFail(engine.readState("w")).getElement(0);
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
  EXPECT_EQ(first(1, {{"w", HostTensor::scalar(ElementType::F32, 0.25)}}), 0.25);
  EXPECT_EQ(message(initializeState(engine, 1, {{"v", HostTensor::scalarI64(1)}}, "f")),
            "f: found 'v', which is not state of the step function");
  EXPECT_EQ(message(initializeState(engine, 1, {{"w", HostTensor::scalarI64(1)}}, "f")),
            "f: expected 'w' to be f32[], found i64[]");
  for (auto [value, text] : {std::pair(NAN, "NaN"), std::pair(-INFINITY, "infinity")})
    EXPECT_EQ(message(initializeState(
                  engine, 1, {{"w", HostTensor::scalar(ElementType::F32, value)}}, "f")),
              std::string("f: expected finite numbers for 'w', found ") + text +
                  " at []");
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Results: mean of x - w (f32) and the number of rows with x > w (i64).
class FakeEvaluation : public StepEngine {
public:
  explicit FakeEvaluation(int64_t batch, bool unknownState = false)
      : arguments({{unknownState ? "v" : "w",
                    Role::Parameter,
                    ElementType::F32,
                    {},
                    std::nullopt},
                   {"x", Role::Input, ElementType::F32, {batch, 1}, std::nullopt}}),
        results({{"difference", ElementType::F32, {}, ""},
                 {"above", ElementType::I64, {}, ""}}) {}
  llvm::ArrayRef<TensorInfo> getArguments() const override { return arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef) const override {
    return HostTensor::scalar(ElementType::F32, w);
  }
  llvm::Error writeState(llvm::StringRef, const HostTensor &value) override {
    w = value.getElement(0);
    return llvm::Error::success();
  }
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &inputs) override {
    const HostTensor &x = *inputs.lookup("x");
    EXPECT_EQ(x.getShape(), llvm::ArrayRef<int64_t>(arguments[1].shape));
    double sum = 0;
    int64_t above = 0;
    for (int64_t i = 0; i < x.getNumElements(); ++i) {
      sum += x.getElement(i) - w;
      above += x.getElement(i) > w;
    }
    llvm::StringMap<HostTensor> outputs;
    outputs["difference"] =
        HostTensor::scalar(ElementType::F32, sum / x.getNumElements());
    outputs["above"] = HostTensor::scalarI64(above);
    return std::move(outputs);
  }
  size_t arenaBytes() const override { return 0; }
  size_t stateBytes() const override { return 4; }

private:
  std::vector<TensorInfo> arguments;
  std::vector<ResultInfo> results;
  double w = 0;
};

DataLoader makeEvaluationData() {
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {10, 1}));
  for (int64_t i = 0; i < 10; ++i)
    x.setElement(i, i);
  return llvm::cantFail(DataLoader::create({{"x", x}}, 4, 0));
}

TEST(EvaluatorTest, CoversAllRowsWithTheTrainedState) {
  std::vector<int64_t> made;
  Evaluator evaluator(makeEvaluationData(), [&](int64_t batch) {
    made.push_back(batch);
    return std::make_unique<FakeEvaluation>(batch);
  });
  test::FakeEngine trained(4);
  for (double w : {0.0, 2.5}) {
    llvm::cantFail(trained.writeState("w", HostTensor::scalar(ElementType::F32, w)));
    auto results = llvm::cantFail(evaluator.evaluate(trained, true));
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].first, "difference");
    EXPECT_NEAR(results[0].second, 4.5 - w, 1e-6);
    EXPECT_EQ(results[1].second, w == 0 ? 9 : 7);
  }
  // Batches of 4, 4 and the remaining 2; each engine is made once.
  EXPECT_EQ(made, std::vector<int64_t>({4, 2}));
}

TEST(EvaluatorTest, UnknownState) {
  Evaluator evaluator(makeEvaluationData(), [](int64_t batch) {
    return std::make_unique<FakeEvaluation>(batch, true);
  });
  test::FakeEngine trained(4);
  EXPECT_EQ(message(evaluator.evaluate(trained, true)),
            "evaluation needs 'v', which the trained function does not have: "
            "no state 'v'");
}

TEST_F(TrainerTest, EvaluatesWhenDueAndAtTheEnd) {
  Evaluator evaluator(makeEvaluationData(), [](int64_t batch) {
    return std::make_unique<FakeEvaluation>(batch);
  });
  {
    MetricsLog log = llvm::cantFail(MetricsLog::open(metrics, false, 0));
    test::FakeEngine engine(4);
    DataLoader data = makeData();
    TrainerOptions options = makeOptions(7);
    options.evaluator = &evaluator;
    options.evalEvery = 3;
    options.metrics = &log;
    TrainingSummary summary =
        llvm::cantFail(train(engine, data, options, std::nullopt, ""));
    EXPECT_EQ(summary.evaluation.size(), 2u);
  }
  std::string text = test::readBytes(metrics);
  EXPECT_EQ(llvm::StringRef(text).count("\"eval.above\""), 3u);
  for (const char *step : {"3", "6", "7"})
    EXPECT_NE(text.find("{\"step\": " + std::string(step) + ", \"eval.difference\""),
              std::string::npos);
}

// A run that is stopped in an evaluation saves at once and evaluates when it goes on.
TEST_F(TrainerTest, StoppedInAnEvaluation) {
  Evaluator evaluator(makeEvaluationData(), [](int64_t batch) {
    return std::make_unique<FakeEvaluation>(batch);
  });
  auto run = [&](int64_t stopAt, bool resume) {
    test::FakeEngine engine(4);
    llvm::cantFail(initializeState(engine, 5, {}, ""));
    DataLoader data = makeData();
    std::optional<Checkpoint> from;
    if (resume)
      from = llvm::cantFail(loadCheckpoint(checkpoint));
    MetricsLog log =
        llvm::cantFail(MetricsLog::open(metrics, resume, from ? from->attempt : 0));
    int64_t asked = 0;
    TrainerOptions options = makeOptions(7);
    options.checkpointPath = checkpoint;
    options.evaluator = &evaluator;
    options.evalEvery = 3;
    options.metrics = &log;
    options.shouldStop = [&] { return ++asked == stopAt; };
    return llvm::cantFail(train(engine, data, options, from, checkpoint));
  };
  EXPECT_FALSE(run(-1, false).interrupted);
  std::string state = test::readBytes(checkpoint), lines = readMetrics(metrics);
  // It is asked after steps 1 and 2, twice in the evaluation after step 3 and after
  // that step; ten times before step 7's evaluation.
  for (int64_t stopAt : {3, 4, 11, 12}) {
    EXPECT_TRUE(run(stopAt, false).interrupted);
    EXPECT_TRUE(llvm::cantFail(loadCheckpoint(checkpoint)).evaluationDue);
    EXPECT_NE(readMetrics(metrics), lines);
    EXPECT_FALSE(run(-1, true).interrupted);
    EXPECT_EQ(test::readBytes(checkpoint), state) << stopAt;
    EXPECT_EQ(readMetrics(metrics), lines) << stopAt;
  }
}

// Whenever a run with evaluations is killed, what its files held then goes on to the same
// files, with each evaluation once.
TEST_F(TrainerTest, KilledAroundEvaluations) {
  Evaluator evaluator(makeEvaluationData(), [](int64_t batch) {
    return std::make_unique<FakeEvaluation>(batch);
  });
  auto run = [&](bool resume, std::function<bool()> observe) {
    test::FakeEngine engine(4);
    llvm::cantFail(initializeState(engine, 5, {}, ""));
    DataLoader data = makeData();
    std::optional<Checkpoint> from;
    if (resume)
      from = llvm::cantFail(loadCheckpoint(checkpoint));
    MetricsLog log =
        llvm::cantFail(MetricsLog::open(metrics, resume, from ? from->attempt : 0));
    TrainerOptions options = makeOptions(7);
    options.checkpointPath = checkpoint;
    options.checkpointEvery = 1;
    options.evaluator = &evaluator;
    options.evalEvery = 3;
    options.metrics = &log;
    options.shouldStop = observe;
    llvm::cantFail(train(engine, data, options, from, checkpoint));
  };
  std::vector<std::pair<std::string, std::string>> moments;
  run(false, [&] {
    if (llvm::sys::fs::exists(checkpoint))
      moments.push_back({test::readBytes(checkpoint), test::readBytes(metrics)});
    return false;
  });
  // The first checkpoint may still be under way after the first step.
  ASSERT_GE(moments.size(), 12u);
  std::string state = test::readBytes(checkpoint), lines = readMetrics(metrics);
  for (const auto &[checkpointThen, metricsThen] : moments) {
    test::writeBytes(checkpoint, checkpointThen);
    test::writeBytes(metrics, metricsThen);
    run(true, nullptr);
    EXPECT_EQ(test::readBytes(checkpoint), state);
    EXPECT_EQ(readMetrics(metrics), lines);
  }
}

//===----------------------------------------------------------------------===//
// Full disks
//===----------------------------------------------------------------------===//

TEST_F(TrainerTest, MetricsThatFailDoNotCostTheState) {
  test::FakeEngine engine(4);
  DataLoader data = makeData();
  MetricsLog log = llvm::cantFail(MetricsLog::open("/dev/full", false, 0));
  TrainerOptions options = makeOptions(9);
  options.metrics = &log;
  options.checkpointPath = checkpoint;
  EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")),
            "/dev/full: cannot write: No space left on device; the state after step 1 "
            "is in " +
                checkpoint);
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, 1);
  // Neither can be written.
  test::FakeEngine other(4);
  options.checkpointPath = directory.path("none/c.safetensors");
  EXPECT_EQ(message(train(other, data, options, std::nullopt, "")),
            "/dev/full: cannot write: No space left on device; " +
                options.checkpointPath + ": cannot write: No such file or directory");
}

TEST_F(TrainerTest, CheckpointsThatFailOnTheWay) {
  std::string folder = directory.path("folder"), path = folder + "/c.safetensors";
  auto run = [&](int64_t goneFrom, int64_t backAt, std::vector<std::string> &warnings) {
    llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::create_directory(folder)));
    test::FakeEngine engine(4);
    DataLoader data = makeData();
    TrainerOptions options = makeOptions(20);
    options.checkpointPath = path;
    options.checkpointEvery = 2;
    options.warn = [&](llvm::StringRef text) { warnings.push_back(text.str()); };
    options.observe = [&](const llvm::StringMap<HostTensor> &, int64_t attempt, bool) {
      // The checkpoint before may be under way.
      while (attempt == goneFrom && llvm::sys::fs::exists(folder))
        llvm::sys::fs::remove_directories(folder);
      if (attempt == backAt)
        EXPECT_FALSE(llvm::sys::fs::create_directory(folder));
      return llvm::Error::success();
    };
    return message(train(engine, data, options, std::nullopt, ""));
  };
  const std::string why = path + ": cannot write: No such file or directory";
  std::vector<std::string> warnings;
  EXPECT_EQ(run(5, 15, warnings), "success");
  EXPECT_EQ(warnings,
            std::vector<std::string>{why + "; training goes on, and the next "
                                           "checkpoint will be tried when it is due"});
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(path)).attempt, 20);
  // The last one counts.
  EXPECT_EQ(run(19, 99, warnings), why);
}

/// Of an engine whose snapshots cannot be taken, or not be read.
class ForgetfulEngine : public test::FakeEngine {
public:
  explicit ForgetfulEngine(bool takes) : FakeEngine(4), takes(takes) {}
  llvm::Expected<std::unique_ptr<StateSnapshot>> takeSnapshot() const override {
    struct Unreadable : StateSnapshot {
      llvm::Expected<HostTensor> readState(llvm::StringRef) override {
        return llvm::createStringError("the copy is gone");
      }
    };
    if (!takes)
      return llvm::createStringError("no memory for a copy");
    return std::make_unique<Unreadable>();
  }

private:
  const bool takes;
};

TEST_F(TrainerTest, SnapshotsThatFail) {
  DataLoader data = makeData();
  TrainerOptions options = makeOptions(7);
  options.checkpointPath = checkpoint;
  options.checkpointEvery = 2;
  std::vector<int64_t> saved;
  options.observe = [&](const llvm::StringMap<HostTensor> &, int64_t attempt, bool) {
    if (attempt % 2 == 1 && attempt > 1)
      saved.push_back(llvm::cantFail(loadCheckpoint(checkpoint)).attempt);
    return llvm::Error::success();
  };
  // Written at once where there is no memory for a copy.
  ForgetfulEngine engine(/*takes=*/false);
  EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")), "success");
  EXPECT_EQ(saved, (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, 7);

  // Nothing is lost when the last one fails in the background.
  ForgetfulEngine other(/*takes=*/true);
  DataLoader again = makeData();
  options = makeOptions(6);
  options.checkpointPath = checkpoint;
  options.checkpointEvery = 6;
  EXPECT_EQ(message(train(other, again, options, std::nullopt, "")),
            "the copy is gone; the state after step 6 is in " + checkpoint);
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, 6);
}

namespace {
/// The only rank.
class Alone : public RankGroup {
public:
  int64_t getRank() const override { return 0; }
  int64_t getNumRanks() const override { return 1; }
  std::string getHost(int64_t) const override { return "a"; }
  void setDeadline(double) override {}
  llvm::Expected<std::vector<std::string>> gather(llvm::StringRef text) override {
    return std::vector<std::string>{text.str()};
  }
  llvm::Error gatherNumber(uint64_t number, uint64_t *all) override {
    *all = number;
    return llvm::Error::success();
  }
  bool hasFailed() const override { return false; }
  void abort(int status) override { std::_Exit(status); }
  mpt_rt_communicator *getCommunicator() const override { return nullptr; }
};
} // namespace

/// What ranks write together is written beside the steps, too, and is the checkpoint long
/// before the next one is due.
TEST_F(TrainerTest, RanksWriteOnTheWay) {
  DataLoader data = makeData();
  Alone alone;
  TrainerOptions options = makeOptions(100000);
  options.ranks = &alone;
  options.checkpointPath = checkpoint;
  options.checkpointEvery = 2;
  int64_t until = -1;
  options.observe = [&](const llvm::StringMap<HostTensor> &, int64_t attempt, bool) {
    if (attempt == 3)
      options.checkpointEvery = 0;
    if (until < 0 && llvm::sys::fs::exists(checkpoint)) {
      EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, 2);
      until = attempt;
    }
    return llvm::Error::success();
  };
  options.shouldStop = [&] { return until >= 0; };
  test::FakeEngine engine(4);
  EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")), "success");
  EXPECT_GT(until, 2);
  EXPECT_LT(until, 100000);
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, until);
}

TEST_F(TrainerTest, RanksWriteAtOnceWithoutMemory) {
  DataLoader data = makeData();
  Alone alone;
  TrainerOptions options = makeOptions(7);
  options.ranks = &alone;
  options.checkpointPath = checkpoint;
  options.checkpointEvery = 2;
  std::vector<int64_t> saved;
  options.observe = [&](const llvm::StringMap<HostTensor> &, int64_t attempt, bool) {
    if (attempt % 2 == 1 && attempt > 1)
      saved.push_back(llvm::cantFail(loadCheckpoint(checkpoint)).attempt);
    return llvm::Error::success();
  };
  ForgetfulEngine engine(/*takes=*/false);
  EXPECT_EQ(message(train(engine, data, options, std::nullopt, "")), "success");
  EXPECT_EQ(saved, (std::vector<int64_t>{2, 4, 6}));
  // With a copy that cannot be read, it is an error of all ranks.
  ForgetfulEngine other(/*takes=*/true);
  DataLoader again = makeData();
  options = makeOptions(4);
  options.ranks = &alone;
  options.checkpointPath = checkpoint;
  options.checkpointEvery = 2;
  EXPECT_EQ(message(train(other, again, options, std::nullopt, "")), "the copy is gone");
  EXPECT_EQ(llvm::cantFail(loadCheckpoint(checkpoint)).attempt, 7);
}

//===----------------------------------------------------------------------===//
// Skipped steps
//===----------------------------------------------------------------------===//

/// Skips every third attempt.
class SkippingEngine : public StepEngine {
public:
  SkippingEngine()
      : arguments({{"scale", Role::LossScale, ElementType::F32, {}, std::nullopt}}),
        results({{"accuracy", ElementType::F32, {}, ""},
                 {"loss", ElementType::F32, {}, ""},
                 {"did_step", ElementType::I1, {}, ""},
                 {"scale", ElementType::F32, {}, "scale"}}) {}
  llvm::ArrayRef<TensorInfo> getArguments() const override { return arguments; }
  llvm::ArrayRef<ResultInfo> getResults() const override { return results; }
  llvm::Expected<HostTensor> readState(llvm::StringRef name) const override {
    return HostTensor::scalar(ElementType::F32, scale);
  }
  llvm::Error writeState(llvm::StringRef name, const HostTensor &value) override {
    scale = value.getElement(0);
    return llvm::Error::success();
  }
  llvm::Expected<llvm::StringMap<HostTensor>>
  run(const llvm::StringMap<const HostTensor *> &) override {
    bool skip = ++attempts % 3 == 0;
    llvm::StringMap<HostTensor> outputs;
    outputs["accuracy"] = HostTensor::scalar(ElementType::F32, 0.75);
    outputs["loss"] = HostTensor::scalar(ElementType::F32, 0.5);
    outputs["did_step"] = HostTensor::scalar(ElementType::I1, !skip);
    if (skip)
      scale /= 2;
    return std::move(outputs);
  }
  size_t arenaBytes() const override { return 0; }
  size_t stateBytes() const override { return 4; }

private:
  std::vector<TensorInfo> arguments;
  std::vector<ResultInfo> results;
  double scale = 65536;
  int attempts = 0;
};

TEST_F(TrainerTest, SkippedStepsAreCounted) {
  SkippingEngine engine;
  DataLoader data = makeData();
  TrainerOptions options = makeOptions(6);
  options.checkpointPath = checkpoint;
  TrainingSummary summary =
      llvm::cantFail(train(engine, data, options, std::nullopt, ""));
  EXPECT_EQ(summary.skipped, 2);
  EXPECT_EQ(summary.finalLoss, 0.5); // Not the first scalar result.
  EXPECT_EQ(summary.lossScale, 16384.0);
  Checkpoint saved = llvm::cantFail(loadCheckpoint(checkpoint));
  EXPECT_EQ(saved.attempt, 6);
  EXPECT_EQ(saved.skipped, 2);
  // They are counted from the beginning of training.
  options.steps = 9;
  EXPECT_EQ(llvm::cantFail(train(engine, data, options, saved, checkpoint)).skipped, 3);
}

} // namespace
