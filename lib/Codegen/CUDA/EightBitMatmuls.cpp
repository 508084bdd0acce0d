//===- EightBitMatmuls.cpp - 8-bit matmuls as chips have them -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/EightBitMatmuls.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpt;

static bool isEightBit(Value operand) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(operand.getType()));
}

/// `operand` with its last two dimensions exchanged.
static Value transpose(PatternRewriter &rewriter, Location loc, Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  std::swap(order[order.size() - 2], order.back());
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  return TransposeOp::create(rewriter, loc, type.clone(shape), operand, order);
}

static LogicalResult transposeMatmul(MatmulOp op, PatternRewriter &rewriter) {
  if (!isEightBit(op.getLhs()) || !isEightBit(op.getRhs()) ||
      (!op.getTransposeLhs() && op.getTransposeRhs()))
    return failure();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (op.getTransposeLhs())
    lhs = transpose(rewriter, op.getLoc(), lhs);
  if (!op.getTransposeRhs())
    rhs = transpose(rewriter, op.getLoc(), rhs);
  rewriter.modifyOpInPlace(op, [&] {
    op.getLhsMutable().assign(lhs);
    op.getRhsMutable().assign(rhs);
    op.setTransposeLhs(false);
    op.setTransposeRhs(true);
  });
  return success();
}

static LogicalResult transposeLinear(LinearOp op, PatternRewriter &rewriter) {
  if (!isEightBit(op.getX()) || !isEightBit(op.getWeight()) || op.getTransposeWeight())
    return failure();
  Value weight = transpose(rewriter, op.getLoc(), op.getWeight());
  rewriter.modifyOpInPlace(op, [&] {
    op.getWeightMutable().assign(weight);
    op.setTransposeWeight(true);
  });
  return success();
}

/// Scales are in the order of their operand's dimensions.
static LogicalResult transposeScaledMatmul(ScaledMatmulOp op, PatternRewriter &rewriter) {
  if (!op.getTransposeLhs() && op.getTransposeRhs())
    return failure();
  // Others are widened, and matmuls of f32 take them as they are.
  auto areF32 = [](Value scales) {
    return getElementTypeOrSelf(scales.getType()).isF32();
  };
  if (!isEightBit(op.getLhs()) || !isEightBit(op.getRhs()) ||
      !areF32(op.getLhsScales()) || !areF32(op.getRhsScales()))
    return failure();
  SmallVector<int64_t> lhsBlock(op.getLhsBlock()), rhsBlock(op.getRhsBlock());
  Value lhs = op.getLhs(), lhsScales = op.getLhsScales();
  Value rhs = op.getRhs(), rhsScales = op.getRhsScales();
  if (op.getTransposeLhs()) {
    lhs = transpose(rewriter, op.getLoc(), lhs);
    lhsScales = transpose(rewriter, op.getLoc(), lhsScales);
    std::swap(lhsBlock[0], lhsBlock[1]);
  }
  if (!op.getTransposeRhs()) {
    rhs = transpose(rewriter, op.getLoc(), rhs);
    rhsScales = transpose(rewriter, op.getLoc(), rhsScales);
    std::swap(rhsBlock[0], rhsBlock[1]);
  }
  rewriter.replaceOpWithNewOp<ScaledMatmulOp>(
      op, op.getResult().getType(), lhs, lhsScales, rhs, rhsScales, lhsBlock, rhsBlock,
      /*transpose_lhs=*/false, /*transpose_rhs=*/true, op.getPromotion(),
      op.getAccumulatorBits());
  return success();
}

void mpt::populateEightBitMatmulPatterns(RewritePatternSet &patterns) {
  patterns.add(transposeMatmul);
  patterns.add(transposeLinear);
  patterns.add(transposeScaledMatmul);
}

LogicalResult mpt::checkBlockScales(Operation *root, ArrayRef<int64_t> architectures) {
  if (architectures.empty())
    return success();
  const int64_t oldest = *llvm::min_element(architectures);
  bool fails = false;
  root->walk([&](ScaledMatmulOp op) {
    auto have = [&](auto type) {
      return isa<decltype(type)>(getElementTypeOrSelf(op.getLhsScales().getType())) ||
             isa<decltype(type)>(getElementTypeOrSelf(op.getRhsScales().getType()));
    };
    const bool areE8M0 = have(Float8E8M0FNUType()), areE4M3 = have(Float8E4M3FNType());
    const int64_t needed = areE8M0 || areE4M3 ? 100 : 90;
    if (oldest >= needed)
      return;
    fails = true;
    op.emitError("a matmul of 8-bit floats with ")
        << (areE8M0   ? "f8E8M0FNU"
            : areE4M3 ? "f8E4M3FN"
                      : "f32")
        << " scales of blocks needs sm_" << needed
        << " or newer, and this is compiled for sm_" << oldest << "; use "
        << (needed == 100 && oldest >= 90
                ? "recipe=deepseek or recipe=current of --mpt-fp8"
            : oldest >= 89 ? "recipe=current of --mpt-fp8"
                           : "--mpt-autocast, since this chip has no 8-bit floats");
  });
  return failure(fails);
}
