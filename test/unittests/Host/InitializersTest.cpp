//===- InitializersTest.cpp - Seeded initial values -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Initializers.h"
#include "TestHelpers.h"
#include "mpt/ProgramABI/InitialValues.h"
#include "mpt/Support/Philox.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace mpt;

namespace {

// Known-answer vectors of Random123 (kat_vectors, philox4x32 10).
TEST(PhiloxTest, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, BlockLayout) {
  EXPECT_EQ(philoxBlock(0x0000000200000001, 4, 0x0000000600000005, 0x0000000800000007),
            philox4x32({7, 8, 5, 6}, {1, 4 ^ 2}));
  EXPECT_EQ(dropoutThreshold(0), 0u);
  EXPECT_EQ(dropoutThreshold(0.5), 0x80000000u);
}

std::vector<double> draw(const InitSpec &spec, int64_t count, uint64_t seed = 1,
                         llvm::StringRef name = "w",
                         ElementType type = ElementType::F64) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(type, {count}));
  llvm::cantFail(initializeTensor(tensor, spec, seed, name));
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(tensor.getElement(i));
  return values;
}

/// Kolmogorov-Smirnov distance to a distribution function.
template <typename Function>
double distance(std::vector<double> values, Function distribution) {
  std::sort(values.begin(), values.end());
  double n = values.size(), worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    double f = distribution(values[i]);
    worst = std::max({worst, f - i / n, (i + 1) / n - f});
  }
  return worst;
}

double normalDistribution(double z) { return 0.5 * std::erfc(-z / std::sqrt(2)); }

constexpr int64_t kCount = 100000;
// P(sqrt(n) D > 1.95) is about 0.001 (Kolmogorov's distribution).
const double kLimit = 1.95 / std::sqrt(double(kCount));

TEST(InitializersTest, ConstantKinds) {
  InitSpec spec;
  for (ElementType type :
       {ElementType::F32, ElementType::BF16, ElementType::I64, ElementType::I1}) {
    spec.kind = InitKind::Zeros;
    EXPECT_EQ(draw(spec, 3, 1, "w", type), std::vector<double>({0, 0, 0}));
    spec.kind = InitKind::Ones;
    EXPECT_EQ(draw(spec, 3, 1, "w", type), std::vector<double>({1, 1, 1}));
  }
  spec.kind = InitKind::Constant;
  spec.numbers[0] = 65536;
  EXPECT_EQ(draw(spec, 1, 1, "s", ElementType::F32)[0], 65536);
}

TEST(InitializersTest, UniformKindsFillTheirInterval) {
  struct Case {
    InitSpec spec;
    double low, high;
  };
  InitSpec uniform{InitKind::Uniform, {-3, 5}};
  InitSpec kaiming{InitKind::KaimingUniform, {150}};
  InitSpec xavier{InitKind::XavierUniform, {20, 30}};
  // torch.nn.init: bound = gain sqrt(3 / fan_in), gain = sqrt(2 / (1 + a^2)).
  double gain = std::sqrt(2.0 / (1 + 5.0));
  double kaimingBound = gain * std::sqrt(3.0 / 150);
  double xavierBound = std::sqrt(3.0) * std::sqrt(2.0 / (20 + 30));
  for (const Case &c : {Case{uniform, -3, 5}, Case{kaiming, -kaimingBound, kaimingBound},
                        Case{xavier, -xavierBound, xavierBound}}) {
    std::vector<double> values = draw(c.spec, kCount);
    for (double value : values) {
      ASSERT_GE(value, c.low);
      ASSERT_LE(value, c.high);
    }
    EXPECT_LT(distance(values, [&](double x) { return (x - c.low) / (c.high - c.low); }),
              kLimit);
  }
}

TEST(InitializersTest, NormalKinds) {
  InitSpec spec{InitKind::Normal, {2, 0.5}};
  EXPECT_LT(distance(draw(spec, kCount),
                     [](double x) { return normalDistribution((x - 2) / 0.5); }),
            kLimit);
  spec.kind = InitKind::TruncNormal;
  std::vector<double> values = draw(spec, kCount);
  for (double value : values)
    ASSERT_LE(std::fabs(value - 2), 1.0); // Two deviations.
  double low = normalDistribution(-2), mass = 1 - 2 * low;
  EXPECT_LT(distance(values,
                     [&](double x) {
                       return (normalDistribution((x - 2) / 0.5) - low) / mass;
                     }),
            kLimit);
}

// Against erfc of the C library, to a few units in the last place of p.
TEST(InitializersTest, NormalQuantileInvertsTheDistribution) {
  for (double p = 0x1p-33; p < 1; p = p < 0.01 ? p * 1.37 : p + 0.00137) {
    double z = rt::normalQuantile(p);
    EXPECT_NEAR(normalDistribution(z) / p, 1, 1e-13) << "p = " << p;
    EXPECT_NEAR(rt::normalQuantile(1 - p), -rt::normalQuantile(1 - (1 - p)), 1e-6);
  }
  EXPECT_EQ(rt::normalQuantile(0.5), 0);
}

TEST(InitializersTest, DependsOnSeedAndNameOnly) {
  InitSpec spec{InitKind::Uniform, {0, 1}};
  EXPECT_EQ(draw(spec, 100), draw(spec, 100));
  EXPECT_NE(draw(spec, 100), draw(spec, 100, 2));
  EXPECT_NE(draw(spec, 100), draw(spec, 100, uint64_t(1) << 32 | 1));
  EXPECT_NE(draw(spec, 100), draw(spec, 100, 1, "w2"));
  // An element's value does not depend on how many follow it.
  std::vector<double> few = draw(spec, 5), many = draw(spec, 100);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

// Threads take 65,536 elements at a time.
TEST(InitializersTest, ManyThreadsDrawTheSameBits) {
  for (int64_t count : {int64_t(1), kCount, int64_t(4 * 65536 + 3)}) {
    HostTensor one = llvm::cantFail(HostTensor::create(ElementType::F32, {count}));
    llvm::cantFail(initializeTensor(one, {InitKind::Normal, {0, 1}}, 7, "w"));
    for (int64_t threads : {2, 3, 8}) {
      HostTensor many = llvm::cantFail(HostTensor::create(ElementType::F32, {count}));
      llvm::cantFail(initializeTensor(many, {InitKind::Normal, {0, 1}}, 7, "w", threads));
      EXPECT_EQ(std::memcmp(one.getData(), many.getData(), count * sizeof(float)), 0)
          << count << " elements, " << threads << " threads";
    }
  }
}

TEST(InitializersTest, NarrowTypesRoundTheSameValues) {
  InitSpec spec{InitKind::Normal, {0, 1}};
  std::vector<double> wide = draw(spec, 1000);
  std::vector<double> narrow = draw(spec, 1000, 1, "w", ElementType::F16);
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_NEAR(narrow[i], wide[i], std::fabs(wide[i]) * 0x1p-11 + 0x1p-25);
}

TEST(InitializersTest, BadSpecs) {
  auto check = [](InitSpec spec) {
    HostTensor tensor = llvm::cantFail(HostTensor::create(ElementType::F32, {2}));
    return test::message(initializeTensor(tensor, spec, 1, "w"));
  };
  EXPECT_EQ(check({InitKind::KaimingUniform, {0}}),
            "initializer kaiming_uniform: expected fan_in > 0");
  EXPECT_EQ(check({InitKind::XavierUniform, {3, 0}}),
            "initializer xavier_uniform: expected fan_in > 0 and fan_out > 0");
  EXPECT_EQ(check({InitKind::Uniform, {2, 1}}),
            "initializer uniform: expected finite low <= high");
  EXPECT_EQ(check({InitKind::Normal, {0, -0.25}}),
            "initializer normal: expected a finite mean and std >= 0");
  EXPECT_EQ(check({InitKind::Normal, {NAN, 1}}),
            "initializer normal: expected a finite mean and std >= 0");
  HostTensor labels = llvm::cantFail(HostTensor::create(ElementType::I64, {2}));
  EXPECT_EQ(test::message(initializeTensor(labels, {InitKind::Normal, {0, 1}}, 1, "y")),
            "initializer normal: expected a float tensor, found i64[2]");
}

TEST(InitializersTest, KindNamesRoundTrip) {
  for (int i = 0; i <= int(InitKind::XavierUniform); ++i)
    EXPECT_EQ(parseInitKind(getNames(InitKind(i)).name), InitKind(i));
  EXPECT_EQ(parseInitKind("orthogonal"), std::nullopt);
}

// The runtime stores numbers as the host does, which uses LLVM's APFloat: each number of
// a small type, what lies between two of them, ties, and what is too large.
TEST(InitializersTest, RuntimeRoundsAsTheHost) {
  for (auto [type, stored] : {std::pair(rt::DataType::F16, ElementType::F16),
                              {rt::DataType::BF16, ElementType::BF16},
                              {rt::DataType::F8E4M3FN, ElementType::F8E4M3FN},
                              {rt::DataType::F8E5M2, ElementType::F8E5M2},
                              {rt::DataType::F32, ElementType::F32},
                              {rt::DataType::F64, ElementType::F64},
                              {rt::DataType::I64, ElementType::I64},
                              {rt::DataType::I32, ElementType::I32},
                              {rt::DataType::I16, ElementType::I16},
                              {rt::DataType::I8, ElementType::I8},
                              {rt::DataType::I1, ElementType::I1}}) {
    const int64_t bytes = rt::getSize(type);
    const bool isSmall = isFloatType(stored) && bytes <= 2;
    auto compare = [&, type = type, stored = stored](double value) {
      uint64_t ours = 0, theirs = 0;
      rt::encodeElements(type, &value, 1, &ours);
      encodeElement(stored, value, &theirs);
      ASSERT_EQ(ours, theirs) << value << " of " << int(type);
    };
    for (double value :
         {0.0,     -0.0,    0.5,    1.5,   2.5,   -3.5,   127.5,
          1e-320,  1e-45,   448.0,  464.0, 465.0, 480.0,  65519.0,
          65520.0, 61440.0, 3.4e38, 1e39,  1e300, 9.3e18, double(INFINITY)})
      for (double sign : {1.0, -1.0})
        compare(sign * value);
    for (uint32_t bits = 0; isSmall && bits < 1u << (8 * bytes); ++bits) {
      uint32_t next = bits + 1;
      double value = decodeElement(stored, &bits), above = decodeElement(stored, &next);
      if (!std::isfinite(value))
        continue;
      compare(value);
      if (!std::isfinite(above))
        continue;
      double middle = (value + above) / 2;
      for (double near : {middle, std::nextafter(middle, value),
                          std::nextafter(middle, above), value * 0.75 + above * 0.25})
        compare(near);
    }
  }
}

} // namespace
