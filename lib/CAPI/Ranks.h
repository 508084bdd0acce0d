//===- Ranks.h - What an MptRanks points at ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CAPI_RANKS_H
#define MPT_LIB_CAPI_RANKS_H

#include "mpt-c/Ranks.h"
#include "mpt/Host/RankGroup.h"

namespace mpt::capi {

inline RankGroup *unwrap(MptRanks ranks) { return static_cast<RankGroup *>(ranks.ptr); }

} // namespace mpt::capi

#endif // MPT_LIB_CAPI_RANKS_H
