//===- MemoryBudget.h - How much memory a step may take ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_MEMORYBUDGET_H
#define MPT_SUPPORT_MEMORYBUDGET_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mpt {

/// How much memory a step may take.
struct RematBudget {
  enum Kind : uint8_t { Bytes, Ratio, Min } kind = Min;
  int64_t bytes = 0;
  double ratio = 1.0;
};

/// `4GiB`, `512MB`, `1000`, `0.5x`, `50%` or `min`; nullopt for other text.
std::optional<RematBudget> parseRematBudget(llvm::StringRef text);

} // namespace mpt

#endif // MPT_SUPPORT_MEMORYBUDGET_H
