//===- MemoryBudget.cpp - How much memory a step may take -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/MemoryBudget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpt;

std::optional<RematBudget> mpt::parseRematBudget(llvm::StringRef text) {
  text = text.trim();
  if (text == "min")
    return RematBudget{RematBudget::Min};
  double number = 0;
  llvm::StringRef digits =
      text.take_while([](char c) { return llvm::isDigit(c) || c == '.' || c == 'e'; });
  llvm::StringRef unit = text.drop_front(digits.size()).trim();
  if (digits.empty() || digits.getAsDouble(number) || !(number > 0) || !(number < 9e18))
    return std::nullopt;
  if (unit == "x")
    return RematBudget{RematBudget::Ratio, 0, number};
  if (unit == "%")
    return RematBudget{RematBudget::Ratio, 0, number / 100};
  std::optional<double> factor = llvm::StringSwitch<std::optional<double>>(unit)
                                     .Cases({"", "B"}, 1.0)
                                     .Cases({"kB", "KB"}, 1e3)
                                     .Case("MB", 1e6)
                                     .Case("GB", 1e9)
                                     .Case("KiB", 0x1p10)
                                     .Case("MiB", 0x1p20)
                                     .Case("GiB", 0x1p30)
                                     .Default(std::nullopt);
  // Less than a byte is a ratio without its x.
  if (!factor || number * *factor >= 9e18 || number * *factor < 1)
    return std::nullopt;
  return RematBudget{RematBudget::Bytes, int64_t(number * *factor)};
}
