//===- SmallMatmul.cpp - Matmuls too small for a library --------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matmuls of which oneDNN would need longer to start than to multiply, with AVX-512: the
/// same code for f32 and for words of two bf16 that lie one after another in the sum.
/// Sides that are read as they are stored are not copied; others are widened, rounded or
/// transposed in panels on the stack. Sums are f32, in the order of their terms.
///
//===----------------------------------------------------------------------===//

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

constexpr int64_t lanes = 16;
/// Floats of a panel, and most terms of a sum.
constexpr int64_t panelFloats = 8192, mostTerms = 1024;
/// Products, in whole vectors, of one matrix that is small, and of a task.
constexpr int64_t mostProducts = 1 << 19, taskProducts = 1 << 18;
/// Elements of the right side of half types that are multiplied here for more rows, and
/// products of those: up to there a library's call takes longer for its few products a
/// row.
constexpr int64_t mostShared = 1 << 12, mostSharedProducts = 1 << 24;

int64_t roundUp(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

/// c = a b. Elements of a and b are floats, or words: that of row i and term k of a is at
/// a + i * aRow + k * aStep, in bytes; rows of b and c lie bStep and cStep floats apart.
/// `isOdd`: one more element follows of which a has half a word.
struct Sides {
  const char *a;
  const float *b;
  float *c;
  int64_t aRow, aStep, bStep, cStep, terms;
  bool isOdd;
};

/// `rows` rows from `first` on by the columns of `vectors` vectors that are below
/// `columns`. Rows beyond the last, `m` - 1, are that one again.
template <int rows, int vectors, bool pairs>
MPT_SMALL void multiplyTile(const Sides &s, int64_t first, int64_t m, int64_t columns) {
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
  const float *b = s.b;
#pragma clang loop unroll(disable)
  for (int64_t k = 0, at = 0; k < s.terms; ++k, at += s.aStep, b += s.bStep) {
    __m512 right[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      right[j] = _mm512_maskz_loadu_ps(masks[j], b + j * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      float number;
      __builtin_memcpy(&number, a[i] + at, sizeof(number));
      const __m512 left = _mm512_set1_ps(number);
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] =
            pairs ? _mm512_dpbf16_ps(sums[i][j], (__m512bh)left, (__m512bh)right[j])
                  : _mm512_fmadd_ps(left, right[j], sums[i][j]);
    }
  }
  if (pairs && s.isOdd) {
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      uint16_t half;
      __builtin_memcpy(&half, a[i] + s.terms * s.aStep, sizeof(half));
      const auto left = _mm512_castsi512_ps(_mm512_set1_epi32(half << 16));
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] =
            _mm512_fmadd_ps(left,
                            _mm512_castsi512_ps(_mm512_slli_epi32(
                                _mm512_maskz_loadu_epi32(masks[j], b + j * lanes), 16)),
                            sums[i][j]);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    float *c = s.c + std::min(first + i, m - 1) * s.cStep;
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      _mm512_mask_storeu_ps(c + j * lanes, masks[j], sums[i][j]);
  }
}

template <int rows, int vectors, bool pairs>
void multiplyRows(const Sides &s, int64_t m, int64_t columns) {
  // The last rows again, rather than a smaller tile.
  for (int64_t i = 0; i < m; i += rows)
    multiplyTile<rows, vectors, pairs>(
        s, i + rows > m ? std::max<int64_t>(m - rows, 0) : i, m, columns);
}

/// `block` floats of b lie in a row; the next columns follow `blockStep` floats later.
template <bool pairs>
void multiply(Sides s, int64_t m, int64_t n, int64_t block, int64_t blockStep) {
  for (int64_t j = 0; j < n; j += 4 * lanes) {
    Sides part = s;
    part.b += j / block * blockStep + j % block;
    part.c += j;
    const int64_t columns = n - j;
    if (columns > 2 * lanes)
      multiplyRows<4, 4, pairs>(part, m, columns);
    else if (columns > lanes)
      multiplyRows<8, 2, pairs>(part, m, columns);
    else
      multiplyRows<8, 1, pairs>(part, m, columns);
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
    isOdd = pairs && !s.transposeLhs && s.k % 2 != 0;
    terms = !pairs ? s.k : isOdd ? s.k / 2 : (s.k + 1) / 2;
    copiesRhs = pairs || s.transposeRhs || storedRhs != DataType::F32 ||
                s.rounding != Rounding::None;
    block = !pairs ? lanes : std::min<int64_t>(roundUp(s.n, lanes), 4 * lanes);
    if (pairs && block == 3 * lanes)
      block = 4 * lanes;
    const int64_t panelTerms = pairs ? roundUp(s.k, 32) / 2 : s.k;
    width = s.n;
    if (copiesRhs && panelTerms * roundUp(s.n, block) > panelFloats) {
      // As many columns at a time as a panel holds, in whole blocks. A library
      // transposes f32 as fast.
      if (storedRhs == DataType::F32 && s.rounding == Rounding::None)
        return false;
      width = panelFloats / panelTerms;
      width -= width % (width < 4 * lanes ? 2 * lanes : 4 * lanes);
      if (width == 0)
        return false;
      block = std::min(block, width);
    }
    // What a task copies of the right side is worth the most rows.
    rows = std::max<int64_t>(taskProducts / (s.k * roundUp(s.n, lanes)),
                             width < s.n ? 2 * lanes : lanes);
    if (copiesLhs)
      rows = std::min(rows, panelFloats / panelTerms);
    if (s.out != DataType::F32)
      rows = std::min(rows, panelFloats / s.n);
    rows = std::min(rows < lanes ? rows : rows / lanes * lanes, s.m);
    return rows > 0 && rows >= std::min<int64_t>(s.m, 8);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    const float *biasData = nullptr;
    if (!bias.empty()) {
      widen(biasType, buffers[2], 0, bias.data(), s.n);
      biasData = bias.data();
    }
    const int64_t chunks = (s.m + rows - 1) / rows;
    parallelFor(s.batch * chunks, team, [&](int64_t task, int) {
      runTask(buffers, biasData, task / chunks, task % chunks * rows);
    });
    return true;
  }

private:
  void runTask(void **buffers, const float *biasData, int64_t matrix,
               int64_t first) const {
    alignas(64) float lhsPanel[panelFloats], rhsPanel[panelFloats], outPanel[panelFloats];
    const int64_t count = std::min(rows, s.m - first),
                  outFirst = (matrix * s.m + first) * s.n;
    float *out = s.out == DataType::F32
                     ? static_cast<float *>(buffers[outIndex]) + outFirst
                     : outPanel;
    const char *lhs = getLhs(buffers[0], matrix, first, count, lhsPanel);
    const int64_t size = pairs && !s.transposeLhs ? 2 : 4,
                  step = !s.transposeLhs ? 1
                         : !copiesLhs    ? s.m
                         : pairs         ? roundUp(count, lanes)
                                         : count;
    for (int64_t column = 0; column < s.n; column += width) {
      const int64_t columns = std::min(width, s.n - column);
      Sides sides{lhs,          rhsPanel,
                  out + column, s.transposeLhs ? 4 : s.k * size,
                  4 * step,     pairs ? block : columns,
                  s.n,          terms,
                  isOdd};
      setRhs(sides, buffers[1], s.sharedRhs ? 0 : matrix, column, columns, rhsPanel);
      if (pairs)
        multiply<true>(sides, count, columns, block, getWords() * block);
      else
        multiply<false>(sides, count, columns, columns, columns);
    }
    if (biasData || epilogue != Epilogue::None)
      for (int64_t row = 0; row < count; ++row)
        finishRow(out + row * s.n, biasData, s.n, epilogue);
    if (s.out != DataType::F32)
      narrow(s.out, out, buffers[outIndex], outFirst, count * s.n);
  }

  /// The rows as they are multiplied, those of a transposed matrix as columns.
  const char *getLhs(const void *data, int64_t matrix, int64_t first, int64_t count,
                     float *panel) const {
    const int64_t begin = matrix * s.m * s.k + (s.transposeLhs ? first : first * s.k);
    if (!copiesLhs)
      return static_cast<const char *>(data) + begin * (pairs ? 2 : 4);
    if (pairs && s.transposeLhs)
      packPairs({storedLhs, data, begin, s.m, s.k, count, s.lhsRounding}, false,
                roundUp(count, lanes), reinterpret_cast<uint16_t *>(panel));
    else if (pairs)
      narrow(DataType::BF16, static_cast<const float *>(data) + begin, panel, 0,
             count * s.k);
    else if (!s.transposeLhs || count == s.m)
      widen(storedLhs, s.lhsRounding, data, begin, panel, count * s.k);
    else
      for (int64_t k = 0; k < s.k; ++k)
        widen(storedLhs, s.lhsRounding, data, begin + k * s.m, panel + k * count, count);
    return reinterpret_cast<const char *>(panel);
  }

  /// Whether halves are paired as they are stored.
  bool packsWords() const {
    return pairs && storedRhs == DataType::BF16 && !s.transposeRhs;
  }
  /// Words of a column of a panel.
  int64_t getWords() const { return packsWords() ? (s.k + 1) / 2 : roundUp(s.k, 32) / 2; }

  /// `columns` columns of the right side from `column` on, as they are multiplied.
  void setRhs(Sides &sides, const void *data, int64_t matrix, int64_t column,
              int64_t columns, float *panel) const {
    const int64_t begin = matrix * s.k * s.n + column * (s.transposeRhs ? s.k : 1);
    const StoredRows stored{storedRhs,
                            data,
                            begin,
                            s.transposeRhs ? s.k : s.n,
                            s.transposeRhs ? columns : s.k,
                            s.transposeRhs ? s.k : columns,
                            s.rounding};
    if (packsWords())
      packWords(static_cast<const uint16_t *>(data) + begin, s.n, s.k, columns, block,
                reinterpret_cast<uint32_t *>(panel));
    else if (!copiesRhs)
      sides.b = static_cast<const float *>(data) + begin;
    else if (pairs)
      packPairs(stored, s.transposeRhs, block, reinterpret_cast<uint16_t *>(panel));
    else if (s.transposeRhs)
      transposeRows(stored, DataType::F32, panel);
    else if (columns == s.n)
      widen(storedRhs, s.rounding, data, begin, panel, s.k * s.n);
    else
      for (int64_t k = 0; k < s.k; ++k)
        widen(storedRhs, s.rounding, data, begin + k * s.n, panel + k * columns, columns);
  }

  MatmulShape s;
  /// Whether both sides are multiplied as words of two bf16.
  bool pairs;
  bool copiesLhs = false, copiesRhs = false, isOdd = false;
  DataType storedLhs, storedRhs, biasType = DataType::F32;
  Epilogue epilogue = Epilogue::None;
  uint32_t outIndex;
  /// Terms of a sum, in floats or words; columns of a block of the right side, and of a
  /// panel; rows of a task.
  int64_t terms = 0, block = 0, width = 0, rows = 0;
  std::vector<float> bias;
};

bool isFloat(DataType type) {
  return type == DataType::F32 || type == DataType::F16 || type == DataType::BF16;
}

} // namespace

std::unique_ptr<Call> mpt::rt::makeSmallMatmul(const Instruction &instruction,
                                               bool fastBF16) {
  MatmulShape s;
  if (getVectorSet() != VectorSet::AVX512 || !getMatmulShape(instruction, s) ||
      !isFloat(s.lhs) || !isFloat(s.rhs) || s.batch == 0 || s.m == 0 || s.n == 0 ||
      s.k == 0 || s.k > mostTerms || s.k * s.n > mostProducts)
    return nullptr;
  const bool isNarrow = s.lhs != DataType::F32 && !s.transposeLhs &&
                        s.k * roundUp(s.n, lanes) <= mostShared;
  const int64_t most = isNarrow ? mostSharedProducts : mostProducts;
  if (s.m * s.k > most || s.m * s.k * roundUp(s.n, lanes) > most)
    return nullptr;
  const bool areBF16 = s.lhs == DataType::BF16 && s.rhs == DataType::BF16 && fastBF16;
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
