//===- SlicesInPlace.h - Slices that need no copies -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_SLICESINPLACE_H
#define MPT_CODEGEN_CUDA_SLICESINPLACE_H

#include "mlir/IR/PatternMatch.h"

namespace mpt {

/// Forms of slices, and of their gradients, that kernels and attention of GPUs read and
/// write where they are:
///
/// - a reshape of columns [.., m] of [.., n], to [.., m / d, d] or with other leading
///   dimensions, becomes a slice of x's reshape to [.., n / d, d];
/// - a slice of a slice becomes one slice;
/// - a sum of tensors that are padded with zeros along one dimension, of which each place
///   has one, becomes their concat. -0 stays -0 there; the sum has 0.
void populateSlicesInPlacePatterns(mlir::RewritePatternSet &patterns);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_SLICESINPLACE_H
