//===- Attention.cpp - Attention in blocks of queries and keys ---*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention and its gradient without the matrix of scores (Dao et al. 2022). A block of
/// queries lies with one query in each lane, [width][64]; so do its scores, [key][64].
/// The statistics of the softmax are then sums over rows of vectors, and keys and values
/// are read as they are stored, one number for all lanes. All is f32; operands in half
/// types are widened block by block. The same source is compiled for plain x86-64, AVX2
/// and AVX-512. The last two give the same bits; plain x86-64 lacks fused multiply-adds.
/// Where the CPU multiplies bf16 faster, matrices of bf16 are words of two numbers that
/// lie one after another in a sum (PairMatmul.h), probabilities and gradients of scores
/// are rounded to such words, and sums are f32.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "PairMatmul.h"
#include "Parallel.h"
#include "VectorMath.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/Support/Philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mpt::rt;

namespace {

constexpr int64_t kBlock = AttentionPlan::queryBlock, kKeys = AttentionPlan::keyBlock;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// log(x) within 2 units in the last place, for normal numbers from 1 on; a NaN or
/// infinity stays one.
MPT_INLINE void logarithm(const Vector &x, Vector &result) {
  // x = 2^n (1 + r) with 1 + r between the square roots of 1/2 and 2.
  Integers bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  Integers n = (bits - 0x3f3504f3) >> 23;
  bits = bits - (n << 23);
  Vector r;
  __builtin_memcpy(&r, &bits, sizeof(r));
  r = r - 1.0f;
  const Vector exponent = __builtin_convertvector(n, Vector);
  const Vector square = r * r;
  Vector p = Vector{} + 7.0376836292e-2f;
  p = p * r + -1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r + -1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r + -1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r + -2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;
  p = p * r * square + exponent * -2.12194440e-4f;
  p = p - square * 0.5f;
  p = r + p + exponent * 0.693359375f;
  result = x < kInfinity ? p : x;
}

/// 16 rows of 16 numbers, `fromStep` apart, as columns.
MPT_INLINE void transposeTile(const float *from, int64_t fromStep, float *to,
                              int64_t toStep) {
  Vector a[kLanes], b[kLanes];
  for (int64_t i = 0; i < kLanes; ++i)
    load(from + i * fromStep, a[i]);
  // Each round rotates the bits of (row, column) by one.
  auto shuffle = [](const Vector *in, Vector *out) __attribute__((always_inline)) {
    for (int64_t i = 0; i < kLanes / 2; ++i) {
      out[2 * i] = __builtin_shufflevector(in[i], in[i + 8], 0, 16, 1, 17, 2, 18, 3, 19,
                                           4, 20, 5, 21, 6, 22, 7, 23);
      out[2 * i + 1] = __builtin_shufflevector(in[i], in[i + 8], 8, 24, 9, 25, 10, 26, 11,
                                               27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
  };
  shuffle(a, b);
  shuffle(b, a);
  shuffle(a, b);
  shuffle(b, a);
  for (int64_t i = 0; i < kLanes; ++i)
    store(to + i * toStep, a[i]);
}

/// The matrix from[rows][columns] as to[columns][rows].
MPT_INLINE void transposeInTiles(const float *from, int64_t fromStep, int64_t rows,
                                 int64_t columns, float *to, int64_t toStep) {
  const int64_t wholeRows = rows / kLanes * kLanes,
                wholeColumns = columns / kLanes * kLanes;
  for (int64_t i = 0; i < wholeRows; i += kLanes)
    for (int64_t j = 0; j < wholeColumns; j += kLanes)
      transposeTile(from + i * fromStep + j, fromStep, to + j * toStep + i, toStep);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i < wholeRows ? wholeColumns : 0; j < columns; ++j)
      to[j * toStep + i] = from[i * fromStep + j];
}

//===----------------------------------------------------------------------===//
// Small matmuls
//===----------------------------------------------------------------------===//

template <int rows, int vectors>
MPT_INLINE void multiplyTile(const Left &a, const float *b, int64_t bStep, int64_t length,
                             float *c, int64_t cStep, Begin begin, const float *factors) {
  Vector sums[rows][vectors];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j) {
      if (begin == Begin::Zeros) {
        sums[i][j] = Vector{};
        continue;
      }
      load(c + i * cStep + j * kLanes, sums[i][j]);
      if (begin == Begin::Scaled) {
        Vector factor;
        load(factors + j * kLanes, factor);
        sums[i][j] *= factor;
      }
    }
  const float *left = a.data;
  for (int64_t k = 0; k < length; ++k, left += a.step, b += bStep) {
    Vector right[vectors];
    for (int j = 0; j < vectors; ++j)
      load(b + j * kLanes, right[j]);
    for (int i = 0; i < rows; ++i) {
      const Vector number = Vector{} + left[i * a.row];
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = sums[i][j] + number * right[j];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j)
      store(c + i * cStep + j * kLanes, sums[i][j]);
}

template <int rows, int vectors>
MPT_INLINE void multiplyRows(const Left &a, const Rows &b, int64_t length, const Rows &c,
                             int64_t m, Begin begin, const float *factors) {
  int64_t i = 0;
  auto at = [&](int64_t row) __attribute__((always_inline)) {
    return Left{a.data + row * a.row, a.row, a.step};
  };
  for (; i + rows <= m; i += rows)
    multiplyTile<rows, vectors>(at(i), b.data, b.step, length, c.data + i * c.step,
                                c.step, begin, factors);
  if constexpr (rows > 4)
    for (; i + 4 <= m; i += 4)
      multiplyTile<4, vectors>(at(i), b.data, b.step, length, c.data + i * c.step, c.step,
                               begin, factors);
  if constexpr (rows > 2)
    for (; i + 2 <= m; i += 2)
      multiplyTile<2, vectors>(at(i), b.data, b.step, length, c.data + i * c.step, c.step,
                               begin, factors);
  for (; i < m; ++i)
    multiplyTile<1, vectors>(at(i), b.data, b.step, length, c.data + i * c.step, c.step,
                             begin, factors);
}

/// c = a b for `m` rows and `n` vectors. A tile of `rows` x `vectors` sums stays in
/// registers.
template <int rows, int vectors>
MPT_INLINE void multiplyInTiles(const Left &a, const Rows &b, int64_t length,
                                const Rows &c, int64_t m, int64_t n, Begin begin,
                                const float *factors) {
  auto run = [&](int64_t j, auto count) __attribute__((always_inline)) {
    multiplyRows<rows, count>(a, {b.data + j * kLanes, b.step}, length,
                              {c.data + j * kLanes, c.step}, m, begin,
                              factors ? factors + j * kLanes : nullptr);
  };
  int64_t j = 0;
  for (; j + vectors <= n; j += vectors)
    run(j, std::integral_constant<int, vectors>());
  if constexpr (vectors > 2)
    for (; j + 2 <= n; j += 2)
      run(j, std::integral_constant<int, 2>());
  for (; j < n; ++j)
    run(j, std::integral_constant<int, 1>());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

int64_t roundUp(int64_t size) { return (size + kLanes - 1) / kLanes * kLanes; }

/// A tensor of the call.
struct Operand {
  DataType type = DataType::F32;
  char *data = nullptr;

  bool isWide() const { return type == DataType::F32; }
  float *floats() const { return reinterpret_cast<float *>(data); }
};

/// A tensor that has a size of 1 where it is the same for all scores.
struct PerScore : Operand {
  /// Of [B, H, T, S].
  int64_t strides[4] = {};

  void init(const BufferRef &ref, void *buffer) {
    type = ref.type;
    data = static_cast<char *>(buffer);
    int64_t stride = 1;
    for (int d = 3; d >= 0; --d) {
      strides[d] = ref.dims[d] == 1 ? 0 : stride;
      stride *= ref.dims[d];
    }
  }
  int64_t at(int64_t batch, int64_t head, int64_t query, int64_t key) const {
    return batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3];
  }
};

/// Parts of a thread's workspace, one after another.
struct Allocator {
  float *next;
  float *take(int64_t floats) {
    float *taken = next;
    next += floats;
    return taken;
  }
};

/// The call, as tasks see it.
struct Attention {
  AttentionPlan plan;
  Operand dy, query, key, value, result, dquery, dkey, dvalue, dbias;
  float *lse;
  PerScore mask, bias;
  uint64_t seed = 0, attempt = 0;
  uint32_t threshold = 0;
  /// Of a bias's gradient.
  int64_t biasSizes[4] = {1, 1, 1, 1};
  char *workspace = nullptr;
  float *sums = nullptr;

  /// Whether matmuls are of words of two bf16.
  bool pairs = false;

  Attention(const Instruction &instruction, void **buffers, int threads, bool hasPairs) {
    planAttention(instruction, plan);
    size_t next = 0;
    auto take = [&] {
      Operand operand = {instruction.refs[next].type, static_cast<char *>(buffers[next])};
      ++next;
      return operand;
    };
    auto takePerScore = [&](PerScore &operand) {
      operand.init(instruction.refs[next], buffers[next]);
      ++next;
    };
    if (plan.isGrad)
      dy = take();
    query = take();
    key = take();
    value = take();
    if (plan.isGrad) {
      result = take();
      lse = take().floats();
    }
    if (plan.hasMask)
      takePerScore(mask);
    if (plan.hasBias) {
      std::copy_n(instruction.refs[next].dims.begin(), 4, biasSizes);
      takePerScore(bias);
    }
    if (plan.hasDropout) {
      std::memcpy(&seed, buffers[next], 8);
      std::memcpy(&attempt, buffers[next + 1], 8);
      threshold = mpt::dropoutThreshold(plan.dropout);
      next += 2;
    }
    if (plan.isGrad) {
      dquery = take();
      dkey = take();
      dvalue = take();
      if (plan.hasBiasGrad)
        dbias = take();
    } else {
      result = take();
      lse = take().floats();
    }
    if (plan.workspaceBytes(threads) > 0) {
      workspace = static_cast<char *>(buffers[next]);
      sums = reinterpret_cast<float *>(workspace + threads * plan.threadBytes);
    }
    pairs = hasPairs && isOfPairs();
  }

  /// Whether all matmuls can be of words of two bf16.
  bool isOfPairs() const {
    return query.type == DataType::BF16 && key.type == DataType::BF16 &&
           value.type == DataType::BF16 && (!plan.isGrad || dy.type == DataType::BF16) &&
           plan.width % 2 == 0 && plan.valueWidth % 2 == 0;
  }
  bool hasTile() const { return plan.hasMask || plan.hasBias; }
  int64_t groupSize() const { return plan.heads / plan.groups; }
  /// The keys that the queries before `end` see.
  int64_t keysSeen(int64_t end) const {
    return plan.causal ? end + plan.keys - plan.queries : plan.keys;
  }
};

// Of rows whose log-sum-exp is large. They are few, so this is compiled for any CPU.

bool isImprecise(const float *lse, int64_t count) {
  constexpr float kMostPrecise = 1024;
  return std::any_of(lse, lse + count, [](float number) {
    return number != kInfinity && std::abs(number) > kMostPrecise;
  });
}

/// Adds the powers of scores minus `lse`, with a query in each lane.
__attribute__((noinline)) void addPowers(const float *scores, const float *lse,
                                         int64_t keys, int64_t lanes, float *sums) {
  for (int64_t j = 0; j < lanes * kLanes; j += kLanes) {
    Vector reference, sum, score, power;
    load(lse + j, reference);
    load(sums + j, sum);
    for (int64_t s = 0; s < keys; ++s) {
      load(scores + s * kBlock + j, score);
      exponential(score - reference, power);
      sum += power;
    }
    store(sums + j, sum);
  }
}

void invert(float *sums) {
  for (int64_t i = 0; i < kBlock; ++i)
    sums[i] = sums[i] == 0 ? 1.0f : 1.0f / sums[i];
}

/// One block of queries of a head, and what it needs of the keys.
template <typename Kernels>
struct Block {
  const Attention &call;
  const AttentionPlan &plan;
  float *scores, *gradients = nullptr;
  /// Queries with one a lane, and of the gradient also dy, both as rows, too.
  float *query, *dy = nullptr, *queryRows = nullptr, *dyRows = nullptr;
  /// The result or the gradient of the query, with one query a lane.
  float *sums;
  /// Widened keys and values.
  float *wideKeys, *wideValues;
  /// Numbers of queries: log-sum-exp and dy times the result, or the largest score and
  /// the sum of powers; and factors of one step.
  float *first, *second, *factors;
  /// Of a gradient: `factors` are of probabilities.
  bool hasFactors = false;
  /// What is added to scores, and factors of probabilities.
  float *tile = nullptr, *kept = nullptr, *rowTile = nullptr;

  int64_t batch = 0, head = 0, group = 0, start = 0, count = 0, lanes = 0;
  /// Whether sides of matmuls are words of two bf16. Then queries and dy in lanes are
  /// [width / 2][64], as rows [32][width].
  bool hasPairs() const { return Kernels::hasPairs && pairs; }

  MPT_INLINE Block(const Attention &call, int thread, bool pairs)
      : call(call), plan(call.plan), pairs(pairs) {
    Allocator allocator{reinterpret_cast<float *>(
        call.workspace + static_cast<int64_t>(thread) * plan.threadBytes)};
    const int64_t keys = plan.keyRoom(), queries = plan.queryRoom();
    scores = allocator.take(keys * kBlock);
    first = allocator.take(kBlock);
    second = allocator.take(kBlock);
    factors = allocator.take(kBlock);
    query = allocator.take(kBlock * plan.width);
    wideKeys = allocator.take((plan.isGrad ? keys : plan.rowRoom()) * plan.width);
    wideValues = allocator.take(plan.rowRoom() * plan.valueWidth);
    if (plan.isGrad) {
      gradients = allocator.take(keys * kBlock);
      queryRows = allocator.take(queries * roundUp(plan.width));
      dyRows = allocator.take(queries * roundUp(plan.valueWidth));
      dy = allocator.take(kBlock * plan.valueWidth);
      sums = allocator.take(kBlock * plan.width);
    } else {
      sums = allocator.take(kBlock * plan.valueWidth);
      queryRows = wideKeys;
    }
    if (call.hasTile())
      tile = allocator.take(keys * kBlock);
    if (plan.hasDropout)
      kept = allocator.take(keys * kBlock);
    if (tile || kept)
      rowTile = allocator.take(keys * kBlock);
    if (plan.hasBiasGrad)
      biasSums = allocator.take(keys * kBlock + kBlock);
  }
  float *biasSums = nullptr;

  /// Of queries of a gradient whose log-sum-exp is so large that it has lost the
  /// logarithm of the sum of powers, as beside a bias of -10^9: the inverse of the sum of
  /// what are probabilities elsewhere.
  MPT_INLINE void findFactors() {
    hasFactors = plan.hasBias && isImprecise(first, count);
    if (!hasFactors)
      return;
    std::fill_n(factors, kBlock, 0.0f);
    const int64_t end = call.keysSeen(start + count);
    for (int64_t begin = 0; begin < end; begin += kKeys) {
      const int64_t keys = std::min(kKeys, end - begin);
      Kernels::score(*this, getKeys(begin, keys), begin, keys);
      addPowers(scores, first, keys, lanes, factors);
    }
    invert(factors);
  }
  /// The queries from `begin` on, at most a block.
  MPT_INLINE void enter(int64_t batch, int64_t head, int64_t begin) {
    this->batch = batch;
    this->head = head;
    group = head / call.groupSize();
    start = begin;
    count = std::min(kBlock, plan.queries - begin);
    lanes = (count + kLanes - 1) / kLanes;
    const bool isPadded = plan.isGrad && !hasPairs();
    const int64_t width = plan.width, step = isPadded ? roundUp(width) : width;
    copyRows(call.query, width, queryRows, step);
    // The scaled query is rounded to its type, as the op says.
    const auto scale = static_cast<float>(plan.scale);
    for (int64_t i = 0; i < count * step; ++i)
      queryRows[i] *= scale;
    if (hasPairs()) {
      // Words take half of the room for queries.
      float *words = query + kBlock * width / 2;
      narrow(call.query.type, queryRows, words, 0, count * width);
      putInLanes(words, width / 2, width / 2, query);
      if (plan.isGrad)
        pairRows(words, count, width, queryRows, roundUp(width));
    } else {
      roundTo(call.query.type, queryRows, count * step);
      putInLanes(queryRows, step, width, query);
    }
    if (!plan.isGrad)
      return;
    const int64_t values = plan.valueWidth,
                  valueStep = isPadded ? roundUp(values) : values;
    copyRows(call.dy, values, dyRows, valueStep);
    const float *dyWords = getWords(call.dy, rowOfBlock(), values);
    if (hasPairs())
      putInLanes(dyWords, values / 2, values / 2, dy);
    else
      putInLanes(dyRows, valueStep, values, dy);
    // The keys' values are not in use yet, and have room for a block of queries.
    const float *resultRows =
        getRows(call.result, rowOfBlock(), count, values, wideValues);
    for (int64_t i = 0; i < count; ++i) {
      first[i] = call.lse[rowOfBlock() + i];
      // Such a row sees nothing; e^(s - inf) is 0.
      if (first[i] == -kInfinity)
        first[i] = kInfinity;
      second[i] = sumProducts(dyRows + i * valueStep, resultRows + i * values, values);
    }
    for (int64_t i = count; i < lanes * kLanes; ++i) {
      first[i] = kInfinity;
      second[i] = 0;
    }
    if (hasPairs())
      pairRows(dyWords, count, values, dyRows, roundUp(values));
    findFactors();
  }
  int64_t rowOfBlock() const {
    return (batch * plan.heads + head) * plan.queries + start;
  }

  /// The first row, in the tensors of keys, of those of this head.
  int64_t keyRow(int64_t first) const {
    return (batch * plan.groups + group) * plan.keys + first;
  }
  /// Keys and values as f32, or as words along a row.
  MPT_INLINE const float *getKeys(int64_t begin, int64_t keys) {
    if (hasPairs())
      return getWords(call.key, keyRow(begin), plan.width);
    return getRows(call.key, keyRow(begin), keys, plan.width, wideKeys);
  }
  MPT_INLINE const float *getValues(int64_t begin, int64_t keys) {
    if (hasPairs())
      return getWords(call.value, keyRow(begin), plan.valueWidth);
    return getRows(call.value, keyRow(begin), keys, plan.valueWidth, wideValues);
  }
  /// The same as the left side of a sum over keys: of a matrix [width][keys].
  MPT_INLINE Left getKeyColumns(const float *rows, int64_t keys) {
    return getColumns(rows, keys, plan.width, wideKeys);
  }
  MPT_INLINE Left getValueColumns(const float *rows, int64_t keys) {
    return getColumns(rows, keys, plan.valueWidth, wideValues);
  }
  /// c = a b, with sums of `length` numbers.
  MPT_INLINE void multiply(const Left &a, const Rows &b, int64_t length, const Rows &c,
                           int64_t m, int64_t n, Begin begin,
                           const float *factors = nullptr) const {
    if constexpr (Kernels::hasPairs)
      if (hasPairs())
        return multiplyPairs(a, b, (length + 1) / 2, c, m, n, begin, factors);
    Kernels::multiply(a, b, length, c, m, n, begin, factors);
  }
  /// The step between rows of `width` numbers as they are read from memory.
  int64_t getStep(int64_t width) const { return hasPairs() ? width / 2 : width; }

  /// The scores of these keys, hidden ones -inf.
  MPT_INLINE void score(const float *keyRows, int64_t begin, int64_t keys) {
    multiply({keyRows, getStep(plan.width), 1}, {query, kBlock}, plan.width,
             {scores, kBlock}, keys, lanes, Begin::Zeros);
    if (tile)
      addTile(begin, keys);
    // The last key that query i sees is i + start + keys - queries.
    const int64_t hiddenFrom = start + plan.keys - plan.queries + 1;
    if (plan.causal && begin + keys > hiddenFrom) {
      Integers lane;
      for (int i = 0; i < kLanes; ++i)
        lane[i] = i;
      for (int64_t s = std::max<int64_t>(hiddenFrom - begin, 0); s < keys; ++s)
        for (int64_t j = 0; j < lanes; ++j) {
          const auto seenFrom =
              static_cast<int32_t>(begin + s - hiddenFrom + 1 - j * kLanes);
          Vector value;
          load(scores + s * kBlock + j * kLanes, value);
          store(scores + s * kBlock + j * kLanes,
                lane >= seenFrom ? value : Vector{} - kInfinity);
        }
    }
    if (kept)
      drawKept(begin, keys);
  }

private:
  bool pairs;

  /// Rows of a tensor of bf16 as words.
  static const float *getWords(const Operand &operand, int64_t row, int64_t width) {
    return reinterpret_cast<const float *>(operand.data + row * width * 2);
  }
  MPT_INLINE Left getColumns(const float *rows, int64_t keys, int64_t width,
                             float *words) {
    if (!hasPairs())
      return {rows, 1, width};
    pairRows(rows, keys, width, words, width);
    return {words, 1, width};
  }
  /// Two rows each as one of words; beyond the last row and column are zeros.
  MPT_INLINE static void pairRows(const float *from, int64_t rows, int64_t width,
                                  float *to, int64_t step) {
    Kernels::pairRows(reinterpret_cast<const uint16_t *>(from), rows, width,
                      reinterpret_cast<uint32_t *>(to), step);
  }
  /// Rows of a tensor as f32.
  MPT_INLINE static const float *getRows(const Operand &operand, int64_t row,
                                         int64_t count, int64_t width, float *wide) {
    if (operand.isWide())
      return operand.floats() + row * width;
    widen(operand.type, operand.data, row * width, wide, count * width);
    return wide;
  }
  /// The rows of this block as f32, `step` apart, with zeros after each.
  MPT_INLINE void copyRows(const Operand &operand, int64_t width, float *to,
                           int64_t step) {
    const int64_t first = rowOfBlock() * width;
    if (step == width)
      return widen(operand.type, operand.data, first, to, count * width);
    for (int64_t i = 0; i < count; ++i) {
      widen(operand.type, operand.data, first + i * width, to + i * step, width);
      std::fill(to + i * step + width, to + (i + 1) * step, 0.0f);
    }
  }
  MPT_INLINE static void roundTo(DataType type, float *numbers, int64_t count) {
    if (type == DataType::F32)
      return;
    uint16_t halves[kLanes * 16];
    for (int64_t i = 0; i < count; i += kLanes * 16) {
      const int64_t some = std::min(kLanes * 16, count - i);
      narrow(type, numbers + i, halves, 0, some);
      widen(type, halves, 0, numbers + i, some);
    }
  }
  MPT_INLINE static float sumProducts(const float *a, const float *b, int64_t count) {
    Vector sum = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      Vector left, right;
      load(a + i, left);
      load(b + i, right);
      sum = sum + left * right;
    }
    float total = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      total += sum[lane];
    for (; i < count; ++i)
      total += a[i] * b[i];
    return total;
  }
  /// Rows of queries with one in each lane, zeros in the lanes that are left.
  MPT_INLINE void putInLanes(const float *from, int64_t step, int64_t width, float *to) {
    Kernels::transpose(from, step, count, width, to, kBlock);
    for (int64_t d = 0; count % kLanes != 0 && d < width; ++d)
      std::fill(to + d * kBlock + count, to + d * kBlock + lanes * kLanes, 0.0f);
  }

  MPT_INLINE void addTile(int64_t begin, int64_t keys) {
    // One row for all queries, or one for each.
    const bool isShared = (!plan.hasMask || call.mask.strides[2] == 0) &&
                          (!plan.hasBias || call.bias.strides[2] == 0);
    const int64_t tileRows = isShared ? 1 : count;
    for (int64_t i = 0; i < tileRows; ++i) {
      float *row = rowTile + i * plan.keyRoom();
      if (!plan.hasBias)
        std::fill_n(row, keys, 0.0f);
      else if (call.bias.strides[3] != 0)
        widen(call.bias.type, call.bias.data, call.bias.at(batch, head, start + i, begin),
              row, keys);
      else
        std::fill_n(row, keys,
                    toF32(call.bias.type, call.bias.data,
                          call.bias.at(batch, head, start + i, 0)));
      if (plan.hasMask) {
        const char *seen = call.mask.data + call.mask.at(batch, head, start + i, begin);
        const int64_t step = call.mask.strides[3];
        for (int64_t s = 0; s < keys; ++s)
          row[s] = seen[s * step] ? row[s] : -kInfinity;
      }
    }
    if (!isShared)
      putInLanes(rowTile, plan.keyRoom(), keys, tile);
    for (int64_t s = 0; s < keys; ++s)
      for (int64_t j = 0; j < lanes; ++j) {
        float *at = scores + s * kBlock + j * kLanes;
        Vector value, added = Vector{} + rowTile[s];
        load(at, value);
        if (!isShared)
          load(tile + s * kBlock + j * kLanes, added);
        store(at, added == -kInfinity ? added : value + added);
      }
  }

  /// The factors by which dropout multiplies probabilities.
  MPT_INLINE void drawKept(int64_t begin, int64_t keys) {
    const auto factor = static_cast<float>(1.0 / (1.0 - plan.dropout));
    uint32_t words[4 * (kKeys / 4 + 1)];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t element = (rowOfBlock() + i) * plan.keys + begin;
      const int64_t firstBlock = element / 4;
      drawWords(firstBlock, (element + keys - 1) / 4 - firstBlock + 1, words);
      const uint32_t *mine = words + element % 4;
      for (int64_t s = 0; s < keys; ++s)
        rowTile[i * plan.keyRoom() + s] = mine[s] >= call.threshold ? factor : 0.0f;
    }
    putInLanes(rowTile, plan.keyRoom(), keys, kept);
  }
  MPT_INLINE void drawWords(int64_t firstBlock, int64_t blocks, uint32_t *words) {
    for (int64_t b = 0; b < blocks; b += kLanes) {
      // Sixteen blocks side by side cost as much as a few one by one.
      uint32_t lanes[4][kLanes];
      const auto first = static_cast<uint64_t>(firstBlock + b);
      const int64_t some = std::min(kLanes, blocks - b);
      if (some > 2)
        mpt::philoxBlocks(call.seed, static_cast<uint32_t>(plan.stream), call.attempt,
                          first, lanes);
      for (int64_t i = 0; i < some; ++i) {
        if (some <= 2) {
          const std::array<uint32_t, 4> four = mpt::philoxBlock(
              call.seed, static_cast<uint32_t>(plan.stream), call.attempt, first + i);
          std::copy(four.begin(), four.end(), words + 4 * (b + i));
          continue;
        }
        for (int w = 0; w < 4; ++w)
          words[4 * (b + i) + w] = lanes[w][i];
      }
    }
  }
};

/// Forward: a block of queries of a head.
template <typename Kernels>
MPT_INLINE void runForward(const Attention &call, int64_t task, int thread) {
  const AttentionPlan &plan = call.plan;
  Block<Kernels> block(call, thread, call.pairs);
  const int64_t blocks = plan.queryBlocks(), head = task / blocks;
  Kernels::enter(block, head / plan.heads, head % plan.heads, task % blocks * kBlock);
  const int64_t lanes = block.lanes, width = plan.valueWidth;
  const float lowest = std::numeric_limits<float>::lowest();
  std::fill_n(block.first, kBlock, lowest);
  std::fill_n(block.second, kBlock, 0.0f);
  std::fill_n(block.sums, kBlock * width, 0.0f);
  const int64_t end = call.keysSeen(block.start + block.count);
  for (int64_t begin = 0; begin < end; begin += kKeys) {
    const int64_t keys = std::min(kKeys, end - begin);
    Kernels::score(block, block.getKeys(begin, keys), begin, keys);
    for (int64_t j = 0; j < lanes; ++j) {
      float *scores = block.scores + j * kLanes;
      // A row of which nothing is seen yet has the lowest finite number.
      Vector before, largest, sum, factor;
      load(block.first + j * kLanes, before);
      load(block.second + j * kLanes, sum);
      largest = before;
      for (int64_t s = 0; s < keys; ++s) {
        Vector score;
        load(scores + s * kBlock, score);
        largest = score > largest ? score : largest;
      }
      exponential(before - largest, factor);
      sum *= factor;
      auto getPower = [&](int64_t s, Vector &power) __attribute__((always_inline)) {
        Vector score;
        load(scores + s * kBlock, score);
        exponential(score - largest, power);
        sum += power;
        if (block.kept) {
          Vector kept;
          load(block.kept + s * kBlock + j * kLanes, kept);
          power *= kept;
        }
      };
      if (block.hasPairs())
        for (int64_t s = 0; s < keys; s += 2) {
          Vector even, odd = {};
          getPower(s, even);
          if (s + 1 < keys)
            getPower(s + 1, odd);
          // Row s / 2 has been read.
          storePairs(scores + s / 2 * kBlock, even, odd);
        }
      else
        for (int64_t s = 0; s < keys; ++s) {
          Vector power;
          getPower(s, power);
          store(scores + s * kBlock, power);
        }
      store(block.first + j * kLanes, largest);
      store(block.second + j * kLanes, sum);
      store(block.factors + j * kLanes, factor);
    }
    block.multiply(block.getValueColumns(block.getValues(begin, keys), keys),
                   {block.scores, kBlock}, keys, {block.sums, kBlock}, width, lanes,
                   Begin::Scaled, block.factors);
  }
  for (int64_t j = 0; j < lanes; ++j) {
    Vector sum, largest, lse;
    load(block.second + j * kLanes, sum);
    load(block.first + j * kLanes, largest);
    logarithm(sum, lse);
    // A row that saw nothing has a sum of 0, and its result is 0.
    lse = sum == 0.0f ? Vector{} - kInfinity : lse + largest;
    const Vector factor = 1.0f / (sum == 0.0f ? Vector{} + 1.0f : sum);
    store(block.first + j * kLanes, lse);
    for (int64_t e = 0; e < width; ++e) {
      Vector result;
      load(block.sums + e * kBlock + j * kLanes, result);
      store(block.sums + e * kBlock + j * kLanes, result * factor);
    }
  }
  std::copy_n(block.first, block.count, call.lse + block.rowOfBlock());
  const int64_t at = block.rowOfBlock() * width;
  if (call.result.isWide())
    return Kernels::transpose(block.sums, kBlock, width, block.count,
                              call.result.floats() + at, width);
  // The values are not read any more, and have room for a block of queries.
  float *wide = block.wideValues;
  Kernels::transpose(block.sums, kBlock, width, block.count, wide, width);
  narrow(call.result.type, wide, call.result.data, at, block.count * width);
}

/// Scores of a block of keys become the probabilities that the values were multiplied
/// by, and `gradients` those of the scores. As words, those of two queries, both are in
/// `scores`, 32 words of probabilities and 32 of gradients in a row; `gradients` has
/// those of two keys.
template <typename Kernels>
MPT_INLINE void makeGradients(Block<Kernels> &block, const float *keyRows,
                              const float *valueRows, int64_t begin, int64_t keys) {
  const AttentionPlan &plan = block.plan;
  Kernels::score(block, keyRows, begin, keys);
  block.multiply({valueRows, block.getStep(plan.valueWidth), 1}, {block.dy, kBlock},
                 plan.valueWidth, {block.gradients, kBlock}, keys, block.lanes,
                 Begin::Zeros);
  // The probability by which a value was multiplied, and the gradient of a score.
  auto differentiate = [&](int64_t s, int64_t j, Vector &used, Vector &gradient)
                           __attribute__((always_inline)) {
                             const int64_t at = s * kBlock + j * kLanes;
                             Vector lse, dot, score, probability;
                             load(block.first + j * kLanes, lse);
                             load(block.second + j * kLanes, dot);
                             load(block.scores + at, score);
                             load(block.gradients + at, gradient);
                             exponential(score - lse, probability);
                             if (block.hasFactors) {
                               Vector factor;
                               load(block.factors + j * kLanes, factor);
                               probability *= factor;
                             }
                             used = probability;
                             if (block.kept) {
                               Vector kept;
                               load(block.kept + at, kept);
                               used *= kept;
                               gradient = kept == 0.0f ? Vector{} : gradient * kept;
                             }
                             gradient = probability * (gradient - dot);
                           };
  if (block.hasPairs()) {
    for (int64_t s = 0; s < keys; s += 2) {
      const int64_t rows = std::min<int64_t>(2, keys - s);
      alignas(64) uint16_t halves[2][2 * kBlock];
      for (int64_t j = 0; j < block.lanes; ++j) {
        Vector used, gradients[2] = {};
#pragma clang loop unroll(disable)
        for (int64_t i = 0; i < rows; ++i) {
          differentiate(s + i, j, used, gradients[i]);
          storeHalves(halves[i] + j * kLanes, used);
          storeHalves(halves[i] + kBlock + j * kLanes, gradients[i]);
        }
        storePairs(block.gradients + s / 2 * kBlock + j * kLanes, gradients[0],
                   gradients[1]);
      }
      for (int64_t i = 0; i < rows; ++i)
        __builtin_memcpy(block.scores + (s + i) * kBlock, halves[i], sizeof(halves[i]));
    }
    return;
  }
  for (int64_t j = 0; j < block.lanes; ++j)
    for (int64_t s = 0; s < keys; ++s) {
      Vector used, gradient;
      differentiate(s, j, used, gradient);
      store(block.scores + s * kBlock + j * kLanes, used);
      store(block.gradients + s * kBlock + j * kLanes, gradient);
    }
}

/// Gradients: a head of keys, or a part of the blocks of queries that read it. The sums
/// of keys and values are at `dkey` and `dvalue`, rows of whole vectors.
template <typename Kernels>
MPT_INLINE void runBackward(const Attention &call, int64_t task, int thread) {
  const AttentionPlan &plan = call.plan;
  const int64_t groupOfKeys = task / plan.parts, part = task % plan.parts;
  const int64_t width = roundUp(plan.width), valueWidth = roundUp(plan.valueWidth);
  float *dkey, *dvalue;
  if (plan.copiesSums) {
    dkey = call.sums + (plan.parts > 1 ? task : thread) * plan.sumFloats;
    dvalue = dkey + plan.keys * width;
  } else {
    dkey = call.dkey.floats() + groupOfKeys * plan.keys * width;
    dvalue = call.dvalue.floats() + groupOfKeys * plan.keys * valueWidth;
  }
  std::fill_n(dkey, plan.keys * width, 0.0f);
  std::fill_n(dvalue, plan.keys * valueWidth, 0.0f);
  Block<Kernels> block(call, thread, call.pairs);
  const int64_t blocks = plan.queryBlocks(), groupSize = call.groupSize();
  const int64_t batch = groupOfKeys / plan.groups,
                firstHead = groupOfKeys % plan.groups * groupSize;
  for (int64_t index = part; index < groupSize * blocks; index += plan.parts) {
    Kernels::enter(block, batch, firstHead + index / blocks, index % blocks * kBlock);
    std::fill_n(block.sums, kBlock * plan.width, 0.0f);
    const int64_t end = call.keysSeen(block.start + block.count);
    for (int64_t begin = 0; begin < end; begin += kKeys) {
      const int64_t keys = std::min(kKeys, end - begin);
      const float *keyRows = block.getKeys(begin, keys);
      Kernels::makeGradients(block, keyRows, block.getValues(begin, keys), begin, keys);
      block.multiply({block.scores, kBlock, 1}, {block.dyRows, valueWidth}, block.count,
                     {dvalue + begin * valueWidth, valueWidth}, keys, valueWidth / kLanes,
                     Begin::Itself);
      const float *gradients =
          block.hasPairs() ? block.scores + kBlock / 2 : block.gradients;
      block.multiply({gradients, kBlock, 1}, {block.queryRows, width}, block.count,
                     {dkey + begin * width, width}, keys, width / kLanes, Begin::Itself);
      block.multiply(block.getKeyColumns(keyRows, keys), {block.gradients, kBlock}, keys,
                     {block.sums, kBlock}, plan.width, block.lanes, Begin::Itself);
    }
    const auto scale = static_cast<float>(plan.scale);
    float *wide = block.query;
    Kernels::transpose(block.sums, kBlock, plan.width, block.count, wide, plan.width);
    for (int64_t i = 0; i < block.count * plan.width; ++i)
      wide[i] *= scale;
    narrow(call.dquery.type, wide, call.dquery.data, block.rowOfBlock() * plan.width,
           block.count * plan.width);
  }
}

/// The sums of `parts` parts, `step` floats apart, in order, as rows of the result.
void writeSums(const float *sums, int64_t parts, int64_t step, int64_t rows,
               int64_t rowStep, int64_t width, const Operand &result, int64_t row) {
  const int64_t at = row * width;
  // Rows without gaps are one.
  if (rowStep == width) {
    rowStep = width *= rows;
    rows = 1;
  }
  float piece[4 * kLanes];
  for (int64_t i = 0; i < rows; ++i) {
    if (parts == 1) {
      narrow(result.type, sums + i * rowStep, result.data, at + i * width, width);
      continue;
    }
    for (int64_t j = 0; j < width; j += 4 * kLanes) {
      const int64_t count = std::min(4 * kLanes, width - j);
      const float *from = sums + i * rowStep + j;
      std::copy_n(from, count, piece);
      for (int64_t p = 1; p < parts; ++p)
        for (int64_t e = 0; e < count; ++e)
          piece[e] += from[p * step + e];
      narrow(result.type, piece, result.data, at + i * width + j, count);
    }
  }
}

/// The rows of the gradients of keys and values of one head of keys from `begin` on.
void writeKeyGradients(const Attention &call, int64_t group, const float *sums,
                       int64_t begin, int64_t count) {
  const AttentionPlan &plan = call.plan;
  const int64_t width = roundUp(plan.width), valueWidth = roundUp(plan.valueWidth);
  const int64_t row = group * plan.keys + begin;
  writeSums(sums + begin * width, plan.parts, plan.sumFloats, count, width, plan.width,
            call.dkey, row);
  writeSums(sums + plan.keys * width + begin * valueWidth, plan.parts, plan.sumFloats,
            count, valueWidth, plan.valueWidth, call.dvalue, row);
}

/// The gradient of the bias: a task has the blocks of queries that share rows of it, for
/// each batch entry and head that share it, too.
template <typename Kernels>
MPT_INLINE void runBiasGradient(const Attention &call, int64_t task, int thread) {
  const AttentionPlan &plan = call.plan;
  const int64_t *sizes = call.biasSizes;
  const bool sumsQueries = sizes[2] == 1, sumsKeys = sizes[3] == 1;
  const int64_t blocks = plan.queryBlocks();
  const int64_t biasBlocks = sumsQueries ? 1 : blocks;
  const int64_t place = task / biasBlocks, biasBlock = task % biasBlocks;
  auto getRange = [](int64_t size, int64_t index, int64_t all) {
    return size == 1 ? std::pair<int64_t, int64_t>(0, all)
                     : std::pair<int64_t, int64_t>(index, index + 1);
  };
  const auto batches = getRange(sizes[0], place / sizes[1], plan.batch);
  const auto heads = getRange(sizes[1], place % sizes[1], plan.heads);
  const auto queries = getRange(sumsQueries ? 1 : 2, biasBlock, blocks);
  Block<Kernels> block(call, thread, /*pairs=*/false);
  float *sums = block.biasSums, *rowSums = sums + plan.keyRoom() * kBlock;
  std::fill_n(rowSums, kBlock, 0.0f);
  auto write = [&](int64_t query, int64_t key, const float *from, int64_t count) {
    narrow(call.dbias.type, from, call.dbias.data,
           (place * sizes[2] + query) * sizes[3] + key, count);
  };
  const int64_t first = biasBlock * kBlock;
  const int64_t count = std::min(kBlock, plan.queries - first);
  for (int64_t begin = 0; begin < plan.keys; begin += kKeys) {
    const int64_t keys = std::min(kKeys, plan.keys - begin);
    std::fill_n(sums, keys * kBlock, 0.0f);
    for (int64_t batch = batches.first; batch < batches.second; ++batch)
      for (int64_t head = heads.first; head < heads.second; ++head)
        for (int64_t i = queries.first; i < queries.second; ++i) {
          if (begin >= call.keysSeen(std::min((i + 1) * kBlock, plan.queries)))
            continue;
          Kernels::enter(block, batch, head, i * kBlock);
          const float *keyRows = block.getKeys(begin, keys);
          Kernels::makeGradients(block, keyRows, block.getValues(begin, keys), begin,
                                 keys);
          for (int64_t s = 0; s < keys; ++s)
            for (int64_t j = 0; j < block.lanes * kLanes; ++j)
              sums[s * kBlock + j] += block.gradients[s * kBlock + j];
        }
    if (sumsKeys) {
      for (int64_t s = 0; s < keys; ++s)
        for (int64_t j = 0; j < kBlock; ++j)
          rowSums[j] += sums[s * kBlock + j];
    } else if (sumsQueries) {
      for (int64_t s = 0; s < keys; ++s) {
        float total = 0;
        for (int64_t j = 0; j < kBlock; ++j)
          total += sums[s * kBlock + j];
        block.scores[s] = total;
      }
      write(0, begin, block.scores, keys);
    } else {
      Kernels::transpose(sums, kBlock, keys, count, block.scores, keys);
      for (int64_t i = 0; i < count; ++i)
        write(first + i, begin, block.scores + i * keys, keys);
    }
  }
  if (!sumsKeys)
    return;
  if (sumsQueries) {
    float total = 0;
    for (int64_t j = 0; j < kBlock; ++j)
      total += rowSums[j];
    return write(0, 0, &total, 1);
  }
  for (int64_t i = 0; i < count; ++i)
    write(first + i, 0, rowSums + i, 1);
}

//===----------------------------------------------------------------------===//
// Which code runs
//===----------------------------------------------------------------------===//

using TaskFn = void (*)(const Attention &, int64_t, int);
/// The forward pass, the gradient, and that of the bias.
struct Tasks {
  TaskFn forward, backward, biasGradient;
};

/// What is called from several places is compiled once for each set of instructions.
#define MPT_TASKS(name, rows, vectors, usesPairs, ...)                                   \
  struct Kernels##name {                                                                 \
    static constexpr bool hasPairs = usesPairs;                                          \
    __VA_ARGS__ __attribute__((noinline)) static void                                    \
    pairRows(const uint16_t *from, int64_t count, int64_t width, uint32_t *to,           \
             int64_t step) {                                                             \
      if constexpr (usesPairs)                                                           \
        interleaveRows(from, count, width, to, step);                                    \
    }                                                                                    \
    __VA_ARGS__ __attribute__((noinline)) static void                                    \
    multiply(const Left &a, const Rows &b, int64_t length, const Rows &c, int64_t m,     \
             int64_t n, Begin begin, const float *factors = nullptr) {                   \
      multiplyInTiles<rows, vectors>(a, b, length, c, m, n, begin, factors);             \
    }                                                                                    \
    __VA_ARGS__ __attribute__((noinline)) static void                                    \
    transpose(const float *from, int64_t fromStep, int64_t rowCount, int64_t columns,    \
              float *to, int64_t toStep) {                                               \
      transposeInTiles(from, fromStep, rowCount, columns, to, toStep);                   \
    }                                                                                    \
    using BlockOfQueries = Block<Kernels##name>;                                         \
    __VA_ARGS__ __attribute__((noinline)) static void                                    \
    enter(BlockOfQueries &block, int64_t batch, int64_t head, int64_t begin) {           \
      block.enter(batch, head, begin);                                                   \
    }                                                                                    \
    __VA_ARGS__ __attribute__((noinline)) static void                                    \
    score(BlockOfQueries &block, const float *keyRows, int64_t begin, int64_t keys) {    \
      block.score(keyRows, begin, keys);                                                 \
    }                                                                                    \
    __VA_ARGS__ __attribute__((noinline)) static void                                    \
    makeGradients(BlockOfQueries &block, const float *keyRows, const float *valueRows,   \
                  int64_t begin, int64_t keys) {                                         \
      ::makeGradients(block, keyRows, valueRows, begin, keys);                           \
    }                                                                                    \
  };                                                                                     \
  __VA_ARGS__ void forward##name(const Attention &call, int64_t task, int thread) {      \
    runForward<Kernels##name>(call, task, thread);                                       \
  }                                                                                      \
  __VA_ARGS__ void backward##name(const Attention &call, int64_t task, int thread) {     \
    runBackward<Kernels##name>(call, task, thread);                                      \
  }                                                                                      \
  __VA_ARGS__ void biasGradient##name(const Attention &call, int64_t task, int thread) { \
    runBiasGradient<Kernels##name>(call, task, thread);                                  \
  }                                                                                      \
  constexpr Tasks tasks##name = {forward##name, backward##name, biasGradient##name};

// Tiles of sums take about 24 of 32 registers, or 12 of 16 with AVX2.
#if defined(__x86_64__)
// For processors before AVX2, as small code.
MPT_TASKS(Plain, 2, 1, false, __attribute__((cold)))
MPT_TASKS(AVX2, 6, 1, false, __attribute__((target("avx2,f16c,fma"))))
MPT_TASKS(AVX512, 6, 4, true,
          __attribute__((target("avx2,f16c,fma,avx512f,avx512bw,avx512dq,avx512vl"))))
#else
MPT_TASKS(Plain, 2, 1, false)
#endif
#undef MPT_TASKS

const Tasks &getTasks(VectorSet set) {
#if defined(__x86_64__)
  static const bool multipliesAndAdds = __builtin_cpu_supports("fma");
  if (set == VectorSet::AVX512)
    return tasksAVX512;
  if (set == VectorSet::AVX2 && multipliesAndAdds)
    return tasksAVX2;
#endif
  return tasksPlain;
}

} // namespace

void mpt::rt::runAttention(const Instruction &instruction, void **buffers,
                           ThreadTeam &team, VectorSet set, bool pairs) {
  const Attention call(instruction, buffers, team.size(),
                       pairs && set == VectorSet::AVX512 && hasPairMatmul());
  const AttentionPlan &plan = call.plan;
  const Tasks &tasks = getTasks(set);
  if (plan.batch == 0 || plan.heads == 0)
    return;
  if (!plan.isGrad) {
    parallelFor(plan.batch * plan.heads * plan.queryBlocks(), team,
                [&](int64_t task, int thread) { tasks.forward(call, task, thread); });
    return;
  }
  const int64_t groups = plan.batch * plan.groups;
  parallelFor(groups * plan.parts, team, [&](int64_t task, int thread) {
    tasks.backward(call, task, thread);
    if (plan.copiesSums && plan.parts == 1)
      writeKeyGradients(call, task, call.sums + thread * plan.sumFloats, 0, plan.keys);
  });
  if (plan.parts > 1) {
    const int64_t pieces = (plan.keys + kKeys - 1) / kKeys;
    parallelFor(groups * pieces, team, [&](int64_t task, int) {
      const int64_t group = task / pieces, begin = task % pieces * kKeys;
      writeKeyGradients(call, group, call.sums + group * plan.parts * plan.sumFloats,
                        begin, std::min(kKeys, plan.keys - begin));
    });
  }
  if (!plan.hasBiasGrad)
    return;
  const int64_t places = call.biasSizes[0] * call.biasSizes[1];
  parallelFor(places * (call.biasSizes[2] == 1 ? 1 : plan.queryBlocks()), team,
              [&](int64_t task, int thread) { tasks.biasGradient(call, task, thread); });
}
