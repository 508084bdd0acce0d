//===- Transpose.h - Matrices the other way round ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_TRANSPOSE_H
#define MPT_LIB_RUNTIME_CPU_TRANSPOSE_H

#include "VectorSet.h"
#include "mpt/ProgramABI/ProgramFormat.h"

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

/// Whether transposeRows takes a matrix of `type` on this CPU: f32, f16 and bf16 with
/// AVX-512.
bool canTransposeRows(DataType type);

/// Writes the transposed matrix, rounded if it says so: `length` rows of `rows` numbers
/// of `type`, which is f32 or, of a matrix of bf16 or rounded to it, bf16.
void transposeRows(const StoredRows &matrix, DataType type, void *target);

/// Writes the transposed matrix as floats, rounded if it says so, `lead` floats from one
/// row to the next.
void transposeToFloats(const StoredRows &matrix, float *target, int64_t lead,
                       VectorSet set = getVectorSet());

/// `rows` rows of `columns` elements of `size` bytes (2 or 4), `lead` elements from
/// one row to the next.
struct StoredBits {
  int64_t size;
  const void *data;
  int64_t lead, rows, columns;
};

/// Writes the transposed matrix, `targetLead` elements from one row to the next.
void transposeBits(const StoredBits &matrix, void *target, int64_t targetLead,
                   VectorSet set = getVectorSet());

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_TRANSPOSE_H
