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
#include "mlir/Pass/PassOptions.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Codegen/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Codegen/CPU/Passes.h.inc"

/// What kernels are compiled to for a CPU.
struct KernelsToLLVMOptions : mlir::PassPipelineOptions<KernelsToLLVMOptions> {
  Option<bool> avx512{
      *this, "avx512",
      llvm::cl::desc("Compute several vectors at once where that takes less time, for "
                     "processors with the 32 registers of AVX-512"),
      llvm::cl::init(false)};
  Option<bool> avx512BF16{
      *this, "avx512-bf16",
      llvm::cl::desc("Round to bf16 by the instruction of AVX512_BF16, for processors "
                     "that have it, AVX512DQ and AVX512VL"),
      llvm::cl::init(false)};
};

/// Sets `options` to what the processor of `machine` has.
void readMachine(const llvm::TargetMachine &machine, KernelsToLLVMOptions &options);

/// Kernels to LLVM dialect functions: kernels to vectors, math functions to
/// polynomials, half types to integer arithmetic, all to LLVM.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &passes,
                                const KernelsToLLVMOptions &options);

/// From a module with one `mpt_program.program` to LLVM dialect: kernels as above, then
/// the program to its table.
void buildProgramToLLVMPipeline(mlir::OpPassManager &passes,
                                const KernelsToLLVMOptions &options);

} // namespace mpt

#endif // MPT_CODEGEN_CPU_PASSES_H
