//===- CallEncoding.h - Library calls in the program format -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library call's attributes and buffers as the runtime gets them. Planner and
/// code generator use the same encoding, so the workspace that is reserved is
/// the one that is used.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_CALLENCODING_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_CALLENCODING_H

#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt {

/// The program format's code of an element type; nullopt if it has none.
std::optional<rt::DataType> encodeElementType(mlir::Type type);

/// The library call that does a tensor op, with the op's attributes: its inputs are the
/// op's operands, its outputs the op's results. Nullopt if no single call does.
std::optional<rt::LibraryCall> getLibraryCall(mlir::Operation *op);

/// In how many ranks a program with `op`, a collective or mpt.rank, runs: those of the
/// mesh of its module. Fails with an error if there is no mesh (`op` is in a function of
/// its own, the body of a loop) or if ranks that do not meet at `op` run the program,
/// too.
mlir::FailureOr<int64_t> getProgramRanks(mlir::Operation *op);

/// The call that does the collective or mpt.rank `op`, for `tensors` of its operands:
/// one, or several of an all_reduce.
rt::LibraryCall getCollectiveCall(mlir::Operation *op, int64_t ranks, int64_t tensors);

/// `call` on packed buffers of the given shaped types. Places (space and offset) are left
/// at their defaults. Fails with an error at `loc`.
mlir::FailureOr<rt::Instruction> encodeCall(mlir::Location loc,
                                            const rt::LibraryCall &call,
                                            mlir::TypeRange inputs,
                                            mlir::TypeRange outputs);
/// The same of an op, without its workspace.
mlir::FailureOr<rt::Instruction> encodeCall(program::LibraryCallOpInterface call);

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_CALLENCODING_H
