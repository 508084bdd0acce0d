//===- MemoryPasses.h - Passes of MPT on memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TRANSFORMS_MEMORYPASSES_H
#define MPT_TRANSFORMS_MEMORYPASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Analysis/RematCurve.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Transforms/MemoryPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Transforms/MemoryPasses.h.inc"

/// `mpt-rematerialize`, but rather than rewrite anything (unless it fuses) it adds to
/// `curves` what each function could be made.
std::unique_ptr<mlir::Pass> createRematCurvePass(const RematerializePassOptions &options,
                                                 std::vector<RematCurve> &curves);

/// The two halves of addFusionPasses (Passes.h): up to the ops that kernels are made of,
/// and from them to kernels.
void addDecomposePasses(mlir::OpPassManager &passes);
void addKernelPasses(mlir::OpPassManager &passes);

} // namespace mpt

#endif // MPT_TRANSFORMS_MEMORYPASSES_H
