//===- Im2ColEmitter.h - Device functions around matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bodies of the functions that convolutions launch in addition to their
/// matmuls (CallsToGPU.cpp). Parameters of a function are its inputs and then its output.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_IM2COLEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_IM2COLEMITTER_H

#include "GPUFunctionBuilder.h"
#include "mpt/ProgramABI/CudaCallPlan.h"

namespace mpt::detail {

/// Threads of a block of these functions.
inline constexpr int64_t kConvThreads = 256;

/// Elements that a thread reads and writes at once: 16 bytes of `width` each,
/// if channels come in that many.
int64_t convLanes(int64_t channels, int64_t width);
/// Row r of `columns` is what output position start + r sees.
void emitColumns(GPUFunctionBuilder &code, const rt::CudaConv &c, mlir::Type element);
/// dx of the images of a chunk: the sum of the rows of `columns` (f32) that lie
/// over a position, taps in order.
void emitOverlap(GPUFunctionBuilder &code, const rt::CudaConv &c, mlir::Type element);
/// A matrix of `rows` as one of `columns` rows: a block 32 by 32 elements. Filters are
/// HWIO for matmuls, and KRSC, which is that transposed, for cuDNN.
void emitTransposed(GPUFunctionBuilder &code, int64_t rows, int64_t columns,
                    mlir::Type from, mlir::Type to);
/// Its blocks.
int64_t transposedBlocks(int64_t rows, int64_t columns);
void emitRounding(GPUFunctionBuilder &code, int64_t count, mlir::Type element);
/// y of a convolution in groups, a thread an element.
void emitGroupedOutput(GPUFunctionBuilder &code, const rt::CudaConv &c, mlir::Type xType,
                       mlir::Type filterType, mlir::Type biasType, mlir::Type yType);
/// dx of a convolution in groups, a thread an element.
void emitGroupedInputGrad(GPUFunctionBuilder &code, const rt::CudaConv &c,
                          mlir::Type yType, mlir::Type filterType, mlir::Type xType);
/// The filter's gradient of a convolution in groups, a block an element:
/// threads take turns over the positions, then their sums are added in a fixed
/// order.
void emitGroupedFilterGrad(GPUFunctionBuilder &code, const rt::CudaConv &c,
                           mlir::Type xType, mlir::Type yType, mlir::Type filterType);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_IM2COLEMITTER_H
