//===- Patterns.h - Patterns that others can use -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_PATTERNS_H
#define MPT_DIALECT_MPT_TRANSFORMS_PATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace mpt {

/// Adds a pattern for each function, which rewrites the op that it takes.
template <typename... Ops>
void addPatterns(mlir::RewritePatternSet &patterns,
                 llvm::LogicalResult (*...rewrites)(Ops, mlir::PatternRewriter &)) {
  (patterns.add(rewrites), ...);
}

/// Softmax, norms, losses and their gradients as elementwise ops and
/// reductions in f32 (f64).
void populateDecomposeNNPatterns(mlir::RewritePatternSet &patterns);
/// Attention and dropout and their gradients as matmuls, masks and softmax.
void populateDecomposeAttentionPatterns(mlir::RewritePatternSet &patterns);
/// LSTM cells.
void populateDecomposeLSTMPatterns(mlir::RewritePatternSet &patterns);
/// Moves that round as moves and casts; checkpoint regions inlined; reductions
/// reshaped so that they run over the last axis or all but the last.
void populateDecomposeShapePatterns(mlir::RewritePatternSet &patterns);
/// Optimizers, loss scale, clipping and the markers of autodiff.
void populateDecomposeTrainingPatterns(mlir::RewritePatternSet &patterns);
/// Bias, relu and gelu into the epilogue of `mpt.linear` and `mpt.conv2d` where
/// that changes no bit of the result (gelu: but for how the back end computes
/// the tangent).
void populateFuseEpiloguesPatterns(mlir::RewritePatternSet &patterns);
/// `mpt.gelu` and `mpt.silu` from their formulas, in any spelling.
void populateRaiseActivationsPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_PATTERNS_H
