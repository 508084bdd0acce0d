//===- InlineCalls.h - Calls and composites of StableHLO ------ -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_IMPORT_STABLEHLO_INLINECALLS_H
#define MPT_LIB_IMPORT_STABLEHLO_INLINECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mpt::stablehlo {

/// A composite that says of its operands that no gradient passes: StableHLO has no other
/// word for it.
bool isStopGradient(mlir::Operation *op);

/// Replaces calls in `function`, also in its regions, by the bodies of what they call.
/// With `composites` also composites, but those of `isStopGradient`, by their
/// decompositions; of those named mpt.checkpoint these are in an `mpt.checkpoint`, of
/// StableHLO's types. Reports, in the name of `passName`, a callee that is not there, is
/// recursive, or has more than one block. Adds callees to `inlined`.
llvm::LogicalResult inlineCalls(mlir::func::FuncOp function, llvm::StringRef passName,
                                bool composites,
                                llvm::SetVector<mlir::Operation *> &inlined);

} // namespace mpt::stablehlo

#endif // MPT_LIB_IMPORT_STABLEHLO_INLINECALLS_H
