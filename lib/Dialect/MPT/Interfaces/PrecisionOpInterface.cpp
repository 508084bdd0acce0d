//===- PrecisionOpInterface.cpp - How autocast may treat an op -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"

#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.cpp.inc"

llvm::StringRef mpt::stringifyPrecisionClass(PrecisionClass precisionClass) {
  switch (precisionClass) {
  case PrecisionClass::Allow:
    return "allow";
  case PrecisionClass::Deny:
    return "deny";
  case PrecisionClass::Infer:
    return "infer";
  case PrecisionClass::Clear:
    return "clear";
  case PrecisionClass::Stable:
    return "stable";
  case PrecisionClass::Fixed:
    return "fixed";
  }
  return "unknown";
}

std::optional<mpt::PrecisionClass> mpt::symbolizePrecisionClass(llvm::StringRef text) {
  for (PrecisionClass each :
       {PrecisionClass::Allow, PrecisionClass::Deny, PrecisionClass::Infer,
        PrecisionClass::Clear, PrecisionClass::Stable, PrecisionClass::Fixed})
    if (text == stringifyPrecisionClass(each))
      return each;
  return std::nullopt;
}
