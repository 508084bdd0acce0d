//===- Passes.td - Code that CPUs and GPUs share -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_COMMON_PASSES_TD
#define MPT_CODEGEN_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApproximateMathPass : Pass<"mpt-approximate-math"> {
  let summary = "Replace f32 exp, log, tanh, erf, sin and cos by polynomials";
  let description = [{
    Vectors and scalars are treated alike, so that a value does not depend on the lane or
    tail in which it is computed. Errors in units of f32's last place: sin and cos 0.6
    (arguments up to 2^48), log 2, exp and erf 4, tanh 5; subnormal results of
    exp become 0. Other functions, and those of f64, stay calls.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def ConvertProgramToLLVMPass : Pass<"mpt-convert-program-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Replace the `mpt_program.program` by its table and the symbol mpt_program";
  let description = [{
    The table (mpt/ProgramABI/ProgramFormat.h) becomes a constant, the kernels a
    table of function pointers, and both go into the exported descriptor that
    mpt_rt_program_open reads. Needs the kernels as LLVM functions in the same
    module.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // MPT_CODEGEN_COMMON_PASSES_TD
