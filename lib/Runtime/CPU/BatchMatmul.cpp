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

/// `count` matrices of `size` floats, one after another, as vectors of one element of
/// each. Lanes without a matrix are zeros.
MPT_AVX512 void interleave(const float *from, int64_t size, int64_t count, float *to) {
  if (size == 1)
    return _mm512_store_ps(to, _mm512_maskz_loadu_ps(getLanes(count), from));
  for (int64_t first = 0; first < size; first += lanes, to += lanes * lanes) {
    const __mmask16 mask = getLanes(size - first);
    __m512i tile[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      tile[i] = _mm512_maskz_loadu_epi32(i < count ? mask : 0, from + first + i * size);
    transpose16(tile);
    const int64_t elements = std::min(size - first, lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      if (i < elements)
        _mm512_store_si512(to + i * lanes, tile[i]);
  }
}

/// The reverse.
MPT_AVX512 void separate(const float *from, int64_t size, int64_t count, float *to) {
  if (size == 1)
    return _mm512_mask_storeu_ps(to, getLanes(count), _mm512_load_ps(from));
  for (int64_t first = 0; first < size; first += lanes, from += lanes * lanes) {
    __m512i tile[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      tile[i] = _mm512_load_si512(from + i * lanes);
    transpose16(tile);
    const __mmask16 mask = getLanes(size - first);
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      _mm512_mask_storeu_epi32(to + first + i * size, i < count ? mask : 0, tile[i]);
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
    alignas(64) float lhsPanel[panelFloats], rhsPanel[panelFloats], outPanel[panelFloats],
        lhsLanes[panelFloats], rhsLanes[panelFloats], outLanes[panelFloats];
    const int64_t lhsSize = s.m * s.k, rhsSize = s.k * s.n, outSize = s.m * s.n;
    const float *lhs =
        getFloats(storedLhs, s.lhsRounding, buffers[0], first, count, lhsSize, lhsPanel);
    const float *rhs =
        getFloats(storedRhs, s.rounding, buffers[1], first, count, rhsSize, rhsPanel);
    float *out = s.out == DataType::F32
                     ? static_cast<float *>(buffers[outIndex]) + first * outSize
                     : outPanel;
    const Side left{lhsLanes, s.m, s.transposeLhs ? 1 : s.k, s.transposeLhs ? s.m : 1,
                    s.n},
        right{rhsLanes, s.n, s.transposeRhs ? s.k : 1, s.transposeRhs ? 1 : s.n, 1};
    for (int64_t i = 0; i < count; i += lanes) {
      const int64_t part = std::min(count - i, lanes);
      interleave(lhs + i * lhsSize, lhsSize, part, lhsLanes);
      interleave(rhs + i * rhsSize, rhsSize, part, rhsLanes);
      if (s.m == 1)
        multiply<1, 4>(left, right, s.k, outLanes);
      else if (s.n == 1)
        multiply<1, 4>(right, left, s.k, outLanes);
      else
        multiply<4, 4>(left, right, s.k, outLanes);
      separate(outLanes, outSize, part, out + i * outSize);
    }
    if (s.out != DataType::F32)
      narrow(s.out, out, buffers[outIndex], first * outSize, count * outSize);
  }

  /// Matrices as floats, which are in `panel` if they are stored otherwise.
  static const float *getFloats(DataType type, Rounding rounding, const void *data,
                                int64_t first, int64_t count, int64_t size,
                                float *panel) {
    if (type == DataType::F32 && rounding == Rounding::None)
      return static_cast<const float *>(data) + first * size;
    widen(type, rounding, data, first * size, panel, count * size);
    return panel;
  }

  MatmulShape s;
  DataType storedLhs, storedRhs;
  uint32_t outIndex;
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
