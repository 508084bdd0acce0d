//===- UnrollScans.h - Loops as their iterations -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_UNROLLSCANS_H
#define MPT_DIALECT_MPT_TRANSFORMS_UNROLLSCANS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// Replaces each `mpt.scan` of at most `maxIterations` in the regions of `root` by its
/// iterations, one after the other. Conditional ones stay. Shapes are static. Fails,
/// after an error, if they would be too many ops.
mlir::LogicalResult unrollScans(mlir::Operation *root, int64_t maxIterations = INT64_MAX);

/// Replaces a conditional `mpt.scan` of one iteration by its body, whose results are
/// chosen by `mpt.where`. If it `isDifferentiated`, no gradient flows through a body that
/// does not run: it may divide by 0, and 0 times an infinite derivative is NaN.
void selectBranch(ScanOp scan, bool isDifferentiated);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_UNROLLSCANS_H
