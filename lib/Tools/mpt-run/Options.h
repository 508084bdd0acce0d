//===- Options.h - Command line of mpt-run ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_TOOLS_MPT_RUN_OPTIONS_H
#define MPT_LIB_TOOLS_MPT_RUN_OPTIONS_H

#include "mpt/Host/DataFiles.h"
#include "mpt/Host/Trainer.h"
#include "mpt/Training/Passes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mpt {

/// The checked command line. Numbers are 0 where the user gave none.
struct RunOptions {
  std::string model;
  std::string function;
  /// Each a type, or TYPE:LOSS-SCALE. Empty: the default of what is trained.
  std::vector<std::string> precisions;
  std::optional<std::string> optimizer, lossScale, autocast, apex, masterWeights,
      optimizerState, fp8, memoryBudget, memoryOrder, pipeline;
  /// Empty: the default one.
  std::string engine;
  int64_t threads = 0;
  /// Bytes; 0: what the process can have.
  int64_t memoryLimit = 0;
  std::string init;
  /// cpu or cuda; empty: what there is to run says it.
  std::string device;
  int deviceNumber = 0;
  /// The user chose it; else each of several ranks has one of its own.
  bool hasDeviceNumber = false;
  std::string cudart, cublasLt, cudnn, nccl, toolkit;
  bool namesCudaLibraries() const {
    return !cudart.empty() || !cublasLt.empty() || !cudnn.empty() || !nccl.empty();
  }
  bool emulatedKernels = false;
  /// "mma" or "auto"; empty: the default.
  std::string attentionVariant;
  /// Where measured algorithms are kept; empty: beside the program.
  std::string tuningFile;
  bool tunes = true;
  /// Most branches of a step's CUDA graph; 0: as many as the runtime has by default.
  int64_t graphBranches = 0;

  std::vector<DataSpec> data, evalData;
  /// Inputs whose data every step reads whole.
  std::vector<std::string> whole;
  int64_t batch = 0, evalBatch = 0, evalEvery = 0;
  std::string evalFunction, evalProgram;
  bool evaluates() const { return !evalFunction.empty() || !evalProgram.empty(); }
  /// parameters or ema.
  std::string evalWeights;

  int64_t steps = 0, epochs = 0, accumulate = 1;
  std::optional<double> lr;
  /// Options of mpt-learning-rate, but for the function and the total steps; nullopt:
  /// a constant rate.
  std::optional<LearningRatePassOptions> schedule;
  /// It is one that ends, and needs total-steps.
  bool scheduleEnds = false;
  uint64_t seed = 0;
  /// data, zero1 or zero2, or empty: one process.
  std::string parallel;
  /// Options of mpt-data-parallel.
  std::string parallelOptions;
  /// Seconds.
  double parallelTimeout = 60;
  /// The processes that train together, and whether this is not the first of them, which
  /// alone prints and writes.
  int64_t numRanks = 1;
  bool isQuiet = false;
  /// The stage of ZeRO that `parallel` asks for; 0: none.
  int64_t getZeroStage() const {
    return parallel == "zero1"   ? 1
           : parallel == "zero2" ? 2
           : parallel == "zero3" ? 3
                                 : 0;
  }

  std::string checkpoint;
  int64_t checkpointEvery = 0;
  bool resume = false;
  /// Given explicitly, so it must exist.
  std::string resumeFrom;
  std::string metrics, tensorboard;
  bool compare = false;
  std::string plot;
  std::string progress;
  int64_t logEvery = 0;
  bool profile = false, dumpPipeline = false;
  std::string profileJson, profileHtml;
  bool recordsProfile() const {
    return profile || !profileJson.empty() || !profileHtml.empty();
  }
  std::string ranges, rangesHtml;
  std::optional<std::string> instrument;
  bool recordsRanges() const {
    return !ranges.empty() || !rangesHtml.empty() || (!tensorboard.empty() && instrument);
  }

  /// Options that change a loss function's step, other than the optimizer.
  bool changesUpdates() const {
    return masterWeights || optimizerState || fp8 || accumulate > 1;
  }

  bool help = false, version = false;
};

/// Parses the arguments after the program's name. Each failure is one line
/// that names the option.
llvm::Expected<RunOptions> parseRunOptions(llvm::ArrayRef<const char *> args);

/// The text of --help.
void printRunHelp(llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_LIB_TOOLS_MPT_RUN_OPTIONS_H
