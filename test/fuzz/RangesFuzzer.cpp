//===- RangesFuzzer.cpp - Damaged range profiles -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutator.h"
#include "mpt/Precision/RangeProfile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace mpt;
using namespace mpt::fuzz;
namespace json = llvm::json;

static const llvm::StringRef words[] = {
    "mpt_ranges", "steps",     "skipped",  "types",          "edges",     "id",
    "result",     "op",        "function", "location",       "phase",     "parameter",
    "type",       "elements",  "amax",     "smallest",       "nan",       "inf",
    "zero",       "f16",       "bf16",     "f8E4M3FN",       "f8E5M2",    "f32",
    "underflow",  "subnormal", "overflow", "first_overflow", "first_nan", "first_inf",
    "histogram"};

/// A profile that was read prints as text that reads as the same profile.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MemoryFile file(data, size);
  llvm::Expected<RangeProfile> profile = readRangeProfile(file.getPath());
  if (!profile)
    return recordMessage(llvm::toString(profile.takeError())) ? 0 : -1;
  recordFeature(llvm::join(profile->formats, ",") +
                std::to_string(profile->edges.size()) + "/" +
                std::to_string(std::min<size_t>(profile->values.size(), 5)));
  for (const RecordedRange &value : profile->values)
    for (const std::string &format : profile->formats) {
      (void)isOutOfRange(*profile, value, *findFloatFormat(format), RangeLimits());
      (void)profile->getHistogram(value);
    }
  std::string text = printRangeProfile(*profile);
  MemoryFile copy(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  llvm::Expected<RangeProfile> again = readRangeProfile(copy.getPath());
  if (!again)
    reportFinding("cannot read what was printed: " + llvm::toString(again.takeError()),
                  text);
  if (std::string twice = printRangeProfile(*again); twice != text)
    reportFinding("what was printed reads as another profile", text + twice);
  checkPlantedBug(!profile->edges.empty() &&
                  llvm::any_of(profile->values, [](const RecordedRange &value) {
                    return value.firstNaN > 0;
                  }));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed + 1);
  if (draw(random, 5) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  llvm::StringRef text(reinterpret_cast<char *>(data), size);
  llvm::SmallVector<llvm::StringRef> split;
  text.split(split, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::string> lines(split.begin(), split.end());
  if (lines.empty())
    lines.emplace_back("{\"mpt_ranges\":1}");
  size_t line = draw(random, lines.size());
  switch (draw(random, 8)) {
  case 0:
    lines.insert(lines.begin() + line, lines[line]);
    break;
  case 1:
    lines.erase(lines.begin() + line);
    break;
  default:
    llvm::StringRef old = lines[line];
    if (old.count('[') + old.count('{') > 1000)
      break;
    llvm::Expected<json::Value> value = json::parse(old);
    if (!value) {
      llvm::consumeError(value.takeError());
      break;
    }
    for (size_t steps = 1 + draw(random, 2); steps > 0; --steps)
      mutateJson(*value, words, random);
    lines[line].clear();
    llvm::raw_string_ostream(lines[line]) << *value;
  }
  return replaceInput(llvm::join(lines, "\n") + "\n", data, size, maxSize);
}
