//===- Avx2.h - Vectors of eight numbers with AVX2 --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads and transpositions for code that is compiled for AVX2 and F16C next to code for
/// any CPU. Functions marked MPT_AVX2 run only where getVectorSet() is not
/// VectorSet::Plain.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_RUNTIME_CPU_AVX2_H
#define MPT_LIB_RUNTIME_CPU_AVX2_H

#if defined(__x86_64__)
#include "Transpose.h"

#include <cstdint>
#include <immintrin.h>

#define MPT_AVX2 __attribute__((target("avx2,f16c")))

namespace mpt::rt {

/// Eight numbers rounded to bf16, which is the upper half of each lane. NaNs become
/// quiet.
MPT_AVX2 inline __m256i roundToBF16(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)),
                            nan);
}

/// The same as eight halves.
MPT_AVX2 inline __m128i narrowToBF16(__m256 value) {
  const __m256i rounded = _mm256_srli_epi32(roundToBF16(value), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(rounded),
                          _mm256_extracti128_si256(rounded, 1));
}

/// Eight numbers from element `index` on as floats, f32 rounded as `rounding` says.
template <DataType type, Rounding rounding = Rounding::None>
MPT_AVX2 inline __m256 loadEight(const void *data, int64_t index) {
  if (type == DataType::F32) {
    const __m256 value = _mm256_loadu_ps(static_cast<const float *>(data) + index);
    if (rounding == Rounding::F16)
      return _mm256_cvtph_ps(_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
    if (rounding == Rounding::BF16)
      return _mm256_castsi256_ps(
          _mm256_and_si256(roundToBF16(value), _mm256_set1_epi32(-65536)));
    return value;
  }
  const __m128i halves = _mm_loadu_si128(
      reinterpret_cast<const __m128i *>(static_cast<const uint16_t *>(data) + index));
  return type == DataType::F16
             ? _mm256_cvtph_ps(halves)
             : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

/// Eight numbers of each of eight rows, from element `from` on, as floats.
MPT_AVX2 inline __attribute__((always_inline)) void
loadEights(const StoredRows &rows, int64_t from, __m256 (&tile)[8]) {
  auto load = [&](auto get) MPT_AVX2 {
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i)
      tile[i] = get(rows.data, from + i * rows.lead);
  };
  if (rows.type == DataType::F16)
    load(loadEight<DataType::F16>);
  else if (rows.type == DataType::BF16)
    load(loadEight<DataType::BF16>);
  else if (rows.rounding == Rounding::F16)
    load(loadEight<DataType::F32, Rounding::F16>);
  else if (rows.rounding == Rounding::BF16)
    load(loadEight<DataType::F32, Rounding::BF16>);
  else
    load(loadEight<DataType::F32>);
}

/// The lanes of eight vectors as a matrix of 8 x 8, transposed in place.
MPT_AVX2 inline void transpose8(__m256 (&rows)[8]) {
  __m256 pairs[8], fours[8];
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; i += 4)
#pragma clang loop unroll(full)
    for (int j = 0; j < 2; ++j) {
      fours[i + 2 * j] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0x44);
      fours[i + 2 * j + 1] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0xee);
    }
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    rows[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

/// The same of 16 bits, in vectors of eight.
MPT_AVX2 inline void transpose8(__m128i (&rows)[8]) {
  __m128i other[8];
  // Each round rotates the bits of (row, column) by one.
  auto rotate = [](const __m128i *from, __m128i *to) MPT_AVX2 {
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = _mm_unpacklo_epi16(from[i], from[i + 4]);
      to[2 * i + 1] = _mm_unpackhi_epi16(from[i], from[i + 4]);
    }
  };
  rotate(rows, other);
  rotate(other, rows);
  rotate(rows, other);
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i)
    rows[i] = other[i];
}

} // namespace mpt::rt
#endif // __x86_64__

#endif // MPT_LIB_RUNTIME_CPU_AVX2_H
