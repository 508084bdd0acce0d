//===- PairMatmul.cpp - Small matmuls of pairs of bf16 ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairMatmul.h"
#include "Call.h"

using namespace mpt::rt;

#if defined(__x86_64__)
#include <immintrin.h>

#define MPT_PAIRS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

bool mpt::rt::hasPairMatmul() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}

bool mpt::rt::prefersPairMatmul() {
  return __builtin_cpu_is("amd") && hasPairMatmul() && hasFastBF16();
}

namespace {

/// A tile of sums in registers. Loops over words are not unrolled, as small code.
template <int rows, int vectors>
MPT_PAIRS void multiplyTile(const Left &a, const float *b, int64_t bStep, int64_t length,
                            float *c, int64_t cStep, Begin begin, const float *factors) {
  __m512 sums[rows][vectors];
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j) {
      if (begin == Begin::Zeros) {
        sums[i][j] = _mm512_setzero_ps();
        continue;
      }
      sums[i][j] = _mm512_loadu_ps(c + i * cStep + j * kLanes);
      if (begin == Begin::Scaled)
        sums[i][j] = _mm512_mul_ps(sums[i][j], _mm512_loadu_ps(factors + j * kLanes));
    }
  const float *left = a.data;
#pragma clang loop unroll(disable)
  for (int64_t k = 0; k < length; ++k, left += a.step, b += bStep) {
    __m512i right[vectors];
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      right[j] = _mm512_loadu_si512(b + j * kLanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      int32_t word;
      __builtin_memcpy(&word, left + i * a.row, sizeof(word));
      const auto words = (__m512bh)_mm512_set1_epi32(word);
#pragma clang loop unroll(full)
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = _mm512_dpbf16_ps(sums[i][j], words, (__m512bh)right[j]);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < vectors; ++j)
      _mm512_storeu_ps(c + i * cStep + j * kLanes, sums[i][j]);
}

template <int rows, int vectors>
MPT_PAIRS void multiplyRows(const Left &a, const float *b, int64_t bStep, int64_t length,
                            float *c, int64_t cStep, int64_t m, Begin begin,
                            const float *factors) {
  int64_t i = 0;
  auto at = [&] { return Left{a.data + i * a.row, a.row, a.step}; };
  for (; i + rows <= m; i += rows)
    multiplyTile<rows, vectors>(at(), b, bStep, length, c + i * cStep, cStep, begin,
                                factors);
  for (; i < m; ++i)
    multiplyTile<1, vectors>(at(), b, bStep, length, c + i * cStep, cStep, begin,
                             factors);
}

} // namespace

void mpt::rt::multiplyPairs(const Left &a, const Rows &b, int64_t length, const Rows &c,
                            int64_t m, int64_t n, Begin begin, const float *factors) {
  for (int64_t j = 0; j < n;) {
    const float *right = b.data + j * kLanes,
                *scale = factors ? factors + j * kLanes : nullptr;
    float *to = c.data + j * kLanes;
    if (j + 4 <= n) {
      multiplyRows<4, 4>(a, right, b.step, length, to, c.step, m, begin, scale);
      j += 4;
    } else {
      multiplyRows<8, 1>(a, right, b.step, length, to, c.step, m, begin, scale);
      ++j;
    }
  }
}

#else

bool mpt::rt::hasPairMatmul() { return false; }
bool mpt::rt::prefersPairMatmul() { return false; }
void mpt::rt::multiplyPairs(const Left &, const Rows &, int64_t, const Rows &, int64_t,
                            int64_t, Begin, const float *) {}

#endif
