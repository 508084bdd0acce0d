//===- Passes.h - From StableHLO to mpt ----------------------- -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_STABLEHLO_PASSES_H
#define MPT_IMPORT_STABLEHLO_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Import/StableHLO/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Import/StableHLO/Passes.h.inc"

/// The ops that `--mpt-convert-stablehlo` knows, such as "stablehlo.add", sorted.
llvm::SmallVector<llvm::StringRef> getStableHLOOps();

} // namespace mpt

#endif // MPT_IMPORT_STABLEHLO_PASSES_H
