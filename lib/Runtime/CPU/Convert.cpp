//===- Convert.cpp - Float types to and from f32 -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Avx2.h"
#include "Avx512.h"

#include <algorithm>
#include <cmath>

using namespace mpt::rt;

namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

uint16_t toBF16(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40); // a quiet NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A float type with `exponentBits` and `mantissaBits`; `hasInf` is false for
/// f8E4M3FN, whose largest exponent holds numbers and one NaN.
struct SmallFloat {
  int exponentBits, mantissaBits;
  bool hasInf;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int largestExponent() const { return (1 << exponentBits) - 1; }

  float widen(uint32_t bits) const {
    uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
    int exponent = bits >> mantissaBits & largestExponent();
    uint32_t signBit = bits >> (exponentBits + mantissaBits) & 1;
    float sign = signBit ? -1.0f : 1.0f;
    // A NaN keeps its payload and becomes quiet, as in the vector instructions.
    float nan = floatOf(signBit << 31 | 0x7fc00000 | mantissa << (23 - mantissaBits));
    if (exponent == largestExponent()) {
      if (hasInf)
        return mantissa ? nan : sign * INFINITY;
      if (mantissa == (1u << mantissaBits) - 1)
        return nan;
    }
    if (exponent == 0)
      return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias() - mantissaBits);
    return sign * std::ldexp(static_cast<float>(mantissa | 1u << mantissaBits),
                             exponent - bias() - mantissaBits);
  }

  uint32_t narrow(float value) const {
    uint32_t sign = (bitsOf(value) >> 31) << (exponentBits + mantissaBits);
    uint32_t inf = static_cast<uint32_t>(largestExponent()) << mantissaBits;
    uint32_t payload = (bitsOf(value) & 0x7fffff) >> (23 - mantissaBits);
    uint32_t nan = hasInf ? inf | 1u << (mantissaBits - 1) | payload
                          : inf | ((1u << mantissaBits) - 1);
    if (std::isnan(value))
      return sign | nan;
    double magnitude = std::fabs(static_cast<double>(value));
    if (magnitude == 0.0)
      return sign;
    if (std::isinf(magnitude))
      return sign | (hasInf ? inf : nan);
    int exponent;
    std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [.5, 1)
    int scale = std::max(exponent - 1, 1 - bias()) - mantissaBits;
    // Exact in double; nearbyint rounds to nearest even.
    auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -scale)));
    // The hidden bit adds to the exponent field, and so does a carry.
    int field = scale + mantissaBits + bias() - 1;
    uint32_t bits = mantissa + (static_cast<uint32_t>(field) << mantissaBits);
    uint32_t overflow = hasInf ? inf : nan;
    return sign | (bits >= overflow ? overflow : bits);
  }
};

constexpr SmallFloat f16{5, 10, true};
constexpr SmallFloat f8E4M3FN{4, 3, false};
constexpr SmallFloat f8E5M2{5, 2, true};

template <typename T>
T loadAt(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void storeAt(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

#if defined(__x86_64__)
/// Calls `body(source, target)` for eight elements at a time of `count`. The last eight
/// overlap those before; fewer in all go by way of zeros beside them.
template <typename From, typename To, typename Body>
inline __attribute__((always_inline)) void forEights(const From *source, To *target,
                                                     int64_t count, Body body) {
  if (count >= 8) {
    for (int64_t i = 0; i < count; i += 8)
      body(source + std::min(i, count - 8), target + std::min(i, count - 8));
    return;
  }
  From all[8] = {};
  To results[8];
#pragma clang loop vectorize(disable) unroll(disable)
  for (int64_t i = 0; i < count; ++i)
    all[i] = source[i];
  body(all, results);
#pragma clang loop vectorize(disable) unroll(disable)
  for (int64_t i = 0; i < count; ++i)
    target[i] = results[i];
}

MPT_AVX2 void widenF16Vector(const uint16_t *source, float *target, int64_t count) {
  forEights(source, target, count, [](const uint16_t *from, float *to) MPT_AVX2 {
    _mm256_storeu_ps(to, loadEight<DataType::F16>(from, 0));
  });
}

MPT_AVX2 void narrowF16Vector(const float *source, uint16_t *target, int64_t count) {
  forEights(source, target, count, [](const float *from, uint16_t *to) MPT_AVX2 {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
  });
}

__attribute__((target("avx2"))) void widenBF16Vector(const uint16_t *source,
                                                     float *target, int64_t count) {
  auto *bits = reinterpret_cast<uint32_t *>(target);
  for (int64_t i = 0; i < count; ++i)
    bits[i] = static_cast<uint32_t>(source[i]) << 16;
}

MPT_AVX2 void narrowBF16Vector(const float *source, uint16_t *target, int64_t count) {
  auto round = [](const float *from) MPT_AVX2 {
    return _mm256_srli_epi32(roundToBF16(_mm256_loadu_ps(from)), 16);
  };
  // The next eights begin at a multiple of 16, or eight before one.
  const int64_t whole = count / 16 * 16;
  for (int64_t i = 0; i < whole; i += 16) {
    const __m256i packed = _mm256_packus_epi32(round(source + i), round(source + i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(target + i),
                        _mm256_permute4x64_epi64(packed, 0xd8));
  }
  const int64_t before = whole > 0 && count - whole < 8 ? whole - 8 : whole;
  if (whole == count)
    return;
  forEights(source + before, target + before, count - before,
            [](const float *from, uint16_t *to) MPT_AVX2 {
              _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                               narrowToBF16(_mm256_loadu_ps(from)));
            });
}

/// Calls `body(i, lanes)` for all vectors of sixteen of `count` elements. All lanes of
/// the whole ones are known to the compiler, since masked stores take longer.
template <typename Body>
MPT_AVX512 inline __attribute__((always_inline)) void forEachVector(int64_t count,
                                                                    Body body) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    body(i, std::true_type());
  if (i < count)
    body(i, std::false_type());
}

template <bool isBF16>
MPT_AVX512 void widenHalves(const uint16_t *source, float *target, int64_t count) {
  forEachVector(count, [&](int64_t i, auto isWhole) MPT_AVX512 {
    const __mmask16 lanes = getLanes(count - i);
    const __m256i halves =
        isWhole ? _mm256_loadu_si256(reinterpret_cast<const __m256i *>(source + i))
                : _mm256_maskz_loadu_epi16(lanes, source + i);
    const __m512 wide =
        isBF16 ? _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16))
               : _mm512_cvtph_ps(halves);
    if (isWhole)
      _mm512_storeu_ps(target + i, wide);
    else
      _mm512_mask_storeu_ps(target + i, lanes, wide);
  });
}

/// Rounds as many floats to bf16 as whole pairs of vectors hold, and returns how many.
MPT_AVX512_BF16 int64_t narrowPairsOfVectors(const float *source, uint16_t *target,
                                             int64_t count) {
  int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    _mm512_storeu_si512(target + i, roundBoth<true>(_mm512_loadu_ps(source + i),
                                                    _mm512_loadu_ps(source + i + 16)));
  return i;
}

template <bool isBF16>
MPT_AVX512 void narrowToHalves(const float *source, uint16_t *target, int64_t count) {
  if (isBF16 && hasBF16Rounding()) {
    const int64_t done = narrowPairsOfVectors(source, target, count);
    source += done, target += done, count -= done;
  }
  forEachVector(count, [&](int64_t i, auto isWhole) MPT_AVX512 {
    const __mmask16 lanes = getLanes(count - i);
    const __m512 value =
        isWhole ? _mm512_loadu_ps(source + i) : _mm512_maskz_loadu_ps(lanes, source + i);
    const __m256i halves =
        isBF16 ? _mm512_cvtepi32_epi16(_mm512_srli_epi32(roundToBF16(value), 16))
               : _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    if (isWhole)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(target + i), halves);
    else
      _mm256_mask_storeu_epi16(target + i, lanes, halves);
  });
}

template <bool isBF16>
MPT_AVX512 void roundVectors(const float *source, float *target, int64_t count) {
  forEachVector(count, [&](int64_t i, auto isWhole) MPT_AVX512 {
    const __mmask16 lanes = getLanes(count - i);
    const __m512 value =
        isWhole ? _mm512_loadu_ps(source + i) : _mm512_maskz_loadu_ps(lanes, source + i);
    const __m512 rounded =
        isBF16 ? _mm512_castsi512_ps(
                     _mm512_and_si512(roundToBF16(value), _mm512_set1_epi32(-65536)))
               : _mm512_cvtph_ps(_mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
    if (isWhole)
      _mm512_storeu_ps(target + i, rounded);
    else
      _mm512_mask_storeu_ps(target + i, lanes, rounded);
  });
}

/// Without f32 subnormals on the way, so that no mode of the CPU changes a bit.
__attribute__((target("avx2"))) int64_t widenE4M3Vector(const uint8_t *source,
                                                        float *target, int64_t count) {
  const __m256i fields = _mm256_set1_epi32(0x7f), smallestNormal = _mm256_set1_epi32(8);
  const __m256i bias = _mm256_set1_epi32((127 - 7) << 23);
  const __m256i nan = _mm256_set1_epi32(0x7ff00000);
  const __m256 unit = _mm256_set1_ps(0x1p-9f);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i bits = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i *>(source + i)));
    __m256i magnitude = _mm256_and_si256(bits, fields);
    __m256i sign = _mm256_slli_epi32(_mm256_andnot_si256(fields, bits), 24);
    __m256i value = _mm256_add_epi32(_mm256_slli_epi32(magnitude, 20), bias);
    __m256i subnormal =
        _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(magnitude), unit));
    value = _mm256_blendv_epi8(value, subnormal,
                               _mm256_cmpgt_epi32(smallestNormal, magnitude));
    value = _mm256_blendv_epi8(value, nan, _mm256_cmpeq_epi32(magnitude, fields));
    _mm256_storeu_ps(target + i, _mm256_castsi256_ps(_mm256_or_si256(value, sign)));
  }
  return i;
}

__attribute__((target("avx2"))) int64_t widenE4M3ToBF16Vector(const uint8_t *source,
                                                              uint16_t *target,
                                                              int64_t count) {
  const __m256i fields = _mm256_set1_epi16(0x7f), smallestNormal = _mm256_set1_epi16(8);
  const __m256i bias = _mm256_set1_epi16((127 - 7) << 7);
  const __m256i nan = _mm256_set1_epi16(0x7ff0);
  // The low bytes of 0 to 7 times 2^-9, then the high bytes.
  const __m256i subnormals = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0x00, 0x00, char(0x80), char(0xc0), 0x00, 0x20, 0x40, 0x60, 0x00,
                    0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c));
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i bits = _mm256_cvtepu8_epi16(
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(source + i)));
    __m256i magnitude = _mm256_and_si256(bits, fields);
    __m256i sign = _mm256_slli_epi16(_mm256_andnot_si256(fields, bits), 8);
    __m256i value = _mm256_add_epi16(_mm256_slli_epi16(magnitude, 4), bias);
    __m256i places =
        _mm256_or_si256(_mm256_or_si256(magnitude, _mm256_slli_epi16(magnitude, 8)),
                        _mm256_set1_epi16(0x0800));
    value = _mm256_blendv_epi8(value, _mm256_shuffle_epi8(subnormals, places),
                               _mm256_cmpgt_epi16(smallestNormal, magnitude));
    value = _mm256_blendv_epi8(value, nan, _mm256_cmpeq_epi16(magnitude, fields));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(target + i),
                        _mm256_or_si256(value, sign));
  }
  return i;
}

/// Eight of them. The bits of each are the first eight of an f16.
MPT_AVX2 inline __m256 loadE5M2(const uint8_t *source) {
  __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(source));
  return _mm256_cvtph_ps(_mm_unpacklo_epi8(_mm_setzero_si128(), bytes));
}

MPT_AVX2 int64_t widenE5M2Vector(const uint8_t *source, float *target, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(target + i, loadE5M2(source + i));
  return i;
}

/// By way of f32, whose first 16 bits then hold the number.
MPT_AVX2 int64_t widenE5M2ToBF16Vector(const uint8_t *source, uint16_t *target,
                                       int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i wide = _mm256_castps_si256(loadE5M2(source + i));
    __m256i high = _mm256_srli_epi32(wide, 16);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(target + i),
                     _mm_packus_epi32(_mm256_castsi256_si128(high),
                                      _mm256_extracti128_si256(high, 1)));
  }
  return i;
}
#endif

} // namespace

float mpt::rt::toF32(DataType type, const void *data, int64_t index) {
  switch (type) {
  case DataType::F64:
    return static_cast<float>(loadAt<double>(data, index));
  case DataType::F32:
    return loadAt<float>(data, index);
  case DataType::F16:
    return f16.widen(loadAt<uint16_t>(data, index));
  case DataType::BF16:
    return floatOf(static_cast<uint32_t>(loadAt<uint16_t>(data, index)) << 16);
  case DataType::F8E4M3FN:
    return f8E4M3FN.widen(loadAt<uint8_t>(data, index));
  case DataType::F8E5M2:
    return f8E5M2.widen(loadAt<uint8_t>(data, index));
  default:
    return 0.0f;
  }
}

void mpt::rt::fromF32(DataType type, void *data, int64_t index, float value) {
  switch (type) {
  case DataType::F64:
    return storeAt<double>(data, index, value);
  case DataType::F32:
    return storeAt<float>(data, index, value);
  case DataType::F16:
    return storeAt<uint16_t>(data, index, static_cast<uint16_t>(f16.narrow(value)));
  case DataType::BF16:
    return storeAt<uint16_t>(data, index, toBF16(value));
  case DataType::F8E4M3FN:
    return storeAt<uint8_t>(data, index, static_cast<uint8_t>(f8E4M3FN.narrow(value)));
  case DataType::F8E5M2:
    return storeAt<uint8_t>(data, index, static_cast<uint8_t>(f8E5M2.narrow(value)));
  default:
    return;
  }
}

void mpt::rt::widen(DataType type, const void *source, int64_t index, float *target,
                    int64_t count, [[maybe_unused]] VectorSet set) {
  if (count == 0)
    return; // of nothing, perhaps at no address
  int64_t i = 0;
  if (type == DataType::F32) {
    std::memcpy(target, static_cast<const float *>(source) + index, count * 4);
    return;
  }
#if defined(__x86_64__)
  auto *halves = static_cast<const uint16_t *>(source) + index;
  if (type == DataType::BF16 && set == VectorSet::AVX512)
    return widenHalves<true>(halves, target, count);
  if (type == DataType::F16 && set == VectorSet::AVX512)
    return widenHalves<false>(halves, target, count);
  if (type == DataType::BF16 && set != VectorSet::Plain)
    return widenBF16Vector(halves, target, count);
  if (type == DataType::F16 && set != VectorSet::Plain)
    return widenF16Vector(halves, target, count);
  auto *bytes = static_cast<const uint8_t *>(source) + index;
  if (type == DataType::F8E4M3FN && set != VectorSet::Plain)
    i = widenE4M3Vector(bytes, target, count);
  if (type == DataType::F8E5M2 && set != VectorSet::Plain)
    i = widenE5M2Vector(bytes, target, count);
#endif
  for (; i < count; ++i)
    target[i] = toF32(type, source, index + i);
}

void mpt::rt::widenF8ToBF16(DataType type, const void *source, int64_t index,
                            uint16_t *target, int64_t count,
                            [[maybe_unused]] VectorSet set) {
  int64_t i = 0;
#if defined(__x86_64__)
  const auto *bytes = static_cast<const uint8_t *>(source) + index;
  if (type == DataType::F8E4M3FN && set != VectorSet::Plain)
    i = widenE4M3ToBF16Vector(bytes, target, count);
  if (type == DataType::F8E5M2 && set != VectorSet::Plain)
    i = widenE5M2ToBF16Vector(bytes, target, count);
#endif
  for (; i < count; ++i)
    target[i] = toBF16(toF32(type, source, index + i));
}

void mpt::rt::round(Rounding rounding, const float *source, float *target, int64_t count,
                    VectorSet set) {
  if (rounding == Rounding::None) {
    std::memmove(target, source, count * 4);
    return;
  }
  const DataType type = rounding == Rounding::F16 ? DataType::F16 : DataType::BF16;
#if defined(__x86_64__)
  if (set == VectorSet::AVX512)
    return rounding == Rounding::F16 ? roundVectors<false>(source, target, count)
                                     : roundVectors<true>(source, target, count);
#endif
  // In the first-level cache.
  constexpr int64_t block = 1024;
  uint16_t halves[block];
  for (int64_t first = 0; first < count; first += block) {
    const int64_t size = std::min(block, count - first);
    narrow(type, source + first, halves, 0, size, set);
    widen(type, halves, 0, target + first, size, set);
  }
}

void mpt::rt::narrow(DataType type, const float *source, void *target, int64_t index,
                     int64_t count, [[maybe_unused]] VectorSet set) {
  if (count == 0)
    return;
  if (type == DataType::F32) {
    std::memcpy(static_cast<float *>(target) + index, source, count * 4);
    return;
  }
#if defined(__x86_64__)
  auto *halves = static_cast<uint16_t *>(target) + index;
  if (type == DataType::BF16 && set == VectorSet::AVX512)
    return narrowToHalves<true>(source, halves, count);
  if (type == DataType::F16 && set == VectorSet::AVX512)
    return narrowToHalves<false>(source, halves, count);
  if (type == DataType::BF16 && set != VectorSet::Plain)
    return narrowBF16Vector(source, halves, count);
  if (type == DataType::F16 && set != VectorSet::Plain)
    return narrowF16Vector(source, halves, count);
#endif
  for (int64_t i = 0; i < count; ++i)
    fromF32(type, target, index + i, source[i]);
}
