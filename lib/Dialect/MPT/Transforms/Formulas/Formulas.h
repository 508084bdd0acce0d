//===- Formulas.h - Formulas of ops -----------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds softmax, norms, losses, dense layers and attention in the ops that spell them.
/// Nothing here changes the program. Types are static.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_DIALECT_MPT_TRANSFORMS_FORMULAS_FORMULAS_H
#define MPT_LIB_DIALECT_MPT_TRANSFORMS_FORMULAS_FORMULAS_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include <optional>
#include <string>

namespace mpt::formulas {

/// `base`, whose dimension i is dimension `dims[i]` of what reads it, or -1 if its size
/// is 1. Broadcasts, transposes, and reshapes that add or drop dimensions of size 1 lie
/// in between.
struct View {
  mlir::Value base;
  llvm::SmallVector<int64_t, 4> dims;

  bool operator==(const View &other) const {
    return base == other.base && dims == other.dims;
  }
};

/// `value`, as something reads it whose rank is `rank`.
View getView(mlir::Value value, int64_t rank);

/// The number that all elements of `value` are, if ops on constants tell it.
std::optional<double> getNumber(mlir::Value value);

/// The op whose formula was nearly found, and what is not as in it; no op if nothing
/// looks like a formula.
struct NearMiss {
  std::string op, reason;
};

// Each matcher says in `why`, if given, why what looks like its formula is none.

/// e^(x - max x) / sum e^(x - max x) over the last dimension, or its logarithm. The
/// maximum may be left out.
struct Softmax {
  mlir::Value x;
  bool log;
};
std::optional<Softmax> matchSoftmax(mlir::Operation *root, NearMiss *why = nullptr);

/// (x - mean) rstd gamma + beta over the last dimension (layer), all others (batch) or
/// some without the first (group), or x rstd gamma (rms), in any grouping of sums and
/// products. The variance is the mean of (x - mean)^2 or that of x^2 minus mean^2.
struct Norm {
  enum class Kind { Layer, RMS, Batch, Group } kind;
  /// Of the root's type; of a group norm perhaps with the last dimension split in two.
  mlir::Value x;
  /// The dimensions of x that the mean is over.
  llvm::SmallVector<int64_t> axes;
  /// Of as many elements as x's last dimension, in any shape; null for 1 and 0.
  mlir::Value gamma, beta;
  /// Of a group norm: the shapes in which the root reads them.
  llvm::SmallVector<int64_t> gammaShape, betaShape;
  double eps;
  mlir::Operation *root;
};
/// `rsqrt` computes 1 / sqrt, or sqrt; of the ops that read it, the last that ends the
/// formula is the root.
std::optional<Norm> matchNorm(mlir::Operation *rsqrt, NearMiss *why = nullptr);

/// mean x^2 - (mean x)^2, of all elements along some dimensions or of those that a mask
/// shows.
struct VarianceByDifference {
  mlir::Value x;
  /// With dimensions of size 1, or none, for those that the mean is over.
  mlir::Value mean;
  /// Chooses x^2 or 0; null without a mask.
  WhereOp choice;
  /// The sum of squares, and what divides it by their number.
  llvm::SmallVector<mlir::Operation *> meanOfSquares;
};
std::optional<VarianceByDifference> matchVarianceByDifference(mlir::Operation *root);

/// factor * sum of the rows' losses.
struct CrossEntropy {
  mlir::Value logits;
  /// An integer for each row, in any shape.
  mlir::Value labels;
  double factor;
  mlir::Operation *root;
  /// Labels came as rows of zeros and a one: a row whose label is out of range counts 0.
  bool isOneHot = false;
};
/// `sum` adds all that it reads.
std::optional<CrossEntropy> matchCrossEntropy(mlir::Operation *sum,
                                              NearMiss *why = nullptr);

/// x @ weight + bias, or a convolution and a bias.
struct Dense {
  /// `mpt.matmul` or `mpt.conv2d`, read by the root alone, perhaps reshaped.
  mlir::Operation *contraction;
  /// An element for each column, in any shape.
  mlir::Value bias;
};
std::optional<Dense> matchDense(mlir::Operation *root, NearMiss *why = nullptr);

/// dropout(softmax(scale q @ k^T, masked, + biases)) @ v.
struct Attention {
  /// Truth values that show keys where they are true, or hide them there.
  struct Mask {
    View view;
    bool hides;
  };

  mlir::Value query, key, value;
  /// As the formula's matmuls read them.
  bool transposeQuery = false, transposeKey = false, transposeValue = false;
  /// The root is the transpose of the result.
  bool transposeResult = false;
  double scale = 1.0;
  bool causal = false;
  /// With dimensions of [B, H, T, S] in their order. What one of them hides has the score
  /// `hidden`.
  llvm::SmallVector<Mask, 2> masks;
  double hidden = 0;
  /// Of one type.
  llvm::SmallVector<View, 2> biases;
  /// Null without one.
  DropoutOp dropout;
};
std::optional<Attention> matchAttention(MatmulOp root, NearMiss *why = nullptr);

/// new_c = sigmoid(z_f) c + sigmoid(z_i) tanh(z_g) and new_h = sigmoid(z_o) tanh(new_c),
/// where z_i, z_f, z_g and z_o are the quarters of x @ W + h @ U + bias, in this order.
struct LSTMCell {
  /// x @ W and h @ U, one of them perhaps with a bias, as [B, 4H].
  mlir::Operation *input, *hidden;
  mlir::Value c;
  /// The formula's new_c; new_h is the root's result.
  mlir::Value newC;
};
/// Which of the two sums reads x does not matter.
std::optional<LSTMCell> matchLSTMCell(mlir::Operation *root, NearMiss *why = nullptr);

/// Why dropout, where(u < keep, x / keep, 0) with u of random bits, is no `mpt.dropout`.
NearMiss explainDropout(mlir::Operation *root);

/// Why a choice of parts of a table reads more than its rows.
NearMiss explainGather(mlir::Operation *root);

/// Why an op of a product that looks like GELU or SiLU is none (RaiseActivations.cpp).
NearMiss explainActivation(mlir::Operation *root);

} // namespace mpt::formulas

#endif // MPT_LIB_DIALECT_MPT_TRANSFORMS_FORMULAS_FORMULAS_H
