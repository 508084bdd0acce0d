//===- Trainer.h - The loop around a step -----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a step function over a data set: initial state, metrics, evaluation and
/// checkpoints. Everything that decides a bit of the
/// result (state, data position, counters) is in the checkpoint.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_TRAINER_H
#define MPT_HOST_TRAINER_H

#include "mpt/Host/Checkpoint.h"
#include "mpt/Host/DataLoader.h"
#include "mpt/Host/EventLog.h"
#include "mpt/Host/LossPlot.h"
#include "mpt/Host/MetricsLog.h"
#include "mpt/Host/Progress.h"
#include "mpt/Host/RankGroup.h"
#include "mpt/Host/StateValues.h"
#include "mpt/Host/StepEngine.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace mpt {

/// Runs a second function over held-out data with the trained state.
class Evaluator {
public:
  /// Makes an engine for batches of so many rows.
  using MakeEngine =
      std::function<llvm::Expected<std::unique_ptr<StepEngine>>(int64_t batch)>;

  /// With `usesAverages` parameters have the value of the state `<name>.ema`.
  Evaluator(DataLoader data, MakeEngine makeEngine, bool usesAverages = false)
      : data(std::move(data)), makeEngine(std::move(makeEngine)),
        usesAverages(usesAverages) {}

  /// Makes the engines and gives their state arguments the values of the same
  /// name in `trained`; fails if there is none or if it has another type. Averages
  /// count if the parameters have been updated at all.
  llvm::Error prepare(const StepEngine &trained, bool hasUpdates);

  /// Prepares, then: scalar results over all rows, floats averaged by rows,
  /// integers summed.
  /// Asks `shouldStop` between batches, and gives up, with no results, when it is
  /// true.
  llvm::Expected<std::vector<std::pair<std::string, double>>>
  evaluate(const StepEngine &trained, bool hasUpdates,
           const std::function<bool()> &shouldStop = nullptr);

private:
  /// Rows of the batch that begins at row `first`; 0 without batches.
  int64_t getCount(int64_t first) const;

  DataLoader data;
  MakeEngine makeEngine;
  bool usesAverages;
  std::map<int64_t, std::unique_ptr<StepEngine>> engines;
};

struct TrainerOptions {
  /// Attempts in all, counted from the beginning of training.
  int64_t steps = 0;
  uint64_t seed = 0;
  /// A digest of the step function for checkpoints.
  std::string program;
  /// As `Checkpoint::wholeProgram`.
  std::string wholeProgram;
  /// Written every `checkpointEvery` attempts (0: never), at the end, and after a
  /// failure that leaves the state whole. Those before the end are written while training
  /// goes on. If one of these fails, `warn` is told when the next one is due, or at the
  /// end, and training goes on; without `warn` it ends there.
  std::string checkpointPath;
  int64_t checkpointEvery = 0;
  /// The ranks that hold state together with this one; all of them write the checkpoint,
  /// and after a failure none does. Null if each rank holds all state.
  RankGroup *ranks = nullptr;
  /// A step may begin before the one before it is finished, where the engine can. The
  /// same on all ranks.
  bool overlaps = true;
  /// Evaluated every so many attempts (0: never) and at the end.
  int64_t evalEvery = 0;
  /// Added to each record of the metrics, if not empty.
  std::string label;
  MetricsLog *metrics = nullptr;
  /// Gets the numbers of each record, too.
  EventLog *events = nullptr;
  Progress *progress = nullptr;
  Evaluator *evaluator = nullptr;
  /// Shown the results of each step, the number of attempts with it, and whether
  /// it was skipped. An error ends training. The next step may have begun.
  std::function<llvm::Error(const llvm::StringMap<HostTensor> &results, int64_t attempt,
                            bool skipped)>
      observe;
  /// Told, once, that a loss scale has become zero, smaller than a normal f32, infinite
  /// or NaN, and that checkpoints cannot be written.
  std::function<void(llvm::StringRef text)> warn;
  /// Asked after each step and between batches of an evaluation; true ends training
  /// there, with a checkpoint. A run that goes on from it begins with the evaluation
  /// that was cut short.
  std::function<bool()> shouldStop;
};

struct TrainingSummary {
  int64_t attempt = 0, skipped = 0;
  /// Result `loss`, else the first scalar result, of the last step.
  double finalLoss = 0;
  /// The last one; the smallest where several losses have one each.
  std::optional<double> lossScale;
  /// Median wall time of this run's steps, data included; 0 without steps. Where steps
  /// overlap, the time from one's end to the next one's.
  double millisecondsPerStep = 0;
  std::vector<std::pair<std::string, double>> evaluation;
  LossCurve curve;
  bool interrupted = false;
};

/// Fails unless `checkpoint`, read from `path`, is of this program, seed, batch and data
/// size.
llvm::Error checkResume(const Checkpoint &checkpoint, llvm::StringRef path,
                        const DataLoader &data, const TrainerOptions &options);

/// Trains until `options.steps`, from `resume` if given (its state goes into
/// the engine), else from the engine's present state. Fails if `resume`, read
/// from `resumePath`, belongs to another program, seed, batch or data size.
llvm::Expected<TrainingSummary> train(StepEngine &engine, DataLoader &data,
                                      const TrainerOptions &options,
                                      const std::optional<Checkpoint> &resume,
                                      llvm::StringRef resumePath);

} // namespace mpt

#endif // MPT_HOST_TRAINER_H
