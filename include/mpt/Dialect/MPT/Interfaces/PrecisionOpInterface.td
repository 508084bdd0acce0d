//===- PrecisionOpInterface.td - How autocast may treat an op -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_INTERFACES_PRECISIONOPINTERFACE_TD
#define MPT_INTERFACES_PRECISIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpt";
  let description = [{
    Tells automatic mixed precision how an op may be treated. An op that does
    not implement it is a barrier: it keeps its types and nothing is painted
    through it.
  }];
  let methods = [
    InterfaceMethod<[{
      The op's class for the low-precision type `low` (f16 or bf16): allow,
      deny, infer, clear or stable. Defaults of a policy; lists override it.
    }], "::mpt::PrecisionClass", "getPrecisionClass",
      (ins "::mlir::Type":$low)>,
    InterfaceMethod<[{
      True if operand `index` keeps the element type it has whatever the op's
      precision is (statistics, loss scales, predicates). Such an operand gets
      no cast and takes no part in painting.
    }], "bool", "isFixedPrecisionOperand", (ins "unsigned":$index),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      True if result `index` keeps its element type whatever the op's
      precision is.
    }], "bool", "isFixedPrecisionResult", (ins "unsigned":$index),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      True if the op with low operands can also return f32 at no cost (a matmul
      that sums in f32).
    }], "bool", "hasWideResults", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      True if the op only converts element types: a cast.
    }], "bool", "isElementCast", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">
  ];
}

#endif // MPT_INTERFACES_PRECISIONOPINTERFACE_TD
