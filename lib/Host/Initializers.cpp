//===- Initializers.cpp - Seeded first values of state ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Initializers.h"
#include "mpt/ProgramABI/InitialValues.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace mpt;

/// Elements that a thread takes at a time.
static constexpr int64_t kTaken = 1 << 16;

/// Draws elements [at, end).
static void draw(HostTensor &tensor, const InitSpec &spec, uint64_t key, uint64_t seed,
                 int64_t at, int64_t end) {
  double values[1024];
  while (at < end) {
    int64_t count = std::min<int64_t>(end - at, std::size(values));
    rt::drawInitialValues(spec, key, seed, at, count, values);
    if (tensor.getElementType() == ElementType::F32)
      std::copy_n(values, count, static_cast<float *>(tensor.getData()) + at);
    else
      for (int64_t i = 0; i < count; ++i)
        tensor.setElement(at + i, values[i]);
    at += count;
  }
}

llvm::Error mpt::initializeTensor(HostTensor &tensor, const InitSpec &spec, uint64_t seed,
                                  llvm::StringRef name, int64_t threads) {
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError(
        "initializer " + llvm::Twine(llvm::StringRef(getNames(spec.kind).name)) +
        ": expected " + message);
  };
  if (const char *requirement = getRequirement(spec))
    return fail(requirement);
  if (spec.isRandom() && !isFloatType(tensor.getElementType()))
    return fail("a float tensor, found " + tensor.describe());
  const uint64_t key = llvm::xxh3_64bits(name);
  const int64_t count = tensor.getNumElements();
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t at; (at = next.fetch_add(kTaken)) < count;)
      draw(tensor, spec, key, seed, at, std::min(at + kTaken, count));
  };
  std::vector<std::thread> others;
  // Constants are no work.
  if (spec.isRandom())
    for (int64_t i = 1, e = std::min(threads, (count + kTaken - 1) / kTaken); i < e; ++i)
      others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  return llvm::Error::success();
}
