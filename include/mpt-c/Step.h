/*===- Step.h - A training step that runs -----------------------*- C -*-===*\
|*                                                                            *|
|* Part of the MPT project, under the Apache License v2.0 with LLVM           *|
|* Exceptions.                                                                *|
|* See LICENSE.                                                               *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef MPT_C_STEP_H
#define MPT_C_STEP_H

#include "mlir-c/IR.h"
#include "mpt-c/Error.h"
#include "mpt-c/Ranks.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled step with its state: parameters, optimizer state and so on, by the names
 * that arguments have in `mpt.name`. */
typedef struct MptStep {
  void *ptr;
} MptStep;

/* How steps are made. A null handle stands for the defaults. */
typedef struct MptStepOptions {
  void *ptr;
} MptStepOptions;

/* What a step knows of one of its tensors. `role` is "parameter", "optimizer_state",
 * "running_stat", "loss_scale", "rng", "schedule", "input", "target" or "output"; `type`
 * is "f64", "f32", "f16", "bf16", "f8e4m3fn", "f8e5m2", "i64", "i32", "i16", "i8", "u8"
 * or "i1" (a byte that is 0 or 1). Elements are packed in row-major order, in `bytes`
 * bytes. */
typedef struct MptTensorInfo {
  MlirStringRef name;
  MlirStringRef role;
  MlirStringRef type;
  intptr_t rank;
  const int64_t *shape;
  size_t bytes;
} MptTensorInfo;

/* Where training stands: what a checkpoint of mpt-run holds in addition to the state. */
typedef struct MptTrainingPosition {
  /* Runs of the step so far, taken or skipped, and those skipped for an infinite or NaN
   * gradient. */
  int64_t attempt;
  int64_t skipped;
  /* Of initial values, the order of the data and dropout. */
  uint64_t seed;
  /* Rows per batch and in the data set. */
  int64_t batch;
  int64_t rows;
  /* The present pass over the data, from 0, and the rows of it that are used up. Where no
   * whole batch is left, the next pass begins at once: `index` is 0. */
  uint64_t epoch;
  int64_t index;
} MptTrainingPosition;

/* ---- Options ---- */

MLIR_CAPI_EXPORTED MptStepOptions mptStepOptionsCreate(void);
MLIR_CAPI_EXPORTED void mptStepOptionsDestroy(MptStepOptions options);
/* Threads on the CPU; 0, the default: as many as the machine has. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetThreads(MptStepOptions options,
                                                     int64_t threads);
/* Most bytes of memory that a step on the CPU may take; 0, the default: what the process
 * can have. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetMemoryLimit(MptStepOptions options,
                                                         int64_t bytes);
/* "cpu" (the default), "cuda", or "cuda:1" for the GPU of that number. A program that is
 * opened runs on what it was compiled for; of the device only the number counts then. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetDevice(MptStepOptions options,
                                                    MlirStringRef device);
/* CUDA's libraries, by path or name; empty, the default: those that the loader finds. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetCudaLibraries(MptStepOptions options,
                                                           MlirStringRef cudart,
                                                           MlirStringRef cublasLt,
                                                           MlirStringRef cudnn);
/* The NCCL library by which ranks on GPUs exchange values; empty, the default: the one
 * that the loader finds. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetNcclLibrary(MptStepOptions options,
                                                         MlirStringRef nccl);
/* Whether a step on a GPU measures the algorithms of its matmuls before its first run,
 * and the file that keeps the choice; empty, the default: beside the program, and steps
 * that are compiled in this process measure nothing (mpt_rt_set_tuning). */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetTuning(MptStepOptions options, bool on,
                                                    MlirStringRef file);
/* At most so many branches of a step's CUDA graph run at once: 1 to 3, the default; with
 * 1 launches run one after the other (mpt_rt_set_graph_branches). */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetGraphBranches(MptStepOptions options,
                                                           int32_t most);
/* Steps that are compiled in this process measure, too, if no file is named: each has a
 * file in the folder mpt/tuning of $XDG_CACHE_HOME, or of ~/.cache if that is not an
 * absolute path. The environment is read in this call. Where that folder cannot be
 * written, nothing is measured. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsUseTuningCache(MptStepOptions options);
/* To compile for GPUs: the CUDA toolkit's folder (mpt-compile --cuda-toolkit), and
 * whether to compile for the stand-in for CUDA of MPT's tests, too (--emulated-kernels).
 */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetCudaCompiler(MptStepOptions options,
                                                          MlirStringRef toolkit,
                                                          bool emulatedKernels);
/* To compile for GPUs: "mma" (the default), or "auto" for attention and its gradients by
 * wgmma and TMA where an sm_90 has it (mpt-compile --attention-variant). */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetAttentionVariant(MptStepOptions options,
                                                              MlirStringRef variant);
/* State of the step that is made is that of `other` where names, types and shapes agree:
 * the same memory, which lives as long as either step. It must not be destroyed before
 * the step is made. Neither may run while the other does. On a GPU all state must agree,
 * and both must be for the same GPU. If a checkpoint of `other` is being written, the
 * copy that it is written from is given back before the new step looks for memory. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetSharedState(MptStepOptions options,
                                                         MptStep other);

/* The ranks that a step of several (--mpt-data-parallel) exchanges values with. They must
 * not be destroyed before the step. State that they hold together
 * (--mpt-shard-optimizer) has the names and shapes of one process: all ranks read it at
 * the same time (mptStepReadState, mptStepSaveCheckpoint), each writes all of it, and it
 * has no address. Each rank of a machine has a GPU of its own (mpt_rt_set_local_rank),
 * unless mptStepOptionsSetDevice names one by its number. */
MLIR_CAPI_EXPORTED MptError mptStepOptionsSetRanks(MptStepOptions options,
                                                   MptRanks ranks);

/* ---- Steps ---- */

/* Compiles the function `function` of `module` in this process; if it is empty, the only
 * one, else `loss`. The module is not changed. The step does not need it, or its context,
 * any more. State has no values until mptStepInitialize or mptStepLoadCheckpoint. */
MLIR_CAPI_EXPORTED MptError mptStepCreate(MlirModule module, MlirStringRef function,
                                          MptStepOptions options, MptStep *step);
/* Opens a file that mptModuleCompile or mpt-compile wrote. Opening a program runs code of
 * the file. */
MLIR_CAPI_EXPORTED MptError mptStepOpen(MlirStringRef path, MptStepOptions options,
                                        MptStep *step);
MLIR_CAPI_EXPORTED void mptStepDestroy(MptStep step);

/* Tensors by number: state and inputs in the order of the function's arguments, then
 * outputs. Names are empty in the information on a number that there is not. */
MLIR_CAPI_EXPORTED intptr_t mptStepGetNumTensors(MptStep step);
MLIR_CAPI_EXPORTED MptTensorInfo mptStepGetTensor(MptStep step, intptr_t index);
/* What the step was compiled for, as "cuda sm_90". */
MLIR_CAPI_EXPORTED MlirStringRef mptStepGetTarget(MptStep step);
/* Sets `device` to CUDA's number of the GPU that a program for GPUs runs on. Loads CUDA's
 * libraries; an error where there is no such GPU. */
MLIR_CAPI_EXPORTED MptError mptStepGetCudaDevice(MptStep step, int32_t *device);
/* Runs of a program for GPUs take their place among the work in `stream`, a cudaStream_t
 * (mpt_rt_set_cuda_stream). An error for a program for the CPU. */
MLIR_CAPI_EXPORTED MptError mptStepSetCudaStream(MptStep step, void *stream);
/* The digest that checkpoints of this step carry. */
MLIR_CAPI_EXPORTED MlirStringRef mptStepGetDigest(MptStep step);
/* Gives `callback` lines about what was decided for a step on a GPU: that it has a memory
 * budget since more does not fit, and once it has run, what CUDA's libraries refused and
 * what runs instead (mpt_rt_notes). */
MLIR_CAPI_EXPORTED void mptStepGetNotes(MptStep step, MlirStringCallback callback,
                                        void *data);
/* Measures every library call and kernel of the runs that follow, until it is called with
 * false. On the CPU it then takes about a second to measure what the machine does at
 * most. On a GPU these runs are waited for, and their launches run one by one
 * (mpt_rt_set_profiling). */
MLIR_CAPI_EXPORTED MptError mptStepSetProfiling(MptStep step, bool on);
/* How many runs were measured before profiling was last turned off: all, or if there were
 * several all but the first, which is slower than the rest. */
MLIR_CAPI_EXPORTED intptr_t mptStepGetNumProfiled(MptStep step);
/* How a profile is written: as tables by call and by line of the source, as one JSON
 * object, or as a page (mpt/Host/StepProfile.h). */
typedef enum {
  MptProfileFormatText,
  MptProfileFormatJSON,
  MptProfileFormatHTML
} MptProfileFormat;
/* Gives `callback` the mean times of these runs, under `title`. An error if nothing was
 * measured. */
MLIR_CAPI_EXPORTED MptError mptStepPrintProfile(MptStep step, MptProfileFormat format,
                                                MlirStringRef title,
                                                MlirStringCallback callback, void *data);
/* Bytes of the block that holds a run's temporaries, and of the state. */
MLIR_CAPI_EXPORTED size_t mptStepGetArenaBytes(MptStep step);
MLIR_CAPI_EXPORTED size_t mptStepGetStateBytes(MptStep step);

/* Gives all state its first values, as mpt-run does: from `file`, a .safetensors file
 * whose name may be empty, else by `mpt.init` and `seed`. State of an opened program
 * starts with the program's values instead; what it has none of, `file` must have. */
MLIR_CAPI_EXPORTED MptError mptStepInitialize(MptStep step, uint64_t seed,
                                              MlirStringRef file);

/* Binds an input or target to `data`, without a copy: it must stay valid, and may change
 * between runs, until it is bound again. `bytes` must be the tensor's size. */
MLIR_CAPI_EXPORTED MptError mptStepBind(MptStep step, MlirStringRef name,
                                        const void *data, size_t bytes);
/* As mptStepBind, to memory of the GPU that the step runs on, as mpt_rt_bind_device. */
MLIR_CAPI_EXPORTED MptError mptStepBindDevice(MptStep step, MlirStringRef name,
                                              const void *data, size_t bytes);
/* Runs the step once: updates the state and makes the outputs. If that fails, the state
 * may be partly updated. */
MLIR_CAPI_EXPORTED MptError mptStepRun(MptStep step);

/* Copies an output of the last run, or state, out, or state in. `bytes` must be the
 * tensor's size. */
MLIR_CAPI_EXPORTED MptError mptStepReadOutput(MptStep step, MlirStringRef name,
                                              void *data, size_t bytes);
MLIR_CAPI_EXPORTED MptError mptStepReadState(MptStep step, MlirStringRef name, void *data,
                                             size_t bytes);
MLIR_CAPI_EXPORTED MptError mptStepWriteState(MptStep step, MlirStringRef name,
                                              const void *data, size_t bytes);

/* Runs of the step so far that did not fail: the number of the last one. */
MLIR_CAPI_EXPORTED uint64_t mptStepGetNumRuns(MptStep step);
/* Every run after this leaves copies of `count` tensors, state and outputs, by their
 * numbers, for mptStepReadResult; 0: no more (mpt_rt_keep_results). State that is cut
 * between ranks cannot be among them. */
MLIR_CAPI_EXPORTED MptError mptStepKeepResults(MptStep step, const intptr_t *tensors,
                                               intptr_t count);
/* Copies out what tensor `index` was after run `run`, the last one or the one before it.
 * On a GPU, waits for that run and no later one. */
MLIR_CAPI_EXPORTED MptError mptStepReadResult(MptStep step, uint64_t run, intptr_t index,
                                              void *data, size_t bytes);

/* Sets `data` to where tensor `index` lies: state or an output for as long as the step
 * lives, or what an input is bound to, which may be NULL. Writing to state there is
 * mptStepWriteState for state that has a value. On the CPU. */
MLIR_CAPI_EXPORTED MptError mptStepGetData(MptStep step, intptr_t index, void **data);
/* The same in the memory of the GPU that the step runs on, after a run, of state and
 * outputs (mpt_rt_get_device_data). */
MLIR_CAPI_EXPORTED MptError mptStepGetDeviceData(MptStep step, intptr_t index,
                                                 void **data);

/* ---- Checkpoints ---- */

/* Says what the step does to each batch as a whole, in a word of the host's: steps of
 * another number of ranks or micro-batches that have the same state and word read each
 * other's checkpoints. Without one, a step reads its own. Empty: none again. */
MLIR_CAPI_EXPORTED MptError mptStepSetWholeDigest(MptStep step, MlirStringRef digest);
/* Writes all state and `position` as a checkpoint of mpt-run (docs/Training.md), complete
 * or not at all. */
MLIR_CAPI_EXPORTED MptError mptStepSaveCheckpoint(MptStep step, MlirStringRef path,
                                                  const MptTrainingPosition *position);
/* The same, of the state as it is now, by a thread of its own while the step runs on:
 * from a copy, of a step on a GPU in its memory, if that has room (mpt_rt_take_snapshot).
 * Where there is no memory for a copy it is written at once. One at a time: waits for the
 * one before. An error in the background is one of mptStepFinishCheckpoint, or else of
 * the next call that saves, after what that call itself does, or loads. */
MLIR_CAPI_EXPORTED MptError mptStepBeginCheckpoint(MptStep step, MlirStringRef path,
                                                   const MptTrainingPosition *position);
/* Waits until the checkpoint that was begun is written, and tells whether it is; success
 * if there is none. So do the functions that save and load. What ranks hold together they
 * write together: all of them call this, or the next of these functions, and the file at
 * `path` is the one before until then. mptStepDestroy finishes what one rank writes
 * alone, and tells nothing. */
MLIR_CAPI_EXPORTED MptError mptStepFinishCheckpoint(MptStep step);
/* Reads one back. Fails, with nothing changed, unless it is one of this step: the digest,
 * or that of mptStepSetWholeDigest, and all names, types and shapes agree. */
MLIR_CAPI_EXPORTED MptError mptStepLoadCheckpoint(MptStep step, MlirStringRef path,
                                                  MptTrainingPosition *position);

/* Sets `order`, which has room for `rows` numbers, to the order in which mpt-run takes
 * the rows of the data in pass `epoch` (from 0). Where a batch is all rows, mpt-run takes
 * them as they are instead. */
MLIR_CAPI_EXPORTED MptError mptGetShuffledOrder(int64_t rows, uint64_t seed,
                                                uint64_t epoch, int64_t *order);

#ifdef __cplusplus
}
#endif

#endif /* MPT_C_STEP_H */
