//===- CastProfitability.h - What a target gains by low-precision products -*- C++
//-*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Casts cost time as well; a small product may lose more by them than it gains. The
/// time of a product is the longer of what its operations and its bytes take (the
/// roofline model, Williams et al., CACM 2009).
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

/// What each allowed product that is low instead of f32 saves on `target`, as the bytes
/// that could be moved in that time; 0 for other vertices. What is in a loop counts as
/// often as its casts do. A product of unknown size saves more than any cast costs.
std::vector<uint64_t> getProductGains(const PrecisionGraph &graph, const RuleTable &rules,
                                      const TargetDescription &target, mlir::Type low,
                                      const CastCost &cost);

} // namespace mpt

#endif // MPT_PRECISION_CASTPROFITABILITY_H
