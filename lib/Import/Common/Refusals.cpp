//===- Refusals.cpp - Ops that cannot be imported -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/Refusals.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::importer;

/// FILE:LINE, or what there is.
static std::string spellPlace(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine();
  else
    os << loc;
  return text;
}

LogicalResult Refusals::report(func::FuncOp function, StringRef pass,
                               StringRef remedy) const {
  if (refusals.empty())
    return success();
  constexpr size_t shownPlaces = 5;
  size_t count = 0;
  for (const auto &[key, places] : refusals)
    count += places.size();
  // JAX's functions have no place; the first op has.
  Location where = function.getLoc();
  if (isa<UnknownLoc>(where))
    if (auto file = refusals.front().second.front()->findInstanceOf<FileLineColLoc>())
      where = file;
  InFlightDiagnostic error = emitError(where);
  error << pass << ": " << count << (count == 1 ? " op" : " ops") << " of @"
        << function.getSymName() << (count == 1 ? " has" : " have")
        << " no counterpart in the mpt dialect:";
  for (const auto &[key, places] : refusals) {
    error << "\n  " << key.first << ", " << places.size()
          << (places.size() == 1 ? " time" : " times");
    if (!key.second.empty())
      error << ": " << key.second;
    SmallVector<std::string> spelled;
    for (Location place : places)
      if (std::string text = spellPlace(place); !llvm::is_contained(spelled, text))
        spelled.push_back(text);
    for (const std::string &place : llvm::ArrayRef(spelled).take_front(shownPlaces))
      error << "\n    at " << place;
    if (spelled.size() > shownPlaces)
      error << "\n    and " << spelled.size() - shownPlaces << " more places";
  }
  error << "\n  " << remedy;
  return failure();
}
