//===- PrecisionRemarks.h - Why each op has its precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reasons of a plan as remarks and diagnostics, with what would change if an
/// op that is denied were allowed.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PRECISIONREMARKS_H
#define MPT_PRECISION_PRECISIONREMARKS_H

#include "mpt/Precision/PrecisionPlan.h"
#include "llvm/Support/Regex.h"

namespace mpt {

/// How a plan was made, so that it can be made once more, with a difference.
struct PrecisionPlanner {
  mlir::Operation *root;
  PrecisionPolicy *policy;
  PrecisionGraph::Options graphOptions;
  PrecisionPlanOptions planOptions;
  /// Fits what `planOptions` says of single vertices to another graph.
  std::function<void(const PrecisionGraph &, PrecisionPlanOptions &)> adapt;
};

/// Denied vertices, and how many others each keeps in f32; most first, of equal
/// ones those that come first in the program; at most `limit`.
llvm::SmallVector<std::pair<uint32_t, uint64_t>> findBlockers(const PrecisionPlan &plan,
                                                              size_t limit = 10);

/// The vertex at the end of the chain of reasons that starts at `vertex`: the
/// denied op if it comes after one, else `vertex` itself.
uint32_t findDecider(const PrecisionPlan &plan, uint32_t vertex);

/// What allowing one denied op would change. Each answer is exact: everything is
/// planned once more with the attribute `mpt.precision = "low"` on the op, which is
/// taken off again. So the module must not be in use by another thread.
class Counterfactuals {
public:
  struct Change {
    /// After less before; the op itself is among those that run low.
    int64_t casts, bytes, lowOps;
  };
  /// Answers are for the vertices in `denied` alone.
  Counterfactuals(const PrecisionPlan &plan, const PrecisionPlanner &planner,
                  llvm::ArrayRef<uint32_t> denied);
  /// Works out the answer when it is asked for first; nullopt for a vertex that is
  /// none of those.
  std::optional<Change> get(uint32_t vertex);
  /// In words: "allowing it removes 3 casts, 12.00 MB"; "" without an answer.
  std::string describe(uint32_t vertex);

private:
  const PrecisionPlan &plan;
  PrecisionPlanner planner;
  std::optional<PrecisionPlan::Casts> before;
  llvm::MapVector<uint32_t, std::optional<Change>> answers;
};

/// Emits the remarks of the catalogue through the context's remark engine: each
/// vertex's decision, each cast, each unlisted name; in the order of the program.
/// Does nothing if there is no engine, and little if nobody listens to them.
void emitPrecisionRemarks(const PrecisionPlan &plan, const PrecisionPlanner &planner);

/// Emits a diagnostic (a remark) at the op of each vertex whose op name, location
/// (file, name) or function matches `pattern`: what it is and why, with a note for
/// each step of the chain to the op that decided it, and one for what allowing
/// that op would change (for the first ten such ops). Returns how many matched.
unsigned explainPrecision(const PrecisionPlan &plan, const PrecisionPlanner &planner,
                          const llvm::Regex &pattern);

/// One line for each vertex in the order of the program: number, op, low or f32,
/// reason, number of the vertex that made it so, class and its source, location;
/// then one for each cast. For tests and for reading.
void printPrecisionPlan(const PrecisionPlan &plan, mlir::Operation *root,
                        llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONREMARKS_H
