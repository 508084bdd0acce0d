//===- ArenaSearch.h - Search for offsets within a capacity -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_ANALYSIS_ARENASEARCH_H
#define MPT_ANALYSIS_ARENASEARCH_H

#include "mpt/Analysis/ArenaPlan.h"

namespace mpt {

/// What a search ended with.
enum class ArenaSearchResult { Found, Impossible, StepsUsedUp };

/// Looks for offsets with which all `buffers` of non-zero bytes fit into
/// `capacity`; sizes and capacity are multiples of one unit. Takes from `steps`
/// what it needs of them: one for each lifetime's interval that it looks at, so that
/// the time is about proportional. `offsets` is written if they are found.
ArenaSearchResult searchArena(llvm::ArrayRef<ArenaBuffer> buffers, int64_t capacity,
                              int64_t &steps,
                              llvm::SmallVectorImpl<int64_t> &offsets);

} // namespace mpt

#endif // MPT_ANALYSIS_ARENASEARCH_H
