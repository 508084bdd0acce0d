//===- LibraryCallOpInterface.td - The interface of library calls -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_IR_LIBRARYCALLOPINTERFACE_TD
#define MPT_DIALECT_PROGRAM_IR_LIBRARYCALLOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def LibraryCallOpInterface : OpInterface<"LibraryCallOpInterface"> {
  let cppNamespace = "::mpt::program";
  let description = [{
    A library call on packed buffers: inputs, then outputs, then the workspace if there is
    one. Implemented by the ops of `Calls.td`.
  }];
  let methods = [
    InterfaceMethod<"The buffers that the call reads.", "::mlir::OperandRange",
                    "getInputs">,
    InterfaceMethod<"The buffers that the call writes, without the workspace.",
                    "::mlir::OperandRange", "getOutputs">,
    InterfaceMethod<"The call's attributes as the program table stores them.",
                    "::mpt::rt::LibraryCall", "getCall">,
    InterfaceMethod<"The memory that the call may use; null if it has none.",
                    "::mlir::Value", "getCallWorkspace", (ins), [{
                      return $_op.getWorkspace();
                    }]>,
    InterfaceMethod<"The memory that the call may use, to be assigned or cleared.",
                    "::mlir::MutableOperandRange", "getCallWorkspaceMutable", (ins), [{
                      return $_op.getWorkspaceMutable();
                    }]>
  ];
}

#endif // MPT_DIALECT_PROGRAM_IR_LIBRARYCALLOPINTERFACE_TD
