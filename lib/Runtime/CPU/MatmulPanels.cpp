//===- MatmulPanels.cpp - Layouts that oneDNN multiplies best -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulPanels.h"
#include "Avx2.h"
#include "Avx512.h"
#include "Convert.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cstring>

using namespace mpt::rt;

static constexpr int64_t block = 8;

static int64_t roundUp(int64_t size) { return (size + block - 1) / block * block; }

bool mpt::rt::isBlockedRhs(const dnnl_memory_desc_t &desc, int64_t k, int64_t n) {
  const dnnl_blocking_desc_t &layout = desc.format_desc.blocking;
  return desc.format_kind == dnnl_blocked && desc.data_type == dnnl_f32 &&
         desc.ndims == 4 && desc.offset0 == 0 && desc.extra.flags == 0 &&
         layout.inner_nblks == 2 && layout.inner_blks[0] == block &&
         layout.inner_blks[1] == block && layout.inner_idxs[0] == 1 &&
         layout.inner_idxs[1] == 0 && layout.strides[0] == roundUp(k) * block &&
         layout.strides[1] == block * block && desc.padded_dims[0] == roundUp(n) &&
         desc.padded_dims[1] == roundUp(k);
}

/// Eight numbers from element `index` on, or the first `count` of them and zeros.
static void widenEight(const StoredRows &rhs, int64_t index, int64_t count, float *to) {
  if (count > 0)
    widen(rhs.type, rhs.rounding, rhs.data, index, to, std::min(count, block));
  for (int64_t i = std::max<int64_t>(count, 0); i < block; ++i)
    to[i] = 0.0f;
}

/// Rows of the right side from a multiple of eight on: those of one block of each block
/// of columns, `columnBlock` floats from one to the next.
static void packEightRows(const StoredRows &rhs, int64_t row, float *target,
                          int64_t columnBlock, int64_t firstColumn) {
  for (int64_t column = firstColumn; column < rhs.length; column += block)
    for (int64_t i = 0; i < block; ++i)
      widenEight(rhs, rhs.first + (row + i) * rhs.lead + column,
                 row + i < rhs.rows ? rhs.length - column : 0,
                 target + column / block * columnBlock + i * block);
}

#if defined(__x86_64__)
/// The same of eight rows, for whole blocks; returns how many columns these have.
MPT_AVX2 static int64_t packWholeBlocks(const StoredRows &rhs, int64_t row, float *target,
                                        int64_t columnBlock) {
  const int64_t from = rhs.first + row * rhs.lead, end = rhs.length / block * block;
  for (int64_t column = 0; column < end; column += block, target += columnBlock) {
    __m256 tile[block];
    loadEights(rhs, from + column, tile);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < block; ++i)
      _mm256_storeu_ps(target + i * block, tile[i]);
  }
  return end;
}
#endif

void mpt::rt::packBlocks(const StoredRows &rhs, bool isTransposed, int64_t begin,
                         int64_t end, float *target) {
  const int64_t length = rhs.length;
  // From one block of columns to the next.
  const int64_t columnBlock = roundUp(isTransposed ? length : rhs.rows) * block;
  for (int64_t index = begin; index < end; index += block) {
    if (!isTransposed) {
      float *to = target + index * block;
      int64_t packed = 0;
#if defined(__x86_64__)
      if (getVectorSet() != VectorSet::Plain && !isF8(rhs.type) &&
          index + block <= rhs.rows)
        packed = packWholeBlocks(rhs, index, to, columnBlock);
#endif
      packEightRows(rhs, index, to, columnBlock, packed);
      continue;
    }
    // Eight columns of the right side: one block of columns.
    StoredRows columns = rhs;
    columns.first += index * rhs.lead;
    columns.rows = std::min(block, rhs.rows - index);
    float *to = target + index / block * columnBlock;
    if (columns.rows < block)
      std::fill_n(to, length * block, 0.0f);
    transposeToFloats(columns, to, block);
    std::fill_n(to + length * block, (roundUp(length) - length) * block, 0.0f);
  }
}

/// Rows of a block of pairs, and most columns of one.
static constexpr int64_t pairedRows = 32, mostPairedColumns = 64;

int64_t mpt::rt::getPairedColumns(const dnnl_memory_desc_t &desc) {
  const dnnl_blocking_desc_t &layout = desc.format_desc.blocking;
  const int64_t columns = layout.inner_blks[1];
  const bool isPaired = desc.format_kind == dnnl_blocked && desc.data_type == dnnl_bf16 &&
                        desc.ndims == 2 && desc.offset0 == 0 && desc.extra.flags == 0 &&
                        layout.inner_nblks == 3 &&
                        layout.inner_blks[0] == pairedRows / 2 &&
                        layout.inner_blks[2] == 2 && layout.inner_idxs[0] == 0 &&
                        layout.inner_idxs[1] == 1 && layout.inner_idxs[2] == 0 &&
                        columns > 0 && columns <= mostPairedColumns &&
                        columns % 16 == 0 && layout.strides[0] == pairedRows * columns &&
                        layout.strides[1] == desc.padded_dims[0] * columns;
  return isPaired ? columns : 0;
}

#if defined(__x86_64__)
namespace {

/// Asks for the line of the cache of element `index`. Panels are short pieces of rows
/// that lie apart, of which the processor does not foresee the next.
template <bool isWide>
inline void prefetch(const StoredRows &rhs, int64_t index) {
  __builtin_prefetch(static_cast<const char *>(rhs.data) + index * (isWide ? 4 : 2));
}
/// How far ahead: rows of a panel of columns, and terms of columns that are rows.
constexpr int64_t rowsAhead = 24, termsAhead = 64;

/// Two rows at a time, from one block of columns to the next. f32 is rounded, with
/// `byInstruction` by those of AVX512_BF16.
template <bool isWide, bool byInstruction>
MPT_AVX512_BF16 void packRows(const StoredRows &rhs, int64_t block, uint16_t *target) {
  const int64_t pairs = (rhs.rows + pairedRows - 1) / pairedRows * (pairedRows / 2);
  const __m512i upper = _mm512_set1_epi32(-65536);
  // Of 16 halves and 16 others, in turns.
  const __m512i inTurns =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                       7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i firstHalf =
      _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                       7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i secondHalf = _mm512_add_epi16(firstHalf, _mm512_set1_epi16(16));
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const int64_t first = rhs.first + 2 * pair * rhs.lead;
    uint16_t *to = target + 2 * pair * block;
    for (int64_t column = 0; column < rhs.length;
         column += block, to += 2 * pairs * block)
      for (int64_t i = 0; i < block; i += 16) {
        const int64_t ahead = first + rowsAhead * rhs.lead + column + i;
        prefetch<isWide>(rhs, ahead);
        prefetch<isWide>(rhs, ahead + rhs.lead);
        if (!isWide && i + 32 <= block && column + i + 32 <= rhs.length &&
            2 * pair + 1 < rhs.rows) {
          const auto *from = static_cast<const uint16_t *>(rhs.data) + first + column + i;
          const __m512i even = _mm512_loadu_si512(from),
                        odd = _mm512_loadu_si512(from + rhs.lead);
          _mm512_storeu_si512(to + 2 * i,
                              _mm512_permutex2var_epi16(even, firstHalf, odd));
          _mm512_storeu_si512(to + 2 * i + 32,
                              _mm512_permutex2var_epi16(even, secondHalf, odd));
          i += 16;
          continue;
        }
        const int64_t count = rhs.length - column - i;
        if (isWide && 2 * pair + 1 < rhs.rows) {
          const auto *from = static_cast<const float *>(rhs.data) + first + column + i;
          const __m512i both = roundBoth<byInstruction>(
              _mm512_maskz_loadu_ps(getLanes(count), from),
              _mm512_maskz_loadu_ps(getLanes(count), from + rhs.lead));
          _mm512_storeu_si512(to + 2 * i, _mm512_permutexvar_epi16(inTurns, both));
          continue;
        }
        const __m512i even = loadUpper<isWide>(rhs.data, first + column + i,
                                               2 * pair < rhs.rows ? getLanes(count) : 0);
        const __m512i odd =
            loadUpper<isWide>(rhs.data, first + rhs.lead + column + i,
                              2 * pair + 1 < rhs.rows ? getLanes(count) : 0);
        _mm512_storeu_si512(to + 2 * i, _mm512_or_si512(_mm512_srli_epi32(even, 16),
                                                        _mm512_and_si512(odd, upper)));
      }
  }
}

/// Sixteen columns of sixteen pairs, from (row, column) on; `rhs` has the columns as
/// rows. Rounds as packRows does, where there are subnormals all of them by integers.
template <bool isWide, bool byInstruction>
MPT_AVX512_BF16 __attribute__((noinline)) void
packTile(const StoredRows &rhs, int64_t row, int64_t column, int64_t ahead, uint16_t *to,
         int64_t block) {
  __m512i tile[16];
  __mmask16 subnormals = 0;
  auto getLow = [&](int i) {
    return getLanes(column + i < rhs.rows ? rhs.length - row : 0);
  };
  auto getHigh = [&](int i) {
    return getLanes(column + i < rhs.rows ? rhs.length - row - 16 : 0);
  };
  auto load = [&](auto isWhole) MPT_AVX512_BF16 {
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i) {
      const int64_t from = rhs.first + (column + i) * rhs.lead + row;
      prefetch<isWide>(rhs, from + ahead);
      const __mmask16 low = isWhole ? -1 : getLow(i), high = isWhole ? -1 : getHigh(i);
      if (!isWide) {
        tile[i] = _mm512_maskz_loadu_epi16(
            _mm512_kunpackw(high, low), static_cast<const uint16_t *>(rhs.data) + from);
        continue;
      }
      prefetch<isWide>(rhs, from + ahead + 16);
      const auto *floats = static_cast<const float *>(rhs.data) + from;
      const __m512 first = _mm512_maskz_loadu_ps(low, floats),
                   second = _mm512_maskz_loadu_ps(high, floats + 16);
      subnormals = _kor_mask16(subnormals,
                               _kor_mask16(getSubnormals(first), getSubnormals(second)));
      tile[i] = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    }
  };
  if (isWide && !byInstruction) {
    alignas(64) uint16_t rounded[16][32];
#pragma clang loop unroll(disable)
    for (int i = 0; i < 16; ++i) {
      const auto *floats = static_cast<const float *>(rhs.data) + rhs.first +
                           (column + i) * rhs.lead + row;
      _mm512_store_si512(
          rounded[i], roundBoth<false>(_mm512_maskz_loadu_ps(getLow(i), floats),
                                       _mm512_maskz_loadu_ps(getHigh(i), floats + 16)));
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i)
      tile[i] = _mm512_load_si512(rounded[i]);
  } else if (column + 16 <= rhs.rows && row + 32 <= rhs.length) {
    load(std::true_type());
  } else {
    load(std::false_type());
  }
  if (byInstruction && __builtin_expect(subnormals, 0))
    return packTile<isWide, false>(rhs, row, column, ahead, to, block);
  transpose16(tile);
#pragma clang loop unroll(full)
  for (int i = 0; i < 16; ++i)
    _mm512_storeu_si512(to + 2 * i * block, tile[i]);
}

template <bool isWide, bool byInstruction>
void packColumns(const StoredRows &rhs, int64_t block, uint16_t *target) {
  const int64_t rows = (rhs.length + pairedRows - 1) / pairedRows * pairedRows;
  for (int64_t column = 0; column < rhs.rows; column += 16) {
    uint16_t *to = target + column / block * block * rows + column % block * 2;
    for (int64_t row = 0; row < rows; row += 32) {
      // At the end of the columns the next ones begin.
      const int64_t ahead =
          row + termsAhead < rows ? termsAhead : termsAhead - rows + 16 * rhs.lead;
      packTile<isWide, byInstruction>(rhs, row, column, ahead, to + row * block, block);
    }
  }
  // Whole sixteens of columns that the last block has beyond the last column.
  const int64_t end = (rhs.rows + block - 1) / block * block;
  for (int64_t column = (rhs.rows + 15) / 16 * 16; column < end; column += 16) {
    uint16_t *to = target + column / block * block * rows + column % block * 2;
    for (int64_t row = 0; row < rows; row += 2)
      std::memset(to + row * block, 0, 64);
  }
}

} // namespace
#endif

bool mpt::rt::canPackPairs(DataType type, bool isTransposed) {
#if defined(__x86_64__)
  if (isTransposed)
    return getVectorSet() == VectorSet::AVX512 && !isF8(type);
#endif
  return !isTransposed;
}

void mpt::rt::packPairs(const StoredRows &rhs, bool isTransposed, int64_t block,
                        uint16_t *target) {
#if defined(__x86_64__)
  if (getVectorSet() == VectorSet::AVX512 && !isF8(rhs.type)) {
    const bool isWide = rhs.type == DataType::F32;
    if (!isWide)
      return isTransposed ? packColumns<false, false>(rhs, block, target)
                          : packRows<false, false>(rhs, block, target);
    if (hasBF16Rounding())
      return isTransposed ? packColumns<true, true>(rhs, block, target)
                          : packRows<true, true>(rhs, block, target);
    return isTransposed ? packColumns<true, false>(rhs, block, target)
                        : packRows<true, false>(rhs, block, target);
  }
#endif
  const int64_t pairs = (rhs.rows + pairedRows - 1) / pairedRows * (pairedRows / 2);
  uint16_t rounded[2][mostPairedColumns];
  for (int64_t column = 0; column < rhs.length; column += block) {
    const int64_t count = std::min(block, rhs.length - column);
    for (int64_t pair = 0; pair < pairs; ++pair, target += 2 * block) {
      const uint16_t *row[2];
      for (int64_t i = 0; i < 2; ++i) {
        const int64_t index = 2 * pair + i, from = rhs.first + index * rhs.lead + column;
        row[i] = rounded[i];
        if (index >= rhs.rows)
          std::fill_n(rounded[i], count, uint16_t(0));
        else if (rhs.type == DataType::BF16)
          row[i] = static_cast<const uint16_t *>(rhs.data) + from;
        else if (isF8(rhs.type))
          widenF8ToBF16(rhs.type, rhs.data, from, rounded[i], count);
        else
          narrow(DataType::BF16, static_cast<const float *>(rhs.data) + from, rounded[i],
                 0, count);
      }
      for (int64_t i = 0; i < count; ++i) {
        target[2 * i] = row[0][i];
        target[2 * i + 1] = row[1][i];
      }
      std::fill_n(target + 2 * count, 2 * (block - count), uint16_t(0));
    }
  }
}
