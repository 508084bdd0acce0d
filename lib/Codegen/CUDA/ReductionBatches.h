//===- ReductionBatches.h - Reductions of many buffers as one -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A step asks of every gradient whether it is finite and sums its squares, by a
/// launch or two each. On a GPU one launch does that for all, and a second one adds up
/// what blocks have left. Each gradient has the blocks and the code that it has alone,
/// so every sum has the same order.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_REDUCTIONBATCHES_H
#define MPT_LIB_CODEGEN_CUDA_REDUCTIONBATCHES_H

#include "LaunchGroups.h"

#include "mlir/IR/Builders.h"

namespace mpt::detail {

/// Groups the launches of `program` that reduce whole buffers to single numbers into
/// batches. Launches of a batch are made adjacent where dependences allow, do not depend
/// on each other, and each gets its own partial-sum buffer. No batch is beside an
/// exchange.
llvm::SmallVector<llvm::SmallVector<program::LaunchOp>>
batchReductions(program::ProgramOp program);

/// Emits the functions of `batch`, called after `name`, at the end of a `gpu.module`:
/// one, or two if any kernel has two stages.
SharedLaunch emitBatch(program::ProgramOp program,
                       llvm::ArrayRef<program::LaunchOp> batch, llvm::StringRef name,
                       mlir::OpBuilder &device);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_REDUCTIONBATCHES_H
