//===- MatmulTest.cpp - Matmuls against sums in double ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulPanels.h"
#include "OneDnn.h"
#include "TestHelpers.h"

using namespace mpt::rt;

namespace {

constexpr DataType F64 = DataType::F64, F32 = DataType::F32, F16 = DataType::F16,
                   BF16 = DataType::BF16, E4M3 = DataType::F8E4M3FN,
                   E5M2 = DataType::F8E5M2;

struct Problem {
  int64_t batch, m, n, k;
  DataType lhs, rhs, out;
  bool transposeLhs = false, transposeRhs = false, sharedRhs = false;
  int epilogue = 0;
  bool bias = false;
  bool fastBF16 = hasFastBF16();
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

void check(const Problem &p, bool byLibrary) {
  auto matrix = [&](int64_t rows, int64_t columns, bool transposed, bool shared) {
    std::vector<int64_t> dims = {rows, columns};
    if (transposed)
      std::swap(dims[0], dims[1]);
    if (p.batch > 1 && !shared)
      dims.insert(dims.begin(), p.batch);
    return dims;
  };
  Tensor lhs = randomTensor(p.lhs, matrix(p.m, p.k, p.transposeLhs, false), 1);
  Tensor rhs = randomTensor(p.rhs, matrix(p.k, p.n, p.transposeRhs, p.sharedRhs), 2);
  Tensor bias = randomTensor(p.out, {p.n}, 3, -2, 2);
  Tensor out(p.out, matrix(p.m, p.n, false, false));
  std::vector<const Tensor *> inputs = {&lhs, &rhs};
  if (p.bias)
    inputs.push_back(&bias);
  ASSERT_EQ(runCall(matmul(p.transposeLhs, p.transposeRhs, p.bias,
                           static_cast<Epilogue>(p.epilogue)),
                    inputs, out, p.fastBF16, byLibrary),
            "");
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = p.bias ? bias[j] : 0, size = std::fabs(sum);
        for (int64_t l = 0; l < p.k; ++l) {
          int64_t left = b * p.m * p.k + (p.transposeLhs ? l * p.m + i : i * p.k + l);
          int64_t right = (p.sharedRhs ? 0 : b * p.k * p.n) +
                          (p.transposeRhs ? j * p.k + l : l * p.n + j);
          double product = lhs[left] * rhs[right];
          sum += product;
          size += std::fabs(product);
        }
        // k products summed in f32 and the bias added: k + 1 roundings a term.
        double bound = gammaOf(p.k + 1) * size, expected = sum;
        if (p.epilogue == 1)
          expected = std::max(sum, 0.0); // Lipschitz with 1
        if (p.epilogue == 2) {
          // Lipschitz with 1.13; some ten roundings of its own.
          expected = gelu(sum);
          bound = 1.13 * bound + gammaOf(12) * std::fabs(sum);
        }
        bound += roundingError(p.out, std::fabs(expected) + bound);
        ASSERT_NEAR(out[(b * p.m + i) * p.n + j], expected, bound)
            << b << " " << i << " " << j;
      }
}

void check(const Problem &p) {
  check(p, /*byLibrary=*/false);
  // Small ones have code of their own on some CPUs.
  if (p.m * p.n * p.k <= 1 << 22)
    check(p, /*byLibrary=*/true);
}

TEST(MatmulTest, Shapes) {
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true})
      for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                             {5, 7, 3},
                             {64, 48, 32},
                             {1, 130, 65},
                             {130, 1, 65},
                             {600, 10, 9},
                             {513, 33, 150}})
        check({1, m, n, k, F32, F32, F32, transposeLhs, transposeRhs});
}

TEST(MatmulTest, SmallShapes) {
  // Rows beyond a tile of 4 or 8, columns of 1 to 4 vectors with a tail, odd sums,
  // several tasks, panels that are full, several panels, and columns that fit none.
  const int64_t sizes[][3] = {{1, 1, 1},
                              {3, 16, 2},
                              {7, 17, 31},
                              {8, 48, 33},
                              {21, 49, 64},
                              {100, 64, 17},
                              {9, 100, 65},
                              {130, 33, 70},
                              {64, 64, 128},
                              {5, 8, 1023},
                              {60, 130, 65},
                              {2, 600, 3},
                              {1500, 33, 65},
                              {2000, 16, 1},
                              {16, 192, 64},
                              {37, 200, 65},
                              {9, 130, 129},
                              {5, 70, 250},
                              {3, 40, 500},
                              // Sums in parts, of words that a row ends in, too.
                              {65, 32, 1152},
                              {33, 48, 700},
                              {64, 80, 301},
                              {300, 300, 50},
                              {512, 96, 64},
                              {200, 128, 130}};
  for (auto [m, n, k] : sizes)
    for (auto [type, out] : {std::pair{F32, F32}, {BF16, BF16}, {BF16, F32}, {F16, F16}})
      for (int layout = 0; layout < 4; ++layout)
        check({1, m, n, k, type, type, out, layout % 2 != 0, layout / 2 != 0});
  for (DataType type : {F32, BF16, F16}) {
    check({3, 20, 18, 5, type, type, type, false, true, /*sharedRhs=*/true, 1, true});
    // A bias alone is added, and f16 made, where sums are; of sums in parts after that.
    for (int epilogue = 0; epilogue < 3; ++epilogue) {
      for (int64_t k : {64, 301})
        check({1, 21, 83, k, type, type, type, false, false, false, epilogue, true});
      // Several tasks of columns, of rows in several steps, with sums of parts beside
      // the result; and more columns than sums have room for.
      check({1, 137, 150, 300, type, type, type, false, true, false, epilogue, true});
      check({1, 20, 1040, 7, type, type, type, false, false, false, epilogue, true});
    }
  }
}

/// The instruction that rounds to bf16 takes subnormal numbers for zero, which results
/// are not: here they are a bias.
TEST(MatmulTest, SubnormalSums) {
  for (int64_t columns : {5, 40, 64}) {
    Tensor lhs(BF16, {9, 4}), rhs(BF16, {4, columns}), bias(BF16, {columns}),
        out(BF16, {9, columns});
    for (Tensor *side : {&lhs, &rhs})
      for (int64_t i = 0; i < side->count(); ++i)
        side->set(i, 0);
    for (int64_t j = 0; j < columns; ++j)
      bias.set(j, std::ldexp(j % 3 - 1, -130));
    ASSERT_EQ(runCall(matmul(false, false, /*bias=*/true), {&lhs, &rhs, &bias}, out), "");
    for (int64_t i = 0; i < 9 * columns; ++i)
      EXPECT_EQ(out[i], std::ldexp(i % columns % 3 - 1, -130)) << i;
  }
}

/// ... also where each lane has a matrix, whose arithmetic is f32.
TEST(MatmulTest, SubnormalSumsOfTinyBatches) {
  Tensor lhs(BF16, {17, 3, 1}), rhs(BF16, {17, 1, 7}), out(BF16, {17, 3, 7});
  for (int64_t i = 0; i < lhs.count(); ++i)
    lhs.set(i, std::ldexp(i % 3 - 1, -70));
  for (int64_t i = 0; i < rhs.count(); ++i)
    rhs.set(i, std::ldexp(1, i % 2 ? -60 : -10));
  ASSERT_EQ(runCall(matmul(), {&lhs, &rhs}, out), "");
  for (int64_t i = 0; i < out.count(); ++i)
    EXPECT_EQ(out[i], lhs[i / 7] * rhs[i / 21 * 7 + i % 7]) << i;
}

/// Weight gradients and matmuls of many columns take that way up to larger sizes, and so
/// do halves, most of all weight gradients whose sides a library would not pack for
/// square tasks. Of those whose sums are cut into tasks few halves, which a library would
/// widen few terms at a time; not f32 that would only be transposed.
bool isSmall(DataType type, int64_t m, int64_t n, int64_t k, bool transposeLhs,
             bool transposeRhs = false) {
  Tensor lhs(type, transposeLhs ? std::vector<int64_t>{k, m} : std::vector{m, k}),
      rhs(type, transposeRhs ? std::vector<int64_t>{n, k} : std::vector{k, n}),
      out(F32, {m, n});
  return makeSmallMatmul(makeInstruction(matmul(transposeLhs, transposeRhs),
                                         {lhs.ref, rhs.ref}, out.ref),
                         hasFastBF16()) != nullptr;
}
TEST(MatmulTest, WhatIsSmall) {
  if (getVectorSet() != VectorSet::AVX512 || !prefersPairMatmul())
    GTEST_SKIP() << "the code is for AVX-512 with bf16";
  for (DataType type : {F32, BF16, F16}) {
    EXPECT_TRUE(isSmall(type, 65, 32, 1152, true));
    EXPECT_EQ(isSmall(type, 12, 10, 9001, true), type != F32);
    EXPECT_EQ(isSmall(type, 1, 512, 4096, true), type == F16);
    EXPECT_FALSE(isSmall(type, 16, 256, 4096, true));
    EXPECT_FALSE(isSmall(type, 1, 48, 4096, false, true));
    EXPECT_EQ(isSmall(type, 300, 300, 50, true), type != F32);
    EXPECT_EQ(isSmall(type, 700, 700, 50, true), type != F32);
    EXPECT_EQ(isSmall(type, 512, 512, 512, true), type != F32);
    EXPECT_FALSE(isSmall(type, 768, 768, 512, true));
    EXPECT_FALSE(isSmall(type, 1400, 1400, 200, true));
    EXPECT_TRUE(isSmall(type, 96, 256, 64, false));
    EXPECT_EQ(isSmall(type, 32, 256, 128, false), type != F32);
    EXPECT_EQ(isSmall(type, 512, 128, 64, false), type != F32);
    EXPECT_EQ(isSmall(type, 512, 128, 64, false, true), type != F32);
    EXPECT_EQ(isSmall(type, 48, 512, 128, false, true), type != F32);
    EXPECT_FALSE(isSmall(type, 700, 128, 200, false));
    EXPECT_EQ(isSmall(type, 96, 256, 64, false, true), type != F32);
  }
}

/// With AVX2, fewer and smaller ones, and of f32 those of few rows.
TEST(MatmulTest, WhatIsSmallWithAVX2) {
  if (getVectorSet() != VectorSet::AVX2 || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "the code is for AVX2 without AVX-512";
  for (DataType type : {F32, BF16, F16}) {
    EXPECT_TRUE(isSmall(type, 64, 64, 64, false));
    EXPECT_TRUE(isSmall(type, 64, 10, 64, false, true));
    EXPECT_FALSE(isSmall(type, 64, 64, 65, false));
    EXPECT_FALSE(isSmall(type, 16, 128, 128, false));
    EXPECT_EQ(isSmall(type, 16, 128, 128, true), type != F32);
    EXPECT_EQ(isSmall(type, 1024, 16, 16, false), type != F32);
    EXPECT_EQ(isSmall(type, 128, 128, 128, true), type != F32);
    EXPECT_FALSE(isSmall(type, 128, 128, 129, true));
    EXPECT_EQ(isSmall(type, 12, 10, 9001, true), type != F32);
  }
}

TEST(MatmulTest, Batches) {
  for (DataType type : {F32, BF16})
    for (bool transposeLhs : {false, true})
      for (bool sharedRhs : {false, true})
        check({5, 70, 9, 33, type, type, type, transposeLhs, !transposeLhs, sharedRhs});
}

/// Matrices of which each has a lane: whole and partial sixteens of them, tiles with a
/// rest, single elements, and sizes beyond a vector's.
TEST(MatmulTest, TinyBatches) {
  const int64_t sizes[][4] = {{16, 1, 1, 1},  {17, 1, 1, 4},  {100, 4, 1, 4},
                              {40, 4, 4, 1},  {33, 5, 7, 3},  {16, 8, 8, 8},
                              {31, 1, 9, 17}, {19, 30, 4, 5}, {1500, 1, 3, 2}};
  for (auto [batch, m, n, k] : sizes)
    for (auto [type, out] : {std::pair{F32, F32}, {BF16, BF16}, {BF16, F32}, {F16, F16}})
      for (int layout = 0; layout < 4; ++layout)
        check({batch, m, n, k, type, type, out, layout % 2 != 0, layout / 2 != 0});
  check({20, 3, 5, 4, F16, F32, BF16});
}

/// Few matrices, larger ones, wide ones, one right side for all, and a bias go other
/// ways.
TEST(MatmulTest, WhatIsATinyBatch) {
  if (getVectorSet() != VectorSet::AVX512)
    GTEST_SKIP() << "the code is for AVX-512";
  auto isTiny = [](int64_t batch, int64_t m, int64_t n, int64_t k, bool sharedRhs = false,
                   bool hasBias = false) {
    Tensor lhs(BF16, {batch, m, k}),
        rhs(BF16, sharedRhs ? std::vector<int64_t>{k, n} : std::vector{batch, k, n}),
        bias(BF16, {n}), out(BF16, {batch, m, n});
    std::vector<BufferRef> inputs = {lhs.ref, rhs.ref};
    if (hasBias)
      inputs.push_back(bias.ref);
    return makeBatchMatmul(makeInstruction(matmul(false, false, hasBias), inputs,
                                           out.ref)) != nullptr;
  };
  EXPECT_TRUE(isTiny(16, 4, 4, 4));
  EXPECT_TRUE(isTiny(16, 11, 11, 10));
  EXPECT_FALSE(isTiny(15, 4, 4, 4));
  EXPECT_FALSE(isTiny(16, 11, 11, 11));
  EXPECT_FALSE(isTiny(16, 4, 17, 4));
  EXPECT_FALSE(isTiny(16, 4, 4, 4, /*sharedRhs=*/true));
  EXPECT_FALSE(isTiny(16, 4, 4, 4, /*sharedRhs=*/false, /*hasBias=*/true));
}

TEST(MatmulTest, Types) {
  for (DataType lhs : {F32, F16, BF16, E4M3, E5M2})
    for (DataType out : {F32, lhs})
      for (bool transposed : {false, true})
        check({1, 70, 20, 40, lhs, lhs, out, transposed, !transposed});
  check({1, 70, 20, 40, F16, F32, BF16});
  check({1, 70, 20, 40, F32, BF16, F16, true, true});
}

/// Left sides that are transposed where the right one is the larger, and right sides in
/// blocks where it is not, of each type, with and without rests of 8 rows and columns.
TEST(MatmulTest, Layouts) {
  for (bool few : {false, true}) {
    MatmulShape shape;
    shape.m = few ? 9 : 200, shape.n = 43, shape.k = 50;
    EXPECT_EQ(planMatmul(shape).turnsLhs, few);
    EXPECT_EQ(planMatmul(shape).blocksRhs, !few);
    for (DataType type : {F32, F16, BF16, E4M3})
      for (bool transposeRhs : {false, true})
        for (auto [n, k] : {std::pair<int64_t, int64_t>{43, 50}, {40, 48}})
          check({1, shape.m, n, k, type, type, type, false, transposeRhs});
  }
  // Sums in chunks: of a wide result, and of a tall one.
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 30}, {30, 5}})
    for (DataType type : {F32, F16})
      for (bool transposeRhs : {false, true})
        check({1, m, n, 9001, type, type, F32, false, transposeRhs});
}

TEST(MatmulTest, Epilogues) {
  for (int epilogue : {0, 1, 2})
    for (bool bias : {false, true})
      for (DataType type : {F32, F16}) {
        check({1, 70, 20, 40, type, type, type, false, false, false, epilogue, bias});
        check({3, 5, 20, 40, type, type, type, false, false, true, epilogue, bias});
      }
}

/// Chunks that are columns of a stored side.
TEST(MatmulTest, Columns) {
  for (DataType type : {F32, BF16, F16})
    for (int64_t batch : {1, 3})
      for (bool transposeRhs : {false, true})
        check({batch, 900, 70, 300, type, type, type, true, transposeRhs});
}

/// Sums that are cut in chunks, whose partial results are added in order.
TEST(MatmulTest, LongSums) {
  MatmulShape shape;
  shape.m = 12, shape.n = 10, shape.k = 9001;
  ASSERT_GT(planMatmul(shape).sumChunk, 0);
  ASSERT_GT(planMatmul(shape).chunks, 1);
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true})
      for (DataType type : {F32, BF16})
        check({1, 12, 10, 9001, type, type, F32, transposeLhs, transposeRhs});
  check({1, 12, 10, 9001, F16, F16, F16, true, false, false, 1, true});
  // Several times as many chunks as threads.
  shape.m = 40, shape.n = 30;
  ASSERT_GT(planMatmul(shape).chunks, 9);
  for (DataType type : {F32, BF16})
    check({1, 40, 30, 9001, type, type, type, false, false, false, 2, true});
}

/// Halves of long sums are widened few terms at a time, and the chunks stay those of f32:
/// a task takes no more memory than in f32, or none but its thread's stack.
TEST(MatmulTest, PanelsOfLongSums) {
  const int64_t sizes[][3] = {
      {1, 48, 4096}, {1, 512, 2048}, {16, 128, 4096}, {3, 300, 2048}, {300, 1, 2500}};
  for (auto [m, n, k] : sizes)
    for (bool transposeLhs : {false, true}) {
      MatmulShape wide;
      wide.m = m, wide.n = n, wide.k = k, wide.transposeLhs = transposeLhs;
      const MatmulPlan f32 = planMatmul(wide);
      for (DataType type : {F16, BF16}) {
        MatmulShape shape = wide;
        shape.lhs = shape.rhs = type;
        const MatmulPlan plan = planMatmul(shape);
        ASSERT_GT(plan.sumChunk, 0);
        EXPECT_EQ(plan.sumChunk, f32.sumChunk);
        EXPECT_LT(plan.depth, plan.sumChunk);
        for (int64_t threads : {1, 4})
          EXPECT_LE(plan.workspaceBytes(threads),
                    f32.workspaceBytes(threads) + threads * k * std::min(m, n));
        check({1, m, n, k, type, type, F32, transposeLhs, false, false, 1, true});
        check({1, m, n, k, type, type, type, transposeLhs, true});
        // Weights are rounded while they are read.
        check({1, m, n, k, F32, type, type, transposeLhs, false});
      }
    }
}

/// There are as many partial results as threads, and the sum, however many chunks.
TEST(MatmulTest, WorkspaceOfLongSums) {
  MatmulShape shape;
  shape.m = shape.n = 512, shape.k = 4096, shape.transposeLhs = true;
  const MatmulPlan plan = planMatmul(shape);
  ASSERT_EQ(plan.chunks, 16);
  EXPECT_EQ(plan.partialBytes, 1 << 20);
  for (int64_t threads : {1, 2, 15})
    EXPECT_EQ(plan.workspaceBytes(threads),
              threads * plan.threadBytes + (threads + 1) * plan.partialBytes);
  for (int64_t threads : {16, 64})
    EXPECT_EQ(plan.workspaceBytes(threads),
              threads * plan.threadBytes + 16 * plan.partialBytes);
}

/// A side of f32 that is rounded while it is read gives the bits of one that was cast
/// before.
TEST(MatmulTest, RoundsWhileReading) {
  struct Case {
    int64_t batch, m, n, k;
    bool transposeLhs, transposeRhs, sharedRhs;
  };
  std::vector<Case> cases;
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true}) {
      for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                             {5, 7, 3},
                             {3, 1, 40},
                             {70, 150, 65},
                             {130, 1100, 33},
                             {600, 10, 9},
                             // Of f32 results both sides are packed, a part of the sum
                             // at a time.
                             {40, 600, 2100},
                             // Several panels.
                             {16, 192, 64},
                             {9, 130, 129},
                             // Cut sums.
                             {5, 30, 9001}})
        cases.push_back({1, m, n, k, transposeLhs, transposeRhs, false});
      for (bool shared : {false, true})
        cases.push_back({3, 9, 20, 40, transposeLhs, transposeRhs, shared});
      cases.push_back({20, 3, 5, 4, transposeLhs, transposeRhs, false});
    }
  for (const Case &c : cases)
    for (Rounding rounding : {Rounding::F16, Rounding::BF16})
      for (bool fastBF16 : {false, true}) {
        const DataType type = getRounded(F32, rounding);
        for (auto [other, sides] : {std::pair{type, 1}, {type, 2}, {type, 3}, {F32, 2}}) {
          // These take long.
          if (c.k == 2100 && sides != 3)
            continue;
          const bool roundsLhs = sides & 1, roundsRhs = sides & 2;
          std::vector<int64_t> lhsDims = {c.m, c.k}, rhsDims = {c.k, c.n},
                               outDims = {c.m, c.n};
          if (c.transposeLhs)
            std::swap(lhsDims[0], lhsDims[1]);
          if (c.transposeRhs)
            std::swap(rhsDims[0], rhsDims[1]);
          if (c.batch > 1) {
            lhsDims.insert(lhsDims.begin(), c.batch);
            outDims.insert(outDims.begin(), c.batch);
            if (!c.sharedRhs)
              rhsDims.insert(rhsDims.begin(), c.batch);
          }
          Tensor lhs = randomTensor(roundsLhs ? F32 : other, lhsDims, 1),
                 rhs = randomTensor(roundsRhs ? F32 : type, rhsDims, 2);
          if (roundsLhs)
            setRoundedNumbers(lhs);
          if (roundsRhs)
            setRoundedNumbers(rhs);
          Tensor lowLhs = castTensor(lhs, other), lowRhs = castTensor(rhs, type),
                 bias = randomTensor(F32, {c.n}, 3);
          const DataType result = c.k == 2100 ? F32 : other;
          Tensor expected(result, outDims), found(result, outDims);
          // Batches of tiny matrices have no bias.
          const bool hasBias = c.batch < 16;
          MatmulCall call = matmul(c.transposeLhs, c.transposeRhs, hasBias,
                                   hasBias ? Epilogue::Relu : Epilogue::None);
          std::vector<const Tensor *> low = {&lowLhs, &lowRhs}, wide = {&lhs, &rhs};
          if (hasBias)
            low.push_back(&bias), wide.push_back(&bias);
          ASSERT_EQ(runCall(call, low, expected, fastBF16), "");
          if (roundsLhs)
            call.lhsRounding = rounding;
          if (roundsRhs)
            call.rounding = rounding;
          ASSERT_EQ(runCall(call, wide, found, fastBF16), "");
          EXPECT_TRUE(expected.bytes() == found.bytes())
              << c.batch << " " << c.m << " " << c.n << " " << c.k << " "
              << c.transposeLhs << c.transposeRhs << fastBF16 << " sides " << sides;
        }
      }
}

/// Right sides of halves are widened a few columns at a time, so that they take no copy.
TEST(MatmulTest, WorkspaceOfHalves) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{512, 50257, 768},
                         {512, 3072, 768},
                         {4096, 1024, 1024},
                         {65536, 64, 64}}) {
    MatmulShape shape;
    shape.m = m, shape.n = n, shape.k = k;
    shape.lhs = shape.rhs = shape.out = BF16;
    EXPECT_LE(planMatmul(shape).workspaceBytes(1), 3 << 19);
  }
}

/// Weight gradients whose left side is widened are cut into squares, not into panels of
/// columns that all meet the whole left side; smaller ones, short sums and f32 are not.
TEST(MatmulTest, SquaresOfWidenedGradients) {
  MatmulShape shape;
  shape.m = shape.n = 768, shape.k = 512, shape.transposeLhs = true;
  EXPECT_EQ(planMatmul(shape).columnChunk, 0);
  for (DataType type : {F16, BF16}) {
    shape.m = 768;
    shape.lhs = shape.rhs = type;
    const MatmulPlan plan = planMatmul(shape);
    EXPECT_EQ(plan.columnChunk, 192);
    EXPECT_GT(plan.rowGroups, 1);
    shape.m = 512;
    EXPECT_EQ(planMatmul(shape).columnChunk, 64);
    shape.m = 1024, shape.k = 256;
    EXPECT_EQ(planMatmul(shape).columnChunk, 64);
    shape.k = 512;
    check({1, 768, 768, 512, type, type, F32, true, false, false, 2, true});
  }
}

/// Small matmuls widen a few columns, rows and, into results of f32, terms at a time:
/// workspaces are no larger than operands and result. Short sums stay whole, and those
/// that are rounded where the left side is transposed.
TEST(MatmulTest, WorkspaceOfSmallHalves) {
  struct Case {
    int64_t m, n, k;
    bool transposeLhs;
    DataType out;
    bool isCut;
  };
  const Case cases[] = {
      {64, 17, 256, true, F32, true},  {3, 33, 257, true, F32, true},
      {64, 64, 256, true, F32, true},  {33, 33, 1500, true, F32, true},
      {64, 48, 96, false, F16, false}, {3, 33, 257, true, F16, false},
      {3, 33, 127, true, F32, false},  {64, 64, 255, true, F32, true},
      {65, 64, 1500, true, F32, true},
  };
  for (const Case &c : cases)
    for (DataType type : {F16, BF16}) {
      MatmulShape shape;
      shape.m = c.m, shape.n = c.n, shape.k = c.k, shape.transposeLhs = c.transposeLhs;
      shape.lhs = shape.rhs = type, shape.out = c.out == F32 ? F32 : type;
      const MatmulPlan plan = planMatmul(shape);
      EXPECT_EQ(plan.depth < c.k, c.isCut) << c.m << " " << c.n << " " << c.k;
      if (c.isCut || c.k < 100)
        EXPECT_LE(plan.workspaceBytes(1),
                  2 * c.k * (c.m + c.n) + c.m * c.n * (c.out == F32 ? 4 : 2));
      check({1, c.m, c.n, c.k, type, type, shape.out, c.transposeLhs, false, false, 2,
             true});
    }
  // f32 is not widened.
  MatmulShape shape;
  shape.m = shape.n = 33, shape.k = 257, shape.transposeLhs = true;
  EXPECT_EQ(planMatmul(shape).depth, 257);
}

/// One thread's panels take no more than those of f32 and half of what halves save:
/// columns, rows and terms at a time are as many as fit. Sums that are rounded wait in a
/// panel, of few rows, for their last terms.
TEST(MatmulTest, PanelsOfHalves) {
  struct Case {
    int64_t m, n, k;
    bool transposeLhs;
    DataType out;
    bool keepsSums;
  };
  const Case cases[] = {
      {16, 128, 512, false, F16, true},   {32, 300, 1100, false, F16, true},
      {50, 70, 1000, false, F16, true},   {16, 128, 512, false, F32, false},
      {784, 256, 64, true, F32, false},   {1024, 1024, 64, true, F32, false},
      {200, 128, 512, false, F16, false}, {70, 50, 600, true, F16, false},
  };
  for (const Case &c : cases)
    for (DataType type : {F16, BF16}) {
      MatmulShape wide;
      wide.m = c.m, wide.n = c.n, wide.k = c.k, wide.transposeLhs = c.transposeLhs;
      MatmulShape shape = wide;
      shape.lhs = shape.rhs = type, shape.out = c.out == F32 ? F32 : type;
      const MatmulPlan plan = planMatmul(shape);
      EXPECT_EQ(plan.keepsSums, c.keepsSums) << c.m << " " << c.n << " " << c.k;
      // Sums of a transposed left side that are rounded are not cut.
      if (!c.transposeLhs || c.out == F32)
        EXPECT_LE(plan.workspaceBytes(1), planMatmul(wide).workspaceBytes(1) +
                                              c.k * std::min(c.m, c.n) +
                                              (c.out == F32 ? 0 : c.m * c.n))
            << c.m << " " << c.n << " " << c.k;
      for (bool transposeRhs : {false, true})
        check({1, c.m, c.n, c.k, type, type, shape.out, c.transposeLhs, transposeRhs,
               false, 1, true});
    }
  // A left side of f32 is read where it lies.
  check({1, 16, 128, 512, F32, F16, F16, false, true, false, 2, true});
}

/// Sums of any length are cut, though a part more may have as many terms, rounded.
TEST(MatmulTest, PanelsOfHalvesOfAnyLength) {
  MatmulShape shape;
  shape.lhs = shape.rhs = F16;
  int64_t plans = 0;
  for (DataType out : {F16, F32})
    for (int64_t m : {1, 24, 64})
      for (int64_t n : {48, 100, 512})
        for (int64_t k = 1000; k < 6000; k += 37) {
          shape.m = m, shape.n = n, shape.k = k, shape.out = out;
          MatmulShape wide = shape;
          wide.lhs = wide.rhs = wide.out = F32;
          const MatmulPlan plan = planMatmul(shape);
          ++plans;
          EXPECT_LE(plan.workspaceBytes(1), planMatmul(wide).workspaceBytes(1) +
                                                k * std::min(m, n) +
                                                (out == F32 ? 0 : m * n))
              << m << " " << n << " " << k;
        }
  EXPECT_GT(plans, 500);
}

/// A task widens the right side of a matrix for all of its rows if there are enough
/// matrices. Rows of a batch that meet a shared one are those of one matrix.
TEST(MatmulTest, RightSidesOfBatches) {
  MatmulShape shape;
  shape.m = 600, shape.n = 40, shape.k = 200, shape.lhs = shape.rhs = F16;
  for (int64_t batch : {15, 16}) {
    shape.batch = batch;
    const MatmulPlan plan = planMatmul(shape);
    ASSERT_GT(plan.chunks, 1);
    EXPECT_EQ(plan.rhsCopies, batch < 16 ? batch : 0);
  }
  for (DataType type : {F32, F16})
    for (bool transposeLhs : {false, true})
      check({17, 300, 40, 200, type, type, type, transposeLhs, !transposeLhs});
  Tensor lhs(F16, {3, 5, 20}), rhs(F16, {20, 40}), out(F16, {3, 5, 40});
  ASSERT_TRUE(
      getMatmulShape(makeInstruction(matmul(), {lhs.ref, rhs.ref}, out.ref), shape));
  EXPECT_EQ(shape.batch, 1);
  EXPECT_EQ(shape.m, 15);
}

TEST(MatmulTest, NothingToDo) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 3}, {3, 0}}) {
    Tensor lhs(F32, {m, 4}), rhs(F32, {4, n}), out(F32, {m, n});
    EXPECT_EQ(runCall(matmul(), {&lhs, &rhs}, out), "");
  }
}

TEST(MatmulTest, SumsOfNothing) {
  for (DataType type : {F32, BF16, F16})
    for (int64_t batch : {1, 3})
      for (bool transpose : {false, true})
        for (int epilogue : {0, 1, 2})
          check({batch, 5, 7, 0, type, type, type, transpose, transpose,
                 /*sharedRhs=*/false, epilogue, /*bias=*/true});
}

TEST(MatmulTest, TypeOfMatmuls) {
  for (dnnl_cpu_isa_t slow :
       {dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2, dnnl_cpu_isa_avx2_vnni,
        dnnl_cpu_isa_avx512_core, dnnl_cpu_isa_avx512_core_vnni})
    EXPECT_FALSE(hasFastBF16(slow, false) || hasFastBF16(slow, true)) << slow;
  EXPECT_FALSE(hasFastBF16(dnnl_cpu_isa_avx512_core_bf16, /*isAMD=*/false));
  EXPECT_TRUE(hasFastBF16(dnnl_cpu_isa_avx512_core_bf16, /*isAMD=*/true));
  EXPECT_TRUE(hasFastBF16(dnnl_cpu_isa_avx512_core_amx, false));
  for (dnnl_cpu_isa_t isa : {dnnl_cpu_isa_avx2, dnnl_cpu_isa_avx2_vnni})
    EXPECT_TRUE(prefersConvolutions(isa) && !wantsDenseMatrices(isa)) << isa;
  for (dnnl_cpu_isa_t isa : {dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx,
                             dnnl_cpu_isa_avx512_core, dnnl_cpu_isa_avx512_core_amx})
    EXPECT_FALSE(prefersConvolutions(isa)) << isa;
  for (dnnl_cpu_isa_t isa : {dnnl_cpu_isa_avx512_core, dnnl_cpu_isa_avx512_core_amx})
    EXPECT_TRUE(wantsDenseMatrices(isa)) << isa;
  for (DataType type : {F32, F16, BF16, E4M3, E5M2}) {
    EXPECT_EQ(getMatmulType(type, type, false), F32);
    EXPECT_EQ(getMatmulType(type, type, true), type == BF16 ? BF16 : F32);
  }
  EXPECT_EQ(getMatmulType(BF16, F32, true), F32);
  EXPECT_EQ(getMatmulType(F16, BF16, true), F32);
}

/// Shapes around the tiles of AMX: 16 rows of 32 terms. oneDNN multiplies bf16
/// from AVX-512 on; where it does so fast, the other tests take that way too.
TEST(MatmulTest, BF16Operands) {
  if ((dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) !=
      dnnl_cpu_isa_avx512_core)
    GTEST_SKIP() << "oneDNN has no bf16 on this CPU";
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true})
      for (auto [m, n, k] : {std::array<int64_t, 3>{16, 16, 32},
                             {17, 15, 33},
                             {1, 1, 31},
                             {70, 50, 97},
                             {600, 64, 40},
                             {1100, 200, 70}})
        for (DataType out : {F32, BF16})
          check({1, m, n, k, BF16, BF16, out, transposeLhs, transposeRhs,
                 /*sharedRhs=*/false, /*epilogue=*/1, /*bias=*/true,
                 /*fastBF16=*/true});
  // Right sides repacked one by one and together, and a sum in chunks.
  for (bool sharedRhs : {false, true})
    check({3, 70, 50, 97, BF16, BF16, BF16, false, false, sharedRhs, 0, false, true});
  check({1, 12, 10, 9001, BF16, BF16, F32, true, false, false, 0, false, true});
}

/// A weight gradient so large that both sides are packed for square tasks.
TEST(MatmulTest, SquareTasks) {
  for (DataType type : {F32, F16, BF16})
    check({1, 1030, 2050, 33, type, type, F32, /*transposeLhs=*/true});
}

/// With few threads all groups of rows share a panel of columns, with the same bits.
TEST(MatmulTest, GroupsOfRows) {
  MatmulShape shape;
  shape.m = 150, shape.n = 520, shape.k = 40, shape.rhs = F16;
  EXPECT_EQ(planMatmul(shape).columnChunks, 9);
  EXPECT_EQ(planMatmul(shape).rowGroups, 2);
  for (DataType type : {F16, BF16})
    for (bool transposeRhs : {false, true})
      check({1, 150, 520, 40, type, type, type, false, transposeRhs, false, 1, true});
}

/// Large right sides, and wide rows, are multiplied by chunks of columns in f32, too.
TEST(MatmulTest, LargeRightSides) {
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true}) {
      check({1, 70, 4200, 33, F32, F32, F32, transposeLhs, transposeRhs, false, 1, true});
      check({1, 64, 4200, 10, F32, F32, F32, transposeLhs, transposeRhs});
      check({1, 65, 130, 97, F32, F32, F16, transposeLhs, transposeRhs, false, 2, true});
    }
}

/// Columns of a wide left side, of which a task takes some, as rows or as they are.
TEST(MatmulTest, TransposedLeftSides) {
  for (auto [type, out] : {std::pair{F32, F32}, {F32, F16}, {BF16, F32}, {F16, F16}})
    for (bool transposeRhs : {false, true})
      for (auto [m, n, k] : {std::array<int64_t, 3>{200, 33, 400}, {330, 130, 70}})
        check({1, m, n, k, type, type, out, /*transposeLhs=*/true, transposeRhs, false, 1,
               true});
}

/// Long sums of transposed left sides are added part by part where the result is f32.
TEST(MatmulTest, DeepSums) {
  MatmulShape shape;
  shape.m = 64, shape.n = 822, shape.k = 3280, shape.transposeLhs = true;
  EXPECT_LT(planMatmul(shape).depth, shape.k);
  shape.out = F16;
  EXPECT_EQ(planMatmul(shape).depth, shape.k);
  check({1, 64, 822, 3280, F32, F32, F32, true, false, false, 2, true});
  for (DataType type : {F16, BF16})
    check({1, 513, 64, 2048, type, type, F32, true, false});
}

/// Element (row, column) of a right side is where oneDNN's layout has it, on any CPU.
TEST(MatmulTest, PairsOfRows) {
  for (auto [tag, block] : {std::pair{dnnl_BA16a16b2a, 16}, {dnnl_BA16a64b2a, 64}})
    for (auto [k, n] : {std::array<int64_t, 2>{1, 1}, {32, 64}, {33, 65}, {70, 50}})
      for (bool isTransposed : {false, true})
        for (DataType type : {F32, BF16, E4M3, E5M2}) {
          if (!canPackPairs(type, isTransposed))
            continue;
          const dnnl_dim_t dims[] = {k, n};
          dnnl_memory_desc_t desc;
          ASSERT_EQ(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_bf16, tag),
                    dnnl_success);
          ASSERT_EQ(getPairedColumns(desc), block);
          // The right side is a part of the stored matrix.
          const int64_t lead = (isTransposed ? k : n) + 5;
          Tensor stored = randomTensor(type, {isTransposed ? n : k, lead}, 1);
          // Subnormal ones, too, which instructions that round take for zero.
          if (type == F32)
            setRoundedNumbers(stored);
          Tensor packed(BF16,
                        {static_cast<int64_t>(dnnl_memory_desc_get_size(&desc)) / 2});
          packPairs({type, stored.data(), 3, lead, isTransposed ? n : k,
                     isTransposed ? k : n, type == F32 ? Rounding::BF16 : Rounding::None},
                    isTransposed, block, static_cast<uint16_t *>(packed.data()));
          EXPECT_TRUE(packed.isIntact());
          Tensor rounded = castTensor(stored, BF16);
          const int64_t rows = (k + 31) / 32 * 32,
                        columns = (n + block - 1) / block * block;
          ASSERT_EQ(packed.count(), rows * columns);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              const int64_t at =
                  j / block * rows * block + i / 2 * 2 * block + j % block * 2 + i % 2;
              const int64_t from = 3 + (isTransposed ? j * lead + i : i * lead + j);
              EXPECT_EQ(packed[at], i < k && j < n ? rounded[from] : 0.0)
                  << i << " " << j;
            }
        }
  const dnnl_dim_t dims[] = {64, 64};
  for (dnnl_format_tag_t tag : {dnnl_ab, dnnl_ba, dnnl_BA16a64b4a}) {
    dnnl_memory_desc_t desc;
    ASSERT_EQ(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_bf16, tag), dnnl_success);
    EXPECT_EQ(getPairedColumns(desc), 0);
  }
}

/// A part of a matrix, transposed, of sizes on both sides of a vector's.
TEST(MatmulTest, TransposedRows) {
  for (auto [rows, columns] :
       {std::array<int64_t, 2>{1, 1}, {32, 16}, {33, 50}, {15, 70}})
    for (DataType type : {F32, F16, BF16, E4M3})
      for (DataType to : {F32, BF16})
        for (Rounding rounding : {Rounding::None, Rounding::F16, Rounding::BF16}) {
          if (!canTransposeRows(type) ||
              (to == BF16 && getRounded(type, rounding) != BF16) ||
              (rounding != Rounding::None && type != F32))
            continue;
          Tensor stored = randomTensor(type, {rows, columns + 5}, 1);
          Tensor found(to, {columns, rows});
          transposeRows({type, stored.data(), 3, columns + 5, rows, columns, rounding},
                        to, found.data());
          EXPECT_TRUE(found.isIntact());
          Tensor rounded = castTensor(stored, getRounded(type, rounding));
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
              EXPECT_EQ(found[j * rows + i], rounded[i * (columns + 5) + 3 + j])
                  << i << " " << j;
        }
}

/// 8-bit floats, widened to bf16 or to f32: by columns, in chunks of the sum, in batches.
TEST(MatmulTest, F8Operands) {
  const bool hasBF16 = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
                       dnnl_cpu_isa_avx512_core;
  for (bool fastBF16 : {false, true}) {
    if (fastBF16 && !hasBF16)
      continue;
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true}) {
        check({1, 70, 50, 97, E4M3, E5M2, BF16, transposeLhs, transposeRhs, false, 1,
               true, fastBF16});
        check({1, 300, 530, 128, E4M3, E4M3, F32, transposeLhs, transposeRhs, false, 0,
               false, fastBF16});
      }
    check({1, 70, 50, 97, E4M3, BF16, F32, false, true, false, 0, false, fastBF16});
    check({1, 2, 112, 32, BF16, E5M2, F32, false, false, false, 0, false, fastBF16});
    check({1, 12, 10, 9001, E5M2, E4M3, F32, true, false, false, 0, false, fastBF16});
    check({3, 70, 50, 97, E4M3, E4M3, BF16, false, false, false, 0, false, fastBF16});
  }
}

/// The way of CPUs without bf16, wherever this runs.
TEST(MatmulTest, WidenedBF16) {
  for (bool transposed : {false, true})
    check({2, 70, 50, 97, BF16, BF16, BF16, transposed, !transposed, false, 0, false,
           /*fastBF16=*/false});
}

/// Padding must not meet infinities.
TEST(MatmulTest, InfinityInATail) {
  for (DataType type : {F16, BF16}) {
    Tensor lhs(type, {20, 37}), rhs(type, {37, 35}), out(type, {20, 35});
    for (int64_t i = 0; i < lhs.count(); ++i)
      lhs.set(i, 1);
    for (int64_t i = 0; i < rhs.count(); ++i)
      rhs.set(i, 1);
    lhs.set(3 * 37 + 36, INFINITY);
    ASSERT_EQ(runCall(matmul(), {&lhs, &rhs}, out), "");
    for (int64_t i = 0; i < out.count(); ++i)
      EXPECT_EQ(out[i], i / 35 == 3 ? INFINITY : 37.0) << i;
  }
}

TEST(MatmulTest, InfinitiesAndNaNs) {
  Tensor lhs(F16, {3, 2}), rhs(F16, {2, 1}), out(F16, {3, 1});
  rhs.set(0, 1), rhs.set(1, 1);
  lhs.set(0, INFINITY), lhs.set(1, -INFINITY);
  lhs.set(2, 65504), lhs.set(3, 65504);
  lhs.set(4, -INFINITY), lhs.set(5, 1);
  ASSERT_EQ(runCall(matmul(false, false, false, Epilogue::Relu), {&lhs, &rhs}, out), "");
  EXPECT_TRUE(std::isnan(out[0])); // through relu as well
  EXPECT_EQ(out[1], INFINITY);
  EXPECT_EQ(out[2], 0);
}

/// Rests of tiles, of tasks' rows and of parts of the sums, in each layout; sums in
/// extended precision.
TEST(MatmulTest, Doubles) {
  for (const std::array<int64_t, 4> &sizes : {std::array<int64_t, 4>{1, 1, 1, 1},
                                              {1, 6, 8, 512},
                                              {3, 7, 9, 5},
                                              {1, 200, 17, 1030},
                                              {2, 5, 3, 0},
                                              {2, 0, 3, 4}}) {
    const int64_t batch = sizes[0], m = sizes[1], n = sizes[2], k = sizes[3];
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true})
        for (int epilogue : {0, 1, 2}) {
          const bool isShared = epilogue == 1, hasBias = epilogue != 0;
          auto matrix = [&](int64_t rows, int64_t columns, bool isTransposed,
                            bool isOne) {
            std::vector<int64_t> dims = {rows, columns};
            if (isTransposed)
              std::swap(dims[0], dims[1]);
            if (batch > 1 && !isOne)
              dims.insert(dims.begin(), batch);
            return dims;
          };
          Tensor lhs = randomTensor(F64, matrix(m, k, transposeLhs, false), 1),
                 rhs = randomTensor(F64, matrix(k, n, transposeRhs, isShared), 2),
                 bias = randomTensor(F64, {n}, 3), out(F64, matrix(m, n, false, false));
          // Digits that f32 has not.
          for (Tensor *tensor : {&lhs, &rhs, &bias})
            for (int64_t i = 0; i < tensor->count(); ++i)
              tensor->set(i, (*tensor)[i] / 3);
          std::vector<const Tensor *> inputs = {&lhs, &rhs};
          if (hasBias)
            inputs.push_back(&bias);
          ASSERT_EQ(runCall(matmul(transposeLhs, transposeRhs, hasBias,
                                   static_cast<Epilogue>(epilogue)),
                            inputs, out),
                    "");
          for (int64_t b = 0; b < batch; ++b)
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j) {
                long double sum = hasBias ? bias[j] : 0, size = std::fabs(sum);
                for (int64_t l = 0; l < k; ++l) {
                  const int64_t left = b * m * k + (transposeLhs ? l * m + i : i * k + l);
                  const int64_t right =
                      (isShared ? 0 : b * k * n) + (transposeRhs ? j * k + l : l * n + j);
                  const long double product =
                      static_cast<long double>(lhs[left]) * rhs[right];
                  sum += product;
                  size += std::fabs(product);
                }
                const auto exact = static_cast<double>(sum);
                const double expected = epilogue == 1   ? std::max(exact, 0.0)
                                        : epilogue == 2 ? gelu(exact)
                                                        : exact;
                // k + 1 roundings of 2^-53 a term; GELU is Lipschitz with 1.13, and some
                // ten roundings of its own, in each of two formulas.
                const double bound = std::ldexp(
                    1.13 * static_cast<double>(k + 2) * static_cast<double>(size) +
                        (epilogue == 2 ? 24 * std::fabs(exact) : 0),
                    -53);
                ASSERT_NEAR(out[(b * m + i) * n + j], expected, bound)
                    << b << " " << i << " " << j;
              }
        }
  }
}

TEST(MatmulTest, Misfits) {
  auto error = [](std::vector<int64_t> lhs, std::vector<int64_t> rhs,
                  std::vector<int64_t> out, DataType type = F32,
                  const MatmulCall &call = {}) {
    Tensor a(type, lhs), b(type, rhs), c(type, out);
    return runCall(call, {&a, &b}, c);
  };
  std::string misfit = "the operands of a matmul do not fit together";
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}), "");
  EXPECT_EQ(error({2, 3}, {4, 4}, {2, 4}), misfit);
  MatmulCall rounds;
  rounds.rounding = Rounding::BF16;
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, F32, rounds), "");
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, BF16, rounds),
            "only an operand of f32 is rounded");
  rounds.rounding = Rounding::None;
  rounds.lhsRounding = Rounding::BF16;
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, F32, rounds), "");
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, F16, rounds),
            "only an operand of f32 is rounded");
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 5}), misfit);
  EXPECT_EQ(error({6}, {3, 4}, {2, 4}), misfit);
  EXPECT_EQ(error({3, 2, 3}, {2, 3, 4}, {3, 2, 4}), misfit);
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, F32, matmul(false, false, /*hasBias=*/true)),
            "'matmul' needs 3 inputs and 1 outputs, found 2 and 1");
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, DataType::I32),
            "matmuls of this element type are not supported; use f64, f32, "
            "bf16 or f16");
  EXPECT_EQ(error({2, 3}, {3, 4}, {2, 4}, F64), "");
  Tensor wide(F64, {3, 3}), narrow(F32, {3, 3});
  std::string mixed;
  EXPECT_FALSE(
      checkCall(makeInstruction(matmul(), {wide.ref, narrow.ref}, wide.ref), mixed));
  EXPECT_EQ(
      mixed,
      "matmuls of element type f64 and others together are not supported; cast to one");
}

/// What a small matmul widens lies on the stack, so that halves of small networks take no
/// more memory than f32; what would be large there has a workspace.
TEST(MatmulTest, SmallPanelsNeedNoWorkspace) {
  for (DataType type : {F16, BF16})
    for (bool transposeLhs : {false, true}) {
      for (int64_t size : {4, 32, 48})
        for (int64_t n : {int64_t(1), size}) {
          MatmulShape shape;
          shape.m = shape.k = size, shape.n = n, shape.transposeLhs = transposeLhs;
          shape.lhs = shape.rhs = shape.out = type;
          EXPECT_EQ(planMatmul(shape).workspaceBytes(16), 0) << size << " " << n;
          check({1, size, n, size, type, type, type, transposeLhs}, false);
        }
      MatmulShape shape;
      shape.m = shape.n = shape.k = 256, shape.transposeLhs = transposeLhs;
      shape.lhs = shape.rhs = shape.out = type;
      EXPECT_GT(planMatmul(shape).workspaceBytes(16), 16 * MatmulPlan::stackBytes);
    }
}

TEST(MatmulTest, WorkspaceIsChecked) {
  Tensor lhs(F16, {128, 128}), out(F16, {128, 128});
  Instruction call = makeInstruction(matmul(), {lhs.ref, lhs.ref}, out.ref);
  int64_t needed = getCallWorkspace(call, 2);
  ASSERT_GT(needed, 0);
  std::string error, message = "the call needs a workspace of " + std::to_string(needed) +
                               " bytes but has ";
  EXPECT_FALSE(makeCall(call, 2, error));
  EXPECT_EQ(error, message + "0");
  addScratch(call, 2);
  EXPECT_TRUE(makeCall(call, 2, error));
  --call.refs.back().dims[0];
  EXPECT_FALSE(makeCall(call, 2, error));
  EXPECT_EQ(error, message + std::to_string(needed - 1));
}

} // namespace
