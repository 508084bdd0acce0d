//===- PlannedFor.h - What a step is planned for -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_PLANNEDFOR_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_PLANNEDFOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"

namespace mpt {

/// kPlannedForAttr of `function`, which may lie in no module; null if there is none.
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

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_PLANNEDFOR_H
