//===- DeferPlan.h - Gradients to compute when they are read ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What to keep of gradients until something that needs all of them is known: each
/// itself, or its factors. Numbers alone.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_DEFERPLAN_H
#define MPT_MEMORY_PLANNING_DEFERPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mpt {

struct DeferCandidate {
  /// Of the gradient, below 2^50.
  int64_t bytes = 0;
  /// Numbers of the factors that it is the product of.
  llvm::SmallVector<unsigned, 2> factors;
};

/// Numbers of the gradients to compute late, ascending, so that the fewest bytes are
/// kept: of those gradients the factors, each once, and `overhead` bytes for the work,
/// and of the others themselves. A minimum cut.
llvm::SmallVector<unsigned> planDeferred(llvm::ArrayRef<DeferCandidate> candidates,
                                         llvm::ArrayRef<int64_t> factorBytes,
                                         int64_t overhead);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_DEFERPLAN_H
