//===- DifferentiableOpInterface.td - Reverse-mode rules -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define MPT_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mpt";
  let description = [{
    The vector-Jacobian product of one op, as ops of the same dialect.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands for which `needed[i]` is set, at the
      builder's insertion point.

      `resultGrads[i]` is the gradient of result i, of the result's type, or
      null where no gradient reaches that result; at least one is set.
      `operandGrads` arrives with one null value per operand; the rule fills in
      those it has. Each must have the operand's type. An entry left null means
      a gradient of zero (integer operands, stopped paths). Fails after emitting
      a diagnostic on the op if a needed gradient has no rule.
    }], "::llvm::LogicalResult", "buildGradients",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultGrads,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>
  ];
}

#endif // MPT_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
