//===- Matmul.cpp - Products through oneDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matrix products: oneDNN's f32 product on one thread a chunk, chunks as
/// planMatmul cuts them. Operands in half types are widened to f32 in panels
/// that stay in the cache; results are rounded once.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "OneDnn.h"
#include "Parallel.h"
#include "mpt/Runtime/CallPlan.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mpt::rt;

namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// C = A B in f32 with given strides, on one thread.
class Product {
public:
  bool init(int64_t m, int64_t n, int64_t k, int64_t lhsRow, int64_t lhsColumn,
            int64_t rhsRow, int64_t rhsColumn, int64_t outRow, int64_t threads) {
    dnnl_memory_desc_t lhs, rhs, out;
    dnnl_matmul_desc_t desc;
    return makeDesc(lhs, {m, k}, {lhsRow, lhsColumn}) &&
           makeDesc(rhs, {k, n}, {rhsRow, rhsColumn}) &&
           makeDesc(out, {m, n}, {outRow, 1}) &&
           dnnl_matmul_desc_init(&desc, &lhs, &rhs, nullptr, &out) == dnnl_success &&
           primitive.init(&desc, nullptr) &&
           primitive.setArguments({{DNNL_ARG_SRC, lhs},
                                   {DNNL_ARG_WEIGHTS, rhs},
                                   {DNNL_ARG_DST, out}},
                                  threads);
  }
  bool isReady() const { return primitive.isReady(); }
  bool run(const float *lhs, const float *rhs, float *out, int thread) {
    return primitive.run(
        {const_cast<float *>(lhs), const_cast<float *>(rhs), out}, thread);
  }

private:
  Primitive primitive;
};

class Matmul : public Call {
public:
  void init(const Instruction &instruction, int64_t maxThreads) {
    getMatmulShape(instruction, s);
    plan = planMatmul(s);
    hasBias = instruction.ints[2];
    epilogue = instruction.ints[3];
    threads = maxThreads;
    if (hasBias) {
      bias = instruction.refs[2];
      biasRow.resize(s.n);
    }
    if (s.k == 0)
      emptyRow.resize(s.n);
    outIndex = instruction.numInputs;
  }

  bool run(void **buffers, int runThreads, std::string &error) override {
    if (s.m == 0 || s.n == 0 || s.batch == 0)
      return true;
    failed = false;
    const float *biasData = nullptr;
    if (hasBias) {
      widen(bias.type, buffers[2], 0, biasRow.data(), s.n);
      biasData = biasRow.data();
    }
    if (s.k == 0) {
      writeEmptySums(buffers[outIndex], biasData);
      return true;
    }
    runThreads = static_cast<int>(std::min<int64_t>(runThreads, threads));
    char *scratch = static_cast<char *>(buffers[outIndex + 1]);
    if (plan.sumChunk)
      runSums(buffers, scratch, biasData, runThreads);
    else
      runRows(buffers, scratch, biasData, runThreads);
    if (failed)
      error = "oneDNN could not run a product";
    return !failed;
  }

  bool prepare() {
    if (s.m == 0 || s.n == 0 || s.k == 0 || s.batch == 0)
      return true;
    if (plan.sumChunk) {
      for (int64_t size : {std::min(plan.sumChunk, s.k),
                           s.k - plan.sumChunk * (plan.chunks - 1)})
        if (!prepareProduct(s.m, size))
          return false;
      return true;
    }
    for (int64_t size : {std::min(plan.rowChunk, s.m),
                         s.m - plan.rowChunk * (plan.chunks - 1)})
      if (!prepareProduct(size, s.k))
        return false;
    return true;
  }

private:
  /// Products by (rows, summed length).
  bool prepareProduct(int64_t m, int64_t k) {
    Product &product = products[{m, k}];
    if (product.isReady())
      return true;
    // Widened panels keep the layout of what they copy: rows of the stored
    // matrix, cut to the chunk.
    bool widenLhs = s.lhs != DataType::F32;
    int64_t lhsLead = s.transposeLhs ? (widenLhs && !plan.sumChunk ? m : s.m) : s.k;
    if (plan.sumChunk && widenLhs && !s.transposeLhs)
      lhsLead = k;
    int64_t rhsLead = s.transposeRhs ? s.k : s.n;
    if (plan.sumChunk && s.rhs != DataType::F32 && s.transposeRhs)
      rhsLead = k;
    return product.init(m, s.n, k, s.transposeLhs ? 1 : lhsLead,
                        s.transposeLhs ? lhsLead : 1, s.transposeRhs ? 1 : rhsLead,
                        s.transposeRhs ? rhsLead : 1, s.n, threads);
  }

  /// Rows of a product over nothing: zeros, then bias and epilogue.
  void writeEmptySums(void *out, const float *biasData) {
    std::fill(emptyRow.begin(), emptyRow.end(), 0.0f);
    finishRow(emptyRow.data(), biasData, s.n, epilogue);
    for (int64_t row = 0; row < s.batch * s.m; ++row)
      narrow(s.out, emptyRow.data(), out, row * s.n, s.n);
  }

  const char *elements(void *base, DataType type, int64_t index) {
    return static_cast<char *>(base) + index * getSize(type);
  }

  /// Widens rows [firstRow, firstRow + rows) and columns [firstColumn, +
  /// columns) of a matrix with `lead` columns.
  void widenBlock(DataType type, const void *source, int64_t lead, int64_t firstRow,
                  int64_t rows, int64_t firstColumn, int64_t columns, float *target) {
    if (firstColumn == 0 && columns == lead)
      return widen(type, source, firstRow * lead, target, rows * lead);
    for (int64_t row = 0; row < rows; ++row)
      widen(type, source, (firstRow + row) * lead + firstColumn,
            target + row * columns, columns);
  }

  void runRows(void **buffers, char *scratch, const float *biasData, int runThreads) {
    float *wideRhs = reinterpret_cast<float *>(scratch);
    if (plan.rhsBytes) {
      int64_t matrices = s.sharedRhs ? 1 : s.batch, size = s.k * s.n;
      int64_t pieces = (size + 65535) / 65536;
      parallelFor(matrices * pieces, runThreads, [&](int64_t task, int) {
        int64_t matrix = task / pieces, first = task % pieces * 65536;
        widen(s.rhs, buffers[1], matrix * size + first,
              wideRhs + matrix * (alignUp(size * 4) / 4) + first,
              std::min<int64_t>(65536, size - first));
      });
    }
    parallelFor(s.batch * plan.chunks, runThreads, [&](int64_t task, int thread) {
      int64_t matrix = task / plan.chunks, chunk = task % plan.chunks;
      int64_t first = chunk * plan.rowChunk;
      int64_t rows = std::min(plan.rowChunk, s.m - first);
      float *panel = reinterpret_cast<float *>(scratch + plan.rhsBytes +
                                               plan.threadBytes * thread);
      const float *lhs;
      int64_t base = matrix * s.m * s.k;
      if (s.lhs == DataType::F32) {
        lhs = static_cast<float *>(buffers[0]) + base +
              (s.transposeLhs ? first : first * s.k);
      } else {
        const void *source = elements(buffers[0], s.lhs, base);
        if (s.transposeLhs)
          widenBlock(s.lhs, source, s.m, 0, s.k, first, rows, panel);
        else
          widenBlock(s.lhs, source, s.k, first, rows, 0, s.k, panel);
        lhs = panel;
        panel += alignUp(plan.rowChunk * s.k * 4) / 4;
      }
      int64_t rhsMatrix = s.sharedRhs ? 0 : matrix;
      const float *rhs = plan.rhsBytes
                             ? wideRhs + rhsMatrix * (alignUp(s.k * s.n * 4) / 4)
                             : static_cast<float *>(buffers[1]) + rhsMatrix * s.k * s.n;
      int64_t outFirst = (matrix * s.m + first) * s.n;
      float *out = s.out == DataType::F32
                       ? static_cast<float *>(buffers[outIndex]) + outFirst
                       : panel;
      if (!products.at({rows, s.k}).run(lhs, rhs, out, thread)) {
        failed = true;
        return;
      }
      if (biasData || epilogue)
        for (int64_t row = 0; row < rows; ++row)
          finishRow(out + row * s.n, biasData, s.n, epilogue);
      if (s.out != DataType::F32)
        narrow(s.out, out, buffers[outIndex], outFirst, rows * s.n);
    });
  }

  void runSums(void **buffers, char *scratch, const float *biasData, int runThreads) {
    char *threadArea = scratch;
    char *partials = scratch + plan.threadBytes * threads;
    int64_t partialFloats = alignUp(s.m * s.n * 4) / 4;
    auto *sums = reinterpret_cast<float *>(partials);
    parallelFor(plan.chunks, runThreads, [&](int64_t chunk, int thread) {
      int64_t first = chunk * plan.sumChunk;
      int64_t length = std::min(plan.sumChunk, s.k - first);
      auto *panel = reinterpret_cast<float *>(threadArea + plan.threadBytes * thread);
      auto side = [&](DataType type, void *buffer, bool sumIsRows,
                      int64_t other) -> const float * {
        // The stored matrix has the summed dimension as rows or as columns.
        if (type == DataType::F32)
          return static_cast<float *>(buffer) + (sumIsRows ? first * other : first);
        float *target = panel;
        if (sumIsRows)
          widenBlock(type, buffer, other, first, length, 0, other, target);
        else
          widenBlock(type, buffer, s.k, 0, other, first, length, target);
        panel += alignUp(plan.sumChunk * other * 4) / 4;
        return target;
      };
      const float *lhs = side(s.lhs, buffers[0], s.transposeLhs, s.m);
      const float *rhs = side(s.rhs, buffers[1], !s.transposeRhs, s.n);
      if (!products.at({s.m, length}).run(lhs, rhs, sums + chunk * partialFloats, thread))
        failed = true;
    });
    if (failed)
      return;
    // The partial results in order, a few rows a task.
    int64_t rowsPerTask = std::max<int64_t>(1, 16384 / std::max<int64_t>(s.n, 1));
    parallelFor((s.m + rowsPerTask - 1) / rowsPerTask, runThreads,
                [&](int64_t task, int) {
      int64_t first = task * rowsPerTask * s.n;
      int64_t count = std::min(rowsPerTask * s.n, s.m * s.n - first);
      float *total = sums + first;
      for (int64_t chunk = 1; chunk < plan.chunks; ++chunk) {
        const float *partial = sums + chunk * partialFloats + first;
        for (int64_t i = 0; i < count; ++i)
          total[i] += partial[i];
      }
      if (biasData || epilogue)
        for (int64_t row = 0; row < count / s.n; ++row)
          finishRow(total + row * s.n, biasData, s.n, epilogue);
      narrow(s.out, total, buffers[outIndex], first, count);
    });
  }

  MatmulShape s;
  MatmulPlan plan;
  bool hasBias = false;
  int64_t epilogue = 0;
  int64_t threads = 1;
  BufferRef bias;
  uint32_t outIndex = 2;
  std::vector<float> biasRow, emptyRow;
  std::map<std::pair<int64_t, int64_t>, Product> products;
  std::atomic<bool> failed{false};
};

} // namespace

void mpt::rt::finishRow(float *row, const float *bias, int64_t count,
                        int64_t epilogue) {
  if (bias)
    for (int64_t i = 0; i < count; ++i)
      row[i] += bias[i];
  if (epilogue == 1)
    for (int64_t i = 0; i < count; ++i)
      row[i] = row[i] > 0.0f || row[i] != row[i] ? row[i] : 0.0f;
  if (epilogue == 2)
    for (int64_t i = 0; i < count; ++i) {
      float x = row[i];
      row[i] = 0.5f * x *
               (1.0f + std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));
    }
}

std::unique_ptr<Call> mpt::rt::makeMatmul(const Instruction &instruction,
                                          int64_t maxThreads, std::string &error) {
  auto call = std::make_unique<Matmul>();
  call->init(instruction, maxThreads);
  if (!call->prepare()) {
    error = "oneDNN has no product for these shapes";
    return nullptr;
  }
  return call;
}
