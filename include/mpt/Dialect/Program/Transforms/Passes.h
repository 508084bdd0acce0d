//===- Passes.h - Planned programs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_PASSES_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Dialect/Program/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Dialect/Program/Transforms/Passes.h.inc"

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_PASSES_H
