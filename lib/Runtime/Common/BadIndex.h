//===- BadIndex.h - An index outside its table ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_COMMON_BADINDEX_H
#define MPT_LIB_RUNTIME_COMMON_BADINDEX_H

#include <cstdint>
#include <string>

namespace mpt::rt {

struct BadIndex {
  int64_t index = 0;
  /// Among the indices, in row-major order.
  int64_t position = 0;

  /// `size`: that of the table.
  std::string describe(int64_t size) const {
    return "index " + std::to_string(index) + " at position " + std::to_string(position) +
           " is outside [0, " + std::to_string(size) + ")";
  }
};

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_COMMON_BADINDEX_H
