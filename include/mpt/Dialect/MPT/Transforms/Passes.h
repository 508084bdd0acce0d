//===- Passes.h - Passes on tensor ops of any step -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_PASSES_H
#define MPT_DIALECT_MPT_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"

/// Adds the passes from a training step to the ops that kernels are made of.
void addDecomposePasses(mlir::OpPassManager &passes,
                        const DecomposePassOptions &options = {});

} // namespace mpt

#endif // MPT_DIALECT_MPT_TRANSFORMS_PASSES_H
