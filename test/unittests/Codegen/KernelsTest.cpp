//===- KernelsTest.cpp - Compiled kernels against plain evaluation -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include "mpt/Dialect/Kernel/Transforms/KernelInfo.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mpt;
using namespace mpt::test;

namespace {

struct KernelText {
  std::string name = "k";
  std::string kind = "pointwise";
  std::vector<int64_t> domain;
  int64_t chunkRows = 1;
  /// "(d0, d1) -> (d0)" and so on, and the tensors.
  std::vector<std::string> inputMaps, inputs, outputMaps, outputs;
  std::string arguments, body;

  std::string str() const {
    auto join = [](const std::vector<std::string> &parts, const std::string &before,
                   const std::string &after) {
      std::string text;
      for (const std::string &part : parts)
        text += (text.empty() ? "" : ", ") + before + part + after;
      return text;
    };
    std::vector<std::string> sizes;
    for (int64_t size : domain)
      sizes.push_back(std::to_string(size));
    return "\"mpt_kernel.func\"() <{sym_name = \"" + name +
           "\", kind = #mpt_kernel.kind<" + kind +
           ">, domain = array<i64: " + join(sizes, "", "") +
           ">, chunk_rows = " + std::to_string(chunkRows) + " : i64, function_type = (" +
           join(inputs, "tensor<", ">") + ") -> (" + join(outputs, "tensor<", ">") +
           "), operand_maps = [" + join(inputMaps, "affine_map<", ">") +
           "], result_maps = [" + join(outputMaps, "affine_map<", ">") + "]}> ({\n^bb0(" +
           arguments + "):\n" + body + "}) : () -> ()\n";
  }
};

/// Largest difference in units of the last place of the larger value in f32.
double distance(const HostTensor &found, const HostTensor &expected) {
  double most = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double x = found.getElement(i), y = expected.getElement(i);
    if (std::isnan(x) && std::isnan(y))
      continue;
    if (x == y)
      continue;
    int exponent = std::max(std::ilogb(std::max(std::fabs(x), std::fabs(y))), -126);
    double d = std::fabs(x - y) / std::ldexp(1.0, exponent - 23);
    most = std::max(most, std::isfinite(d) ? d : HUGE_VAL);
  }
  return most;
}

void expectSame(const Tensors &found, const Tensors &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i] == expected[i])
        << "result " << i << ": " << distance(found[i], expected[i]);
}

const std::string kAffine = R"(
  %c = arith.constant 1.5 : f32
  %m = arith.mulf %x, %y : f32
  %s = arith.addf %m, %c : f32
  mpt_kernel.yield %s : f32
)";

/// Every length's tail, one dimension: 1 to 40 elements, all cuts of tasks.
TEST(Kernels, EveryLength) {
  std::string text;
  for (int n = 1; n <= 40; ++n) {
    std::string type = std::to_string(n) + "xf32";
    text += KernelText{"k" + std::to_string(n),
                       "pointwise",
                       {n, 1},
                       3,
                       {"(d0, d1) -> (d0)", "(d0, d1) -> (d0, d1)"},
                       {type, std::to_string(n) + "x1xf32"},
                       {"(d0, d1) -> (d0)"},
                       {type},
                       "%x: f32, %y: f32",
                       kAffine}
                .str();
    text += KernelText{"r" + std::to_string(n),
                       "pointwise",
                       {3, n},
                       2,
                       {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)"},
                       {"3x" + type, type},
                       {"(d0, d1) -> (d0, d1)"},
                       {"3x" + type},
                       "%x: f32, %y: f32",
                       kAffine}
                .str();
  }
  KernelModule module(text);
  for (int n = 1; n <= 40; ++n)
    for (const char *prefix : {"k", "r"}) {
      std::string name = prefix + std::to_string(n);
      Tensors inputs = module.makeInputs(name, n);
      expectSame(module.run(name, inputs), module.evaluate(name, inputs));
      for (int64_t cut = 0; cut <= module.getTasks(name); ++cut)
        expectSame(module.run(name, inputs, {cut}), module.evaluate(name, inputs));
      expectSame(module.runInPlace(name, inputs, 0, 0), module.evaluate(name, inputs));
    }
}

/// The same number gives the same bits in every lane of body and tail, also
/// where the function is a polynomial.
TEST(Kernels, TailEqualsBody) {
  std::string text, body = R"(
    %a = math.exp %x : f32
    %b = math.tanh %a : f32
    %c = math.rsqrt %a : f32
    %d = math.sin %b : f32
    %e = math.log %a : f32
    %p = math.powf %a, %b : f32
    %q = math.erf %x : f32
    %f = arith.addf %d, %e : f32
    %g = arith.addf %f, %c : f32
    %h = arith.addf %g, %p : f32
    %i = arith.addf %h, %q : f32
    %j = arith.truncf %i : f32 to f16
    mpt_kernel.yield %i, %j : f32, f16
  )";
  for (int n : {1, 5, 16, 37})
    text += KernelText{"k" + std::to_string(n),
                       "pointwise",
                       {n},
                       n,
                       {"(d0) -> (d0)"},
                       {std::to_string(n) + "xf32"},
                       {"(d0) -> (d0)", "(d0) -> (d0)"},
                       {std::to_string(n) + "xf32", std::to_string(n) + "xf16"},
                       "%x: f32",
                       body}
                .str();
  KernelModule module(text);
  for (double value : {0.3, -1.7, 2.5e-3, 11.0}) {
    HostTensor first;
    for (int n : {37, 16, 5, 1}) {
      std::string name = "k" + std::to_string(n);
      Tensors inputs = module.makeInputs(name, 1);
      for (int64_t i = 0; i < n; ++i)
        inputs[0].setElement(i, value);
      Tensors results = module.run(name, inputs);
      if (n == 37)
        first = results[0];
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(results[0].getElement(i), first.getElement(0));
        EXPECT_EQ(results[1].getElement(i), results[1].getElement(0));
      }
    }
  }
}

/// A chain through bf16 rounds where it says so and nowhere else.
TEST(Kernels, Bf16Chain) {
  KernelText kernel{"k",
                    "pointwise",
                    {5, 19},
                    2,
                    {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)"},
                    {"5x19xbf16", "19xf32"},
                    {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0, d1)"},
                    {"5x19xbf16", "5x19xf16"},
                    "%x: bf16, %y: f32",
                    R"(
        %a = arith.extf %x : bf16 to f32
        %b = arith.mulf %a, %y : f32
        %c = arith.truncf %b : f32 to bf16
        %d = arith.extf %c : bf16 to f32
        %e = arith.addf %d, %y : f32
        %f = arith.truncf %e : f32 to bf16
        %g = arith.truncf %e : f32 to f16
        mpt_kernel.yield %f, %g : bf16, f16
      )"};
  KernelModule module(kernel.str());
  Tensors inputs = module.makeInputs("k", 3);
  inputs[1].setElement(3, INFINITY);
  inputs[1].setElement(4, NAN);
  inputs[1].setElement(5, 3.4e38);
  inputs[1].setElement(6, 1e-40);
  inputs[1].setElement(7, 65519.0);
  inputs[1].setElement(8, 3e-8);
  Tensors found = module.run("k", inputs), expected = module.evaluate("k", inputs);
  for (size_t r = 0; r < 2; ++r)
    for (int64_t i = 0; i < found[r].getNumElements(); ++i) {
      double x = found[r].getElement(i), y = expected[r].getElement(i);
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y)))
          << i << ": " << x << " " << y;
    }
}

/// Every bf16 with f32 on both sides of what rounding tells apart, each in vectors with
/// others: two vectors at a time, one, and the tail. Subnormal numbers stay, and NaNs
/// keep their sign and upper bits on any CPU.
TEST(Kernels, RoundingToBF16) {
  constexpr uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  constexpr int64_t count = std::size(lower) << 16, rows = 4096, columns = count / rows;
  static_assert(columns % 32 == 0);
  KernelText flat{"k",
                  "pointwise",
                  {count},
                  1,
                  {"(d0) -> (d0)"},
                  {"393216xf32"},
                  {"(d0) -> (d0)"},
                  {"393216xbf16"},
                  "%x: f32",
                  R"(
        %h = arith.truncf %x : f32 to bf16
        mpt_kernel.yield %h : bf16
      )"};
  // Rows of 96 + 31 numbers: those of the tail come again.
  KernelText tails{"t",
                   "pointwise",
                   {rows, columns + 31},
                   1,
                   {"(d0, d1) -> (d0, d1)"},
                   {"4096x127xf32"},
                   {"(d0, d1) -> (d0, d1)"},
                   {"4096x127xbf16"},
                   "%x: f32",
                   flat.body};
  // Rows of one vector of eight lanes.
  KernelText eights{"e",
                    "pointwise",
                    {count / 8, 8},
                    1,
                    {"(d0, d1) -> (d0, d1)"},
                    {"49152x8xf32"},
                    {"(d0, d1) -> (d0, d1)"},
                    {"49152x8xbf16"},
                    "%x: f32",
                    flat.body};
  const std::string kernels = flat.str() + tails.str() + eights.str();
  KernelModule native(kernels), plain(kernels, "exact", /*isForHost=*/false);
  auto inputAt = [&](int64_t i) {
    // Odd, so that all numbers are met; neighbours differ in all bits.
    const auto place = static_cast<uint64_t>(i) * 145'007 % count;
    return static_cast<uint32_t>(place / std::size(lower)) << 16 |
           lower[place % std::size(lower)];
  };
  Tensors inputs = native.makeInputs("k", 1), tailInputs = native.makeInputs("t", 1),
          eightInputs = native.makeInputs("e", 1);
  auto fill = [&](HostTensor &tensor) {
    auto *bits = reinterpret_cast<uint32_t *>(tensor.getData());
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      bits[i] = inputAt(i % count);
  };
  fill(inputs[0]);
  fill(tailInputs[0]);
  fill(eightInputs[0]);
  auto check = [&](const Tensors &found, const char *what) {
    auto *halves = reinterpret_cast<const uint16_t *>(found[0].getData());
    int64_t wrong = 0;
    for (int64_t i = 0; i < found[0].getNumElements(); ++i) {
      const uint32_t bits = inputAt(i % count);
      uint16_t expected;
      if ((bits & 0x7fffffff) > 0x7f800000) {
        expected = static_cast<uint16_t>(bits >> 16 | 0x40);
#ifdef MPT_TEST_DEVICE_KERNELS
        // A GPU has one NaN.
        if ((halves[i] & 0x7fff) > 0x7f80)
          continue;
#endif
      } else {
        // Upwards from the middle on, where the upper half decides.
        const uint32_t rest = bits & 0xffff, upper = bits >> 16;
        expected = static_cast<uint16_t>(
            upper + (rest > 0x8000 || (rest == 0x8000 && upper % 2 == 1)));
      }
      if (halves[i] != expected && ++wrong < 4)
        ADD_FAILURE() << what << " " << std::hex << bits << ": " << halves[i]
                      << ", expected " << expected;
    }
    EXPECT_EQ(wrong, 0) << what;
  };
  check(native.run("k", inputs), "whole vectors");
  check(native.run("t", tailInputs), "tails");
  check(native.run("e", eightInputs), "eight lanes");
  check(plain.run("k", inputs), "whole vectors of any CPU");
  check(plain.run("t", tailInputs), "tails of any CPU");
  check(plain.run("e", eightInputs), "eight lanes of any CPU");
}

/// f8: every byte to f32, and back from every number near a rounding boundary.
TEST(Kernels, EightBitFloats) {
  for (const char *format : {"f8E4M3FN", "f8E5M2"}) {
    std::string f8 = format;
    ElementType type = *parseElementType(f8);
    std::string text =
        KernelText{"widen",
                   "pointwise",
                   {256},
                   256,
                   {"(d0) -> (d0)"},
                   {"256x" + f8},
                   {"(d0) -> (d0)"},
                   {"256xf32"},
                   "%x: " + f8,
                   "%y = arith.extf %x : " + f8 + " to f32\nmpt_kernel.yield %y : f32\n"}
            .str() +
        KernelText{"narrow",
                   "pointwise",
                   {4099},
                   4099,
                   {"(d0) -> (d0)"},
                   {"4099xf32"},
                   {"(d0) -> (d0)"},
                   {"4099x" + f8},
                   "%x: f32",
                   "%y = arith.truncf %x : f32 to " + f8 +
                       "\nmpt_kernel.yield %y : " + f8 + "\n"}
            .str();
    KernelModule module(text);
    Tensors bytes = module.makeInputs("widen", 1);
    for (int i = 0; i < 256; ++i)
      bytes[0].getBytes()[i] = i;
    Tensors wide = module.run("widen", bytes);
    std::vector<float> numbers;
    for (int i = 0; i < 256; ++i) {
      double expected = decodeElement(type, &bytes[0].getBytes()[i]);
      double found = wide[0].getElement(i);
      EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << i;
      EXPECT_EQ(std::signbit(found), (i & 0x80) != 0) << i;
      if (!std::isfinite(expected))
        continue;
      // The number, the middle to the next one, and their f32 neighbours.
      for (double at :
           {expected,
            expected + std::ldexp(1.0, std::ilogb(expected ? expected : 1e-9) - 3),
            expected * 1.03125, expected * 1.0625, expected * 1.125})
        for (float value : {static_cast<float>(at), std::nextafterf(at, INFINITY),
                            std::nextafterf(at, -INFINITY)})
          numbers.push_back(value);
    }
    // Halves of the smallest subnormals, beyond the largest, not finite.
    for (int k = 0; k < 40; ++k)
      for (float at : {static_cast<float>(
               std::ldexp(k * 0.5, type == ElementType::F8E5M2 ? -16 : -9))})
        for (float value : {at, std::nextafterf(at, 1.f), std::nextafterf(at, -1.f)})
          numbers.push_back(value);
    for (float value : {464.f, 465.f, 480.f, 61439.f, 61440.f, 61441.f, 1e30f, INFINITY,
                        -INFINITY, NAN, 1e-40f, 0.f, -0.f})
      numbers.push_back(value);
    ASSERT_LE(numbers.size(), 4099u);
    Tensors f32 = module.makeInputs("narrow", 2);
    for (size_t i = 0; i < numbers.size(); ++i)
      f32[0].setElement(i, numbers[i]);
    Tensors narrow = module.run("narrow", f32);
    for (int64_t i = 0; i < 4099; ++i) {
      char expected;
      encodeElement(type, f32[0].getElement(i), &expected);
      double found = narrow[0].getElement(i), right = decodeElement(type, &expected);
      EXPECT_TRUE((std::isnan(found) && std::isnan(right)) ||
                  narrow[0].getBytes()[i] == static_cast<uint8_t>(expected))
          << format << " " << f32[0].getElement(i) << ": " << found << " " << right;
    }
  }
}

const std::string kSoftmax = R"(
  %m = mpt_kernel.row_reduce <max> %x : f32
  %d = arith.subf %x, %m : f32
  %e = math.exp %d : f32
  %s = mpt_kernel.row_reduce <sum> %e : f32
  %y = arith.divf %e, %s : f32
  mpt_kernel.yield %y, %s : f32, f32
)";

/// Softmax: the sum has up to n terms of at most 4 ulp error each (exp) and the
/// quotient adds a rounding: n + 10 ulp is a bound far above rounding noise yet
/// far below a wrong lane.
TEST(Kernels, SoftmaxRows) {
  std::string text;
  for (int n = 1; n <= 40; ++n) {
    std::string size = std::to_string(n);
    text += KernelText{"k" + size,
                       "row",
                       {2, 3, n},
                       2,
                       {"(d0, d1, d2) -> (d1, d0, d2)"},
                       {"3x2x" + size + "xf32"},
                       {"(d0, d1, d2) -> (d0, d1, d2)", "(d0, d1, d2) -> (d0, d1)"},
                       {"2x3x" + size + "xf32", "2x3xf32"},
                       "%x: f32",
                       kSoftmax}
                .str();
  }
  KernelModule module(text);
  for (int n = 1; n <= 40; ++n) {
    std::string name = "k" + std::to_string(n);
    Tensors inputs = module.makeInputs(name, n);
    Tensors found = module.run(name, inputs), expected = module.evaluate(name, inputs);
    EXPECT_LE(distance(found[0], expected[0]), n + 10) << n;
    EXPECT_LE(distance(found[1], expected[1]), n + 10) << n;
    expectSame(module.run(name, inputs, {1, 2}), found);
  }
}

/// The largest and smallest of rows of infinities, and of rows with a NaN in a whole
/// vector, at its last lane and in the tail; of halves also where neighbouring rows lie
/// next to each other.
TEST(Kernels, ExtremesOfRows) {
  std::string text;
  const std::vector<int> sizes = {1, 5, 16, 17, 32, 35, 70, 300};
  constexpr int rows = 20;
  struct Case {
    std::string name, type;
    int columns;
    bool isTransposed;
  };
  std::vector<Case> cases;
  for (const char *type : {"f32", "bf16", "f16"})
    for (bool isTransposed : {false, true})
      for (int n : sizes)
        if (!isTransposed || n <= 35)
          cases.push_back(
              {type + std::string(isTransposed ? "t" : "r") + std::to_string(n), type, n,
               isTransposed});
  for (const Case &test : cases) {
    const std::string size = std::to_string(test.columns);
    const bool isWide = test.type == "f32";
    text +=
        KernelText{test.name,
                   "row",
                   {rows, test.columns},
                   2,
                   {test.isTransposed ? "(d0, d1) -> (d1, d0)" : "(d0, d1) -> (d0, d1)"},
                   {(test.isTransposed ? size + "x20x" : "20x" + size + "x") + test.type},
                   {"(d0, d1) -> (d0)", "(d0, d1) -> (d0)"},
                   {"20xf32", "20xf32"},
                   (isWide ? "%x: " : "%h: ") + test.type,
                   (isWide ? "" : "%x = arith.extf %h : " + test.type + " to f32\n") +
                       "%a = mpt_kernel.row_reduce <max> %x : f32\n"
                       "%b = mpt_kernel.row_reduce <min> %x : f32\n"
                       "mpt_kernel.yield %a, %b : f32, f32\n"}
            .str();
  }
  KernelModule module(text);
  for (const Case &test : cases) {
    const int n = test.columns;
    Tensors inputs = module.makeInputs(test.name, n);
    auto at = [&](int row, int column) {
      return test.isTransposed ? column * rows + row : row * n + column;
    };
    auto set = [&](int row, int column, double value) {
      inputs[0].setElement(at(row, std::min(column, n - 1)), value);
    };
    for (int i = 0; i < n; ++i) {
      set(1, i, -INFINITY);
      set(2, i, INFINITY);
      set(7, i, i % 2 ? -3e-8 : -6e-8);
      set(8, i, i % 2 ? 3e-8 : 6e-8);
    }
    set(3, 3, NAN);
    set(4, 15, -NAN);
    set(5, n - 1, NAN);
    set(5, 0, INFINITY);
    set(6, n / 2, -INFINITY);
    set(9, n / 3, -NAN);
    set(9, 0, INFINITY);
    set(10, n - 1, -NAN);
    set(10, 0, -INFINITY);
    Tensors found = module.run(test.name, inputs);
    for (int row = 0; row < rows; ++row) {
      double most = -INFINITY, least = INFINITY;
      for (int i = 0; i < n; ++i) {
        double value = inputs[0].getElement(at(row, i));
        most = std::isnan(value) || value > most ? value : most;
        least = std::isnan(value) || value < least ? value : least;
        if (std::isnan(value))
          break;
      }
      for (auto [tensor, expected] : {std::pair(0, most), std::pair(1, least)}) {
        double value = found[tensor].getElement(row);
        EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
            << test.name << " " << row << ": " << value << ", expected " << expected;
      }
    }
  }
}

/// Softmax of long rows, which a GPU's threads keep as bf16 (8192 and 16392) or read
/// again (with whole turns, single vectors and a tail; one element at a time). A thread
/// adds at most 128 of a row's terms, each off by 4 ulp (exp), and 15 partial sums
/// follow.
TEST(Kernels, LongRows) {
  std::vector<int> sizes = {8192, 16392, 40000, 50304, 3001, 70000};
  std::string text;
  for (int n : sizes) {
    std::string size = std::to_string(n);
    std::string body = kSoftmax;
    body.replace(body.find("%m"), 0, "%x = arith.extf %h : bf16 to f32\n  ");
    text += KernelText{"k" + size,
                       "row",
                       {3, n},
                       1,
                       {"(d0, d1) -> (d0, d1)"},
                       {"3x" + size + "xbf16"},
                       {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"},
                       {"3x" + size + "xf32", "3xf32"},
                       "%h: bf16",
                       body}
                .str();
  }
  KernelModule module(text);
  for (int n : sizes) {
    std::string name = "k" + std::to_string(n);
    Tensors inputs = module.makeInputs(name, n);
    Tensors found = module.run(name, inputs), expected = module.evaluate(name, inputs);
    int most = std::max(128, n / 96) + 15 + 8;
#ifndef MPT_TEST_DEVICE_KERNELS
    most = n / 16 + 24;
#endif
    EXPECT_LE(distance(found[0], expected[0]), most) << n;
    EXPECT_LE(distance(found[1], expected[1]), most) << n;
  }
}

/// Cross-entropy and its gradient, in place, of rows that a GPU keeps as f32, packed, or
/// reads again; the class is in the first vector, the last, or none. The largest logit
/// and that of the class are exact.
/// What is one load of a row, before threads store in its place.
TEST(Kernels, OneOfARowInPlace) {
  std::string text;
  for (int n : {64, 128, 1024, 3001}) {
    std::string full = "(d0, d1) -> (d0, d1)", x = "5x" + std::to_string(n) + "xf32";
    text += KernelText{"k" + std::to_string(n),
                       "row",
                       {5, n},
                       1,
                       {full, "(d0, d1) -> (d0)"},
                       {x, "5xi32"},
                       {full},
                       {x},
                       "%h: f32, %t: i32",
                       R"(
      %i = mpt_kernel.index 1 : i32
      %is = arith.cmpi eq, %i, %t : i32
      %none = arith.constant 0.0 : f32
      %l = arith.select %is, %h, %none : f32
      %of = mpt_kernel.row_reduce <sum> %l : f32
      %y = arith.subf %h, %of : f32
      mpt_kernel.yield %y : f32
    )"}
                .str();
  }
  KernelModule module(text);
  for (int n : {64, 128, 1024, 3001}) {
    std::string name = "k" + std::to_string(n);
    Tensors inputs = module.makeInputs(name, n);
    for (auto [row, label] : llvm::enumerate(std::vector<int>{0, n - 1, n / 2, 1, n / 3}))
      inputs[1].setElement(row, label);
    expectSame(module.runInPlace(name, inputs, 0, 0), module.evaluate(name, inputs));
  }
}

TEST(Kernels, CrossEntropy) {
  const std::vector<std::pair<int, std::string>> cases = {
      {40, "bf16"},    {40, "f16"},    {3001, "bf16"}, {8200, "f16"},
      {50304, "bf16"}, {50304, "f16"}, {28000, "f32"}, {30528, "bf16"}};
  std::string text;
  for (const auto &[n, type] : cases) {
    std::string size = std::to_string(n), full = "(d0, d1) -> (d0, d1)";
    std::string row = "(d0, d1) -> (d0)", logits = "5x" + size + "x" + type;
    std::string body =
        type == "f32"
            ? "%zero = arith.constant 0.0 : f32\n%x = arith.addf %h, %zero : f32"
            : "%x = arith.extf %h : " + type + " to f32";
    body += R"(
      %m = mpt_kernel.row_reduce <max> %x : f32
      %d = arith.subf %x, %m : f32
      %e = math.exp %d : f32
      %s = mpt_kernel.row_reduce <sum> %e : f32
      %i = mpt_kernel.index 1 : i32
      %is = arith.cmpi eq, %i, %t : i32
      %none = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %l = arith.select %is, %x, %none : f32
      %of = mpt_kernel.row_reduce <sum> %l : f32
      %p = arith.divf %e, %s : f32
      %q = arith.select %is, %one, %none : f32
      %g = arith.subf %p, %q : f32
    )";
    if (type != "f32")
      body += "%y = arith.truncf %g : f32 to " + type + "\n";
    body += "mpt_kernel.yield " + std::string(type == "f32" ? "%g" : "%y") +
            ", %m, %of : " + type + ", f32, f32\n";
    text += KernelText{"k" + size + type,
                       "row",
                       {5, n},
                       1,
                       {full, row},
                       {logits, "5xi32"},
                       {full, row, row},
                       {logits, "5xf32", "5xf32"},
                       "%h: " + type + ", %t: i32",
                       body}
                .str();
  }
  KernelModule module(text);
  for (const auto &[n, type] : cases) {
    std::string name = "k" + std::to_string(n) + type;
    Tensors inputs = module.makeInputs(name, n);
    for (auto [row, label] : llvm::enumerate(std::vector<int>{0, n - 1, n, -1, n / 2}))
      inputs[1].setElement(row, label);
    Tensors expected = module.evaluate(name, inputs), found = module.run(name, inputs);
    expectSame(module.runInPlace(name, inputs, 0, 0), found);
    for (int row = 0; row < 5; ++row)
      for (int result : {1, 2})
        EXPECT_EQ(found[result].getElement(row), expected[result].getElement(row))
            << name << " " << row;
    // Probabilities are at most 1: 2^-9 for bf16.
    for (int64_t i = 0; i < int64_t(5) * n; ++i)
      ASSERT_NEAR(found[0].getElement(i), expected[0].getElement(i), 0x1p-8)
          << name << " at " << i;
    // A NaN is the largest.
    inputs[0].setElement(2 * n + n - 2, NAN);
    found = module.run(name, inputs);
    EXPECT_TRUE(std::isnan(found[1].getElement(2))) << name;
    EXPECT_FALSE(std::isnan(found[1].getElement(1))) << name;
  }
}

/// A residual stream's gradient through a layer norm, in place: three tensors of a row
/// and sums over its columns, which a GPU's threads keep as one vector each (768), packed
/// (2560) or, the sums, in memory (20480).
TEST(Kernels, LongRowsWithSums) {
  std::vector<int> sizes = {768, 2560, 20480};
  std::string text;
  for (int n : sizes) {
    std::string c = std::to_string(n), full = "(d0, d1) -> (d0, d1)";
    text += KernelText{"k" + c,
                       "column",
                       {7, n},
                       3,
                       {full, "(d0, d1) -> (d1)", full, "(d0, d1) -> (d0)", full},
                       {"7x" + c + "xbf16", c + "xf32", "7x" + c + "xf32", "7xf32",
                        "7x" + c + "xbf16"},
                       {full, "(d0, d1) -> (d1)"},
                       {"7x" + c + "xbf16", c + "xf32"},
                       "%g: bf16, %w: f32, %xh: f32, %rstd: f32, %r: bf16",
                       R"(
        %dy = arith.extf %g : bf16 to f32
        %dxh = arith.mulf %dy, %w : f32
        %m1 = mpt_kernel.row_reduce <mean> %dxh : f32
        %p = arith.mulf %dxh, %xh : f32
        %m2 = mpt_kernel.row_reduce <mean> %p : f32
        %q = arith.mulf %xh, %m2 : f32
        %a = arith.subf %dxh, %m1 : f32
        %b = arith.subf %a, %q : f32
        %dx = arith.mulf %b, %rstd : f32
        %rw = arith.extf %r : bf16 to f32
        %s = arith.addf %rw, %dx : f32
        %h = arith.truncf %s : f32 to bf16
        %db = mpt_kernel.column_reduce <sum> %s : f32
        mpt_kernel.yield %h, %db : bf16, f32
      )"}
                .str();
  }
  KernelModule module(text);
  for (int n : sizes) {
    std::string name = "k" + std::to_string(n);
    Tensors inputs = module.makeInputs(name, n);
    Tensors expected = module.evaluate(name, inputs);
    Tensors found = module.run(name, inputs);
    expectSame(module.runInPlace(name, inputs, 4, 0), found);
    // bf16 has 2^-9; numbers before that rounding are of order 1 to 30, and off by 1e-5.
    for (int64_t i = 0; i < expected[0].getNumElements(); ++i)
      ASSERT_NEAR(found[0].getElement(i), expected[0].getElement(i),
                  1e-4 + std::fabs(expected[0].getElement(i)) / 128)
          << name << " at " << i;
    for (int64_t i = 0; i < expected[1].getNumElements(); ++i)
      ASSERT_NEAR(found[1].getElement(i), expected[1].getElement(i), 1e-3)
          << name << " at " << i;
  }
}

#ifdef MPT_TEST_DEVICE_KERNELS
/// --gpu-math=fast: exp within 2^-22 + |x| 2^-23, nothing below 2^-126; erf within 1.2
/// units in the last place and what exp is off by; tanh within 2^-22 of itself, as exp2
/// and the reciprocal here are right; one rounding of x y + z where nothing else reads x
/// y.
TEST(Kernels, FastMath) {
  std::string d = "(d0) -> (d0)", t = "4096xf32", text;
  for (std::string name : {"exp", "erf", "tanh"})
    text +=
        KernelText{
            name,      "pointwise",
            {4096},    1,
            {d},       {t},
            {d},       {t},
            "%x: f32", "%y = math." + name + " %x : f32\nmpt_kernel.yield %y : f32\n"}
            .str();
  for (bool isShared : {false, true})
    text += KernelText{isShared ? "shared" : "fma",
                       "pointwise",
                       {1},
                       1,
                       {d, d, d},
                       {"1xf32", "1xf32", "1xf32"},
                       {d, d},
                       {"1xf32", "1xf32"},
                       "%x: f32, %y: f32, %z: f32",
                       std::string("%m = arith.mulf %x, %y : f32\n"
                                   "%s = arith.addf %m, %z : f32\n") +
                           "mpt_kernel.yield %s, " + (isShared ? "%m" : "%x") +
                           " : f32, f32\n"}
                .str();
  KernelModule fast(text, "fast"), exact(text, "exact");
  Tensors inputs = fast.makeInputs("exp", 1);
  for (int64_t i = 0; i < 4096; ++i)
    inputs[0].setElement(i, -104.0 + static_cast<double>(i) * (192.0 / 4096));
  Tensors found = fast.run("exp", inputs);
  for (int64_t i = 0; i < 4096; ++i) {
    double x = inputs[0].getElement(i), y = found[0].getElement(i), right = std::exp(x);
    double bound = right * (std::ldexp(1, -22) + std::fabs(x) * std::ldexp(1, -23));
    if (right < std::ldexp(1, -126) * 1.001)
      EXPECT_LE(y, std::ldexp(1, -126) * 1.001) << x;
    else
      EXPECT_NEAR(y, right, bound) << x;
  }
  inputs[0].setElement(0, HUGE_VAL);
  inputs[0].setElement(1, -HUGE_VAL);
  inputs[0].setElement(2, NAN);
  found = fast.run("exp", inputs);
  EXPECT_EQ(found[0].getElement(0), HUGE_VAL);
  EXPECT_EQ(found[0].getElement(1), 0.0);
  EXPECT_TRUE(std::isnan(found[0].getElement(2)));

  for (int64_t i = 0; i < 4096; ++i)
    inputs[0].setElement(i, (static_cast<double>(i) - 2048) / 410);
  found = fast.run("erf", inputs);
  for (int64_t i = 0; i < 4096; ++i) {
    double x = inputs[0].getElement(i), right = std::erf(x);
    double tail = std::fabs(x) > 0.9 ? std::erfc(std::fabs(x)) : 0;
    double fromExp = tail * (std::ldexp(1, -22) -
                             std::log(std::max(tail, 1e-30)) * std::ldexp(1, -23));
    // Units in the last place of f32.
    double unit = std::ldexp(1, std::max(std::ilogb(right), -126) - 23);
    EXPECT_NEAR(found[0].getElement(i), right, 1.2 * unit + fromExp) << x;
  }
  inputs[0].setElement(0, HUGE_VAL);
  inputs[0].setElement(1, -HUGE_VAL);
  inputs[0].setElement(2, NAN);
  inputs[0].setElement(3, -0.0);
  found = fast.run("erf", inputs);
  EXPECT_EQ(found[0].getElement(0), 1.0);
  EXPECT_EQ(found[0].getElement(1), -1.0);
  EXPECT_TRUE(std::isnan(found[0].getElement(2)));
  EXPECT_TRUE(found[0].getElement(3) == 0 && std::signbit(found[0].getElement(3)));

  // Small and large ones, and those around 0.55, where the formula changes.
  for (int64_t i = 0; i < 4096; ++i) {
    const double part = static_cast<double>(i % 1024) / 1024;
    const double x = i < 1024   ? std::exp2(-40 + 46 * part)
                     : i < 2048 ? 0.5 + 0.1 * part
                     : i < 3072 ? 0.55 + 9 * part
                                : 1e-30 * part;
    inputs[0].setElement(i, i % 2 ? x : -x);
  }
  found = fast.run("tanh", inputs);
  for (int64_t i = 0; i < 4096; ++i) {
    double x = inputs[0].getElement(i), right = std::tanh(x);
    EXPECT_NEAR(found[0].getElement(i), right, std::fabs(right) * std::ldexp(1, -22))
        << x;
  }
  inputs[0].setElement(0, HUGE_VAL);
  inputs[0].setElement(1, -HUGE_VAL);
  inputs[0].setElement(2, NAN);
  inputs[0].setElement(3, -0.0);
  found = fast.run("tanh", inputs);
  EXPECT_EQ(found[0].getElement(0), 1.0);
  EXPECT_EQ(found[0].getElement(1), -1.0);
  EXPECT_TRUE(std::isnan(found[0].getElement(2)));
  EXPECT_TRUE(found[0].getElement(3) == 0 && std::signbit(found[0].getElement(3)));

  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, whose last term a rounding takes away.
  Tensors factors = fast.makeInputs("fma", 1);
  factors[0].setElement(0, 1 + std::ldexp(1, -12));
  factors[1].setElement(0, 1 + std::ldexp(1, -12));
  factors[2].setElement(0, -1 - std::ldexp(1, -11));
  EXPECT_EQ(fast.run("fma", factors)[0].getElement(0), std::ldexp(1, -24));
  EXPECT_EQ(fast.run("shared", factors)[0].getElement(0), 0.0);
  EXPECT_EQ(exact.run("fma", factors)[0].getElement(0), 0.0);
}
#endif

/// A layer norm's gradient: row sums, row results and column sums in one.
TEST(Kernels, LayerNormGradient) {
  std::string text;
  for (int rows : {1, 7, 64})
    for (int n : {1, 8, 37}) {
      std::string r = std::to_string(rows), c = std::to_string(n);
      text +=
          KernelText{"k" + r + "x" + c,
                     "column",
                     {rows, n},
                     5,
                     {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)"},
                     {r + "x" + c + "xf32", r + "x" + c + "xbf16", c + "xf32"},
                     {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)", "(d0, d1) -> (d1)",
                      "(d0, d1) -> ()"},
                     {r + "x" + c + "xf32", c + "xf32", c + "xf32", "f32"},
                     "%x: f32, %g: bf16, %w: f32",
                     R"(
        %eps = arith.constant 1.0e-5 : f32
        %half = arith.constant 0.5 : f32
        %dy = arith.extf %g : bf16 to f32
        %mean = mpt_kernel.row_reduce <mean> %x : f32
        %xc = arith.subf %x, %mean : f32
        %sq = arith.mulf %xc, %xc : f32
        %var = mpt_kernel.row_reduce <mean> %sq : f32
        %ve = arith.addf %var, %eps : f32
        %rstd = math.rsqrt %ve : f32
        %xh = arith.mulf %xc, %rstd : f32
        %dxh = arith.mulf %dy, %w : f32
        %m1 = mpt_kernel.row_reduce <mean> %dxh : f32
        %p = arith.mulf %dxh, %xh : f32
        %m2 = mpt_kernel.row_reduce <mean> %p : f32
        %q = arith.mulf %xh, %m2 : f32
        %a = arith.subf %dxh, %m1 : f32
        %b = arith.subf %a, %q : f32
        %dx = arith.mulf %b, %rstd : f32
        %dgp = arith.mulf %dy, %xh : f32
        %dw = mpt_kernel.column_reduce <sum> %dgp : f32
        %db = mpt_kernel.column_reduce <mean> %dy : f32
        %rows = mpt_kernel.row_reduce <sum> %sq : f32
        %all = mpt_kernel.column_reduce <sum> %rows : f32
        %u = arith.mulf %dw, %half : f32
        %v = arith.addf %u, %w : f32
        %n = arith.mulf %all, %half : f32
        mpt_kernel.yield %dx, %v, %db, %n : f32, f32, f32, f32
      )"}
              .str();
    }
  KernelModule module(text);
  for (int rows : {1, 7, 64})
    for (int n : {1, 8, 37}) {
      std::string name = "k" + std::to_string(rows) + "x" + std::to_string(n);
      Tensors inputs = module.makeInputs(name, rows + n);
      Tensors found = module.run(name, inputs), expected = module.evaluate(name, inputs);
      // Numbers are of order 1 (rstd up to 316 where a row has one element, and
      // its values are then exact zeros); sums have at most 64 * 37 terms.
      for (size_t r = 0; r < found.size(); ++r)
        for (int64_t i = 0; i < found[r].getNumElements(); ++i)
          EXPECT_NEAR(found[r].getElement(i), expected[r].getElement(i),
                      1e-5 * (1 + std::fabs(expected[r].getElement(i))))
              << name << " result " << r << " at " << i;
      for (int64_t cut = 0; cut < module.getTasks(name); ++cut)
        expectSame(module.run(name, inputs, {cut}), found);
    }
}

/// One task, whose blocks on a GPU also do what follows from the sums: a bias's gradient
/// and its update, in place. Columns are those of one block and of several side by side.
TEST(Kernels, OneTask) {
  std::string text;
  for (int rows : {1, 9, 70})
    for (int n : {1, 9, 300, 1030}) {
      std::string r = std::to_string(rows), c = std::to_string(n);
      text += KernelText{"k" + r + "x" + c,
                         "column",
                         {rows, n},
                         rows,
                         {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)", "(d0, d1) -> ()"},
                         {r + "x" + c + "xbf16", c + "xf32", "f32"},
                         {"(d0, d1) -> (d1)", "(d0, d1) -> (d0, d1)"},
                         {c + "xf32", r + "x" + c + "xf32"},
                         "%g: bf16, %m: f32, %rate: f32",
                         R"(
        %x = arith.extf %g : bf16 to f32
        %p = arith.mulf %x, %rate : f32
        %sum = mpt_kernel.column_reduce <sum> %p : f32
        %most = mpt_kernel.column_reduce <max> %x : f32
        %a = arith.mulf %m, %rate : f32
        %b = arith.addf %a, %sum : f32
        %v = arith.addf %b, %most : f32
        mpt_kernel.yield %v, %p : f32, f32
      )"}
                  .str();
    }
  KernelModule module(text);
  for (int rows : {1, 9, 70})
    for (int n : {1, 9, 300, 1030}) {
      std::string name = "k" + std::to_string(rows) + "x" + std::to_string(n);
      ASSERT_EQ(module.getTasks(name), 1);
      Tensors inputs = module.makeInputs(name, rows + n);
      Tensors found = module.run(name, inputs), expected = module.evaluate(name, inputs);
      expectSame(module.runInPlace(name, inputs, 1, 0), found);
      for (size_t r = 0; r < found.size(); ++r)
        for (int64_t i = 0; i < found[r].getNumElements(); ++i)
          EXPECT_NEAR(found[r].getElement(i), expected[r].getElement(i),
                      1e-5 * (1 + std::fabs(expected[r].getElement(i))))
              << name << " result " << r << " at " << i;
    }
}

/// Transposed, sliced, strided and broadcast operands; transposed results;
/// masks and integers.
TEST(Kernels, Maps) {
  std::string text =
      KernelText{"transposed",
                 "pointwise",
                 {6, 21},
                 4,
                 {"(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0 + 1, d1 * 2 + 3)"},
                 {"21x6xf32", "8x50xf32"},
                 {"(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"},
                 {"21x6xf32", "6x21xf32"},
                 "%x: f32, %y: f32",
                 R"(
        %s = arith.subf %x, %y : f32
        mpt_kernel.yield %s, %s : f32, f32
      )"}
          .str() +
      KernelText{"broadcast",
                 "pointwise",
                 {3, 4, 5, 18},
                 7,
                 {"(d0, d1, d2, d3) -> (d0, d2)", "(d0, d1, d2, d3) -> (d1, 0, d3)",
                  "(d0, d1, d2, d3) -> ()"},
                 {"3x5xf32", "4x1x18xf32", "f32"},
                 {"(d0, d1, d2, d3) -> (d0, d1, d2, d3)"},
                 {"3x4x5x18xf32"},
                 "%x: f32, %y: f32, %z: f32",
                 R"(
        %a = arith.mulf %x, %y : f32
        %b = arith.addf %a, %z : f32
        mpt_kernel.yield %b : f32
      )"}
          .str() +
      KernelText{"mask",
                 "pointwise",
                 {4, 33},
                 1,
                 {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0, d1)"},
                 {"4x33xf32", "4x33xi1"},
                 {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0, d1)"},
                 {"4x33xf32", "4x33xi1"},
                 "%x: f32, %m: i1",
                 R"(
        %zero = arith.constant 0.0 : f32
        %p = arith.cmpf ogt, %x, %zero : f32
        %a = arith.select %m, %x, %zero : f32
        mpt_kernel.yield %a, %p : f32, i1
      )"}
          .str() +
      KernelText{"index",
                 "pointwise",
                 {2, 3, 20},
                 2,
                 {"(d0, d1, d2) -> (d0, d1, d2)"},
                 {"2x3x20xi32"},
                 {"(d0, d1, d2) -> (d0, d1, d2)", "(d0, d1, d2) -> (d0, d1, d2)"},
                 {"2x3x20xi32", "2x3x20xi64"},
                 "%x: i32",
                 R"(
        %i = mpt_kernel.index 1 : i32
        %j = mpt_kernel.index 2 : i64
        %a = arith.addi %x, %i : i32
        mpt_kernel.yield %a, %j : i32, i64
      )"}
          .str() +
      KernelText{"scalar",
                 "pointwise",
                 {1},
                 1,
                 {"(d0) -> ()", "(d0) -> ()"},
                 {"i64", "f32"},
                 {"(d0) -> ()", "(d0) -> ()"},
                 {"i64", "f32"},
                 "%x: i64, %y: f32",
                 R"(
        %one = arith.constant 1 : i64
        %a = arith.addi %x, %one : i64
        %d = arith.sitofp %a : i64 to f64
        %e = arith.extf %y : f32 to f64
        %f = arith.divf %e, %d : f64
        %g = arith.truncf %f : f64 to f32
        mpt_kernel.yield %a, %g : i64, f32
      )"}
          .str() +
      KernelText{"nothing",   "pointwise", {5, 9}, 2, {}, {}, {"(d0, d1) -> (d0, d1)"},
                 {"5x9xf32"}, "",          R"(
        %c = arith.constant 2.5 : f32
        mpt_kernel.yield %c : f32
      )"}
          .str();
  KernelModule module(text);
  for (const char *name :
       {"transposed", "broadcast", "mask", "index", "scalar", "nothing"}) {
    SCOPED_TRACE(name);
    Tensors inputs = module.makeInputs(name, 5);
    Tensors expected = module.evaluate(name, inputs);
    expectSame(module.run(name, inputs), expected);
    for (int64_t cut = 0; cut < module.getTasks(name); ++cut)
      expectSame(module.run(name, inputs, {cut}), expected);
  }
}

/// Large enough that a thread of a GPU takes several rows of what these share, with rows
/// and columns that no tile and no vector divides.
TEST(Kernels, RowsThatShareOperands) {
  std::string text =
      KernelText{"norm",
                 "pointwise",
                 {20809, 13},
                 64,
                 {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)", "(d0, d1) -> (d1)",
                  "(d0, d1) -> ()", "(d0, d1) -> (d0)"},
                 {"20809x13xf32", "13xf32", "13xf32", "f32", "20809xf32"},
                 {"(d0, d1) -> (d0, d1)"},
                 {"20809x13xf32"},
                 "%x: f32, %mean: f32, %gamma: f32, %z: f32, %row: f32",
                 R"(
        %g = arith.mulf %gamma, %z : f32
        %c = arith.subf %x, %mean : f32
        %n = arith.mulf %c, %g : f32
        %r = arith.addf %n, %row : f32
        mpt_kernel.yield %r : f32
      )"}
          .str() +
      // What the rows of a batch share, and what all share.
      KernelText{"batches",
                 "pointwise",
                 {3, 18041, 10},
                 64,
                 {"(d0, d1, d2) -> (d0, d1, d2)", "(d0, d1, d2) -> (d0, d2)",
                  "(d0, d1, d2) -> (d2)"},
                 {"3x18041x10xf32", "3x10xf32", "10xf32"},
                 {"(d0, d1, d2) -> (d0, d1, d2)"},
                 {"3x18041x10xf32"},
                 "%x: f32, %y: f32, %z: f32",
                 R"(
        %a = arith.mulf %x, %y : f32
        %b = arith.addf %a, %z : f32
        mpt_kernel.yield %b : f32
      )"}
          .str() +
      // Along the first dimension, and a result that is shared as a whole.
      KernelText{"positions",
                 "pointwise",
                 {37, 1471, 10},
                 64,
                 {"(d0, d1, d2) -> (d0, d1, d2)", "(d0, d1, d2) -> (d1, d2)",
                  "(d0, d1, d2) -> (d2)", "(d0, d1, d2) -> (d0)"},
                 {"37x1471x10xf32", "1471x10xf32", "10xf32", "37xf32"},
                 {"(d0, d1, d2) -> (d0, d1, d2)", "(d0, d1, d2) -> (d0, d1, d2)"},
                 {"37x1471x10xf32", "37x1471x10xf32"},
                 "%x: f32, %p: f32, %g: f32, %s: f32",
                 R"(
        %a = arith.mulf %p, %g : f32
        %b = arith.addf %a, %x : f32
        %c = arith.mulf %b, %s : f32
        mpt_kernel.yield %c, %a : f32, f32
      )"}
          .str() +
      KernelText{"indices",
                 "pointwise",
                 {24607, 44},
                 64,
                 {"(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)"},
                 {"24607x44xi32", "44xi32"},
                 {"(d0, d1) -> (d0, d1)"},
                 {"24607x44xi32"},
                 "%x: i32, %y: i32",
                 R"(
        %i = mpt_kernel.index 0 : i32
        %j = mpt_kernel.index 1 : i32
        %a = arith.addi %j, %y : i32
        %b = arith.addi %a, %i : i32
        %c = arith.addi %b, %x : i32
        mpt_kernel.yield %c : i32
      )"}
          .str();
  KernelModule module(text);
  for (const char *name : {"norm", "batches", "positions", "indices"}) {
    SCOPED_TRACE(name);
    Tensors inputs = module.makeInputs(name, 7);
    Tensors expected = module.evaluate(name, inputs);
    expectSame(module.run(name, inputs), expected);
    expectSame(module.runInPlace(name, inputs, 0, 0), expected);
  }
}

/// A dimension that is not the last of the tensors is the row, so that vectors take
/// neighbouring rows: rows that are walked once, also long ones, and twice, with rests of
/// vectors and operands that repeat along rows or neighbours.
TEST(Kernels, RowsOfMiddleDimensions) {
  const std::string full = "(d0, d1, d2) -> (d0, d2, d1)";
  std::vector<int> sizes = {2, 49, 256, 301, 1024};
  std::string text;
  for (int n : sizes) {
    std::string c = std::to_string(n), type = "3x" + c + "x35x";
    text +=
        KernelText{"once" + c,
                   "row",
                   {3, 35, n},
                   16,
                   {full, "(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d1)"},
                   {type + "f16", "3x" + c + "xf32", "35xf32"},
                   {"(d0, d1, d2) -> (d0, d1)", full},
                   {"3x35xf32", type + "f32"},
                   "%x: f16, %w: f32, %g: f32",
                   R"(
        %e = arith.extf %x : f16 to f32
        %p = arith.mulf %e, %w : f32
        %q = arith.mulf %p, %g : f32
        %s = mpt_kernel.row_reduce <sum> %q : f32
        mpt_kernel.yield %s, %q : f32, f32
      )"}
            .str() +
        KernelText{"twice" + c, "row",          {3, 35, n}, 16, {full}, {type + "f32"},
                   {full},      {type + "f32"}, "%x: f32",
                   R"(
        %m = mpt_kernel.row_reduce <max> %x : f32
        %d = arith.subf %x, %m : f32
        mpt_kernel.yield %d : f32
      )"}
            .str();
  }
  KernelModule module(text);
  for (int n : sizes) {
    SCOPED_TRACE(n);
    const std::string once = "once" + std::to_string(n),
                      twice = "twice" + std::to_string(n);
    Tensors inputs = module.makeInputs(once, n);
    Tensors expected = module.evaluate(once, inputs), found = module.run(once, inputs);
    expectSame({found[1]}, {expected[1]});
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 35; ++j) {
        // Of either sum, n - 1 roundings of at most what is added.
        double sum = 0;
        for (int k = 0; k < n; ++k)
          sum += std::fabs(expected[1].getElement((i * n + k) * 35 + j));
        ASSERT_NEAR(found[0].getElement(i * 35 + j), expected[0].getElement(i * 35 + j),
                    2 * n * sum * 0x1p-24)
            << i << ", " << j;
      }
    expectSame(module.run(once, inputs, {1}), found);
    inputs = module.makeInputs(twice, n);
    expected = module.evaluate(twice, inputs);
    expectSame(module.run(twice, inputs), expected);
    expectSame(module.runInPlace(twice, inputs, 0, 0), expected);
  }
}

/// Everything to one number, by every kind of reduction.
TEST(Kernels, FullReductions) {
  std::string text;
  for (const char *kind : {"sum", "mean", "max", "min"}) {
    text += KernelText{kind,
                       "column",
                       {9, 43},
                       2,
                       {"(d0, d1) -> (d0, d1)"},
                       {"9x43xf32"},
                       {"(d0, d1) -> ()"},
                       {"f32"},
                       "%x: f32",
                       std::string("%r = mpt_kernel.row_reduce <") + kind +
                           "> %x : f32\n%c = mpt_kernel.column_reduce <" + kind +
                           "> %r : f32\nmpt_kernel.yield %c : f32\n"}
                .str();
  }
  KernelModule module(text);
  for (const char *kind : {"sum", "mean", "max", "min"}) {
    Tensors inputs = module.makeInputs(kind, 8);
    Tensors found = module.run(kind, inputs), expected = module.evaluate(kind, inputs);
    bool isExact = kind[0] == 'm' && kind[1] != 'e';
    // 387 terms of at most about 4: half an ulp of the running sum (below 128)
    // each, were they all added in one chain.
    double bound = isExact ? 0 : 387 * 128 * std::ldexp(1.0, -24) * 1.01;
    EXPECT_NEAR(found[0].getElement(0), expected[0].getElement(0), bound) << kind;
    inputs[0].setElement(200, NAN);
    EXPECT_TRUE(std::isnan(module.run(kind, inputs)[0].getElement(0))) << kind;
  }
}

} // namespace
