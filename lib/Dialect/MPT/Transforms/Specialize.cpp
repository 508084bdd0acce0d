//===- Specialize.cpp - Give the batch a size -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sets dimension 0 of arguments that leave it open and infers every shape that
/// follows. Ops say what their results' shapes are; the few that do not are
/// handled here: a cast keeps its operand's shape, a reshape its number of
/// elements, and any other open dimension 0 is the batch.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"
#include "mpt/Dialect/MPT/Transforms/Passes.h"

namespace mpt {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;

namespace {
struct SpecializePass : public mpt::impl::SpecializePassBase<SpecializePass> {
  using SpecializePassBase::SpecializePassBase;
  void runOnOperation() override;

private:
  LogicalResult specialize(func::FuncOp function);
  LogicalResult refine(Operation *op);
};
} // namespace

static bool isOpen(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

static Type withShape(Type type, ArrayRef<int64_t> shape) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(shape, tensor.getElementType(), tensor.getEncoding());
}

/// The shape of a reshape to `wanted` of `count` elements, or failure if it is
/// not determined.
static FailureOr<SmallVector<int64_t>> solveReshape(ArrayRef<int64_t> wanted,
                                                    int64_t count) {
  SmallVector<int64_t> shape(wanted);
  int64_t known = 1, open = 0;
  for (int64_t size : wanted)
    ShapedType::isDynamic(size) ? ++open : known *= size;
  if (open != 1 || known == 0 || count % known != 0)
    return failure();
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = count / known;
  return shape;
}

/// Gives the results of the op around `yield`, whose operands are static, static types.
static void refineParent(Operation *yield) {
  auto scan = dyn_cast<ScanOp>(yield->getParentOp());
  for (auto [result, value] :
       llvm::zip(yield->getParentOp()->getResults(), yield->getOperands())) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
    if (scan && result.getResultNumber() >= scan.getNumCarried())
      shape.insert(shape.begin(), scan.getTripCount());
    result.setType(withShape(value.getType(), shape));
  }
}

/// Gives the results of `op`, whose operands are static, static types.
LogicalResult SpecializePass::refine(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op)) {
    auto arguments = scan.getBlock().getArguments();
    for (auto [argument, init] : llvm::zip(arguments, scan.getInits()))
      argument.setType(init.getType());
    for (auto [argument, input] :
         llvm::zip(arguments.drop_front(scan.getNumCarried()), scan.getInputs()))
      argument.setType(
          withShape(input.getType(),
                    cast<RankedTensorType>(input.getType()).getShape().drop_front()));
  }
  // Results of what has a body follow from what it yields.
  if (isa<CheckpointOp, ScanOp>(op))
    return success();
  if (isa<YieldOp>(op)) {
    refineParent(op);
    return success();
  }
  if (llvm::none_of(op->getResultTypes(), isOpen))
    return success();
  if (auto inference = dyn_cast<InferTypeOpInterface>(op)) {
    SmallVector<Type> inferred;
    if (failed(inference.inferReturnTypes(
            op->getContext(), op->getLoc(), op->getOperands(),
            op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
            op->getRegions(), inferred)))
      return failure(); // Inference has said why.
    // Element types are the op's own choice; only shapes are taken.
    for (auto [result, type] : llvm::zip_equal(op->getResults(), inferred))
      if (isOpen(result.getType()))
        result.setType(
            withShape(result.getType(), cast<RankedTensorType>(type).getShape()));
  } else {
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || type.hasStaticShape())
        continue;
      SmallVector<int64_t> shape(type.getShape());
      if (auto reshape = dyn_cast<ReshapeOp>(op)) {
        auto from = cast<RankedTensorType>(reshape.getX().getType());
        auto solved = solveReshape(shape, from.getNumElements());
        if (failed(solved))
          return op->emitError("expected one open size that divides ")
                 << from.getNumElements() << " elements, found " << type;
        shape = *solved;
      } else if (isa<CastOp>(op)) {
        shape.assign(cast<RankedTensorType>(op->getOperand(0).getType()).getShape());
      } else if (type.isDynamicDim(0)) {
        shape[0] = batch;
      }
      result.setType(withShape(type, shape));
    }
  }
  for (Type type : op->getResultTypes())
    if (isOpen(type))
      return op->emitError("expected every size to follow from the batch, "
                           "found ")
             << type;
  return success();
}

LogicalResult SpecializePass::specialize(func::FuncOp function) {
  bool changed = false;
  for (BlockArgument argument : function.getArguments()) {
    if (!isOpen(argument.getType()))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (!type.isDynamicDim(0) ||
        llvm::any_of(llvm::drop_begin(shape), ShapedType::isDynamic))
      return mlir::emitError(argument.getLoc(), "argument ")
             << argument.getArgNumber()
             << ": expected only dimension 0 to be open, found " << type;
    shape[0] = batch;
    argument.setType(withShape(type, shape));
    changed = true;
  }
  if (!changed)
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("expected a body of one block to specialize");
  WalkResult walked = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    return failed(refine(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  function.setType(
      FunctionType::get(&getContext(), function.getBody().getArgumentTypes(),
                        function.getBody().front().getTerminator()->getOperandTypes()));
  return success();
}

void SpecializePass::runOnOperation() {
  if (batch <= 0) {
    getOperation().emitError("mpt-specialize: expected batch to be at least 1, "
                             "found ")
        << batch.getValue();
    return signalPassFailure();
  }
  bool foundOpen = false;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    foundOpen |= llvm::any_of(function.getArgumentTypes(), isOpen);
    if (!function.isExternal() && failed(specialize(function)))
      return signalPassFailure();
  }
  if (!foundOpen)
    mpt::detail::warnOfNothingToDo(getOperation(), getArgument(),
                                   "no argument with an open dimension");
}
