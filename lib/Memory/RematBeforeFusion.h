//===- RematBeforeFusion.h - Repeats ops that fusion absorbs ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ops other than matmuls and convolutions are repeated before a step is fused: their
/// clones become part of the kernels that read them, so that nothing is stored for them.
/// Fusion may then put a sum into another kernel; what adds in another order would change
/// bits, and is found here.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_MEMORY_REMATBEFOREFUSION_H
#define MPT_LIB_MEMORY_REMATBEFOREFUSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpt/Precision/RuleTable.h"
#include "llvm/ADT/DenseMap.h"

#include <set>
#include <string>

namespace mpt::detail {

/// An op that was repeated, the bytes of its results, and RematNode::repeatCost.
struct RepeatedOp {
  mlir::Location location;
  llvm::StringRef name;
  int64_t bytes, cost;
};

/// True if an op says `mpt.save = "never"`.
bool hasNeverMarks(mlir::func::FuncOp function);

/// Marks where the backward pass begins, in a form that decomposing keeps.
void markBackward(mlir::func::FuncOp function);

/// Numbers the reductions of a decomposed step, so that their clones and the kernels
/// that take them can be told.
void numberSums(mlir::func::FuncOp function);

/// Removes what markBackward and numberSums put there.
void eraseTemporaryMarks(mlir::func::FuncOp function);

/// And `mpt.save`.
void eraseMarks(mlir::func::FuncOp function);

/// Removes `mpt.save = "never"`.
void eraseNeverMarks(mlir::func::FuncOp function);

/// Repeats in the backward pass what `mpt.save = "never"` asks for, and unless
/// `onlyMarked` what the strategy `mincut` repeats, at a price (planFreeRemat). `order`
/// becomes that in which the ops run, by number. Fails with a diagnostic.
mlir::FailureOr<llvm::SmallVector<RepeatedOp>>
repeatBeforeFusion(mlir::func::FuncOp function, RuleTable &rules,
                   std::vector<uint32_t> &order, bool onlyMarked, double price = 0);

/// How each numbered sum of a fused step is taken: everything that its order depends on.
/// Kernels of GPUs divide the dimensions of rows among threads; on CPUs a sum of columns
/// takes all rows one after another, so only their number counts.
using SumOrders = llvm::DenseMap<int64_t, std::set<std::string>>;
SumOrders getSumOrders(mlir::func::FuncOp function, bool isForGPU);

/// The number of a sum that `other` takes in another order than `plain`, or nullopt.
std::optional<int64_t> findOtherSum(const SumOrders &plain, const SumOrders &other);

} // namespace mpt::detail

#endif // MPT_LIB_MEMORY_REMATBEFOREFUSION_H
