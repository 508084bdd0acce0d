//===- WideTemporaries.cpp - What is read where it is made -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Kernel/Transforms/WideTemporaries.h"

#include "mpt/Dialect/Kernel/Transforms/FusionPlan.h"
#include "mpt/Dialect/MPT/IR/DiscardableAttributes.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpt;

namespace {

RankedTensorType typeOf(Operation *op) {
  return op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                  : RankedTensorType();
}

/// Whether `op` computes one element at a time, floats of whatever type it is given.
bool isArithmetic(Operation *op) {
  RankedTensorType type = typeOf(op);
  auto inferred = dyn_cast<InferTypeOpInterface>(op);
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!type || !type.hasStaticShape() || !inferred || !precision ||
      !isa<ElementwiseOpInterface>(op) || !isa<FloatType>(type.getElementType()) ||
      precision.isFixedPrecisionResult(0) || isFusibleLoad(op))
    return false;
  Type wide = type.clone(Float32Type::get(op->getContext()));
  return inferred.isCompatibleReturnTypes(type, wide);
}

/// Whether `op` may add what pads have set apart, as gradients of slices: parts that are
/// written in place, and rounded nowhere.
bool addsParts(Operation *op) {
  return isa<AddOp>(op) && llvm::any_of(op->getOperands(), [](Value operand) {
           return operand.getDefiningOp<PadOp>();
         });
}

/// Whether `op` normalizes a tensor of its result's type, which its gradient reads: each
/// reader makes the result again from that (duplicateCheapOps in FuseKernels.cpp).
bool isNorm(Operation *op) {
  if (!isa<BatchNormOp, BatchNormInferenceOp, LayerNormOp, RMSNormOp>(op))
    return false;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return type.hasStaticShape() && op->getOperand(0).getType() == type;
}

/// Finds equal ops.
class Numbering {
public:
  explicit Numbering(Block &block) {
    for (Operation &op : block)
      number(op);
  }
  /// The first op of those that are equal to `op`.
  Operation *operator[](Operation *op) const { return first.lookup(op); }

private:
  static constexpr OperationEquivalence::Flags flags =
      OperationEquivalence::Flags(OperationEquivalence::IgnoreLocations |
                                  OperationEquivalence::IgnoreDiscardableAttrs);

  /// What all values have in common that are equal to `value`.
  Value getCommon(Value value) const {
    while (auto barrier = value.getDefiningOp<BarrierOp>())
      value = barrier.getInputs()[cast<OpResult>(value).getResultNumber()];
    Operation *op = value.getDefiningOp();
    Operation *same = op ? first.lookup(op) : nullptr;
    return same ? Value(same->getResult(cast<OpResult>(value).getResultNumber())) : value;
  }

  void number(Operation &op) {
    const size_t hash = OperationEquivalence::computeHash(
        &op, [&](Value operand) { return hash_value(getCommon(operand)); },
        OperationEquivalence::ignoreHashValue, flags);
    for (Operation *other : byHash[hash])
      if (OperationEquivalence::isEquivalentTo(
              other, &op,
              [&](Value a, Value b) { return success(getCommon(a) == getCommon(b)); },
              /*markEquivalent=*/nullptr, flags)) {
        first[&op] = other;
        return;
      }
    byHash[hash].push_back(&op);
    first[&op] = &op;
  }

  DenseMap<Operation *, Operation *> first;
  DenseMap<size_t, SmallVector<Operation *, 1>> byHash;
};

} // namespace

SmallVector<Operation *> mpt::findWideTemporaries(Block &block) {
  // Ops after the same number of heavy calls may be in one kernel.
  DenseMap<Operation *, unsigned> epochs;
  SmallVector<Operation *> candidates;
  unsigned epoch = 0;
  for (Operation &op : block) {
    epochs[&op] = epoch;
    epoch += isHeavyCall(&op);
    if (!isNorm(&op) && (!isArithmetic(&op) || addsParts(&op)))
      continue;
    Type type = getElementTypeOrSelf(op.getResult(0));
    if (type.isBF16() || type.isF16())
      candidates.push_back(&op);
  }
  if (candidates.empty())
    return candidates;
  const Numbering numbering(block);
  // What is repeated counts where it first stood.
  auto getEpoch = [&](Operation *op) { return epochs.lookup(numbering[op]); };
  auto isRounded = [&](Operation *op) {
    Value result = op->getResult(0);
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    return result.use_empty() || llvm::any_of(result.getUses(), [&](OpOperand &use) {
             Operation *user = use.getOwner();
             // What records magnitudes decides nothing.
             if (user->hasAttr(kRecordAttr))
               return false;
             return user->getBlock() != &block || !isArithmetic(user) ||
                    cast<PrecisionOpInterface>(user).isFixedPrecisionOperand(
                        use.getOperandNumber()) ||
                    typeOf(user).getShape() != shape ||
                    (!isNorm(op) && getEpoch(user) != getEpoch(op));
           });
  };
  llvm::SmallDenseSet<Operation *> rounded;
  for (Operation *op : candidates)
    if (isRounded(op))
      rounded.insert(numbering[op]);
  llvm::erase_if(candidates,
                 [&](Operation *op) { return rounded.contains(numbering[op]); });
  return candidates;
}
