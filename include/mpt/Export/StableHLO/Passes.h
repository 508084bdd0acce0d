//===- Passes.h - From mpt to StableHLO -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_EXPORT_STABLEHLO_PASSES_H
#define MPT_EXPORT_STABLEHLO_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

/// Who compiles the StableHLO that `--mpt-convert-to-stablehlo` makes.
enum class StableHLOClient { Generic, XLACPU, XLAGPU, IREE };

#define GEN_PASS_DECL
#include "mpt/Export/StableHLO/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Export/StableHLO/Passes.h.inc"

} // namespace mpt

#endif // MPT_EXPORT_STABLEHLO_PASSES_H
