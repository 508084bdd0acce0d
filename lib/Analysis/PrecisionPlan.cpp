//===- PrecisionPlan.cpp - Which ops run in low precision -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Analysis/PrecisionPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

using namespace mlir;
using namespace mpt;

StringRef mpt::stringifyPaintReason(PaintReason reason) {
  switch (reason) {
  case PaintReason::Allowed:
    return "on the allow list";
  case PaintReason::Between:
    return "between ops in low precision";
  case PaintReason::Follows:
    return "follows an op in low precision";
  case PaintReason::Neighbour:
    return "next to an op in low precision";
  case PaintReason::Cast:
    return "a cast that only ops in low precision read";
  }
  return "";
}

static bool isF32Tensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isF32();
}

bool mpt::isFreeOperand(Operation *op, unsigned index) {
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  return interface && isF32Tensor(op->getOperand(index).getType()) &&
         !interface.isFixedPrecisionOperand(index);
}

bool mpt::isFreeResult(Operation *op, unsigned index) {
  auto interface = dyn_cast<PrecisionOpInterface>(op);
  // A constant serves both types: readers in low precision get a copy of it.
  return interface && !op->hasTrait<OpTrait::ConstantLike>() &&
         isF32Tensor(op->getResult(index).getType()) &&
         !interface.isFixedPrecisionResult(index);
}

namespace {

using OpSet = llvm::DenseSet<Operation *>;

class Painter {
public:
  Painter(Block &block, const PrecisionPolicy &policy, Type low)
      : block(block), low(low) {
    for (Operation &op : block) {
      std::optional<PrecisionRecord> record = policy.lookup(&op, low);
      if (record && isVertex(&op))
        classes[&op] = record->precisionClass;
    }
  }

  PrecisionPlan run();

private:
  static bool isVertex(Operation *op) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (isFreeOperand(op, i))
        return true;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (isFreeResult(op, i))
        return true;
    return false;
  }
  bool is(Operation *op, PrecisionClass wanted) const {
    auto it = classes.find(op);
    if (it == classes.end())
      return false;
    PrecisionClass found = it->second == PrecisionClass::Stable
                               ? PrecisionClass::Infer
                               : it->second;
    return found == wanted;
  }
  bool isClearOrInfer(Operation *op) const {
    return is(op, PrecisionClass::Clear) || is(op, PrecisionClass::Infer);
  }

  /// The vertices that `op` reads or is read by.
  template <typename Visit>
  void forInputs(Operation *op, Visit &&visit) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto result = dyn_cast<OpResult>(operand.get());
      if (result && classes.count(result.getOwner()) &&
          isFreeOperand(op, operand.getOperandNumber()) &&
          isFreeResult(result.getOwner(), result.getResultNumber()))
        visit(result.getOwner());
    }
  }
  template <typename Visit>
  void forOutputs(Operation *op, Visit &&visit) {
    for (OpResult result : op->getResults()) {
      if (!isFreeResult(op, result.getResultNumber()))
        continue;
      for (OpOperand &use : result.getUses())
        if (classes.count(use.getOwner()) &&
            isFreeOperand(use.getOwner(), use.getOperandNumber()))
          visit(use.getOwner());
    }
  }
  /// Everything reached from `roots` (which are included) through vertices that
  /// `enter` accepts.
  template <typename Enter>
  OpSet reach(ArrayRef<Operation *> roots, bool inputs, bool outputs,
              Enter &&enter) {
    OpSet seen(roots.begin(), roots.end());
    SmallVector<Operation *> stack(roots);
    auto visit = [&](Operation *next) {
      if (!seen.contains(next) && enter(next)) {
        seen.insert(next);
        stack.push_back(next);
      }
    };
    while (!stack.empty()) {
      Operation *op = stack.pop_back_val();
      if (inputs)
        forInputs(op, visit);
      if (outputs)
        forOutputs(op, visit);
    }
    return seen;
  }
  SmallVector<Operation *> painted() {
    SmallVector<Operation *> ops;
    for (auto &entry : plan.low)
      ops.push_back(entry.first);
    return ops;
  }
  /// Paints what is in `ops`, in program order.
  void paint(const OpSet &ops, PaintReason reason) {
    for (Operation &op : block)
      if (ops.contains(&op))
        plan.low.insert({&op, reason});
  }
  void paintCasts();

  Block &block;
  Type low;
  llvm::MapVector<Operation *, PrecisionClass> classes;
  PrecisionPlan plan;
};

PrecisionPlan Painter::run() {
  SmallVector<Operation *> deny, denyOrInfer;
  for (auto &[op, unused] : classes) {
    if (is(op, PrecisionClass::Allow))
      plan.low.insert({op, PaintReason::Allowed});
    if (is(op, PrecisionClass::Deny))
      deny.push_back(op);
    if (is(op, PrecisionClass::Deny) || is(op, PrecisionClass::Infer))
      denyOrInfer.push_back(op);
  }
  if (plan.low.empty())
    return std::move(plan);

  OpSet up = reach(denyOrInfer, /*inputs=*/true, /*outputs=*/false,
                   [&](Operation *op) { return is(op, PrecisionClass::Clear); });
  plan.denied = reach(deny, /*inputs=*/false, /*outputs=*/true,
                      [&](Operation *op) { return up.contains(op); });

  OpSet down = reach(painted(), /*inputs=*/false, /*outputs=*/true,
                     [&](Operation *op) {
                       return !plan.isLow(op) && !plan.denied.contains(op) &&
                              isClearOrInfer(op);
                     });
  paint(reach(painted(), /*inputs=*/true, /*outputs=*/false,
              [&](Operation *op) { return down.contains(op); }),
        PaintReason::Between);

  for (auto &[op, unused] : classes) {
    if (!is(op, PrecisionClass::Infer) || plan.isLow(op) ||
        plan.denied.contains(op))
      continue;
    bool anyLow = false, anyDenied = false;
    forInputs(op, [&](Operation *input) {
      anyLow |= plan.isLow(input);
      anyDenied |= plan.denied.contains(input);
    });
    if (anyLow && !anyDenied)
      plan.low.insert({op, PaintReason::Follows});
  }

  paint(reach(painted(), /*inputs=*/true, /*outputs=*/true,
              [&](Operation *op) {
                return !plan.isLow(op) && !plan.denied.contains(op) &&
                       is(op, PrecisionClass::Clear);
              }),
        PaintReason::Neighbour);
  paintCasts();
  return std::move(plan);
}

void Painter::paintCasts() {
  for (auto cast : block.getOps<CastOp>()) {
    // A narrower source is exact already; integers and bits convert directly.
    if (!isF32Tensor(cast.getY().getType()) || cast.getAutocast() ||
        cast.getY().use_empty() ||
        isa<FloatType>(getElementTypeOrSelf(cast.getX().getType())))
      continue;
    bool allLow = llvm::all_of(cast.getY().getUses(), [&](OpOperand &use) {
      return plan.isLow(use.getOwner()) &&
             isFreeOperand(use.getOwner(), use.getOperandNumber());
    });
    if (allLow)
      plan.low.insert({cast, PaintReason::Cast});
  }
}

} // namespace

PrecisionPlan mpt::planPrecision(Block &block, const PrecisionPolicy &policy,
                                 Type lowType) {
  return Painter(block, policy, lowType).run();
}
