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
    if (tensor.getElementType() == ElementType::F32)
      std::copy_n(values, count, static_cast<float *>(tensor.getData()) + at);
    else
      for (int64_t i = 0; i < count; ++i)
        tensor.setElement(at + i, values[i]);
    at += count;
  }
  return llvm::Error::success();
}
