//===- Passes.td - Kernels as vector code -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CPU_PASSES_TD
#define MPT_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelsToVectorPass : Pass<"mpt-convert-kernels-to-vector", "::mlir::ModuleOp"> {
  let summary = "Turn each `mpt_kernel.func` into loops over vectors";
  let description = [{
    Each kernel becomes `func.func @name(%buffers: !llvm.ptr, %begin: i64, %end:
    i64)` over tasks (`column` kernels also `@name_combine`). The last dimension
    of the domain runs in vectors of 16 lanes with a masked tail: the same code,
    so the same bits, for every element. 16 lanes are two AVX2 or one AVX-512
    register; the number is the same on every machine, and with it the order of
    every reduction.

    With `avx512`, four such vectors are computed side by side where an exponential or the
    like makes each wait for what it has just computed, and two where results are rounded to
    bf16. No bit changes: reductions take them one after the other.
  }];
  let options = [
    Option<"avx512", "avx512", "bool", /*default=*/"false",
           "The processor has AVX-512: 32 registers, each of 16 lanes">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def ShareKernelsPass : Pass<"mpt-share-kernels", "::mlir::ModuleOp"> {
  let summary = "Make functions of kernels that differ in numbers alone one function";
  let description = [{
    Runs after `--mpt-convert-kernels-to-vector`. Functions that launches name, and that are
    equal but for sizes, strides and bounds, become one: the first of them. What is
    not the same number in all is an element of a constant buffer of i32, which comes
    before the other operands of the launch. So the time to compile a network of many
    widths grows with the kinds of its kernels.

    Kernels share a function only if equal numbers of one are equal in the other. A number
    stays a constant of the function where code that knows it is faster: what is divided by,
    the step of a loop, and the end of one with fewer than 8 iterations. Vectors,
    such as the mask of the last elements of a row, and floats are never arguments.
    Results do not change by a bit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def ExpandBF16Pass : Pass<"mpt-expand-bf16"> {
  let summary = "Round f32 to bf16 by integer arithmetic, or by AVX512_BF16";
  let description = [{
    Replaces `arith.truncf` from f32 to bf16. A value that is widened again at once stays
    32 bits wide. To nearest even; subnormal numbers are kept. A NaN keeps its sign and the
    upper bits of its payload, and becomes quiet; one of bf16 that no arithmetic has met
    may stay signaling.

    With `avx512-bf16`, vectors of 8 lanes, or of a multiple of 16, of which something reads the 16 bits are
    rounded by VCVTNEPS2BF16, to the same bits. That instruction takes subnormal numbers for zero:
    if VFPCLASSPS finds any, integer arithmetic rounds their lanes. One branch, which is
    expected not to be taken, decides for all roundings of one length before the first op that
    reads one.

    Other casts of bf16 are left to `--arith-expand=include-bf16`.
  }];
  let options = [
    Option<"avx512BF16", "avx512-bf16", "bool", /*default=*/"false",
           "The processor has AVX512_BF16, AVX512DQ and AVX512VL">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // MPT_CODEGEN_CPU_PASSES_TD
