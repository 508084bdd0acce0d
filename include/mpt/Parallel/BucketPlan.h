//===- BucketPlan.h - Which gradients are exchanged together ----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PARALLEL_BUCKETPLAN_H
#define MPT_PARALLEL_BUCKETPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace mpt {

/// A gradient as far as its exchange is concerned.
struct BucketGradient {
  /// Its place among the ops of the step: it is there after the op of that number.
  int64_t position = 0;
  int64_t bytes = 0;
};

/// Buckets of gradients, by their numbers. Gradients are taken in the order in which they
/// are there, those of one position in the order given; a bucket is closed when the next
/// gradient would make it larger than `bucketBytes`. So a bucket has at least one
/// gradient, each gradient is in one bucket, and all of a bucket are there before the
/// last of the next one (Li et al. 2020, "PyTorch Distributed").
std::vector<llvm::SmallVector<unsigned>>
planBuckets(llvm::ArrayRef<BucketGradient> gradients, int64_t bucketBytes);

} // namespace mpt

#endif // MPT_PARALLEL_BUCKETPLAN_H
