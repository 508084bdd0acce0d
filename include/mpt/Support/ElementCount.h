//===- ElementCount.h - How many elements a tensor has --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_ELEMENTCOUNT_H
#define MPT_SUPPORT_ELEMENTCOUNT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace mpt {

/// The elements of a tensor of static shape; nullopt if a size is dynamic, or if there
/// are more than 2^50, which no process can address. MLIR's types can have more, and
/// getNumElements() wraps around; counts from here can be multiplied with the bytes of
/// an element and added up.
inline std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape) {
  constexpr int64_t most = int64_t(1) << 50;
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(count, size, count) || count > most)
      return std::nullopt;
  return count;
}

/// The bytes of a packed tensor whose elements have `bits` bits, each in whole bytes;
/// nullopt as for countElements, or if there are more than 2^53. Several hundred such
/// sizes can be added up.
inline std::optional<int64_t> countBytes(llvm::ArrayRef<int64_t> shape, int64_t bits) {
  std::optional<int64_t> bytes = countElements(shape);
  if (!bytes || llvm::MulOverflow(*bytes, (bits + 7) / 8, *bytes) ||
      *bytes > int64_t(1) << 53)
    return std::nullopt;
  return bytes;
}

} // namespace mpt

#endif // MPT_SUPPORT_ELEMENTCOUNT_H
