//===- ApplyPrecision.h - Types and casts as a plan says -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rewriting half of autocast.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TRANSFORMS_APPLYPRECISION_H
#define MPT_TRANSFORMS_APPLYPRECISION_H

#include "mpt/Analysis/PrecisionPlan.h"

namespace mpt {

/// What was put in.
struct AppliedPrecision {
  /// New casts to the low type and back.
  uint64_t castsDown = 0, castsUp = 0;
  /// Bytes that all casts of MPT's in the module read and write when they run.
  uint64_t castBytes = 0;
  /// Constants converted at compile time.
  uint64_t constants = 0;
};

/// Sets element types and inserts one shared cast per value and direction,
/// behind the value's definition; converts constants at compile time. Casts that autocast made before and nobody needs now go
/// away; others are not touched. Fails, with an error and before any change, if
/// a cast is needed whose spelling no rule table has.
llvm::FailureOr<AppliedPrecision> applyPrecision(const PrecisionPlan &plan,
                                                 const PrecisionPolicy &policy);

} // namespace mpt

#endif // MPT_TRANSFORMS_APPLYPRECISION_H
