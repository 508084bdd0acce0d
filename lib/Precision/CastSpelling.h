//===- CastSpelling.h - Casts as each dialect writes them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_CASTSPELLING_H
#define MPT_LIB_PRECISION_CASTSPELLING_H

#include "mlir/IR/Builders.h"
#include "mpt/Precision/OpRule.h"

#include <memory>

namespace mpt {

/// Makes the casts of one run of autocast.
class CastBuilder {
public:
  /// Casts `value` to `type`, whose elements are floats, where `builder` stands.
  /// `spelling` is its dialect's; null stands for `mpt.cast`. Own casts are marked
  /// as such; others are the program's.
  mlir::Value make(mlir::OpBuilder &builder, mlir::Location loc,
                   const DialectSpelling *spelling, mlir::Type type, mlir::Value value,
                   bool widens, bool isOwn);

private:
  /// The operands that follow the tensor of `torch.aten.to.dtype`: constants, made
  /// once at the start of each function.
  struct TorchConstants {
    /// By code of the type.
    llvm::SmallDenseMap<int64_t, mlir::Value> dtypes;
    mlir::Value no, none;
    mlir::Operation *last = nullptr;
  };
  void addTorchOperands(mlir::OpBuilder &builder, mlir::OperationState &state);

  /// What all casts of one dialect in one direction share.
  struct Form {
    mlir::OperationName name;
    mlir::DictionaryAttr attributes;
  };
  /// By whether it widens and whether it is own.
  llvm::DenseMap<const DialectSpelling *, std::unique_ptr<Form>> forms[2][2];
  llvm::DenseMap<mlir::Block *, TorchConstants> torchConstants;
};

} // namespace mpt

#endif // MPT_LIB_PRECISION_CASTSPELLING_H
