//===- WidenScanWeights.cpp - Weights of loops, widened once ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--mpt-widen-scan-weights`: matmuls of few rows in a loop read an f32 copy of a weight
/// of f16 or bf16 that the loop does not change.
///
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/MPT/Transforms/Passes.h"
#include "mpt/Dialect/MPT/Transforms/RematMarks.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mpt {
#define GEN_PASS_DEF_WIDENSCANWEIGHTSPASS
#include "mpt/Dialect/MPT/Transforms/Passes.h.inc"
} // namespace mpt

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static bool isHalf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         (tensor.getElementType().isF16() || tensor.getElementType().isBF16());
}

static int64_t countBytes(Type type, int64_t elementBytes) {
  return cast<RankedTensorType>(type).getNumElements() * elementBytes;
}

/// The weight that all rows of a matmul share, if both its sides are half; else null.
static Value getHalfWeight(Operation *op) {
  Value rows, weight;
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    if (matmul.getTransposeLhs())
      return nullptr;
    rows = matmul.getLhs(), weight = matmul.getRhs();
  } else if (auto linear = dyn_cast<LinearOp>(op)) {
    rows = linear.getX(), weight = linear.getWeight();
  }
  if (!weight || !isHalf(rows.getType()) || !isHalf(weight.getType()) ||
      cast<RankedTensorType>(weight.getType()).getRank() != 2)
    return nullptr;
  return weight;
}

/// Of a matmul by a weight, rows of the left side.
static int64_t countRows(Operation *op) {
  auto rows = cast<RankedTensorType>(op->getOperand(0).getType());
  const int64_t terms = rows.getShape().back();
  return terms > 0 ? rows.getNumElements() / terms : 0;
}

/// The outermost loop around `op` that does not make `value`; null if there is none. What
/// may not run at all is no loop.
static ScanOp getLoopWithout(Operation *op, Value value) {
  ScanOp found;
  for (auto scan = op->getParentOfType<ScanOp>(); scan;
       scan = scan->getParentOfType<ScanOp>()) {
    if (scan.getConditional() || scan.getBody().isAncestor(value.getParentRegion()))
      break;
    found = scan;
  }
  return found;
}

namespace {

struct WidenScanWeightsPass : mpt::impl::WidenScanWeightsPassBase<WidenScanWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      llvm::MapVector<ScanOp, SmallVector<Operation *>> found;
      // What an iteration computes again must have the bits that it had.
      bool isRepeated = false;
      function.walk([&](Operation *op) {
        isRepeated |= op->hasAttr(kRematAttr);
        Value weight = getHalfWeight(op);
        ScanOp scan = weight ? getLoopWithout(op, weight) : nullptr;
        if (scan && countRows(op) <= maxRows &&
            static_cast<int64_t>(scan.getTripCount()) > maxUnrolled)
          found[scan].push_back(op);
      });
      if (!isRepeated)
        for (auto &[scan, ops] : found)
          widen(scan, ops);
    }
  }

private:
  static void widen(ScanOp scan, ArrayRef<Operation *> ops) {
    // What stacks of the loop take less than in f32.
    int64_t saved = 0;
    for (Value input : scan.getInputs())
      saved += isHalf(input.getType()) ? countBytes(input.getType(), 2) : 0;
    for (Value result : scan.getResults().drop_front(scan.getNumCarried()))
      saved += isHalf(result.getType()) ? countBytes(result.getType(), 2) : 0;
    OpBuilder builder(scan);
    DenseMap<Value, Value> wide;
    for (Operation *op : ops) {
      Value weight = getHalfWeight(op);
      auto type = cast<RankedTensorType>(weight.getType());
      Value &copy = wide[weight];
      if (!copy) {
        const int64_t bytes = countBytes(type, 4);
        if (bytes > saved)
          continue;
        saved -= bytes;
        builder.setInsertionPoint(scan);
        copy = CastOp::create(builder, op->getLoc(), type.clone(builder.getF32Type()),
                              weight);
      }
      op->setOperand(1, copy);
    }
  }
};

} // namespace
