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

namespace mpt::stablehlo {

/// Replaces calls in `function`, also in its regions, by the bodies of what they call,
/// and composites by their decompositions. Reports a callee that is not there, is
/// recursive, or has more than one block. Adds callees to `inlined`.
llvm::LogicalResult inlineCalls(mlir::func::FuncOp function,
                                llvm::DenseSet<mlir::Operation *> &inlined);

} // namespace mpt::stablehlo

#endif // MPT_LIB_IMPORT_STABLEHLO_INLINECALLS_H
