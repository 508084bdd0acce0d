//===- LossScaleAnalysis.h - Which values carry the loss scale -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sparse forward dataflow analysis: what is multiplied by a loss scale
/// (mpt.scale_loss), and what was divided by it again (mpt.unscale). Load
/// DeadCodeAnalysis and SparseConstantPropagation beside it.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_ANALYSIS_LOSSSCALEANALYSIS_H
#define MPT_ANALYSIS_LOSSSCALEANALYSIS_H

#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include <optional>

namespace mpt {

/// Unknown < Plain < Unscaled < Scaled by one value < Mixed.
class LossScaling {
public:
  enum Kind : uint8_t {
    /// Nothing flowed here yet.
    Unknown,
    Plain,
    Unscaled,
    Scaled,
    /// Computed from values of different scales, or scaled on one way here and unscaled
    /// on another.
    Mixed,
  };

  LossScaling(Kind kind = Unknown, mlir::Value scale = {}) : kind(kind), scale(scale) {}
  Kind getKind() const { return kind; }
  bool isScaled() const { return kind == Scaled || kind == Mixed; }
  /// The scale of what is Scaled.
  mlir::Value getScale() const { return scale; }

  static LossScaling join(const LossScaling &a, const LossScaling &b) {
    const LossScaling &more = a.kind >= b.kind ? a : b, &less = a.kind >= b.kind ? b : a;
    if (more.kind == Scaled &&
        (less.kind == Unscaled || (less.kind == Scaled && a.scale != b.scale)))
      return {Mixed};
    return more;
  }
  bool operator==(const LossScaling &other) const {
    return kind == other.kind && scale == other.scale;
  }
  void print(llvm::raw_ostream &os) const {
    const char *names[] = {"unknown", "plain", "unscaled", "scaled", "mixed"};
    os << names[kind];
  }

private:
  Kind kind;
  mlir::Value scale;
};

/// What a step written by hand says with `mpt.mul`, `mpt.div` and `mpt.reciprocal`: a
/// tensor times or divided by an argument of role `loss_scale`, which may be cast,
/// reshaped or broadcast in between. The product of a scale and a constant is the next
/// scale, not this.
struct ScalingByHand {
  mlir::Value tensor, scale;
  bool isUnscale;
};
std::optional<ScalingByHand> matchScalingByHand(mlir::Operation *op);

using LossScaleLattice = mlir::dataflow::Lattice<LossScaling>;

/// Which values carry the loss scale: from `mpt.scale_loss` to `mpt.unscale`, or from
/// one scaling by hand to the other.
class LossScaleAnalysis
    : public mlir::dataflow::SparseForwardDataFlowAnalysis<LossScaleLattice> {
public:
  using SparseForwardDataFlowAnalysis::SparseForwardDataFlowAnalysis;

  llvm::LogicalResult visitOperation(mlir::Operation *op,
                                     llvm::ArrayRef<const LossScaleLattice *> operands,
                                     llvm::ArrayRef<LossScaleLattice *> results) override;
  void setToEntryState(LossScaleLattice *lattice) override {
    propagateIfChanged(lattice, lattice->join(LossScaling(LossScaling::Plain)));
  }
};

} // namespace mpt

#endif // MPT_ANALYSIS_LOSSSCALEANALYSIS_H
