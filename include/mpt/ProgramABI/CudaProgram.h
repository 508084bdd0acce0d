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

/// A tensor of rank 4, f16 or bf16, as cuTensorMapEncodeTiled takes it: elements, then
/// strides in bytes. Tiles have the swizzle of 128 bytes.
struct mpt_cuda_tensor_map {
  uint64_t sizes[4], strides[3], box[4];
};

/// What attention forward, the kernel number `kernel`, may be instead: the function
/// `name` of a specific image. Its parameters are three tensor maps (by value) of the
/// launch's first three buffers, query, key and value, and then all of them, the fourth
/// and fifth the result and the log-sum-exp (f32, packed).
struct mpt_cuda_variant {
  uint64_t kernel;
  const char *name;
  uint64_t blocks, threads, shared_bytes;
  uint64_t is_bf16;
  struct mpt_cuda_tensor_map maps[3];
  /// Of the first `checked_entries` batch entries, with which it is compared with the
  /// kernel: how many blocks of each compute them, and elements from the first to the
  /// last one of query, key, value and result.
  uint64_t checked_entries, kernel_checked_blocks, checked_blocks, checked_elements[4];
  /// The result's [heads, queries, width], and elements from one entry, head and row to
  /// the next.
  uint64_t heads, queries, width, entry_stride, head_stride, row_stride;
  /// Of operands between -largest and largest scores have a standard deviation of 2.
  double largest;
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
