//===- PrecisionPolicy.h - Which class each op has -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Resolves an op's precision class: what the lists say, else what the op says
/// through PrecisionOpInterface, else none (a barrier that stays in f32).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_POLICY_PRECISIONPOLICY_H
#define MPT_POLICY_PRECISIONPOLICY_H

#include "mpt/Interfaces/PrecisionOpInterface.h"
#include "llvm/ADT/MapVector.h"

namespace mpt {

/// A class and where it comes from.
struct PrecisionRecord {
  PrecisionClass precisionClass;
  /// "list" or "op".
  llvm::StringRef source;
};

class PrecisionPolicy {
public:
  /// Puts each op named in `names` ("mpt.exp") into `precisionClass`; later
  /// calls move it. Emits an error at `loc` that names the nearest op if there
  /// is no such op in a loaded dialect.
  llvm::LogicalResult add(mlir::Location loc, PrecisionClass precisionClass,
                          llvm::ArrayRef<std::string> names);

  /// The record of `op` for low-precision type `low`; nullopt for a barrier.
  std::optional<PrecisionRecord> lookup(mlir::Operation *op, mlir::Type low) const;

private:
  llvm::MapVector<mlir::OperationName, PrecisionClass> overrides;
};

} // namespace mpt

#endif // MPT_POLICY_PRECISIONPOLICY_H
