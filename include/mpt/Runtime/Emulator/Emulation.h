//===- Emulation.h - Device kernels run by the CPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface between device kernels compiled for the CPU and what runs their
/// threads. The code is the GPU's, from the same LLVM IR, down to who reads which
/// element and the order of every sum: only thread numbers, shuffles and barriers
/// are asked of the emulator. Plain C; both sides must be of one version of MPT.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_RUNTIME_EMULATOR_EMULATION_H
#define MPT_RUNTIME_EMULATOR_EMULATION_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

extern "C" {

/// What wgmma.mma_async.m64nNk16 is asked for: N, and matrices in shared memory by their
/// numbers (matrix descriptors).
struct mpt_simt_multiply {
  int64_t columns, is_bf16, is_a_in_registers, transposes_a, transposes_b, adds;
  int64_t matrix_a, matrix_b;
};

/// A CUtensorMap as the stand-in's cuTensorMapEncodeTiled writes it.
struct mpt_simt_tensor_map {
  static constexpr uint32_t kMagic = 0x7446a900;
  uint32_t magic;
  int16_t rank, element_bytes;
  void *address;
  int64_t sizes[5], strides[4];
  int16_t box[5], swizzle_bytes;
};

/// What a thread asks about itself and of its neighbours. Addresses in shared memory are
/// the low bits of the host's.
struct mpt_simt_ops {
  int32_t (*thread)();
  int32_t (*block_x)();
  int32_t (*block_y)();
  /// The word that the thread `distance` (by exclusive or) away in the warp gives.
  int32_t (*shuffle)(int32_t word, int32_t distance);
  void (*block_barrier)();
  void (*warp_barrier)();
  /// Which threads of the warp give a condition other than 0, one bit a thread.
  int32_t (*ballot)(int32_t condition);
  /// ldmatrix.x4: `row` is that of row i % 8 of matrix i / 8 of thread i of the warp;
  /// `words` gets two elements of each matrix.
  void (*load_matrices)(const void *row, int32_t is_transposed, int32_t *words);
  /// mma.m16n8k16: four words of A, two of B and four sums; `sums` gets the new ones.
  void (*multiply)(const int32_t *operands, int32_t is_bf16, float *sums);
  /// cp.async of 16 bytes, of which the last 16 - `bytes` become zeros: `to` has NaNs
  /// until the thread waits for it.
  void (*start_copy)(void *to, const void *from, int32_t bytes);
  void (*end_copies)();
  /// Waits for all but the last `groups` groups of copies that have ended.
  void (*wait_for_copies)(int32_t groups);
  /// The block's dynamic shared memory.
  void *(*shared)();
  /// mbarrier.init, and the fences after it.
  void (*init_barrier)(int32_t barrier, int32_t count);
  void (*fence_barriers)();
  /// mbarrier.arrive, with expect_tx of `bytes`.
  void (*arrive)(int32_t barrier, int32_t bytes);
  /// mbarrier.try_wait.parity until it holds.
  void (*wait_barrier)(int32_t barrier, int32_t parity);
  /// cp.async.bulk.tensor.4d of a tensor map's box from element `at` on.
  void (*start_tile)(int32_t to, const void *map, const int32_t *at, int32_t barrier);
  /// wgmma.mma_async: `a` are four words, if it is in registers. `sums` become NaNs until
  /// they are taken after a wait.
  void (*multiply_async)(const mpt_simt_multiply *what, const int32_t *a, float *sums);
  void (*fence_registers)();
  void (*end_multiplies)();
  void (*wait_for_multiplies)(int32_t groups);
  float (*take)(float sum);
};

/// A kernel of which a thread is one call. `arguments` point to the parameters,
/// as those of cudaLaunchKernel do.
struct mpt_simt_kernel {
  const char *name;
  void (*run)(void **arguments);
  int64_t parameters;
  /// How many of them, the last ones, are numbers of 64 bits and not addresses.
  int64_t numbers = 0;
  /// How many of them, the first ones, are tensor maps of 128 bytes.
  int64_t maps = 0;
};

/// What a module of emulated kernels exports as `mpt_simt_module`.
struct mpt_simt_module {
  const mpt_simt_ops **ops;
  const mpt_simt_kernel *kernels;
  int64_t num_kernels;
};
}

namespace mpt::rt {

/// Runs all threads of a launch; a block's threads take turns, block after block. With
/// `parts` other than 0 only the first, the middle and the last of so many parts of the
/// blocks along x run.
/// False, with `error` set, if a thread leaves while others wait for it, or if
/// threads of one warp wait for different things, or if a thread starts copies that it
/// does not wait for, or from or to other places than multiples of 16 bytes, or if an
/// asynchronous instruction breaks one of its rules. `shared` bytes of dynamic shared
/// memory are the launch's.
bool runEmulated(const mpt_simt_module &module, const mpt_simt_kernel &kernel,
                 int64_t blocksX, int64_t blocksY, int64_t threads, void **arguments,
                 std::string &error, int64_t parts = 0, int64_t shared = 0);

/// The first, the middle and the last of `parts` parts of [0, count), as beginnings and
/// ends, in order and apart from each other; all of it if `parts` is 0 or it is short.
std::vector<std::pair<int64_t, int64_t>> getWindows(int64_t count, int64_t parts);

} // namespace mpt::rt

#endif // MPT_RUNTIME_EMULATOR_EMULATION_H
