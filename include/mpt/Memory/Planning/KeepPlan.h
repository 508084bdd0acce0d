//===- KeepPlan.h - What to keep rather than to fetch again -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Values that could be kept over a part of a program, where something else makes them
/// again at its end. Numbers alone.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_PLANNING_KEEPPLAN_H
#define MPT_MEMORY_PLANNING_KEEPPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mpt {

/// `bytes` that would be alive at positions [begin, end), too.
struct KeepCandidate {
  int64_t begin = 0, end = 0, bytes = 0;
};

/// Numbers of the candidates to keep, ascending, so that no more than `budget` bytes are
/// alive where one of them is kept. `alive` are the bytes at each position without them.
/// Those that are kept for the fewest positions come first: at a position of a step whose
/// backward pass mirrors the forward pass, they are among those that are needed soonest.
llvm::SmallVector<unsigned> planKept(llvm::ArrayRef<int64_t> alive,
                                     llvm::ArrayRef<KeepCandidate> candidates,
                                     int64_t budget);

} // namespace mpt

#endif // MPT_MEMORY_PLANNING_KEEPPLAN_H
