//===- ShardFiles.cpp - Files of state that ranks hold together -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardFiles.h"
#include "mpt/Host/Checkpoint.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <optional>

using namespace mpt;
using namespace mpt::detail;

static constexpr llvm::StringLiteral kShards("mpt.shards"), kShard("mpt.shard."),
    kShape("mpt.shape.");

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The files that the checkpoint at `path` names, without its directory; none if there is
/// no file, nothing if there is one that cannot be read.
static std::optional<std::vector<std::string>> findShardNames(llvm::StringRef path) {
  std::vector<std::string> names;
  if (llvm::sys::fs::access(path, llvm::sys::fs::AccessMode::Exist) ==
      std::errc::no_such_file_or_directory)
    return names;
  auto file = SafetensorsFile::open(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  for (const auto &[key, value] : file->getMetadata())
    if (llvm::StringRef(key).starts_with(kShard) &&
        !llvm::StringRef(key).ends_with("xxh3"))
      names.push_back(value);
  return names;
}

/// `name` beside the file `path`.
static std::string getBeside(llvm::StringRef path, llvm::StringRef name) {
  llvm::SmallString<128> result(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(result, name);
  return result.str().str();
}

void mpt::removeStaleShards(llvm::StringRef path, llvm::StringRef resumed) {
  auto target = resolveLinks(path);
  if (!target) {
    llvm::consumeError(target.takeError());
    return;
  }
  const llvm::StringRef own = llvm::sys::path::filename(*target);
  auto named = findShardNames(*target), needed = findShardNames(resumed);
  if (!named || !needed)
    return;
  llvm::Regex isShard("^" + llvm::Regex::escape(own) +
                      "\\.step[0-9]+b?\\.rank[0-9]+-of-[0-9]+(\\.tmp-[0-9a-f]{8})?$");
  llvm::StringRef directory = llvm::sys::path::parent_path(*target);
  std::error_code code;
  std::vector<std::string> stale;
  for (llvm::sys::fs::directory_iterator at(directory.empty() ? "." : directory, code),
       end;
       at != end && !code; at.increment(code))
    if (llvm::StringRef name = llvm::sys::path::filename(at->path());
        isShard.match(name) && !llvm::is_contained(*named, name) &&
        !llvm::is_contained(*needed, name))
      stale.push_back(at->path());
  for (const std::string &file : stale)
    (void)llvm::sys::fs::remove(file);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Expected<ShardFile> mpt::detail::nameShard(llvm::StringRef path, int64_t step,
                                                 RankGroup &ranks) {
  // Files that a checkpoint names are not written again: this one may not come about.
  std::string stem;
  ShardFile file;
  auto target = resolveLinks(path);
  if (!target) {
    file.problem = llvm::toString(target.takeError());
  } else if (ranks.getRank() == 0) {
    stem = (llvm::sys::path::filename(*target) + ".step" + std::to_string(step)).str();
    // What a file names that cannot be read is lost already.
    for (llvm::StringRef name :
         findShardNames(*target).value_or(std::vector<std::string>()))
      if (name.starts_with(stem + ".rank")) {
        stem += 'b';
        break;
      }
  }
  auto stems = ranks.gather(stem);
  if (!stems)
    return stems.takeError();
  file.name = stems->front() + ".rank" + std::to_string(ranks.getRank()) + "-of-" +
              std::to_string(ranks.getNumRanks());
  if (file.problem.empty())
    file.path = getBeside(*target, file.name);
  return std::move(file);
}

llvm::Expected<std::string> mpt::detail::writeShard(const ShardFile &file,
                                                    llvm::ArrayRef<StatePiece> pieces) {
  if (!file.problem.empty())
    return llvm::createStringError(file.problem);
  Metadata metadata;
  std::map<std::string, HostTensor> tensors;
  for (const StatePiece &piece : pieces) {
    tensors[piece.name + "[" + std::to_string(piece.begin) + ":" +
            std::to_string(piece.end) + "]"] = piece.values;
    std::string shape;
    for (int64_t size : piece.shape)
      shape += (shape.empty() ? "" : "x") + std::to_string(size);
    metadata[(kShape + piece.name).str()] = shape;
  }
  if (llvm::Error error = writeWithChecksums(file.path, tensors, metadata))
    return std::move(error);
  auto written = SafetensorsFile::open(file.path);
  if (!written)
    return written.takeError();
  // What rank 0 writes of this file, line by line.
  std::string report = file.name + "\n" + written->getMetadata().at(kChecksum.str());
  for (const auto &[key, value] : metadata)
    report += "\n" + key + "\n" + value;
  return report;
}

llvm::Expected<Metadata> mpt::detail::joinShards(llvm::StringRef path,
                                                 llvm::Expected<std::string> written,
                                                 RankGroup &ranks) {
  std::string report = written ? *written : "";
  if (llvm::Error any = ranks.agree(written.takeError())) {
    // Each rank does: the one that would have may be the one that is lost.
    removeStaleShards(path);
    return std::move(any);
  }
  auto reports = ranks.gather(report);
  if (!reports)
    return reports.takeError();
  Metadata all = {{kShards.str(), std::to_string(reports->size())}};
  for (auto [rank, text] : llvm::enumerate(*reports)) {
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    const std::string key = (kShard + llvm::Twine(rank)).str();
    all[key] = lines[0].str();
    all[key + ".xxh3"] = lines[1].str();
    for (size_t i = 2; i + 1 < lines.size(); i += 2)
      all[lines[i].str()] = lines[i + 1].str();
  }
  return std::move(all);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// A tensor that is put together.
struct Partial {
  std::vector<int64_t> shape;
  std::optional<HostTensor> whole;
  /// The ranges that are there, by where they begin.
  std::map<int64_t, int64_t> ranges;
};
} // namespace

/// The tensor and the range that `key`, as in w[0:4096], names.
static bool parseKey(llvm::StringRef key, llvm::StringRef &name, int64_t &begin,
                     int64_t &end) {
  if (!key.consume_back("]"))
    return false;
  const size_t bracket = key.rfind('[');
  if (bracket == llvm::StringRef::npos)
    return false;
  name = key.take_front(bracket);
  auto [first, last] = key.drop_front(bracket + 1).split(':');
  return !first.getAsInteger(10, begin) && !last.getAsInteger(10, end) && begin >= 0 &&
         begin < end;
}

static llvm::Error addPiece(const SafetensorsFile &file, llvm::StringRef path,
                            const std::string &key, int64_t begin, int64_t end,
                            Partial &into) {
  auto values = readTensor(file, path, key, /*isChecked=*/true);
  if (!values)
    return values.takeError();
  if (!into.whole) {
    auto made = HostTensor::create(values->getElementType(), into.shape);
    if (!made)
      return made.takeError();
    into.whole = std::move(*made);
  }
  HostTensor &whole = *into.whole;
  if (values->getElementType() != whole.getElementType() ||
      values->getNumElements() != end - begin || end > whole.getNumElements() ||
      !into.ranges.try_emplace(begin, end).second)
    return createFileMessage(
        path, "damaged: '" + key + "' (" + values->describe() +
                  ") is no part of a tensor " +
                  describeTensorType(whole.getElementType(), whole.getShape()));
  const size_t size = getElementSize(whole.getElementType());
  std::copy_n(static_cast<const char *>(values->getData()), values->getByteSize(),
              static_cast<char *>(whole.getData()) + begin * size);
  return llvm::Error::success();
}

llvm::Error mpt::detail::readShards(const SafetensorsFile &file, llvm::StringRef path,
                                    llvm::function_ref<bool(llvm::StringRef)> isWanted,
                                    std::map<std::string, HostTensor> &tensors) {
  const Metadata &metadata = file.getMetadata();
  auto number = metadata.find(kShards.str());
  if (number == metadata.end())
    return llvm::Error::success();
  auto damaged = [&](const llvm::Twine &what) {
    return createFileMessage(path,
                             "damaged: " + what + "; take another copy of the file");
  };
  int64_t count = 0;
  if (llvm::StringRef(number->second).getAsInteger(10, count) || count < 1)
    return damaged("expected a number of shards, found '" + number->second + "'");
  auto target = resolveLinks(path);
  if (!target)
    return target.takeError();

  std::map<std::string, Partial> partials;
  for (const auto &[key, value] : metadata) {
    llvm::StringRef name = key;
    if (!name.consume_front(kShape) || !isWanted(name))
      continue;
    Partial &partial = partials[name.str()];
    llvm::SmallVector<llvm::StringRef> sizes;
    llvm::StringRef(value).split(sizes, 'x', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef text : sizes)
      if (text.getAsInteger(10, partial.shape.emplace_back()))
        return damaged("expected sizes for '" + name + "', found '" + value + "'");
  }
  for (int64_t rank = 0; rank < count; ++rank) {
    const std::string key = (kShard + llvm::Twine(rank)).str();
    auto name = metadata.find(key), checksum = metadata.find(key + ".xxh3");
    if (name == metadata.end() || checksum == metadata.end())
      return damaged("expected the name and the checksum of shard " + llvm::Twine(rank));
    const std::string shardPath = getBeside(*target, name->second);
    auto shard = SafetensorsFile::open(shardPath);
    if (!shard)
      return createFileMessage(
          path, "needs the file of " + llvm::Twine(count) +
                    " that it names: " + llvm::toString(shard.takeError()));
    if (llvm::Error error = checkHeader(*shard, shardPath))
      return error;
    if (shard->getMetadata().at(kChecksum.str()) != checksum->second)
      return createFileMessage(shardPath, "expected the file that " + path +
                                              " was written with, found another; copy a "
                                              "checkpoint together with its shards");
    for (const auto &entry : shard->getEntries()) {
      llvm::StringRef tensor;
      int64_t begin = 0, end = 0;
      if (!parseKey(entry.first, tensor, begin, end))
        return createFileMessage(shardPath, "damaged: expected a tensor and a range, as "
                                            "in w[0:4096], found '" +
                                                entry.first + "'");
      auto partial = partials.find(tensor.str());
      if (partial == partials.end()) {
        if (!isWanted(tensor))
          continue;
        return damaged("expected the sizes of '" + tensor + "'");
      }
      if (llvm::Error error =
              addPiece(*shard, shardPath, entry.first, begin, end, partial->second))
        return error;
    }
  }
  for (auto &[name, partial] : partials) {
    int64_t covered = 0;
    for (auto [begin, end] : partial.ranges)
      covered = begin == covered ? end : covered;
    if (!partial.whole || covered != partial.whole->getNumElements())
      return damaged("the shards hold '" + llvm::Twine(name) + "' up to element " +
                     llvm::Twine(covered) + " alone");
    tensors[name] = std::move(*partial.whole);
  }
  return llvm::Error::success();
}
