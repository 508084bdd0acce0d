//===- MathTest.cpp - Accuracy of the math functions -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled f32 functions against libm in double, over each function's whole
/// range. The bounds are those that mpt-approximate-math promises.
///
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mpt;
using namespace mpt::test;

namespace {

constexpr int64_t kCount = 1 << 16;

struct Function {
  const char *name;
  double (*exact)(double);
  /// Range of arguments; from |low| on logarithmically spaced if both signs.
  double low, high;
  /// Bound in units of the last place of the exact result.
  double ulps;
};

std::string kernelOf(const std::string &name) {
  std::string tensor = "tensor<" + std::to_string(kCount) + "xf32>";
  return "\"mpt_kernel.func\"() <{sym_name = \"" + name +
         "\", kind = #mpt_kernel.kind<pointwise>, domain = array<i64: " +
         std::to_string(kCount) + ">, chunk_rows = 1 : i64, function_type = (" + tensor +
         ") -> " + tensor +
         ", operand_maps = [affine_map<(d0) -> (d0)>], result_maps = "
         "[affine_map<(d0) -> (d0)>]}> ({\n^bb0(%x: f32):\n  %y = math." +
         name + " %x : f32\n  mpt_kernel.yield %y : f32\n}) : () -> ()\n";
}

double ulpsBetween(double found, double exact) {
  if ((std::isnan(found) && std::isnan(exact)) || found == exact)
    return 0;
  // Subnormal numbers may be taken for zero.
  if (std::fabs(exact) < 0x1p-126 && found == 0)
    return 0;
  int exponent = std::max(std::ilogb(exact), -126);
  double d = std::fabs(found - exact) / std::ldexp(1.0, exponent - 23);
  return std::isfinite(d) ? d : HUGE_VAL;
}

TEST(Math, Accuracy) {
  const Function functions[] = {
      {"exp", std::exp, -87.3, 88.7, 1}, {"log", std::log, 1.2e-38, 3e38, 2},
      {"tanh", std::tanh, -10, 10, 5},   {"erf", std::erf, -5, 5, 4},
      {"sin", std::sin, -1e9, 1e9, 0.6}, {"cos", std::cos, -1e9, 1e9, 0.6},
      {"sqrt", std::sqrt, 0, 1e30, 0.5},
  };
  std::string text;
  for (const Function &function : functions)
    text += kernelOf(function.name);
  KernelModule module(text);
  for (const Function &function : functions) {
    Tensors inputs = module.makeInputs(function.name, 1);
    for (int64_t i = 0; i < kCount; ++i) {
      double part = static_cast<double>(i) / (kCount - 1);
      double x;
      if (function.low > 0)
        x = std::exp(std::log(function.low) * (1 - part) +
                     std::log(function.high) * part);
      else if (i % 2)
        x = function.low * (1 - part) + function.high * part;
      else // From 2^-40 to the range's end, both signs.
        x = std::exp2(-40 + part * (40 + std::log2(function.high))) *
            (i % 4 && function.low < 0 ? -1 : 1);
      inputs[0].setElement(i, x);
    }
    Tensors results = module.run(function.name, inputs);
    double worst = 0, where = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      double x = inputs[0].getElement(i);
      double d = ulpsBetween(results[0].getElement(i), function.exact(x));
      if (d > worst)
        worst = d, where = x;
    }
    EXPECT_LE(worst, function.ulps) << function.name << " at " << where;
    RecordProperty(function.name, std::to_string(worst));
  }
}

TEST(Math, SpecialValues) {
  struct Case {
    const char *name;
    double x, y;
  };
  const Case cases[] = {
      {"exp", 0, 1},          {"exp", -INFINITY, 0}, {"exp", INFINITY, INFINITY},
      {"exp", 200, INFINITY}, {"exp", -200, 0},      {"exp", NAN, NAN},
      {"log", 1, 0},          {"log", 0, -INFINITY}, {"log", INFINITY, INFINITY},
      {"log", -1, NAN},       {"log", NAN, NAN},     {"tanh", 0, 0},
      {"tanh", 50, 1},        {"tanh", -50, -1},     {"tanh", INFINITY, 1},
      {"tanh", NAN, NAN},     {"erf", 0, 0},         {"erf", 10, 1},
      {"erf", -INFINITY, -1}, {"erf", NAN, NAN},     {"sin", 0, 0},
      {"cos", 0, 1},          {"sin", NAN, NAN},     {"cos", INFINITY, NAN},
  };
  std::string text;
  for (const char *name : {"exp", "log", "tanh", "erf", "sin", "cos"})
    text += kernelOf(name);
  KernelModule module(text);
  for (const Case &c : cases) {
    Tensors inputs = module.makeInputs(c.name, 1);
    inputs[0].setElement(77, c.x);
    double found = module.run(c.name, inputs)[0].getElement(77);
    EXPECT_TRUE(found == c.y || (std::isnan(found) && std::isnan(c.y)))
        << c.name << "(" << c.x << ") = " << found << ", expected " << c.y;
  }
}

} // namespace
