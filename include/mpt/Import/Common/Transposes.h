//===- Transposes.h - Fewer transposes after an import ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_IMPORT_COMMON_TRANSPOSES_H
#define MPT_IMPORT_COMMON_TRANSPOSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpt {

/// Makes one transpose of two that only elementwise ops of one tensor (and of numbers),
/// slices and pads lie between, each with one reader: the ops run on what the first
/// transposes. Two that undo each other go. So a ReLU between two layers that transpose
/// to channels-last and back runs in the layers' layout.
void joinTransposes(mlir::func::FuncOp function);

} // namespace mpt

#endif // MPT_IMPORT_COMMON_TRANSPOSES_H
