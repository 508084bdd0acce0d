//===- Passes.h - Fused kernels -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_TRANSFORMS_PASSES_H
#define MPT_DIALECT_KERNEL_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Dialect/Kernel/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Dialect/Kernel/Transforms/Passes.h.inc"

/// Adds the passes from the ops that kernels are made of to kernels.
void addKernelPasses(mlir::OpPassManager &passes, const FusionOptions &options = {});

/// How the kernels of a GPU are fused, or of a CPU.
FusionOptions getFusionOptions(bool isForGPU);

} // namespace mpt

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_PASSES_H
