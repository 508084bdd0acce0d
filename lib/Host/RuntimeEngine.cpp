//===- RuntimeEngine.cpp - A compiled program as an engine ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/RuntimeEngine.h"
#include "mpt/Host/MachineRates.h"
#include "mpt/Runtime/Runtime.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/ParseJSON.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace mpt;
using llvm::StringRef;

RuntimeEngine::~RuntimeEngine() { mpt_rt_destroy(context); }

llvm::Error RuntimeEngine::lastError(StringRef what) const {
  std::string text = mpt_rt_last_error(context);
  return llvm::createStringError(what.empty() ? text : (what + ": " + text).str());
}

const TensorInfo *RuntimeEngine::findState(StringRef name) const {
  for (const TensorInfo &info : arguments)
    if (info.name == name && isStateRole(info.role))
      return &info;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static const char *orNull(const std::string &text) {
  return text.empty() ? nullptr : text.c_str();
}

static int setDevice(mpt_rt_context *context, const RuntimeOptions &options) {
  return (options.isLocalRank ? mpt_rt_set_local_rank
                              : mpt_rt_set_cuda_device)(context, options.device);
}

llvm::Error RuntimeEngine::createContext(const RuntimeOptions &options) {
  context = mpt_rt_create(options.threads);
  if (!context)
    return llvm::createStringError("no memory for a runtime context");
  profiling = options.profile;
  threads = options.threads;
  communicator = options.communicator;
  untouched = !options.sharedState;
  if (mpt_rt_set_cuda_libraries(context, orNull(options.cudart),
                                orNull(options.cublasLt)) ||
      mpt_rt_set_cudnn_library(context, orNull(options.cudnn)) ||
      mpt_rt_set_nccl_library(context, orNull(options.nccl)) ||
      mpt_rt_set_tuning(context, options.tunes, orNull(options.tuningFile)) ||
      mpt_rt_set_graph_branches(context, options.graphBranches) ||
      setDevice(context, options) ||
      mpt_rt_set_communicator(context, options.communicator) ||
      (options.sharedState && mpt_rt_share_state(context, options.sharedState->context)))
    return lastError("");
  return llvm::Error::success();
}

llvm::Expected<std::string> mpt::findCudaChip(const RuntimeOptions &options) {
  std::unique_ptr<mpt_rt_context, decltype(&mpt_rt_destroy)> context(mpt_rt_create(1),
                                                                     mpt_rt_destroy);
  if (!context)
    return llvm::createStringError("no memory for a runtime context");
  int32_t architecture = 0;
  if (mpt_rt_set_cuda_libraries(context.get(), orNull(options.cudart),
                                orNull(options.cublasLt)) ||
      setDevice(context.get(), options) ||
      mpt_rt_get_cuda_architecture(context.get(), &architecture))
    return llvm::createStringError(mpt_rt_last_error(context.get()));
  return "sm_" + std::to_string(architecture);
}

llvm::Expected<std::unique_ptr<RuntimeEngine>>
RuntimeEngine::open(StringRef path, const RuntimeOptions &options) {
  auto engine = open(path, {}, {}, options);
  if (!engine)
    return engine;
  (*engine)->holdsFirstValues = true;
  if (llvm::Error error = (*engine)->readSignature())
    return createFileMessage(path, llvm::toString(std::move(error)));
  if (llvm::Error error = (*engine)->readMetadata())
    return createFileMessage(path, llvm::toString(std::move(error)) +
                                       "; compile the step again");
  return engine;
}

llvm::Expected<std::unique_ptr<RuntimeEngine>>
RuntimeEngine::open(StringRef path, std::vector<TensorInfo> arguments,
                    std::vector<ResultInfo> results, const RuntimeOptions &options) {
  std::unique_ptr<RuntimeEngine> engine(new RuntimeEngine());
  engine->path = path.str();
  engine->arguments = std::move(arguments);
  engine->results = std::move(results);
  if (llvm::Error error = engine->createContext(options))
    return std::move(error);
  if (mpt_rt_open(engine->context, engine->path.c_str())) {
    // Errors of the file begin with its path, those of the program do not.
    std::string why = mpt_rt_last_error(engine->context);
    if (StringRef(why).starts_with(path))
      return llvm::createStringError(why);
    return createFileMessage(path, why);
  }
  mpt_rt_set_profiling(engine->context, engine->profiling);
  return engine;
}

llvm::Expected<std::unique_ptr<RuntimeEngine>>
RuntimeEngine::create(const mpt_program_desc *program, std::shared_ptr<void> code,
                      std::vector<TensorInfo> arguments, std::vector<ResultInfo> results,
                      const RuntimeOptions &options) {
  std::unique_ptr<RuntimeEngine> engine(new RuntimeEngine());
  engine->arguments = std::move(arguments);
  engine->results = std::move(results);
  engine->code = std::move(code);
  if (llvm::Error error = engine->createContext(options))
    return std::move(error);
  if (mpt_rt_open_desc(engine->context, program))
    return engine->lastError("the program could not be opened");
  mpt_rt_set_profiling(engine->context, engine->profiling);
  return engine;
}

llvm::Error RuntimeEngine::readSignature() {
  mpt_rt_tensor tensor;
  for (int32_t i = 0; mpt_rt_get_tensor(context, i, &tensor) == 0; ++i) {
    std::optional<ElementType> type = parseElementType(tensor.type);
    std::vector<int64_t> shape(tensor.dims, tensor.dims + tensor.rank);
    if (!type)
      return llvm::createStringError("'" + StringRef(tensor.name) +
                                     "' has the element type '" + tensor.type +
                                     "', which the host does not have");
    if (StringRef(tensor.role) == "output") {
      ResultInfo &result = results.emplace_back();
      result.name = tensor.name;
      result.type = *type;
      result.shape = std::move(shape);
      continue;
    }
    std::optional<Role> role = parseRole(tensor.role);
    if (!role)
      return llvm::createStringError("'" + StringRef(tensor.name) + "' has the role '" +
                                     tensor.role + "', which the host does not know");
    TensorInfo &argument = arguments.emplace_back();
    argument.name = tensor.name;
    argument.role = *role;
    argument.type = *type;
    argument.shape = std::move(shape);
  }
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::readMetadata() {
  StringRef text = mpt_rt_metadata(context);
  if (text.empty())
    return llvm::Error::success();
  auto bad = [](const llvm::Twine &why) {
    return llvm::createStringError("the program's metadata cannot be read: " + why);
  };
  auto value = parseJSON(text);
  if (!value)
    return bad(llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return bad("expected an object");
  if (auto step = object->getString("step"))
    digest = step->str();
  isTraining = object->getBoolean("is_step").value_or(true);
  auto find = [&](StringRef name) {
    return llvm::find_if(arguments,
                         [&](const TensorInfo &info) { return info.name == name; });
  };
  if (const llvm::json::Array *masters = object->getArray("masters"))
    for (const llvm::json::Value &entry : *masters) {
      auto argument = find(entry.getAsString().value_or(""));
      if (argument == arguments.end())
        return bad("'masters' names something that is not a tensor of the program");
      argument->hasMaster = true;
    }
  if (const llvm::json::Object *lows = object->getObject("low_of"))
    for (const auto &[low, parameter] : *lows) {
      auto argument = find(low), whole = find(parameter.getAsString().value_or(""));
      if (argument == arguments.end() || whole == arguments.end() ||
          argument->type != ElementType::I16 || whole->type != ElementType::BF16 ||
          argument->shape != whole->shape)
        return bad("'low_of' does not name halves of one tensor");
      argument->lowOf = whole->name;
    }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

llvm::Expected<HostTensor> RuntimeEngine::readState(StringRef name) const {
  const TensorInfo *info = findState(name);
  if (!info)
    return llvm::createStringError("there is no state named '" + name + "'");
  auto tensor = HostTensor::create(info->type, info->shape);
  if (!tensor)
    return tensor.takeError();
  if (llvm::Error error = readStateBytes(name, tensor->getData(), tensor->getByteSize()))
    return std::move(error);
  return tensor;
}

llvm::Error RuntimeEngine::readStateBytes(StringRef name, void *data,
                                          size_t bytes) const {
  if (mpt_rt_read(context, name.str().c_str(), data, bytes))
    return lastError("cannot read state");
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::writeState(StringRef name, const HostTensor &value) {
  const TensorInfo *info = findState(name);
  if (!info)
    return llvm::createStringError("there is no state named '" + name + "'");
  if (value.getElementType() != info->type ||
      value.getShape() != llvm::ArrayRef<int64_t>(info->shape))
    return llvm::createStringError("state '" + name + "': expected " +
                                   describeTensorType(info->type, info->shape) +
                                   ", found " + value.describe());
  return writeStateBytes(name, value.getData(), value.getByteSize());
}

llvm::Error RuntimeEngine::writeStateBytes(StringRef name, const void *data,
                                           size_t bytes) {
  untouched = false;
  if (mpt_rt_write(context, name.str().c_str(), data, bytes))
    return lastError("cannot write state");
  return llvm::Error::success();
}

llvm::Expected<bool> RuntimeEngine::initialize(uint64_t seed) {
  untouched &= !holdsFirstValues;
  if (holdsFirstValues && mpt_rt_initialize(context, seed))
    return lastError("cannot initialize state");
  return holdsFirstValues;
}

llvm::Error RuntimeEngine::checkHasValue(StringRef name) const {
  const TensorInfo *info = findState(name);
  if (!info)
    return llvm::createStringError("there is no state named '" + name + "'");
  if (!mpt_rt_needs_value(context, info->name.c_str()))
    return llvm::Error::success();
  return llvm::createStringError(
      "'" + name + "' (" + stringifyRole(info->role) + ", " +
      describeTensorType(info->type, info->shape) + ") has no first value in " + path +
      ": give one in a file with --init; a checkpoint of mpt-run has them all");
}

llvm::Error RuntimeEngine::bind(StringRef name, const void *data, size_t bytes) {
  if (mpt_rt_bind(context, name.str().c_str(), data, bytes))
    return lastError("cannot bind an input");
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::bindDevice(StringRef name, const void *data, size_t bytes) {
  if (mpt_rt_bind_device(context, name.str().c_str(), data, bytes))
    return lastError("cannot bind an input");
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::setCudaStream(void *stream) {
  if (mpt_rt_set_cuda_stream(context, stream))
    return lastError("");
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::runBound() {
  const ExchangeProfile before = countExchanges();
  untouched = false;
  const int status = mpt_rt_run(context);
  if (!status) {
    if (profiling)
      addToProfile(before);
    return llvm::Error::success();
  }
  return runError(status);
}

llvm::Error RuntimeEngine::runError(int status) const {
  // Which rank is lost matters, not which exchange noticed.
  if (status == MPT_RT_COMMUNICATION_FAILED && communicator)
    return llvm::createStringError(mpt_rt_communicator_error(communicator));
  llvm::Error error = lastError("the step failed");
  int64_t index, position;
  if (mpt_rt_get_bad_index(context, &index, &position))
    return error;
  return llvm::make_error<BadIndexError>(llvm::toString(std::move(error)), index,
                                         position);
}

llvm::Expected<int> RuntimeEngine::getCudaDevice() {
  int32_t device = 0;
  if (mpt_rt_get_cuda_device(context, &device))
    return lastError("");
  return device;
}

llvm::Expected<void *> RuntimeEngine::getData(int32_t index) {
  untouched = false;
  void *data = nullptr;
  if (mpt_rt_get_data(context, index, &data))
    return lastError("");
  return data;
}

llvm::Expected<void *> RuntimeEngine::getDeviceData(int32_t index) {
  untouched = false;
  void *data = nullptr;
  if (mpt_rt_get_device_data(context, index, &data))
    return lastError("");
  return data;
}

llvm::Error RuntimeEngine::readOutput(StringRef name, void *data, size_t bytes) const {
  if (mpt_rt_read_output(context, name.str().c_str(), data, bytes))
    return lastError("cannot read an output");
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::bindAll(const llvm::StringMap<const HostTensor *> &inputs) {
  for (const TensorInfo &info : arguments) {
    if (isStateRole(info.role))
      continue;
    const HostTensor *value = inputs.lookup(info.name);
    if (!value)
      return llvm::createStringError("input '" + info.name + "' is missing");
    if (value->getElementType() != info.type ||
        value->getShape() != llvm::ArrayRef<int64_t>(info.shape))
      return llvm::createStringError("input '" + info.name + "': expected " +
                                     describeTensorType(info.type, info.shape) +
                                     ", found " + value->describe());
    if (llvm::Error error = bind(info.name, value->getData(), value->getByteSize()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<llvm::StringMap<HostTensor>>
RuntimeEngine::run(const llvm::StringMap<const HostTensor *> &inputs) {
  if (llvm::Error error = bindAll(inputs))
    return std::move(error);
  if (llvm::Error error = runBound())
    return std::move(error);
  finished = countRuns();
  llvm::StringMap<HostTensor> outputs;
  for (const ResultInfo &info : results) {
    if (!info.updates.empty())
      continue;
    auto tensor = HostTensor::create(info.type, info.shape);
    if (!tensor)
      return tensor.takeError();
    if (llvm::Error error =
            readOutput(info.name, tensor->getData(), tensor->getByteSize()))
      return std::move(error);
    outputs[info.name] = std::move(*tensor);
  }
  return outputs;
}

llvm::Error RuntimeEngine::watch(std::vector<std::string> names) {
  if (!isCuda() || profiling)
    return StepEngine::watch(std::move(names));
  keptOutputs.clear();
  keptState.clear();
  for (const std::string &name : names) {
    const TensorInfo *info = findState(name);
    if (!info)
      return llvm::createStringError("there is no state named '" + name + "'");
    keptState.push_back({static_cast<int32_t>(info - arguments.data()), name});
  }
  auto number = static_cast<int32_t>(arguments.size());
  for (const ResultInfo &info : results)
    if (info.updates.empty())
      keptOutputs.push_back({number++, info.name});
  std::vector<int32_t> tensors;
  for (const auto &kept : {keptOutputs, keptState})
    for (const auto &[tensor, name] : kept)
      tensors.push_back(tensor);
  if (llvm::Error error = keepResults(tensors))
    return error;
  watched = std::move(names);
  finished = mpt_rt_get_num_runs(context);
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::keepResults(llvm::ArrayRef<int32_t> tensors) {
  if (mpt_rt_keep_results(context, tensors.data(), static_cast<int32_t>(tensors.size())))
    return lastError("");
  return llvm::Error::success();
}

llvm::Error RuntimeEngine::readResult(uint64_t run, int32_t tensor, void *data,
                                      size_t bytes) const {
  const int status = mpt_rt_read_result(context, run, tensor, data, bytes);
  return status ? runError(status) : llvm::Error::success();
}

uint64_t RuntimeEngine::countRuns() const { return mpt_rt_get_num_runs(context); }

llvm::Error RuntimeEngine::begin(const llvm::StringMap<const HostTensor *> &inputs) {
  if (getDepth() == 1)
    return StepEngine::begin(inputs);
  if (llvm::Error error = bindAll(inputs))
    return error;
  return runBound();
}

llvm::Expected<StepResults> RuntimeEngine::finish() {
  if (getDepth() == 1)
    return StepEngine::finish();
  StepResults made;
  ++finished;
  auto read = [&](int32_t number, ElementType type, llvm::ArrayRef<int64_t> shape,
                  HostTensor &into) -> llvm::Error {
    auto tensor = HostTensor::create(type, shape);
    if (!tensor)
      return tensor.takeError();
    into = std::move(*tensor);
    return readResult(finished, number, into.getData(), into.getByteSize());
  };
  for (const auto &[number, name] : keptState) {
    const TensorInfo &info = arguments[number];
    if (llvm::Error error = read(number, info.type, info.shape, made.state[name]))
      return std::move(error);
  }
  auto kept = keptOutputs.begin();
  for (const ResultInfo &info : results)
    if (info.updates.empty())
      if (llvm::Error error =
              read((kept++)->first, info.type, info.shape, made.outputs[info.name]))
        return std::move(error);
  return std::move(made);
}

namespace {
/// State of a program as it was between two runs.
class ProgramSnapshot : public StateSnapshot {
public:
  ProgramSnapshot(mpt_rt_snapshot *snapshot, llvm::ArrayRef<TensorInfo> arguments)
      : snapshot(snapshot), arguments(arguments.begin(), arguments.end()) {}
  ~ProgramSnapshot() override { mpt_rt_destroy_snapshot(snapshot); }
  ProgramSnapshot(const ProgramSnapshot &) = delete;

  llvm::Expected<HostTensor> readState(StringRef name) override {
    const auto *info = llvm::find_if(arguments, [&](const TensorInfo &argument) {
      return argument.name == name && isStateRole(argument.role);
    });
    if (info == arguments.end())
      return llvm::createStringError("there is no state named '" + name + "'");
    auto tensor = HostTensor::create(info->type, info->shape);
    if (tensor && mpt_rt_read_snapshot(snapshot, info->name.c_str(), tensor->getData(),
                                       tensor->getByteSize()))
      return llvm::createStringError(mpt_rt_snapshot_error(snapshot));
    return tensor;
  }

private:
  mpt_rt_snapshot *snapshot;
  llvm::SmallVector<TensorInfo, 0> arguments;
};
} // namespace

llvm::Expected<std::unique_ptr<StateSnapshot>> RuntimeEngine::takeSnapshot() const {
  if (!isCuda())
    return StepEngine::takeSnapshot();
  mpt_rt_snapshot *taken = nullptr;
  if (mpt_rt_take_snapshot(context, &taken))
    return lastError("cannot read state");
  return std::make_unique<ProgramSnapshot>(taken, arguments);
}

StringRef RuntimeEngine::getTarget() const { return mpt_rt_target(context); }
size_t RuntimeEngine::arenaBytes() const { return mpt_rt_arena_bytes(context); }
size_t RuntimeEngine::stateBytes() const { return mpt_rt_state_bytes(context); }

std::string RuntimeEngine::notes() const { return ownNotes + mpt_rt_notes(context); }

llvm::Expected<std::pair<int64_t, int64_t>> RuntimeEngine::countDeviceMemory() {
  int64_t needed = 0, unused = 0;
  if (mpt_rt_get_cuda_memory(context, &needed, &unused))
    return lastError("");
  return std::pair(needed, unused);
}

int64_t RuntimeEngine::getNumRanks() const { return mpt_rt_get_program_ranks(context); }

ExchangeProfile RuntimeEngine::countExchanges() const {
  double total = 0, exposed = 0;
  mpt_rt_get_exchange_seconds(communicator, &total, &exposed);
  return {1e3 * total, 1e3 * exposed,
          static_cast<double>(mpt_rt_get_sent_bytes(communicator))};
}

void RuntimeEngine::setProfiling(bool on) {
  if (on && !profiling) {
    profiled.clear();
    profiledSteps = runs = 0;
    exchanged = {};
  }
  profiling = on;
  mpt_rt_set_profiling(context, on);
}

void RuntimeEngine::addToProfile(const ExchangeProfile &before) {
  if (runs++ == 1) {
    profiled.clear();
    profiledSteps = 0;
    exchanged = {};
  }
  const ExchangeProfile after = countExchanges();
  const double exposed = after.exposed - before.exposed;
  // Who waits notices the end a little later.
  exchanged.milliseconds += std::max(after.milliseconds - before.milliseconds, exposed);
  exchanged.exposed += exposed;
  exchanged.bytes += after.bytes - before.bytes;
  ++profiledSteps;
  const char *what, *location;
  double milliseconds;
  for (int32_t i = 0;
       mpt_rt_get_profile(context, i, &what, &location, &milliseconds) == 0; ++i) {
    if (profiled.size() <= static_cast<size_t>(i))
      profiled.push_back(0);
    profiled[i] += milliseconds;
  }
}

StepProfile RuntimeEngine::profile() const {
  StepProfile result;
  result.steps = profiledSteps;
  const char *what, *location, *type;
  double milliseconds, flops, bytes;
  for (auto [index, sum] : llvm::enumerate(profiled)) {
    if (mpt_rt_get_profile(context, index, &what, &location, &milliseconds) ||
        mpt_rt_get_cost(context, mpt_rt_get_profile_instruction(context, index), &flops,
                        &type, &bytes))
      break;
    result.entries.push_back({what, location, sum / profiledSteps, flops, bytes, type,
                              mpt_rt_get_profile_instruction(context, index)});
  }
  if (!result.empty() && getNumRanks() > 1)
    result.exchanges = ExchangeProfile{exchanged.milliseconds / profiledSteps,
                                       exchanged.exposed / profiledSteps,
                                       exchanged.bytes / profiledSteps};
  if (!result.empty() && !isCuda())
    result.rates = measureMachineRates(threads);
  return result;
}
