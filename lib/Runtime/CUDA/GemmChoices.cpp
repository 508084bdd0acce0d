//===- GemmChoices.cpp - Which proposals of libraries run -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmChoices.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace mpt::rt::cuda;

static constexpr const char *kTitle = "MPT's choices among algorithms of cuBLASLt, 1\n";

/// Larger files are none of these.
static constexpr size_t kMostBytes = 16 << 20;

/// Writers of a file at one time, and those that ended before they were done.
static constexpr int kMostWriters = 100;

int mpt::rt::cuda::chooseProposal(const std::vector<double> &microseconds) {
  int chosen = -1;
  for (int i = 0; i < static_cast<int>(microseconds.size()); ++i)
    if (microseconds[i] >= 0 &&
        (chosen < 0 || microseconds[i] < 0.97 * microseconds[chosen]))
      chosen = i;
  return chosen < 0 ? 0 : chosen;
}

int64_t mpt::rt::cuda::toNanoseconds(double microseconds) {
  return static_cast<int64_t>(1000 * std::max(microseconds, 0.0) + 0.5);
}

std::string mpt::rt::cuda::printGemmChoices(const GemmChoices &choices) {
  std::string text = kTitle;
  for (const auto &[plan, choice] : choices) {
    for (int64_t number :
         {static_cast<int64_t>(choice.proposal), static_cast<int64_t>(choice.proposals),
          choice.nanoseconds, choice.firstNanoseconds})
      text += std::to_string(number) + " ";
    text += plan + "\n";
  }
  return text;
}

bool mpt::rt::cuda::parseGemmChoices(const std::string &text, GemmChoices &choices) {
  choices.clear();
  size_t at = std::strlen(kTitle);
  if (text.compare(0, at, kTitle) != 0)
    return false;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    GemmChoice choice;
    int length = 0;
    const std::string line = text.substr(at, end - at);
    if (end == std::string::npos ||
        std::sscanf(line.c_str(), "%d %d %" SCNd64 " %" SCNd64 " %n", &choice.proposal,
                    &choice.proposals, &choice.nanoseconds, &choice.firstNanoseconds,
                    &length) != 4 ||
        length == 0 || static_cast<size_t>(length) >= line.size() ||
        choice.proposal < kWithoutChoice || choice.proposal >= choice.proposals ||
        choice.proposals < 0) {
      choices.clear();
      return false;
    }
    choices[line.substr(length)] = choice;
    at = end + 1;
  }
  return true;
}

bool mpt::rt::cuda::readGemmChoices(const std::string &path, GemmChoices &choices,
                                    std::string &error) {
  choices.clear();
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR)
      return true;
    error = std::strerror(errno);
    return false;
  }
  std::string text;
  char piece[4096];
  while (size_t count = std::fread(piece, 1, sizeof(piece), file)) {
    text.append(piece, count);
    if (text.size() > kMostBytes)
      break;
  }
  const bool isRead = std::ferror(file) == 0;
  std::fclose(file);
  if (isRead && text.size() <= kMostBytes && parseGemmChoices(text, choices))
    return true;
  error = "it is damaged, or of another version";
  return false;
}

bool mpt::rt::cuda::writeGemmChoices(const std::string &path, const GemmChoices &choices,
                                     std::string &error) {
  const std::string text = printGemmChoices(choices);
  // Others may write at the same time, of this process or of another machine.
  std::string draft;
  std::FILE *file = nullptr;
  for (int number = 0; !file && number < kMostWriters; ++number) {
    draft = path + "." + std::to_string(number) + ".tmp";
    file = std::fopen(draft.c_str(), "wbx");
    if (!file && errno != EEXIST)
      break;
  }
  bool isWritten = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file)
    isWritten &= std::fclose(file) == 0;
  isWritten = isWritten && std::rename(draft.c_str(), path.c_str()) == 0;
  if (isWritten)
    return true;
  error = std::strerror(errno);
  if (file)
    std::remove(draft.c_str());
  return false;
}
