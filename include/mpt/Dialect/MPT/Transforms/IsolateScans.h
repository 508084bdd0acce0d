//===- IsolateScans.h - Loops that name all they read -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_ISOLATESCANS_H
#define MPT_DIALECT_MPT_TRANSFORMS_ISOLATESCANS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt::detail {

/// Makes the operands of each `mpt.scan` under `root` all that it reads, but for
/// constants: what a body uses from above becomes a carried value that does not change.
/// What plans a step looks at operands and results alone. Slices that no iteration reads
/// and stacked results that nobody reads are dropped, and so are the notes of
/// rematerialization in bodies.
void isolateScans(mlir::Operation *root);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_ISOLATESCANS_H
