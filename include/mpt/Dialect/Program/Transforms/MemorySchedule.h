//===- MemorySchedule.h - The order of a step that needs the least arena -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_MEMORYSCHEDULE_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_MEMORYSCHEDULE_H

#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/Program/Transforms/BufferAssignment.h"
#include "mpt/Memory/Planning/OrderHeuristic.h"

namespace mpt {

/// The order that `function` asks for, else the one that `option` names; nullopt: the
/// best. Fails, after a diagnostic that begins with `pass`, on any other text.
llvm::FailureOr<std::optional<OrderHeuristic>>
getWantedOrder(mlir::func::FuncOp function, llvm::StringRef option, llvm::StringRef pass);

/// What one order comes to.
struct OrderTrial {
  OrderHeuristic order;
  /// The most bytes alive at one time, and the arena that was found. Offsets are not
  /// searched for where another order's arena is smaller than this peak.
  int64_t peak, arenaBytes;
};

/// The buffers of a step, and the orders that were tried for it.
struct MemorySchedule {
  BufferAssignment plan;
  OrderHeuristic order = OrderHeuristic::Keep;
  llvm::SmallVector<OrderTrial> trials;
};

/// Puts `schedule` into `order`, or without one into that with the smallest arena (of
/// equal ones the first in allOrderHeuristics), and assigns its buffers. What the step
/// computes stays the same, to the bit. Without `needsBest` the first order is enough
/// whose arena is not above `options.mostBytes`.
MemorySchedule scheduleForMemory(mlir::func::FuncOp function, InstructionList &schedule,
                                 std::optional<OrderHeuristic> order = std::nullopt,
                                 ArenaOptions options = {}, bool needsBest = true);

/// Moves the pointwise kernels of `schedule` that nothing else waits for to its end, such
/// as updates of parameters (LateUpdates.h), if what they read is so little that reading
/// it from a GPU's memory takes less time than a launch, and if the arena grows by at
/// most 1/64 or 16 MiB. Otherwise, and if the function has a memory budget of its own,
/// changes nothing.
void delayUpdates(mlir::func::FuncOp function, InstructionList &schedule,
                  MemorySchedule &planned);

/// Gives values of `schedule` memory of their own, but for those that take the place of
/// an operand, if the arena then has at most 8 MiB: instructions of a GPU that are
/// independent may run at once (mpt/ProgramABI/BranchPlan.h). Otherwise, and if the
/// function has a memory budget of its own, changes nothing.
void separateValues(mlir::func::FuncOp function, const InstructionList &schedule,
                    MemorySchedule &planned);

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_MEMORYSCHEDULE_H
