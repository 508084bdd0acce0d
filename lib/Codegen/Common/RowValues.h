//===- RowValues.h - What loops over a row share ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_COMMON_ROWVALUES_H
#define MPT_LIB_CODEGEN_COMMON_ROWVALUES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpt::detail {

/// A kernel's row is walked once for each level of row reductions, and once more for what
/// is stored. Chooses the values of `body` that one walk computes and a later one reads,
/// and that cost more to compute again than to keep. Gives the level of the walk that
/// computes each.
///
/// `isFull` says whether a value has an element for each column, `levels` how many row
/// reductions, one after the other, a value waits for. `columns` are the elements that a
/// kept value takes. In all, kept values take at most 16 KiB if one of them in f32 does,
/// else 256 KiB, and then each must cost more.
llvm::DenseMap<mlir::Value, unsigned>
chooseRowValues(mlir::Block &body, llvm::function_ref<bool(mlir::Value)> isFull,
                const llvm::DenseMap<mlir::Value, unsigned> &levels, unsigned mostLevels,
                int64_t columns);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_COMMON_ROWVALUES_H
