//===- Passes.td - Kernels and calls for NVIDIA GPUs -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_PASSES_TD
#define MPT_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelsToGPUPass : Pass<"mpt-convert-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn each `mpt.kernel_func` into functions of a `gpu.module`";
  let description = [{
    All kernels go into `gpu.module @mpt_kernels` as `llvm.func`s with the
    attribute `nvvm.kernel`, whose parameters are the buffers. How many threads
    run which points follows from the kernel alone (mpt/Codegen/CUDA/
    DeviceKernels.h). Threads read and write up to 16 bytes of the narrowest
    buffer at once; a row's sums go through lanes, warps and blocks in a fixed
    order.

    In a program, calls that no library does become functions too, and launches of
    kernels that differ only in size become one where the order of memory accesses
    allows.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string",
      "Architectures to compile for, as ptxas names them (sm_80, sm_90, ...)">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def SpreadKernelsPass : Pass<"mpt-spread-kernels", "::mlir::ModuleOp"> {
  let summary = "Cut column kernels into tasks for the blocks of a GPU";
  let description = [{
    Lowers `chunk_rows` of `column` kernels until there are about four tasks for
    each processor of an H200, or two rows for each group of a block's threads. The
    number follows from shapes, and with it the order of every sum.
  }];
}

def MathToLibdevicePass : Pass<"mpt-math-to-libdevice", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Call CUDA's libdevice for math functions that LLVM has no code for";
  let description = [{
    What `mpt-approximate-math` leaves: pow, the functions of f64, and rarer ones,
    lane by lane.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect"];
}

def SerializeKernelsPass : Pass<"mpt-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile each `gpu.module` to PTX or machine code";
  let description = [{
    Replaces a `gpu.module` by a `gpu.binary` with an object for each of its
    targets: LLVM writes PTX (`format=isa`), the toolkit's ptxas machine code
    (`format=cubin`).
  }];
  let options = [
    Option<"format", "format", "std::string", [{"cubin"}], "isa, cubin or cubin+isa">,
    Option<"toolkit", "toolkit", "std::string", [{""}],
      "The CUDA toolkit's folder (default: that of the ptxas on the path, else "
      "/usr/local/cuda)">,
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"];
}

def FuseGemmEpiloguesPass : Pass<"mpt-fuse-gemm-epilogues", "::mlir::ModuleOp"> {
  let summary = "Make gradients epilogues of cuBLASLt's products";
  let description = [{
    Makes `mpt.gemm` of a product and

    - its ReLU or tanh GELU, if the gradient of that can use what the product saves,
    - the gradient of a ReLU or tanh GELU that reads it, and the sum of that over rows
      (a bias's gradient) if it has the product's type,
    - the sum over rows of the gradient that it makes a weight's gradient from, if no
      kernel makes that gradient,
    - a micro-batch's gradient of a weight and the sum over those before it.

    Only what cuBLASLt can do on all of `chip`. GELU only where all are sm_90 or sm_100:
    elsewhere cuBLASLt has a kernel for it behind the product. The result of a product
    is not rounded before its GELU or GELU's gradient: one rounding less.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
  ];
}

def LegalizeForGPUPass : Pass<"mpt-legalize-for-gpu", "::mlir::ModuleOp"> {
  let summary = "Give a step products and attention that GPUs do";
  let description = [{
    Products that cuBLASLt can only do with an f32 result on one of `chip` get that and a
    cast (mpt/Codegen/CUDA/WidenProducts.h). Attention that device functions do is marked,
    so that it is not decomposed; the rest is named by mpt.cuda.attention-decomposed.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
    Option<"lowBiases", "low-biases", "bool", "false",
           "Round biases of f16 and bf16 products to their type instead">,
    Option<"fusedAttention", "fused-attention", "bool", "true",
           "Mark attention; else all of it is decomposed">,
  ];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def ReportGemmsPass : Pass<"mpt-report-gemms", "::mlir::ModuleOp"> {
  let summary = "Say which products of a program tensor cores do not do";
  let description = [{
    A remark for each product of f32 that is summed exactly, and for each one with rows
    that are no multiples of 16 bytes.
  }];
}

#endif // MPT_CODEGEN_CUDA_PASSES_TD
