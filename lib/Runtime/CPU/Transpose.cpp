//===- Transpose.cpp - Matrices the other way round -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transpose.h"
#include "Avx2.h"
#include "Avx512.h"
#include "Convert.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace mpt::rt;

#if defined(__x86_64__)
namespace {

/// Asks for what lies `rows` rows below element `index`: processors do not foresee what
/// is read of so many rows.
template <int64_t size>
MPT_AVX512 inline void prefetchBelow(const StoredRows &matrix, int64_t index,
                                     int64_t rows) {
  __builtin_prefetch(static_cast<const char *>(matrix.data) +
                         (index + rows * matrix.lead) * size,
                     /*rw=*/0, /*locality=*/2);
}

/// Tiles of 16 x 16 floats, rounded to f16 and widened with `isRounded`.
template <DataType type, bool isRounded = false>
MPT_AVX512 __attribute__((noinline)) void transposeSixteens(const StoredRows &matrix,
                                                            float *target, int64_t lead) {
  constexpr int64_t size = type == DataType::F32 ? 4 : 2;
  for (int64_t row = 0; row < matrix.rows; row += 16)
    for (int64_t column = 0; column < matrix.length; column += 16) {
      const __mmask16 columns = getLanes(matrix.length - column);
      const int64_t rows = matrix.rows - row;
      __m512i tile[16];
      auto load = [&](auto hasAll) MPT_AVX512 {
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i) {
          const int64_t from = matrix.first + (row + i) * matrix.lead + column;
          const __mmask16 lanes = hasAll || i < rows ? columns : 0;
          if (hasAll)
            prefetchBelow<size>(matrix, from, 16);
          if (type == DataType::F32) {
            const __m512 value = _mm512_maskz_loadu_ps(
                lanes, static_cast<const float *>(matrix.data) + from);
            tile[i] = _mm512_castps_si512(
                isRounded
                    ? _mm512_cvtph_ps(_mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT))
                    : value);
          } else if (type == DataType::BF16)
            tile[i] = loadUpper<false>(matrix.data, from, lanes);
          else
            tile[i] = _mm512_castps_si512(_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(
                lanes, static_cast<const uint16_t *>(matrix.data) + from)));
        }
      };
      if (rows >= 16)
        load(std::true_type());
      else
        load(std::false_type());
      transpose16(tile);
      const int64_t count = std::min<int64_t>(16, matrix.length - column);
      float *to = target + column * lead + row;
      if (rows >= 16 && count == 16)
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          _mm512_storeu_si512(to + i * lead, tile[i]);
      else
        for (int64_t i = 0; i < count; ++i, to += lead)
          _mm512_mask_storeu_epi32(to, getLanes(rows), tile[i]);
    }
}

/// Tiles of 32 rows of bf16, or of f32 that is rounded, and 16 columns.
template <bool isWide>
MPT_AVX512 __attribute__((noinline)) void
transposeHalves(const StoredRows &matrix, uint16_t *target, int64_t lead) {
  const __m512i upper = _mm512_set1_epi32(-65536);
  constexpr int64_t size = isWide ? 4 : 2;
  for (int64_t row = 0; row < matrix.rows; row += 32)
    for (int64_t column = 0; column < matrix.length; column += 16) {
      const __mmask16 columns = getLanes(matrix.length - column);
      const int64_t from = matrix.first + row * matrix.lead + column;
      const int64_t rows = matrix.rows - row;
      __m512i tile[16];
      auto load = [&](int i, auto hasAll) MPT_AVX512 {
        const int64_t even = from + 2 * i * matrix.lead, odd = even + matrix.lead;
        for (int64_t ahead : {32, 33})
          if (hasAll)
            prefetchBelow<size>(matrix, even, ahead);
        return _mm512_or_si512(
            _mm512_srli_epi32(loadUpper<isWide>(matrix.data, even,
                                                hasAll || 2 * i < rows ? columns : 0),
                              16),
            _mm512_and_si512(loadUpper<isWide>(matrix.data, odd,
                                               hasAll || 2 * i + 1 < rows ? columns : 0),
                             upper));
      };
      if (rows >= 32 && !isWide) {
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          tile[i] = load(i, std::true_type());
      } else {
        alignas(64) uint16_t pairs[16][32];
#pragma clang loop unroll(disable)
        for (int i = 0; i < 16; ++i)
          _mm512_store_si512(pairs[i], load(i, std::false_type()));
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          tile[i] = _mm512_load_si512(pairs[i]);
      }
      transpose16(tile);
      const int64_t count = std::min<int64_t>(16, matrix.length - column);
      const auto lanes =
          static_cast<__mmask32>((uint64_t(1) << std::min<int64_t>(rows, 32)) - 1);
      uint16_t *to = target + column * lead + row;
      if (rows >= 32 && count == 16)
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          _mm512_storeu_si512(to + i * lead, tile[i]);
      else
        for (int64_t i = 0; i < count; ++i, to += lead)
          _mm512_mask_storeu_epi16(to, lanes, tile[i]);
    }
}

/// Calls `body(row, column)` for tiles of 8 x 8 elements of a matrix with at least as
/// many rows and columns. The last tiles overlap those before. Tiles of `rowsAtOnce` rows
/// that write the same lines of the cache follow each other.
template <typename Body>
MPT_AVX2 inline __attribute__((always_inline)) void
forTilesOfEight(int64_t rows, int64_t columns, int64_t rowsAtOnce, Body body) {
  for (int64_t first = 0; first < rows; first += rowsAtOnce)
    for (int64_t column = 0; column < columns; column += 8)
      for (int64_t row = first; row < std::min(first + rowsAtOnce, rows); row += 8)
        body(std::min(row, rows - 8), std::min(column, columns - 8));
}

/// Tiles of 8 x 8 floats.
MPT_AVX2 void transposeEights(const StoredRows &matrix, float *target, int64_t lead) {
  constexpr int64_t rowsAtOnce = 16;
  const int64_t size = getSize(matrix.type);
  const bool hasMore = matrix.rows > rowsAtOnce;
  auto move = [&](int64_t row, int64_t column) MPT_AVX2 {
    const int64_t from = matrix.first + row * matrix.lead + column;
    for (int64_t i = rowsAtOnce; hasMore && i < rowsAtOnce + 8; ++i)
      __builtin_prefetch(static_cast<const char *>(matrix.data) +
                             (from + i * matrix.lead) * size,
                         /*rw=*/0, /*locality=*/2);
    __m256 tile[8];
    loadEights(matrix, from, tile);
    transpose8(tile);
    float *to = target + column * lead + row;
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i)
      _mm256_storeu_ps(to + i * lead, tile[i]);
  };
  forTilesOfEight(matrix.rows, matrix.length, rowsAtOnce, move);
}

/// The same of 16 bits as they are.
MPT_AVX2 void transposeEightHalves(const StoredBits &matrix, uint16_t *target,
                                   int64_t lead) {
  constexpr int64_t rowsAtOnce = 32;
  auto move = [&](int64_t row, int64_t column) MPT_AVX2 {
    const uint16_t *from =
        static_cast<const uint16_t *>(matrix.data) + row * matrix.lead + column;
    __m128i tile[8];
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i) {
      __builtin_prefetch(from + (rowsAtOnce + i) * matrix.lead, /*rw=*/0, /*locality=*/2);
      tile[i] =
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i * matrix.lead));
    }
    transpose8(tile);
    uint16_t *to = target + column * lead + row;
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i * lead), tile[i]);
  };
  forTilesOfEight(matrix.rows, matrix.columns, rowsAtOnce, move);
}

} // namespace
#endif

bool mpt::rt::canTransposeRows(DataType type) {
#if defined(__x86_64__)
  return getVectorSet() == VectorSet::AVX512 &&
         (type == DataType::F32 || type == DataType::BF16 || type == DataType::F16);
#else
  return false;
#endif
}

void mpt::rt::transposeRows(const StoredRows &matrix, DataType type, void *target) {
#if defined(__x86_64__)
  if (type == DataType::BF16) {
    auto *halves = static_cast<uint16_t *>(target);
    return matrix.type == DataType::F32
               ? transposeHalves<true>(matrix, halves, matrix.rows)
               : transposeHalves<false>(matrix, halves, matrix.rows);
  }
  auto *floats = static_cast<float *>(target);
  if (matrix.rounding == Rounding::F16)
    transposeSixteens<DataType::F32, true>(matrix, floats, matrix.rows);
  else if (matrix.type == DataType::F32)
    transposeSixteens<DataType::F32>(matrix, floats, matrix.rows);
  else if (matrix.type == DataType::BF16)
    transposeSixteens<DataType::BF16>(matrix, floats, matrix.rows);
  else
    transposeSixteens<DataType::F16>(matrix, floats, matrix.rows);
  if (matrix.rounding == Rounding::BF16)
    round(Rounding::BF16, floats, floats, matrix.rows * matrix.length);
#endif
}

void mpt::rt::transposeToFloats(const StoredRows &matrix, float *target, int64_t lead,
                                VectorSet set) {
#if defined(__x86_64__)
  if (set != VectorSet::Plain && !isF8(matrix.type) && matrix.rows >= 8 &&
      matrix.length >= 8)
    return transposeEights(matrix, target, lead);
#endif
  constexpr int64_t most = 256;
  float piece[most];
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.length; column += most) {
      const int64_t count = std::min(most, matrix.length - column);
      widen(matrix.type, matrix.rounding, matrix.data,
            matrix.first + row * matrix.lead + column, piece, count);
      for (int64_t i = 0; i < count; ++i)
        target[(column + i) * lead + row] = piece[i];
    }
}

/// By way of tiles whose rows are read as a whole.
template <typename Bits>
static void transposeTiles(const StoredBits &matrix, void *target, int64_t targetLead) {
  constexpr int64_t side = 16;
  auto *to = static_cast<Bits *>(target);
  for (int64_t row = 0; row < matrix.rows; row += side)
    for (int64_t column = 0; column < matrix.columns; column += side) {
      const int64_t rows = std::min(side, matrix.rows - row),
                    columns = std::min(side, matrix.columns - column);
      Bits tile[side][side];
      for (int64_t i = 0; i < rows; ++i)
        std::memcpy(tile[i],
                    static_cast<const Bits *>(matrix.data) + (row + i) * matrix.lead +
                        column,
                    columns * sizeof(Bits));
      for (int64_t j = 0; j < columns; ++j)
#pragma clang loop vectorize(disable) unroll(disable)
        for (int64_t i = 0; i < rows; ++i)
          to[(column + j) * targetLead + row + i] = tile[i][j];
    }
}

void mpt::rt::transposeBits(const StoredBits &matrix, void *target, int64_t targetLead,
                            VectorSet set) {
#if defined(__x86_64__)
  // Stores of a few lanes are slow.
  constexpr int64_t fewest = 8;
  if (set == VectorSet::AVX512 && std::min(matrix.rows, matrix.columns) >= fewest) {
    StoredRows rows{matrix.size == 4 ? DataType::F32 : DataType::BF16,
                    matrix.data,
                    0,
                    matrix.lead,
                    matrix.rows,
                    matrix.columns};
    if (matrix.size == 4)
      return transposeSixteens<DataType::F32>(rows, static_cast<float *>(target),
                                              targetLead);
    return transposeHalves<false>(rows, static_cast<uint16_t *>(target), targetLead);
  }
  if (set == VectorSet::AVX2 && std::min(matrix.rows, matrix.columns) >= fewest) {
    if (matrix.size == 4)
      return transposeEights(
          {DataType::F32, matrix.data, 0, matrix.lead, matrix.rows, matrix.columns},
          static_cast<float *>(target), targetLead);
    return transposeEightHalves(matrix, static_cast<uint16_t *>(target), targetLead);
  }
#endif
  if (matrix.size == 4)
    transposeTiles<uint32_t>(matrix, target, targetLead);
  else
    transposeTiles<uint16_t>(matrix, target, targetLead);
}
