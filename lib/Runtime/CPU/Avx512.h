//===- Avx512.h - Vectors of sixteen numbers with AVX-512 -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads, roundings and transpositions for code that is compiled for AVX-512 next to
/// code for any CPU. Functions marked MPT_AVX512 run only where getVectorSet() is
/// VectorSet::AVX512.
/// Roundings are to nearest even and keep subnormals. The instructions of AVX512_BF16
/// flush them, so integer arithmetic rounds vectors that have some, and all where the CPU
/// has no such instructions.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_AVX512_H
#define MPT_LIB_RUNTIME_CPU_AVX512_H

#if defined(__x86_64__)
#include <cstdint>
#include <immintrin.h>

#define MPT_AVX512 __attribute__((target("f16c,avx512f,avx512bw,avx512dq,avx512vl")))
/// For code that may round to bf16 by instructions, where hasBF16Rounding().
#define MPT_AVX512_BF16                                                                  \
  __attribute__((target("f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

namespace mpt::rt {

/// The first `count` of sixteen lanes; none if it is negative.
inline __mmask16 getLanes(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count > 0 ? (1u << count) - 1 : 0);
}

/// Whether this CPU has instructions that round to bf16.
inline bool hasBF16Rounding() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}

/// Floats rounded to bf16, which is the upper half of each lane. NaNs become quiet.
MPT_AVX512 inline __m512i roundToBF16(__m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  return _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q),
                              bits, _mm512_set1_epi32(0x400000));
}

/// The upper halves of the lanes of `low`, then those of `high`.
MPT_AVX512 inline __m512i getUpperHalves(__m512i low, __m512i high) {
  const __m512i places =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31,
                       29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi16(low, places, high);
}

/// Lanes that are subnormal.
MPT_AVX512 inline __mmask16 getSubnormals(__m512 value) {
  return _mm512_fpclass_ps_mask(value, 0x20);
}

/// The lanes of `low`, then those of `high`, rounded to bf16 in the same way, with
/// `byInstruction` by one unless there are subnormals.
template <bool byInstruction>
MPT_AVX512_BF16 inline __m512i roundBoth(__m512 low, __m512 high) {
  if (byInstruction &&
      __builtin_expect(!_kor_mask16(getSubnormals(low), getSubnormals(high)), 1))
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
  return getUpperHalves(roundToBF16(low), roundToBF16(high));
}

/// Sixteen numbers of a row of bf16, or of f32 that is rounded, as the upper halves of
/// lanes; zeros where `lanes` has none.
template <bool isWide>
MPT_AVX512 inline __m512i loadUpper(const void *data, int64_t index, __mmask16 lanes) {
  if (isWide)
    return roundToBF16(
        _mm512_maskz_loadu_ps(lanes, static_cast<const float *>(data) + index));
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(
                               lanes, static_cast<const uint16_t *>(data) + index)),
                           16);
}

/// The lanes of sixteen vectors as a matrix of 16 x 16, transposed in place.
MPT_AVX512 inline void transpose16(__m512i (&rows)[16]) {
  const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                       16, 0),
                high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10,
                                        25, 9, 24, 8);
  __m512i other[16];
  // Each round rotates the bits of (row, column) by one.
  auto rotate = [&](const __m512i *from, __m512i *to) MPT_AVX512 {
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i) {
      to[2 * i] = _mm512_permutex2var_epi32(from[i], low, from[i + 8]);
      to[2 * i + 1] = _mm512_permutex2var_epi32(from[i], high, from[i + 8]);
    }
  };
  rotate(rows, other);
  rotate(other, rows);
  rotate(rows, other);
  rotate(other, rows);
}

} // namespace mpt::rt
#endif // __x86_64__

#endif // MPT_LIB_RUNTIME_CPU_AVX512_H
