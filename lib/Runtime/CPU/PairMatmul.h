//===- PairMatmul.h - Small matmuls of f32 and of pairs of bf16 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sides of small matmuls, and those whose sides are words of two bf16 that lie one after
/// another in the sum, the first in the lower half. Words are kept as floats, which
/// nothing but loads, stores and shuffles touches.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_PAIRMATMUL_H
#define MPT_LIB_RUNTIME_CPU_PAIRMATMUL_H

#include "VectorMath.h"

namespace mpt::rt {

/// A left side whose numbers, or words, are read one at a time: that of row i and
/// position k of the sum is data[i * row + k * step].
struct Left {
  const float *data;
  int64_t row, step;
};
/// A right side or a result, of whole vectors `step` floats apart.
struct Rows {
  float *data;
  int64_t step;
};
/// What a result begins with: zeros, itself, or itself times a number per column.
enum class Begin { Zeros, Itself, Scaled };

/// Whether this CPU has instructions for bf16 in vectors of AVX-512.
bool hasPairMatmul();

/// c = a b for `m` rows, `n` vectors and sums of `length` words, in f32. Subnormal
/// numbers count as zero. Only where hasPairMatmul().
void multiplyPairs(const Left &a, const Rows &b, int64_t length, const Rows &c, int64_t m,
                   int64_t n, Begin begin, const float *factors);

/// Numbers rounded to bf16, to nearest even, in the lower halves of lanes.
MPT_INLINE void roundToHalves(const Vector &from, Integers &to) {
  using Unsigned = uint32_t __attribute__((vector_size(64)));
  Unsigned bits;
  __builtin_memcpy(&bits, &from, sizeof(bits));
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  to = from == from ? (Integers)bits : Integers{} + 0x7fc0;
}
/// Words of two numbers rounded to bf16.
MPT_INLINE void storePairs(float *to, const Vector &even, const Vector &odd) {
  Integers low, high;
  roundToHalves(even, low);
  roundToHalves(odd, high);
  low |= high << 16;
  __builtin_memcpy(to, &low, sizeof(low));
}
/// Numbers rounded to bf16, one after another.
MPT_INLINE void storeHalves(uint16_t *to, const Vector &from) {
  using Halves = uint16_t __attribute__((vector_size(32)));
  Integers wide;
  roundToHalves(from, wide);
  const Halves halves = __builtin_convertvector(wide, Halves);
  __builtin_memcpy(to, &halves, sizeof(halves));
}

/// Each two rows of bf16 as one of words, `step` words apart. What is beyond the last row
/// or column is zero.
MPT_INLINE void interleaveRows(const uint16_t *from, int64_t rows, int64_t width,
                               uint32_t *to, int64_t step) {
  for (int64_t i = 0; i < rows; i += 2, to += step) {
    const uint16_t *even = from + i * width, *odd = even + width;
#pragma clang loop interleave(disable)
    for (int64_t j = 0; i + 1 < rows && j < width; ++j)
      to[j] = even[j] | static_cast<uint32_t>(odd[j]) << 16;
#pragma clang loop vectorize(disable) unroll(disable)
    for (int64_t j = i + 1 < rows ? width : 0; j < step; ++j)
      to[j] = j < width ? even[j] : 0;
  }
}

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_PAIRMATMUL_H
