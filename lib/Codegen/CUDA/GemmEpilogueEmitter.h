//===- GemmEpilogueEmitter.h - Kernels that replace an epilogue -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bodies of the functions that run after a matmul whose epilogue cuBLASLt refuses:
/// in place, on rows of `width`. Parameters of a function are its inputs and then its
/// outputs.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_CODEGEN_CUDA_GEMMEPILOGUEEMITTER_H
#define MPT_LIB_CODEGEN_CUDA_GEMMEPILOGUEEMITTER_H

#include "GPUFunctionBuilder.h"
#include "mpt/ProgramABI/Calls.h"

namespace mpt::detail {

/// sums + bias through an epilogue, in f32.
mlir::Value finishOutput(GPUFunctionBuilder &code, rt::Epilogue epilogue, mlir::Value sum,
                         mlir::Value bias);

/// bias (if it has a type), y -> y, a thread four elements.
void emitEpilogue(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                  rt::Epilogue epilogue, mlir::Type biasType, mlir::Type type);

/// bias (if it has a type), y, bits -> y and bits; a thread eight columns, of which
/// rows have a multiple of 128 in `bits`. Bit i of byte b is column 8 b + i.
void emitReluSaving(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                    mlir::Type biasType, mlir::Type type);
/// bits, y -> y, as saved by emitReluSaving.
void emitReluGrad(GPUFunctionBuilder &code, int64_t rows, int64_t width, mlir::Type type);

/// bias (if it has a type), y, saved -> y and saved, a thread four elements.
void emitGeluSaving(GPUFunctionBuilder &code, int64_t rows, int64_t width,
                    mlir::Type biasType, mlir::Type type);
/// saved, y -> y.
void emitGeluGrad(GPUFunctionBuilder &code, int64_t rows, int64_t width, mlir::Type type);

} // namespace mpt::detail

#endif // MPT_LIB_CODEGEN_CUDA_GEMMEPILOGUEEMITTER_H
