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
#include "mlir/IR/BuiltinOps.h"

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

/// What an op, of the mpt dialect or of StableHLO, does with a scale of its operands.
enum class ScalingForm {
  /// What it reads has one scale, which its results have, too.
  Linear,
  Sum,
  Product,
  Quotient,
  SquareRoot,
  InverseRoot,
  Inverse,
  Square,
  Power,
  Sign,
  /// An extreme, a comparison or a choice, between the operands that `getChoices` names.
  Choice,
  /// No power of the scale can be divided out of its result.
  Curve,
  /// Result i is operand i.
  SideBySide,
};
ScalingForm getScalingForm(mlir::Operation *op);

/// The operands of a `Choice` that are compared, or that one result is chosen from.
llvm::SmallVector<unsigned, 3> getChoices(mlir::Operation *op);

/// Whether `op` chooses operand 1 where something is finite.
bool choosesFinite(mlir::Operation *op);

/// The numbers of a constant, or of one that is reshaped, broadcast or converted; null
/// for other values.
mlir::DenseFPElementsAttr getConstantNumbers(mlir::Value value);

/// What may flow into `value`, an argument of a region of an op, or a result of an op
/// with regions; nothing if that is not known, as for the scalars of reductions.
llvm::SmallVector<mlir::Value> getIncoming(mlir::Value value);

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
  void visitNonControlFlowArguments(mlir::Operation *op,
                                    const mlir::RegionSuccessor &successor,
                                    llvm::ArrayRef<LossScaleLattice *> arguments,
                                    unsigned firstIndex) override;

private:
  /// Joins `lattice`, of a value that a region brings, with what flows into it.
  void joinIncoming(LossScaleLattice *lattice, mlir::ProgramPoint *point);
};

/// Reports what `--mpt-validate-loss-scale` does of scaled values, at each op.
llvm::LogicalResult checkScaledGradients(mlir::ModuleOp module);

} // namespace mpt

#endif // MPT_TRAINING_LOSSSCALEANALYSIS_H
