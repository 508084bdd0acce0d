//===- SmallMatmul.cpp - Matmuls too small for a library --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matmuls of which oneDNN would need longer to start than to multiply, with AVX-512 or
/// AVX2: with the former the same code for f32 and for words of two bf16 that lie one
/// after another in the sum. Sides that are read as they are stored are not copied;
/// others are widened, rounded or transposed in panels on the stack. Sums are f32, in the
/// order of their terms; long ones are sums of parts, whose lengths follow from shapes.
///
//===----------------------------------------------------------------------===//

#include "Avx2.h"
#include "Avx512.h"
#include "Call.h"
#include "Convert.h"
#include "MatmulPanels.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace mpt::rt;

#if defined(__x86_64__)
namespace {

// Nothing but _mm512_dpbf16_ps, which only words of bf16 need, becomes an instruction of
// AVX512_BF16.
#define MPT_SMALL                                                                        \
  __attribute__((target("f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define MPT_SMALL_AVX2 __attribute__((target("avx2,fma,f16c")))

constexpr int64_t lanes = 16;
/// Floats of a panel.
constexpr int64_t panelFloats = 8192;
/// Products, in whole vectors, of one matrix that is small, and of a task.
constexpr int64_t mostProducts = 1 << 19, taskProducts = 1 << 18;
/// ... of one whose left side is transposed, as of a weight gradient, and of one of many
/// columns: a library brings the one's sides and the other's right side into its layout.
/// Halves it would widen, or pair, as well; most for weight gradients, unless it packs
/// both sides for square tasks.
constexpr int64_t mostGradientProducts = 1 << 22, mostWideProducts = 1 << 21,
                  mostHalfProducts = 1 << 24, mostHalfGradientProducts = 1 << 28;
/// With AVX2, products of a matmul that is small, of a weight gradient of halves, and
/// rows of a small one of f32: oneDNN multiplies more of them faster.
constexpr int64_t mostProductsOfAVX2 = 1 << 18, mostHalfGradientProductsOfAVX2 = 1 << 21,
                  mostRowsOfAVX2 = 64;
/// Products of one whose sums a library would add in parts on several threads, and its
/// columns if it is bf16.
constexpr int64_t mostSumProducts = 1 << 22, mostColumnsOfBF16Sums = 256;
/// Rows of a task that copies a part of the right side for them, and of one that copies
/// it for several steps of rows.
constexpr int64_t taskRows = 3 * lanes, mostTaskRows = 8 * lanes;
/// Products of a task whose rows are copied for several panels of columns.
constexpr int64_t mostSharedProducts = 1 << 20;
/// Columns at a time where their sums wait in a panel.
constexpr int64_t mostColumnsOfSums = 256;

int64_t roundUp(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

/// How the right side lies where it is multiplied: as f32, as words of two bf16 by words
/// of the left side, or as f16, which a load widens.
enum class Right { F32, Words, F16 };

/// c = a b. Elements of a and b are floats, or words: that of row i and term k of a is at
/// a + i * aRow + k * aStep, in bytes; rows of b lie bStep bytes apart, rows of c cStep
/// floats.
/// `isOdd`: one more element follows of which a has half a word.
struct Sides {
  const char *a, *b;
  float *c;
  int64_t aRow, aStep, bStep, cStep, terms;
  bool isOdd;
  /// The sums of earlier terms, whose rows lie `beforeStep` floats apart; null for none.
  const float *before = nullptr;
  int64_t beforeStep = 0;
  /// Added to each row of c; null for none.
  const float *bias = nullptr;
  /// Whether numbers below zero become zero after that.
  bool isRelu = false;
  /// Where c is rounded, to bf16 if elements are words and else to f16, instead of being
  /// stored in `c`; null for a c of f32.
  uint16_t *halves = nullptr;
  /// With AVX2, whether these are of bf16.
  bool areBF16 = false;

  /// Whether sums are c as they are.
  bool isPlain() const { return !before && !bias && !isRelu && !halves; }
};

/// `rows` rows from `first` on by the columns of `vectors` vectors that are below
/// `columns`. Rows beyond the last, `m` - 1, are that one again.
template <int rows, int vectors, Right right>
MPT_SMALL void multiplyTile(const Sides &s, int64_t first, int64_t m, int64_t columns) {
  constexpr bool pairs = right == Right::Words;
  constexpr int64_t bVector = lanes * (right == Right::F16 ? 2 : 4);
  __mmask16 masks[vectors];
  __m512 sums[rows][vectors];
  const char *a[rows];
#pragma clang loop unroll(full)
  for (int j = 0; j < vectors; ++j)
    masks[j] = getLanes(columns - j * lanes);
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    a[i] = s.a + std::min(first + i, m - 1) * s.aRow;
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = _mm512_setzero_ps();
  }
  const char *b = s.b;
#pragma clang loop unroll(disable)
  for (int64_t k = 0, at = 0; k < s.terms; ++k, at += s.aStep, b += s.bStep) {
    __m512 row[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      row[j] = right == Right::F16
                   ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(masks[j], b + j * bVector))
                   : _mm512_maskz_loadu_ps(masks[j], b + j * bVector);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      float number;
      __builtin_memcpy(&number, a[i] + at, sizeof(number));
      const __m512 left = _mm512_set1_ps(number);
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = pairs
                         ? _mm512_dpbf16_ps(sums[i][j], (__m512bh)left, (__m512bh)row[j])
                         : _mm512_fmadd_ps(left, row[j], sums[i][j]);
    }
  }
  if (pairs && s.isOdd) {
    // The other half of the words is zero in b as well.
    __m512 row[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      row[j] = _mm512_maskz_loadu_ps(masks[j], b + j * bVector);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      uint16_t half;
      __builtin_memcpy(&half, a[i] + s.terms * s.aStep, sizeof(half));
      const auto left = (__m512bh)_mm512_set1_epi32(half);
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = _mm512_dpbf16_ps(sums[i][j], left, (__m512bh)row[j]);
    }
  }
  if (s.before)
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      const float *before = s.before + std::min(first + i, m - 1) * s.beforeStep;
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = _mm512_add_ps(_mm512_maskz_loadu_ps(masks[j], before + j * lanes),
                                   sums[i][j]);
    }
  if (s.bias)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j) {
      const __m512 bias = _mm512_maskz_loadu_ps(masks[j], s.bias + j * lanes);
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i)
        sums[i][j] = _mm512_add_ps(sums[i][j], bias);
    }
  if (s.isRelu)
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        // The second one if one is a NaN.
        sums[i][j] = _mm512_max_ps(_mm512_setzero_ps(), sums[i][j]);
  if (s.halves) {
    // The instruction that rounds to bf16 takes subnormal numbers for zero.
    __mmask16 subnormal = 0;
#pragma clang loop unroll(full)
    for (int i = 0; pairs && i < rows; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        subnormal |= _mm512_fpclass_ps_mask(sums[i][j], 0x20);
    if (__builtin_expect(subnormal, 0)) {
      alignas(64) float wide[rows][vectors * lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
        for (int j = 0; j < vectors; ++j)
          _mm512_store_ps(wide[i] + j * lanes, sums[i][j]);
      for (int i = 0; i < rows; ++i)
        narrow(DataType::BF16, wide[i], s.halves + std::min(first + i, m - 1) * s.cStep,
               0, std::min(columns, vectors * lanes));
      return;
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      uint16_t *c = s.halves + std::min(first + i, m - 1) * s.cStep;
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        _mm256_mask_storeu_epi16(
            c + j * lanes, masks[j],
            pairs ? (__m256i)_mm512_cvtneps_pbh(sums[i][j])
                  : _mm512_cvtps_ph(sums[i][j], _MM_FROUND_TO_NEAREST_INT));
    }
    return;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    float *c = s.c + std::min(first + i, m - 1) * s.cStep;
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      _mm512_mask_storeu_ps(c + j * lanes, masks[j], sums[i][j]);
  }
}

template <int rows, int vectors, Right right>
void multiplyRows(const Sides &s, int64_t m, int64_t columns) {
  for (int64_t i = 0; i < m; i += rows)
    multiplyTile<rows, vectors, right>(s, i, m, columns);
}

/// `block` columns of b lie in a row; the next ones follow `blockStep` elements later.
template <Right right>
void multiply(Sides s, int64_t m, int64_t n, int64_t block, int64_t blockStep) {
  for (int64_t j = 0; j < n; j += 4 * lanes) {
    Sides part = s;
    part.b += (j / block * blockStep + j % block) * (right == Right::F16 ? 2 : 4);
    part.c += s.c ? j : 0;
    part.before += s.before ? j : 0;
    part.bias += s.bias ? j : 0;
    part.halves += s.halves ? j : 0;
    const int64_t columns = n - j;
    if (m == 1 && columns > lanes)
      multiplyRows<1, 4, right>(part, m, columns);
    else if (columns > 3 * lanes || (columns > 2 * lanes && m <= 4))
      multiplyRows<4, 4, right>(part, m, columns);
    else if (columns > 2 * lanes)
      multiplyRows<8, 3, right>(part, m, columns);
    else if (columns > lanes)
      multiplyRows<8, 2, right>(part, m, columns);
    else
      multiplyRows<8, 1, right>(part, m, columns);
  }
}

/// Stores the sums of `rows` rows, `width` floats from one to the next.
MPT_SMALL_AVX2 __attribute__((noinline)) void
finishTileAVX2(const Sides &s, const float *sums, int64_t width, int64_t first,
               int64_t rows, int64_t columns) {
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < rows; ++i)
#pragma clang loop unroll(disable)
    for (int64_t j = 0; j < std::min(width, columns); j += 8) {
      const int64_t count = columns - j, at = (first + i) * s.cStep + j;
      const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      __m256 sum = _mm256_load_ps(sums + i * width + j);
      if (s.before)
        sum = _mm256_add_ps(
            _mm256_maskload_ps(s.before + (first + i) * s.beforeStep + j, mask), sum);
      if (s.bias)
        sum = _mm256_add_ps(sum, _mm256_maskload_ps(s.bias + j, mask));
      if (s.isRelu)
        // The second one if one is a NaN.
        sum = _mm256_max_ps(_mm256_setzero_ps(), sum);
      alignas(32) float wide[8];
      alignas(16) uint16_t halves[8];
      if (!s.halves && count >= 8) {
        _mm256_storeu_ps(s.c + at, sum);
        continue;
      }
      const auto rounded =
          s.areBF16 ? narrowToBF16(sum) : _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT);
      if (s.halves && count >= 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(s.halves + at), rounded);
        continue;
      }
      _mm256_store_ps(wide, sum);
      _mm_store_si128(reinterpret_cast<__m128i *>(halves), rounded);
#pragma clang loop unroll(disable) vectorize(disable)
      for (int64_t l = 0; l < count; ++l)
        if (s.halves)
          s.halves[at + l] = halves[l];
        else
          s.c[at + l] = wide[l];
    }
}

/// The same with AVX2, of floats by floats. With `isWhole` all columns are there: loads
/// of a part take longer.
template <int rows, int vectors, bool isWhole>
MPT_SMALL_AVX2 void multiplyTileAVX2(const Sides &s, int64_t first, int64_t m,
                                     int64_t columns) {
  constexpr int64_t lanes = 8;
  // The last vector's lanes.
  const int64_t rest = columns - (vectors - 1) * lanes;
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(rest)),
                                          _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  auto load = [&](const float *from, int j) MPT_SMALL_AVX2 {
    return isWhole || j + 1 < vectors ? _mm256_loadu_ps(from + j * lanes)
                                      : _mm256_maskload_ps(from + j * lanes, mask);
  };
  __m256 sums[rows][vectors];
  const char *a[rows];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    a[i] = s.a + std::min(first + i, m - 1) * s.aRow;
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = _mm256_setzero_ps();
  }
  const char *b = s.b;
#pragma clang loop unroll(disable)
  for (int64_t k = 0, at = 0; k < s.terms; ++k, at += s.aStep, b += s.bStep) {
    __m256 row[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      row[j] = load(reinterpret_cast<const float *>(b), j);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      const __m256 left = _mm256_broadcast_ss(reinterpret_cast<const float *>(a[i] + at));
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = _mm256_fmadd_ps(left, row[j], sums[i][j]);
    }
  }
  if (isWhole && first + rows <= m && s.isPlain()) {
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        _mm256_storeu_ps(s.c + (first + i) * s.cStep + j * lanes, sums[i][j]);
    return;
  }
  alignas(32) float wide[rows * vectors * lanes];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      _mm256_store_ps(wide + (i * vectors + j) * lanes, sums[i][j]);
  finishTileAVX2(s, wide, vectors * lanes, first,
                 std::min(rows, static_cast<int>(m - first)), columns);
}

template <int rows, int vectors, bool isWhole>
void multiplyRowsAVX2(const Sides &s, int64_t m, int64_t columns) {
  for (int64_t i = 0; i < m; i += rows)
    multiplyTileAVX2<rows, vectors, isWhole>(s, i, m, columns);
}

void multiplyAVX2(const Sides &s, int64_t m, int64_t n) {
  for (int64_t j = 0; j < n; j += lanes) {
    Sides part = s;
    part.b += j * 4;
    part.c += s.c ? j : 0;
    part.before += s.before ? j : 0;
    part.bias += s.bias ? j : 0;
    part.halves += s.halves ? j : 0;
    const int64_t columns = n - j;
    if (columns >= lanes)
      multiplyRowsAVX2<6, 2, true>(part, m, columns);
    else if (columns > lanes / 2)
      multiplyRowsAVX2<6, 2, false>(part, m, columns);
    else
      multiplyRowsAVX2<8, 1, false>(part, m, columns);
  }
}

/// [k, n] of bf16, whose rows are `step` apart, as words of two rows: `block` words of a
/// pair of rows lie in a row, the next columns follow after all pairs. A last row without
/// another has zeros beside it.
MPT_SMALL void packWords(const uint16_t *stored, int64_t step, int64_t k, int64_t n,
                         int64_t block, uint32_t *words) {
  const int64_t pairs = (k + 1) / 2;
  for (int64_t j = 0; j < n; j += lanes) {
    const __mmask16 mask = getLanes(n - j);
    uint32_t *to = words + j / block * block * pairs + j % block;
    const uint16_t *from = stored + j;
    for (int64_t i = 0; i < k; i += 2, from += 2 * step, to += block) {
      __m512i both = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
      if (i + 1 < k)
        both = _mm512_or_si512(
            both,
            _mm512_slli_epi32(
                _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + step)), 16));
      _mm512_storeu_si512(to, both);
    }
  }
}

/// Rows as floats, one after another. Short ones of halves are widened here, since a call
/// for each would take longer than that.
MPT_SMALL void widenRowsAVX512(const StoredRows &stored, float *panel) {
  if (stored.length == stored.lead)
    return widen(stored.type, stored.rounding, stored.data, stored.first, panel,
                 stored.rows * stored.length);
  if (stored.type == DataType::F32 || stored.length > 8 * lanes) {
    for (int64_t row = 0; row < stored.rows; ++row)
      widen(stored.type, stored.rounding, stored.data, stored.first + row * stored.lead,
            panel + row * stored.length, stored.length);
    return;
  }
  const bool isBF16 = stored.type == DataType::BF16;
  for (int64_t i = 0; i < stored.length; i += lanes) {
    const __mmask16 mask = getLanes(stored.length - i);
    const auto *from = static_cast<const uint16_t *>(stored.data) + stored.first + i;
    float *to = panel + i;
    for (int64_t row = 0; row < stored.rows;
         ++row, from += stored.lead, to += stored.length) {
      const __m256i halves = _mm256_maskz_loadu_epi16(mask, from);
      _mm512_mask_storeu_ps(to, mask,
                            isBF16 ? _mm512_castsi512_ps(_mm512_slli_epi32(
                                         _mm512_cvtepu16_epi32(halves), 16))
                                   : _mm512_cvtph_ps(halves));
    }
  }
}

void widenRows(const StoredRows &stored, float *panel) {
  if (getVectorSet() == VectorSet::AVX512)
    return widenRowsAVX512(stored, panel);
  for (int64_t row = 0; row < stored.rows; ++row)
    widen(stored.type, stored.rounding, stored.data, stored.first + row * stored.lead,
          panel + row * stored.length, stored.length);
}

class SmallMatmul : public Call {
public:
  SmallMatmul(const Instruction &instruction, const MatmulShape &shape, bool ofPairs)
      : s(shape), pairs(ofPairs), storedLhs(instruction.refs[0].type),
        storedRhs(instruction.refs[1].type), outIndex(instruction.numInputs) {
    const auto &call = *instruction.getCall<MatmulCall>();
    epilogue = call.epilogue;
    if (call.hasBias) {
      biasType = instruction.refs[2].type;
      bias.resize(s.n);
    }
  }

  /// Whether panels hold what has to be copied.
  bool init() {
    copiesLhs = s.lhsRounding != Rounding::None ||
                (pairs ? s.transposeLhs : s.lhs != DataType::F32);
    copiesRhs = pairs || s.transposeRhs || storedRhs == DataType::BF16 ||
                s.rounding != Rounding::None ||
                (s.rhs == DataType::F16 && (isAVX2 || s.m > lanes));
    block = !pairs ? lanes : std::min<int64_t>(roundUp(s.n, lanes), 4 * lanes);
    if (pairs && block == 3 * lanes)
      block = 4 * lanes;
    // As many terms of a sum at a time as panels hold for four vectors of columns, or
    // for all, and for the rows of a task: parts of about one length.
    const int64_t wanted = std::max(std::min(roundUp(s.n, block), 4 * lanes),
                                    std::min(roundUp(s.m, lanes), taskRows)),
                  most = panelFloats * (pairs ? 2 : 1) / wanted,
                  parts = (s.k + most - 1) / most;
    depth = std::min(roundUp((s.k + parts - 1) / parts, 2 * lanes), s.k);
    const int64_t panelTerms = pairs ? roundUp(depth, 2 * lanes) / 2 : depth;
    width = s.n;
    if (copiesRhs && panelTerms * roundUp(s.n, block) > panelFloats) {
      width = panelFloats / panelTerms;
      width -= width % (width < 4 * lanes ? 2 * lanes : 4 * lanes);
      block = std::min(block, width);
    }
    // A library transposes f32 as fast.
    if ((width < s.n || depth < s.k) && s.transposeRhs && storedRhs == DataType::F32 &&
        s.lhs == DataType::F32 && s.rounding == Rounding::None)
      return false;
    // A GELU needs whole sums in memory, and so do sums of parts that are rounded.
    isDirect =
        epilogue != Epilogue::Gelu &&
        (s.out == DataType::F32 || s.out == (pairs ? DataType::BF16 : DataType::F16) ||
         (isAVX2 && s.out == DataType::BF16));
    const bool keepsSums = s.out != DataType::F32 && (!isDirect || depth < s.k);
    if (keepsSums && copiesRhs && width > mostColumnsOfSums)
      width = mostColumnsOfSums;
    // What a task copies of the right side is worth the most rows.
    rows = std::max<int64_t>(taskProducts / (s.k * roundUp(s.n, lanes)),
                             width < s.n || depth < s.k ? taskRows : lanes);
    if (copiesLhs)
      rows = std::min(rows, panelFloats / panelTerms);
    if (keepsSums)
      rows = std::min(rows, panelFloats / width);
    rows = std::min(rows < lanes ? rows : rows / lanes * lanes, s.m);
    int64_t rowsAtMost = copiesRhs ? std::max(rows, mostTaskRows) : rows;
    if (keepsSums)
      rowsAtMost = std::min(rowsAtMost, std::max(panelFloats / width, rows));
    // Tasks, and their steps, of about as many rows each, in whole tiles.
    if (rows >= lanes) {
      const int64_t tasks = (s.m + rowsAtMost - 1) / rowsAtMost,
                    each = std::min(roundUp((s.m + tasks - 1) / tasks, 8), rowsAtMost),
                    steps = (each + rows - 1) / rows;
      rows = std::min(rows, roundUp((each + steps - 1) / steps, 8));
      rowsOfTask = std::min(rows * steps, rowsAtMost);
    } else {
      rowsOfTask = rows;
    }
    // Rows that are copied once serve several panels of columns, but not all of them if
    // there is work for more threads.
    const bool sharesRows = copiesLhs && depth == s.k && rows == rowsOfTask;
    const int64_t panels = sharesRows ? mostSharedProducts / (rows * s.k * width) : 1;
    columnsOfTask = std::max<int64_t>(panels, 1) * width;
    return rows > 0 && rows >= std::min<int64_t>(s.m, 8);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    const float *biasData = nullptr;
    if (!bias.empty()) {
      widen(biasType, buffers[2], 0, bias.data(), s.n);
      biasData = bias.data();
    }
    const int64_t chunks = (s.m + rowsOfTask - 1) / rowsOfTask,
                  columnChunks = (s.n + columnsOfTask - 1) / columnsOfTask,
                  tasks = chunks * columnChunks;
    parallelFor(s.batch * tasks, team, [&](int64_t task, int) {
      const int64_t row = task % tasks / columnChunks * rowsOfTask,
                    column = task % columnChunks * columnsOfTask;
      runTask(buffers, biasData, task / tasks, {row, std::min(rowsOfTask, s.m - row)},
              {column, std::min(columnsOfTask, s.n - column)});
    });
    return true;
  }

private:
  /// Rows, columns or terms from `first` on.
  struct Range {
    int64_t first, count;
  };

  void runTask(void **buffers, const float *biasData, int64_t matrix, Range taskRange,
               Range columnRange) const {
    alignas(64) float lhsPanel[panelFloats], rhsPanel[panelFloats], sumPanel[panelFloats];
    const int64_t size = pairs && !s.transposeLhs ? 2 : 4;
    const bool isF32 = s.out == DataType::F32;
    // What `lhsPanel` holds of the left side.
    Range copiedRows{-1, 0}, copiedTerms{-1, 0};
    const char *lhs = nullptr;
    for (int64_t column = columnRange.first;
         column < columnRange.first + columnRange.count; column += width) {
      const Range columns{
          column, std::min(width, columnRange.first + columnRange.count - column)};
      // Sums of the task's rows: in the result, or beside it until they are rounded.
      const int64_t outFirst = (matrix * s.m + taskRange.first) * s.n + column,
                    sumStep = isF32 ? s.n : columns.count;
      float *sums = isF32 ? static_cast<float *>(buffers[outIndex]) + outFirst : sumPanel;
      for (int64_t term = 0; term < s.k; term += depth) {
        const Range terms{term, std::min(depth, s.k - term)};
        const bool finishes = isDirect && term + terms.count == s.k;
        Sides sides;
        sides.isOdd = pairs && !s.transposeLhs && terms.count % 2 != 0;
        sides.aRow = s.transposeLhs ? 4 : (copiesLhs ? terms.count : s.k) * size;
        sides.terms = !pairs ? terms.count : (terms.count + !sides.isOdd) / 2;
        sides.b = reinterpret_cast<const char *>(rhsPanel);
        sides.bStep = 4 * (pairs ? block : columns.count);
        sides.beforeStep = sumStep;
        sides.cStep = finishes ? s.n : sumStep;
        if (finishes && biasData)
          sides.bias = biasData + column;
        sides.isRelu = finishes && epilogue == Epilogue::Relu;
        sides.areBF16 = s.out == DataType::BF16;
        setRhs(sides, buffers[1], s.sharedRhs ? 0 : matrix, terms, columns, rhsPanel);
        for (int64_t row = 0; row < taskRange.count; row += rows) {
          const Range stepRange{taskRange.first + row,
                                std::min(rows, taskRange.count - row)};
          if (stepRange.first != copiedRows.first || term != copiedTerms.first) {
            lhs = getLhs(buffers[0], matrix, stepRange, terms, lhsPanel);
            copiedRows = stepRange;
            copiedTerms = terms;
          }
          sides.a = lhs;
          sides.aStep = 4 * (!s.transposeLhs ? 1
                             : !copiesLhs    ? s.m
                             : pairs         ? roundUp(stepRange.count, lanes)
                                             : stepRange.count);
          if (term > 0)
            sides.before = sums + row * sumStep;
          if (finishes && !isF32)
            sides.halves =
                static_cast<uint16_t *>(buffers[outIndex]) + outFirst + row * s.n;
          else
            sides.c = sums + row * sumStep;
          if (isAVX2)
            multiplyAVX2(sides, stepRange.count, columns.count);
          else if (pairs)
            multiply<Right::Words>(sides, stepRange.count, columns.count, block,
                                   getWords(terms.count) * block);
          else if (!copiesRhs && storedRhs == DataType::F16)
            multiply<Right::F16>(sides, stepRange.count, s.n, s.n, s.n);
          else
            multiply<Right::F32>(sides, stepRange.count, columns.count, columns.count,
                                 columns.count);
        }
      }
      if (isDirect)
        continue;
      for (int64_t row = 0; row < taskRange.count; ++row) {
        float *sumRow = sums + row * sumStep;
        if (biasData || epilogue != Epilogue::None)
          finishRow(sumRow, biasData ? biasData + column : nullptr, columns.count,
                    epilogue);
        if (!isF32)
          narrow(s.out, sumRow, buffers[outIndex], outFirst + row * s.n, columns.count);
      }
    }
  }

  /// Terms of rows as they are multiplied, those of a transposed matrix as columns.
  const char *getLhs(const void *data, int64_t matrix, Range rows, Range terms,
                     float *panel) const {
    const int64_t begin =
        matrix * s.m * s.k + (s.transposeLhs ? terms.first * s.m + rows.first
                                             : rows.first * s.k + terms.first);
    if (!copiesLhs)
      return static_cast<const char *>(data) + begin * (pairs ? 2 : 4);
    if (pairs && s.transposeLhs && storedLhs == DataType::BF16) {
      packWords(static_cast<const uint16_t *>(data) + begin, s.m, terms.count, rows.count,
                roundUp(rows.count, lanes), reinterpret_cast<uint32_t *>(panel));
      return reinterpret_cast<const char *>(panel);
    }
    if (pairs && s.transposeLhs) {
      packPairs({storedLhs, data, begin, s.m, terms.count, rows.count, s.lhsRounding},
                false, roundUp(rows.count, lanes), reinterpret_cast<uint16_t *>(panel));
      return reinterpret_cast<const char *>(panel);
    }
    StoredRows stored =
        s.transposeLhs ? StoredRows{storedLhs, data, begin, s.m, terms.count, rows.count}
                       : StoredRows{storedLhs, data, begin, s.k, rows.count, terms.count};
    stored.rounding = s.lhsRounding;
    if (!pairs)
      widenRows(stored, panel);
    else
      for (int64_t row = 0; row < rows.count; ++row)
        narrow(DataType::BF16, static_cast<const float *>(data) + begin + row * s.k,
               panel, row * terms.count, terms.count);
    return reinterpret_cast<const char *>(panel);
  }

  /// Whether halves are paired as they are stored.
  bool packsWords() const {
    return pairs && storedRhs == DataType::BF16 && !s.transposeRhs;
  }
  /// Words of so many terms of a column of a panel.
  int64_t getWords(int64_t terms) const {
    return packsWords() ? (terms + 1) / 2 : roundUp(terms, 2 * lanes) / 2;
  }

  /// Terms of columns of the right side, as they are multiplied.
  void setRhs(Sides &sides, const void *data, int64_t matrix, Range terms, Range columns,
              float *panel) const {
    const int64_t begin =
        matrix * s.k * s.n + (s.transposeRhs ? columns.first * s.k + terms.first
                                             : terms.first * s.n + columns.first);
    const StoredRows stored{storedRhs,
                            data,
                            begin,
                            s.transposeRhs ? s.k : s.n,
                            s.transposeRhs ? columns.count : terms.count,
                            s.transposeRhs ? terms.count : columns.count,
                            s.rounding};
    if (packsWords()) {
      packWords(static_cast<const uint16_t *>(data) + begin, s.n, terms.count,
                columns.count, block, reinterpret_cast<uint32_t *>(panel));
    } else if (!copiesRhs) {
      const int64_t size = storedRhs == DataType::F16 ? 2 : 4;
      sides.b = static_cast<const char *>(data) + begin * size;
      sides.bStep = s.n * size;
    } else if (pairs) {
      packPairs(stored, s.transposeRhs, block, reinterpret_cast<uint16_t *>(panel));
    } else if (s.transposeRhs) {
      isAVX2 ? transposeToFloats(stored, panel, stored.rows)
             : transposeRows(stored, DataType::F32, panel);
    } else {
      widenRows(stored, panel);
    }
  }

  MatmulShape s;
  /// Whether both sides are multiplied as words of two bf16.
  bool pairs;
  /// Whether the CPU has no AVX-512.
  const bool isAVX2 = getVectorSet() == VectorSet::AVX2;
  bool copiesLhs = false, copiesRhs = false;
  DataType storedLhs, storedRhs, biasType = DataType::F32;
  Epilogue epilogue = Epilogue::None;
  uint32_t outIndex;
  /// Whether sums are finished, and stored as they stay, where they are made.
  bool isDirect = false;
  /// Terms of a part of a sum; columns of a block of the right side, of a panel, and of a
  /// task; rows of a step, and of a task.
  int64_t depth = 0, block = 0, width = 0, columnsOfTask = 0, rows = 0, rowsOfTask = 0;
  std::vector<float> bias;
};

/// Whether this CPU has the vectors of one of the codes.
bool hasFusedVectors() {
  return getVectorSet() == VectorSet::AVX512 ||
         (getVectorSet() == VectorSet::AVX2 && __builtin_cpu_supports("fma"));
}

bool isFloat(DataType type) {
  return type == DataType::F32 || type == DataType::F16 || type == DataType::BF16;
}

} // namespace

std::unique_ptr<Call> mpt::rt::makeSmallMatmul(const Instruction &instruction,
                                               bool fastBF16) {
  MatmulShape s;
  if (!hasFusedVectors() || !getMatmulShape(instruction, s) || !isFloat(s.lhs) ||
      !isFloat(s.rhs) || s.batch == 0 || s.m == 0 || s.n == 0 || s.k == 0 ||
      s.k * s.n > mostHalfGradientProducts)
    return nullptr;
  const MatmulPlan plan = planMatmul(s);
  const int64_t columns = roundUp(s.n, lanes);
  // A library transposes a right side of f32 that fits no panel for more rows at a time.
  const bool hasHalves =
                 s.lhs != DataType::F32 && (s.rhs != DataType::F32 || !s.transposeRhs ||
                                            s.k * columns <= panelFloats),
             isWide = columns > 4 * lanes && s.m >= 4 * lanes;
  // A library adds parts of long sums in tasks, but of halves few terms at a time.
  if (plan.sumChunk && (!hasHalves || plan.depth == plan.sumChunk ||
                        s.m * s.k * columns > mostSumProducts))
    return nullptr;
  int64_t most = isWide ? mostWideProducts : mostProducts;
  if (hasHalves)
    most =
        s.transposeLhs && !plan.packsBoth ? mostHalfGradientProducts : mostHalfProducts;
  else if (s.transposeLhs)
    most = mostGradientProducts;
  if (getVectorSet() == VectorSet::AVX2) {
    const bool isHalfGradient = hasHalves && s.transposeLhs;
    most = isHalfGradient ? mostHalfGradientProductsOfAVX2 : mostProductsOfAVX2;
    if (!isHalfGradient && s.k * columns > panelFloats)
      return nullptr;
    if (!hasHalves && s.m > mostRowsOfAVX2)
      return nullptr;
  }
  if (s.m * s.k > most || s.m * s.k * columns > most)
    return nullptr;
  const bool areBF16 = s.lhs == DataType::BF16 && s.rhs == DataType::BF16 && fastBF16;
  // A library reads bf16 of long sums in place.
  if (areBF16 && plan.sumChunk && columns > mostColumnsOfBF16Sums)
    return nullptr;
  // Other CPUs that multiply bf16 faster have no code for it here.
  if (areBF16 && !prefersPairMatmul())
    return nullptr;
  auto call = std::make_unique<SmallMatmul>(instruction, s, areBF16);
  if (!call->init())
    return nullptr;
  return call;
}

#else

std::unique_ptr<Call> mpt::rt::makeSmallMatmul(const Instruction &, bool) {
  return nullptr;
}

#endif
