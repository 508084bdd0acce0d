//===- ParseJSON.h - JSON of files ----------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_PARSEJSON_H
#define MPT_SUPPORT_PARSEJSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mpt {

/// As llvm::json::parse, which calls itself for each level of nesting and overflows the
/// stack on a hostile text. More than 16 levels are an error.
inline llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 16)
        return llvm::createStringError("nested too deeply");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return llvm::json::parse(text);
}

} // namespace mpt

#endif // MPT_SUPPORT_PARSEJSON_H
