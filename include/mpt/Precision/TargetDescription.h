//===- TargetDescription.h - The speeds of a machine ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Machines by name, so that decisions depend on what is asked for and never on the
/// host. Figures are peaks from the makers' data sheets, dense; what counts of them
/// is their ratios.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_TARGETDESCRIPTION_H
#define MPT_PRECISION_TARGETDESCRIPTION_H

#include "mlir/IR/BuiltinOps.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"

namespace mpt {

struct TargetDescription {
  llvm::StringRef name, machine;
  /// Peak of contractions in 10^12 floating-point operations per second, by the operands'
  /// type; 0: the machine has no units for it and computes in f32.
  double f32, f16, bf16, f8;
  /// Bytes per second, in 10^9, to and from memory.
  double bandwidth;
  /// What it takes to start one kernel, in microseconds.
  double launch;
  /// Tensor cores (or AMX) want sizes that are multiples of this many bytes of elements.
  unsigned alignment;

  /// Operations per second of contractions that read `low`.
  double getRate(mlir::Type low) const;
  /// True if it multiplies `low` faster than f32.
  bool hasUnits(mlir::Type low) const { return getRate(low) > f32 * 1e12; }
};

/// The target called `name`, or if that is empty the one that the module's attribute
/// names; null in `*target` if there is neither. An unknown name is an error that lists
/// those there are, at `named` (where the name is from) or at the module.
llvm::LogicalResult findTarget(mlir::ModuleOp module, llvm::StringRef name,
                               const TargetDescription *&target, mlir::Location named);

} // namespace mpt

#endif // MPT_PRECISION_TARGETDESCRIPTION_H
