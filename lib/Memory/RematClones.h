//===- RematClones.h - Plans of rematerialization into IR -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_REMATCLONES_H
#define MPT_LIB_MEMORY_REMATCLONES_H

#include "mpt/Dialect/MPT/Transforms/RematMarks.h"
#include "mpt/Memory/RematFunction.h"

namespace mpt::detail {

/// Clones in a row, in their order.
using RematGroup = llvm::SmallVector<mlir::Operation *>;

/// Runs `function`, which `described` describes, in `order`: repeated nodes become
/// clones in front of the next node that is not repeated. With `barrier`, an op of
/// that name passes on what a group of clones reads, together with what the op after
/// them waits for, so that a compiler neither merges the clones with the originals nor
/// runs them early. Results of kernels that nobody reads any more are removed. Returns
/// the groups of clones, which stand together.
llvm::SmallVector<RematGroup> cloneForRemat(mlir::func::FuncOp function,
                                            const RematFunction &described,
                                            llvm::ArrayRef<uint32_t> order,
                                            llvm::StringRef barrier);

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_REMATCLONES_H
