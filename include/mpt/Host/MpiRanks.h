//===- MpiRanks.h - Ranks that mpirun started -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_MPIRANKS_H
#define MPT_HOST_MPIRANKS_H

#include "mpt/Host/RankGroup.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace mpt {

/// Makes this process a rank of the job that it was started in. Fails, and says how to
/// start one, if it was started alone or MPI cannot be loaded (mpt_rt_connect_mpi). Ranks
/// that torchrun started, or what sets its environment, meet by TCP
/// (mpt_rt_connect_torchrun) if they train on GPUs; `isCuda` is asked only there.
llvm::Expected<std::unique_ptr<RankGroup>>
connectRanks(double deadline, llvm::function_ref<llvm::Expected<bool>()> isCuda);

} // namespace mpt

#endif // MPT_HOST_MPIRANKS_H
