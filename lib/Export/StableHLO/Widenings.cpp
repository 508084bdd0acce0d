//===- Widenings.cpp - One widening of each narrow value --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Widenings.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace {
/// A conversion and the shape ops before it, the last one first.
struct Widening {
  Operation *convert;
  SmallVector<Operation *> shapes;

  Operation *getFirst() const { return shapes.empty() ? convert : shapes.back(); }
};
} // namespace

static bool isWidening(Operation &op) {
  if (op.getName().getStringRef() != "stablehlo.convert")
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op.getOperand(0)));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op.getResult(0)));
  return from && to && from.getWidth() < to.getWidth();
}

static bool isShapeOp(Operation *op, Block &block) {
  return op && op->getBlock() == &block && op->getResult(0).hasOneUse() &&
         llvm::is_contained({"stablehlo.reshape", "stablehlo.transpose"},
                            op->getName().getStringRef());
}

static void mergeInBlock(Block &block) {
  llvm::MapVector<std::pair<Value, Type>, SmallVector<Widening>> groups;
  for (Operation &op : block) {
    if (!isWidening(op))
      continue;
    Widening widening{&op, {}};
    Value from = op.getOperand(0);
    while (isShapeOp(from.getDefiningOp(), block)) {
      widening.shapes.push_back(from.getDefiningOp());
      from = from.getDefiningOp()->getOperand(0);
    }
    groups[{from, getElementTypeOrSelf(op.getResult(0))}].push_back(std::move(widening));
  }
  // What a conversion that is merged becomes; another may begin there.
  IRMapping merged;
  SmallVector<Operation *> dead;
  for (auto &[key, widenings] : groups) {
    if (widenings.size() < 2)
      continue;
    auto [original, element] = key;
    Value from = merged.lookupOrDefault(original);
    auto widen = [element = element](Value value) {
      return cast<ShapedType>(value.getType()).clone(element);
    };
    Operation *first =
        llvm::min_element(widenings, [](const Widening &a, const Widening &b) {
          return a.getFirst()->isBeforeInBlock(b.getFirst());
        })->getFirst();
    OpBuilder builder(first);
    OperationState state(first->getLoc(), "stablehlo.convert", from, widen(from), {});
    Value wide = builder.create(state)->getResult(0);
    for (Widening &widening : widenings) {
      Value last = wide;
      for (Operation *shape : llvm::reverse(widening.shapes)) {
        shape->setOperand(0, last);
        last = shape->getResult(0);
        last.setType(widen(last));
      }
      widening.convert->getResult(0).replaceAllUsesWith(last);
      merged.map(widening.convert->getResult(0), last);
      dead.push_back(widening.convert);
    }
  }
  for (Operation *convert : dead)
    convert->erase();
}

void mpt::tostablehlo::mergeWidenings(Region &region) {
  for (Block &block : region) {
    mergeInBlock(block);
    for (Operation &op : block)
      for (Region &inner : op.getRegions())
        mergeWidenings(inner);
  }
}
