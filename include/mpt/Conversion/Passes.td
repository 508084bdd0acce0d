//===- Passes.td - From programs to LLVM -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CONVERSION_PASSES_TD
#define MPT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelsToVectorPass : Pass<"mpt-convert-kernels-to-vector", "::mlir::ModuleOp"> {
  let summary = "Turn each `mpt.kernel_func` into loops over vectors";
  let description = [{
    Each kernel becomes `func.func @name(%buffers: !llvm.ptr, %begin: i64, %end:
    i64)` over tasks (`column` kernels also `@name_combine`). The last dimension
    of the domain runs in vectors of 16 lanes with a masked tail: the same code,
    so the same bits, for every element. 16 lanes are two AVX2 or one AVX-512
    register; the number is the same on every machine, and with it the order of
    every reduction.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def ConvertKernelsToGPUPass : Pass<"mpt-convert-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn each `mpt.kernel_func` into functions of a `gpu.module`";
  let description = [{
    All kernels go into `gpu.module @mpt_kernels` as `llvm.func`s with the
    attribute `nvvm.kernel`, whose parameters are the buffers. How many threads
    run which points follows from the kernel alone (mpt/Conversion/
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

def ApproximateMathPass : Pass<"mpt-approximate-math"> {
  let summary = "f32 exp, log, tanh, erf, sin and cos as polynomials";
  let description = [{
    On vectors and scalars alike, so that a value does not depend on the lane or
    tail it is computed in. Errors in units of f32's last place: sin and cos 0.6
    (arguments up to 2^48), log 2, exp and erf 4, tanh 5; subnormal results of
    exp become 0. Other functions and f64 stay calls.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def ConvertProgramToLLVMPass : Pass<"mpt-convert-program-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Replace the `mpt.program` by its table and the symbol mpt_program";
  let description = [{
    The table (mpt/ProgramABI/ProgramFormat.h) becomes a constant, the kernels a
    table of function pointers, and both go into the exported descriptor that
    mpt_rt_program_open reads. Needs the kernels as LLVM functions in the same
    module.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // MPT_CONVERSION_PASSES_TD
