//===- WarpgroupGradTest.cpp - Attention's gradients by wgmma --*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels for sm_90a in the emulator against attention's gradients in f64, and with
/// one instruction less or another at a time, which has to show.
///
//===----------------------------------------------------------------------===//

#include "WarpgroupRunner.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;
using namespace mpt::test;

namespace {

/// What one query and one key make of each other, and bounds of what that may differ by
/// where it is computed in f32 and rounded to operands of matmuls.
struct Pair {
  double p = 0, slope = 0, errorOfP = 0, errorOfSlope = 0;
};

class Gradients {
public:
  explicit Gradients(const Case &c)
      : context(makeDeviceContext()), c(c), shape(makeShape(c, *context)),
        ofQuery(planWarpgroupQueryGradient(shape)),
        ofKeys(planWarpgroupKeyGradients(shape)),
        dy(c, shape.dy, c.heads * c.queries * c.valueWidth, 1, 1),
        q(c, shape.query, c.heads * c.queries * c.width, 4, 2),
        k(c, shape.key, c.groups * c.keys * c.width, 4, 3),
        v(c, shape.value, c.groups * c.keys * c.valueWidth, 1, 4),
        o(c, shape.result, c.heads * c.queries * c.valueWidth, 0.5, 5) {
    computePairs();
    ofDquery = sumRows(c.heads, c.queries, c.width,
                       [&](int64_t entry, int64_t head, int64_t row, auto add) {
                         for (int64_t key = 0; key < c.keys; ++key)
                           add(pairOf(entry, head, row, key), /*ofP=*/false, k,
                               head / (c.heads / c.groups), key);
                       });
    auto overQueries = [&](bool ofP, const Tensor &of) {
      return [&, ofP](int64_t entry, int64_t group, int64_t key, auto add) {
        const int64_t sharing = c.heads / c.groups;
        for (int64_t head = group * sharing; head < (group + 1) * sharing; ++head)
          for (int64_t row = 0; row < c.queries; ++row)
            add(pairOf(entry, head, row, key), ofP, of, head, row);
      };
    };
    ofDkey = sumRows(c.groups, c.keys, c.width, overQueries(false, q));
    ofDvalue = sumRows(c.groups, c.keys, c.valueWidth, overQueries(true, dy));
  }

  /// What differs from gradients in f64, or fails; "" if all is right.
  std::string runQuery(const Change &change = {}) {
    if (!ofQuery)
      return "no plan";
    Tensor dquery(shape.dquery, c.entries * c.heads * c.queries * c.width);
    std::fill(dquery.bits.begin(), dquery.bits.end(), 0x7fff);
    std::vector<float> found(shape.batch * c.queries, NAN);
    std::string error =
        queryRuns.run(*context,
                      {ofQuery->blocks,
                       ofQuery->threads,
                       ofQuery->sharedBytes,
                       {{ofQuery->x, k.data()}, {ofQuery->y, v.data()}},
                       {dy.data(), q.data(), k.data(), v.data(), lse.data(), o.data(),
                        dquery.data(), found.data()},
                       [&](GPUFunctionBuilder &code) {
                         emitWarpgroupQueryGradient(code, shape, *ofQuery);
                       }},
                      change);
    if (!error.empty())
      return error;
    for (int64_t row = 0; row < shape.batch * c.queries; ++row)
      if (!(std::fabs(found[row] - dots[row]) <= errorsOfDots[row]))
        return "dot of row " + std::to_string(row) + ": " + std::to_string(found[row]) +
               ", wanted " + std::to_string(dots[row]);
    return compare("dquery", dquery, ofDquery, c.heads, c.queries, c.width);
  }

  std::string runKeys(const Change &change = {}) {
    if (!ofKeys)
      return "no plan";
    Tensor dkey(shape.dkey, c.entries * c.groups * c.keys * c.width),
        dvalue(shape.dvalue, c.entries * c.groups * c.keys * c.valueWidth);
    std::fill(dkey.bits.begin(), dkey.bits.end(), 0x7fff);
    std::fill(dvalue.bits.begin(), dvalue.bits.end(), 0x7fff);
    std::vector<float> given(dots.begin(), dots.end());
    std::vector<std::pair<TensorMapPlan, void *>> maps = {{ofKeys->x, q.data()},
                                                          {ofKeys->y, dy.data()}};
    if (ofKeys->own) {
      maps.emplace_back((*ofKeys->own)[0], k.data());
      maps.emplace_back((*ofKeys->own)[1], v.data());
    }
    std::string error = keyRuns.run(*context,
                                    {ofKeys->blocks,
                                     ofKeys->threads,
                                     ofKeys->sharedBytes,
                                     maps,
                                     {dy.data(), q.data(), k.data(), v.data(), lse.data(),
                                      given.data(), dkey.data(), dvalue.data()},
                                     [&](GPUFunctionBuilder &code) {
                                       emitWarpgroupKeyGradients(code, shape, *ofKeys);
                                     }},
                                    change);
    if (!error.empty())
      return error;
    error = compare("dkey", dkey, ofDkey, c.groups, c.keys, c.width);
    return !error.empty()
               ? error
               : compare("dvalue", dvalue, ofDvalue, c.groups, c.keys, c.valueWidth);
  }

  std::unique_ptr<MLIRContext> context;
  const Case &c;
  AttentionShape shape;
  std::optional<WarpgroupGradPlan> ofQuery, ofKeys;
  KernelRuns queryRuns, keyRuns;

private:
  static constexpr double f = 0x1p-24;

  const Pair &pairOf(int64_t entry, int64_t head, int64_t row, int64_t key) const {
    return pairs[((entry * c.heads + head) * c.queries + row) * c.keys + key];
  }

  /// Sums of products of two rows, and of their absolute values.
  static std::pair<double, double> multiply(const Tensor &a, const Tensor &b, int64_t atA,
                                            int64_t atB, int64_t width) {
    double sum = 0, size = 0;
    for (int64_t i = 0; i < width; ++i) {
      sum += a.numbers[atA + i] * b.numbers[atB + i];
      size += std::fabs(a.numbers[atA + i] * b.numbers[atB + i]);
    }
    return {sum, size};
  }

  void computePairs() {
    const double u = c.isF16 ? 0x1p-11 : 0x1p-8;
    const auto width = static_cast<double>(c.width),
               valueWidth = static_cast<double>(c.valueWidth);
    pairs.resize(shape.batch * c.queries * c.keys);
    for (int64_t entry = 0; entry < c.entries; ++entry)
      for (int64_t head = 0; head < c.heads; ++head)
        for (int64_t row = 0; row < c.queries; ++row) {
          const int64_t group = head / (c.heads / c.groups);
          const int64_t seen = c.isCausal ? row + 1 + c.keys - c.queries : c.keys;
          Pair *mine = &pairs[((entry * c.heads + head) * c.queries + row) * c.keys];
          std::vector<double> scores(seen), errors(seen);
          double sum = 0;
          for (int64_t j = 0; j < seen; ++j) {
            auto [score, size] = multiply(q, k, q.at(entry, head, row, 0),
                                          k.at(entry, group, j, 0), c.width);
            scores[j] = score * shape.scale;
            errors[j] = shape.scale * size * width * f;
            sum += std::exp(scores[j]);
          }
          lse.push_back(static_cast<float>(std::log(sum)));
          auto [dot, dotSize] = multiply(dy, o, dy.at(entry, head, row, 0),
                                         o.at(entry, head, row, 0), c.valueWidth);
          dots.push_back(dot);
          errorsOfDots.push_back((valueWidth + 1) * f * dotSize);
          for (int64_t j = 0; j < seen; ++j) {
            auto [slope, size] = multiply(dy, v, dy.at(entry, head, row, 0),
                                          v.at(entry, group, j, 0), c.valueWidth);
            // Roundings of what exp2 takes, and exp2's.
            const double error = errors[j] +
                                 8 * f * (std::fabs(scores[j]) + std::fabs(lse.back())) +
                                 0x1p-21;
            const double p = std::exp(scores[j] - lse.back());
            const double difference = slope - dot;
            const double ofDifference = valueWidth * f * size + errorsOfDots.back() +
                                        2 * f * std::fabs(difference);
            // p and the slope are rounded; f16 has subnormal ones.
            const double least = c.isF16 ? 0x1p-25 : 0;
            mine[j] = {p, p * difference, p * (u + error) * 1.01 + least,
                       p * 1.01 * ((u + error) * std::fabs(difference) + ofDifference) +
                           least};
          }
        }
  }

  /// All elements of a gradient: the sums of what `overTerms` adds.
  template <typename OverTerms>
  std::vector<Wanted> sumRows(int64_t heads, int64_t rows, int64_t width,
                              OverTerms overTerms) const {
    const double u = c.isF16 ? 0x1p-11 : 0x1p-8;
    std::vector<Wanted> all;
    for (int64_t entry = 0; entry < c.entries; ++entry)
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t row = 0; row < rows; ++row) {
          std::vector<double> wanted(width), bound(width);
          double count = 0, scale = 1;
          std::vector<double> sizes(width);
          overTerms(entry, head, row,
                    [&](const Pair &pair, bool ofP, const Tensor &of, int64_t ofHead,
                        int64_t ofRow) {
                      const double factor = ofP ? pair.p : pair.slope;
                      scale = ofP ? 1 : shape.scale;
                      count += factor != 0;
                      for (int64_t i = 0; i < width; ++i) {
                        const double x = of.numbers[of.at(entry, ofHead, ofRow, i)];
                        wanted[i] += factor * x;
                        sizes[i] += std::fabs(factor * x);
                        bound[i] +=
                            (ofP ? pair.errorOfP : pair.errorOfSlope) * std::fabs(x);
                      }
                    });
          for (int64_t i = 0; i < width; ++i) {
            const double result = wanted[i] * scale;
            all.push_back({result, scale * (bound[i] + (count + 2) * 2 * f * sizes[i]) +
                                       u * 1.01 * std::fabs(result) +
                                       (c.isF16 ? 0x1p-25 : 0)});
          }
        }
    return all;
  }

  /// Compares all elements of a gradient.
  std::string compare(const char *name, Tensor &found, const std::vector<Wanted> &wanted,
                      int64_t heads, int64_t rows, int64_t width) const {
    for (int64_t number = 0; number < static_cast<int64_t>(wanted.size()); ++number) {
      const int64_t i = number % width, row = number / width % rows,
                    head = number / width / rows % heads,
                    entry = number / width / rows / heads;
      const double is = valueOf(found.data()[found.at(entry, head, row, i)], c.isF16);
      if (!(std::fabs(is - wanted[number].value) <= wanted[number].bound))
        return std::string(name) + ", element " + std::to_string(i) + " of row " +
               std::to_string(row) + " of head " + std::to_string(head) + ": " +
               std::to_string(is) + ", wanted " + std::to_string(wanted[number].value);
    }
    return "";
  }

  Tensor dy, q, k, v, o;
  std::vector<float> lse;
  std::vector<double> dots, errorsOfDots;
  std::vector<Pair> pairs;
  std::vector<Wanted> ofDquery, ofDkey, ofDvalue;
};

TEST(WarpgroupGrad, IsThatInF64) {
  const Case cases[] = {
      {1, 2, 2, 128, 128, 64, 64, false, false, false},
      {2, 2, 1, 300, 300, 64, 64, true, false, true},
      {1, 2, 2, 130, 449, 64, 64, true, true, true},
      {1, 1, 1, 70, 520, 128, 128, false, false, false},
      {1, 2, 1, 200, 200, 128, 128, true, false, true},
      {1, 1, 1, 256, 384, 128, 64, true, true, false},
      {1, 1, 1, 1, 65, 64, 128, false, true, false},
      {1, 1, 1, 520, 70, 64, 64, false, false, true},
  };
  for (const Case &c : cases) {
    Gradients gradients(c);
    EXPECT_EQ(gradients.runQuery(), "")
        << c.queries << " queries, " << c.keys << " keys of " << c.width;
    EXPECT_EQ(gradients.runKeys(), "")
        << c.queries << " queries, " << c.keys << " keys of " << c.width;
  }
}

/// Causal, with tiles that hide keys, tiles that do not, more of both than stages, and
/// tiles that one of two warpgroups leaves out.
const Case kMutated = {1, 1, 1, 448, 448, 64, 64, true, false, false};

TEST(WarpgroupGrad, EachInstructionIsNeeded) {
  Gradients gradients(kMutated);
  ASSERT_EQ(gradients.runQuery(), "");
  ASSERT_EQ(gradients.runKeys(), "");
  EXPECT_GT(gradients.queryRuns.getOrders().size(), 40u);
  EXPECT_GT(gradients.keyRuns.getOrders().size(), 40u);
  expectOrdersAreNeeded(gradients.queryRuns, [&](const Change &change) {
    return gradients.runQuery(change).empty();
  });
  expectOrdersAreNeeded(gradients.keyRuns, [&](const Change &change) {
    return gradients.runKeys(change).empty();
  });
  // Where a block has its own keys and values in shared memory, too.
  Case wide = kMutated;
  wide.width = 128;
  Gradients ofWide(wide);
  ASSERT_EQ(ofWide.runKeys(), "");
  expectOrdersAreNeeded(ofWide.keyRuns, [&](const Change &change) {
    return ofWide.runKeys(change).empty();
  });
}

TEST(WarpgroupGrad, MatricesAreDescribed) {
  Case wide = kMutated;
  wide.width = wide.valueWidth = 128;
  Gradients gradients(wide);
  ASSERT_EQ(gradients.runQuery(), "");
  ASSERT_EQ(gradients.runKeys(), "");
  for (int bit : {16, 24, 32, 38, 46, 49, 62, 63}) {
    Change change;
    change.bits = static_cast<int64_t>(uint64_t{1} << bit);
    EXPECT_NE(gradients.runQuery(change), "") << bit;
    EXPECT_NE(gradients.runKeys(change), "") << bit;
  }
  for (int swizzle : {0, 32, 64}) {
    Change change;
    change.swizzle = swizzle;
    EXPECT_NE(gradients.runQuery(change), "") << swizzle;
    EXPECT_NE(gradients.runKeys(change), "") << swizzle;
  }
  EXPECT_EQ(gradients.runQuery(), "");
  EXPECT_EQ(gradients.runKeys(), "");
}

TEST(WarpgroupGrad, WhatIsLeftToTheOtherKernels) {
  MLIRContext context;
  const Case plain = {2, 4, 2, 256, 256, 64, 64, true, false, true};
  const AttentionShape shape = makeShape(plain, context);
  ASSERT_TRUE(planWarpgroupQueryGradient(shape));
  ASSERT_TRUE(planWarpgroupKeyGradients(shape));
  auto refuses = [&](llvm::function_ref<void(AttentionShape &)> change) {
    AttentionShape other = shape;
    change(other);
    return std::pair(!planWarpgroupQueryGradient(other),
                     !planWarpgroupKeyGradients(other));
  };
  using Both = std::pair<bool, bool>;
  EXPECT_EQ(refuses([](AttentionShape &s) { s.width = 96; }), Both(true, true));
  EXPECT_EQ(refuses([](AttentionShape &s) { s.scale = -1; }), Both(true, true));
  // Rows of dy at multiples of 2 and of 4 bytes, and of gradients at multiples of 2.
  EXPECT_EQ(refuses([](AttentionShape &s) { s.dy.row = 257; }), Both(true, true));
  EXPECT_EQ(refuses([](AttentionShape &s) { s.dy.row = 258; }), Both(false, true));
  EXPECT_EQ(refuses([](AttentionShape &s) { s.dquery.row = 257; }), Both(true, false));
  EXPECT_EQ(refuses([](AttentionShape &s) { s.dkey.first = 1; }), Both(false, true));
  EXPECT_EQ(refuses([](AttentionShape &s) { s.dvalue.head = 65; }), Both(false, true));
}

} // namespace
