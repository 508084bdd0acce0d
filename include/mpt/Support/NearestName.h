//===- NearestName.h - Suggestions for misspelled names ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_NEARESTNAME_H
#define MPT_SUPPORT_NEARESTNAME_H

#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace mpt {

/// The first candidate of the smallest edit distance to `name`, or "" if all are
/// further away than a slip: more than a third of the letters, and more than two.
template <typename Range>
llvm::StringRef findNearestName(llvm::StringRef name, const Range &candidates) {
  llvm::StringRef nearest;
  unsigned best = std::max<size_t>(2, name.size() / 3) + 1;
  for (llvm::StringRef candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, best);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

} // namespace mpt

#endif // MPT_SUPPORT_NEARESTNAME_H
