//===- WideSums.h - Gradients that are added again and again -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which sums of half precision the next sum reads in f32. The gradient of a residual
/// stream is a sum that each layer adds to and its matmuls read. Rounded by each layer,
/// its errors add up, where those of what the layers add do not. A gradient is soon dead,
/// so that f32 beside the rounded numbers takes few bytes. What the forward pass adds up
/// is kept, or made again of what is kept, and stays as it is.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_TRANSFORMS_WIDESUMS_H
#define MPT_DIALECT_KERNEL_TRANSFORMS_WIDESUMS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/SmallVector.h"

namespace mpt {

/// A sum of f16 or bf16, and the sums that read it.
struct WideSum {
  AddOp sum;
  llvm::SmallVector<AddOp, 1> next;
};

/// The sums of `block` that depend on its `mpt.grad_seed`, that are among three or more
/// in a row, and that both another sum and another op read. In order.
llvm::SmallVector<WideSum> findWideSums(mlir::Block &block);

} // namespace mpt

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_WIDESUMS_H
