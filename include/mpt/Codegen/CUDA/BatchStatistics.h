//===- BatchStatistics.h - Mean and variance in one reading -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CODEGEN_CUDA_BATCHSTATISTICS_H
#define MPT_CODEGEN_CUDA_BATCHSTATISTICS_H

#include "mlir/IR/PatternMatch.h"

namespace mpt {

/// Makes `mpt.batch_norm` of f16 and bf16 rows read its input once for both statistics,
/// not once for each. With d = x - p, where p is the mean of 64 rows that are evenly
/// spread, the mean is p + E[d] and the variance E[d^2] - E[d]^2 (Chan, Golub and LeVeque
/// 1983, "Algorithms for computing the sample variance": shifted data). Of n rows with
/// mean m and variance v, (p - m)^2 is at most v n / 64, so that the relative error of
/// the variance is at most 1 + n / 64 times that of a sum, and about that of a sum if the
/// 64 rows are like the others. Fewer than 4,096 rows, and other types, are left alone.
void populateBatchStatisticsPatterns(mlir::RewritePatternSet &patterns);

} // namespace mpt

#endif // MPT_CODEGEN_CUDA_BATCHSTATISTICS_H
