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
#include "mlir/Interfaces/FunctionInterfaces.h"

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
/// 8-bit floats scaled by blocks: reductions and elementwise ops over blocks, and matmuls
/// of the segments of K.
void populateDecomposeBlockScalePatterns(mlir::RewritePatternSet &patterns);
/// Optimizer state in 8 bits: reductions and elementwise ops over blocks.
void populateDecomposeOptimizerStatePatterns(mlir::RewritePatternSet &patterns);
/// LSTM cells.
void populateDecomposeLSTMPatterns(mlir::RewritePatternSet &patterns);
/// Moves that round as moves and casts; checkpoint regions inlined; reductions
/// reshaped so that they run over the last axis or all but the last.
void populateDecomposeShapePatterns(mlir::RewritePatternSet &patterns);
/// Optimizers, loss scale, clipping and the markers of autodiff.
void populateDecomposeTrainingPatterns(mlir::RewritePatternSet &patterns);
/// What ranks join (`mpt.all_gather`), and all readers round to one narrower type: joined
/// in that type.
void populateNarrowGathersPatterns(mlir::RewritePatternSet &patterns);
/// Applies these patterns to the `mpt.all_gather` of `block`, not to those in its
/// regions.
llvm::LogicalResult narrowGathers(mlir::Block &block);
/// Bias, relu and gelu into the epilogue of `mpt.linear` and `mpt.conv2d` where
/// that changes no bit of the result (gelu: but for how the back end computes
/// the tangent).
void populateFuseEpiloguesPatterns(mlir::RewritePatternSet &patterns);
/// erfc x = t e^(p(t) - x^2) with t = 1 / (1 + x / 2) for x above 0.5, where p has these
/// coefficients, that of the highest power first (erfccheb's shorter form in Numerical
/// Recipes, relative error 1.2e-7).
inline constexpr double erfcCoefficients[] = {
    0.17087277,  -0.82215223, 1.48851587, -1.13520398, 0.27886807,
    -0.18628806, 0.09678418,  0.37409196, 1.00002368,  -1.26551223};

/// `mpt.gelu`, `mpt.silu` and `mpt.sigmoid` from their formulas, in any spelling.
void populateRaiseActivationsPatterns(mlir::RewritePatternSet &patterns);
/// What `--mpt-raise-ops` does, for one function.
void raiseOps(mlir::FunctionOpInterface function);

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_PATTERNS_H
