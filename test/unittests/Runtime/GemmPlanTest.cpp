//===- GemmPlanTest.cpp - What cuBLASLt is asked for -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace mpt::rt;

namespace {

BufferRef buffer(DataType type, std::vector<int64_t> dims) {
  BufferRef ref;
  ref.type = type;
  ref.dims = std::move(dims);
  return ref;
}

struct Matmul {
  BufferRef lhs, rhs, out;
  bool transposeLhs = false, transposeRhs = false;
  std::optional<DataType> bias;
  Epilogue epilogue = Epilogue::None;

  Instruction instruction() const {
    Instruction call;
    call.numInputs = bias ? 3 : 2;
    call.numOutputs = 1;
    call.refs = {lhs, rhs};
    if (bias)
      call.refs.push_back(buffer(*bias, {out.dims.back()}));
    call.refs.push_back(out);
    MatmulCall matmul;
    matmul.transposeLhs = transposeLhs;
    matmul.transposeRhs = transposeRhs;
    matmul.hasBias = bias.has_value();
    matmul.epilogue = epilogue;
    call.call = matmul;
    return call;
  }
  GemmPlan plan(bool allowTF32 = false) const {
    GemmPlan plan;
    std::string error;
    EXPECT_TRUE(makeGemmPlan(instruction(), allowTF32, plan, error)) << error;
    return plan;
  }
};

const DataType f32 = DataType::F32, f16 = DataType::F16, bf16 = DataType::BF16;

/// Element (row, column) of op(matrix), as cuBLASLt addresses it.
double element(const std::vector<double> &data, const GemmMatrix &matrix, bool transposed,
               int64_t row, int64_t column, int64_t batch) {
  if (transposed)
    std::swap(row, column);
  return data[batch * matrix.stride + column * matrix.ld + row];
}

/// Runs the plan by cuBLASLt's column-major definition and compares with the
/// row-major matmul: the swap, transposes, leading dimensions and strides.
void checkAgainstRowMajor(const Matmul &matmul) {
  GemmPlan plan = matmul.plan();
  std::string error;
  EXPECT_TRUE(checkGemmPlan(plan, 90, error)) << error;
  std::mt19937 random(3);
  auto fill = [&](int64_t count) {
    std::vector<double> data(count);
    for (double &value : data)
      value = static_cast<int>(random() % 17) - 8;
    return data;
  };
  std::vector<double> x = fill(matmul.lhs.count()), w = fill(matmul.rhs.count());
  std::vector<double> y(matmul.out.count(), NAN), expected(matmul.out.count());
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t i = 0; i < plan.m; ++i)
      for (int64_t j = 0; j < plan.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < plan.k; ++k)
          sum += element(w, plan.a, plan.transposeA, i, k, b) *
                 element(x, plan.b, plan.transposeB, k, j, b);
        y[b * plan.d.stride + j * plan.d.ld + i] = sum;
      }
  // As the program's own function reads and writes.
  PlainMatmul plain;
  ASSERT_TRUE(makePlainMatmul(plan, plain));
  std::vector<double> own(matmul.out.count(), NAN);
  auto [pm, pn, pk, rowA, stepA, batchA, stepB, columnB, batchB, ld, batchD, adds] =
      plain.numbers;
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t i = 0; i < pm; ++i)
      for (int64_t j = 0; j < pn; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < pk; ++k)
          sum += w[b * batchA + i * rowA + k * stepA] *
                 x[b * batchB + k * stepB + j * columnB];
        own[b * batchD + j * ld + i] = sum;
      }
  EXPECT_EQ(own, y);
  EXPECT_EQ(adds, 0);
  size_t rank = matmul.lhs.dims.size();
  int64_t m = matmul.out.dims[rank - 2], n = matmul.out.dims[rank - 1];
  int64_t k = matmul.lhs.dims[rank - (matmul.transposeLhs ? 2 : 1)];
  int64_t batch = matmul.out.count() / (m * n);
  bool shared = matmul.rhs.dims.size() == 2;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum +=
              x[b * m * k + (matmul.transposeLhs ? l * m + i : i * k + l)] *
              w[(shared ? 0 : b * k * n) + (matmul.transposeRhs ? j * k + l : l * n + j)];
        expected[(b * m + i) * n + j] = sum;
      }
  EXPECT_EQ(y, expected);
}

TEST(GemmPlan, RowMajorMatmuls) {
  for (bool left : {false, true})
    for (bool right : {false, true}) {
      SCOPED_TRACE(std::to_string(left) + std::to_string(right));
      Matmul one{
          buffer(f32, left ? std::vector<int64_t>{7, 5} : std::vector<int64_t>{5, 7}),
          buffer(f32, right ? std::vector<int64_t>{3, 7} : std::vector<int64_t>{7, 3}),
          buffer(f32, {5, 3}), left, right};
      checkAgainstRowMajor(one);
      Matmul batch = one;
      for (BufferRef *ref : {&batch.lhs, &batch.rhs, &batch.out})
        ref->dims.insert(ref->dims.begin(), {2, 4});
      checkAgainstRowMajor(batch);
      // One right side for the batch.
      Matmul shared = batch;
      shared.rhs = one.rhs;
      checkAgainstRowMajor(shared);
    }
}

TEST(GemmPlan, PlainMatmul) {
  Matmul matmul{buffer(bf16, {3, 65, 16}), buffer(bf16, {3, 16, 129}),
                buffer(f32, {3, 65, 129})};
  PlainMatmul plain;
  GemmPlan plan = matmul.plan();
  ASSERT_TRUE(makePlainMatmul(plan, plain));
  EXPECT_EQ(plain.function, "mpt_matmul_bf16_bf16_f32");
  EXPECT_EQ(plain.blocks, 3 * 2 * 3);
  EXPECT_EQ(plain.numbers[PlainMatmul::Adds], 0);
  plan.beta = 1;
  // Types that cuBLASLt does not multiply, and nothing to add up.
  plan.b.type = f16;
  plan.k = 0;
  ASSERT_TRUE(makePlainMatmul(plan, plain));
  EXPECT_EQ(plain.function, "mpt_matmul_bf16_f16_f32");
  EXPECT_EQ(plain.numbers[PlainMatmul::Adds], 1);
  plan = matmul.plan();
  plan.batch = 1;
  plan.a.type = plan.b.type = DataType::F8E4M3FN;
  plan.scalingA = GemmScaling::Vec128F32;
  plan.scalingB = GemmScaling::Block128F32;
  ASSERT_TRUE(makePlainMatmul(plan, plain));
  EXPECT_EQ(plain.function, "mpt_matmul_f8E4M3FN_f8E4M3FN_f32_VEC128_32F_BLK128x128_32F");

  auto refuses = [&](auto change) {
    GemmPlan other = plan;
    change(other);
    return !makePlainMatmul(other, plain);
  };
  EXPECT_FALSE(refuses([](GemmPlan &) {}));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.scalingB = GemmScaling::None; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.scalingA = GemmScaling::Vec16UE4M3; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.batch = 2; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.a.type = DataType::I8; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.d.type = DataType::F8E5M2; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.d.type = DataType::F64; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.beta = 0.5; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.alpha = 2; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.n = 0; }));
  // One block too many.
  EXPECT_FALSE(refuses([](GemmPlan &p) { p.m = p.n = 64 * 46340; }));
  EXPECT_TRUE(refuses([](GemmPlan &p) { p.m = p.n = 64 * 46341; }));
}

TEST(GemmPlan, Description) {
  Matmul forward{buffer(bf16, {20000, 150}), buffer(bf16, {150, 64}),
                 buffer(bf16, {20000, 64})};
  forward.bias = bf16;
  forward.epilogue = Epilogue::Relu;
  EXPECT_EQ(describeGemmPlan(forward.plan()),
            "m=64 n=20000 k=150 A=bf16[64x150 ld 64]N B=bf16[150x20000 ld 150]N "
            "D=bf16[64x20000 ld 64]N compute=32F epilogue=RELU_BIAS bias=bf16");
  // A weight gradient: f16 summed into f32.
  Matmul gradient{buffer(f16, {20000, 150}), buffer(f16, {20000, 64}),
                  buffer(f32, {150, 64}), true};
  EXPECT_EQ(describeGemmPlan(gradient.plan()),
            "m=64 n=150 k=20000 A=f16[64x20000 ld 64]N B=f16[150x20000 ld 150]T "
            "D=f32[64x150 ld 64]N compute=32F epilogue=DEFAULT");
  // The rows of a batch with one right side are one matmul's.
  Matmul batch{buffer(f32, {8, 16, 32}), buffer(f32, {32, 48}), buffer(f32, {8, 16, 48})};
  EXPECT_EQ(describeGemmPlan(batch.plan(true)),
            "m=48 n=128 k=32 A=f32[48x32 ld 48]N B=f32[32x128 ld 32]N "
            "D=f32[48x128 ld 48]N compute=32F_FAST_TF32 epilogue=DEFAULT");
}

std::string refusal(const GemmPlan &plan, int sm = 90) {
  std::string error;
  return checkGemmPlan(plan, sm, error) ? "" : error;
}

Matmul square(DataType lhs, DataType rhs, DataType out) {
  return {buffer(lhs, {32, 32}), buffer(rhs, {32, 32}), buffer(out, {32, 32})};
}

/// cuBLASLt's table of types.
TEST(GemmPlan, Types) {
  const DataType f64 = DataType::F64, e4 = DataType::F8E4M3FN, e5 = DataType::F8E5M2;
  for (auto [lhs, rhs, out] : {std::tuple(f32, f32, f32), std::tuple(f16, f16, f16),
                               std::tuple(f16, f16, f32), std::tuple(bf16, bf16, bf16),
                               std::tuple(bf16, bf16, f32), std::tuple(f64, f64, f64)})
    EXPECT_EQ(refusal(square(lhs, rhs, out).plan()), "");
  EXPECT_EQ(
      refusal(square(f16, bf16, f32).plan()),
      "a matmul of f16 and bf16 into f32: both operands must have one type; cast one");
  EXPECT_EQ(
      refusal(square(f32, f32, bf16).plan()),
      "a matmul of f32 and f32 into bf16 does not exist in cuBLASLt; the result may "
      "have the operands' type, or be f32 if they are f16 or bf16");
  EXPECT_NE(refusal(square(f16, f16, bf16).plan()), "");
  EXPECT_NE(refusal(square(f64, f64, f32).plan()), "");
  EXPECT_NE(refusal(square(DataType::I8, DataType::I8, DataType::I32).plan()), "");
  // 8-bit floats: from Ada on, rows against rows before Blackwell.
  Matmul f8 = square(e4, e5, bf16);
  f8.transposeRhs = true;
  EXPECT_EQ(refusal(f8.plan()), "");
  EXPECT_EQ(refusal(f8.plan(), 80),
            "a matmul of f8E4M3FN and f8E5M2 into bf16 needs sm_89 or newer");
  EXPECT_NE(refusal(square(e4, e4, bf16).plan()), "");
  EXPECT_EQ(refusal(square(e4, e4, bf16).plan(), 100), "");
  EXPECT_EQ(refusal(square(e4, e4, bf16).plan(), 120),
            "a matmul of f8E4M3FN and f8E4M3FN into bf16: on sm_120 the summed dimension "
            "must be the last one of both operands; transpose a copy");
  f8.lhs.type = e5;
  EXPECT_EQ(refusal(f8.plan()),
            "a matmul of f8E5M2 and f8E5M2 into bf16: one operand must be f8E4M3FN");
  f8 = square(e4, f16, bf16);
  EXPECT_NE(refusal(f8.plan()), "");
  Matmul odd{buffer(e4, {32, 24}), buffer(e4, {32, 24}), buffer(f32, {32, 32}), false,
             true};
  EXPECT_EQ(refusal(odd.plan()), "a matmul of f8E4M3FN and f8E4M3FN into f32: all "
                                 "dimensions must be multiples of 16");
}

/// Fewer bits than f32 are for sums of two 8-bit operands without scales of blocks.
TEST(GemmPlan, FastAccumulation) {
  const DataType e4 = DataType::F8E4M3FN, e5 = DataType::F8E5M2;
  Matmul matmul = square(e4, e5, f32);
  matmul.transposeRhs = true;
  GemmPlan plan = matmul.plan();
  EXPECT_FALSE(plan.fastAccumulation);
  EXPECT_EQ(describeGemmPlan(plan).find("fast"), std::string::npos);
  plan.fastAccumulation = true;
  EXPECT_NE(describeGemmPlan(plan).find(" fast-accumulation"), std::string::npos);
  for (int sm : {89, 90, 100, 120})
    EXPECT_EQ(refusal(plan, sm), "");
  GemmPlan wide = square(bf16, bf16, f32).plan();
  wide.fastAccumulation = true;
  EXPECT_EQ(refusal(wide), "fast accumulation is for matmuls of two 8-bit floats, found "
                           "bf16 and bf16");
  plan.scalingA = plan.scalingB = GemmScaling::Vec128F32;
  EXPECT_EQ(refusal(plan),
            "fast accumulation is for matmuls of two 8-bit floats without scales of "
            "blocks, found VEC128_32F and VEC128_32F");
  // In a program: what the file may hold.
  Instruction instruction = matmul.instruction();
  std::get<MatmulCall>(*instruction.call).fastAccumulation = true;
  std::string error;
  EXPECT_TRUE(checkCall(instruction, error)) << error;
  ASSERT_TRUE(makeGemmPlan(instruction, /*allowTF32=*/false, plan, error)) << error;
  EXPECT_TRUE(plan.fastAccumulation);
  instruction.refs[1].type = bf16;
  EXPECT_FALSE(checkCall(instruction, error));
  EXPECT_EQ(error, "fast accumulation is for matmuls of two 8-bit floats without scales "
                   "of blocks");
}

TEST(GemmPlan, ComputeTypes) {
  GemmPlan plan = square(f32, f32, f32).plan();
  for (GemmCompute compute : {GemmCompute::F32, GemmCompute::F32FastTF32}) {
    plan.compute = compute;
    EXPECT_EQ(refusal(plan), "");
  }
  plan.compute = GemmCompute::F32EmulatedBF16x9;
  EXPECT_EQ(refusal(plan, 100), "");
  EXPECT_EQ(refusal(plan), "summing as nine matmuls of bf16 needs sm_100 or newer");
  plan.compute = GemmCompute::F64;
  EXPECT_EQ(refusal(plan), "matmuls of f32 are not computed as 64F");
  plan = square(bf16, bf16, f32).plan(/*allowTF32=*/true);
  EXPECT_EQ(plan.compute, GemmCompute::F32);
  plan.compute = GemmCompute::F32FastTF32;
  EXPECT_EQ(refusal(plan), "matmuls of bf16 are not computed as 32F_FAST_TF32");
}

TEST(GemmPlan, Epilogues) {
  Matmul matmul = square(f16, f16, f16);
  matmul.bias = f32;
  matmul.epilogue = Epilogue::Gelu;
  EXPECT_EQ(refusal(matmul.plan()),
            "the epilogue GELU_BIAS needs a bias of f16 with a result of f16, found "
            "f32; cast it, or add it in a kernel");
  matmul.bias = f16;
  EXPECT_EQ(refusal(matmul.plan()), "");
  matmul.out.type = f32;
  EXPECT_NE(refusal(matmul.plan()), "");
  matmul.bias = f32;
  EXPECT_EQ(refusal(matmul.plan()), "");

  GemmPlan plan = square(bf16, bf16, bf16).plan();
  plan.bias = bf16;
  for (GemmEpilogue epilogue : {GemmEpilogue::GeluAuxBias, GemmEpilogue::DGeluBGrad}) {
    plan.epilogue = epilogue;
    plan.auxLd = 32;
    EXPECT_EQ(refusal(plan), "");
    plan.auxLd = 24;
    EXPECT_NE(refusal(plan), "");
  }
  // One bit an element.
  for (GemmEpilogue epilogue : {GemmEpilogue::ReluAuxBias, GemmEpilogue::DReluBGrad}) {
    plan.epilogue = epilogue;
    plan.auxLd = 128;
    EXPECT_EQ(refusal(plan), "");
    plan.auxLd = 32;
    EXPECT_NE(refusal(plan), "");
  }
  plan.epilogue = static_cast<GemmEpilogue>(3);
  EXPECT_EQ(refusal(plan), "epilogue 3 does not exist in cuBLASLt");
  plan = square(DataType::F64, DataType::F64, DataType::F64).plan();
  plan.epilogue = GemmEpilogue::Relu;
  EXPECT_EQ(refusal(plan), "the epilogue RELU does not exist for f64");
}

/// A matmul of 8-bit floats with K = 256, whose operands have scales.
GemmPlan scaled(GemmScaling lhs, GemmScaling rhs) {
  const DataType e4 = DataType::F8E4M3FN;
  Matmul matmul{buffer(e4, {32, 256}), buffer(e4, {48, 256}), buffer(bf16, {32, 48}),
                false, true};
  GemmPlan plan = matmul.plan();
  // The right side is A.
  plan.scalingA = rhs;
  plan.scalingB = lhs;
  return plan;
}

/// NVIDIA's tables: "Scaling Mode Support Overview", and which modes go together.
TEST(GemmPlan, Scales) {
  const GemmScaling none = GemmScaling::None, vec128 = GemmScaling::Vec128F32,
                    square128 = GemmScaling::Block128F32, vec32 = GemmScaling::Vec32UE8M0,
                    vec16 = GemmScaling::Vec16UE4M3;
  EXPECT_EQ(refusal(scaled(vec128, vec128)), "");
  EXPECT_EQ(refusal(scaled(vec128, square128)), "");
  EXPECT_EQ(refusal(scaled(square128, vec128)), "");
  EXPECT_EQ(
      refusal(scaled(square128, square128)),
      "a matmul with scales BLK128x128_32F and BLK128x128_32F: one operand must have "
      "VEC128_32F");
  for (int sm : {89, 100, 103, 120})
    EXPECT_NE(refusal(scaled(vec128, square128), sm), "") << sm;
  EXPECT_EQ(refusal(scaled(vec128, vec128), 100),
            "a matmul with scales VEC128_32F and VEC128_32F exists for sm_90 alone, and "
            "this is sm_100; use VEC32_UE8M0 with scales that are powers of two");
  EXPECT_EQ(refusal(scaled(vec128, vec128), 89),
            "a matmul with scales VEC128_32F and VEC128_32F exists for sm_90 alone, and "
            "this is sm_89; use one scale for each tensor");
  for (int sm : {100, 103, 120})
    EXPECT_EQ(refusal(scaled(vec32, vec32), sm), "") << sm;
  EXPECT_EQ(refusal(scaled(vec32, vec32)),
            "a matmul with scales VEC32_UE8M0 and VEC32_UE8M0 needs sm_100 or newer, and "
            "this is sm_90; use VEC128_32F");
  for (auto [lhs, rhs] : {std::pair(vec32, vec128), std::pair(vec16, vec16)})
    for (int sm : {90, 100})
      EXPECT_NE(refusal(scaled(lhs, rhs), sm), "") << getName(lhs) << getName(rhs);
  EXPECT_EQ(refusal(scaled(none, vec128)),
            "a matmul with scales VEC128_32F and SCALAR_32F: either both operands have "
            "scales of blocks or none");

  // Types, sizes and epilogues.
  GemmPlan plan = scaled(vec128, vec128);
  plan.a.type = plan.b.type = bf16;
  EXPECT_EQ(refusal(plan),
            "a matmul with scales VEC128_32F and VEC128_32F needs operands "
            "of 8 bits, found bf16 and bf16");
  plan = scaled(vec128, vec128);
  plan.d.type = DataType::F8E4M3FN;
  EXPECT_NE(refusal(plan), "");
  plan = scaled(vec128, vec128);
  plan.epilogue = GemmEpilogue::Bias;
  plan.bias = bf16;
  EXPECT_EQ(refusal(plan), "");
  plan.epilogue = GemmEpilogue::Relu;
  EXPECT_EQ(refusal(plan),
            "a matmul with scales VEC128_32F and VEC128_32F has no epilogue "
            "but a bias; found RELU");
  plan = scaled(vec128, vec128);
  plan.batch = 2;
  plan.d.stride = 32 * 48;
  EXPECT_EQ(refusal(plan), "a matmul with scales VEC128_32F and VEC128_32F is for one "
                           "matmul, not for a batch");
  plan = scaled(vec128, vec128);
  plan.k = plan.a.rows = plan.b.rows = plan.a.ld = plan.b.ld = 120;
  EXPECT_NE(refusal(plan), "");
  EXPECT_EQ(describeGemmPlan(scaled(vec128, square128)),
            "m=48 n=32 k=256 A=f8E4M3FN[256x48 ld 256]T B=f8E4M3FN[256x32 ld 256]N "
            "D=bf16[48x32 ld 48]N compute=32F epilogue=DEFAULT "
            "scales=BLK128x128_32F,VEC128_32F");
}

/// As NVIDIA documents the layouts.
TEST(GemmPlan, ScaleLayouts) {
  const GemmScaling vec128 = GemmScaling::Vec128F32, square = GemmScaling::Block128F32,
                    vec32 = GemmScaling::Vec32UE8M0, vec16 = GemmScaling::Vec16UE4M3;
  // M-major: M x L.
  EXPECT_EQ(countScales(vec128, 48, 300), 48 * 3);
  EXPECT_EQ(findScale(vec128, 48, 300, 7, 2), 2 * 48 + 7);
  // K-major, with columns of L rounded up to 4.
  EXPECT_EQ(countScales(square, 300, 640), 8 * 3);
  EXPECT_EQ(findScale(square, 300, 640, 129, 4), 8 + 4);
  // Tiles of 128 x 4: offset = (outer % 32) * 16 + (outer / 32) * 4 + inner; tiles lie by
  // rows, at (sf_inner + sf_outer * sf_inner_dim) * 128 for a multiple of 4 sf_inner.
  EXPECT_EQ(countScales(vec32, 130, 160), 256 * 8);
  EXPECT_EQ(findScale(vec32, 130, 160, 0, 1), 1);
  EXPECT_EQ(findScale(vec32, 130, 160, 1, 0), 16);
  EXPECT_EQ(findScale(vec32, 130, 160, 32, 0), 4);
  EXPECT_EQ(findScale(vec32, 130, 160, 127, 3), 31 * 16 + 3 * 4 + 3);
  EXPECT_EQ(findScale(vec32, 130, 160, 0, 4), 512);
  EXPECT_EQ(findScale(vec32, 130, 160, 128, 0), 8 * 128);
  EXPECT_EQ(countScales(vec16, 130, 160), 256 * 12);
  EXPECT_EQ(findScale(vec16, 130, 160, 129, 9), 3 * 512 + 2 * 512 + 16 + 1);
  // Each scale has a place of its own.
  for (GemmScaling scaling : {vec128, vec32, vec16}) {
    const int64_t outer = 144, k = 272, blocks = (k - 1) / getScaleLength(scaling) + 1;
    std::vector<int> uses(countScales(scaling, outer, k), 0);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t block = 0; block < blocks; ++block)
        EXPECT_EQ(++uses.at(findScale(scaling, outer, k, o, block)), 1);
  }
}

/// Calls with scales, and what makes them.
TEST(GemmPlan, ScaledCalls) {
  const DataType e4 = DataType::F8E4M3FN;
  Instruction call;
  MatmulCall matmul;
  matmul.transposeRhs = matmul.hasLhsScales = matmul.hasRhsScales = true;
  matmul.lhsScaling = GemmScaling::Vec128F32;
  matmul.rhsScaling = GemmScaling::Block128F32;
  call.call = matmul;
  call.numInputs = 4;
  call.numOutputs = 1;
  call.refs = {buffer(e4, {32, 256}), buffer(e4, {48, 256}), buffer(f32, {64}),
               buffer(f32, {4}), buffer(bf16, {32, 48})};
  std::string error;
  GemmPlan plan;
  ASSERT_TRUE(makeGemmPlan(call, false, plan, error)) << error;
  EXPECT_EQ(plan.scalingA, GemmScaling::Block128F32);
  EXPECT_EQ(plan.scalingB, GemmScaling::Vec128F32);
  EXPECT_TRUE(checkCudaCall(call, 90, error)) << error;
  call.refs[3].dims = {2};
  EXPECT_FALSE(makeGemmPlan(call, false, plan, error));
  EXPECT_EQ(error, "the scales of a matmul's operand do not fit it");
  call.refs[3].dims = {4};
  std::get<MatmulCall>(*call.call).hasRhsScales = false;
  EXPECT_FALSE(makeGemmPlan(call, false, plan, error));

  GemmQuantizeCall quantize;
  quantize.block = {1, 128};
  quantize.scaling = GemmScaling::Vec128F32;
  quantize.hasRow = quantize.hasRowScales = true;
  quantize.hasColumn = quantize.hasColumnScales = true;
  Instruction made;
  made.call = quantize;
  made.numInputs = 1;
  made.numOutputs = 4;
  made.refs = {buffer(bf16, {32, 144}), buffer(e4, {32, 144}), buffer(f32, {64}),
               buffer(e4, {144, 32}), buffer(f32, {144})};
  EXPECT_TRUE(checkCall(made, error)) << error;
  auto expectMisfit = [&](auto change) {
    Instruction bad = made;
    change(bad, std::get<GemmQuantizeCall>(*bad.call));
    EXPECT_FALSE(checkCall(bad, error));
  };
  expectMisfit([](Instruction &bad, auto &) { bad.refs[3].dims = {32, 144}; });
  expectMisfit([](Instruction &bad, auto &) { bad.refs[4].dims = {143}; });
  expectMisfit([](Instruction &bad, auto &) { bad.refs[0].dims = {24, 144}; });
  expectMisfit([](Instruction &bad, auto &) { bad.refs[0].type = DataType::F8E4M3FN; });
  expectMisfit([](Instruction &, auto &call) { call.block = {1, 64}; });
  expectMisfit(
      [](Instruction &, auto &call) { call.scaling = GemmScaling::Block128F32; });
  expectMisfit([](Instruction &, auto &call) { call.scaling = GemmScaling::Vec16UE4M3; });
}

/// NVFP4: two numbers in a byte, blocks of 16.
TEST(GemmPlan, FourBits) {
  const DataType i8 = DataType::I8, e4 = DataType::F8E4M3FN;
  Instruction call;
  MatmulCall matmul;
  matmul.transposeRhs = matmul.hasLhsScales = matmul.hasRhsScales = true;
  matmul.lhsScaling = matmul.rhsScaling = GemmScaling::Vec16UE4M3;
  call.call = matmul;
  call.numInputs = 4;
  call.numOutputs = 1;
  // K is 96: 6 blocks, filled up to 8.
  call.refs = {buffer(i8, {32, 48}), buffer(i8, {64, 48}), buffer(e4, {128 * 8}),
               buffer(e4, {128 * 8}), buffer(bf16, {32, 64})};
  std::string error;
  GemmPlan plan;
  ASSERT_TRUE(makeGemmPlan(call, false, plan, error)) << error;
  EXPECT_EQ(describeGemmPlan(plan),
            "m=64 n=32 k=96 A=f4E2M1FN[96x64 ld 96]T B=f4E2M1FN[96x32 ld 96]N "
            "D=bf16[64x32 ld 64]N compute=32F epilogue=DEFAULT "
            "scales=VEC16_UE4M3,VEC16_UE4M3");
  EXPECT_TRUE(checkCudaCall(call, 100, error)) << error;
  EXPECT_FALSE(checkCudaCall(call, 90, error));
  EXPECT_EQ(error, "a matmul of f4E2M1FN and f4E2M1FN into bf16 needs sm_100 or newer");
  GemmPlan bad = plan;
  bad.scalingA = GemmScaling::Vec32UE8M0;
  EXPECT_FALSE(checkGemmPlan(bad, 100, error));
  bad = plan;
  bad.scalingA = bad.scalingB = GemmScaling::None;
  EXPECT_FALSE(checkGemmPlan(bad, 100, error));
  bad = plan;
  bad.k = bad.a.rows = bad.a.ld = bad.b.rows = bad.b.ld = 80;
  EXPECT_FALSE(checkGemmPlan(bad, 100, error));
  EXPECT_EQ(error, "a matmul of f4E2M1FN and f4E2M1FN into bf16: all dimensions must be "
                   "multiples of 16, and K of 32");
  bad = plan;
  bad.a.type = bad.b.type = e4;
  EXPECT_FALSE(checkGemmPlan(bad, 100, error));
  EXPECT_EQ(error, "a matmul with scales VEC16_UE4M3 and VEC16_UE4M3 needs operands of "
                   "f4E2M1FN, found f8E4M3FN and f8E4M3FN");
  PlainMatmul plain;
  ASSERT_TRUE(makePlainMatmul(plan, plain));
  EXPECT_EQ(plain.function, "mpt_matmul_f4E2M1FN_f4E2M1FN_bf16_VEC16_UE4M3_VEC16_UE4M3");
  // One operand of bytes alone.
  call.refs[0] = buffer(e4, {32, 96});
  EXPECT_FALSE(makeGemmPlan(call, false, plan, error));

  GemmQuantizeCall quantize;
  quantize.block = {1, 16};
  quantize.scaling = GemmScaling::Vec16UE4M3;
  quantize.rule = ScaleRule::Largest;
  quantize.hasFactor = quantize.hasRow = quantize.hasRowScales = true;
  Instruction made;
  made.call = quantize;
  made.numInputs = 2;
  made.numOutputs = 2;
  made.refs = {buffer(f32, {32, 96}), buffer(f32, {}), buffer(i8, {32, 48}),
               buffer(e4, {128 * 8})};
  EXPECT_TRUE(checkCall(made, error)) << error;
  made.refs[2].dims = {32, 96};
  EXPECT_FALSE(checkCall(made, error));
}

/// One scale for the tensor, both orientations and the amax of tiles.
TEST(GemmPlan, TensorScale) {
  const DataType e5 = DataType::F8E5M2;
  GemmQuantizeCall quantize;
  quantize.block = {0, 0};
  quantize.hasFactor = quantize.hasRow = quantize.hasColumn = quantize.hasAmax = true;
  quantize.rounding = Rounding::BF16;
  Instruction made;
  made.call = quantize;
  made.numInputs = 2;
  made.numOutputs = 3;
  made.refs = {buffer(f32, {144, 272}), buffer(f32, {}), buffer(e5, {144, 272}),
               buffer(e5, {272, 144}), buffer(f32, {2, 3})};
  std::string error;
  EXPECT_TRUE(checkCall(made, error)) << error;
  auto expectMisfit = [&](auto change) {
    Instruction bad = made;
    change(bad, std::get<GemmQuantizeCall>(*bad.call));
    EXPECT_FALSE(checkCall(bad, error));
  };
  expectMisfit([](Instruction &bad, auto &) { bad.refs[4].dims = {2, 2}; });
  expectMisfit([](Instruction &bad, auto &) { bad.refs[1].dims = {2}; });
  expectMisfit([](Instruction &bad, auto &) { bad.refs[3].dims = {144, 272}; });
  expectMisfit([](Instruction &bad, auto &) { bad.refs[0].type = bf16; });
  expectMisfit([](Instruction &, auto &call) { call.block = {1, 128}; });
  expectMisfit([](Instruction &, auto &call) { call.hasRowScales = true; });
}

TEST(GemmPlan, Rounding) {
  Instruction call = square(f32, f32, f32).instruction();
  std::string error;
  EXPECT_TRUE(checkCudaCall(call, 90, error)) << error;
  ASSERT_TRUE(setRounding(*call.call, /*operand=*/1, Rounding::BF16));
  EXPECT_FALSE(checkCudaCall(call, 90, error));
  EXPECT_EQ(error, "GPUs do not round an operand while they read it; cast it first");
}

TEST(GemmPlan, Damage) {
  GemmPlan good = square(f32, f32, f32).plan();
  GemmPlan plan = good;
  plan.a.ld = 31;
  EXPECT_EQ(refusal(plan), "matrix A of a matmul is 32 x 32 with a leading dimension of "
                           "31, expected 32 x 32");
  plan = good;
  plan.transposeB = true;
  plan.b.rows = 16;
  EXPECT_NE(refusal(plan), "");
  plan = good;
  plan.k = 0;
  EXPECT_EQ(refusal(plan),
            "a dimension of a matmul is 0; cuBLASLt takes 1 to 2147483647");
  plan = good;
  plan.batch = 2;
  EXPECT_EQ(refusal(plan), "the results of a batch overlap");
  Matmul wrong = square(f32, f32, f32);
  wrong.rhs.dims = {31, 32};
  std::string error;
  EXPECT_FALSE(makeGemmPlan(wrong.instruction(), false, plan, error));
  EXPECT_EQ(error, "the operands of a matmul do not fit together");
  // Something is saved, but there is no activation.
  Instruction saving = square(f32, f32, f32).instruction();
  std::get<MatmulCall>(*saving.call).hasSaved = true;
  saving.numOutputs = 2;
  saving.refs.push_back(buffer(f32, {32, 32}));
  EXPECT_FALSE(makeGemmPlan(saving, false, plan, error));
  EXPECT_EQ(error, "its epilogue does not read and write these buffers");
}

} // namespace
