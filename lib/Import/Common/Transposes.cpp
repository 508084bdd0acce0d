//===- Transposes.cpp - Fewer transposes after an import --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Import/Common/Transposes.h"

#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mpt;

/// The operand that `op` runs over if it is a slice, a pad, a batch norm or an
/// elementwise op of one tensor and numbers, whose result has one reader, `second` or
/// what leads to it; else null.
static OpOperand *getTensorOperand(Operation *op, TransposeOp second) {
  if (isa<SliceOp, PadOp>(op))
    return op->hasOneUse() ? &op->getOpOperand(0) : nullptr;
  // Its statistics are of all dimensions but the last.
  if (auto norm = dyn_cast<BatchNormOp>(op))
    return norm.getY().hasOneUse() && second.getPermutation().back() ==
                                          int64_t(second.getPermutation().size()) - 1
               ? &norm.getXMutable()
               : nullptr;
  if (!isa<ElementwiseOpInterface>(op) || op->getNumResults() != 1 ||
      op->getNumRegions() != 0 || !op->hasOneUse())
    return nullptr;
  OpOperand *found = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      return nullptr;
    if (type.getRank() == 0)
      continue;
    if (found)
      return nullptr;
    found = &operand;
  }
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto type = found ? cast<RankedTensorType>(found->get().getType()) : RankedTensorType();
  return result && type && result.getShape() == type.getShape() ? found : nullptr;
}

static SmallVector<int64_t> turn(ArrayRef<int64_t> sizes, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t dim) { return sizes[dim]; });
}

/// The dimensions of what `first` transposes, after `first` and a transpose by `second`.
static SmallVector<int64_t> compose(TransposeOp first, ArrayRef<int64_t> second) {
  return turn(first.getPermutation(), second);
}

/// A transpose of a transpose is one of what that one transposes.
static void skipTranspose(TransposeOp second) {
  auto first = second.getX().getDefiningOp<TransposeOp>();
  if (!first || first->getBlock() != second->getBlock())
    return;
  SmallVector<int64_t> permutation = compose(first, second.getPermutation());
  second.getXMutable().assign(first.getX());
  second.setPermutation(permutation);
}

/// Whether `second` went: what lies between it and another one runs over what that one
/// transposes.
static bool join(TransposeOp second) {
  // From the second back to the first.
  SmallVector<OpOperand *> between;
  Value x = second.getX();
  TransposeOp first;
  while (Operation *op = x.getDefiningOp()) {
    // What is outside of a loop stays there.
    if (op->getBlock() != second->getBlock())
      return false;
    if ((first = dyn_cast<TransposeOp>(op)))
      break;
    OpOperand *operand = getTensorOperand(op, second);
    if (!operand)
      return false;
    between.push_back(operand);
    x = operand->get();
  }
  if (!first || between.empty())
    return false;
  auto source = cast<RankedTensorType>(first.getX().getType());
  const SmallVector<int64_t> permutation = compose(first, second.getPermutation()),
                             shape = turn(source.getShape(), permutation);
  // Other results than the one that runs on may be read before `second`.
  OpBuilder builder(between.back()->getOwner());
  Value value = first.getX();
  if (!llvm::is_sorted(permutation))
    value = TransposeOp::create(builder, second.getLoc(), source.clone(shape), value,
                                permutation);
  for (OpOperand *operand : llvm::reverse(between)) {
    Operation *op = operand->getOwner();
    builder.setInsertionPoint(op);
    IRMapping mapping;
    mapping.map(operand->get(), value);
    Operation *copy = builder.clone(*op, mapping);
    // What slices and pads say of each dimension.
    for (NamedAttribute attribute : op->getAttrs())
      if (auto sizes = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
          sizes && isa<SliceOp, PadOp>(op))
        copy->setAttr(attribute.getName(),
                      builder.getDenseI64ArrayAttr(turn(sizes, second.getPermutation())));
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    copy->getResult(0).setType(
        type.clone(turn(type.getShape(), second.getPermutation())));
    value = copy->getResult(0);
    for (auto [old, made] :
         llvm::drop_begin(llvm::zip_equal(op->getResults(), copy->getResults())))
      old.replaceAllUsesWith(made);
  }
  second.getY().replaceAllUsesWith(value);
  second.erase();
  for (OpOperand *operand : between)
    operand->getOwner()->erase();
  return true;
}

void mpt::joinTransposes(func::FuncOp function) {
  // One that two became may be joined with what lies before it.
  for (bool isDone = false; !isDone;) {
    SmallVector<TransposeOp> transposes, read;
    function.walk([&](TransposeOp op) {
      skipTranspose(op);
      transposes.push_back(op);
    });
    // The last first: those that go have been looked at.
    for (TransposeOp op : llvm::reverse(transposes))
      if (op.use_empty())
        op.erase();
      else
        read.push_back(op);
    isDone = true;
    for (TransposeOp op : read)
      if (!op.use_empty() && join(op))
        isDone = false;
  }
}
