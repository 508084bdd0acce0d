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

#include "mpt/ProgramABI/ProgramFormat.h"

#include <dnnl.h>

namespace mpt::rt {

/// `rows` rows of `length` elements each, `lead` elements from one to the next, from
/// element `first` on. With `rounding` they are floats that are rounded when they are
/// read.
struct StoredRows {
  DataType type;
  const void *data;
  int64_t first, lead, rows, length;
  Rounding rounding = Rounding::None;
};

/// Whether `desc`, a filter of n outputs, k inputs and 1 x 1 points, has the layout of
/// oneDNN's convolutions of 1x1 with AVX2 (OIhw8i8o): of a right side of k x n, blocks
/// of 8 rows and 8 columns, row by row inside; those of one block of columns follow
/// each other. Rows and columns beyond k and n are zeros.
bool isBlockedRhs(const dnnl_memory_desc_t &desc, int64_t k, int64_t n);

/// Writes the blocks that the stored rows from `begin` (a multiple of 8) to before `end`
/// are in. The rows are those of the right side, or, if `isTransposed`, its columns.
/// `buffer` has room for eight rows; f32 that is not rounded needs none.
void packBlocks(const StoredRows &rhs, bool isTransposed, int64_t begin, int64_t end,
                float *target, float *buffer);

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

/// Whether transposeRows takes a matrix of `type` on this CPU: f32, f16 and bf16 with
/// AVX-512.
bool canTransposeRows(DataType type);

/// Writes the transposed matrix, rounded if it says so: `length` rows of `rows` numbers
/// of `type`, which is f32 or, of a matrix of bf16, bf16.
void transposeRows(const StoredRows &matrix, DataType type, void *target);

/// Writes the transposed matrix: `length` rows of `rows` floats. `buffer` as above.
void transpose(const StoredRows &matrix, float *target, float *buffer);

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_MATMULPANELS_H
