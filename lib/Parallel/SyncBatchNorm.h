//===- SyncBatchNorm.h - Batch norm over all ranks --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PARALLEL_SYNCBATCHNORM_H
#define MPT_LIB_PARALLEL_SYNCBATCHNORM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpt::detail {

/// Makes each `mpt.batch_norm` of `function`, and its gradient, one over the rows of all
/// `ranks` ranks along `axis`, which have as many each: as if one process had them all.
///
/// Forward, ranks exchange the mean m and variance v of their own rows, and the variance
/// of all is the mean of v plus the variance of m (Chan, Golub and LeVeque 1983,
/// "Algorithms for Computing the Sample Variance"), which does not cancel. Backward, they
/// exchange the sums of the gradient and of the gradient times the normalized rows. All
/// of that is f32 (f64 for f64), under autocast, too.
///
/// The running statistics are updated once, and are equal on all ranks. Fails after an
/// error if there is no batch norm, or one is in a loop.
mlir::LogicalResult synchronizeBatchNorms(mlir::func::FuncOp function,
                                          mlir::StringAttr axis, int64_t ranks);

} // namespace mpt::detail

#endif // MPT_LIB_PARALLEL_SYNCBATCHNORM_H
