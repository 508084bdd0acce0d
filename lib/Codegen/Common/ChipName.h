//===- ChipName.h - Architectures of NVIDIA's chips -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_CHIPNAME_H
#define MPT_LIB_CODEGEN_COMMON_CHIPNAME_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mpt {

/// 90 of "sm_90" or "sm_90a"; nullopt of what is not such a name.
inline std::optional<int64_t> parseChipName(llvm::StringRef chip) {
  int64_t architecture = 0;
  if (!chip.consume_front("sm_") || chip.consumeInteger(10, architecture))
    return std::nullopt;
  return architecture;
}

} // namespace mpt

#endif // MPT_LIB_CODEGEN_COMMON_CHIPNAME_H
