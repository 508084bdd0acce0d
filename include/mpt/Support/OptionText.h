//===- OptionText.h - Names in the options of passes -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_OPTIONTEXT_H
#define MPT_SUPPORT_OPTIONTEXT_H

#include "llvm/ADT/StringExtras.h"
#include <optional>
#include <string>

namespace mpt {

/// `value` as the text of a pass option, in single quotes if it needs any. nullopt if
/// MLIR cannot read it back: with a single quote, braces that do not match, or space
/// at an end.
inline std::optional<std::string> quoteOptionValue(llvm::StringRef value) {
  if (!value.empty() && llvm::all_of(value, [](char c) {
        return llvm::isAlnum(c) || llvm::StringRef("_.$-").contains(c);
      }))
    return value.str();
  int64_t depth = 0;
  for (char c : value) {
    depth += (c == '{') - (c == '}');
    if (depth < 0 || c == '\'')
      return std::nullopt;
  }
  if (depth != 0 || value.empty() || value != value.trim())
    return std::nullopt;
  return ("'" + value + "'").str();
}

} // namespace mpt

#endif // MPT_SUPPORT_OPTIONTEXT_H
