//===- Passes.h - Kernels as vector code -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CPU_PASSES_H
#define MPT_CODEGEN_CPU_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Codegen/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Codegen/CPU/Passes.h.inc"

/// Kernels to LLVM dialect functions: kernels to vectors, math functions to
/// polynomials, half types to integer arithmetic, all to LLVM.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &passes);

/// From a module with one `mpt_program.program` to LLVM dialect: kernels as above, then
/// the program to its table.
void buildProgramToLLVMPipeline(mlir::OpPassManager &passes);

} // namespace mpt

#endif // MPT_CODEGEN_CPU_PASSES_H
