//===- ElementRegionOpInterface.td - Scalar code in a region -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_INTERFACES_ELEMENTREGIONOPINTERFACE_TD
#define MPT_INTERFACES_ELEMENTREGIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ElementRegionOpInterface : OpInterface<"ElementRegionOpInterface"> {
  let cppNamespace = "::mpt";
  let description = [{
    An op whose region is code on single elements of its operands (linalg's
    structured ops). Low elements are widened where the region reads them and
    rounded where it yields them, so that it computes in f32 whatever the tensors
    are. Its class is refined by what is inside: an op that only moves or compares
    elements is clear, one that yields what a denied op makes is denied.
  }];
  let methods = [
    InterfaceMethod<[{
      The region.
    }], "::mlir::Region &", "getElementRegion", (ins)>,
    InterfaceMethod<[{
      True if several elements of the operands make one of a result (a sum, a
      matmul). The results then are f32.
    }], "bool", "combinesElements", (ins)>,
    InterfaceMethod<[{
      True if the op with f32 results may read operand `index` in any type.
    }], "bool", "readsAnyElement", (ins "unsigned":$index)>,
    InterfaceMethod<[{
      The types of operands or results have changed: makes the region fit them.
      Changes nothing where it does already.
    }], "void", "convertElementRegion", (ins)>
  ];
}

#endif // MPT_INTERFACES_ELEMENTREGIONOPINTERFACE_TD
