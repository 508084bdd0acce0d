//===- GemmScales.h - Scales of 8-bit operands of cuBLASLt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where cuBLASLt wants the scales of an operand's blocks (NVIDIA's documentation of
/// cuBLAS 13, "1D Block Scaling Factors Layout" and "Scaling factors layouts"). An
/// operand has `outer` rows (A) or columns (B), and K elements in each. Needs neither
/// CUDA nor LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_GEMMSCALES_H
#define MPT_PROGRAMABI_GEMMSCALES_H

#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// What the scales of an operand's blocks are stored as. Meaningless for None.
DataType getScaleType(GemmScaling scaling);
/// Elements of K that have one scale.
int64_t getScaleLength(GemmScaling scaling);
/// As in cuBLASLt, without CUBLASLT_MATMUL_MATRIX_SCALE_.
const char *getName(GemmScaling scaling);

/// How many scales are stored, including those that fill up tiles and columns.
int64_t countScales(GemmScaling scaling, int64_t outer, int64_t k);
/// The place of the scale of row (or column) `o` and of the `block`th block along K.
int64_t findScale(GemmScaling scaling, int64_t outer, int64_t k, int64_t o,
                  int64_t block);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_GEMMSCALES_H
