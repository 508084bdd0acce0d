//===- Passes.h - Code that CPUs and GPUs share -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_COMMON_PASSES_H
#define MPT_CODEGEN_COMMON_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Codegen/Common/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Codegen/Common/Passes.h.inc"

} // namespace mpt

#endif // MPT_CODEGEN_COMMON_PASSES_H
