//===- PrecisionReport.h - What a plan does, and why -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The figures of a plan and the reasons of single decisions, as text.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_ANALYSIS_PRECISIONREPORT_H
#define MPT_ANALYSIS_PRECISIONREPORT_H

#include "mpt/Analysis/PrecisionPlan.h"
#include "llvm/Support/Regex.h"

namespace mpt {

/// Counts of a plan. Bytes are those of tensors whose vertices take part.
struct PrecisionSummary {
  uint64_t lowOps = 0, f32Ops = 0;
  uint64_t lowContractions = 0, f32Contractions = 0;
  uint64_t lowBytes = 0, f32Bytes = 0;
  PrecisionPlan::Casts casts;
  /// f32 ops by reason, in the order of PrecisionReason.
  llvm::SmallVector<std::pair<PrecisionReason, uint64_t>> reasons;
  /// Denied ops by how many vertices they keep in f32, most first; at most ten.
  llvm::SmallVector<std::pair<mlir::Operation *, uint64_t>> blockers;
  /// Names that no rule knows, with counts.
  llvm::SmallVector<std::pair<llvm::StringRef, unsigned>> unlisted;
};
PrecisionSummary summarizePrecision(const PrecisionPlan &plan);
void printPrecisionSummary(const PrecisionSummary &summary, mlir::Type low,
                           llvm::raw_ostream &os);

/// Emits a remark at the op of each vertex whose op name or location (file,
/// name) matches `pattern`: what it is and why, with a note for each step of
/// the chain to the op that decided it. Returns how many matched.
unsigned explainPrecision(const PrecisionPlan &plan, const llvm::Regex &pattern);

} // namespace mpt

#endif // MPT_ANALYSIS_PRECISIONREPORT_H
