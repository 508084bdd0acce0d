//===- DeferPlan.cpp - Gradients to compute when they are read --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/DeferPlan.h"
#include "mpt/Support/MinCut.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpt;

llvm::SmallVector<unsigned> mpt::planDeferred(llvm::ArrayRef<DeferCandidate> candidates,
                                              llvm::ArrayRef<int64_t> factorBytes,
                                              int64_t overhead) {
  // What is kept lies on the sink's side for gradients, and on the source's for factors.
  MinCut cut;
  for (const DeferCandidate &candidate : candidates) {
    const uint32_t node = cut.addNode();
    cut.addSource(node, candidate.bytes);
    cut.addSink(node, overhead);
  }
  for (int64_t bytes : factorBytes)
    cut.addSink(cut.addNode(), bytes);
  for (auto [number, candidate] : llvm::enumerate(candidates))
    for (unsigned factor : candidate.factors)
      cut.addEdge(number, candidates.size() + factor, MinCut::kInfinite);
  cut.solve();
  llvm::SmallVector<unsigned> deferred;
  for (unsigned number = 0; number < candidates.size(); ++number)
    if (cut.isSourceSide(number))
      deferred.push_back(number);
  return deferred;
}
