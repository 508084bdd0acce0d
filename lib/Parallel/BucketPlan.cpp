//===- BucketPlan.cpp - Which gradients are exchanged together --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Parallel/BucketPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mpt;

std::vector<llvm::SmallVector<unsigned>>
mpt::planBuckets(llvm::ArrayRef<BucketGradient> gradients, int64_t bucketBytes) {
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, gradients.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return gradients[a].position < gradients[b].position;
  });
  std::vector<llvm::SmallVector<unsigned>> buckets;
  int64_t bytesLeft = 0;
  for (unsigned number : order) {
    if (buckets.empty() || gradients[number].bytes > bytesLeft) {
      buckets.emplace_back();
      bytesLeft = bucketBytes;
    }
    buckets.back().push_back(number);
    bytesLeft -= gradients[number].bytes;
  }
  return buckets;
}
