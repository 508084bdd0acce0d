//===- ResultNames.h - Results of training functions have names -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_TRANSFORMS_RESULTNAMES_H
#define MPT_DIALECT_MPT_TRANSFORMS_RESULTNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpt::detail {

/// The results without `mpt.name` of a function that trains: one with an argument that
/// has `mpt.role`, or with a result that has `mpt.updates`. Other functions need no
/// names.
llvm::SmallVector<unsigned> getUnnamedResults(mlir::func::FuncOp function);

/// Warns of each of them, where it is returned. For passes that may be the first to see a
/// function: silent if it holds ops that only passes make, since the first of those
/// warned.
void warnOfUnnamedResults(mlir::func::FuncOp function, llvm::StringRef pass);

} // namespace mpt::detail

#endif // MPT_DIALECT_MPT_TRANSFORMS_RESULTNAMES_H
