//===- InitializersTest.cpp - Seeded initial values -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Initializers.h"
#include "TestHelpers.h"
#include "mpt/Support/Philox.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
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
  EXPECT_EQ(philoxBlock(0x0000000200000001, 4, 0x0000000600000005,
                        0x0000000800000007),
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

double normalDistribution(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2));
}

constexpr int64_t kCount = 100000;
// P(sqrt(n) D > 1.95) is about 0.001 (Kolmogorov's distribution).
const double kLimit = 1.95 / std::sqrt(double(kCount));

TEST(InitializersTest, ConstantKinds) {
  InitSpec spec;
  for (ElementType type : {ElementType::F32, ElementType::BF16,
                           ElementType::I64, ElementType::I1}) {
    spec.kind = InitKind::Zeros;
    EXPECT_EQ(draw(spec, 3, 1, "w", type), std::vector<double>({0, 0, 0}));
    spec.kind = InitKind::Ones;
    EXPECT_EQ(draw(spec, 3, 1, "w", type), std::vector<double>({1, 1, 1}));
  }
  spec.kind = InitKind::Constant;
  spec.value = 65536;
  EXPECT_EQ(draw(spec, 1, 1, "s", ElementType::F32)[0], 65536);
}

TEST(InitializersTest, UniformKindsFillTheirInterval) {
  struct Case {
    InitSpec spec;
    double low, high;
  };
  InitSpec uniform, kaiming, xavier;
  uniform.kind = InitKind::Uniform;
  uniform.low = -3;
  uniform.high = 5;
  kaiming.kind = InitKind::KaimingUniform;
  kaiming.fanIn = 150;
  xavier.kind = InitKind::XavierUniform;
  xavier.fanIn = 20;
  xavier.fanOut = 30;
  // torch.nn.init: bound = gain sqrt(3 / fan_in), gain = sqrt(2 / (1 + a^2)).
  double gain = std::sqrt(2.0 / (1 + 5.0));
  double kaimingBound = gain * std::sqrt(3.0 / 150);
  double xavierBound = std::sqrt(3.0) * std::sqrt(2.0 / (20 + 30));
  for (const Case &c :
       {Case{uniform, -3, 5}, Case{kaiming, -kaimingBound, kaimingBound},
        Case{xavier, -xavierBound, xavierBound}}) {
    std::vector<double> values = draw(c.spec, kCount);
    for (double value : values) {
      ASSERT_GE(value, c.low);
      ASSERT_LE(value, c.high);
    }
    EXPECT_LT(
        distance(values,
                 [&](double x) { return (x - c.low) / (c.high - c.low); }),
        kLimit);
  }
}

TEST(InitializersTest, NormalKinds) {
  InitSpec spec;
  spec.kind = InitKind::Normal;
  spec.mean = 2;
  spec.std = 0.5;
  EXPECT_LT(
      distance(draw(spec, kCount),
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
    double z = normalQuantile(p);
    EXPECT_NEAR(normalDistribution(z) / p, 1, 1e-13) << "p = " << p;
    EXPECT_NEAR(normalQuantile(1 - p), -normalQuantile(1 - (1 - p)), 1e-6);
  }
  EXPECT_EQ(normalQuantile(0.5), 0);
}

TEST(InitializersTest, DependsOnSeedAndNameOnly) {
  InitSpec spec;
  spec.kind = InitKind::Uniform;
  EXPECT_EQ(draw(spec, 100), draw(spec, 100));
  EXPECT_NE(draw(spec, 100), draw(spec, 100, 2));
  EXPECT_NE(draw(spec, 100), draw(spec, 100, uint64_t(1) << 32 | 1));
  EXPECT_NE(draw(spec, 100), draw(spec, 100, 1, "w2"));
  // An element's value does not depend on how many follow it.
  std::vector<double> few = draw(spec, 5), many = draw(spec, 100);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(InitializersTest, NarrowTypesRoundTheSameValues) {
  InitSpec spec;
  spec.kind = InitKind::Normal;
  std::vector<double> wide = draw(spec, 1000);
  std::vector<double> narrow = draw(spec, 1000, 1, "w", ElementType::F16);
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_NEAR(narrow[i], wide[i], std::fabs(wide[i]) * 0x1p-11 + 0x1p-25);
}

TEST(InitializersTest, BadSpecs) {
  auto check = [](InitSpec spec) {
    return test::message(verifyInitSpec(spec));
  };
  InitSpec spec;
  spec.kind = InitKind::KaimingUniform;
  EXPECT_EQ(check(spec),
            "initializer kaiming_uniform: expected fan_in > 0, found 0");
  spec.kind = InitKind::XavierUniform;
  spec.fanIn = 3;
  EXPECT_EQ(check(spec), "initializer xavier_uniform: expected fan_in > 0 and "
                         "fan_out > 0, found 3 and 0");
  spec.kind = InitKind::Uniform;
  spec.low = 2;
  EXPECT_EQ(check(spec), "initializer uniform: expected finite low <= high, "
                         "found low = 2, high = 1");
  spec.kind = InitKind::Normal;
  spec.std = -0.25;
  EXPECT_EQ(check(spec), "initializer normal: expected a finite mean and std "
                         ">= 0, found mean = 0, std = -0.25");
  spec.std = 1;
  HostTensor labels = llvm::cantFail(HostTensor::create(ElementType::I64, {2}));
  EXPECT_EQ(test::message(initializeTensor(labels, spec, 1, "y")),
            "initializer normal: expected a float tensor, found i64[2]");
}

TEST(InitializersTest, KindNamesRoundTrip) {
  for (int i = 0; i <= int(InitKind::XavierUniform); ++i)
    EXPECT_EQ(parseInitKind(stringifyInitKind(InitKind(i))), InitKind(i));
  EXPECT_EQ(parseInitKind("orthogonal"), std::nullopt);
}

} // namespace
