//===- HostTensorTest.cpp - Host tensors ------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/HostTensor.h"
#include "TestHelpers.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mpt;

namespace {

const ElementType kAllTypes[] = {
    ElementType::F64,      ElementType::F32,    ElementType::F16, ElementType::BF16,
    ElementType::F8E4M3FN, ElementType::F8E5M2, ElementType::I64, ElementType::I32,
    ElementType::I16,      ElementType::I8,     ElementType::U8,  ElementType::I1};

TEST(HostTensorTest, TypeNamesRoundTrip) {
  for (ElementType type : kAllTypes)
    EXPECT_EQ(parseElementType(stringifyElementType(type)), type);
  EXPECT_EQ(parseElementType("f8E4M3FN"), ElementType::F8E4M3FN);
  EXPECT_EQ(parseElementType("f12"), std::nullopt);
}

TEST(HostTensorTest, ZeroedAlignedAndPacked) {
  for (ElementType type : kAllTypes) {
    HostTensor tensor = llvm::cantFail(HostTensor::create(type, {3, 5}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.getData()) % 64, 0u);
    EXPECT_EQ(tensor.getByteSize(), 15 * getElementSize(type));
    for (int64_t i = 0; i < 15; ++i)
      EXPECT_EQ(tensor.getElement(i), 0.0);
  }
}

TEST(HostTensorTest, EmptyTensorHasData) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(ElementType::F32, {0, 4}));
  EXPECT_EQ(tensor.getNumElements(), 0);
  EXPECT_NE(tensor.getData(), nullptr);
}

TEST(HostTensorTest, CopyIsDeep) {
  HostTensor a = HostTensor::scalar(ElementType::F32, 1.5);
  HostTensor b = a;
  EXPECT_EQ(a, b);
  b.setElement(0, 2.5);
  EXPECT_EQ(a.getElement(0), 1.5);
  EXPECT_NE(a, b);
}

TEST(HostTensorTest, Describe) {
  EXPECT_EQ(describeTensorType(ElementType::BF16, {64, 10}), "bf16[64, 10]");
  EXPECT_EQ(describeTensorType(ElementType::I64, {}), "i64[]");
}

TEST(HostTensorTest, RejectsImpossibleShapes) {
  EXPECT_EQ(test::message(HostTensor::create(ElementType::F32, {2, -1})),
            "invalid shape f32[2, -1]: a size is negative");
  EXPECT_EQ(test::message(HostTensor::create(ElementType::F32,
                                             {int64_t(1) << 40, int64_t(1) << 40})),
            "invalid shape f32[1099511627776, 1099511627776]: its size does "
            "not fit in 63 bits");
  EXPECT_EQ(
      test::message(HostTensor::create(ElementType::F64, {int64_t(1) << 59})),
      "out of memory: f64[576460752303423488] needs 4611686018427387904 bytes, this "
      "process can have " +
          std::to_string(rt::getSystemMemory()));
}

// Every half and f8 pattern survives decode and encode.
TEST(HostTensorTest, NarrowFloatsRoundTrip) {
  for (ElementType type : {ElementType::F16, ElementType::BF16, ElementType::F8E4M3FN,
                           ElementType::F8E5M2}) {
    unsigned patterns = getElementSize(type) == 1 ? 1 << 8 : 1 << 16;
    for (unsigned i = 0; i < patterns; ++i) {
      uint16_t in = i, out = 0;
      double value = decodeElement(type, &in);
      encodeElement(type, value, &out);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decodeElement(type, &out)));
      else
        EXPECT_EQ(in, out) << stringifyElementType(type).str();
    }
  }
}

TEST(HostTensorTest, RoundsToNearestEven) {
  auto bits = [](ElementType type, double value) {
    uint16_t out = 0;
    encodeElement(type, value, &out);
    return out;
  };
  // Half way between 1 and 1 + 2^-10, and between 1 + 2^-10 and 1 + 2^-9.
  EXPECT_EQ(bits(ElementType::F16, 1 + 0x1p-11), 0x3C00);
  EXPECT_EQ(bits(ElementType::F16, 1 + 0x3p-11), 0x3C02);
  EXPECT_EQ(bits(ElementType::BF16, 1 + 0x1p-8), 0x3F80);
  EXPECT_EQ(bits(ElementType::BF16, 1 + 0x3p-8), 0x3F82);
  EXPECT_EQ(bits(ElementType::F16, 65520), 0x7C00);
  EXPECT_EQ(bits(ElementType::F16, 65519), 0x7BFF);
  EXPECT_EQ(bits(ElementType::F8E4M3FN, 448), 0x7E);
  EXPECT_EQ(bits(ElementType::F8E4M3FN, 1e6), 0x7F); // No infinity: NaN.
}

TEST(HostTensorTest, IntegersSaturate) {
  HostTensor tensor = HostTensor::scalar(ElementType::I8, 1000);
  EXPECT_EQ(tensor.getElement(0), 127);
  tensor.setElement(0, -1000);
  EXPECT_EQ(tensor.getElement(0), -128);
  tensor.setElement(0, std::nan(""));
  EXPECT_EQ(tensor.getElement(0), 0);
  EXPECT_EQ(HostTensor::scalar(ElementType::I64, 1e300).getElement(0), 0x1p63);
  int64_t exact = (int64_t(1) << 60) + 1, stored;
  std::memcpy(&stored, HostTensor::scalarI64(exact).getData(), 8);
  EXPECT_EQ(stored, exact);
}

TEST(HostTensorTest, FindsTheFirstNonFinite) {
  for (ElementType type : kAllTypes) {
    if (!isFloatType(type))
      continue;
    HostTensor tensor = llvm::cantFail(HostTensor::create(type, {7}));
    for (int64_t i = 0; i < 7; ++i)
      tensor.setElement(i, i % 2 ? -440.0 : 0.01);
    EXPECT_EQ(tensor.findNonFinite(), std::nullopt);
    tensor.setElement(6, std::nan(""));
    EXPECT_EQ(tensor.findNonFinite(), 6);
    tensor.setElement(3, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(tensor.findNonFinite(), 3);
  }
  EXPECT_EQ(HostTensor::scalar(ElementType::I32, -1).findNonFinite(), std::nullopt);
}

} // namespace
