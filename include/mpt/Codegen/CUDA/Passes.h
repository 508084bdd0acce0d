//===- Passes.h - Kernels and calls for NVIDIA GPUs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_PASSES_H
#define MPT_CODEGEN_CUDA_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "mpt/Dialect/Program/IR/Program.h"

// Their headers take longer to compile than most of the sources that include this one.
namespace mlir::gpu {
class GPUDialect;
} // namespace mlir::gpu
namespace mlir::NVVM {
class NVVMDialect;
} // namespace mlir::NVVM

namespace mpt {

#define GEN_PASS_DECL
#include "mpt/Codegen/CUDA/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpt/Codegen/CUDA/Passes.h.inc"

/// What kernels are compiled to for a GPU.
struct KernelsToGPUOptions : mlir::PassPipelineOptions<KernelsToGPUOptions> {
  ListOption<std::string> chips{
      *this, "chip", llvm::cl::desc("Architectures to compile for (sm_80, sm_90, ...)")};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("llvm: stop before code is generated; isa: PTX; cubin: machine "
                     "code by ptxas"),
      llvm::cl::init("cubin")};
  Option<std::string> toolkit{
      *this, "toolkit",
      llvm::cl::desc("The CUDA toolkit's folder (default: that of the ptxas on the "
                     "path, else /usr/local/cuda)")};
  Option<std::string> math{
      *this, "math",
      llvm::cl::desc("fast: FMAs and ex2.approx; exact: the arithmetic of the CPU's "
                     "kernels (same polynomials, no contraction)"),
      llvm::cl::init("fast")};
};

/// A `gpu.module` of functions with arith, vector, scf and NVVM ops in them to one of the
/// LLVM dialect.
void buildDeviceToLLVMPipeline(mlir::OpPassManager &passes, llvm::StringRef math);

/// Kernels to a `gpu.module` of LLVM dialect functions, and that to a `gpu.binary`.
void buildKernelsToGPUPipeline(mlir::OpPassManager &passes,
                               const KernelsToGPUOptions &options);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_PASSES_H
