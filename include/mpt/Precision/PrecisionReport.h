//===- PrecisionReport.h - Summary of a precision plan ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The figures of a plan, as text.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_PRECISIONREPORT_H
#define MPT_PRECISION_PRECISIONREPORT_H

#include "mpt/Precision/PrecisionRemarks.h"

namespace mpt {

/// Counts of a plan. Bytes are those of tensors whose vertices take part.
struct PrecisionSummary {
  uint64_t lowOps = 0, f32Ops = 0;
  uint64_t lowContractions = 0, f32Contractions = 0;
  /// Of contractions (OpFlops.h). `estimatedOps` are ops without a formula in a table.
  uint64_t lowFlops = 0, f32Flops = 0, estimatedOps = 0;
  uint64_t lowBytes = 0, f32Bytes = 0;
  PrecisionPlan::Casts casts;
  /// The fewest bytes of casts of any assignment that mincut's rules permit, proved by
  /// a maximum flow over the bytes alone.
  std::optional<uint64_t> leastBytes;
  /// What the casts cost with all that mincut counts (CastCost), and the least, proved
  /// by the flow of the plan itself if that is one by mincut.
  uint64_t cost = 0;
  /// The plan is one by mincut. Paint makes low what mincut's rules do not permit
  /// (infer ops that no contraction follows), so that it may need fewer casts.
  bool ofMinCut = false;
  std::optional<uint64_t> leastCost;
  /// f32 ops by reason, in the order of PrecisionReason.
  llvm::SmallVector<std::pair<PrecisionReason, uint64_t>> reasons;
  /// Denied ops by how many vertices they keep in f32, most first; at most ten.
  llvm::SmallVector<std::pair<mlir::Operation *, uint64_t>> blockers;
  /// Names that no rule knows, with counts.
  llvm::SmallVector<std::pair<llvm::StringRef, unsigned>> unlisted;
};
/// Plans once or twice more for the minima.
PrecisionSummary summarizePrecision(const PrecisionPlan &plan,
                                    const PrecisionPlanner &planner);
void printPrecisionSummary(const PrecisionSummary &summary, mlir::Type low,
                           llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_PRECISION_PRECISIONREPORT_H
