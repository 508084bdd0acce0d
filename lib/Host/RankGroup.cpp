//===- RankGroup.cpp - The processes that train together --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/RankGroup.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdlib>

using namespace mpt;

RankGroup::~RankGroup() = default;

std::string RankGroup::describe(int64_t rank) const {
  return "rank " + std::to_string(rank) + " (on " + getHost(rank) + ")";
}

int64_t RankGroup::countNeighbors() const {
  int64_t count = 0;
  for (int64_t rank = 0; rank < getNumRanks(); ++rank)
    count += getHost(rank) == getHost(getRank());
  return count;
}

int64_t RankGroup::findLocalRank() const {
  int64_t number = 0;
  const char *local = std::getenv("LOCAL_RANK");
  if (local && !llvm::StringRef(local).getAsInteger(10, number) && number >= 0)
    return number;
  number = 0;
  for (int64_t rank = 0; rank < getRank(); ++rank)
    number += getHost(rank) == getHost(getRank());
  return number;
}

llvm::Error RankGroup::agree(llvm::Error own) {
  auto messages = gather(llvm::toString(std::move(own)));
  if (!messages)
    return messages.takeError();
  std::string all;
  for (auto [rank, message] : llvm::enumerate(*messages)) {
    // What every rank says is said once.
    if (message.empty() || (rank > 0 && message == messages->front()))
      continue;
    if (!all.empty())
      all += "; ";
    all += rank == 0 ? message : describe(rank) + ": " + message;
  }
  return all.empty() ? llvm::Error::success() : llvm::createStringError(all);
}

llvm::Error RankGroup::checkSame(llvm::StringRef what, llvm::StringRef text) {
  auto texts = gather(text);
  if (!texts)
    return texts.takeError();
  for (auto [rank, other] : llvm::enumerate(*texts)) {
    if (other == texts->front())
      continue;
    llvm::SmallVector<llvm::StringRef> expected, found;
    llvm::StringRef(texts->front()).split(expected, '\n');
    llvm::StringRef(other).split(found, '\n');
    size_t line = 0;
    while (line < expected.size() && line < found.size() && expected[line] == found[line])
      ++line;
    auto quote = [&](llvm::ArrayRef<llvm::StringRef> lines) {
      return line < lines.size() ? "'" + lines[line].str() + "'" : "nothing";
    };
    return llvm::createStringError("all ranks need the same " + what + ": expected " +
                                   quote(expected) + " as on " + describe(0) +
                                   ", found " + quote(found) + " on " + describe(rank));
  }
  return llvm::Error::success();
}

bool RankGroup::isAnywhere(bool own) {
  std::vector<uint64_t> all(static_cast<size_t>(getNumRanks()));
  if (llvm::Error error = gatherNumber(own, all.data())) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return llvm::is_contained(all, 1U);
}

std::optional<LaunchedRank> mpt::findLaunchedRank() {
  constexpr const char *names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                      {"PMI_RANK", "PMI_SIZE"},
                                      {"RANK", "WORLD_SIZE"}};
  for (auto [rankName, countName] : names) {
    const char *rank = std::getenv(rankName), *count = std::getenv(countName);
    LaunchedRank found;
    if (rank && count && !llvm::StringRef(rank).getAsInteger(10, found.rank) &&
        !llvm::StringRef(count).getAsInteger(10, found.count) && found.count > 1)
      return found;
  }
  return std::nullopt;
}
