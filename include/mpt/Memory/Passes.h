//===- Passes.h - Byte budgets and rematerialization -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PASSES_H
#define MPT_MEMORY_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Memory/Planning/RematCurve.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Memory/Passes.h.inc"

/// `mpt-rematerialize` and `mpt-plan-kernels`, but they add to `curves` what each
/// function could be made, and do not rewrite (the second still fuses).
std::unique_ptr<mlir::Pass> createRematCurvePass(const RematerializePassOptions &options,
                                                 std::vector<RematCurve> &curves);
std::unique_ptr<mlir::Pass> createKernelCurvePass(const PlanKernelsPassOptions &options,
                                                  std::vector<RematCurve> &curves);

} // namespace mpt

#endif // MPT_MEMORY_PASSES_H
