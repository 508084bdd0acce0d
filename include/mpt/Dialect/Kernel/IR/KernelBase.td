//===- KernelBase.td - The mpt_kernel dialect -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_KERNEL_IR_KERNELBASE_TD
#define MPT_DIALECT_KERNEL_IR_KERNELBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Kernel_Dialect : Dialect {
  let name = "mpt_kernel";
  let cppNamespace = "::mpt::kernel";
  let summary = "Fused kernels: one scalar body for every point of a domain";
  let description = [{
    `--mpt-fuse-kernels` makes `mpt_kernel.kernel` of elementwise ops and reductions of
    the `mpt` dialect; planning makes each distinct one an `mpt_kernel.func`, which
    launches of a program name. A body computes one point on scalars, with ops of
    `arith` and `math` and the ops of this dialect. It never touches memory.
  }];
  let dependentDialects = ["::mpt::MPTDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def Kernel_KindEnum : I32EnumAttr<"KernelKind", "how a kernel walks its domain", [
  I32EnumAttrCase<"Pointwise", 0, "pointwise">, I32EnumAttrCase<"Row", 1, "row">,
  I32EnumAttrCase<"Column", 2, "column">]> {
  let cppNamespace = "::mpt::kernel";
  let genSpecializedAttr = 0;
}
def Kernel_Kind : EnumAttr<Kernel_Dialect, Kernel_KindEnum, "kind"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // MPT_DIALECT_KERNEL_IR_KERNELBASE_TD
