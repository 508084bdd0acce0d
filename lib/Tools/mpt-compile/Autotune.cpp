//===- Autotune.cpp - Algorithms of matmuls, kept in a file -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file is JSON: {"mpt-gemm-algorithms": 1, "products": {KEY: {"algo":
/// [eight words, hexadecimal], "microseconds", "first_microseconds",
/// "candidates", "chosen"}}}. A key names the version of cuBLASLt, the device
/// and the plan: shape, types, epilogue. Entries are sorted by key, so that
/// equal contents are equal files.
///
//===----------------------------------------------------------------------===//

#include "Autotune.h"
#include "../../Runtime/CUDA/GemmTuning.h"
#include "mpt/Support/FileIO.h"
#include "mpt/Support/ParseJSON.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mpt;

namespace {

/// cuBLASLt is asked for this many algorithms of each matmul, as XLA does.
constexpr int kCandidates = 128;

struct Entry {
  std::array<uint64_t, 8> algo = {};
  double microseconds = 0, firstMicroseconds = 0;
  int64_t candidates = 0, chosen = 0;
};
using Entries = std::map<std::string, Entry>;

llvm::Error damaged(const std::string &path, const llvm::Twine &what) {
  return createFileMessage(path, "not a file of --autotune: " + what +
                                     "; remove it to measure again");
}

llvm::Expected<Entries> readFile(const std::string &path) {
  Entries entries;
  if (!llvm::sys::fs::exists(path))
    return entries;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return createFileMessage(path, "cannot read: " + buffer.getError().message());
  auto value = parseJSON((*buffer)->getBuffer());
  if (!value)
    return damaged(path, llvm::toString(value.takeError()));
  const llvm::json::Object *file = value->getAsObject();
  if (!file || file->getInteger("mpt-gemm-algorithms") != 1)
    return damaged(path, "no \"mpt-gemm-algorithms\": 1");
  const llvm::json::Object *products = file->getObject("products");
  if (!products)
    return damaged(path, "no \"products\"");
  for (const auto &[key, value] : *products) {
    const llvm::json::Object *object = value.getAsObject();
    const llvm::json::Array *words = object ? object->getArray("algo") : nullptr;
    if (!words || words->size() != 8)
      return damaged(path, "'" + key.str() + "' has no algorithm of eight words");
    Entry entry;
    for (size_t i = 0; i < 8; ++i) {
      auto text = (*words)[i].getAsString();
      if (!text || text->getAsInteger(16, entry.algo[i]))
        return damaged(path,
                       "'" + key.str() + "' has a word that is not a hexadecimal number");
    }
    entry.microseconds = object->getNumber("microseconds").value_or(0);
    entry.firstMicroseconds = object->getNumber("first_microseconds").value_or(0);
    entry.candidates = object->getInteger("candidates").value_or(0);
    entry.chosen = object->getInteger("chosen").value_or(0);
    entries[key.str()] = entry;
  }
  return entries;
}

llvm::Error writeFile(const std::string &path, const Entries &entries) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("mpt-gemm-algorithms", 1);
    json.attributeObject("products", [&] {
      for (const auto &[key, entry] : entries)
        json.attributeObject(key, [&, &entry = entry] {
          json.attributeArray("algo", [&] {
            for (uint64_t word : entry.algo)
              json.value(llvm::utohexstr(word, /*LowerCase=*/true));
          });
          json.attribute("microseconds", entry.microseconds);
          json.attribute("first_microseconds", entry.firstMicroseconds);
          json.attribute("candidates", entry.candidates);
          json.attribute("chosen", entry.chosen);
        });
    });
  });
  os << "\n";
  return writeFileAtomically(path, text);
}

/// Measures what `entries` lacks. True if it measured anything.
llvm::Expected<bool> measure(llvm::ArrayRef<rt::GemmPlan> plans, Entries &entries,
                             const CompileOptions &options, std::string &noGPU) {
  rt::cuda::GemmTuner tuner;
  if (!tuner.open(options.cudart, options.cublasLt, noGPU))
    return false;
  bool hasNew = false;
  for (const rt::GemmPlan &plan : plans) {
    std::string error;
    rt::cuda::TunedGemm tuned;
    if (entries.count(tuner.keyOf(plan)) ||
        !rt::checkGemmPlan(plan, tuner.getArchitecture(), error))
      continue;
    // An epilogue that the library refuses falls back at run time.
    if (!tuner.tune(plan, kCandidates, tuned, error)) {
      if (plan.epilogue != rt::GemmEpilogue::Default)
        continue;
      return llvm::createStringError("--autotune: " + error);
    }
    Entry &entry = entries[tuned.key];
    std::copy(std::begin(tuned.algo.data), std::end(tuned.algo.data), entry.algo.begin());
    entry.microseconds = tuned.microseconds;
    entry.firstMicroseconds = tuned.firstMicroseconds;
    entry.candidates = tuned.candidates;
    entry.chosen = tuned.chosen;
    hasNew = true;
  }
  return hasNew;
}

} // namespace

llvm::Expected<std::vector<TunedMatmul>> mpt::autotune(llvm::ArrayRef<rt::GemmPlan> plans,
                                                       const CompileOptions &options) {
  auto entries = readFile(options.autotune);
  if (!entries)
    return entries.takeError();
  std::string noGPU;
  auto hasNew = measure(plans, *entries, options, noGPU);
  if (!hasNew)
    return hasNew.takeError();
  if (!noGPU.empty() && entries->empty())
    return llvm::createStringError("--autotune: " + noGPU + ", and " + options.autotune +
                                   " holds no algorithms");
  if (*hasNew)
    if (llvm::Error error = writeFile(options.autotune, *entries))
      return std::move(error);
  std::vector<TunedMatmul> found;
  for (const auto &[key, entry] : *entries)
    for (const rt::GemmPlan &plan : plans)
      if (llvm::StringRef(key).ends_with("; " + rt::describeGemmPlan(plan))) {
        TunedMatmul &matmul = found.emplace_back();
        matmul.key = key;
        std::copy(entry.algo.begin(), entry.algo.end(), matmul.algo.begin());
      }
  return found;
}
