//===- VectorMath.h - Functions of sixteen floats ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that is compiled once for each set of vector instructions: it is inlined into
/// functions that are compiled for one.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_VECTORMATH_H
#define MPT_LIB_RUNTIME_CPU_VECTORMATH_H

#include <cstdint>

#define MPT_INLINE inline __attribute__((always_inline))

namespace mpt::rt {

/// 64 bytes of numbers; compilers split it where registers are narrower.
using Vector = float __attribute__((vector_size(64)));
using Integers = int32_t __attribute__((vector_size(64)));
constexpr int64_t kLanes = 16;

MPT_INLINE void load(const float *from, Vector &to) {
  __builtin_memcpy(&to, from, sizeof(to));
}
MPT_INLINE void store(float *to, const Vector &from) {
  __builtin_memcpy(to, &from, sizeof(from));
}

/// e^x within 2 units in the last place; 0 below 2^-126.
MPT_INLINE void exponential(const Vector &x, Vector &result) {
  // x = n log(2) + r, with log(2) in two parts. A NaN stays one.
  constexpr float toInteger = 12582912.0f; // 1.5 * 2^23
  const Vector limited = x > 89.0f ? Vector{} + 89.0f : x;
  const Vector shifted = limited * 1.44269504f + toInteger;
  const Vector n = shifted - toInteger;
  Vector r = limited - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  Vector p = Vector{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r;
  p = p + 1.0f;
  Integers bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + 127) << 23;
  Vector power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  p = p * power;
  result = x < -87.3365447f ? Vector{} : p;
}

} // namespace mpt::rt

#endif // MPT_LIB_RUNTIME_CPU_VECTORMATH_H
