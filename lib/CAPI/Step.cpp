//===- Step.cpp - A training step that runs ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt-c/Step.h"
#include "Common.h"
#include "Ranks.h"
#include "mpt/Host/Checkpoint.h"
#include "mpt/Host/CheckpointWriter.h"
#include "mpt/Host/JITEngine.h"
#include "mpt/Host/ShardedEngine.h"
#include "mpt/Host/StateValues.h"
#include "mpt/Host/StepProfile.h"
#include "mpt/Host/StepSignature.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/Support/FileIO.h"

using namespace mpt;
using namespace mpt::capi;

namespace {
/// What an MptStep points at.
struct Step {
  /// Runs; `state` owns it.
  RuntimeEngine *engine;
  /// Its state, of which ranks may hold some together.
  std::unique_ptr<StepEngine> state;
  /// Null if each rank holds all state.
  RankGroup *ranks;
  std::string digest;
  /// As `Checkpoint::wholeProgram`.
  std::string wholeDigest;
  /// State and inputs, then outputs.
  std::vector<MptTensorInfo> tensors;
  /// The number of each in the program; -1 for what ranks hold together.
  std::vector<int32_t> numbers;
  CheckpointWriter writer;
  /// Of the runs that mptStepSetProfiling put between on and off.
  StepProfile profile;

  /// State that ranks hold together, or null.
  const TensorInfo *findShared(llvm::StringRef name) const {
    for (const TensorInfo &info : state->getArguments())
      if (info.isShared && info.name == name)
        return &info;
    return nullptr;
  }
};

struct StepOptions : JITOptions {
  RankGroup *ranks = nullptr;
  bool hasDeviceNumber = false;
  /// Whose engine is `sharedState`, or null.
  Step *sharing = nullptr;

  /// The options that a step is made with, once the copy that a checkpoint of another
  /// step is written from is given back. Each of several ranks has a GPU of its own,
  /// unless the host has chosen one.
  StepOptions resolve() const {
    StepOptions result = *this;
    if (sharing)
      sharing->writer.waitUntilRead();
    if (ranks && !hasDeviceNumber) {
      result.device = static_cast<int>(ranks->findLocalRank());
      result.isLocalRank = true;
    }
    return result;
  }
};
} // namespace

static Step *unwrap(MptStep step) { return static_cast<Step *>(step.ptr); }
static StepOptions *unwrap(MptStepOptions options) {
  return static_cast<StepOptions *>(options.ptr);
}
static MlirStringRef wrapText(llvm::StringRef text) {
  return mlirStringRefCreate(text.data(), text.size());
}
static MptError toC(llvm::Error error) {
  return error ? fail(std::move(error)) : success();
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

MptStepOptions mptStepOptionsCreate(void) { return {new StepOptions}; }
void mptStepOptionsDestroy(MptStepOptions options) { delete unwrap(options); }

MptError mptStepOptionsSetThreads(MptStepOptions options, int64_t threads) {
  if (!options.ptr)
    return fail("mptStepOptionsSetThreads: expected options");
  if (threads < 0 || threads > rt::kMaxProgramThreads)
    return fail("expected 0 to " + llvm::Twine(rt::kMaxProgramThreads) +
                " threads, found " + llvm::Twine(threads));
  unwrap(options)->threads = static_cast<int>(threads);
  return success();
}

MptError mptStepOptionsSetMemoryLimit(MptStepOptions options, int64_t bytes) {
  if (!options.ptr)
    return fail("mptStepOptionsSetMemoryLimit: expected options");
  if (bytes < 0)
    return fail("expected a memory limit of at least 0, found " + llvm::Twine(bytes));
  unwrap(options)->memoryLimit = bytes;
  return success();
}

MptError mptStepOptionsSetDevice(MptStepOptions options, MlirStringRef device) {
  if (!options.ptr)
    return fail("mptStepOptionsSetDevice: expected options");
  llvm::Expected<DeviceName> name = parseDevice(unwrapText(device));
  if (!name)
    return fail(name.takeError());
  unwrap(options)->isCuda = name->isCuda;
  unwrap(options)->device = name->index;
  unwrap(options)->hasDeviceNumber = name->hasIndex;
  return success();
}

MptError mptStepOptionsSetCudaLibraries(MptStepOptions options, MlirStringRef cudart,
                                        MlirStringRef cublasLt, MlirStringRef cudnn) {
  if (!options.ptr)
    return fail("mptStepOptionsSetCudaLibraries: expected options");
  unwrap(options)->cudart = unwrapText(cudart).str();
  unwrap(options)->cublasLt = unwrapText(cublasLt).str();
  unwrap(options)->cudnn = unwrapText(cudnn).str();
  return success();
}

MptError mptStepOptionsSetNcclLibrary(MptStepOptions options, MlirStringRef nccl) {
  if (!options.ptr)
    return fail("mptStepOptionsSetNcclLibrary: expected options");
  unwrap(options)->nccl = unwrapText(nccl).str();
  return success();
}

MptError mptStepOptionsSetTuning(MptStepOptions options, bool on, MlirStringRef file) {
  if (!options.ptr)
    return fail("mptStepOptionsSetTuning: expected options");
  unwrap(options)->tunes = on;
  unwrap(options)->tuningFile = unwrapText(file).str();
  return success();
}

MptError mptStepOptionsSetGraphBranches(MptStepOptions options, int32_t most) {
  if (!options.ptr)
    return fail("mptStepOptionsSetGraphBranches: expected options");
  if (most < 1 || most > 3)
    return fail("graph_branches: expected 1 to 3, found " + llvm::Twine(most));
  unwrap(options)->graphBranches = most;
  return success();
}

MptError mptStepOptionsUseTuningCache(MptStepOptions options) {
  if (!options.ptr)
    return fail("mptStepOptionsUseTuningCache: expected options");
  unwrap(options)->tuningFolder = getUserTuningFolder();
  return success();
}

MptError mptStepOptionsSetCudaCompiler(MptStepOptions options, MlirStringRef toolkit,
                                       bool emulatedKernels) {
  if (!options.ptr)
    return fail("mptStepOptionsSetCudaCompiler: expected options");
  unwrap(options)->toolkit = unwrapText(toolkit).str();
  unwrap(options)->emulatedKernels = emulatedKernels;
  return success();
}

MptError mptStepOptionsSetAttentionVariant(MptStepOptions options,
                                           MlirStringRef variant) {
  if (!options.ptr)
    return fail("mptStepOptionsSetAttentionVariant: expected options");
  const llvm::StringRef text = unwrapText(variant);
  if (text != "mma" && text != "auto")
    return fail("attention_variant: expected mma or auto, found '" + text + "'");
  unwrap(options)->warpgroupAttention = text == "auto";
  return success();
}

MptError mptStepOptionsSetSharedState(MptStepOptions options, MptStep other) {
  if (!options.ptr || !other.ptr)
    return fail("mptStepOptionsSetSharedState: expected options and a step");
  unwrap(options)->sharing = unwrap(other);
  unwrap(options)->sharedState = unwrap(other)->engine;
  return success();
}

MptError mptStepOptionsSetRanks(MptStepOptions options, MptRanks ranks) {
  if (!options.ptr || !ranks.ptr)
    return fail("mptStepOptionsSetRanks: expected options and ranks");
  unwrap(options)->communicator = unwrap(ranks)->getCommunicator();
  unwrap(options)->ranks = unwrap(ranks);
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

template <typename Info>
static MptTensorInfo describe(const Info &info, llvm::StringRef role) {
  size_t bytes = getElementSize(info.type);
  for (int64_t size : info.shape)
    bytes *= size;
  return {wrapText(info.name),
          wrapText(role),
          wrapText(stringifyElementType(info.type)),
          static_cast<intptr_t>(info.shape.size()),
          info.shape.data(),
          bytes};
}

static MptStep wrapEngine(std::unique_ptr<RuntimeEngine> engine, std::string digest,
                          RankGroup *ranks) {
  auto *step =
      new Step{engine.get(), nullptr, nullptr, std::move(digest), {}, {}, {}, {}};
  int32_t number = 0;
  for (const TensorInfo &info : engine->getArguments()) {
    if (ranks && info.shards) {
      step->ranks = ranks;
      step->numbers.insert(step->numbers.end(), info.shards->tensors.size(), -1);
    } else {
      step->numbers.push_back(number);
    }
    ++number;
  }
  step->state = std::move(engine);
  if (ranks)
    step->state = ShardedEngine::wrap(std::move(step->state), *ranks);
  for (const TensorInfo &info : step->state->getArguments())
    step->tensors.push_back(describe(info, stringifyRole(info.role)));
  for (const ResultInfo &info : step->engine->getResults())
    if (info.updates.empty()) {
      step->tensors.push_back(describe(info, "output"));
      step->numbers.push_back(number++);
    }
  return {step};
}

MptError mptStepCreate(MlirModule module, MlirStringRef function, MptStepOptions options,
                       MptStep *step) {
  if (mlirModuleIsNull(module) || !step)
    return fail("mptStepCreate: expected a module and a place for the step");
  mlir::OwningOpRef<mlir::ModuleOp> copy = unwrap(module).clone();
  CollectErrors errors(copy->getContext());
  auto found = findFunction(*copy, "function", unwrapText(function));
  if (!found)
    return errors.take(found.takeError());
  std::string name = found->getName().str(), digest = computeStepDigest(*found);
  const StepOptions chosen = options.ptr ? unwrap(options)->resolve() : StepOptions();
  auto engine = createJITEngine(std::move(copy), name, chosen);
  if (!engine)
    return errors.take(engine.takeError());
  *step = wrapEngine(std::move(*engine), std::move(digest), chosen.ranks);
  return success();
}

MptError mptStepOpen(MlirStringRef path, MptStepOptions options, MptStep *step) {
  if (!step)
    return fail("mptStepOpen: expected a place for the step");
  const StepOptions chosen = options.ptr ? unwrap(options)->resolve() : StepOptions();
  auto engine = RuntimeEngine::open(unwrapText(path), chosen);
  if (!engine)
    return fail(engine.takeError());
  std::string digest = (*engine)->getDigest().str();
  *step = wrapEngine(std::move(*engine), std::move(digest), chosen.ranks);
  return success();
}

void mptStepDestroy(MptStep step) { delete unwrap(step); }

intptr_t mptStepGetNumTensors(MptStep step) {
  return step.ptr ? static_cast<intptr_t>(unwrap(step)->tensors.size()) : 0;
}

MptTensorInfo mptStepGetTensor(MptStep step, intptr_t index) {
  if (index < 0 || index >= mptStepGetNumTensors(step))
    return {wrapText(""), wrapText(""), wrapText(""), 0, nullptr, 0};
  return unwrap(step)->tensors[index];
}

MlirStringRef mptStepGetTarget(MptStep step) {
  return wrapText(step.ptr ? unwrap(step)->engine->getTarget() : "");
}
MptError mptStepGetCudaDevice(MptStep step, int32_t *device) {
  if (!step.ptr || !device)
    return fail("mptStepGetCudaDevice: expected a step and a place for the number");
  auto found = unwrap(step)->engine->getCudaDevice();
  if (!found)
    return fail(found.takeError());
  *device = *found;
  return success();
}
MptError mptStepSetCudaStream(MptStep step, void *stream) {
  if (!step.ptr)
    return fail("mptStepSetCudaStream: expected a step");
  return toC(unwrap(step)->engine->setCudaStream(stream));
}
MlirStringRef mptStepGetDigest(MptStep step) {
  return wrapText(step.ptr ? llvm::StringRef(unwrap(step)->digest) : "");
}
void mptStepGetNotes(MptStep step, MlirStringCallback callback, void *data) {
  if (step.ptr)
    callback(wrapText(unwrap(step)->engine->notes()), data);
}

MptError mptStepSetProfiling(MptStep step, bool on) {
  if (!step.ptr)
    return fail("mptStepSetProfiling: expected a step");
  Step &profiled = *unwrap(step);
  profiled.engine->setProfiling(on);
  profiled.profile = on ? StepProfile() : profiled.engine->profile();
  return success();
}
intptr_t mptStepGetNumProfiled(MptStep step) {
  return step.ptr ? unwrap(step)->profile.steps : 0;
}
MptError mptStepPrintProfile(MptStep step, MptProfileFormat format, MlirStringRef title,
                             MlirStringCallback callback, void *data) {
  if (!step.ptr || !callback)
    return fail("mptStepPrintProfile: expected a step and a callback");
  const StepProfile &profile = unwrap(step)->profile;
  if (profile.empty())
    return fail("mptStepPrintProfile: nothing was measured: run the step between "
                "mptStepSetProfiling(step, true) and mptStepSetProfiling(step, false)");
  std::string text;
  switch (format) {
  case MptProfileFormatText: {
    llvm::raw_string_ostream os(text);
    printProfile(os, unwrapText(title), profile);
    break;
  }
  case MptProfileFormatJSON:
    text = printProfileJSON(profile);
    break;
  case MptProfileFormatHTML:
    text = renderProfilePage(profile, unwrapText(title));
    break;
  default:
    return fail("mptStepPrintProfile: expected a format, found " +
                llvm::Twine(static_cast<int>(format)));
  }
  callback(wrapText(text), data);
  return success();
}

size_t mptStepGetArenaBytes(MptStep step) {
  return step.ptr ? unwrap(step)->engine->arenaBytes() : 0;
}
size_t mptStepGetStateBytes(MptStep step) {
  return step.ptr ? unwrap(step)->engine->stateBytes() : 0;
}

MptError mptStepInitialize(MptStep step, uint64_t seed, MlirStringRef file) {
  if (!step.ptr)
    return fail("mptStepInitialize: expected a step");
  StepEngine &engine = *unwrap(step)->state;
  std::map<std::string, HostTensor> values;
  if (!unwrapText(file).empty()) {
    auto read = readFirstValues(unwrapText(file), engine);
    if (!read)
      return fail(read.takeError());
    values = std::move(*read);
  }
  return toC(initializeState(engine, seed, values, unwrapText(file)));
}

MptError mptStepBind(MptStep step, MlirStringRef name, const void *data, size_t bytes) {
  if (!step.ptr || !data)
    return fail("mptStepBind: expected a step and data");
  return toC(unwrap(step)->engine->bind(unwrapText(name), data, bytes));
}

MptError mptStepBindDevice(MptStep step, MlirStringRef name, const void *data,
                           size_t bytes) {
  if (!step.ptr || !data)
    return fail("mptStepBindDevice: expected a step and data");
  return toC(unwrap(step)->engine->bindDevice(unwrapText(name), data, bytes));
}

MptError mptStepRun(MptStep step) {
  if (!step.ptr)
    return fail("mptStepRun: expected a step");
  return toC(unwrap(step)->engine->runBound());
}

MptError mptStepReadOutput(MptStep step, MlirStringRef name, void *data, size_t bytes) {
  if (!step.ptr || !data)
    return fail("mptStepReadOutput: expected a step and data");
  return toC(unwrap(step)->engine->readOutput(unwrapText(name), data, bytes));
}

MptError mptStepReadState(MptStep step, MlirStringRef name, void *data, size_t bytes) {
  if (!step.ptr || !data)
    return fail("mptStepReadState: expected a step and data");
  const TensorInfo *shared = unwrap(step)->findShared(unwrapText(name));
  if (!shared)
    return toC(unwrap(step)->engine->readStateBytes(unwrapText(name), data, bytes));
  auto value = unwrap(step)->state->readState(shared->name);
  if (!value)
    return fail(value.takeError());
  if (value->getByteSize() != bytes)
    return fail("'" + unwrapText(name) + "' has " + llvm::Twine(value->getByteSize()) +
                " bytes, found a place for " + llvm::Twine(bytes));
  std::memcpy(data, value->getData(), bytes);
  return success();
}

MptError mptStepWriteState(MptStep step, MlirStringRef name, const void *data,
                           size_t bytes) {
  if (!step.ptr || !data)
    return fail("mptStepWriteState: expected a step and data");
  const TensorInfo *shared = unwrap(step)->findShared(unwrapText(name));
  if (!shared)
    return toC(unwrap(step)->engine->writeStateBytes(unwrapText(name), data, bytes));
  auto value = HostTensor::create(shared->type, shared->shape);
  if (!value)
    return fail(value.takeError());
  if (value->getByteSize() != bytes)
    return fail("'" + unwrapText(name) + "' has " + llvm::Twine(value->getByteSize()) +
                " bytes, found " + llvm::Twine(bytes));
  std::memcpy(value->getData(), data, bytes);
  return toC(unwrap(step)->state->writeState(shared->name, *value));
}

uint64_t mptStepGetNumRuns(MptStep step) {
  return step.ptr ? unwrap(step)->engine->countRuns() : 0;
}

/// The number in the program of tensor `index`; an error for one that is cut between
/// ranks.
static llvm::Expected<int32_t>
findNumber(MptStep step, intptr_t index, llvm::StringRef caller, llvm::StringRef remedy) {
  if (index < 0 || index >= mptStepGetNumTensors(step))
    return llvm::createStringError(caller + ": no tensor has the number " +
                                   llvm::Twine(index));
  const int32_t number = unwrap(step)->numbers[index];
  if (number < 0)
    return llvm::createStringError("'" + unwrapText(mptStepGetTensor(step, index).name) +
                                   "' is cut between ranks, and " + remedy);
  return number;
}

MptError mptStepKeepResults(MptStep step, const intptr_t *tensors, intptr_t count) {
  if (!step.ptr || count < 0 || (count && !tensors))
    return fail("mptStepKeepResults: expected a step and numbers of tensors");
  std::vector<int32_t> numbers;
  for (intptr_t i = 0; i < count; ++i) {
    auto number = findNumber(step, tensors[i], "mptStepKeepResults",
                             "runs keep no copies of it; read it");
    if (!number)
      return fail(number.takeError());
    numbers.push_back(*number);
  }
  return toC(unwrap(step)->engine->keepResults(numbers));
}

MptError mptStepReadResult(MptStep step, uint64_t run, intptr_t index, void *data,
                           size_t bytes) {
  if (!step.ptr || !data)
    return fail("mptStepReadResult: expected a step and data");
  auto number =
      findNumber(step, index, "mptStepReadResult", "runs keep no copies of it; read it");
  if (!number)
    return fail(number.takeError());
  return toC(unwrap(step)->engine->readResult(run, *number, data, bytes));
}

static MptError findData(MptStep step, intptr_t index, void **data,
                         llvm::StringRef caller,
                         llvm::Expected<void *> (RuntimeEngine::*find)(int32_t)) {
  if (!step.ptr || !data)
    return fail(caller + ": expected a step and a place for the address");
  auto number =
      findNumber(step, index, caller, "no address has all of it; read or write it");
  if (!number)
    return fail(number.takeError());
  auto found = (unwrap(step)->engine->*find)(*number);
  if (!found)
    return fail(found.takeError());
  *data = *found;
  return success();
}

MptError mptStepGetData(MptStep step, intptr_t index, void **data) {
  return findData(step, index, data, "mptStepGetData", &RuntimeEngine::getData);
}

MptError mptStepGetDeviceData(MptStep step, intptr_t index, void **data) {
  return findData(step, index, data, "mptStepGetDeviceData",
                  &RuntimeEngine::getDeviceData);
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

MptError mptStepSetWholeDigest(MptStep step, MlirStringRef digest) {
  if (!step.ptr)
    return fail("mptStepSetWholeDigest: expected a step");
  unwrap(step)->wholeDigest = unwrapText(digest).str();
  return success();
}

/// All of a checkpoint but the state.
static llvm::Expected<Checkpoint> makeCheckpoint(const Step *step,
                                                 const MptTrainingPosition *position,
                                                 llvm::StringRef caller) {
  if (!step || !position)
    return llvm::createStringError(caller + ": expected a step and a position");
  if (position->attempt < 0 || position->skipped < 0 || position->batch < 0 ||
      position->rows < 0 || position->index < 0)
    return llvm::createStringError(caller +
                                   ": expected counts of at least 0 in the position");
  Checkpoint checkpoint;
  checkpoint.attempt = position->attempt;
  checkpoint.skipped = position->skipped;
  checkpoint.seed = position->seed;
  checkpoint.batch = position->batch;
  checkpoint.rows = position->rows;
  checkpoint.position = {position->epoch, position->index};
  checkpoint.program = step->digest;
  checkpoint.wholeProgram = step->wholeDigest;
  return std::move(checkpoint);
}

static llvm::Error save(const Step &step, llvm::StringRef path, Checkpoint checkpoint) {
  auto state = captureState(*step.state);
  if (!state)
    return state.takeError();
  checkpoint.state = std::move(*state);
  if (!step.ranks)
    return saveCheckpoint(path, checkpoint);
  auto pieces = step.state->readPieces();
  if (!pieces)
    return pieces.takeError();
  checkpoint.pieces = std::move(*pieces);
  return saveCheckpoint(path, checkpoint, *step.ranks);
}

/// Waits for the checkpoint that was begun before.
static llvm::Error finishBefore(Step &step) {
  if (llvm::Error error = step.writer.finish())
    return llvm::createStringError("the checkpoint before this one was not written: " +
                                   llvm::toString(std::move(error)));
  return llvm::Error::success();
}

MptError mptStepSaveCheckpoint(MptStep step, MlirStringRef path,
                               const MptTrainingPosition *position) {
  auto checkpoint = makeCheckpoint(unwrap(step), position, "mptStepSaveCheckpoint");
  if (!checkpoint)
    return fail(checkpoint.takeError());
  llvm::Error before = finishBefore(*unwrap(step));
  llvm::Error error = save(*unwrap(step), unwrapText(path), std::move(*checkpoint));
  return toC(llvm::joinErrors(std::move(error), std::move(before)));
}

MptError mptStepBeginCheckpoint(MptStep step, MlirStringRef path,
                                const MptTrainingPosition *position) {
  auto checkpoint = makeCheckpoint(unwrap(step), position, "mptStepBeginCheckpoint");
  if (!checkpoint)
    return fail(checkpoint.takeError());
  Step &of = *unwrap(step);
  llvm::Error before = finishBefore(of);
  auto begun = of.writer.begin(unwrapText(path), *checkpoint, *of.state, of.ranks);
  llvm::Error error = begun ? llvm::Error::success() : begun.takeError();
  // Writing it at once takes less memory, or says what is wrong.
  if (!error && !*begun)
    error = llvm::joinErrors(std::move(error),
                             save(of, unwrapText(path), std::move(*checkpoint)));
  return toC(llvm::joinErrors(std::move(error), std::move(before)));
}

MptError mptStepFinishCheckpoint(MptStep step) {
  if (!step.ptr)
    return fail("mptStepFinishCheckpoint: expected a step");
  return toC(unwrap(step)->writer.finish());
}

MptError mptStepLoadCheckpoint(MptStep step, MlirStringRef path,
                               MptTrainingPosition *position) {
  if (!step.ptr || !position)
    return fail("mptStepLoadCheckpoint: expected a step and a place for the position");
  llvm::StringRef file = unwrapText(path);
  if (llvm::Error error = finishBefore(*unwrap(step)))
    return fail(std::move(error));
  auto checkpoint = loadCheckpoint(file);
  if (!checkpoint)
    return fail(checkpoint.takeError());
  if (llvm::Error error =
          checkStep(*checkpoint, file, unwrap(step)->digest, unwrap(step)->wholeDigest))
    return fail(std::move(error));
  if (llvm::Error error = restoreState(*unwrap(step)->state, file, checkpoint->state))
    return fail(std::move(error));
  *position = {checkpoint->attempt,       checkpoint->skipped, checkpoint->seed,
               checkpoint->batch,         checkpoint->rows,    checkpoint->position.epoch,
               checkpoint->position.index};
  return success();
}

MptError mptGetShuffledOrder(int64_t rows, uint64_t seed, uint64_t epoch,
                             int64_t *order) {
  if (rows < 0 || (rows && !order))
    return fail("mptGetShuffledOrder: expected at least 0 rows and a place for them");
  std::vector<int64_t> made = shuffledOrder(rows, seed, epoch);
  std::copy(made.begin(), made.end(), order);
  return success();
}
