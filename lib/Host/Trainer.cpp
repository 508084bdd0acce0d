//===- Trainer.cpp - The loop around a step ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Trainer.h"
#include "mpt/Host/CheckpointWriter.h"
#include "mpt/Support/FileIO.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>

using namespace mpt;

/// Adds to the error of a step that read an index outside its table where the index
/// is in the data, if it is there. Other errors stay as they are. `ago` 1: the step had
/// the batch before the last one.
static llvm::Error describeBadIndex(llvm::Error error, const DataLoader &data,
                                    int ago = 0) {
  return llvm::handleErrors(std::move(error), [&](const BadIndexError &bad) {
    std::string place = data.describeValue(bad.getIndex(), bad.getPosition(), ago);
    return llvm::createStringError(bad.message() +
                                   (place.empty() ? "" : "; in the data: " + place));
  });
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

int64_t Evaluator::getCount(int64_t first) const {
  return data.getBatch() ? std::min(data.getBatch(), data.getNumRows() - first) : 0;
}

llvm::Error Evaluator::prepare(const StepEngine &trained, bool hasUpdates) {
  int64_t rows = data.getNumRows(), batch = data.getBatch();
  int64_t last = batch && rows ? (rows - 1) / batch * batch : 0;
  for (int64_t count : {getCount(0), getCount(last)}) {
    std::unique_ptr<StepEngine> &engine = engines[count];
    if (!engine) {
      auto made = makeEngine(count);
      if (!made)
        return made.takeError();
      engine = std::move(*made);
    }
    for (const TensorInfo &argument : engine->getArguments()) {
      if (!isStateRole(argument.role))
        continue;
      bool isAverage = usesAverages && argument.role == Role::Parameter;
      std::string name = argument.name + (isAverage ? ".ema" : "");
      auto value = isAverage ? trained.readState(name) : readParameter(trained, argument);
      if (!value)
        return llvm::createStringError(
            "evaluation needs '" + name + "', which the trained function does not have" +
            (isAverage ? " (averages come with ema-decay): " : ": ") +
            llvm::toString(value.takeError()));
      if (isAverage && !hasUpdates) {
        value = readParameter(trained, argument);
        if (!value)
          return value.takeError();
      }
      // What is stored low is read exactly.
      if (value->getElementType() != argument.type && argument.type == ElementType::F32 &&
          isFloatType(value->getElementType()) &&
          value->getElementType() != ElementType::F64) {
        auto wide = HostTensor::create(argument.type, value->getShape());
        if (!wide)
          return wide.takeError();
        for (int64_t i = 0, e = value->getNumElements(); i < e; ++i)
          wide->setElement(i, value->getElement(i));
        value = std::move(wide);
      }
      if (llvm::Error error = engine->writeState(argument.name, *value))
        return llvm::createStringError("evaluation: " + llvm::toString(std::move(error)));
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::pair<std::string, double>>>
Evaluator::evaluate(const StepEngine &trained, bool hasUpdates,
                    const std::function<bool()> &shouldStop) {
  if (llvm::Error error = prepare(trained, hasUpdates))
    return std::move(error);
  int64_t rows = data.getNumRows();
  std::vector<std::pair<std::string, double>> totals;
  int64_t first = 0;
  do {
    int64_t count = getCount(first);
    StepEngine *engine = engines[count].get();
    auto outputs = engine->run(data.getRange(first, count));
    if (!outputs)
      return describeBadIndex(outputs.takeError(), data);
    size_t slot = 0;
    for (const ResultInfo &result : engine->getResults()) {
      auto it = outputs->find(result.name);
      if (it == outputs->end() || !result.shape.empty())
        continue;
      double weight = 1;
      if (isFloatType(result.type) && rows)
        weight = static_cast<double>(count) / static_cast<double>(rows);
      if (slot == totals.size())
        totals.push_back({result.name, 0.0});
      totals[slot++].second += weight * it->second.getElement(0);
    }
    first += count;
    if (first < rows && shouldStop && shouldStop())
      return std::vector<std::pair<std::string, double>>();
  } while (first < rows);
  return totals;
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

llvm::Error mpt::checkResume(const Checkpoint &checkpoint, llvm::StringRef path,
                             const DataLoader &data, const TrainerOptions &options) {
  auto mismatch = [&](llvm::StringRef what, auto expected, auto found) {
    return createFileMessage(path, "expected a checkpoint with " + what + " " +
                                       llvm::Twine(expected) + ", found " +
                                       llvm::Twine(found));
  };
  if (llvm::Error error =
          checkStep(checkpoint, path, options.program, options.wholeProgram))
    return error;
  if (checkpoint.seed != options.seed)
    return mismatch("seed", options.seed, checkpoint.seed);
  if (checkpoint.batch != data.getBatch())
    return mismatch("batch", data.getBatch(), checkpoint.batch);
  if (checkpoint.rows != data.getNumRows())
    return mismatch("a data set of", data.getNumRows(), checkpoint.rows);
  return llvm::Error::success();
}

namespace {
/// What one run of the loop carries along.
class Loop {
public:
  Loop(StepEngine &engine, DataLoader &data, const TrainerOptions &options)
      : engine(engine), data(data), options(options) {
    for (const TensorInfo &argument : engine.getArguments())
      if (argument.role == Role::LossScale && isFloatType(argument.type) &&
          argument.shape.empty())
        scaleNames.push_back(argument.name);
  }

  llvm::Expected<TrainingSummary> run();
  llvm::Error restore(const Checkpoint &checkpoint, llvm::StringRef path);

private:
  using Clock = std::chrono::steady_clock;
  /// A step that is under way.
  struct Begun {
    Clock::time_point start;
    uint64_t epoch;
  };

  /// Begins a step.
  llvm::Error begin();
  /// Waits for the first of those under way.
  llvm::Error finish();
  /// The same for all of them after an error: their results are counted, and not told.
  llvm::Error finishAll();
  /// The number of attempts at which something next needs the state.
  int64_t getNextStop() const;
  llvm::Error record(const StepResults &results, uint64_t epoch, double milliseconds);
  /// Whether the results are those of a step that was skipped.
  static bool isSkipped(const StepResults &results);
  /// Adds `line` to what is written on the way.
  llvm::Error log(const MetricsRecord &line);
  /// Once, if the scale `name` has become one that cannot do its work any more.
  void warnOfScale(llvm::StringRef name, double scale);
  llvm::Error evaluate();
  /// Everything but the last save.
  llvm::Error runSteps();
  llvm::Error save();
  /// All of a checkpoint but the state.
  Checkpoint makeCheckpoint() const;
  /// A save before the end, whose failure need not end training.
  llvm::Error saveOnTheWay();
  /// Waits for the one that is being written, whose failure need not end training either.
  llvm::Error finishSaving();
  llvm::Error warnOfSave(llvm::Error error);
  /// Saves what there is and returns `error`, which says so.
  llvm::Error saveAfter(llvm::Error error);
  bool isStopped() {
    stopped |= options.shouldStop && options.shouldStop();
    return stopped;
  }
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - started).count();
  }

  StepEngine &engine;
  DataLoader &data;
  const TrainerOptions &options;
  /// The scalar float states of role loss_scale: one for each loss.
  std::vector<std::string> scaleNames;
  TrainingSummary summary;
  std::vector<double> times;
  Clock::time_point started, finished;
  std::deque<Begun> begun;
  CheckpointWriter writer;
  /// The attempts of the last checkpoint, and of the one that is being written.
  int64_t evaluatedAt = -1, savedAt = -1, savingAt = -1;
  bool warnedOfScale = false, warnedOfSave = false;
  bool stopped = false;
  /// An evaluation at the present attempt was cut short.
  bool evaluationDue = false;
  /// A step has failed, and the state may be partly updated.
  bool hasFailed = false;
  /// There is something that the last checkpoint does not have.
  bool hasChanged = false;
};
} // namespace

llvm::Error Loop::restore(const Checkpoint &checkpoint, llvm::StringRef path) {
  if (llvm::Error error = checkResume(checkpoint, path, data, options))
    return error;
  if (llvm::Error error = data.setPosition(checkpoint.position))
    return createFileMessage(path, llvm::toString(std::move(error)));
  if (llvm::Error error = restoreState(engine, path, checkpoint.state))
    return error;
  summary.attempt = checkpoint.attempt;
  summary.skipped = checkpoint.skipped;
  evaluationDue = checkpoint.evaluationDue;
  return llvm::Error::success();
}

llvm::Error Loop::begin() {
  const Begun step{Clock::now(), data.getPosition().epoch};
  if (llvm::Error error = engine.begin(data.next())) {
    hasFailed = true;
    // What went wrong in the step before may show here.
    return describeBadIndex(std::move(error), data, begun.empty() ? 0 : 1);
  }
  begun.push_back(step);
  return llvm::Error::success();
}

llvm::Error Loop::finish() {
  auto results = engine.finish();
  if (!results) {
    hasFailed = true;
    return describeBadIndex(results.takeError(), data, begun.size() > 1 ? 1 : 0);
  }
  const Begun step = begun.front();
  begun.pop_front();
  hasChanged = true;
  // Since the step before was done, if it was under way at the same time.
  const Clock::time_point from = std::max(step.start, finished);
  finished = Clock::now();
  double milliseconds =
      std::chrono::duration<double, std::milli>(finished - from).count();
  times.push_back(milliseconds);
  ++summary.attempt;
  return record(*results, step.epoch, milliseconds);
}

llvm::Error Loop::finishAll() {
  for (; !begun.empty(); begun.pop_front()) {
    auto results = engine.finish();
    if (!results)
      return results.takeError();
    ++summary.attempt;
    summary.skipped += isSkipped(*results);
    hasChanged = true;
  }
  return llvm::Error::success();
}

int64_t Loop::getNextStop() const {
  int64_t stop = options.steps;
  // On all ranks the same, whichever of them writes.
  for (int64_t every :
       {options.evaluator ? options.evalEvery : 0, options.checkpointEvery})
    if (every > 0)
      stop = std::min(stop, (summary.attempt / every + 1) * every);
  return stop;
}

bool Loop::isSkipped(const StepResults &results) {
  auto it = results.outputs.find("did_step");
  return it != results.outputs.end() && it->second.getShape().empty() &&
         it->second.getElement(0) == 0;
}

llvm::Error Loop::record(const StepResults &results, uint64_t epoch,
                         double milliseconds) {
  MetricsRecord line;
  line.add("step", summary.attempt);
  if (!options.label.empty())
    line.add("run", llvm::StringRef(options.label));
  line.add("epoch", static_cast<int64_t>(epoch));
  std::optional<double> loss;
  for (const ResultInfo &result : engine.getResults()) {
    auto it = results.outputs.find(result.name);
    if (it == results.outputs.end() || !result.shape.empty())
      continue;
    line.add(result.name, it->second);
    double value = it->second.getElement(0);
    if (!loss || result.name == "loss")
      loss = std::isnan(value) ? NAN : value; // of either sign
  }
  const bool skipped = isSkipped(results);
  summary.skipped += skipped;
  std::optional<double> smallest;
  for (const std::string &name : scaleNames) {
    const HostTensor &scale = results.state.find(name)->second;
    smallest = std::min(smallest.value_or(INFINITY), scale.getElement(0));
    line.add(name, scale);
    warnOfScale(name, scale.getElement(0));
  }
  summary.lossScale = smallest;
  line.add("ms", milliseconds);
  if (options.observe)
    if (llvm::Error error = options.observe(results.outputs, summary.attempt, skipped))
      return error;
  summary.finalLoss = loss.value_or(0);
  summary.curve.points.push_back(
      {static_cast<double>(summary.attempt), summary.finalLoss});
  return log(line);
}

llvm::Error Loop::log(const MetricsRecord &line) {
  if (options.metrics)
    if (llvm::Error error = options.metrics->append(line))
      return error;
  return options.events ? options.events->append(line, summary.attempt)
                        : llvm::Error::success();
}

void Loop::warnOfScale(llvm::StringRef name, double scale) {
  // Below f32's normal numbers gradients lose their bits, and growth may round away.
  const bool isTooSmall = scale < std::numeric_limits<float>::min();
  if (warnedOfScale || !options.warn || (!isTooSmall && std::isfinite(scale)))
    return;
  warnedOfScale = true;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '\'' << name << "' is " << llvm::format("%g", scale) << " since step "
     << summary.attempt << ": ";
  if (isTooSmall)
    os << (scale == 0 ? "no step is taken any more" : "gradients lose their bits")
       << "; look for Inf or NaN in the data, lower the learning rate, or give the loss "
          "scale a floor (min-scale=1)";
  else
    os << "no step is taken any more; give the loss scale a ceiling (max-scale=16777216)";
  options.warn(text);
}

llvm::Error Loop::evaluate() {
  if (!options.evaluator || evaluatedAt == summary.attempt)
    return llvm::Error::success();
  evaluatedAt = summary.attempt;
  // Until there are results: a run that goes on from a checkpoint begins with it.
  evaluationDue = true;
  // What evaluates needs memory of its own.
  writer.waitUntilRead();
  auto results = options.evaluator->evaluate(engine, /*hasUpdates=*/summary.attempt >
                                                         summary.skipped,
                                             [&] { return isStopped(); });
  if (!results)
    return results.takeError();
  if (results->empty() && stopped) {
    summary.interrupted = true;
    return llvm::Error::success();
  }
  evaluationDue = false;
  summary.evaluation = *results;
  MetricsRecord line;
  line.add("step", summary.attempt);
  if (!options.label.empty())
    line.add("run", llvm::StringRef(options.label));
  std::string text = "evaluation at step " + std::to_string(summary.attempt);
  for (const auto &[name, value] : *results) {
    line.add((kEvaluationPrefix + name).str(), value);
    llvm::raw_string_ostream(text) << "  " << name << ' ' << llvm::format("%.6g", value);
  }
  if (options.progress)
    options.progress->note(text);
  return log(line);
}

Checkpoint Loop::makeCheckpoint() const {
  Checkpoint checkpoint;
  checkpoint.attempt = summary.attempt;
  checkpoint.skipped = summary.skipped;
  checkpoint.seed = options.seed;
  checkpoint.batch = data.getBatch();
  checkpoint.rows = data.getNumRows();
  checkpoint.position = data.getPosition();
  checkpoint.evaluationDue = evaluationDue;
  checkpoint.program = options.program;
  checkpoint.wholeProgram = options.wholeProgram;
  return checkpoint;
}

llvm::Error Loop::save() {
  if (options.checkpointPath.empty() || savedAt == summary.attempt)
    return llvm::Error::success();
  Checkpoint checkpoint = makeCheckpoint();
  auto state = captureState(engine);
  if (!state)
    return state.takeError();
  checkpoint.state = std::move(*state);
  auto pieces = engine.readPieces();
  if (!pieces)
    return pieces.takeError();
  checkpoint.pieces = std::move(*pieces);
  if (llvm::Error error =
          options.ranks
              ? saveCheckpoint(options.checkpointPath, checkpoint, *options.ranks)
              : saveCheckpoint(options.checkpointPath, checkpoint))
    return error;
  savedAt = summary.attempt;
  hasChanged = warnedOfSave = false;
  return llvm::Error::success();
}

llvm::Error Loop::warnOfSave(llvm::Error error) {
  // With a rank lost, no step will come.
  if (!error || !options.warn || (options.ranks && options.ranks->hasFailed()))
    return error;
  std::string text = llvm::toString(std::move(error));
  if (!warnedOfSave)
    options.warn(text + "; training goes on, and the next checkpoint will be tried "
                        "when it is due");
  warnedOfSave = true;
  return llvm::Error::success();
}

llvm::Error Loop::finishSaving() {
  if (!writer.isBusy())
    return llvm::Error::success();
  if (llvm::Error error = writer.finish()) {
    hasChanged = true;
    return warnOfSave(std::move(error));
  }
  savedAt = savingAt;
  warnedOfSave = false;
  return llvm::Error::success();
}

llvm::Error Loop::saveOnTheWay() {
  // A crash of the machine must not leave a checkpoint without its metrics.
  if (options.metrics)
    if (llvm::Error error = options.metrics->sync())
      return error;
  if (llvm::Error error = finishSaving())
    return error;
  if (options.checkpointPath.empty() || savedAt == summary.attempt)
    return llvm::Error::success();
  auto begun =
      writer.begin(options.checkpointPath, makeCheckpoint(), engine, options.ranks);
  if (!begun)
    return warnOfSave(begun.takeError());
  // Writing it at once takes less memory, or says what is wrong.
  if (!*begun)
    return warnOfSave(save());
  savingAt = summary.attempt;
  hasChanged = false;
  return llvm::Error::success();
}

llvm::Error Loop::saveAfter(llvm::Error error) {
  // Other ranks do not know of the failure, and wait in the next step.
  if (options.ranks)
    return error;
  // What is being written comes first.
  if (llvm::Error another = writer.finish()) {
    hasChanged = true;
    llvm::consumeError(std::move(another));
  }
  if (options.checkpointPath.empty() || hasFailed)
    return error;
  // Steps that have begun count.
  if (llvm::Error another = finishAll()) {
    llvm::consumeError(std::move(another));
    return error;
  }
  if (!hasChanged)
    return error;
  std::string text = llvm::toString(std::move(error));
  if (llvm::Error another = save())
    text += "; " + llvm::toString(std::move(another));
  else
    text += "; the state after step " + std::to_string(summary.attempt) + " is in " +
            options.checkpointPath;
  return llvm::createStringError(text);
}

llvm::Error Loop::runSteps() {
  auto isDue = [&](int64_t every) { return every > 0 && summary.attempt % every == 0; };
  if (evaluationDue) {
    evaluationDue = false;
    hasChanged = true;
    if (llvm::Error error = evaluate())
      return error;
  }
  while (summary.attempt < options.steps && !summary.interrupted) {
    const int64_t stop = getNextStop();
    const int64_t depth = options.overlaps ? engine.getDepth() : 1;
    while (!stopped && static_cast<int64_t>(begun.size()) < depth &&
           summary.attempt + static_cast<int64_t>(begun.size()) < stop)
      if (llvm::Error error = begin())
        return error;
    if (llvm::Error error = finish())
      return error;
    if (options.progress)
      options.progress->update(summary.attempt, summary.finalLoss, getSeconds());
    // Before the checkpoint of this step, which does not ask for it again.
    if (isDue(options.evalEvery) || summary.attempt == options.steps)
      if (llvm::Error error = evaluate())
        return error;
    if (isDue(options.checkpointEvery))
      if (llvm::Error error = saveOnTheWay())
        return error;
    // What ranks write together counts once all of them have written it.
    if (options.ranks && writer.isBusy() &&
        !options.ranks->isAnywhere(!writer.isWritten()))
      if (llvm::Error error = finishSaving())
        return error;
    // Steps that have begun are finished.
    if (!stopped)
      isStopped();
    summary.interrupted |= stopped && begun.empty() && summary.attempt < options.steps;
  }
  return options.metrics ? options.metrics->sync() : llvm::Error::success();
}

llvm::Expected<TrainingSummary> Loop::run() {
  started = Clock::now();
  if (llvm::Error error = engine.watch(scaleNames))
    return std::move(error);
  if (llvm::Error error = runSteps())
    return saveAfter(std::move(error));
  if (llvm::Error error = finishSaving())
    return saveAfter(std::move(error));
  if (hasChanged)
    if (llvm::Error error = save())
      return std::move(error);
  if (!times.empty()) {
    auto middle = times.begin() + times.size() / 2;
    std::nth_element(times.begin(), middle, times.end());
    summary.millisecondsPerStep = *middle;
  }
  summary.curve.label = options.label;
  return std::move(summary);
}

llvm::Expected<TrainingSummary> mpt::train(StepEngine &engine, DataLoader &data,
                                           const TrainerOptions &options,
                                           const std::optional<Checkpoint> &resume,
                                           llvm::StringRef resumePath) {
  Loop loop(engine, data, options);
  if (resume)
    if (llvm::Error error = loop.restore(*resume, resumePath))
      return std::move(error);
  return loop.run();
}
