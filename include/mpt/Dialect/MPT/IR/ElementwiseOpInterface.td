//===- ElementwiseOpInterface.td - Ops on single elements -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_ELEMENTWISEOPINTERFACE_TD
#define MPT_DIALECT_MPT_IR_ELEMENTWISEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::mpt";
  let description = [{
    An op of one result, each element of which is computed from one element of
    each operand: the one at its place after NumPy's broadcasting. Fusion puts
    such ops into kernels.

    MLIR's own trait `Elementwise` does not serve: its verifier wants all
    operands and results to have one shape, so no op may broadcast.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the computation of one element, in ops of `arith` and `math`.
      `operands` holds one element of each operand, of its element type. Returns
      a value of the result's element type, never null. Arithmetic on floats is
      in f32 (f64 if an operand or the result is f64) and rounded once.
    }], "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

#endif // MPT_DIALECT_MPT_IR_ELEMENTWISEOPINTERFACE_TD
