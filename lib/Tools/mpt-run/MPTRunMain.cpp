//===- MPTRunMain.cpp - The trainer, as a library ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Model and data in, trained state and reports out. What may fail is checked
/// before the first step: a run must not end after hours on a misspelt path.
///
//===----------------------------------------------------------------------===//

#include "mpt/Tools/MPTRunMain.h"
#include "Options.h"
#include "RangeRecorder.h"
#include "StepBuilder.h"
#include "Summary.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Host/LossPlot.h"
#include "mpt/Host/SafetensorsIO.h"
#include "mpt/Host/ShardedEngine.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "mpt/Support/DiagnosticCapture.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/Interrupts.h"
#include "mpt/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace mpt;

//===----------------------------------------------------------------------===//
// One run of the tool
//===----------------------------------------------------------------------===//

namespace {
class Run {
public:
  /// `arguments` are those of the command line.
  Run(RunOptions options, llvm::ArrayRef<const char *> arguments, MLIRContext &context,
      llvm::ArrayRef<EngineFactory> engines)
      : options(std::move(options)), arguments(arguments), context(context),
        engines(engines) {}
  llvm::Error execute();
  /// Training ended before its last step because a signal came.
  bool wasInterrupted() const { return interrupted; }
  /// Another rank prints what there is to say.
  bool isQuiet() const { return options.isQuiet; }
  bool isParallel() const { return ranks != nullptr; }
  /// Prints the error of `execute`; with several ranks, one of them does. Ends the others
  /// if they do not know of it. Returns the exit status.
  int fail(llvm::Error error);

private:
  llvm::Error chooseEngine();
  /// Finds the other ranks.
  llvm::Error connect();
  /// Whether the model runs on a GPU; that a compiled one does is found in its file.
  llvm::Expected<bool> usesGpu() const;
  /// With several ranks: `own`, or what went wrong on another.
  llvm::Error agree(llvm::Error own);
  /// Model, data and checkpoint.
  llvm::Error prepare();
  llvm::Error trainPrepared();
  /// Fails if the step is for another number of ranks than there are.
  llvm::Error checkRanks(const StepEngine &step) const;
  /// Fails if state is to be cut between ranks and is not.
  llvm::Error checkShards(const StepEngine &step) const;
  /// With several ranks: fails unless all are about to do the same.
  llvm::Error beginTraining(const DataLoader &data, llvm::StringRef digest);
  /// Whether a signal came, on any rank.
  bool shouldStop();
  EngineOptions getEngineOptions() const;
  llvm::Expected<std::unique_ptr<StepEngine>> createEngine(PreparedFunction prepared);
  llvm::Error readModel();
  llvm::Error readFunctions();
  llvm::Error readProgram();
  llvm::Expected<OpenedProgram> openProgram(llvm::StringRef path, StepSignature &into);
  llvm::Error readData();
  llvm::Error readEvaluation();
  llvm::Error claimOutputs();
  llvm::Error checkWhole() const;
  llvm::Error readCheckpoint();
  llvm::Error openMetrics();
  llvm::Expected<std::optional<EventLog>> openEvents(llvm::StringRef precision) const;
  llvm::Error trainFunctions();
  llvm::Error trainOne(llvm::StringRef precision, StepEngine &engine,
                       llvm::StringRef digest, llvm::StringRef wholeDigest,
                       std::optional<RangeRecorder> &recorder);
  llvm::Error applyInit(StepEngine &engine);
  llvm::Error applyLearningRate(StepEngine &engine);
  Progress::Options getProgressOptions(llvm::StringRef precision) const;
  llvm::Error reportRanges(const RangeRecorder &recorder);
  llvm::Error writeProfile(const StepProfile &profile) const;
  llvm::Error report();
  /// A line for each network whose loss ends as no finite number.
  void warnOfDivergence() const;

  RunOptions options;
  llvm::ArrayRef<const char *> arguments;
  MLIRContext &context;
  llvm::ArrayRef<EngineFactory> engines;
  const EngineFactory *engine = nullptr;
  /// Null without --parallel.
  std::unique_ptr<RankGroup> ranks;
  /// All ranks know how it went so far; and nothing trains, so that they can agree.
  bool hasAgreed = false, isSettingUp = true;
  /// Steps are measured, on this rank or another.
  bool measures = false;
  /// Whether no other run can write the checkpoint.
  bool ownsCheckpoint = false;
  /// A compiled step, and the compiled function that evaluates it, or a module with both.
  OpenedProgram program, evalProgram;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function, evalFunction;
  /// What they are called in messages: @loss, or a file's path.
  std::string name, evalName;
  StepSignature signature, evalSignature;
  /// Of the outputs that a run writes more than once.
  std::vector<FileLock> locks;
  std::vector<DataLoader::Field> fields;
  /// Data that every micro-batch reads whole.
  std::vector<std::string> shared;
  int64_t batch = 0, steps = 0;
  /// Micro-batches of a batch: of each rank, as many as it accumulates.
  int64_t parts = 1;
  std::optional<DataLoader> evalData;
  std::optional<Checkpoint> resume;
  std::string resumePath;
  std::optional<MetricsLog> metrics;
  std::vector<RunSummary> summaries;
  /// Of the engines of the present precision: those of evaluation are there with the
  /// training step's.
  int64_t heldBytes = 0;
  bool interrupted = false;
};
} // namespace

llvm::Error Run::chooseEngine() {
  std::vector<llvm::StringRef> names;
  for (const EngineFactory &candidate : engines) {
    names.push_back(candidate.name);
    if (candidate.name == options.engine ||
        (!options.engine.empty() && candidate.alias == options.engine) ||
        (options.engine.empty() && !engine))
      engine = &candidate;
  }
  if (!engine)
    return llvm::createStringError("--engine: expected one of " +
                                   llvm::join(names, ", ") + ", found '" +
                                   options.engine + "'");
  if (options.device == "cuda" && !engine->open)
    return llvm::createStringError("--engine=" + engine->name +
                                   " runs on the CPU; leave --device=cuda out");
  if (options.recordsProfile() && !engine->open)
    return llvm::createStringError("--engine=" + engine->name +
                                   " measures no times; leave --profile out");
  return llvm::Error::success();
}

EngineOptions Run::getEngineOptions() const {
  EngineOptions result;
  result.threads = options.threads;
  result.memoryLimit = options.memoryLimit;
  result.profile = options.recordsProfile();
  result.isCuda = options.device == "cuda";
  result.device = ranks ? static_cast<int>(ranks->findLocalRank()) : options.deviceNumber;
  result.isLocalRank = ranks != nullptr;
  result.cudart = options.cudart;
  result.cublasLt = options.cublasLt;
  result.cudnn = options.cudnn;
  result.nccl = options.nccl;
  result.tunes = options.tunes;
  result.tuningFile = options.tuningFile;
  if (options.graphBranches)
    result.graphBranches = static_cast<int>(options.graphBranches);
  result.toolkit = options.toolkit;
  result.emulatedKernels = options.emulatedKernels;
  result.warpgroupAttention = options.attentionVariant == "auto";
  result.communicator = ranks ? ranks->getCommunicator() : nullptr;
  return result;
}

/// Most seconds that ranks wait for each other while they compile, if the user asks for
/// no more.
static constexpr double kSetUpDeadline = 600;

namespace {
/// Why a signal came to a rank: launchers end all when one is lost.
class LostRankReport {
public:
  /// Before the first signal that is to be explained.
  static void install(RankGroup &group) {
    ranks = &group;
    for (int64_t rank = 0; rank < group.getNumRanks(); ++rank)
      lines().push_back("mpt-run: " + group.describe(rank) +
                        " has ended: its process is gone; start all ranks again\n");
    explainInterrupts(explain);
  }

private:
  static std::vector<std::string> &lines() {
    static std::vector<std::string> all;
    return all;
  }
  static InterruptReason explain(bool isDeferred) {
    const int64_t lost = ranks->findLostRank();
    if ((isDeferred && lost < 0) || !ranks->takeReport())
      return {nullptr, lost >= 0};
    return {lost < 0 ? "mpt-run: interrupted\n" : lines()[lost].c_str(), lost >= 0};
  }

  // A signal handler has no other place for its state.
  static inline RankGroup *ranks = nullptr;
};
} // namespace

/// Whether the file at `path` is a library, as mpt-compile writes them, and not a module.
static llvm::Expected<bool> isLibrary(llvm::StringRef path) {
  auto file = InputFile::open(path);
  if (!file)
    return file.takeError();
  char magic[4] = {};
  if (file->getSize() < sizeof(magic))
    return false;
  if (llvm::Error error = file->read(0, magic, sizeof(magic)))
    return std::move(error);
  return llvm::StringRef(magic, sizeof(magic)) == "\x7f"
                                                  "ELF";
}

llvm::Expected<bool> Run::usesGpu() const {
  if (!options.device.empty())
    return options.device == "cuda";
  auto isProgram = isLibrary(options.model);
  if (!isProgram)
    return isProgram.takeError();
  if (!*isProgram || !engine->open)
    return false;
  auto opened = engine->open(options.model, getEngineOptions());
  if (!opened)
    return opened.takeError();
  return opened->isCuda;
}

llvm::Error Run::connect() {
  if (options.parallel.empty()) {
    std::optional<LaunchedRank> launched = findLaunchedRank();
    if (launched && launched->rank == 0)
      llvm::errs() << "mpt-run: warning: " << launched->count
                   << " processes were started together, and each trains by itself; give "
                      "--parallel=data for one training run of all\n";
    return llvm::Error::success();
  }
  if (!engine->connect)
    return llvm::createStringError("--engine=" + engine->name +
                                   " runs in one process; leave --parallel out");
  // Until all ranks have met, the launcher reports a lost rank.
  explainInterrupts(nullptr);
  auto connected = engine->connect(options.parallelTimeout, [&] { return usesGpu(); });
  if (!connected)
    return llvm::createStringError("--parallel: " +
                                   llvm::toString(connected.takeError()));
  ranks = std::move(*connected);
  options.numRanks = ranks->getNumRanks();
  LostRankReport::install(*ranks);
  // Rank 0 alone writes. What the others read, they read as it does.
  measures = options.recordsProfile();
  if (ranks->getRank() != 0) {
    options.isQuiet = true;
    options.progress = "none";
    options.dumpPipeline = options.profile = false;
    for (std::string *path : {&options.metrics, &options.tensorboard, &options.plot,
                              &options.profileJson, &options.profileHtml})
      path->clear();
  }
  if (options.threads == 0) {
    const int64_t cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
    options.threads = std::max<int64_t>(cores / ranks->countNeighbors(), 1);
  }
  std::string text = std::string("MPT ") + kVersion;
  for (const char *argument : arguments)
    (text += '\n') += argument;
  llvm::Error error = ranks->checkSame("version and command line", text);
  hasAgreed = true;
  ranks->setDeadline(std::max(options.parallelTimeout, kSetUpDeadline));
  return error;
}

llvm::Error Run::agree(llvm::Error own) {
  if (!ranks)
    return own;
  hasAgreed = false;
  llvm::Error error = ranks->agree(std::move(own));
  hasAgreed = true;
  return error;
}

llvm::Error Run::beginTraining(const DataLoader &data, llvm::StringRef digest) {
  if (!ranks)
    return llvm::Error::success();
  const std::string text =
      "step " + digest.str() + "\ndata of " + std::to_string(data.getNumRows()) +
      " rows in batches of " + std::to_string(data.getBatch()) + "\n" +
      (resume ? "a checkpoint of step " + std::to_string(resume->attempt)
              : "no checkpoint");
  if (llvm::Error error = ranks->checkSame("model, data and checkpoint", text))
    return error;
  hasAgreed = false;
  ranks->setDeadline(options.parallelTimeout);
  return llvm::Error::success();
}

bool Run::shouldStop() {
  const bool own = getDeferredInterrupt() != 0;
  return ranks ? ranks->isAnywhere(own) : own;
}

llvm::Error Run::checkRanks(const StepEngine &step) const {
  const int64_t made = step.getNumRanks(), there = options.numRanks;
  if (made == there)
    return llvm::Error::success();
  if (made == 1)
    return llvm::createStringError(
        "--parallel: " + name + " exchanges nothing between ranks, found " +
        llvm::Twine(there) +
        " ranks; give mpt-run its loss function, or make the step with "
        "--mpt-data-parallel=size=" +
        llvm::Twine(there));
  return llvm::createStringError(name + " is a step of " + llvm::Twine(made) +
                                 " ranks, found " + llvm::Twine(there) +
                                 "; start it with 'mpirun -n " + llvm::Twine(made) +
                                 " mpt-run .. --parallel=data'");
}

llvm::Error Run::checkShards(const StepEngine &step) const {
  if (options.getZeroStage() == 0 || options.numRanks == 1 ||
      llvm::any_of(step.getArguments(),
                   [](const TensorInfo &argument) { return argument.isShared; }))
    return llvm::Error::success();
  return llvm::createStringError(
      "--parallel=" + options.parallel + ": " + name +
      " is a whole step, and none of its state is cut between ranks; give mpt-run its "
      "loss function, or make the step with --mpt-shard-" +
      (options.getZeroStage() == 3 ? "parameters" : "optimizer") +
      " and use --parallel=data");
}

llvm::Expected<std::unique_ptr<StepEngine>> Run::createEngine(PreparedFunction prepared) {
  DiagnosticCapture error(&context);
  EngineOptions engineOptions = getEngineOptions();
  const int64_t limit =
      options.memoryLimit > 0 ? options.memoryLimit : rt::getSystemMemory();
  // The limit is of this machine's memory.
  if (!engineOptions.isCuda)
    engineOptions.memoryLimit = std::max<int64_t>(limit - heldBytes, 1);
  auto made = engine->create(std::move(prepared.module), prepared.name, engineOptions);
  if (made) {
    if (!engineOptions.isCuda)
      heldBytes += (*made)->arenaBytes() + (*made)->stateBytes();
    return made;
  }
  std::string reason = llvm::toString(made.takeError());
  llvm::Error first = error.take(reason);
  if (heldBytes == 0)
    return std::move(first);
  return llvm::createStringError(llvm::toString(std::move(first)) +
                                 "; the training step and what evaluates it hold " +
                                 llvm::Twine(heldBytes) + " of " + llvm::Twine(limit) +
                                 " bytes already");
}

llvm::Error Run::readModel() {
  auto isProgram = isLibrary(options.model);
  if (!isProgram)
    return isProgram.takeError();
  if (llvm::Error error = *isProgram ? readProgram() : readFunctions())
    return error;
  return checkWhole();
}

/// Fails on options that say how a step is made, which a compiled one is.
static llvm::Error checkProgramOptions(const RunOptions &options) {
  for (auto [option, isGiven] :
       {std::pair("--precision", !options.precisions.empty()),
        std::pair("--optimizer", options.optimizer.has_value()),
        std::pair("--loss-scale", options.lossScale.has_value()),
        std::pair("--master-weights", options.masterWeights.has_value()),
        std::pair("--optimizer-state", options.optimizerState.has_value()),
        std::pair("--fp8", options.fp8.has_value()),
        std::pair("--accumulate", options.accumulate > 1),
        std::pair("--autocast", options.autocast.has_value()),
        std::pair("--apex", options.apex.has_value()),
        std::pair("--memory-budget", options.memoryBudget.has_value()),
        std::pair("--memory-order", options.memoryOrder.has_value()),
        std::pair("--pipeline", options.pipeline.has_value()),
        std::pair("--lr-schedule and --warmup", options.schedule.has_value()),
        std::pair("--ranges, --ranges-html and --instrument",
                  options.recordsRanges() || options.instrument),
        std::pair("--compare", options.compare),
        std::pair("--cuda-toolkit and --emulated-kernels",
                  !options.toolkit.empty() || options.emulatedKernels),
        std::pair("--attention-variant", !options.attentionVariant.empty()),
        std::pair("--memory-limit", options.memoryLimit != 0)})
    if (isGiven)
      return llvm::createStringError(
          llvm::Twine(option) + ": " + options.model +
          " is a compiled step; give mpt-run the model that it was made from");
  if (!options.function.empty() || !options.evalFunction.empty())
    return llvm::createStringError(
        "--function and --eval-function choose functions of a model; " + options.model +
        " is one compiled function; --eval-program=FILE names another to evaluate with");
  return llvm::Error::success();
}

/// Fails on libraries of GPUs for `path`, which runs on the CPU unless `remedy` is
/// followed.
static llvm::Error checkNoCudaLibraries(const RunOptions &options, llvm::StringRef path,
                                        llvm::StringRef remedy) {
  if (options.namesCudaLibraries())
    return createFileMessage(path, "runs on the CPU, where --cudart, --cublaslt, --cudnn "
                                   "and --nccl have no meaning; leave them out, or " +
                                       remedy);
  return llvm::Error::success();
}

llvm::Expected<OpenedProgram> Run::openProgram(llvm::StringRef path,
                                               StepSignature &into) {
  auto opened = engine->open(path, getEngineOptions());
  if (!opened)
    return opened;
  const bool mayBeCPU = options.device != "cuda", mayBeCuda = options.device != "cpu";
  if (opened->isCuda ? !mayBeCuda : !mayBeCPU)
    return createFileMessage(
        path, "compiled for " + llvm::Twine(opened->isCuda ? "GPUs" : "CPUs") +
                  "; leave --device=" + options.device +
                  " out, or compile the step with --target=" + options.device);
  if (!opened->isCuda)
    if (llvm::Error error =
            checkNoCudaLibraries(options, path, "compile the step with --target=cuda"))
      return std::move(error);
  into.arguments = opened->engine->getArguments().vec();
  into.results = opened->engine->getResults().vec();
  return opened;
}

llvm::Error Run::readProgram() {
  if (llvm::Error error = checkProgramOptions(options))
    return error;
  if (!engine->open)
    return llvm::createStringError("--engine=" + engine->name + " interprets models; " +
                                   options.model +
                                   " is a compiled step, which needs --engine=compiled");
  auto opened = openProgram(options.model, signature);
  if (!opened)
    return opened.takeError();
  program = std::move(*opened);
  name = evalName = options.model;
  if (!program.isStep)
    return createFileMessage(
        options.model, "compiled from a function that trains nothing; make it a training "
                       "step before mpt-compile, as with mpt-opt --mpt-mixed-precision");
  for (const ResultInfo &result : signature.results)
    if (llvm::StringRef taken = findMetricsClash(signature.arguments, result);
        !taken.empty())
      return createFileMessage(options.model, "the result '" + result.name +
                                                  "' has a name that is " + taken +
                                                  "; rename it");
  if (options.lr && llvm::none_of(signature.arguments, [](const TensorInfo &argument) {
        return argument.name == "lr" && argument.role == Role::Schedule &&
               argument.shape.empty();
      }))
    return llvm::createStringError(
        "--lr: the step has no scalar argument 'lr' of role schedule");
  if (options.evalProgram.empty())
    return llvm::Error::success();
  opened = openProgram(options.evalProgram, evalSignature);
  if (!opened)
    return opened.takeError();
  evalProgram = std::move(*opened);
  evalName = options.evalProgram;
  return llvm::Error::success();
}

llvm::Error Run::readFunctions() {
  if (options.device != "cuda")
    if (llvm::Error error =
            checkNoCudaLibraries(options, options.model, "give --device=cuda"))
      return error;
  if (!options.evalProgram.empty())
    return llvm::createStringError("--eval-program is for a compiled step; " +
                                   options.model +
                                   " is a model: name a function of it with "
                                   "--eval-function");
  {
    DiagnosticCapture error(&context);
    module = parseSourceFile<ModuleOp>(options.model, &context);
    if (!module)
      return error.take(options.model + ": cannot parse");
  }
  auto found = findFunction(*module, "--function", options.function);
  if (!found)
    return found.takeError();
  function = *found;
  name = "@" + function.getName().str();
  auto read = readSignature(function);
  if (!read)
    return read.takeError();
  signature = std::move(*read);
  if (signature.isStep() && !options.pipeline &&
      (!options.precisions.empty() || options.optimizer || options.lossScale ||
       options.apex || options.changesUpdates()))
    return llvm::createStringError(
        "@" + function.getName() +
        " is a whole step already: --precision, --optimizer, --loss-scale, --apex, "
        "--fp8, --optimizer-state, --master-weights and --accumulate are for a loss "
        "function");
  if (options.evalFunction.empty())
    return llvm::Error::success();
  found = findFunction(*module, "--eval-function", options.evalFunction);
  if (!found)
    return found.takeError();
  evalFunction = *found;
  evalName = "@" + evalFunction.getName().str();
  read = readSignature(evalFunction);
  if (!read)
    return read.takeError();
  evalSignature = std::move(*read);
  return llvm::Error::success();
}

llvm::Error Run::readData() {
  // The function is for one micro-batch.
  const char *cutter = options.numRanks == 1     ? "--accumulate"
                       : options.accumulate == 1 ? "--parallel"
                                                 : "--parallel with --accumulate";
  if (llvm::MulOverflow(options.accumulate, options.numRanks, parts))
    return llvm::createStringError(llvm::Twine(cutter) +
                                   ": more than 2^63 micro-batches; use fewer");
  if (options.batch % parts != 0)
    return llvm::createStringError(
        llvm::Twine(cutter) + ": cannot cut --batch=" + llvm::Twine(options.batch) +
        " into " + llvm::Twine(parts) + " parts of one size; give a multiple");
  auto bound = bindData(signature.arguments, "--data", options.data,
                        options.batch / parts, options.whole);
  if (!bound)
    return bound.takeError();
  fields = std::move(bound->fields);
  batch = bound->batch;
  // Data that is read whole may be one batch.
  const bool isOneBatch = llvm::all_of(fields, [&](const DataLoader::Field &field) {
    return field.data.getRank() != 0 && field.data.getShape()[0] == options.batch;
  });
  if (options.batch && batch == 0 && !isOneBatch)
    return llvm::createStringError("--batch=" + std::to_string(options.batch) + ": " +
                                   name +
                                   " reads its data whole; leave the option out, or the "
                                   "batch open (?)");
  if (parts > 1) {
    bool isAll = signature.isDynamic() && !options.batch;
    if (batch == 0 || (isAll && batch % parts != 0))
      return llvm::createStringError(
          cutter + std::string(": cannot cut ") +
          (batch ? "a batch of " + std::to_string(batch) + " rows" : "fixed tensors") +
          " into " + std::to_string(parts) + "; give --batch, and leave the batch of " +
          name + " open (?)");
    if (!isAll && llvm::MulOverflow(batch, parts, batch))
      return llvm::createStringError(
          cutter + std::string(": ") + std::to_string(parts) +
          " micro-batches of this function have more than 2^63 "
          "rows; use fewer");
    for (const DataLoader::Field &field : fields)
      if (field.whole)
        shared.push_back(field.name);
  }
  auto loader = DataLoader::create(fields, batch, options.seed);
  if (!loader)
    return loader.takeError();
  steps = options.steps;
  if (!steps && llvm::MulOverflow(options.epochs, loader->getBatchesPerEpoch(), steps))
    return llvm::createStringError("--epochs: " + std::to_string(options.epochs) +
                                   " passes over the data have more than 2^63 steps; use "
                                   "fewer");
  return llvm::Error::success();
}

llvm::Error Run::readEvaluation() {
  if (!options.evaluates())
    return llvm::Error::success();
  // An open batch has all rows at first, then as many as asked for or there are.
  bool isDynamic = evalSignature.isDynamic();
  auto bound = bindData(evalSignature.arguments, "--eval-data", options.evalData,
                        isDynamic ? 0 : options.evalBatch, options.whole);
  if (!bound)
    return bound.takeError();
  int64_t rows = 0;
  for (const DataLoader::Field &field : bound->fields)
    if (!field.whole)
      rows = field.data.getShape()[0];
  if (int64_t most = options.evalBatch ? options.evalBatch : batch; isDynamic && most)
    bound->batch = std::min(rows, most);
  if (!isDynamic && bound->batch && rows % bound->batch != 0)
    return llvm::createStringError("--eval-data: " + evalName + " fixes the batch to " +
                                   llvm::Twine(bound->batch) +
                                   ", which does not divide the " + llvm::Twine(rows) +
                                   " rows; leave its batch open (?)");
  auto loader = DataLoader::create(std::move(bound->fields), bound->batch, options.seed);
  if (!loader)
    return loader.takeError();
  evalData = std::move(*loader);
  return llvm::Error::success();
}

/// Each name of --whole is an input of one of the functions.
llvm::Error Run::checkWhole() const {
  std::vector<std::string> names;
  for (const StepSignature *one : {&signature, &evalSignature})
    for (const TensorInfo &argument : one->arguments)
      if (!isStateRole(argument.role))
        names.push_back(argument.name);
  for (const std::string &name : options.whole) {
    if (llvm::is_contained(names, name))
      continue;
    std::string nearest = findNearest(name, names);
    return llvm::createStringError(
        "--whole=" + name + ": no function of this run has such an input" +
        (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  return llvm::Error::success();
}

/// The files that options of passes name in `text`: policies, rule tables,
/// profiles and, as outputs, reports.
static void addFilesOfPasses(llvm::StringRef what, llvm::StringRef text,
                             std::vector<FileUse> &uses) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " \t\n{}'\"");
  for (llvm::StringRef word : words) {
    auto [key, values] = word.split('=');
    if (!llvm::is_contained(
            {"policy", "rules", "profile", "summary", "node-data", "output", "compare"},
            key))
      continue;
    const bool isOutput = llvm::is_contained({"summary", "node-data", "output"}, key);
    for (llvm::StringRef value : llvm::split(values, ','))
      if (value != "-")
        uses.push_back({(key + " in " + what).str(), value.str(), isOutput});
  }
}

/// No output may cost the user a file that this or another run needs.
llvm::Error Run::claimOutputs() {
  std::vector<FileUse> uses = {{"the model", options.model},
                               {"--init", options.init},
                               {"--eval-program", options.evalProgram}};
  for (auto [option, specs] :
       {std::pair("--data", &options.data), std::pair("--eval-data", &options.evalData)})
    for (const DataSpec &spec : *specs)
      uses.push_back({(llvm::Twine(option) + " " + spec.name).str(), spec.path});
  for (auto [option, text] :
       {std::pair("--autocast", &options.autocast), std::pair("--apex", &options.apex),
        std::pair("--pipeline", &options.pipeline)})
    if (*text)
      addFilesOfPasses(option, **text, uses);
  if (options.compare)
    for (const FileUse &use : uses)
      if (use.isOutput)
        return llvm::createStringError("--compare trains several networks: " + use.what +
                                       " would keep the last one's alone; leave it out");
  // --resume could not read it from a pipe.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(options.checkpoint, status) &&
      llvm::is_contained(
          {llvm::sys::fs::file_type::fifo_file, llvm::sys::fs::file_type::socket_file},
          status.type()))
    return createFileMessage(options.checkpoint,
                             "cannot write: expected a file, found a pipe or a socket");
  const size_t inputs = uses.size();
  for (auto [option, path] :
       {std::pair("--checkpoint", &options.checkpoint),
        std::pair("--metrics", &options.metrics), std::pair("--plot", &options.plot),
        std::pair("--profile-json", &options.profileJson),
        std::pair("--profile-html", &options.profileHtml),
        std::pair("--ranges", &options.ranges),
        std::pair("--ranges-html", &options.rangesHtml)}) {
    if (path->empty())
      continue;
    if (llvm::Error error = checkWritable(*path))
      return error;
    uses.push_back({option, *path, /*isOutput=*/true});
  }
  if (llvm::Error error = checkDistinctFiles(uses))
    return error;
  // A checkpoint alone may take the place of the one that the run goes on from.
  std::vector<FileUse> others = {{"--resume", options.resumeFrom}};
  for (const FileUse &use : llvm::drop_begin(uses, inputs))
    if (use.what != "--checkpoint")
      others.push_back(use);
  if (llvm::Error error = checkDistinctFiles(others))
    return error;
  for (const std::string &path : {options.checkpoint, options.metrics}) {
    if (path.empty())
      continue;
    auto lock = FileLock::acquire(path);
    if (!lock)
      return lock.takeError();
    if (!lock->getWhyNot().empty())
      llvm::errs() << "mpt-run: warning: " << path << ": its file system has no locks ("
                   << lock->getWhyNot() << "); nothing keeps another run from it\n";
    else if (path == options.checkpoint)
      ownsCheckpoint = true;
    locks.push_back(std::move(*lock));
  }
  return llvm::Error::success();
}

llvm::Error Run::readCheckpoint() {
  if (!engine->hasExactState && (!options.checkpoint.empty() || options.resume))
    return llvm::createStringError(
        "--checkpoint and --resume: engine '" + engine->name +
        "' computes in wider types than the step's state, so a checkpoint "
        "would lose bits");
  if (!options.resume)
    return llvm::Error::success();
  resumePath = options.resumeFrom;
  if (resumePath.empty()) {
    resumePath = options.checkpoint;
    if (!llvm::sys::fs::exists(resumePath))
      return llvm::Error::success();
  }
  auto checkpoint = loadCheckpoint(resumePath);
  if (!checkpoint)
    return checkpoint.takeError();
  resume = std::move(*checkpoint);
  return llvm::Error::success();
}

llvm::Error Run::applyInit(StepEngine &engine) {
  // The checkpoint has all state; a compiled step may have first values of none.
  if (program.engine && resume)
    return llvm::Error::success();
  std::map<std::string, HostTensor> values;
  if (!options.init.empty()) {
    auto read = readFirstValues(options.init, engine);
    if (!read)
      return read.takeError();
    values = std::move(*read);
  }
  return initializeState(engine, options.seed, values, options.init);
}

/// Sets state `lr` to --lr.
llvm::Error Run::applyLearningRate(StepEngine &engine) {
  for (const TensorInfo &argument : engine.getArguments())
    if (options.lr && argument.name == "lr")
      return engine.writeState("lr", HostTensor::scalar(argument.type, *options.lr));
  return llvm::Error::success();
}

Progress::Options Run::getProgressOptions(llvm::StringRef precision) const {
  Progress::Options result;
  result.isTerminal = options.progress.empty()
                          ? llvm::sys::Process::StandardErrIsDisplayed()
                          : options.progress == "bar";
  if (unsigned columns = llvm::sys::Process::StandardErrColumns())
    result.columns = columns;
  result.label = options.compare ? precision.str() : "";
  result.first = resume ? resume->attempt : 0;
  result.total = steps;
  result.every = options.logEvery ? options.logEvery : std::max<int64_t>(1, steps / 10);
  return result;
}

llvm::Error Run::openMetrics() {
  if (options.metrics.empty() || metrics)
    return llvm::Error::success();
  auto log =
      MetricsLog::open(options.metrics, resume.has_value(), resume ? resume->attempt : 0);
  if (!log)
    return log.takeError();
  metrics.emplace(std::move(*log));
  return llvm::Error::success();
}

llvm::Expected<std::optional<EventLog>> Run::openEvents(llvm::StringRef precision) const {
  if (options.tensorboard.empty())
    return std::nullopt;
  llvm::SmallString<128> directory(options.tensorboard);
  if (options.compare) {
    // Each network is a run of TensorBoard's.
    std::string run = precision.str();
    std::replace(run.begin(), run.end(), '/', '_');
    llvm::sys::path::append(directory, run);
  }
  auto log = EventLog::create(directory, resume ? std::optional<int64_t>(resume->attempt)
                                                : std::nullopt);
  if (!log)
    return log.takeError();
  return std::optional<EventLog>(std::move(*log));
}

llvm::Error Run::trainOne(llvm::StringRef precision, StepEngine &engine,
                          llvm::StringRef digest, llvm::StringRef wholeDigest,
                          std::optional<RangeRecorder> &recorder) {
  if (llvm::Error error = applyInit(engine))
    return error;

  TrainerOptions trainer;
  trainer.steps = steps;
  trainer.seed = options.seed;
  trainer.program = digest.str();
  trainer.wholeProgram = wholeDigest.str();
  const bool isShared =
      llvm::any_of(engine.getArguments(),
                   [](const TensorInfo &argument) { return argument.isShared; });
  if (isShared)
    trainer.ranks = ranks.get();
  // Rank 0 writes it, and the others what they alone hold.
  if (isShared || !options.isQuiet)
    trainer.checkpointPath = options.checkpoint;
  trainer.checkpointEvery = options.checkpointEvery;
  trainer.overlaps = !measures;
  trainer.evalEvery = options.evalEvery;
  trainer.label = options.compare ? precision.str() : "";
  trainer.shouldStop = [this] { return shouldStop(); };
  if (llvm::Error error = applyLearningRate(engine))
    return error;

  std::optional<Evaluator> evaluator;
  if (evalData) {
    evaluator.emplace(
        *evalData,
        [&](int64_t rows) -> llvm::Expected<std::unique_ptr<StepEngine>> {
          if (program.engine)
            return std::move(evalProgram.engine);
          auto prepared = specialize(evalFunction, rows, options);
          if (!prepared)
            return prepared.takeError();
          return createEngine(std::move(*prepared));
        },
        options.evalWeights == "ema");
    if (llvm::Error error = evaluator->prepare(engine, /*hasUpdates=*/false))
      return error;
    trainer.evaluator = &*evaluator;
  }

  auto loader = DataLoader::create(fields, batch, options.seed);
  if (!loader)
    return loader.takeError();
  if (llvm::Error error = loader->setPart(ranks ? ranks->getRank() : 0, options.numRanks))
    return error;
  // From here on there is something to lose, and files are written.
  DeferInterrupts deferred;
  if (llvm::Error error = openMetrics())
    return error;
  trainer.metrics = metrics ? &*metrics : nullptr;
  auto events = openEvents(precision);
  if (!events)
    return events.takeError();
  trainer.events = *events ? &**events : nullptr;
  const Progress::Options progressOptions = getProgressOptions(precision);
  Progress progress(llvm::errs(), progressOptions);
  if (options.progress != "none")
    trainer.progress = &progress;
  trainer.warn = [&](llvm::StringRef text) {
    if (!options.isQuiet)
      progress.note(("mpt-run: warning: " + text).str());
  };
  if (recorder)
    trainer.observe = [&](const llvm::StringMap<HostTensor> &results, int64_t attempt,
                          bool skipped) -> llvm::Error {
      recorder->add(results, attempt, skipped);
      if (trainer.events && !skipped &&
          (attempt % progressOptions.every == 0 || attempt == steps))
        return recorder->writeHistograms(*trainer.events, results, attempt);
      return llvm::Error::success();
    };
  isSettingUp = false;
  if (llvm::Error error =
          agree(resume ? checkResume(*resume, resumePath, *loader, trainer)
                       : llvm::Error::success()))
    return error;
  if (llvm::Error error = beginTraining(*loader, digest))
    return error;
  auto summary = train(engine, *loader, trainer, resume, resumePath);
  progress.finish();
  llvm::SmallVector<llvm::StringRef> notes;
  const std::string noted = engine.notes();
  llvm::SplitString(noted, notes, "\n");
  for (llvm::StringRef note : options.isQuiet ? llvm::ArrayRef<llvm::StringRef>() : notes)
    llvm::errs() << "mpt-run: note: " << note << '\n';
  if (!summary)
    return summary.takeError();
  isSettingUp = true;
  if (ranks)
    ranks->setDeadline(std::max(options.parallelTimeout, kSetUpDeadline));
  if (recorder)
    if (llvm::Error error = reportRanges(*recorder))
      return error;
  interrupted |= summary->interrupted;
  summary->curve.label = precision.str();
  summaries.push_back({precision.str(), std::move(*summary),
                       engine.arenaBytes() + engine.stateBytes(), "", engine.profile(),
                       options.profile});
  if (isShared)
    summaries.back().memory = "each of " + std::to_string(options.numRanks) +
                              " ranks: " + std::to_string(engine.stateBytes()) +
                              " bytes of state and " +
                              std::to_string(engine.arenaBytes()) + " in a step";
  return writeProfile(summaries.back().profile);
}

llvm::Error Run::writeProfile(const StepProfile &profile) const {
  if (!options.profileJson.empty())
    if (llvm::Error error =
            writeFileAtomically(options.profileJson, printProfileJSON(profile)))
      return error;
  if (options.profileHtml.empty())
    return llvm::Error::success();
  return writeFileAtomically(
      options.profileHtml,
      renderProfilePage(
          profile,
          (llvm::sys::path::filename(options.model) + ": profile of " + name).str()));
}

llvm::Error Run::reportRanges(const RangeRecorder &recorder) {
  recorder.warn(llvm::errs());
  auto write = [](const std::string &path, llvm::StringRef text) {
    return path.empty() ? llvm::Error::success() : writeFileAtomically(path, text);
  };
  if (llvm::Error error = write(options.ranges, printRangeProfile(recorder.getProfile())))
    return error;
  return write(
      options.rangesHtml,
      renderRangePage(
          recorder.getProfile(),
          (llvm::sys::path::filename(options.model) + ": ranges of " + name).str()));
}

void Run::warnOfDivergence() const {
  for (const RunSummary &summary : summaries) {
    const auto &points = summary.training.curve.points;
    auto lastGood = std::find_if(points.rbegin(), points.rend(),
                                 [](auto point) { return std::isfinite(point.second); });
    if (lastGood == points.rbegin())
      continue;
    double since = std::prev(lastGood)->first;
    llvm::errs() << "mpt-run: warning: the loss of " << summary.precision
                 << " is not finite since step " << static_cast<int64_t>(since)
                 << "; a lower --lr or clip-norm may help\n";
  }
}

llvm::Error Run::report() {
  if (!options.plot.empty()) {
    std::vector<LossCurve> curves;
    for (const RunSummary &summary : summaries)
      curves.push_back(summary.training.curve);
    std::string svg = renderLossPlot(curves, (llvm::sys::path::filename(options.model) +
                                              ": loss" + (module ? " of " + name : ""))
                                                 .str());
    if (llvm::Error error = writeFileAtomically(options.plot, svg))
      return error;
  }
  printSummaries(llvm::outs(), summaries);
  if (!options.plot.empty())
    llvm::outs() << "loss curves: " << options.plot << '\n';
  llvm::outs().flush();
  warnOfDivergence();
  return llvm::Error::success();
}

llvm::Error Run::execute() {
  if (llvm::Error error = chooseEngine())
    return error;
  if (llvm::Error error = connect())
    return error;
  if (llvm::Error error = agree(prepare()))
    return error;
  if (llvm::Error error = trainPrepared())
    return isSettingUp ? agree(std::move(error)) : std::move(error);
  DeferInterrupts deferred;
  return agree(options.isQuiet ? llvm::Error::success() : report());
}

llvm::Error Run::prepare() {
  if (llvm::Error error = options.isQuiet ? llvm::Error::success() : claimOutputs())
    return error;
  if (llvm::Error error = readModel())
    return error;
  if (llvm::Error error = readData())
    return error;
  if (llvm::Error error = readEvaluation())
    return error;
  if (llvm::Error error = readCheckpoint())
    return error;
  // What could be read is whole, and no other run writes there.
  if (ownsCheckpoint)
    removeStaleShards(options.checkpoint, resumePath);
  return llvm::Error::success();
}

llvm::Error Run::trainPrepared() {
  if (!program.engine)
    return trainFunctions();
  if (llvm::Error error = checkRanks(*program.engine))
    return error;
  if (llvm::Error error = checkShards(*program.engine))
    return error;
  std::optional<RangeRecorder> none;
  return trainOne("as given", *program.engine, program.digest, "", none);
}

int Run::fail(llvm::Error error) {
  const std::string text = llvm::toString(std::move(error));
  if (!ranks || (hasAgreed && !ranks->hasFailed())) {
    if (!options.isQuiet)
      llvm::errs() << "mpt-run: " << text << '\n';
    return 1;
  }
  // The text names a rank that is lost. What happened to this one needs its name.
  if (ranks->takeReport())
    llvm::errs() << "mpt-run: "
                 << (ranks->hasFailed() ? "" : ranks->describe(ranks->getRank()) + ": ")
                 << text << '\n';
  // The others wait for this rank.
  llvm::outs().flush();
  llvm::errs().flush();
  ranks->abort(1);
}

llvm::Error Run::trainFunctions() {
  std::vector<std::string> precisions = options.precisions;
  if (precisions.empty())
    precisions = {options.apex ? llvm::StringRef(*options.apex).split(' ').first.str()
                  : signature.isStep() || options.pipeline ? "as given"
                                                           : "f32"};
  // Build every step before the first one runs.
  std::vector<PreparedFunction> prepared;
  for (const std::string &precision : precisions) {
    auto step = buildStep(function, signature.isStep(), batch / parts, shared, steps,
                          precision, options);
    if (!step)
      return step.takeError();
    prepared.push_back(std::move(*step));
  }
  for (auto [precision, step] : llvm::zip_equal(precisions, prepared)) {
    // It may have come in the last step of the one before.
    interrupted |= getDeferredInterrupt() != 0;
    if (interrupted)
      break;
    std::string digest = step.digest, wholeDigest = step.wholeDigest;
    auto recorder =
        RangeRecorder::create(step.module->lookupSymbol<func::FuncOp>(step.name));
    if (!recorder)
      return recorder.takeError();
    heldBytes = 0;
    auto engine = createEngine(std::move(step));
    if (!engine)
      return engine.takeError();
    if (llvm::Error error = checkRanks(**engine))
      return error;
    if (ranks)
      *engine = ShardedEngine::wrap(std::move(*engine), *ranks);
    if (llvm::Error error = checkShards(**engine))
      return error;
    if (llvm::Error error = trainOne(precision, **engine, digest, wholeDigest, *recorder))
      return error;
  }
  return llvm::Error::success();
}

/// Tells on the other stream if standard output or standard error could not take
/// everything, and returns the exit status: results that are lost are a failure.
/// `closed` has the streams that were closed from the beginning.
static int finishStreams(int status, bool isOutClosed, bool isErrClosed) {
  auto takeReason = [](llvm::raw_fd_ostream &os, bool isClosed) {
    os.flush();
    std::error_code code = os.error();
    os.clear_error();
    if (!code && isClosed)
      code = std::error_code(EBADF, std::generic_category());
    return code ? code.message() : std::string();
  };
  auto &err = static_cast<llvm::raw_fd_ostream &>(llvm::errs());
  if (std::string why = takeReason(err, isErrClosed); !why.empty())
    llvm::outs() << "mpt-run: standard error: cannot write: " << why
                 << "; progress and warnings are lost\n";
  if (std::string why = takeReason(llvm::outs(), isOutClosed); !why.empty()) {
    llvm::errs() << "mpt-run: standard output: cannot write: " << why << '\n';
    status = status ? status : 1;
  }
  err.clear_error();
  return status;
}

static int runTool(llvm::ArrayRef<const char *> arguments, DialectRegistry &registry,
                   llvm::ArrayRef<EngineFactory> engines) {
  auto fail = [](llvm::Error error) {
    llvm::errs() << "mpt-run: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  };
  auto options = parseRunOptions(arguments);
  if (!options)
    return fail(options.takeError());
  if (options->help || options->version) {
    if (options->help)
      printRunHelp(llvm::outs());
    else
      llvm::outs() << "mpt-run " << kVersion << '\n';
    return 0;
  }
  MLIRContext context(registry);
  // Whoever trains wants the place and the remedy, not a print of the module.
  context.printOpOnDiagnostic(false);
  const std::string checkpoint = options->checkpoint;
  std::optional<DeferInterrupts> untilEnd;
  Run run(std::move(*options), arguments, context, engines);
  llvm::Error error = run.execute();
  // When one rank ends with an error, mpirun ends the others by a signal, which is no
  // news.
  if (run.isParallel()) {
    explainInterrupts(nullptr);
    untilEnd.emplace();
  }
  if (error)
    return run.fail(std::move(error));
  if (!run.wasInterrupted())
    return 0;
  if (!run.isQuiet())
    llvm::errs() << "mpt-run: interrupted"
                 << (checkpoint.empty()
                         ? ""
                         : "; the state is in " + checkpoint + ", go on with --resume")
                 << '\n';
  // The signal may have come to another rank.
  const int signal = getDeferredInterrupt();
  return 128 + (signal ? signal : SIGTERM);
}

int mpt::mptRunMain(llvm::ArrayRef<const char *> arguments, DialectRegistry &registry,
                    llvm::ArrayRef<EngineFactory> engines) {
  const bool isOutClosed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0,
             isErrClosed = ::fcntl(STDERR_FILENO, F_GETFD) < 0;
  // Else a file that is opened may become standard error, and get its lines.
  if (llvm::sys::Process::FixupStandardFileDescriptors())
    return 1;
  installInterruptHandlers("mpt-run");
  return finishStreams(runTool(arguments, registry, engines), isOutClosed, isErrClosed);
}
