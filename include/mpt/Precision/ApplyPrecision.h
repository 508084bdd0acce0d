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

#ifndef MPT_PRECISION_APPLYPRECISION_H
#define MPT_PRECISION_APPLYPRECISION_H

#include "mpt/Precision/PrecisionPlan.h"

namespace mpt {

/// What was put in.
struct AppliedPrecision {
  /// New casts to the low type and back.
  uint64_t castsDown = 0, castsUp = 0;
  /// Constants converted at compile time.
  uint64_t constants = 0;
};

struct ApplyPrecisionOptions {
  /// Low ops compute in f32 between casts that round each operand and result as
  /// the low type would: the plan's numerics where there is no such arithmetic
  /// (TensorFlow's auto_mixed_precision_cpu). Lists hold f32; ops with regions
  /// are low.
  bool emulate = false;
};

/// Sets element types and inserts one shared cast per value and direction,
/// after the value's definition; converts constants at compile time. Ops that are
/// called otherwise in low precision are replaced, so that the plan's graph is of no
/// use afterwards. Casts that autocast made before and nobody needs now go away;
/// others are not touched. Fails, with an error and before any change, if a cast is
/// needed whose spelling no rule table has.
llvm::FailureOr<AppliedPrecision> applyPrecision(const PrecisionPlan &plan,
                                                 const PrecisionPolicy &policy,
                                                 ApplyPrecisionOptions options = {});

} // namespace mpt

#endif // MPT_PRECISION_APPLYPRECISION_H
