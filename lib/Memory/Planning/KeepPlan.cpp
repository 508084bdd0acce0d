//===- KeepPlan.cpp - What to keep rather than to fetch again ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Memory/Planning/KeepPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mpt;

llvm::SmallVector<unsigned> mpt::planKept(llvm::ArrayRef<int64_t> alive,
                                          llvm::ArrayRef<KeepCandidate> candidates,
                                          int64_t budget) {
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, candidates.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return candidates[a].end - candidates[a].begin <
           candidates[b].end - candidates[b].begin;
  });
  auto bytes = llvm::to_vector(alive);
  llvm::SmallVector<unsigned> kept;
  for (unsigned number : order) {
    const KeepCandidate &candidate = candidates[number];
    auto range = llvm::MutableArrayRef(bytes).slice(
        candidate.begin, std::max<int64_t>(candidate.end - candidate.begin, 0));
    if (llvm::any_of(range,
                     [&](int64_t here) { return candidate.bytes > budget - here; }))
      continue;
    for (int64_t &here : range)
      here += candidate.bytes;
    kept.push_back(number);
  }
  llvm::sort(kept);
  return kept;
}
