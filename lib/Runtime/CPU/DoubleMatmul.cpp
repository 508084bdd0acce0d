//===- DoubleMatmul.cpp - Matmuls of f64 ------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matmuls of f64, which oneDNN does not have: what linear algebra needs where f32 has
/// too few digits. A task copies some columns of the right side, and a part of the sums,
/// to a panel that stays in the cache, and multiplies a chunk of rows by it. Sums are in
/// the order of their terms.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <cmath>

using namespace mpt::rt;

namespace {

constexpr int64_t columns = 8, tileRows = 6, taskRows = 192, depth = 512;
typedef double Vector __attribute__((vector_size(columns * sizeof(double)), aligned(8)));

/// A side: element (i, k) is at data[i * step + k * termStep].
struct Side {
  const double *data;
  int64_t step, termStep;
};

/// sums[i] += the terms of row first + i, for a tile of rows. Rows from `count` on are
/// the last again.
__attribute__((always_inline)) inline void multiplyTile(const Side &left, int64_t first,
                                                        int64_t count,
                                                        const Vector *panel,
                                                        int64_t terms, Vector *sums) {
  const double *rows[tileRows];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < tileRows; ++i)
    rows[i] = left.data + std::min(first + i, count - 1) * left.step;
  Vector own[tileRows];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < tileRows; ++i)
    own[i] = sums[i];
#pragma clang loop unroll(disable)
  for (int64_t k = 0; k < terms; ++k) {
    const Vector right = panel[k];
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < tileRows; ++i)
      own[i] += rows[i][k * left.termStep] * right;
  }
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < tileRows; ++i)
    sums[i] = own[i];
}

void multiplyPlain(const Side &left, int64_t first, int64_t count, const Vector *panel,
                   int64_t terms, Vector *sums) {
  multiplyTile(left, first, count, panel, terms, sums);
}
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void multiplyAVX512(const Side &left, int64_t first,
                                                       int64_t count, const Vector *panel,
                                                       int64_t terms, Vector *sums) {
  multiplyTile(left, first, count, panel, terms, sums);
}
__attribute__((target("avx2,fma"))) void multiplyAVX2(const Side &left, int64_t first,
                                                      int64_t count, const Vector *panel,
                                                      int64_t terms, Vector *sums) {
  multiplyTile(left, first, count, panel, terms, sums);
}
#endif

auto getMultiply() {
#if defined(__x86_64__)
  if (getVectorSet() == VectorSet::AVX512)
    return multiplyAVX512;
  if (getVectorSet() == VectorSet::AVX2 && __builtin_cpu_supports("fma"))
    return multiplyAVX2;
#endif
  return multiplyPlain;
}

class DoubleMatmul : public Call {
public:
  explicit DoubleMatmul(const Instruction &instruction)
      : hasBias(instruction.getCall<MatmulCall>()->hasBias),
        epilogue(instruction.getCall<MatmulCall>()->epilogue),
        outIndex(instruction.numInputs) {
    getMatmulShape(instruction, s);
  }

  bool run(void **buffers, ThreadTeam &team, std::string &) override {
    const int64_t across = (s.n + columns - 1) / columns,
                  down = (s.m + taskRows - 1) / taskRows;
    parallelFor(s.batch * across * down, team, [&](int64_t task, int) {
      runTask(buffers, task / (across * down), task / across % down * taskRows,
              task % across * columns);
    });
    return true;
  }

private:
  /// A chunk of rows of matrix `matrix`, from row `firstRow` on, by a panel's columns.
  void runTask(void **buffers, int64_t matrix, int64_t firstRow, int64_t column) const {
    Vector panel[depth], sums[taskRows] = {};
    const int64_t rows = std::min(taskRows, s.m - firstRow),
                  width = std::min(columns, s.n - column);
    Side left{static_cast<const double *>(buffers[0]) + matrix * s.m * s.k,
              s.transposeLhs ? 1 : s.k, s.transposeLhs ? s.m : 1};
    left.data += firstRow * left.step;
    Side right{static_cast<const double *>(buffers[1]) +
                   (s.sharedRhs ? 0 : matrix) * s.k * s.n,
               s.transposeRhs ? s.k : 1, s.transposeRhs ? 1 : s.n};
    right.data += column * right.step;
    for (int64_t begin = 0; begin < s.k; begin += depth) {
      const int64_t terms = std::min(depth, s.k - begin);
      for (int64_t k = 0; k < terms; ++k)
        for (int64_t j = 0; j < columns; ++j)
          panel[k][j] =
              j < width ? right.data[j * right.step + (begin + k) * right.termStep] : 0;
      const Side part{left.data + begin * left.termStep, left.step, left.termStep};
      for (int64_t i = 0; i < rows; i += tileRows)
        multiply(part, i, rows, panel, terms, sums + i);
    }
    auto *out = static_cast<double *>(buffers[outIndex]) +
                (matrix * s.m + firstRow) * s.n + column;
    const auto *bias =
        hasBias ? static_cast<const double *>(buffers[2]) + column : nullptr;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < width; ++j)
        out[i * s.n + j] = activate(sums[i][j] + (bias ? bias[j] : 0.0));
  }

  double activate(double x) const {
    if (epilogue == Epilogue::Relu)
      return x > 0 || x != x ? x : 0;
    if (epilogue == Epilogue::Gelu)
      return x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    return x;
  }

  MatmulShape s;
  bool hasBias;
  Epilogue epilogue;
  uint32_t outIndex;
  decltype(getMultiply()) multiply = getMultiply();
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeDoubleMatmul(const Instruction &instruction) {
  return std::make_unique<DoubleMatmul>(instruction);
}
