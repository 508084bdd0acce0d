//===- WarpgroupAttentionTest.cpp - Attention by wgmma and TMA -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernel for sm_90a in the emulator against attention in f64, and with one
/// instruction less or another at a time, which has to show.
///
//===----------------------------------------------------------------------===//

#include "WarpgroupRunner.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;
using namespace mpt::test;

namespace {

class Kernel {
public:
  explicit Kernel(const Case &c)
      : context(makeDeviceContext()), c(c), shape(makeShape(c, *context)),
        plan(planWarpgroupAttention(shape)),
        q(c, shape.query, c.heads * c.queries * c.width, 4, 1),
        k(c, shape.key, c.groups * c.keys * c.width, 4, 2),
        v(c, shape.value, c.groups * c.keys * c.valueWidth, 1, 3) {
    computeWanted();
  }

  /// What differs from attention in f64, or fails; "" if all is right.
  std::string run(const Change &change = {}) {
    if (!plan)
      return "no plan";
    Tensor o(shape.result, c.entries * c.heads * c.queries * c.valueWidth);
    std::fill(o.bits.begin(), o.bits.end(), 0x7fff);
    std::vector<float> lse(shape.batch * c.queries, NAN);
    std::string error = runs.run(
        *context,
        {plan->blocks,
         plan->threads,
         plan->sharedBytes,
         {{plan->query, q.data()}, {plan->key, k.data()}, {plan->value, v.data()}},
         {q.data(), k.data(), v.data(), o.data(), lse.data()},
         [&](GPUFunctionBuilder &code) { emitWarpgroupAttention(code, shape, *plan); }},
        change);
    return error.empty() ? compare(o, lse) : error;
  }

  std::unique_ptr<MLIRContext> context;
  const Case &c;
  AttentionShape shape;
  std::optional<WarpgroupAttentionPlan> plan;
  KernelRuns runs;

private:
  void computeWanted() {
    const double u = c.isF16 ? 0x1p-11 : 0x1p-8, f = 0x1p-24;
    for (int64_t entry = 0; entry < c.entries; ++entry)
      for (int64_t head = 0; head < c.heads; ++head)
        for (int64_t row = 0; row < c.queries; ++row) {
          const int64_t group = head / (c.heads / c.groups);
          const int64_t seen = c.isCausal ? row + 1 + c.keys - c.queries : c.keys;
          std::vector<double> scores(seen);
          double most = -INFINITY, error = 0, largest = 0;
          for (int64_t j = 0; j < seen; ++j) {
            double sum = 0, size = 0;
            for (int64_t i = 0; i < c.width; ++i) {
              const double term = q.numbers[q.at(entry, head, row, i)] *
                                  k.numbers[k.at(entry, group, j, i)];
              sum += term;
              size += std::fabs(term);
            }
            scores[j] = sum * shape.scale;
            most = std::max(most, scores[j]);
            // Sums of `width` terms, then roundings of what exp2 takes.
            error =
                std::max(error, shape.scale * size * static_cast<double>(c.width) * f);
            largest = std::max(largest, std::fabs(scores[j]));
          }
          error += 4 * largest * 2 * f + 0x1p-21;
          double sum = 0;
          for (double &score : scores)
            sum += score = std::exp(score - most);
          const double wantedLse = most + std::log(sum);
          const double keys = static_cast<double>(seen);
          ofLse.push_back(
              {wantedLse, 2 * error + keys * f + 4 * f * (std::fabs(wantedLse) + 1)});
          for (int64_t i = 0; i < c.valueWidth; ++i) {
            double wanted = 0, size = 0;
            for (int64_t j = 0; j < seen; ++j) {
              const double term = scores[j] / sum * v.numbers[v.at(entry, group, j, i)];
              wanted += term;
              size += std::fabs(term);
            }
            // Probabilities are rounded (f16 has subnormal ones), added up, divided by
            // their sum, and rounded again.
            ofO.push_back({wanted, (u + 2 * error + (keys + 8) * 2 * f) * size * 1.01 +
                                       u * std::fabs(wanted) +
                                       (c.isF16 ? keys * 0x1p-25 : 0) +
                                       (c.isF16 ? 0x1p-25 : 0)});
          }
        }
  }

  std::string compare(Tensor &o, const std::vector<float> &lse) const {
    for (int64_t number = 0; number < shape.batch * c.queries; ++number) {
      if (!(std::fabs(lse[number] - ofLse[number].value) <= ofLse[number].bound))
        return "log-sum-exp of row " + std::to_string(number) + ": " +
               std::to_string(lse[number]) + ", wanted " +
               std::to_string(ofLse[number].value);
      const int64_t head = number / c.queries;
      for (int64_t i = 0; i < c.valueWidth; ++i) {
        const Wanted &wanted = ofO[number * c.valueWidth + i];
        const double found =
            valueOf(o.data()[o.at(head / c.heads, head % c.heads, number % c.queries, i)],
                    c.isF16);
        if (!(std::fabs(found - wanted.value) <= wanted.bound))
          return "element " + std::to_string(i) + " of row " + std::to_string(number) +
                 ": " + std::to_string(found) + ", wanted " +
                 std::to_string(wanted.value);
      }
    }
    return "";
  }

  Tensor q, k, v;
  std::vector<Wanted> ofLse, ofO;
};

TEST(WarpgroupAttention, IsThatInF64) {
  const Case cases[] = {
      {1, 2, 2, 128, 128, 64, 64, false, false, false},
      {2, 2, 1, 300, 300, 64, 64, true, false, true},
      {1, 2, 2, 130, 449, 64, 64, true, true, true},
      {1, 1, 1, 70, 520, 128, 128, false, false, false},
      {1, 2, 2, 200, 200, 128, 128, true, false, true},
      {1, 1, 1, 256, 384, 128, 64, true, true, false},
      {1, 1, 1, 1, 65, 64, 128, false, true, false},
  };
  for (const Case &c : cases)
    EXPECT_EQ(Kernel(c).run(), "")
        << c.queries << " queries, " << c.keys << " keys of " << c.width;
}

/// Causal, with two tiles that hide keys, three that do not, and two stages.
const Case kMutated = {1, 1, 1, 128, 600, 64, 64, true, false, false};

TEST(WarpgroupAttention, EachInstructionIsNeeded) {
  Kernel kernel(kMutated);
  ASSERT_EQ(kernel.run(), "");
  EXPECT_GT(kernel.runs.getOrders().size(), 40u);
  expectOrdersAreNeeded(kernel.runs,
                        [&](const Change &change) { return kernel.run(change).empty(); });
}

TEST(WarpgroupAttention, MatricesAreDescribed) {
  // The distance of panels says nothing where there is one, and something where a matmul
  // has values of two.
  Case wide = kMutated;
  wide.valueWidth = 128;
  Kernel kernel(kMutated), ofWide(wide);
  ASSERT_EQ(ofWide.run(), "");
  // Each bit of a descriptor's constant fields, one after the other.
  for (int bit : {16, 24, 32, 38, 46, 49, 62, 63}) {
    Change change;
    change.bits = static_cast<int64_t>(uint64_t{1} << bit);
    if (bit >= 32)
      EXPECT_NE(kernel.run(change), "") << bit;
    else
      EXPECT_EQ(kernel.run(change), "") << bit;
    EXPECT_NE(ofWide.run(change), "") << bit;
  }
  for (int swizzle : {0, 32, 64}) {
    Change change;
    change.swizzle = swizzle;
    EXPECT_NE(kernel.run(change), "") << swizzle;
  }
  EXPECT_EQ(kernel.run(), "");
  EXPECT_EQ(ofWide.run(), "");
  // Whether a matrix is transposed.
  for (auto [from, to] : {std::pair("adds, 1, 1, 1;", "adds, 1, 1, 0;"),
                          std::pair("adds, 1, 1, 0, 0;", "adds, 1, 1, 0, 1;")}) {
    bool found = false;
    auto mutate = [&, from = from, to = to](gpu::GPUModuleOp device) {
      device.walk([&](LLVM::InlineAsmOp op) {
        std::string text = op.getAsmString().str();
        if (size_t at = text.find(from); at != std::string::npos) {
          found = true;
          op.setAsmString(text.replace(at, std::strlen(from), to));
        }
      });
    };
    Change change;
    change.mutate = mutate;
    EXPECT_NE(kernel.run(change), "") << to;
    EXPECT_TRUE(found) << from;
  }
}

TEST(WarpgroupAttention, WhatIsLeftToTheOtherKernel) {
  MLIRContext context;
  const Case plain = {2, 4, 2, 256, 256, 64, 64, true, false, true};
  const AttentionShape shape = makeShape(plain, context);
  ASSERT_TRUE(planWarpgroupAttention(shape));
  auto refuses = [&](llvm::function_ref<void(AttentionShape &)> change) {
    AttentionShape other = shape;
    change(other);
    return !planWarpgroupAttention(other);
  };
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.width = 96; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.valueWidth = 256; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.maskStrides = {0, 0, 0, 1}; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.biasStrides = {0, 0, 0, 1}; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.dropout = 0.1; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.scale = -1; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.keys = 255; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.key.first = 4; }));
  // Rows at multiples of 8 bytes, and rows that overlap.
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.query.row = 260; }));
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.value.row = 64; }));
  // A stride that is no multiple of the smaller one.
  EXPECT_TRUE(refuses([](AttentionShape &s) { s.key.row = 64 * 2 + 8; }));
}

TEST(WarpgroupAttention, MapsOfTensors) {
  // 2 entries, 4 heads, 100 rows, [B, T, H, D].
  auto map = planTensorMap({100 * 256, 64, 256, 0}, 64, 100, 4, 2, 128);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->sizes, (std::array<int64_t, 4>{64, 4, 100, 2}));
  EXPECT_EQ(map->strides, (std::array<int64_t, 3>{128, 512, 51200}));
  EXPECT_EQ(map->box, (std::array<int64_t, 4>{64, 1, 128, 1}));
  EXPECT_EQ(map->row, 2u);
  EXPECT_EQ(map->head, 1u);
  EXPECT_EQ(map->entry, 3u);
  // [B, H, T, D] of one entry, whose stride says nothing.
  map = planTensorMap({7, 6400, 64, 0}, 64, 100, 4, 1, 64);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->sizes, (std::array<int64_t, 4>{64, 100, 4, 1}));
  EXPECT_EQ(map->strides, (std::array<int64_t, 3>{128, 12800, 51200}));
  EXPECT_EQ(map->row, 1u);
  // A part of [B, T, 3, H, D].
  EXPECT_TRUE(planTensorMap({100 * 768, 64, 768, 256}, 64, 100, 4, 2, 128));
  EXPECT_FALSE(planTensorMap({100 * 768, 64, 767, 256}, 64, 100, 4, 2, 128));
  EXPECT_FALSE(planTensorMap({100 * 768, 64, 768, 4}, 64, 100, 4, 2, 128));
}

} // namespace
