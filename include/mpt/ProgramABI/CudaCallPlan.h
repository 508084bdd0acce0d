//===- CudaCallPlan.h - Calls that a GPU does in several parts -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a convolution becomes matmuls on a GPU, and what workspace calls need
/// there: functions of shapes and types alone. The planner reserves what they
/// say and the code generator uses it. Needs neither CUDA nor LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_CUDACALLPLAN_H
#define MPT_PROGRAMABI_CUDACALLPLAN_H

#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// A convolution, or one of its gradients, on a GPU.
struct CudaConv {
  enum class Kind {
    /// A 1x1 filter with stride 1: a matmul of the buffers as they are.
    Matmul,
    /// What every output position sees, as the rows of a matrix (im2col), and a
    /// matmul with it, for some positions at a time. For the gradient of the
    /// input the matmul comes first, and its rows are added up where they
    /// overlap (col2im).
    Columns,
    /// Groups: loops, one thread a result.
    Loops,
  };
  Kind kind = Kind::Loops;
  int64_t images = 0, height = 0, width = 0, channels = 0;
  int64_t outHeight = 0, outWidth = 0, outChannels = 0;
  int64_t filterHeight = 0, filterWidth = 0;
  int64_t strideH = 1, strideW = 1, padH = 0, padW = 0, dilationH = 1, dilationW = 1,
          groups = 1;
  Epilogue epilogue = Epilogue::None;
  bool hasBias = false;
  DataType x = DataType::F32, filter = DataType::F32, y = DataType::F32;

  /// Positions of the output, and the length of what one sees.
  int64_t rows() const { return images * outHeight * outWidth; }
  int64_t depth() const { return filterHeight * filterWidth * channels / groups; }

  /// Positions that are done at a time, whole images for the gradient of the
  /// input, and how often. Chunks of the output start at multiples of 64 bytes.
  int64_t chunkRows = 0, chunks = 1;
  /// Bytes of the matrix of a chunk, and of sums in f32 that are rounded later.
  int64_t columnBytes = 0, sumBytes = 0;
  /// The rows of a chunk; the last chunk may have fewer.
  int64_t chunkBegin(int64_t chunk) const { return chunk * chunkRows; }
  int64_t chunkEnd(int64_t chunk) const {
    return chunkBegin(chunk) + chunkRows < rows() ? chunkBegin(chunk) + chunkRows
                                                  : rows();
  }
};

/// The plan of a Conv2D, Conv2DInputGrad or Conv2DFilterGrad that checkCall
/// takes.
CudaConv planCudaConv(const Instruction &call);

/// The matmul of one chunk of a convolution, as the code generator emits it, for asking
/// whether cuBLASLt can do it. Its buffers have no places.
Instruction getConvMatmul(const Instruction &call, const CudaConv &conv, int64_t chunk);

/// Bytes of workspace that `call` (without its scratch) needs on a GPU. What
/// cuBLASLt itself needs is one area for all matmuls, kGemmWorkspaceBytes.
int64_t getCudaWorkspace(const Instruction &call);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_CUDACALLPLAN_H
