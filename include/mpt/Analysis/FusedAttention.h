//===- FusedAttention.h - Attention that a GPU does as a whole -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_ANALYSIS_FUSEDATTENTION_H
#define MPT_ANALYSIS_FUSEDATTENTION_H

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpt {

/// A string on a function, or on the module that it is in: what it is planned for, as
/// `target` of mpt.program. Workspaces are sized for a GPU if it begins with "cuda". It is
/// there while a pass plans.
inline constexpr llvm::StringLiteral kPlannedForAttr = "mpt.planned_for";

/// That attribute of `function`, which may lie in no module; null if there is none.
mlir::StringAttr getPlannedFor(mlir::Operation *function);

/// While it lives, `module` has that attribute for `target`, unless that is empty.
class PlannedFor {
public:
  PlannedFor(mlir::ModuleOp module, llvm::StringRef target);
  ~PlannedFor();
  PlannedFor(const PlannedFor &) = delete;
  PlannedFor &operator=(const PlannedFor &) = delete;

private:
  mlir::ModuleOp module;
  mlir::Attribute before;
};

/// On an `mpt.attention` or its gradient: it is not decomposed, but stays one
/// instruction of the step.
inline constexpr llvm::StringLiteral kFusedAttr = "mpt.fused";

/// On the declaration that a program's launches of fused attention name: the op's
/// attributes. createConvertProductsToGPUPass puts device functions in its place.
inline constexpr llvm::StringLiteral kAttentionAttr = "mpt.attention";

/// Why there are no device functions for an attention or its gradient; "" if there are.
/// They take operands that are all f16 or all bf16 (the log-sum-exp f32), of static
/// shape, one shape for key and value, and head sizes that are multiples of 16 from 32
/// to 128.
std::string explainUnfusedAttention(mlir::Operation *op);

/// Marks all that can be fused with kFusedAttr, and emits the remark
/// mpt.cuda.attention-decomposed for all that cannot.
void markFusedAttention(mlir::Operation *root);

} // namespace mpt

#endif // MPT_ANALYSIS_FUSEDATTENTION_H
