//===- Reduce.h - Sums, extremes and products -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_REFERENCE_REDUCE_H
#define MPT_LIB_REFERENCE_REDUCE_H

#include "Evaluator.h"

namespace mpt::reference {

/// `size` elements; element i of `x` goes into element `targets[i]`, `count`
/// into each.
Tensor reduceTo(const Tensor &x, llvm::ArrayRef<int64_t> targets, int64_t size,
                int64_t count, ReduceKind kind);

/// log(sum e^x) of a row with elements.
double logSumExp(llvm::ArrayRef<double> row);

} // namespace mpt::reference

#endif // MPT_LIB_REFERENCE_REDUCE_H
