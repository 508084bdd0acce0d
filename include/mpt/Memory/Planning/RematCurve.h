//===- RematCurve.h - Overhead against memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What rematerialization offers for a function at each of a sweep of budgets, as a
/// table and as a picture. Pure.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_REMATCURVE_H
#define MPT_MEMORY_PLANNING_REMATCURVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace mpt {

struct RematCurve {
  /// One way to run the function.
  struct Plan {
    int64_t bytes, cost;
  };
  /// What there is for one budget.
  struct Point {
    double ratio;
    int64_t budget;
    /// The cheapest plan within the budget, if one was found.
    std::optional<Plan> plan;
    /// No plan costs less (in this order of ops); nullopt: proved that there is none.
    std::optional<int64_t> bound;
  };

  /// The share of the plain bytes of each budget, from the whole down.
  static std::vector<double> getRatios();
  /// Chooses from `plans` for each point. More bytes never cost more.
  void choose();

  std::string function;
  /// "arena" or "alive": what the bytes are.
  std::string measure;
  /// Without rematerialization.
  int64_t plainBytes = 0, plainCost = 0;
  /// All plans that were measured.
  std::vector<Plan> plans;
  std::vector<Point> points;
};

/// A line for each budget, under a line of names.
void printRematCSV(llvm::ArrayRef<RematCurve> curves, llvm::raw_ostream &os);
/// One page without scripts or anything from elsewhere.
void printRematPage(llvm::ArrayRef<RematCurve> curves, llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_REMATCURVE_H
