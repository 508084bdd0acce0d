//===- LaunchTable.h - Which blocks of a launch do what -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_LAUNCHTABLE_H
#define MPT_LIB_CODEGEN_CUDA_LAUNCHTABLE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mpt::detail {

/// A row of numbers for each member of a launch that does the work of many, in
/// constant memory where it fits. Field 0 is the member's first block.
class LaunchTable {
public:
  using Value = mlir::Value;

  /// `rows` has `width` fields for each member.
  LaunchTable(mlir::OpBuilder &module, mlir::Location loc, llvm::StringRef function,
              llvm::ArrayRef<int64_t> rows, int64_t width);

  /// Code that finds the last member that begins at or before `block` (i32).
  Value find(mlir::OpBuilder &b, Value block);
  /// A field (i64) of the member that find has found.
  Value read(mlir::OpBuilder &b, int64_t field);

private:
  Value readOf(mlir::OpBuilder &b, Value member, int64_t field);

  mlir::Location loc;
  mlir::LLVM::GlobalOp global;
  Value base, member;
  int64_t width, size;
};

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_LAUNCHTABLE_H
