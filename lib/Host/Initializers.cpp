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

using namespace mpt;

llvm::Error mpt::initializeTensor(HostTensor &tensor, const InitSpec &spec, uint64_t seed,
                                  llvm::StringRef name) {
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
  double values[1024];
  for (int64_t at = 0, end = tensor.getNumElements(); at < end;) {
    int64_t count = std::min<int64_t>(end - at, std::size(values));
    rt::drawInitialValues(spec, key, seed, at, count, values);
    for (int64_t i = 0; i < count; ++i, ++at)
      tensor.setElement(at, values[i]);
  }
  return llvm::Error::success();
}
