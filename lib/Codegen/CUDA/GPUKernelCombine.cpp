//===- GPUKernelCombine.cpp - The second stage of column kernels -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Adds what the tasks have left: a warp's threads have a column each, and groups of
/// warps share the tasks.
///
//===----------------------------------------------------------------------===//

#include "GPUKernelEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// The sum of a column over all tasks: every group takes some, in turns; then the
/// groups' sums, in order. All groups have the result.
void GPUKernelEmitter::sumTasksInGroups(const ColumnPartials &part, Frame &frame) {
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  ReduceKind kind = reduce.getKind();
  Value start = identity(b, kind, vectorOf(reduce.getType(), frame.lanes));
  int64_t turns = llvm::divideCeil(tasks, combineGroups);
  Value first = widen(b, group);
  auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, turns),
                                 constant(b, 1), ValueRange{start});
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Frame turn = frame;
  turn.builder = &inner;
  Value task =
      arith::AddIOp::create(inner, loc,
                            arith::MulIOp::create(inner, loc, loop.getInductionVar(),
                                                  constant(inner, combineGroups)),
                            first);
  Value exists;
  if (tasks % combineGroups != 0) {
    exists = isBelow(inner, task, constant(inner, tasks));
    task = arith::MinUIOp::create(inner, loc, task, constant(inner, tasks - 1));
  }
  Value value =
      loadFrom(partialPointer(inner, part, task, frame.column), reduce.getType(), turn);
  if (exists)
    value = arith::SelectOp::create(inner, loc, exists, value,
                                    identity(inner, kind, value.getType()));
  scf::YieldOp::create(inner, loc, combine(inner, kind, loop.getRegionIterArg(0), value));
  value = loop.getResult(0);
  Type type = value.getType();
  barrier(b);
  LLVM::StoreOp::create(b, loc, value, sharedPointer(b, type, thread));
  barrier(b);
  for (int64_t i = 0; i < combineGroups; ++i) {
    Value at =
        arith::AddIOp::create(b, loc, inBlockRow, constant32(b, i * combineThreads));
    Value other = LLVM::LoadOp::create(b, loc, type, sharedPointer(b, type, at));
    value = i == 0 ? other : combine(b, kind, value, other);
  }
  if (kind == ReduceKind::Mean)
    value = scale(b, value, rows);
  frame.values[reduce] = value;
}

void GPUKernelEmitter::sumTasks(const ColumnPartials &part, Frame &frame) {
  if (frame.lanes != 0)
    return combineGroups > 1 ? sumTasksInGroups(part, frame)
                             : KernelEmitter::sumTasks(part, frame);
  // A warp shares the tasks.
  OpBuilder &b = *frame.builder;
  kernel::ColumnReduceOp reduce = part.op;
  Value lane = widen(b, arith::RemUIOp::create(b, loc, thread, constant32(b, kWarp)));
  Value start = identity(b, reduce.getKind(), reduce.getType());
  auto loop = scf::ForOp::create(b, loc, lane, constant(b, tasks), constant(b, kWarp),
                                 ValueRange{start});
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value pointer = partialPointer(inner, part, loop.getInductionVar(), Value());
  Value value = LLVM::LoadOp::create(inner, loc, reduce.getType(), pointer);
  scf::YieldOp::create(inner, loc,
                       combine(inner, reduce.getKind(), loop.getRegionIterArg(0), value));
  Value result = butterfly(b, reduce.getKind(), loop.getResult(0), kWarp);
  if (reduce.getKind() == ReduceKind::Mean)
    result = scale(b, result, rows);
  frame.values[reduce] = result;
}

void GPUKernelEmitter::emitCombineStage(OpBuilder &b) {
  isCombining = true;
  rowMask = Value();
  frames.clear();
  onlyColumn = Value();
  inBlockRow = thread;
  combineMask = Value();
  if (combineGroups > 1) {
    inBlockRow = arith::RemUIOp::create(b, loc, thread, constant32(b, combineThreads));
    group = arith::DivUIOp::create(b, loc, thread, constant32(b, combineThreads));
    combineMask =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group, constant32(b, 0));
  }
  inGroup = inBlockRow;
  if (combineBlocks > 1)
    inGroup = arith::AddIOp::create(
        b, loc, inBlockRow,
        arith::MulIOp::create(b, loc, block, constant32(b, combineThreads)));
  isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, inGroup, constant32(b, 0));
  emitCombine(b);
  isCombining = false;
}
