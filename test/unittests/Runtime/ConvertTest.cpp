//===- ConvertTest.cpp - Float conversions against APFloat ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

using namespace mpt::rt;
using llvm::APFloat;
using llvm::APInt;

namespace {

/// Those that this CPU has.
std::vector<VectorSet> getVectorSets() {
  std::vector<VectorSet> sets;
  for (VectorSet set : {VectorSet::Plain, VectorSet::AVX2, VectorSet::AVX512})
    if (set <= getVectorSet())
      sets.push_back(set);
  return sets;
}

struct Format {
  const char *name;
  DataType type;
  const llvm::fltSemantics &semantics;
  unsigned bits;
};

class ConvertTest : public testing::TestWithParam<Format> {
protected:
  const Format &format = GetParam();
  uint32_t patterns() const { return 1u << format.bits; }

  float expectedWide(uint32_t pattern) const {
    APFloat value(format.semantics, APInt(format.bits, pattern));
    bool losesInfo;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
    EXPECT_FALSE(losesInfo && !value.isNaN());
    return value.convertToFloat();
  }
  uint32_t expectedNarrow(float wide) const {
    APFloat value(wide);
    bool losesInfo;
    value.convert(format.semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue());
  }

  /// A tensor of patterns.
  std::vector<uint8_t> store(const std::vector<uint32_t> &values) const {
    std::vector<uint8_t> bytes(values.size() * format.bits / 8);
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(&bytes[i * format.bits / 8], &values[i], format.bits / 8);
    return bytes;
  }
  uint32_t load(const std::vector<uint8_t> &bytes, size_t index) const {
    uint32_t value = 0;
    std::memcpy(&value, &bytes[index * format.bits / 8], format.bits / 8);
    return value;
  }

  bool isNaN(uint32_t pattern) const {
    return APFloat(format.semantics, APInt(format.bits, pattern)).isNaN();
  }

  /// Checks `value` narrowed alone and in a long run, where vectors do it.
  void checkNarrow(const std::vector<float> &values) const {
    for (VectorSet set : getVectorSets())
      checkNarrow(values, set);
  }
  void checkNarrow(const std::vector<float> &values, VectorSet set) const {
    std::vector<uint8_t> many(values.size() * format.bits / 8);
    narrow(format.type, values.data(), many.data(), 0, values.size(), set);
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<uint8_t> one(format.bits / 8);
      fromF32(format.type, one.data(), 0, values[i]);
      uint32_t found = load(one, 0);
      ASSERT_EQ(found, load(many, i)) << std::hexfloat << values[i];
      if (std::isnan(values[i])) {
        ASSERT_TRUE(isNaN(found));
        ASSERT_EQ(found >> (format.bits - 1), std::signbit(values[i]));
      } else {
        ASSERT_EQ(found, expectedNarrow(values[i])) << std::hexfloat << values[i];
      }
    }
  }
};

TEST_P(ConvertTest, WidensEveryPattern) {
  std::vector<uint32_t> all(patterns());
  for (uint32_t i = 0; i < patterns(); ++i)
    all[i] = i;
  std::vector<uint8_t> stored = store(all);
  for (uint32_t i = 0; i < patterns(); ++i) {
    float one = toF32(format.type, stored.data(), i);
    if (isNaN(i)) {
      ASSERT_TRUE(std::isnan(one)) << i;
      ASSERT_EQ(std::signbit(one), i >> (format.bits - 1)) << i;
    } else {
      ASSERT_EQ(llvm::bit_cast<uint32_t>(one), llvm::bit_cast<uint32_t>(expectedWide(i)))
          << i;
    }
  }
  for (VectorSet set : getVectorSets()) {
    std::vector<float> wide(patterns());
    widen(format.type, stored.data(), 0, wide.data(), patterns(), set);
    for (uint32_t i = 0; i < patterns(); ++i)
      ASSERT_EQ(llvm::bit_cast<uint32_t>(toF32(format.type, stored.data(), i)),
                llvm::bit_cast<uint32_t>(wide[i]))
          << i;
  }
}

/// In runs of each length below two vectors, from each place on.
TEST(WidenF8ToBF16, KeepsEveryNumber) {
  std::vector<uint8_t> stored(256);
  for (uint32_t i = 0; i < 256; ++i)
    stored[i] = static_cast<uint8_t>(i);
  for (DataType type : {DataType::F8E4M3FN, DataType::F8E5M2}) {
    const auto &semantics =
        type == DataType::F8E4M3FN ? APFloat::Float8E4M3FN() : APFloat::Float8E5M2();
    for (int64_t first = 0; first < 256; ++first)
      for (int64_t count = 0; count <= std::min<int64_t>(32, 256 - first); ++count) {
        std::vector<uint16_t> found(count + 1, 0x1234);
        widenF8ToBF16(type, stored.data(), first, found.data(), count);
        ASSERT_EQ(found[count], 0x1234);
        for (int64_t i = 0; i < count; ++i) {
          APFloat value(semantics, APInt(8, first + i));
          APFloat wide(APFloat::BFloat(), APInt(16, found[i]));
          bool losesInfo;
          value.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesInfo);
          if (value.isNaN())
            ASSERT_TRUE(wide.isNaN() && wide.isNegative() == value.isNegative());
          else
            ASSERT_TRUE(wide.bitwiseIsEqual(value)) << first + i;
        }
      }
  }
}

TEST_P(ConvertTest, EveryPatternComesBack) {
  for (uint32_t i = 0; i < patterns(); ++i) {
    std::vector<uint8_t> stored = store({i}), back(stored.size());
    fromF32(format.type, back.data(), 0, toF32(format.type, stored.data(), 0));
    if (!isNaN(i))
      ASSERT_EQ(load(back, 0), i);
  }
}

TEST_P(ConvertTest, RoundsBetweenAllNeighbours) {
  std::vector<float> values;
  for (uint32_t i = 0; i + 1 < patterns(); ++i) {
    if (isNaN(i) || isNaN(i + 1))
      continue;
    double exact = expectedWide(i), next = expectedWide(i + 1);
    if (std::isinf(exact) || (exact < 0) != (next < 0))
      continue;
    if (std::isinf(next)) // As if one more binade followed.
      next = 2 * exact - expectedWide(i - 1);
    auto low = static_cast<float>(exact), high = static_cast<float>(next);
    auto middle = static_cast<float>((exact + next) / 2);
    for (float value :
         {low, std::nextafterf(low, high), std::nextafterf(middle, low), middle,
          std::nextafterf(middle, high), std::nextafterf(high, low), high})
      values.push_back(value);
  }
  checkNarrow(values);
}

TEST_P(ConvertTest, RoundsEdgesAndRandomBits) {
  std::vector<float> values = {
      0.0f,     -0.0f,   INFINITY,  -INFINITY,     NAN,          -NAN,     1e-45f,
      -1e-45f,  FLT_MIN, FLT_MAX,   -FLT_MAX,      65504.0f,     65519.9f, 65520.0f,
      448.0f,   464.0f,  464.0001f, 479.9f,        480.0f,       57344.0f, 61439.0f,
      61440.0f, -464.0f, -61440.0f, 3.3895314e38f, 3.3961775e38f};
  values.push_back(llvm::bit_cast<float>(0x7f800001u)); // signalling
  values.push_back(llvm::bit_cast<float>(0xff812345u));
  std::mt19937 rng(5);
  for (int i = 0; i < 400000; ++i)
    values.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(rng())));
  // Where the format has its numbers.
  float largest = format.bits == 8 ? 500.0f : 70000.0f;
  std::uniform_real_distribution<float> exponent(-30, std::log2(largest));
  for (int i = 0; i < 400000; ++i)
    values.push_back((rng() & 1 ? -1 : 1) * std::exp2(exponent(rng)));
  checkNarrow(values);
}

/// Any part of a tensor, of any length: vectors, tails, nothing outside.
TEST_P(ConvertTest, AnyRange) {
  std::mt19937 rng(6);
  std::vector<uint32_t> patternsOf(80);
  for (uint32_t &pattern : patternsOf)
    do
      pattern = rng() & (patterns() - 1);
    while (isNaN(pattern));
  std::vector<uint8_t> stored = store(patternsOf);
  for (VectorSet set : getVectorSets())
    for (int first : {0, 1, 7, 13})
      for (int count = 0; count <= 40; ++count) {
        std::vector<float> wide(count + 1, -7.0f);
        widen(format.type, stored.data(), first, wide.data(), count, set);
        for (int i = 0; i < count; ++i)
          ASSERT_EQ(wide[i], expectedWide(patternsOf[first + i]));
        ASSERT_EQ(wide[count], -7.0f);
        std::vector<uint8_t> back(stored.size(), 0xa5), same = back;
        narrow(format.type, wide.data(), back.data(), first, count, set);
        size_t size = format.bits / 8;
        for (size_t i = 0; i < back.size(); ++i)
          ASSERT_EQ(back[i], i >= first * size && i < (first + count) * size ? stored[i]
                                                                             : same[i]);
      }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ConvertTest,
    testing::Values(Format{"f16", DataType::F16, APFloat::IEEEhalf(), 16},
                    Format{"bf16", DataType::BF16, APFloat::BFloat(), 16},
                    Format{"f8E4M3FN", DataType::F8E4M3FN, APFloat::Float8E4M3FN(), 8},
                    Format{"f8E5M2", DataType::F8E5M2, APFloat::Float8E5M2(), 8}),
    [](const auto &info) { return info.param.name; });

/// Rounding in f32 is narrowing and widening again, of any count, in place.
TEST(ConvertF32Test, Rounds) {
  std::mt19937 rng(7);
  std::vector<float> values(200);
  for (float &value : values)
    value = llvm::bit_cast<float>(static_cast<uint32_t>(rng()));
  values[3] = NAN;
  for (auto [rounding, type] : {std::pair{Rounding::F16, DataType::F16},
                                std::pair{Rounding::BF16, DataType::BF16}})
    for (VectorSet set : getVectorSets())
      for (int count : {0, 1, 15, 16, 17, 40, 199}) {
        std::vector<float> found = values;
        round(rounding, found.data(), found.data(), count, set);
        for (int i = 0; i < 200; ++i) {
          uint16_t half;
          fromF32(type, &half, 0, values[i]);
          const float expected = i < count ? toF32(type, &half, 0) : values[i];
          ASSERT_EQ(llvm::bit_cast<uint32_t>(found[i]),
                    llvm::bit_cast<uint32_t>(expected))
              << values[i];
        }
      }
}

TEST(ConvertF32Test, Copies) {
  float source[5] = {1, -2, NAN, INFINITY, 1e-45f}, target[5];
  widen(DataType::F32, source, 1, target, 4);
  EXPECT_EQ(std::memcmp(target, source + 1, 16), 0);
  narrow(DataType::F32, source, target, 1, 4);
  EXPECT_EQ(std::memcmp(target + 1, source, 16), 0);
  double wide = 1 + std::ldexp(1.0, -24); // a tie, to even
  EXPECT_EQ(toF32(DataType::F64, &wide, 0), 1.0f);
}

} // namespace
