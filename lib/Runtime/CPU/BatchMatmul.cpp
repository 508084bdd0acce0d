//===- BatchMatmul.cpp - Batches of tiny matmuls -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matmuls of matrices so tiny that a vector of one has empty lanes, with AVX-512: each
/// of sixteen lanes has a matrix of the batch. Sixteen matrices are brought into that
/// order, element by element, multiplied, and brought back. All arithmetic is f32, and
/// sums are in the order of their terms.
///
//===----------------------------------------------------------------------===//

#include "Avx512.h"
#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>

using namespace mpt::rt;

#if defined(__x86_64__)
namespace {

constexpr int64_t lanes = 16;
/// Elements of both operands and the result of a matmul that is tiny: with more, bringing
/// them into the other order takes longer than it saves. Floats of a panel.
constexpr int64_t mostElements = 352, panelFloats = mostElements * lanes;
/// Products of a task, about.
constexpr int64_t taskProducts = 1 << 15;

/// Sixteen numbers from element `index` on as floats; zeros where `mask` has no lanes.
template <DataType type>
MPT_AVX512 inline __m512i load(const void *data, int64_t index, __mmask16 mask) {
  if (type == DataType::F32)
    return _mm512_maskz_loadu_epi32(mask, static_cast<const float *>(data) + index);
  if (type == DataType::BF16)
    return loadUpper<false>(data, index, mask);
  return _mm512_castps_si512(_mm512_cvtph_ps(
      _mm256_maskz_loadu_epi16(mask, static_cast<const uint16_t *>(data) + index)));
}

/// How a result is rounded: not at all, or to f16, or to bf16 by integers or, unless
/// there are subnormals, by the instruction of AVX512_BF16.
enum class Result { F32, F16, BF16, BF16ByInstruction };

/// Stores the lanes of `mask`, rounded.
template <Result result>
MPT_AVX512_BF16 inline void store(void *data, int64_t index, __mmask16 mask,
                                  __m512i number) {
  if (result == Result::F32)
    return _mm512_mask_storeu_epi32(static_cast<float *>(data) + index, mask, number);
  const __m512 value = _mm512_castsi512_ps(number);
  _mm256_mask_storeu_epi16(
      static_cast<uint16_t *>(data) + index, mask,
      result == Result::F16 ? _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT)
      : result == Result::BF16
          ? _mm512_cvtepi32_epi16(_mm512_srli_epi32(roundToBF16(value), 16))
          : (__m256i)_mm512_cvtneps_pbh(value));
}

/// `count` matrices of `size` elements, one after another from element `at` on, as
/// vectors of one element of each. Lanes without a matrix are zeros.
template <DataType type>
MPT_AVX512 void interleave(const void *from, int64_t at, int64_t size, int64_t count,
                           float *to) {
  if (size == 1)
    return _mm512_store_si512(to, load<type>(from, at, getLanes(count)));
  for (int64_t first = 0; first < size; first += lanes, to += lanes * lanes) {
    const __mmask16 mask = getLanes(size - first);
    __m512i tile[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      tile[i] = load<type>(from, at + first + i * size, i < count ? mask : 0);
    transpose16(tile);
    const int64_t elements = std::min(size - first, lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      if (i < elements)
        _mm512_store_si512(to + i * lanes, tile[i]);
  }
}

/// The reverse.
template <Result result>
MPT_AVX512_BF16 void separate(const float *from, int64_t size, int64_t count, void *to,
                              int64_t at) {
  if (result == Result::BF16ByInstruction) {
    __mmask16 subnormals = 0;
    for (int64_t i = 0; i < size; ++i)
      subnormals |= getSubnormals(_mm512_load_ps(from + i * lanes));
    if (__builtin_expect(subnormals, 0))
      return separate<Result::BF16>(from, size, count, to, at);
  }
  if (size == 1)
    return store<result>(to, at, getLanes(count), _mm512_load_si512(from));
  for (int64_t first = 0; first < size; first += lanes, from += lanes * lanes) {
    __m512i tile[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      tile[i] = _mm512_load_si512(from + i * lanes);
    transpose16(tile);
    const __mmask16 mask = getLanes(size - first);
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      store<result>(to, at + first + i * size, i < count ? mask : 0, tile[i]);
  }
}

/// One side of sixteen matmuls: its rows, or columns, and the floats from one to the
/// next, from term to term, and from result to result.
struct Side {
  Side(const float *data, int64_t count, int64_t step, int64_t termStep, int64_t outStep)
      : data(data), count(count), step(step * lanes), termStep(termStep * lanes),
        outStep(outStep * lanes) {}

  const float *data;
  int64_t count, step, termStep, outStep;
};

/// `rows` by `columns` results, from (i, j) on. Those beyond the last are the last again.
template <int rows, int columns>
MPT_AVX512 void multiplyTile(const Side &left, const Side &right, int64_t terms,
                             float *out, int64_t i, int64_t j) {
  const float *a[rows], *b[columns];
  float *to[rows];
  __m512 sums[rows][columns];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    const int64_t row = std::min(i + r, left.count - 1);
    a[r] = left.data + row * left.step;
    to[r] = out + row * left.outStep;
  }
#pragma clang loop unroll(full)
  for (int c = 0; c < columns; ++c) {
    b[c] = right.data + std::min(j + c, right.count - 1) * right.step;
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      sums[r][c] = _mm512_setzero_ps();
  }
#pragma clang loop unroll(disable)
  for (int64_t k = 0, atLeft = 0, atRight = 0; k < terms;
       ++k, atLeft += left.termStep, atRight += right.termStep) {
    __m512 row[columns];
#pragma clang loop unroll(full)
    for (int c = 0; c < columns; ++c)
      row[c] = _mm512_load_ps(b[c] + atRight);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const __m512 element = _mm512_load_ps(a[r] + atLeft);
#pragma clang loop unroll(full)
      for (int c = 0; c < columns; ++c)
        sums[r][c] = _mm512_fmadd_ps(element, row[c], sums[r][c]);
    }
  }
#pragma clang loop unroll(full)
  for (int c = 0; c < columns; ++c) {
    const int64_t column = std::min(j + c, right.count - 1) * right.outStep;
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      _mm512_store_ps(to[r] + column, sums[r][c]);
  }
}

template <int rows, int columns>
void multiply(const Side &left, const Side &right, int64_t terms, float *out) {
  for (int64_t i = 0; i < left.count; i += rows)
    for (int64_t j = 0; j < right.count; j += columns)
      multiplyTile<rows, columns>(left, right, terms, out, i, j);
}

class BatchMatmul : public Call {
public:
  BatchMatmul(const Instruction &instruction, const MatmulShape &shape)
      : s(shape), storedLhs(instruction.refs[0].type),
        storedRhs(instruction.refs[1].type), outIndex(instruction.numInputs) {
    interleaveLhs =
        getInterleave(s.lhsRounding == Rounding::None ? storedLhs : DataType::F32);
    interleaveRhs =
        getInterleave(s.rounding == Rounding::None ? storedRhs : DataType::F32);
    separateOut = s.out == DataType::F16    ? separate<Result::F16>
                  : s.out != DataType::BF16 ? separate<Result::F32>
                  : hasBF16Rounding()       ? separate<Result::BF16ByInstruction>
                                            : separate<Result::BF16>;
    const int64_t most = std::max({s.m * s.k, s.k * s.n, s.m * s.n});
    matrices = std::clamp(taskProducts / (s.m * s.k * s.n) / lanes, int64_t(1),
                          mostElements / most) *
               lanes;
  }

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    parallelFor((s.batch + matrices - 1) / matrices, team, [&](int64_t task, int) {
      runTask(buffers, task * matrices, std::min(matrices, s.batch - task * matrices));
    });
    return true;
  }

private:
  void runTask(void **buffers, int64_t first, int64_t count) const {
    alignas(64) float rounded[panelFloats], lhsLanes[panelFloats], rhsLanes[panelFloats],
        outLanes[panelFloats];
    const int64_t lhsSize = s.m * s.k, rhsSize = s.k * s.n, outSize = s.m * s.n;
    const Side left{lhsLanes, s.m, s.transposeLhs ? 1 : s.k, s.transposeLhs ? s.m : 1,
                    s.n},
        right{rhsLanes, s.n, s.transposeRhs ? s.k : 1, s.transposeRhs ? 1 : s.n, 1};
    auto copy = [&](Interleave interleave, Rounding rounding, const void *data,
                    int64_t matrix, int64_t count, int64_t size, float *to) {
      int64_t at = matrix * size;
      if (rounding != Rounding::None) {
        round(rounding, static_cast<const float *>(data) + at, rounded, count * size);
        data = rounded, at = 0;
      }
      interleave(data, at, size, count, to);
    };
    for (int64_t i = first; i < first + count; i += lanes) {
      const int64_t part = std::min(first + count - i, lanes);
      copy(interleaveLhs, s.lhsRounding, buffers[0], i, part, lhsSize, lhsLanes);
      copy(interleaveRhs, s.rounding, buffers[1], i, part, rhsSize, rhsLanes);
      if (s.m == 1)
        multiply<1, 4>(left, right, s.k, outLanes);
      else if (s.n == 1)
        multiply<1, 4>(right, left, s.k, outLanes);
      else
        multiply<4, 4>(left, right, s.k, outLanes);
      separateOut(outLanes, outSize, part, buffers[outIndex], i * outSize);
    }
  }

  using Interleave = void (*)(const void *, int64_t, int64_t, int64_t, float *);
  static Interleave getInterleave(DataType type) {
    return type == DataType::F16    ? interleave<DataType::F16>
           : type == DataType::BF16 ? interleave<DataType::BF16>
                                    : interleave<DataType::F32>;
  }

  MatmulShape s;
  DataType storedLhs, storedRhs;
  uint32_t outIndex;
  /// As sides are stored, or f32 if they are rounded first; as the result is stored.
  Interleave interleaveLhs, interleaveRhs;
  void (*separateOut)(const float *, int64_t, int64_t, void *, int64_t);
  /// Of a task.
  int64_t matrices = 0;
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeBatchMatmul(const Instruction &instruction) {
  MatmulShape s;
  const auto *call = instruction.getCall<MatmulCall>();
  if (getVectorSet() != VectorSet::AVX512 || !getMatmulShape(instruction, s) ||
      call->hasBias || call->epilogue != Epilogue::None || s.sharedRhs ||
      s.batch < lanes || s.n > lanes || s.m == 0 || s.n == 0 || s.k == 0 || isF8(s.lhs) ||
      isF8(s.rhs) || s.m > mostElements || s.n > mostElements || s.k > mostElements ||
      s.m * s.k + s.k * s.n + s.m * s.n > mostElements)
    return nullptr;
  return std::make_unique<BatchMatmul>(instruction, s);
}

#else

std::unique_ptr<Call> mpt::rt::makeBatchMatmul(const Instruction &) { return nullptr; }

#endif
