//===- BatchStatistics.cpp - Mean and variance in one reading -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/BatchStatistics.h"
#include "mpt/Dialect/MPT/Transforms/DecomposeBuilder.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

/// Rows whose mean the others are compared with: as many as one launch adds. And rows
/// from which on these cost little.
static constexpr int64_t kSampleRows = 64, kLeastRows = 64 * kSampleRows;

static LogicalResult readOnce(BatchNormOp op, PatternRewriter &rewriter) {
  RankedTensorType type = DecomposeBuilder::typeOf(op.getX());
  if (!(type.getElementType().isF16() || type.getElementType().isBF16()) ||
      !type.hasStaticShape() || type.getNumElements() == 0)
    return failure();
  const int64_t columns = type.getShape().back(), rows = type.getNumElements() / columns;
  if (rows < kLeastRows)
    return failure();
  DecomposeBuilder b(rewriter, op.getLoc(), op.getX());
  Value x = b.reshape(op.getX(), {rows, columns});
  // Of a batch of 64 images, or 128, a stride of rows / 64 would take one corner of each.
  // One less shares no divisor with it.
  const int64_t stride = rows / kSampleRows - 1;
  Value sample =
      SliceOp::create(rewriter, op.getLoc(), type.clone({kSampleRows, columns}), x,
                      ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{kSampleRows, columns},
                      ArrayRef<int64_t>{stride, 1});
  Value near = b.reduceColumns(ReduceKind::Mean, sample);
  Value apart = b.sub(x, near);
  Value shift = b.reduceColumns(ReduceKind::Mean, apart);
  Value square = b.reduceColumns(ReduceKind::Mean, b.mul(apart, apart));
  Value var = b.sub(square, b.mul(shift, shift));
  var = MaximumOp::create(rewriter, op.getLoc(), var.getType(), var, b.scalar(0));
  Value mean = b.add(near, shift);
  replaceBatchNorm(op, mean, b.sub(op.getX(), mean), var, rewriter);
  return success();
}

void mpt::populateBatchStatisticsPatterns(RewritePatternSet &patterns) {
  patterns.add(readOnce);
}
