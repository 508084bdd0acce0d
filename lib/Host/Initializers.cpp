//===- Initializers.cpp - Seeded first values of state ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each element is a function of one Philox word. Only +, -, *, / and sqrt are
/// used on doubles, so the bits are the same with every CPU and C library.
///
//===----------------------------------------------------------------------===//

#include "mpt/Host/Initializers.h"
#include "mpt/Support/Philox.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mpt;

llvm::StringRef mpt::stringifyInitKind(InitKind kind) {
  switch (kind) {
  case InitKind::Zeros:
    return "zeros";
  case InitKind::Ones:
    return "ones";
  case InitKind::Constant:
    return "constant";
  case InitKind::Uniform:
    return "uniform";
  case InitKind::Normal:
    return "normal";
  case InitKind::TruncNormal:
    return "trunc_normal";
  case InitKind::KaimingUniform:
    return "kaiming_uniform";
  case InitKind::XavierUniform:
    return "xavier_uniform";
  }
  return "invalid";
}

std::optional<InitKind> mpt::parseInitKind(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<InitKind>>(name)
      .Case("zeros", InitKind::Zeros)
      .Case("ones", InitKind::Ones)
      .Case("constant", InitKind::Constant)
      .Case("uniform", InitKind::Uniform)
      .Case("normal", InitKind::Normal)
      .Case("trunc_normal", InitKind::TruncNormal)
      .Case("kaiming_uniform", InitKind::KaimingUniform)
      .Case("xavier_uniform", InitKind::XavierUniform)
      .Default(std::nullopt);
}

static std::string formatNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

llvm::Error mpt::verifyInitSpec(const InitSpec &spec) {
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError(
        "initializer " + stringifyInitKind(spec.kind) + ": " + message);
  };
  switch (spec.kind) {
  case InitKind::Zeros:
  case InitKind::Ones:
  case InitKind::Constant:
    break;
  case InitKind::Uniform:
    if (!std::isfinite(spec.low) || !std::isfinite(spec.high) ||
        spec.low > spec.high)
      return fail(
          "expected finite low <= high, found low = " + formatNumber(spec.low) +
          ", high = " + formatNumber(spec.high));
    break;
  case InitKind::Normal:
  case InitKind::TruncNormal:
    if (!std::isfinite(spec.mean) || !std::isfinite(spec.std) || spec.std < 0)
      return fail("expected a finite mean and std >= 0, found mean = " +
                  formatNumber(spec.mean) +
                  ", std = " + formatNumber(spec.std));
    break;
  case InitKind::KaimingUniform:
    if (spec.fanIn <= 0)
      return fail("expected fan_in > 0, found " + llvm::Twine(spec.fanIn));
    break;
  case InitKind::XavierUniform:
    if (spec.fanIn <= 0 || spec.fanOut <= 0)
      return fail("expected fan_in > 0 and fan_out > 0, found " +
                  llvm::Twine(spec.fanIn) + " and " + llvm::Twine(spec.fanOut));
    break;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The normal quantile
//===----------------------------------------------------------------------===//

/// Natural logarithm of a positive normal number: x = m 2^e with m near 1, and
/// log m = 2 artanh((m - 1) / (m + 1)) by its series; |s| <= 0.172, so the
/// first term left out is below 1e-20.
static double portableLog(double x) {
  int exponent;
  double m = std::frexp(x, &exponent); // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 12; k >= 0; --k)
    sum = sum * square + 1.0 / (2 * k + 1);
  return 2 * s * sum + exponent * 0.69314718055994530942;
}

/// numerator(x) / denominator(x), coefficients from the constant up.
static double rational(const double (&numerator)[8],
                       const double (&denominator)[8], double x) {
  double n = 0, d = 0;
  for (int i = 7; i >= 0; --i) {
    n = n * x + numerator[i];
    d = d * x + denominator[i];
  }
  return n / d;
}

double mpt::normalQuantile(double p) {
  // Coefficients of PPND16: centre, near tail, far tail.
  static const double a[8] = {
      3.3871328727963666080e0,  1.3314166789178437745e+2,
      1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4,
      3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static const double b[8] = {1,
                              4.2313330701600911252e+1,
                              6.8718700749205790830e+2,
                              5.3941960214247511077e+3,
                              2.1213794301586595867e+4,
                              3.9307895800092710610e+4,
                              2.8729085735721942674e+4,
                              5.2264952788528545610e+3};
  static const double c[8] = {
      1.42343711074968357734e0,  4.63033784615654529590e0,
      5.76949722146069140550e0,  3.64784832476320460504e0,
      1.27045825245236838258e0,  2.41780725177450611770e-1,
      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[8] = {1,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  static const double e[8] = {
      6.65790464350110377720e0,  5.46378491116411436990e0,
      1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3,
      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[8] = {1,
                              5.99832206555887937690e-1,
                              1.36929880922735805310e-1,
                              1.48753612908506148525e-2,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  double q = p - 0.5;
  if (std::fabs(q) <= 0.425)
    return q * rational(a, b, 0.180625 - q * q);
  double r = std::sqrt(-portableLog(q < 0 ? p : 1 - p));
  double z = r <= 5 ? rational(c, d, r - 1.6) : rational(e, f, r - 5);
  return q < 0 ? -z : z;
}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

/// Maps a uniform number in (0, 1) to the scheme's distribution.
static double transform(const InitSpec &spec, double uniform) {
  // The standard normal's distribution function at -2 and +2.
  constexpr double kLow = 0.02275013194817920720,
                   kHigh = 0.97724986805182079280;
  double bound = 0;
  switch (spec.kind) {
  case InitKind::Zeros:
    return 0;
  case InitKind::Ones:
    return 1;
  case InitKind::Constant:
    return spec.value;
  case InitKind::Uniform:
    return spec.low + uniform * (spec.high - spec.low);
  case InitKind::Normal:
    return spec.mean + spec.std * normalQuantile(uniform);
  case InitKind::TruncNormal:
    return spec.mean +
           spec.std * normalQuantile(kLow + uniform * (kHigh - kLow));
  case InitKind::KaimingUniform:
    bound = 1.0 / std::sqrt(static_cast<double>(spec.fanIn));
    break;
  case InitKind::XavierUniform:
    bound = std::sqrt(6.0 / (static_cast<double>(spec.fanIn) +
                             static_cast<double>(spec.fanOut)));
    break;
  }
  return (2 * uniform - 1) * bound;
}

llvm::Error mpt::initializeTensor(HostTensor &tensor, const InitSpec &spec,
                                  uint64_t seed, llvm::StringRef name) {
  if (llvm::Error error = verifyInitSpec(spec))
    return error;
  int64_t count = tensor.getNumElements();
  if (spec.kind <= InitKind::Constant) {
    double value = transform(spec, 0);
    for (int64_t i = 0; i < count; ++i)
      tensor.setElement(i, value);
    return llvm::Error::success();
  }
  if (!isFloatType(tensor.getElementType()))
    return llvm::createStringError(
        "initializer " + stringifyInitKind(spec.kind) +
        ": expected a float tensor, found " + tensor.describe());
  uint64_t hash = llvm::xxh3_64bits(name);
  for (int64_t block = 0; block * 4 < count; ++block) {
    auto words = philoxBlock(seed, kInitializerStream, hash, block);
    for (int64_t lane = 0; lane < 4 && block * 4 + lane < count; ++lane) {
      double uniform = (words[lane] + 0.5) * 0x1p-32; // Never 0 or 1.
      tensor.setElement(block * 4 + lane, transform(spec, uniform));
    }
  }
  return llvm::Error::success();
}
