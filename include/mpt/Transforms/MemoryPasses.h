//===- MemoryPasses.h - Passes of MPT on memory -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_TRANSFORMS_MEMORYPASSES_H
#define MPT_TRANSFORMS_MEMORYPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Transforms/MemoryPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Transforms/MemoryPasses.h.inc"

} // namespace mpt

#endif // MPT_TRANSFORMS_MEMORYPASSES_H
