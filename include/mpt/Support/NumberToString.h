//===- NumberToString.h - Numbers in messages -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Diagnostics print a double as 9.000000e-01 where the user wrote 0.9.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_NUMBERTOSTRING_H
#define MPT_SUPPORT_NUMBERTOSTRING_H

#include <charconv>
#include <string>

namespace mpt {

/// The shortest decimal form that reads back as `number`.
inline std::string numberToString(double number) {
  char text[32]; // The longest is 24: "-2.2250738585072014e-308".
  std::to_chars_result end = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, end.ptr);
}

} // namespace mpt

#endif // MPT_SUPPORT_NUMBERTOSTRING_H
