//===- Program.h - The mpt_program dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_IR_PROGRAM_H
#define MPT_DIALECT_PROGRAM_IR_PROGRAM_H

#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/ProgramABI/Calls.h"

#include "mpt/Dialect/Program/IR/ProgramDialect.h.inc"
#include "mpt/Dialect/Program/IR/ProgramEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/Program/IR/ProgramAttrs.h.inc"

#include "mpt/Dialect/Program/IR/LibraryCallOpInterface.h.inc"

#define GET_OP_CLASSES
#include "mpt/Dialect/Program/IR/ProgramOps.h.inc"

namespace mpt::program {

/// Elements from the first of a buffer of type `type` to its last, with those that lie
/// between if it has strides; nullopt if they cannot be counted.
std::optional<int64_t> countSpannedElements(mlir::MemRefType type);

/// Whether `op` is a convolution, or one of its gradients, that cuDNN is asked for.
bool isCudnnCall(mlir::Operation *op);

/// `call` without what an epilogue reads, does and writes.
rt::MatmulCall withoutEpilogue(rt::MatmulCall call);

/// The op of `call` on as many inputs and outputs as the call says (rt::getNumInputs,
/// rt::getNumOutputs). `workspace` may be null.
LibraryCallOpInterface createCall(mlir::OpBuilder &builder, mlir::Location loc,
                                  const rt::LibraryCall &call, mlir::ValueRange inputs,
                                  mlir::ValueRange outputs, mlir::Value workspace = {});

} // namespace mpt::program

#endif // MPT_DIALECT_PROGRAM_IR_PROGRAM_H
