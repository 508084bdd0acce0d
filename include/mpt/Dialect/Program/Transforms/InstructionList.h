//===- InstructionList.h - A fused step as launches and calls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A fused step function as a list of kernel launches and library calls in
/// order, over tensor values: what will run, before it is decided where
/// everything lives. Pure: the function is not changed.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_PROGRAM_TRANSFORMS_INSTRUCTIONLIST_H
#define MPT_DIALECT_PROGRAM_TRANSFORMS_INSTRUCTIONLIST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Dialect/Kernel/IR/Kernel.h"
#include "mpt/ProgramABI/Calls.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <vector>

namespace mpt {

/// A value's memory, or a part of it, seen with a shape (same element type and element
/// count, unless it is a part or a view with strides).
struct BufferView {
  /// The value that owns the memory: an argument, a constant, or the result of
  /// a scheduled op; never that of a reshape.
  mlir::Value value;
  mlir::RankedTensorType type;
  /// Elements from one index of each dimension to the next; none if it is packed.
  llvm::SmallVector<int64_t, 4> strides = {};
  /// Where it begins in that memory, in bytes.
  int64_t start = 0;

  /// Whether it is all of that memory.
  bool isWhole() const {
    return start == 0 &&
           type.getNumElements() ==
               mlir::cast<mlir::RankedTensorType>(value.getType()).getNumElements();
  }
};

struct LoopBody;

/// One entry of a step: the launch of `kernel`, a library call, a loop, or an attention
/// that device functions do (`op`, if there is none of these).
///
/// Of a loop, the inputs are all that it reads and the outputs what it carries and
/// changes, then what it stacks.
struct StepInstruction {
  /// Where it comes from. The instructions of one op follow each other, but for those
  /// that wait.
  mlir::Operation *op;
  mlir::Location loc;
  kernel::KernelOp kernel;
  std::optional<rt::LibraryCall> call;
  llvm::SmallVector<BufferView> inputs;
  llvm::SmallVector<BufferView> outputs;
  /// Bytes of workspace (calls), partial sums (column kernels) or what one iteration
  /// keeps (loops).
  int64_t scratchBytes = 0;
  /// Of a call, the outputs and inputs in whose place they may be written.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 3> overwrites = {};
  /// Of a loop: one iteration. Not changed once it is made.
  std::shared_ptr<const LoopBody> loop = nullptr;

  /// Whether it waits for the exchange that another instruction of its op has begun.
  bool isWait() const { return call && std::holds_alternative<rt::WaitCall>(*call); }
  /// Whether it and `other`, which follows it, are planned as one op.
  bool isPlannedWith(const StepInstruction &other) const {
    return op == other.op && isWait() == other.isWait();
  }
};

/// The schedule of one function.
struct InstructionList {
  std::vector<StepInstruction> instructions;
  /// Values that only rename other values' memory (results of mpt.reshape, mpt.barrier,
  /// casts that are rounded on read and transposes that attention does without), or
  /// are a part of it (JoinedParts.h), and the owner.
  llvm::DenseMap<mlir::Value, mlir::Value> owners;
  /// What the function returns, as owners.
  llvm::SmallVector<mlir::Value> returned;

  /// The value that owns `value`'s memory.
  mlir::Value getOwner(mlir::Value value) const {
    auto it = owners.find(value);
    return it == owners.end() ? value : it->second;
  }
};

/// Schedules `function`, which must have one block with static shapes and hold
/// nothing but kernels, ops that are library calls, constants, reshapes, casts that are
/// rounded on read (isRoundedOnRead), and loops of these (mpt.scan), whose iterations are
/// planned here.
/// Fails with a diagnostic that names the op and the pass to run first.
/// Exchanges between ranks overlap with other work (ExchangeOverlap.h).
/// Workspaces are sized for `target`, which also says what may be a call, and for at
/// most `maxThreads` threads.
mlir::FailureOr<InstructionList> listInstructions(mlir::func::FuncOp function,
                                                  int64_t maxThreads, TargetAttr target);

} // namespace mpt

#endif // MPT_DIALECT_PROGRAM_TRANSFORMS_INSTRUCTIONLIST_H
