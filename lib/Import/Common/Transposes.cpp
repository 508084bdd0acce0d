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

/// The operand that `op` runs over if it is a slice, a pad or an elementwise op of one
/// tensor and numbers, with one reader; else null.
static OpOperand *getTensorOperand(Operation *op) {
  if (isa<SliceOp, PadOp>(op))
    return op->hasOneUse() ? &op->getOpOperand(0) : nullptr;
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

static void join(TransposeOp second) {
  // From the second back to the first.
  SmallVector<OpOperand *> between;
  Value x = second.getX();
  TransposeOp first;
  while (Operation *op = x.getDefiningOp()) {
    // What is outside of a loop stays there.
    if (op->getBlock() != second->getBlock())
      return;
    if ((first = dyn_cast<TransposeOp>(op)))
      break;
    OpOperand *operand = getTensorOperand(op);
    if (!operand)
      return;
    between.push_back(operand);
    x = operand->get();
  }
  if (!first || between.empty())
    return;
  auto source = cast<RankedTensorType>(first.getX().getType());
  SmallVector<int64_t> permutation, shape;
  for (int64_t dim : second.getPermutation()) {
    permutation.push_back(first.getPermutation()[dim]);
    shape.push_back(source.getDimSize(permutation.back()));
  }
  OpBuilder builder(second);
  Value value = first.getX();
  if (!llvm::is_sorted(permutation))
    value = TransposeOp::create(builder, second.getLoc(), source.clone(shape), value,
                                permutation);
  for (OpOperand *operand : llvm::reverse(between)) {
    Operation *op = operand->getOwner();
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
  }
  second.getY().replaceAllUsesWith(value);
  second.erase();
  for (OpOperand *operand : between)
    operand->getOwner()->erase();
}

void mpt::joinTransposes(func::FuncOp function) {
  SmallVector<TransposeOp> transposes;
  function.walk([&](TransposeOp op) { transposes.push_back(op); });
  // The last first: those that go have been looked at.
  for (TransposeOp op : llvm::reverse(transposes))
    join(op);
}
