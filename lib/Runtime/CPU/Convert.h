//===- Convert.h - Float types to and from f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rounding is to nearest even, subnormals are kept, NaNs stay NaNs, on every
/// x86-64 CPU with the same bits, whatever set of vector instructions is used.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_CONVERT_H
#define MPT_LIB_RUNTIME_CPU_CONVERT_H

#include "VectorSet.h"
#include "mpt/ProgramABI/ProgramFormat.h"

namespace mpt::rt {

/// One element as f32 (f64 is rounded).
float toF32(DataType type, const void *data, int64_t index);
/// Stores `value` rounded to `type`.
void fromF32(DataType type, void *data, int64_t index, float value);

/// `count` elements of `source`, starting at element `index`.
void widen(DataType type, const void *source, int64_t index, float *target, int64_t count,
           VectorSet set = getVectorSet());
/// ... of an 8-bit float, all of whose numbers bf16 has.
void widenF8ToBF16(DataType type, const void *source, int64_t index, uint16_t *target,
                   int64_t count, VectorSet set = getVectorSet());
/// Rounds `count` floats to values of f16 or bf16. `target` may be `source`.
void round(Rounding rounding, const float *source, float *target, int64_t count,
           VectorSet set = getVectorSet());
/// Widens, and rounds f32.
inline void widen(DataType type, Rounding rounding, const void *source, int64_t index,
                  float *target, int64_t count) {
  if (rounding == Rounding::None)
    widen(type, source, index, target, count);
  else
    round(rounding, static_cast<const float *>(source) + index, target, count);
}
/// `count` elements into `target`, starting at element `index`.
void narrow(DataType type, const float *source, void *target, int64_t index,
            int64_t count, VectorSet set = getVectorSet());

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_CONVERT_H
