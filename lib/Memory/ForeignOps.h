//===- ForeignOps.h - Ops of StableHLO, which is not registered -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_FOREIGNOPS_H
#define MPT_LIB_MEMORY_FOREIGNOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mpt::detail {

/// Whether `op`, which may be null, is stablehlo.`name`.
bool isForeignOp(mlir::Operation *op, llvm::StringRef name);

/// Makes ops of StableHLO in front of an op.
class ForeignBuilder {
public:
  explicit ForeignBuilder(mlir::Operation *before)
      : builder(before), loc(before->getLoc()) {}

  mlir::Value make(llvm::StringRef name, mlir::ValueRange operands, mlir::Type type,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// All elements are `value`.
  mlir::Value makeConstant(mlir::RankedTensorType type, mlir::Attribute value);
  mlir::Value makeZeros(mlir::RankedTensorType type);
  mlir::Value makeInteger(mlir::Type type, int64_t value);
  /// `value`, an integer without dimensions, within [least, most].
  mlir::Value makeClamp(mlir::Value value, int64_t least, int64_t most);
  /// Slice `index` of dimension 0, which keeps the dimension.
  mlir::Value makeRow(mlir::Value whole, mlir::Value index);
  mlir::Value makeUpdate(mlir::Value whole, mlir::Value row, mlir::Value index);
  mlir::NamedAttribute getIntegers(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
  }

  mlir::OpBuilder builder;
  mlir::Location loc;
};

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_FOREIGNOPS_H
