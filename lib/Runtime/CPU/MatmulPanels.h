//===- MatmulPanels.h - Layouts that oneDNN multiplies best -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operands of matmuls as f32 in layouts that oneDNN multiplies with a plain one
/// only slower, or with a panel of its own.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_MATMULPANELS_H
#define MPT_LIB_RUNTIME_CPU_MATMULPANELS_H

#include "Transpose.h"

#include <dnnl.h>

namespace mpt::rt {

/// Whether `desc`, a filter of n outputs, k inputs and 1 x 1 points, has the layout of
/// oneDNN's convolutions of 1x1 with AVX2 (OIhw8i8o): of a right side of k x n, blocks
/// of 8 rows and 8 columns, row by row inside; those of one block of columns follow
/// each other. Rows and columns beyond k and n are zeros.
bool isBlockedRhs(const dnnl_memory_desc_t &desc, int64_t k, int64_t n);

/// Writes the blocks that the stored rows from `begin` (a multiple of 8) to before `end`
/// are in. The rows are those of the right side, or, if `isTransposed`, its columns.
void packBlocks(const StoredRows &rhs, bool isTransposed, int64_t begin, int64_t end,
                float *target);

/// If `desc`, a right side of bf16, has the layout of oneDNN's matmuls with AVX512_BF16
/// (BA16a64b2a and such): the columns of a block, else 0. Two rows alternate, element by
/// element, and the pairs of rows of a block follow each other.
int64_t getPairedColumns(const dnnl_memory_desc_t &desc);

/// Whether packPairs takes a right side that is stored as `type`.
bool canPackPairs(DataType type, bool isTransposed);

/// Writes all of a right side of f32 that is rounded, of bf16, or of 8-bit floats in that
/// layout, in blocks of `block` columns. The rows are those of the right side, or, if
/// `isTransposed`, its columns. Rows and columns beyond the last are zeros.
void packPairs(const StoredRows &rhs, bool isTransposed, int64_t block, uint16_t *target);

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_MATMULPANELS_H
