//===- Passes.td - Fused kernels -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_TRANSFORMS_PASSES_TD
#define MPT_DIALECT_KERNEL_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseKernelsPass : Pass<"mpt-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Fuse elementwise ops and reductions into `mpt_kernel.kernel`s";
  let dependentDialects = ["::mpt::kernel::KernelDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let options = [Option<"roundOnRead", "round-on-read", "bool", "false",
    "Leave casts of f32 arguments to f16 or bf16 to the library calls that read them "
    "(isRoundedOnRead); the CPU's calls round so">,
  Option<"mostSummedColumns", "most-summed-columns", "int64_t", "0",
    "Most columns of a kernel that both reduces rows and sums columns, 0 for any number; "
    "on a GPU a thread has no registers for the sums of longer rows">,
  Option<"attentionViews", "attention-views", "bool", "false",
    "Leave transposes around fused attention to it (isAttentionView); a GPU's attention "
    "takes strides">,
  Option<"transposedRows", "transposed-rows", "bool", "false",
    "Kernels that reduce rows of at most 256 elements read and write these where they lie "
    "before and after transposes, and a kernel that computes a tensor also reduces a "
    "dimension of it that is not the last; a CPU's vectors then take neighbouring rows">];
}

def WidenTemporariesPass : Pass<"mpt-widen-temporaries", "::mlir::ModuleOp"> {
  let summary = "Keep in f32 what kernels make and read without storing it";
  let description = [{
    A value in f16 or bf16 that elementwise arithmetic makes becomes f32 if elementwise ops of
    its shape alone read it, and no matmul, convolution, pooling or loop stands in between:
    fusion makes one kernel of these, which computes in f32 and then rounds only what it
    stores. Casts stay, and so does what shifts, reduces or stores a value, or a later part
    of the step, reads, and sums of pads, whose parts are written in place. The result of a norm
    becomes f32 if elementwise ops of its shape alone read it, also in a later part of the step:
    each of their kernels makes it of what was normalized. Of three or more sums of gradients in a
    row, each reads the one before in f32, where other ops read what is rounded. Decisions follow
    from the ops alone, whatever is repeated for a memory budget.
  }];
}

#endif // MPT_DIALECT_KERNEL_TRANSFORMS_PASSES_TD
