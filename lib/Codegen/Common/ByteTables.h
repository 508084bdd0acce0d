//===- ByteTables.h - What kernels compute of single bytes ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_BYTETABLES_H
#define MPT_LIB_CODEGEN_COMMON_BYTETABLES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

namespace mpt::detail {

/// A value of a kernel's body that depends on one i8 operand alone.
struct ByteTable {
  mlir::BlockArgument byte;
  /// f32, one element for each value of the byte from 0 to 255.
  mlir::DenseElementsAttr numbers;
};

/// The f32 values of `body` that others read, that are functions of one i8 operand and
/// that take so many instructions that a load for each element is cheaper: the numbers
/// of 8-bit codes. Tables hold what the instructions give, bit for bit.
llvm::DenseMap<mlir::Value, ByteTable> findByteTables(mlir::Block &body);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_COMMON_BYTETABLES_H
