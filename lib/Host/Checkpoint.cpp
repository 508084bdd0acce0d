//===- Checkpoint.cpp - A run's whole state in one file ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Checkpoint.h"
#include "ShardFiles.h"
#include "mpt/Host/SafetensorsIO.h"
#include "mpt/Host/StateValues.h"
#include "mpt/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mpt;
using namespace mpt::detail;

/// Changes when a reader of the old files would go wrong. Files of format 1 have no
/// checksums.
static constexpr llvm::StringLiteral kFormat("2"), kOldFormat("1");

//===----------------------------------------------------------------------===//
// Checksums
//===----------------------------------------------------------------------===//

static std::string getChecksumKey(llvm::StringRef tensor) {
  return (kChecksum + "." + tensor).str();
}

static std::string computeChecksum(llvm::ArrayRef<uint8_t> bytes) {
  return llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true, /*Width=*/16);
}

static std::string computeChecksum(const HostTensor &tensor) {
  if (tensor.getElementType() != ElementType::I1)
    return computeChecksum(tensor.getBytes());
  // Any byte but 0 is read as 1.
  std::vector<uint8_t> bits;
  for (uint8_t byte : tensor.getBytes())
    bits.push_back(byte != 0);
  return computeChecksum(bits);
}

/// Of names, types, shapes and the rest of the metadata, in which the tensors' own
/// checksums are.
template <typename Tensors, typename Describe>
static std::string computeHeaderChecksum(const Metadata &metadata, const Tensors &tensors,
                                         Describe describe) {
  std::string text;
  for (const auto &[key, value] : metadata)
    if (key != kChecksum)
      text += key + '\0' + value + '\0';
  for (const auto &[name, tensor] : tensors)
    text += name + '\0' + describe(tensor) + '\0';
  return computeChecksum(llvm::arrayRefFromStringRef(text));
}

static llvm::Error checkChecksum(const SafetensorsFile &file, llvm::StringRef path,
                                 const llvm::Twine &what, const std::string &key,
                                 const std::string &computed) {
  auto it = file.getMetadata().find(key);
  if (it != file.getMetadata().end() && it->second == computed)
    return llvm::Error::success();
  return createFileMessage(
      path, "damaged: expected the checksum of " + what + " to be " +
                (it == file.getMetadata().end() ? "in the metadata" : it->second) +
                ", found " + computed + "; take another copy of the file");
}

static bool hasChecksums(const SafetensorsFile &file) {
  auto it = file.getMetadata().lower_bound(kChecksum.str());
  return it != file.getMetadata().end() &&
         llvm::StringRef(it->first).starts_with(kChecksum);
}

llvm::Error
mpt::detail::writeWithChecksums(llvm::StringRef path,
                                const std::map<std::string, HostTensor> &tensors,
                                Metadata metadata) {
  for (const auto &[name, tensor] : tensors)
    metadata[getChecksumKey(name)] = computeChecksum(tensor);
  metadata[kChecksum.str()] =
      computeHeaderChecksum(metadata, tensors, [](const HostTensor &tensor) {
        return describeTensorType(tensor.getElementType(), tensor.getShape());
      });
  return writeSafetensors(path, tensors, metadata);
}

llvm::Error mpt::detail::checkHeader(const SafetensorsFile &file, llvm::StringRef path) {
  return checkChecksum(file, path, "its header", kChecksum.str(),
                       computeHeaderChecksum(file.getMetadata(), file.getEntries(),
                                             [](const SafetensorsFile::Entry &entry) {
                                               return describeTensorType(entry.type,
                                                                         entry.shape);
                                             }));
}

llvm::Expected<HostTensor> mpt::detail::readTensor(const SafetensorsFile &file,
                                                   llvm::StringRef path,
                                                   const std::string &name,
                                                   bool isChecked) {
  auto tensor = file.read(name);
  if (!tensor || !isChecked)
    return tensor;
  if (llvm::Error error = checkChecksum(file, path, "'" + name + "'",
                                        getChecksumKey(name), computeChecksum(*tensor)))
    return std::move(error);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Writes `checkpoint` with `more` in its metadata.
static llvm::Error save(llvm::StringRef path, const Checkpoint &checkpoint,
                        const Metadata &more) {
  Metadata metadata = more;
  metadata.insert({{"mpt.checkpoint", kFormat.str()},
                   {"mpt.version", kVersion},
                   {"mpt.attempt", std::to_string(checkpoint.attempt)},
                   {"mpt.skipped", std::to_string(checkpoint.skipped)},
                   {"mpt.seed", std::to_string(checkpoint.seed)},
                   {"mpt.batch", std::to_string(checkpoint.batch)},
                   {"mpt.rows", std::to_string(checkpoint.rows)},
                   {"mpt.epoch", std::to_string(checkpoint.position.epoch)},
                   {"mpt.index", std::to_string(checkpoint.position.index)},
                   {"mpt.program", checkpoint.program}});
  if (checkpoint.evaluationDue)
    metadata["mpt.evaluation_due"] = "1";
  if (!checkpoint.wholeProgram.empty())
    metadata["mpt.whole_program"] = checkpoint.wholeProgram;
  return writeWithChecksums(path, checkpoint.state, std::move(metadata));
}

llvm::Error mpt::saveCheckpoint(llvm::StringRef path, const Checkpoint &checkpoint) {
  if (llvm::Error error = save(path, checkpoint, {}))
    return error;
  removeStaleShards(path);
  return llvm::Error::success();
}

llvm::Expected<SharedSave> SharedSave::begin(llvm::StringRef path, int64_t attempt,
                                             RankGroup &ranks) {
  auto file = nameShard(path, attempt, ranks);
  if (!file)
    return file.takeError();
  return SharedSave(path.str(), std::move(*file), ranks);
}

void SharedSave::write(llvm::ArrayRef<StatePiece> pieces) {
  if (auto written = writeShard(file, pieces))
    report = std::move(*written);
  else
    failure = llvm::toString(written.takeError());
}

llvm::Error SharedSave::finish(const Checkpoint &checkpoint) {
  auto shards = joinShards(
      path,
      failure.empty() ? llvm::Expected<std::string>(std::move(report))
                      : llvm::Expected<std::string>(llvm::createStringError(failure)),
      *ranks);
  if (!shards)
    return shards.takeError();
  // The moment from which on the new one counts.
  llvm::Error error = llvm::Error::success();
  if (ranks->getRank() == 0)
    error = llvm::joinErrors(std::move(error), save(path, checkpoint, *shards));
  if (llvm::Error any = ranks->agree(std::move(error)))
    return any;
  if (ranks->getRank() == 0)
    removeStaleShards(path);
  return llvm::Error::success();
}

llvm::Error mpt::saveCheckpoint(llvm::StringRef path, const Checkpoint &checkpoint,
                                RankGroup &ranks) {
  auto saving = SharedSave::begin(path, checkpoint.attempt, ranks);
  if (!saving)
    return saving.takeError();
  saving->write(checkpoint.pieces);
  return saving->finish(checkpoint);
}

template <typename T>
static llvm::Error readNumber(const SafetensorsFile &file, llvm::StringRef path,
                              llvm::StringRef key, T &value) {
  auto it = file.getMetadata().find(key.str());
  std::string found = it == file.getMetadata().end() ? "nothing" : "'" + it->second + "'";
  if (it == file.getMetadata().end() ||
      llvm::StringRef(it->second).getAsInteger(10, value) || value < T(0))
    return createFileMessage(path, "expected a number for " + key +
                                       " in the metadata, found " + found);
  return llvm::Error::success();
}

llvm::Expected<Checkpoint> mpt::loadCheckpoint(llvm::StringRef path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  auto format = file->getMetadata().find("mpt.checkpoint");
  if (format == file->getMetadata().end())
    return createFileMessage(path, "expected a checkpoint of mpt-run, found a "
                                   ".safetensors file of another origin");
  const bool isChecked = format->second == kFormat;
  if (!isChecked && format->second != kOldFormat)
    return createFileMessage(path, "expected checkpoint format " + kOldFormat + " or " +
                                       kFormat + ", found " + format->second);
  if (isChecked)
    if (llvm::Error error = checkHeader(*file, path))
      return std::move(error);
  auto version = file->getMetadata().find("mpt.version");
  if (version == file->getMetadata().end() || version->second != kVersion)
    return createFileMessage(
        path, llvm::Twine("expected a checkpoint of MPT ") + kVersion + ", found " +
                  (version == file->getMetadata().end() ? "one without a version"
                                                        : "one of " + version->second) +
                  "; its parameters can be read with --init");
  Checkpoint checkpoint;
  if (llvm::Error error = readNumber(*file, path, "mpt.attempt", checkpoint.attempt))
    return std::move(error);
  if (llvm::Error error = readNumber(*file, path, "mpt.skipped", checkpoint.skipped))
    return std::move(error);
  if (llvm::Error error = readNumber(*file, path, "mpt.seed", checkpoint.seed))
    return std::move(error);
  if (llvm::Error error = readNumber(*file, path, "mpt.batch", checkpoint.batch))
    return std::move(error);
  if (llvm::Error error = readNumber(*file, path, "mpt.rows", checkpoint.rows))
    return std::move(error);
  if (llvm::Error error = readNumber(*file, path, "mpt.epoch", checkpoint.position.epoch))
    return std::move(error);
  if (llvm::Error error = readNumber(*file, path, "mpt.index", checkpoint.position.index))
    return std::move(error);
  checkpoint.evaluationDue = file->getMetadata().count("mpt.evaluation_due") != 0;
  auto program = file->getMetadata().find("mpt.program");
  if (program != file->getMetadata().end())
    checkpoint.program = program->second;
  auto whole = file->getMetadata().find("mpt.whole_program");
  if (whole != file->getMetadata().end())
    checkpoint.wholeProgram = whole->second;
  for (const auto &entry : file->getEntries()) {
    auto tensor = readTensor(*file, path, entry.first, isChecked);
    if (!tensor)
      return tensor.takeError();
    checkpoint.state[entry.first] = std::move(*tensor);
  }
  if (llvm::Error error =
          readShards(*file, path, [](llvm::StringRef) { return true; }, checkpoint.state))
    return std::move(error);
  return std::move(checkpoint);
}

llvm::Expected<std::map<std::string, HostTensor>>
mpt::captureState(const StepEngine &engine) {
  std::map<std::string, HostTensor> state;
  for (const TensorInfo &argument : engine.getArguments()) {
    if (!isStateRole(argument.role) || argument.isShared)
      continue;
    auto tensor = engine.readState(argument.name);
    if (!tensor)
      return tensor.takeError();
    state[argument.name] = std::move(*tensor);
  }
  return std::move(state);
}

llvm::Error mpt::restoreState(StepEngine &engine, llvm::StringRef path,
                              const std::map<std::string, HostTensor> &state) {
  size_t known = 0;
  for (const TensorInfo &argument : engine.getArguments()) {
    if (!isStateRole(argument.role))
      continue;
    auto it = state.find(argument.name);
    std::string expected = describeTensorType(argument.type, argument.shape);
    if (it == state.end())
      return createFileMessage(path, "expected '" + argument.name + "' (" + expected +
                                         "), found no such tensor");
    if (it->second.getElementType() != argument.type ||
        it->second.getShape() != llvm::ArrayRef<int64_t>(argument.shape))
      return createFileMessage(path, "expected '" + argument.name + "' to be " +
                                         expected + ", found " + it->second.describe());
    ++known;
  }
  if (known != state.size())
    for (const auto &entry : state)
      if (llvm::none_of(engine.getArguments(), [&](const TensorInfo &argument) {
            return argument.name == entry.first && isStateRole(argument.role);
          }))
        return createFileMessage(path, "found '" + entry.first +
                                           "', which is not state of the step "
                                           "function");
  for (const auto &entry : state)
    if (llvm::Error error = engine.writeState(entry.first, entry.second))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::map<std::string, HostTensor>>
mpt::readFirstValues(llvm::StringRef path, const StepEngine &engine) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  const bool isCheckpoint = file->getMetadata().count("mpt.checkpoint") != 0;
  const bool isChecked = hasChecksums(*file);
  if (isChecked)
    if (llvm::Error error = checkHeader(*file, path))
      return std::move(error);
  std::map<std::string, HostTensor> values;
  auto isLearned = [&](llvm::StringRef name) {
    const TensorInfo *argument = llvm::find_if(
        engine.getArguments(), [&](const TensorInfo &info) { return info.name == name; });
    return argument != engine.getArguments().end() &&
           (argument->role == Role::Parameter || argument->role == Role::RunningStat ||
            !argument->lowOf.empty());
  };
  if (llvm::Error error = readShards(*file, path, isLearned, values))
    return std::move(error);
  for (const auto &entry : file->getEntries()) {
    if (isCheckpoint && !isLearned(entry.first))
      continue;
    auto tensor = readTensor(*file, path, entry.first, isChecked);
    if (!tensor)
      return tensor.takeError();
    values[entry.first] = std::move(*tensor);
  }
  return std::move(values);
}

llvm::Error mpt::checkStep(const Checkpoint &checkpoint, llvm::StringRef path,
                           llvm::StringRef step, llvm::StringRef wholeStep) {
  auto orElse = [](llvm::StringRef whole, llvm::StringRef own) {
    return whole.empty() ? own : whole;
  };
  if (checkpoint.program == step ||
      orElse(checkpoint.wholeProgram, checkpoint.program) == orElse(wholeStep, step))
    return llvm::Error::success();
  return createFileMessage(
      path, "expected a checkpoint of this step function (" + step + "), found one of " +
                checkpoint.program +
                ": the model, the optimizer, the precision or the version of MPT "
                "differ");
}

llvm::Error mpt::readStateFile(llvm::StringRef path, llvm::StringRef step,
                               StepEngine &engine) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  if (!file->getMetadata().count("mpt.checkpoint")) {
    auto values = readFirstValues(path, engine);
    return values ? writeStateValues(engine, *values, path) : values.takeError();
  }
  auto checkpoint = loadCheckpoint(path);
  if (!checkpoint)
    return checkpoint.takeError();
  if (llvm::Error error = checkStep(*checkpoint, path, step))
    return error;
  return restoreState(engine, path, checkpoint->state);
}
