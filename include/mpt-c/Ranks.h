/*===- Ranks.h - Processes that train together ------------------*- C -*-===*\
|*                                                                            *|
|* Part of the MPT project, under the Apache License v2.0 with LLVM           *|
|* Exceptions.                                                                *|
|* See LICENSE.                                                               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MPT_C_RANKS_H
#define MPT_C_RANKS_H

#include "mlir-c/Support.h"
#include "mpt-c/Error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The processes that mpirun (or srun --mpi=pmix, or torchrun) started, numbered from 0,
 * as this one of them knows them (docs/Parallel.md). All of them call the same functions
 * in the same order, and run their steps so. No function waits longer than the deadline
 * for another rank; one that does not answer in time is an error, and so is every later
 * call. It belongs, with all steps that use it, to one thread at a time. */
typedef struct MptRanks {
  void *ptr;
} MptRanks;

/* Makes this process a rank. `deadline` is in seconds. If MPI itself waits for other
 * ranks for longer, here or in mptRanksDestroy, the process ends (mpt_rt_connect_mpi).
 * MPI can be started once in a process: connect once, and destroy as the last thing. */
MLIR_CAPI_EXPORTED MptError mptRanksConnect(double deadline, MptRanks *ranks);
/* The same for steps on `device`, as in mptStepOptionsSetDevice. Processes of steps on
 * GPUs may also be those that torchrun started, which meet by TCP
 * (mpt_rt_connect_torchrun). */
MLIR_CAPI_EXPORTED MptError mptRanksConnectFor(MlirStringRef device, double deadline,
                                               MptRanks *ranks);
/* Waits for the other ranks to do the same, unless one has failed. Steps that use `ranks`
 * must have been destroyed, or run no more. A process that ends without, by its own error
 * say, makes mpirun end the others. */
MLIR_CAPI_EXPORTED void mptRanksDestroy(MptRanks ranks);

MLIR_CAPI_EXPORTED int64_t mptRanksGetRank(MptRanks ranks);
/* How many there are, and how many of them run on this machine. */
MLIR_CAPI_EXPORTED int64_t mptRanksGetCount(MptRanks ranks);
MLIR_CAPI_EXPORTED int64_t mptRanksGetNumNeighbors(MptRanks ranks);
MLIR_CAPI_EXPORTED MptError mptRanksSetDeadline(MptRanks ranks, double seconds);

/* Fails, on every rank, unless `text`, lines that tell `what`, is the same on all. Names
 * the first line that differs, and where. */
MLIR_CAPI_EXPORTED MptError mptRanksCheckSame(MptRanks ranks, MlirStringRef what,
                                              MlirStringRef text);
/* Sets `all`, which has room for a number of each rank, to what each rank gives for
 * `number`: one message, for what is asked at each step. */
MLIR_CAPI_EXPORTED MptError mptRanksGather(MptRanks ranks, uint64_t number,
                                           uint64_t *all);

#ifdef __cplusplus
}
#endif

#endif /* MPT_C_RANKS_H */
