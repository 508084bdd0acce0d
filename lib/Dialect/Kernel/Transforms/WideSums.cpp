//===- WideSums.cpp - Gradients that are added again and again -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/WideSums.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpt;

/// With fewer sums in a row there is one rounding to save at most.
static constexpr unsigned kFewest = 3;

/// The sums of half precision in `block` that follow from a gradient's seed. What pads
/// have set apart is written in place, and rounded nowhere.
static SmallVector<AddOp> findSumsOfGradients(Block &block) {
  SmallVector<AddOp> sums;
  llvm::SmallDenseSet<Operation *> gradients;
  for (Operation &op : block) {
    const bool isGradient =
        isa<GradSeedOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return gradients.contains(operand.getDefiningOp());
        });
    if (!isGradient)
      continue;
    gradients.insert(&op);
    auto sum = dyn_cast<AddOp>(op);
    auto type = sum ? dyn_cast<RankedTensorType>(sum.getType()) : RankedTensorType();
    if (type && type.hasStaticShape() &&
        (type.getElementType().isBF16() || type.getElementType().isF16()) &&
        llvm::none_of(op.getOperands(),
                      [](Value operand) { return operand.getDefiningOp<PadOp>(); }))
      sums.push_back(sum);
  }
  return sums;
}

SmallVector<WideSum> mpt::findWideSums(Block &block) {
  SmallVector<AddOp> sums = findSumsOfGradients(block);
  llvm::SmallDenseSet<Operation *> isSum(sums.begin(), sums.end());
  auto getNext = [&](AddOp sum) {
    SmallVector<AddOp, 1> next;
    for (Operation *user : sum->getUsers())
      if (auto other = dyn_cast<AddOp>(user); other && isSum.contains(other) &&
                                              other.getType() == sum.getType() &&
                                              !llvm::is_contained(next, other))
        next.push_back(other);
    return next;
  };
  // The longest rows of sums that end and begin with each, itself included.
  DenseMap<Operation *, unsigned> before, after;
  for (AddOp sum : sums) {
    unsigned &length = before[sum];
    length = std::max(length, 1u);
    const unsigned nextLength = length + 1;
    for (AddOp next : getNext(sum))
      before[next] = std::max(before[next], nextLength);
  }
  for (AddOp sum : llvm::reverse(sums)) {
    unsigned length = 1;
    for (AddOp next : getNext(sum))
      length = std::max(length, after.lookup(next) + 1);
    after[sum] = length;
  }
  SmallVector<WideSum> found;
  for (AddOp sum : sums) {
    if (before.lookup(sum) + after.lookup(sum) - 1 < kFewest)
      continue;
    WideSum wide{sum, getNext(sum)};
    const bool isReadLow = llvm::any_of(sum->getUsers(), [&](Operation *user) {
      return !llvm::is_contained(wide.next, user);
    });
    if (!wide.next.empty() && isReadLow)
      found.push_back(std::move(wide));
  }
  return found;
}
