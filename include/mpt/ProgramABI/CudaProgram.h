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

/// Machine code for one architecture (90: sm_90), or PTX for it and newer ones.
struct mpt_cuda_image {
  uint64_t architecture;
  uint64_t is_ptx;
  const void *data;
  uint64_t size;
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
};
}

#endif // MPT_PROGRAMABI_CUDAPROGRAM_H
