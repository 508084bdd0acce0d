//===- Passes.h - Steps of many ranks ---------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PARALLEL_PASSES_H
#define MPT_PARALLEL_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Parallel/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Parallel/Passes.h.inc"

} // namespace mpt

#endif // MPT_PARALLEL_PASSES_H
