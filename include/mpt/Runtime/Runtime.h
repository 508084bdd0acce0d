//===- Runtime.h - C ABI of the runtime -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads and runs compiled programs. Plain C.
///
/// A context belongs to one thread at a time; different contexts are
/// independent. Functions that can fail return 0 on success and a code of
/// mpt_rt_status otherwise; mpt_rt_last_error then tells what happened. Nothing
/// is printed, nothing aborts, no exception leaves.
///
/// Opening a program allocates its state, outputs and arena once; a run
/// allocates no tensor memory.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_RUNTIME_RUNTIME_H
#define MPT_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MPT_RT_EXPORT __attribute__((visibility("default")))
#else
#define MPT_RT_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct mpt_program_desc;
typedef struct mpt_rt_context mpt_rt_context;

enum mpt_rt_status {
  MPT_RT_OK = 0,
  MPT_RT_INVALID_ARGUMENT = 1, /* a null pointer, an unknown name, a wrong size */
  MPT_RT_INVALID_PROGRAM = 2,  /* not a program, another version, damaged */
  MPT_RT_UNSUPPORTED = 3,      /* this machine or build cannot run it */
  MPT_RT_OUT_OF_MEMORY = 4,
  MPT_RT_RUN_FAILED = 5, /* the data made a step fail (an index out of range) */
  MPT_RT_COMMUNICATION_FAILED =
      6 /* a rank did not answer in time, or its messages fail */
};

/* A tensor that has a name. `role` is "parameter", "optimizer_state",
 * "running_stat", "loss_scale", "rng", "schedule", "input", "target" or
 * "output"; `type` one of "f64" "f32" "f16" "bf16" "f8E4M3FN" "f8E5M2" "i64"
 * "i32" "i16" "i8" "i1" (one byte). Pointers live as long as the context. */
typedef struct mpt_rt_tensor {
  const char *name;
  const char *role;
  const char *type;
  int32_t rank;
  const int64_t *dims;
  size_t bytes;
} mpt_rt_tensor;

/* `threads` 0: as many as the machine has. NULL if there is no memory. */
MPT_RT_EXPORT mpt_rt_context *mpt_rt_create(int32_t threads);
MPT_RT_EXPORT void mpt_rt_destroy(mpt_rt_context *context);

/* The message of the last failure; "" if there was none. */
MPT_RT_EXPORT const char *mpt_rt_last_error(const mpt_rt_context *context);

/* The CUDA libraries that a program for GPUs uses, by path or name; NULL: those
 * that the loader finds under CUDA's names. Before a program is opened. */
MPT_RT_EXPORT int mpt_rt_set_cuda_libraries(mpt_rt_context *context, const char *cudart,
                                            const char *cublaslt);

/* The cuDNN library that a program for GPUs uses if it was compiled to, by path or name;
 * NULL: libcudnn.so.9. Without one such a program runs, too. Before it is opened. */
MPT_RT_EXPORT int mpt_rt_set_cudnn_library(mpt_rt_context *context, const char *cudnn);

/* The NCCL library with which a program for GPUs exchanges data with other ranks, by path
 * or name; NULL: libnccl.so.2. Before it is opened. */
MPT_RT_EXPORT int mpt_rt_set_nccl_library(mpt_rt_context *context, const char *nccl);

/* Whether a program for GPUs measures cuBLASLt's algorithms for its matmuls before its
 * first step, which takes less than a second more, and goes on with the fastest (`on`,
 * the default), or takes those that cuBLASLt guesses to be. What was chosen is kept in
 * the file `path`, and later runs with the same GPU, driver and cuBLASLt take it from
 * there: they repeat each other's bits. NULL: the program's own path with ".tuning"
 * behind it; a program in memory has none, and measures nothing. All ranks take what rank
 * 0 chooses. mpt_rt_notes tells what was measured, or why the file is not read or
 * written, which is no error. Before a program is opened. */
MPT_RT_EXPORT int mpt_rt_set_tuning(mpt_rt_context *context, int on, const char *path);

/* At most so many branches of a step's CUDA graph run at once on a GPU: 1 (one launch
 * after the other) to 3, which it is unless this is called. A step has several only where
 * they are expected to be faster; results are the same. Before a program is opened.
 * MPT_RT_INVALID_ARGUMENT for another number. */
MPT_RT_EXPORT int mpt_rt_set_graph_branches(mpt_rt_context *context, int32_t most);

/* The GPU that a program for GPUs runs on, by CUDA's number; 0 unless this is called.
 * Before a program is opened. Whether there is such a GPU shows when it is first used. */
MPT_RT_EXPORT int mpt_rt_set_cuda_device(mpt_rt_context *context, int32_t device);
/* The same for one of several ranks, by its number among those of its machine: of the n
 * GPUs that this process sees, the one of number `rank` modulo n. That is the rank's own
 * where all see all GPUs, and where the launcher shows each rank its own alone
 * (CUDA_VISIBLE_DEVICES, or Slurm's --gpus-per-task). */
MPT_RT_EXPORT int mpt_rt_set_local_rank(mpt_rt_context *context, int32_t rank);
/* Sets `device` to CUDA's number of the chosen GPU. Loads CUDA's libraries.
 * MPT_RT_UNSUPPORTED if there is no such GPU. */
MPT_RT_EXPORT int mpt_rt_get_cuda_device(mpt_rt_context *context, int32_t *device);
/* Sets `architecture` to that of the chosen GPU: 90 for an sm_90, which is the chip to
 * compile for. Loads CUDA's libraries. MPT_RT_UNSUPPORTED if there is no such GPU. */
MPT_RT_EXPORT int mpt_rt_get_cuda_architecture(mpt_rt_context *context,
                                               int32_t *architecture);

/* Of an open program for GPUs: sets `needed` to the bytes of the GPU's memory that its
 * first run takes, or has taken, with its state, the copies of mpt_rt_keep_results and
 * the snapshots that there are, and `unused` to those that are free on the chosen GPU.
 * (cuDNN and the branches of small steps may want more.) Loads CUDA's libraries.
 * MPT_RT_UNSUPPORTED if there is no such GPU, or for a program for the CPU. */
MPT_RT_EXPORT int mpt_rt_get_cuda_memory(mpt_rt_context *context, int64_t *needed,
                                         int64_t *unused);

/* State of the program to be opened is that of `other`, an open program for the same
 * device, where names, types and shapes agree: the same memory, which lives as long as
 * either context. On a GPU all state must agree, in its order, too; the programs then do
 * their work in one stream, and what fails on the device ends both. No two contexts that
 * share state may run at a time. Before the program is opened, which fails with
 * MPT_RT_UNSUPPORTED if its state cannot be shared. */
MPT_RT_EXPORT int mpt_rt_share_state(mpt_rt_context *context,
                                     const mpt_rt_context *other);

/* Opens a program: a file made by mpt-compile, or a descriptor in memory that
 * outlives the context. One program a context. A program that
 * needs more memory than this process can have (the machine's, or less by its control
 * group or ulimit) is MPT_RT_OUT_OF_MEMORY.
 *
 * A file is checked before any of it is loaded: a file that is not a program, is for
 * another machine, is cut short or is damaged is an error. What is loaded is a copy in
 * memory, so the file may be rebuilt, overwritten or removed while the context lives, and
 * each call opens what the path names at that time.
 *
 * State starts with the value that the program holds for it (mpt-compile --state), else
 * with the value of its `mpt.init` if that is the same for all elements, and optimizer
 * and random state without either as zeros. Other state must be written or initialized
 * before the first run. */
MPT_RT_EXPORT int mpt_rt_open(mpt_rt_context *context, const char *path);
MPT_RT_EXPORT int mpt_rt_open_desc(mpt_rt_context *context,
                                   const struct mpt_program_desc *desc);

/* What the open program was compiled for: "cuda sm_80 sm_90", or "x86_64" and the CPU;
 * "" if none is open. Lives as long as the context. */
MPT_RT_EXPORT const char *mpt_rt_target(const mpt_rt_context *context);
/* The text that mpt-compile left in the file for hosts (mpt/ProgramABI/ProgramFile.h), as
 * JSON; "" if there is none. Lives as long as the context. */
MPT_RT_EXPORT const char *mpt_rt_metadata(const mpt_rt_context *context);

/* Tensors by number, state and inputs in the order of the function's
 * arguments, then outputs. Returns nonzero if there is no such number. */
MPT_RT_EXPORT int32_t mpt_rt_num_tensors(const mpt_rt_context *context);
MPT_RT_EXPORT int mpt_rt_get_tensor(const mpt_rt_context *context, int32_t index,
                                    mpt_rt_tensor *tensor);

/* Gives all state the value that the program holds for it, as mpt_rt_open does, and other
 * state the first value that its `mpt.init` describes, with the random numbers
 * that mpt-run draws for --seed=SEED: bit for bit what mpt-run trains from. State of role
 * "rng" named "seed" becomes `seed`; optimizer and random state without a first value
 * becomes zeros, and other state without one stays as it is. After runs, this starts
 * training over. State that was written before is overwritten. */
MPT_RT_EXPORT int mpt_rt_initialize(mpt_rt_context *context, uint64_t seed);

/* Copies a state tensor in or out, or an output of the last run (an error before the
 * first one) out. `bytes` must be the tensor's size. On a GPU all of these wait for the
 * last run, but for writes of at most 64 bytes, which take effect after it. */
MPT_RT_EXPORT int mpt_rt_write(mpt_rt_context *context, const char *name,
                               const void *data, size_t bytes);
MPT_RT_EXPORT int mpt_rt_read(mpt_rt_context *context, const char *name, void *data,
                              size_t bytes);

/* Whether the state tensor `name` has no value yet: mpt_rt_open or mpt_rt_initialize gave
 * it none, and it has not been written. 0 for other names. */
MPT_RT_EXPORT int mpt_rt_needs_value(const mpt_rt_context *context, const char *name);

MPT_RT_EXPORT int mpt_rt_read_output(mpt_rt_context *context, const char *name,
                                     void *data, size_t bytes);

/* Sets `data` to where tensor `index` (mpt_rt_get_tensor) lies: state or an output, for
 * as long as the context lives, or what an input is bound to, which may be NULL. The next
 * run changes it. MPT_RT_UNSUPPORTED for a program for GPUs. */
MPT_RT_EXPORT int mpt_rt_get_data(mpt_rt_context *context, int32_t index, void **data);

/* On a GPU, after a run: sets `data` to where tensor `index`, state or an output, lies in
 * the GPU's memory, for as long as the context lives. The next run changes it. If
 * mpt_rt_set_cuda_stream was called, what is in that stream may use it there; else this
 * waits for the last run. MPT_RT_UNSUPPORTED for a program for the CPU. */
MPT_RT_EXPORT int mpt_rt_get_device_data(mpt_rt_context *context, int32_t index,
                                         void **data);

/* Binds an input or target. `data` must stay valid for the runs that follow. */
MPT_RT_EXPORT int mpt_rt_bind(mpt_rt_context *context, const char *name, const void *data,
                              size_t bytes);

/* As mpt_rt_bind, to memory of the GPU that the program runs on. Each run copies it
 * there, after waiting for what was begun on the default stream, and returns when that
 * copy is made (unless mpt_rt_set_cuda_stream was called). MPT_RT_UNSUPPORTED for a
 * program for the CPU. */
MPT_RT_EXPORT int mpt_rt_bind_device(mpt_rt_context *context, const char *name,
                                     const void *data, size_t bytes);

/* Runs the program once. If state that needs a value was never written, or an input is
 * not bound, that is an error, and nothing has run. If a run fails, the state may be
 * partly updated. On a GPU the
 * step may still be under way when this returns (inputs have been copied); reading
 * waits for it, and what goes wrong there is an error of the next call. */
MPT_RT_EXPORT int mpt_rt_run(mpt_rt_context *context);

/* Runs so far that did not fail: the number of the last one. */
MPT_RT_EXPORT uint64_t mpt_rt_get_num_runs(const mpt_rt_context *context);

/* Results without waiting. Every run after this leaves copies of the `count` tensors
 * `tensors` (state and outputs, by their numbers in mpt_rt_get_tensor) for
 * mpt_rt_read_result. Copies of earlier runs are given up; 0 tensors: no more copies.
 * Takes memory of the host for the copies of two runs. On a GPU that memory is pinned,
 * and the copies are made while the next run is under way, by a stream of their own from
 * twice as much of the GPU's memory, taken with the next run; where it has none left, or
 * the tensors have more than 128 MiB, the next run begins when they are copied. */
MPT_RT_EXPORT int mpt_rt_keep_results(mpt_rt_context *context, const int32_t *tensors,
                                      int32_t count);
/* Copies out what tensor `tensor` was after run `run` (mpt_rt_get_num_runs): the last one
 * or the one before it, whose copies later runs take the place of. On a GPU, waits until
 * that run is done and copied, and not for the one after it: a host that starts a run and
 * then reads the results of the run before keeps the GPU busy. What went wrong on the GPU
 * is an error here as it is in mpt_rt_read_output; an index outside its table is that of
 * run `run` or earlier (mpt_rt_get_bad_index). `bytes` must be the tensor's size. */
MPT_RT_EXPORT int mpt_rt_read_result(mpt_rt_context *context, uint64_t run,
                                     int32_t tensor, void *data, size_t bytes);

/* All state as it was between two runs, to be read while runs go on: for checkpoints. */
typedef struct mpt_rt_snapshot mpt_rt_snapshot;
/* Takes one, after the runs so far and what has been written. On a GPU whose free memory
 * has room for the state once more, and for a 32nd of all its memory beside (at most 256
 * MiB), this copies the state there before the next run and does not wait; else, and on
 * the CPU, it waits for the last run and copies the state to the host. It may outlive the
 * context. */
MPT_RT_EXPORT int mpt_rt_take_snapshot(mpt_rt_context *context,
                                       mpt_rt_snapshot **snapshot);
/* Copies state out. `bytes` must be the tensor's size. Unlike a context, a snapshot may
 * be read, and destroyed, by any thread, one at a time, also while the context runs. */
MPT_RT_EXPORT int mpt_rt_read_snapshot(mpt_rt_snapshot *snapshot, const char *name,
                                       void *data, size_t bytes);
/* Why the last reading failed. Lives until the next one. */
MPT_RT_EXPORT const char *mpt_rt_snapshot_error(const mpt_rt_snapshot *snapshot);
/* Gives its memory back, which waits for what is under way on the GPU. */
MPT_RT_EXPORT void mpt_rt_destroy_snapshot(mpt_rt_snapshot *snapshot);

/* If the last run failed for an index outside its table: that index, and its position
 * among the indices that it was given with, in row-major order. Else an error, which
 * leaves mpt_rt_last_error as it is. */
MPT_RT_EXPORT int mpt_rt_get_bad_index(const mpt_rt_context *context, int64_t *index,
                                       int64_t *position);

/* On a GPU: whether inputs stay as they are on the device (`keep`) or are copied there
 * before each run (the default). */
MPT_RT_EXPORT void mpt_rt_keep_inputs(mpt_rt_context *context, int keep);
/* On a GPU: runs take their place among the work in `stream` (a cudaStream_t of the
 * program's GPU, which outlives the runs; NULL: the default stream), as a kernel that is
 * launched there does. A run begins when what is in the stream is done, and what comes
 * after it there begins when the run is done, with whatever memory of the GPU the run
 * reads. The host does not wait for that, not even for inputs that are bound there. For a
 * program for the CPU, or before one is open: MPT_RT_UNSUPPORTED. */
MPT_RT_EXPORT int mpt_rt_set_cuda_stream(mpt_rt_context *context, void *stream);
/* On a GPU, after the first run: the cudaStream_t that runs are launched on; else
 * NULL. */
MPT_RT_EXPORT void *mpt_rt_cuda_stream(const mpt_rt_context *context);
/* Lines about what was decided when the program first ran: matmuls whose epilogue
 * cuBLASLt refused or that it does not do, algorithms that were measured, convolutions
 * that cuDNN does not do. Lives until the next call. */
MPT_RT_EXPORT const char *mpt_rt_notes(const mpt_rt_context *context);

MPT_RT_EXPORT size_t mpt_rt_arena_bytes(const mpt_rt_context *context);
MPT_RT_EXPORT size_t mpt_rt_state_bytes(const mpt_rt_context *context);

/* Measures each instruction of the following runs if `on`. A context of one thread
 * measures processor time, which other processes do not add to. On a GPU they are then
 * launched one by one, each in an NVTX range that has its place in the source as a
 * name, and not as one graph. */
MPT_RT_EXPORT void mpt_rt_set_profiling(mpt_rt_context *context, int on);
/* Entry `index` of the last profiled run, in the order of the program: what ran, where it
 * comes from and how long it took, in all iterations of the loops around it. On a CPU
 * there is an entry for each instruction, and what is not a call is a "kernel". On a GPU
 * there is none for what did not run, such as what replaces a call of a library that does
 * it, and launches are named as in a report of mpt-compile. Strings live until the next
 * run. Nonzero if there is no such entry. */
MPT_RT_EXPORT int mpt_rt_get_profile(const mpt_rt_context *context, int32_t index,
                                     const char **what, const char **location,
                                     double *milliseconds);
/* The number of the instruction that entry `index` of the last profiled run is about, as
 * mpt_rt_get_cost and the reports of mpt-compile count; -1 if there is no such entry. */
MPT_RT_EXPORT int32_t mpt_rt_get_profile_instruction(const mpt_rt_context *context,
                                                     int32_t index);
/* What instruction `index` costs in one run of the open program, in all iterations of the
 * loops around it: multiplications and additions of a matmul or convolution (0 for all
 * else), the type that they are done in as in mpt_rt_tensor, and the bytes of its
 * operands and results. Nonzero if there is no such number. */
MPT_RT_EXPORT int mpt_rt_get_cost(const mpt_rt_context *context, int32_t index,
                                  double *flops, const char **type, double *bytes);

/* Several processes that run one program together, each on data of its own, are ranks,
 * numbered from 0. A communicator is what one of them knows the others by. Its program
 * was compiled for that number of ranks (--mpt-data-parallel), and every rank makes the
 * same calls of the functions below, and the same runs, in the same order.
 *
 * A communicator belongs to one thread at a time. During a run it may have one of its
 * own, which is idle between runs: MPI must then permit calls from any thread, one at a
 * time (MPI_THREAD_SERIALIZED), or exchanges do not overlap. No function waits for
 * another rank longer than the deadline: then it fails with MPT_RT_COMMUNICATION_FAILED
 * and says for which rank and on which host it waited. So does every later call, since
 * messages may be lost. The host then prints what it wants, and calls mpt_rt_abort, which
 * ends the ranks that still wait. */
typedef struct mpt_rt_communicator mpt_rt_communicator;

/* Bytes that one rank sends to another. */
typedef struct mpt_rt_message {
  void *data;
  size_t bytes;
} mpt_rt_message;

/* What carries messages between ranks, for hosts that bring their own. Functions return
 * 0, or another number after which `describe` says why. Messages from one rank to another
 * arrive in the order in which they were posted. */
typedef struct mpt_rt_transport {
  /* sizeof(mpt_rt_transport): later versions add functions at the end, which one of an
   * earlier version lacks. */
  size_t struct_bytes;
  void *data;
  int32_t rank, ranks;
  /* The name of this rank's machine; at most 255 bytes are kept. */
  const char *host;
  /* Begins to send send[i] to rank i, and to receive what rank i sends to this one into
   * receive[i], for each other rank i. Messages have at most 2^30 bytes; those of 0 bytes
   * are not sent. Memory, but not the two arrays, stays as it is until `test` says that
   * all is done. Sets *request. */
  int (*post)(void *data, const mpt_rt_message *send, const mpt_rt_message *receive,
              void **request);
  /* Sets *done to whether all messages of `request` are sent and received; the request is
   * then over. Else sets *missing to a rank that they wait for. Does not wait. */
  int (*test)(void *data, void *request, int32_t *done, int32_t *missing);
  /* Why the last function failed. Lives until the next call. */
  const char *(*describe)(void *data);
  /* Ends all ranks, this one, too, with this exit status. May return if it cannot. */
  void (*abort)(void *data, int32_t status);
  /* The last call: nothing is under way, unless messages have failed (`failed`). */
  void (*close)(void *data, int32_t failed);
  /* Not 0: any thread may call these functions, one at a time. Exchanges then run beside
   * the rest of a step, on a thread of the communicator's; else each runs where it
   * begins. */
  int32_t any_thread;
  /* NULL, or: begins to add `count` numbers of all ranks, f32 (f64 if `is_double`), in an
   * order of its own. `sums` and `values` do not overlap, and stay as they are until
   * `test` says that the request is done. For programs with order=library. */
  int (*all_reduce)(void *data, const void *values, void *sums, size_t count,
                    int32_t is_double, void **request);
} mpt_rt_transport;

/* NULL if there is no memory. `deadline` in seconds; 0: 60. */
MPT_RT_EXPORT mpt_rt_communicator *mpt_rt_create_communicator(double deadline);
/* After the contexts that use it. */
MPT_RT_EXPORT void mpt_rt_destroy_communicator(mpt_rt_communicator *communicator);
/* The message of the last failure; "" if there was none. */
MPT_RT_EXPORT const char *
mpt_rt_communicator_error(const mpt_rt_communicator *communicator);

/* Makes this process a rank of the job that mpirun (or srun --mpi=pmix) started it in.
 * `library`: OpenMPI's libmpi by path or name; NULL: libmpi.so.40. MPI that the host has
 * initialized itself is used and not finalized. If MPI_Init, or MPI_Finalize at the end,
 * waits for other ranks for longer than the communicator's first deadline (20 s if that
 * is more), the process ends, with a line on standard error. MPT_RT_UNSUPPORTED if there
 * is no such library, it is of another MPI, or this process was not started so. */
MPT_RT_EXPORT int mpt_rt_connect_mpi(mpt_rt_communicator *communicator,
                                     const char *library);
/* Makes this process a rank of the job that torchrun, or what sets the same environment
 * (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), started it in. The ranks meet at that
 * port of rank 0's machine, or at the next one where torchrun itself keeps it
 * (TORCHELASTIC_USE_AGENT_STORE), within the deadline, and have a TCP connection for each
 * pair. That is fast enough for what hosts tell each other, and for the unique id of
 * NCCL, which carries the data of programs for GPUs. MPT_RT_UNSUPPORTED if the
 * environment is not set, or makes no sense. */
MPT_RT_EXPORT int mpt_rt_connect_torchrun(mpt_rt_communicator *communicator);
/* The same over a transport of the host's, which is copied and closed with the
 * communicator, or at once if this fails. */
MPT_RT_EXPORT int mpt_rt_connect(mpt_rt_communicator *communicator,
                                 const mpt_rt_transport *transport);

/* This rank and the number of ranks; 0 and 1 before it is connected. */
MPT_RT_EXPORT int32_t mpt_rt_get_rank(const mpt_rt_communicator *communicator);
MPT_RT_EXPORT int32_t mpt_rt_get_ranks(const mpt_rt_communicator *communicator);
/* The host that a rank runs on, as long as the communicator lives; "" for no rank. */
MPT_RT_EXPORT const char *mpt_rt_get_rank_host(const mpt_rt_communicator *communicator,
                                               int32_t rank);
/* From now on; in seconds, more than 0. */
MPT_RT_EXPORT int mpt_rt_set_deadline(mpt_rt_communicator *communicator, double deadline);
/* `bytes` bytes of each rank, in the order of ranks: `all` has room for ranks * bytes. A
 * barrier, too. */
MPT_RT_EXPORT int mpt_rt_gather(mpt_rt_communicator *communicator, const void *data,
                                size_t bytes, void *all);
/* Bytes of messages that this rank has sent so far. */
MPT_RT_EXPORT uint64_t mpt_rt_get_sent_bytes(const mpt_rt_communicator *communicator);
/* Seconds of exchanges between ranks in all runs so far, waiting for other ranks
 * included: `total` of all, `exposed` of those in which this rank's step did nothing
 * else. Either may be NULL. */
MPT_RT_EXPORT void mpt_rt_get_exchange_seconds(const mpt_rt_communicator *communicator,
                                               double *total, double *exposed);
/* The first rank of this machine whose process has ended; -1: none, or none that is known
 * here. A launcher that sees a rank end may signal the others before they notice: may be
 * called in signal handlers, like the next. */
MPT_RT_EXPORT int32_t mpt_rt_find_lost_rank(const mpt_rt_communicator *communicator);
/* 1 for the first of this machine's ranks that asks, 0 for the others: when all end for
 * one reason, that rank reports it. */
MPT_RT_EXPORT int32_t mpt_rt_take_report(mpt_rt_communicator *communicator);
/* Ends all ranks that can be reached, and this process, with this exit status. */
MPT_RT_EXPORT void mpt_rt_abort(mpt_rt_communicator *communicator, int32_t status);

/* The ranks that the program of `context` exchanges data with. Before its first run;
 * NULL: none. A program that was compiled for one process needs none, and makes its
 * exchanges by NCCL if it has some and a communicator of one rank. A program for GPUs
 * exchanges data by NCCL, and meets the other ranks in its first run: each rank then has
 * a GPU of its own. */
MPT_RT_EXPORT int mpt_rt_set_communicator(mpt_rt_context *context,
                                          mpt_rt_communicator *communicator);
/* The number of ranks that the open program was compiled for; 1 for most. */
MPT_RT_EXPORT int32_t mpt_rt_get_program_ranks(const mpt_rt_context *context);

#ifdef __cplusplus
}
#endif

#endif /* MPT_RUNTIME_RUNTIME_H */
