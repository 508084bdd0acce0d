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
/// DeadCodeAnalysis and SparseConstantPropagation into the same solver.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TRAINING_LOSSSCALEANALYSIS_H
#define MPT_TRAINING_LOSSSCALEANALYSIS_H

#include "mlir/Analysis/DataFlow/SparseAnalysis.h"

namespace mpt {

/// By which power of a loss scale a value is multiplied, as a dimension of physics is
/// followed: products add powers, quotients subtract them, roots halve them; whatever
/// else reads one scaled value is taken to be linear in it. Unknown < Constant < Plain <
/// External < Unscaled < Scaled < Mixed.
class LossScaling {
public:
  enum Kind : uint8_t {
    /// Nothing flowed here yet.
    Unknown,
    /// Of constants alone, as a gradient of zeros.
    Constant,
    /// Of data or parameters: no loss scale is in it.
    Plain,
    /// Of an argument that may hold anything: what an optimizer or the caller keeps.
    External,
    /// A scale was divided out.
    Unscaled,
    /// Multiplied by a power, not 0, of one scale.
    Scaled,
    /// Computed from values of different scales or powers, or scaled on one way here and
    /// unscaled on another.
    Mixed,
  };

  LossScaling(Kind kind = Unknown) : kind(kind) {}
  /// Scaled by `scale` to the power `halves` / 2; Unscaled for 0.
  static LossScaling getScaled(mlir::Value scale, int halves) {
    LossScaling scaling(halves == 0                   ? Unscaled
                        : halves > -64 && halves < 64 ? Scaled
                                                      : Mixed);
    if (scaling.kind == Scaled) {
      scaling.scale = scale;
      scaling.halves = halves;
    }
    return scaling;
  }
  Kind getKind() const { return kind; }
  bool isScaled() const { return kind == Scaled || kind == Mixed; }
  /// The scale of what is Scaled.
  mlir::Value getScale() const { return scale; }
  /// Twice the power of the scale; 0 of what is not Scaled.
  int getHalves() const { return halves; }

  static LossScaling join(const LossScaling &a, const LossScaling &b) {
    const LossScaling &more = a.kind >= b.kind ? a : b, &less = a.kind >= b.kind ? b : a;
    if (more.kind == Scaled &&
        (less.kind == Unscaled || (less.kind == Scaled && !(a == b))))
      return {Mixed};
    return more;
  }
  bool operator==(const LossScaling &other) const {
    return kind == other.kind && scale == other.scale && halves == other.halves;
  }
  void print(llvm::raw_ostream &os) const {
    const char *names[] = {"unknown",  "constant", "plain", "external",
                           "unscaled", "scaled",   "mixed"};
    os << names[kind];
  }

private:
  Kind kind;
  int8_t halves = 0;
  mlir::Value scale;
};

using LossScaleLattice = mlir::dataflow::Lattice<LossScaling>;

/// Which values carry a loss scale: what `mpt.scale_loss` multiplies, and what products
/// and quotients make of an argument of role `loss_scale`, until it is divided out.
class LossScaleAnalysis
    : public mlir::dataflow::SparseForwardDataFlowAnalysis<LossScaleLattice> {
public:
  using SparseForwardDataFlowAnalysis::SparseForwardDataFlowAnalysis;

  llvm::LogicalResult visitOperation(mlir::Operation *op,
                                     llvm::ArrayRef<const LossScaleLattice *> operands,
                                     llvm::ArrayRef<LossScaleLattice *> results) override;
  void setToEntryState(LossScaleLattice *lattice) override;
};

} // namespace mpt

#endif // MPT_TRAINING_LOSSSCALEANALYSIS_H
