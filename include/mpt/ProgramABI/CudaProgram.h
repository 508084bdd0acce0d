//===- CudaProgram.h - What a program for GPUs exports ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_CUDAPROGRAM_H
#define MPT_PROGRAMABI_CUDAPROGRAM_H

#include <stdint.h>

extern "C" {

/// How kernel number i of the table is launched: a function of every image.
/// Parameters are the launch's buffers, in order. If `bound` is not 0, the function
/// reads indices that must be below it and has one parameter more: a word that is 0
/// before the first run. Where an index is not, it makes the word the largest of
/// what it is and ((2^32 - 1 - position) << 32 | index, as 32 bits), and goes on with
/// index 0.
struct mpt_cuda_kernel {
  const char *name;
  uint64_t blocks[2];
  uint64_t threads;
  uint64_t bound;
};

/// Machine code for one architecture (90: sm_90), or PTX for it and newer ones. With
/// `is_specific` it has instructions that no newer architecture has (sm_90a), and holds
/// only functions of variants.
struct mpt_cuda_image {
  uint64_t architecture;
  uint64_t is_ptx;
  const void *data;
  uint64_t size;
  uint64_t is_specific;
};

/// The launch's buffer number `buffer` as a tensor of rank 4, f16 or bf16, as
/// cuTensorMapEncodeTiled takes it: elements, then strides in bytes. Tiles have the
/// swizzle of 128 bytes.
struct mpt_cuda_tensor_map {
  uint64_t buffer;
  uint64_t sizes[4], strides[3], box[4];
};

/// Evenly distributed numbers from `from` to `to` for `elements` elements of a buffer,
/// f32 or those of the variant.
struct mpt_cuda_made {
  uint64_t buffer, is_f32, elements;
  double from, to;
};

/// A result, [entries, heads, rows, width], f32 or of the variant's elements: its first
/// `elements` elements hold what is compared, and strides lead from one entry, head and
/// row to the next. Elements x and y may differ by absolute + relative |x|.
struct mpt_cuda_compared {
  uint64_t buffer, is_f32, elements;
  uint64_t heads, rows, width, entry_stride, head_stride, row_stride;
  double absolute, relative;
};

/// What the kernel number `kernel` may be instead: the function `name` of a specific
/// image. Its parameters are the first `num_maps` tensor maps (by value) and then the
/// launch's buffers.
struct mpt_cuda_variant {
  uint64_t kernel;
  const char *name;
  uint64_t blocks, threads, shared_bytes;
  uint64_t is_bf16;
  uint64_t num_maps;
  struct mpt_cuda_tensor_map maps[4];
  /// Both are compared with made numbers for the first `checked_entries` batch entries,
  /// which so many blocks of each compute.
  uint64_t checked_entries, kernel_checked_blocks, checked_blocks;
  uint64_t num_made;
  struct mpt_cuda_made made[6];
  struct mpt_cuda_compared compared[2];
};

/// The algorithm that was measured to be the fastest for a matmul. The key names the
/// version of cuBLASLt, the device and the plan (lib/Runtime/CUDA/CublasLtMatmul.h).
struct mpt_cuda_tuned {
  const char *key;
  uint64_t algo[8];
};

/// `num_kernels` is that of the program.
struct mpt_cuda_desc {
  const mpt_cuda_kernel *kernels;
  const mpt_cuda_image *images;
  uint64_t num_images;
  const mpt_cuda_tuned *tuned;
  uint64_t num_tuned;
  const mpt_cuda_variant *variants;
  uint64_t num_variants;
};
}

#endif // MPT_PROGRAMABI_CUDAPROGRAM_H
