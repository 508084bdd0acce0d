//===- StepOrder.h - The order of a step that needs the least arena -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_STEPORDER_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_STEPORDER_H

#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/Program/Transforms/SlotPlan.h"
#include "mpt/Memory/Planning/MemoryOrder.h"

namespace mpt {

/// The order that `function` asks for, else the one that `option` names; nullopt: the
/// best. Fails, after a diagnostic that begins with `pass`, on any other text.
llvm::FailureOr<std::optional<MemoryOrder>>
getWantedOrder(mlir::func::FuncOp function, llvm::StringRef option, llvm::StringRef pass);

/// What one order comes to.
struct OrderTrial {
  MemoryOrder order;
  /// The most bytes alive at one time, and the arena that was found. It is not searched
  /// for where the best order's is smaller than this peak.
  int64_t peak, arenaBytes;
};

/// The slots of a step, and the orders that were tried for it.
struct OrderedSlots {
  SlotPlan plan;
  MemoryOrder order = MemoryOrder::Keep;
  llvm::SmallVector<OrderTrial> trials;
};

/// Puts `schedule` into `order`, or without one into that with the smallest arena (of
/// equal ones the first in allMemoryOrders), and plans its slots. What the step
/// computes stays the same, to the bit. Without `needsBest` the first order is enough
/// whose arena is not above `options.mostBytes`.
OrderedSlots planOrderedSlots(mlir::func::FuncOp function, StepSchedule &schedule,
                              std::optional<MemoryOrder> order = std::nullopt,
                              ArenaOptions options = {}, bool needsBest = true);

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_STEPORDER_H
