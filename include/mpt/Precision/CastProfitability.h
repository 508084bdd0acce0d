//===- CastProfitability.h - What low precision gains on a target -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Casts cost time as well; a small contraction may lose more by them than it gains. Its
/// time is the longer of what its operations and its bytes take (the roofline model,
/// Williams et al., CACM 2009).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_CASTPROFITABILITY_H
#define MPT_PRECISION_CASTPROFITABILITY_H

#include "mpt/Precision/PrecisionPlan.h"
#include "mpt/Precision/TargetDescription.h"

namespace mpt {

/// The cost of a cast on `target`: starting a kernel costs what it would move in that
/// time.
CastCost getCastCost(const TargetDescription &target);

/// For each vertex: the time that an allowed contraction saves on `target` if it is low
/// instead of f32, as the bytes that could be moved in that time; 0 for other vertices.
/// Ops in a loop count as often as their casts do. A contraction of unknown size saves
/// more than any cast costs.
std::vector<uint64_t> getContractionGains(const PrecisionGraph &graph,
                                          const RuleTable &rules,
                                          const TargetDescription &target, mlir::Type low,
                                          const CastCost &cost);

} // namespace mpt

#endif // MPT_PRECISION_CASTPROFITABILITY_H
